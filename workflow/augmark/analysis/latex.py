"""A table as LaTeX: ``\\input`` it in a document that loads booktabs and longtable."""

from __future__ import annotations

import unicodedata

from augmark.analysis.numbers import one_line
from augmark.analysis.tables import Entry, Table

WORD_PIECE = 24  # longer than any English word here
_MACROS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"$\$$",  # in text it comes from a font that small TeX systems lack
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\`{}",
    "-": "{-}",
    "[": "{[}",
    "]": "{]}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "°": r"$^\circ$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "→": r"$\rightarrow$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "®": r"\textregistered{}",
    "™": r"\texttrademark{}",
}


def escape(text: str) -> str:
    """Text that pdflatex sets as it is, on one line.

    A character outside of what its default fonts have is set as its letters without accents, or else as its
    code point. Packages and fonts beyond a minimal TeX system are not asked for.
    """
    return "".join(map(_character, one_line(text)))


def _character(character: str) -> str:
    if character in _MACROS:
        return _MACROS[character]
    if " " <= character <= "~":
        return character
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    if plain.strip() and plain.isprintable():
        return "".join(_MACROS.get(letter, letter) for letter in plain)
    return f"(U+{ord(character):04X})"


def _prose(text: str) -> str:
    """As ``escape``, for paragraphs: words that are too long for a line (paths, tensors) may be broken."""
    words = one_line(text).split(" ")
    pieces = ([word[at : at + WORD_PIECE] for at in range(0, len(word), WORD_PIECE)] for word in words)
    return " ".join(r"\allowbreak{}".join(map(escape, piece)) for piece in pieces)


def _raised(entry: Entry) -> str:
    parts = [part for part in (entry.marks, str(entry.footnote or "")) if part]
    return rf"\textsuperscript{{{','.join(parts)}}}" if parts else ""


def entry_text(entry: Entry) -> str:
    """One field: number, bounds and marks, or what stands in place of a number."""
    if entry.number is None:
        return f"{escape(entry.short)}{_raised(entry)}"
    number = rf"\textbf{{{escape(entry.number)}}}" if entry.best else escape(entry.number)
    bounds = rf"\,{{\tiny {escape(entry.bounds)}}}" if entry.bounds else ""
    return f"{number}{_raised(entry)}{bounds}"


def _line(fields: list[str]) -> str:
    return " & ".join(fields) + r" \\"


def render(table: Table) -> str:
    """The whole file: a longtable (58 rows may break over pages) and its notes."""
    heads = _line([escape(head) for head in table.heads])
    stamp = f" {escape(table.stamp[:1].upper() + table.stamp[1:])}." if table.stamp else ""
    count = len(table.heads)
    top = [
        r"% Needs \usepackage{booktabs,longtable}. Made by augmark from records; do not edit.",
        r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}",
        # Wider than the text in narrow classes: then it stands out on both sides alike.
        r"\setlength{\LTleft}{0pt plus 1fill minus 1fill}\setlength{\LTright}{0pt plus 1fill minus 1fill}",
        rf"\begin{{longtable}}{{l{'r' * (count - 1)}}}",
        rf"\caption{{{escape(table.title)}.{stamp} Items per second.}}\label{{tab:{table.name}}}\\",
        rf"\toprule{chr(10)}{heads}{chr(10)}\midrule{chr(10)}\endfirsthead",
        rf"\toprule{chr(10)}{heads}{chr(10)}\midrule{chr(10)}\endhead",
        rf"\midrule\multicolumn{{{count}}}{{r}}{{continued}}\\{chr(10)}\endfoot",
        r"\bottomrule" + "\n" + r"\endlastfoot",
    ]
    body = [_line([*map(escape, texts), *map(entry_text, entries)]) for texts, entries in table.lines()]
    return "\n".join([*top, *body, r"\end{longtable}", *_below(table), r"\endgroup"]) + "\n"


def _below(table: Table) -> list[str]:
    lines = [r"\sloppy\noindent " + " ".join(map(_prose, table.notes)) + r"\par"]
    if table.legend:
        marks = "; ".join(rf"\textsuperscript{{{letter}}}\,{_prose(words)}" for letter, words in table.legend)
        lines.append(rf"\noindent Marks: {marks}.\par")
    notes = [rf"\textsuperscript{{{n}}}\,{_prose(text)}." for n, text in enumerate(table.footnotes, 1)]
    if notes:
        lines += [r"\noindent " + "\n".join(notes) + r"\par"]
    return lines
