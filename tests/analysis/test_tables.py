"""Tables in three formats: never a number without a measurement, never a row lost."""

import csv
import io
import re
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from augmark import record
from augmark.analysis import latex, longform, markdown
from augmark.analysis.marks import MARKS, OTHER_FLAG, SHOWN
from augmark.analysis.publish import write_summary, write_table
from augmark.analysis.tables import analyse, build_table
from augmark.errors import AugmarkError
from tests.analysis.synthetic import (
    TABLE,
    carried,
    make_classes,
    make_plan,
    make_record,
    make_records,
    measured,
    measured_again,
    plan_row,
    unmeasured,
)

WITHOUT_NUMBER = [name for name in SHOWN if name not in ("ok", "slow")]


def table_of(plan, records, other=None):
    """The plan's one table; ``other``: pairs of libraries whose work is not identical."""
    records = measured_again(plan, records)
    return build_table(analyse(make_records(plan, records), plan, make_classes(plan, other)), TABLE)


def simple(seconds, *, repeats=3, **more):
    """A table of one transform: library -> seconds of every repeat; the first is measured again."""
    offers = {library: ["Flip"] for library in seconds}
    plan = make_plan(offers, repeats=repeats, again=next(iter(seconds)), **more)
    return plan, [
        make_record(plan, library, repeat, {"Flip": measured(value)})
        for library, value in seconds.items()
        for repeat in range(repeats)
    ]


def markdown_rows(text):
    """Transform -> fields, from the lines of the table."""
    lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [[field.strip() for field in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def latex_rows(text):
    """Fields of the lines between the heads and the end of the longtable."""
    body = text.split(r"\endlastfoot")[1].split(r"\end{longtable}")[0]
    return [[field.strip() for field in line[:-3].split(" & ")] for line in body.splitlines() if line]


def test_markdown_of_a_small_table():
    """The whole table: the fastest of three repeats is bold, the interval without spread is a point."""
    text = markdown.render(table_of(*simple({"kornia": 0.01, "pillow": 0.005})))
    assert text.splitlines()[:5] == [
        "# RGB images, transform alone",
        "",
        "| Transform | n | Kornia | Pillow |",
        "| --- | ---: | ---: | ---: |",
        "| Flip | 3 | 100<sup>d</sup> | **200** |",
    ]
    for note in (
        "Measured on 2026-11-30.",
        "Machine local-3f9a: Test CPU @ 2.00GHz, 2 processors, 8.0 GiB; threads per library: 1.",
        "Kornia 1.2.3 (float32 1CHW in \\[0, 1\\]), Pillow 1.2.3 (uint8 HWC); Python 3.11.7",
        "(sha256 dddddddddd, manifest mmmmmmmmmm, items items00000); items per row: 32.",
        "Rows with a number, of those planned: Kornia 1 of 1, Pillow 1 of 1.",
        "over 3 repeats",
    ):
        assert note in text


def test_min_depth_is_stamped_and_claims_nothing():
    """Two repeats: the stamp stands on top and in the caption, nothing is bold."""
    plan, records = simple(
        {"kornia": 0.01, "pillow": 0.005}, repeats=2, depth="min", stamp="smoke signal, not a score"
    )
    table = table_of(plan, records)
    assert "**Smoke signal, not a score.**" in markdown.render(table)
    assert "Smoke signal, not a score." in latex.render(table).split(r"\label")[0]
    assert markdown_rows(markdown.render(table)) == [["Flip", "2", "100<sup>d</sup>", "200"]]
    assert "nothing is bold" in markdown.render(table)


def test_interval_and_range_are_told_apart():
    """Brackets for an interval (log2 seconds 0, 1, 2 by hand), parentheses for a range."""
    plan = make_plan({"kornia": ["Flip"]})
    records = [make_record(plan, "kornia", r, {"Flip": measured(s)}) for r, s in enumerate([1.0, 2.0, 4.0])]
    # 2 ** (t / sqrt 3) = 5.595 about the centre of 0.5 items per second.
    assert markdown_rows(markdown.render(table_of(plan, records))) == [
        ["Flip", "3", "0.500<sup>u</sup> \\[0.0894, 2.80\\]"]
    ]
    two = make_plan({"kornia": ["Flip"]}, repeats=2)
    records = [make_record(two, "kornia", r, {"Flip": measured(s)}) for r, s in enumerate([1.0, 4.0])]
    assert markdown_rows(markdown.render(table_of(two, records))) == [
        ["Flip", "2", "0.400<sup>u</sup> (0.250, 1.00)"]
    ]


def test_equal_reasons_share_a_footnote():
    """Numbered in the order met, row by row; other reasons have their own."""
    none = [plan_row(name, "unsupported", "no weather") for name in ("Rain", "Snow")]
    plan = make_plan({"kornia": [*none, "Flip"], "pillow": [*none, "Flip"]}, repeats=1)
    records = [
        make_record(plan, "kornia", 0, {"Flip": measured(1.0)}),
        make_record(plan, "pillow", 0, {"Flip": unmeasured("oom", "over 4 GB")}),
    ]
    table = table_of(plan, records)
    assert table.footnotes == ["unsupported: no weather", "oom: over 4 GB"]
    assert markdown_rows(markdown.render(table)) == [
        ["Rain", "–", "–<sup>1</sup>", "–<sup>1</sup>"],
        ["Snow", "–", "–<sup>1</sup>", "–<sup>1</sup>"],
        ["Flip", "1", "1.00", "oom<sup>2</sup>"],
    ]


def test_slow_rows_keep_their_figure_and_a_mark():
    """Half an item per second, marked."""
    plan = make_plan({"kornia": ["Flip"]}, repeats=1)
    table = table_of(plan, [make_record(plan, "kornia", 0, {"Flip": measured(2.0, "slow")})])
    assert markdown_rows(markdown.render(table)) == [["Flip", "1", "0.500<sup>s</sup>"]]
    assert table.legend == [("s", "slow: below the floor, measured on fewer items")]


def test_marks_of_the_worker_are_explained():
    """Flags with a letter and flags without, carried rows and declared differences."""
    plan = make_plan({"kornia": ["Flip"], "pillow": ["Flip"]}, repeats=1)
    odd = carried(1.0, flags=["threads", "throttled", "not-resident"])
    records = [make_record(plan, library, 0, {"Flip": odd}) for library in ("kornia", "pillow")]
    table = table_of(plan, records, {("kornia", "pillow"): ("different", "flips twice")})
    assert [entry.marks for entry in table.rows[0][1]] == ["wtcf", "wtcf"]
    assert [letter for letter, _ in table.legend] == ["w", "t", "c", "f"]
    assert table.legend[-1][1] == (
        "flagged by the measuring process: not-resident (not all of its items were in memory), throttled"
    )
    assert table.footnotes == [
        "other work: against pillow: flips twice",
        "other work: against kornia: flips twice",
    ]


def test_every_reason_not_to_compare_has_its_letter():
    """In Markdown, LaTeX and CSV: unpinnable, other items, another dtype than the fastest's."""
    names = ["Elastic", "Flip"]
    rows = [plan_row("Elastic", pinned=None), plan_row("Flip")]
    libraries = ["albumentationsx", "kornia", "pillow", "torchvision"]
    plan = make_plan(dict.fromkeys(libraries, rows), again="torchvision")
    other = {"pillow": {"items": 8, "flags": ["reduced-items"]}}
    table = table_of(
        plan,
        [
            make_record(plan, name, r, dict.fromkeys(names, measured(0.1 * (k + 1), **other.get(name, {}))))
            for k, name in enumerate(libraries)
            for r in range(3)
        ],
    )
    assert markdown_rows(markdown.render(table)) == [
        ["Elastic", "3", "10.0<sup>n</sup>", "5.00<sup>n</sup>", "3.33<sup>nr</sup>", "2.50<sup>n</sup>"],
        ["Flip", "3", "**10.0**", "5.00<sup>d</sup>", "3.33<sup>ir</sup>", "2.50"],
    ]
    assert [letter for letter, _ in table.legend] == ["n", "i", "d", "r"]
    text = latex.render(table)
    for letter, words in table.legend:
        assert rf"\textsuperscript{{{letter}}}\,{latex.escape(words)}" in text
    raw = list(csv.DictReader(io.StringIO(longform.render(table, plan))))
    assert [line["marks"] for line in raw] == [
        "unpinned",
        "",
        "unpinned",
        "dtype",
        "unpinned; reduced-items",
        "items; reduced-items",
        "unpinned",
        "",
        "",
        "",
    ]


def test_every_status_is_shown():
    """Those of records and not-run have a symbol and words, and no other has."""
    assert sorted(SHOWN) == sorted([*record.STATUSES, "not-run"])
    assert len({letter for letter, _ in MARKS.values()} | {OTHER_FLAG}) == len(MARKS) + 1


def test_controls_stand_under_the_line():
    """No column; the cost of a copy, and the timer against the known delay."""
    plan = make_plan(
        {
            "kornia": ["Flip"],
            "control-copy": ["Copy"],
            "control-slow": [plan_row("Delay", params={"seconds": 0.002})],
        },
        repeats=1,
    )
    found = {"Flip": measured(1.0), "Copy": measured(45e-6), "Delay": measured(0.0021)}
    table = table_of(plan, [make_record(plan, library, 0, found) for library in plan["libraries"]])
    assert table.columns == ["Kornia"]
    assert [transform for transform, _ in table.rows] == ["Flip"]
    assert table.notes[-1] == (
        "Controls: control-copy took 45.0 us per item for a copy of it, which is what the least of "
        "transforms takes here; "
        "control-slow took 2.10 ms for a known delay of 2.00 ms (+5.0%)."
    )


def test_the_date_is_that_of_the_records():
    """First and last day of what is shown, never today."""
    plan = make_plan({"kornia": ["Flip"]}, repeats=2)
    days = ["2026-01-02T03:04:05Z", "2026-01-04T03:04:05Z"]
    records = [make_record(plan, "kornia", r, {"Flip": measured(1.0, started=d)}) for r, d in enumerate(days)]
    assert "Measured from 2026-01-02 to 2026-01-04." in table_of(plan, records).notes


def test_csv_is_raw_and_long():
    """Every figure as measured, digests whole, controls of their own kind."""
    plan, records = simple({"kornia": 0.01, "control-copy": 0.3})
    lines = list(csv.DictReader(io.StringIO(longform.render(table_of(plan, records), plan))))
    assert [(line["library"], line["kind"]) for line in lines] == [
        ("kornia", "library"),
        ("control-copy", "control"),
        ("control-aa", "control"),
    ]
    first = lines[0]
    assert (first["seconds_median"], first["throughput"], first["repeats"]) == ("0.01", "100.0", "3")
    assert (first["dataset_digest"], first["lock_digest"]) == ("d" * 64, "lock000000")
    assert first["row_digest"] == plan["definitions"]["image-rgb/micro/kornia/cpu"]["rows"][0]["digest"]


def test_an_unknown_table_is_named():
    """The message lists those that there are."""
    plan, records = simple({"kornia": 0.01})
    with pytest.raises(AugmarkError, match="no table 'other' \\(it has: image-rgb-micro\\)"):
        build_table(analyse(make_records(plan, records), plan), "other")


def test_files_are_the_same_each_time(tmp_path):
    """Same records, same bytes, for every format; another suffix is refused."""
    plan, records = simple({"kornia": 0.01, "pillow": 0.02})
    analysis = analyse(make_records(plan, records), plan)
    kept = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        write_table(analysis, TABLE, [folder / "t.md", folder / "t.csv", folder / "t.tex"])
        write_summary(analysis, folder / "s.csv")
        kept.append({path.name: path.read_bytes() for path in sorted(folder.iterdir())})
    assert kept[0] == kept[1]
    assert sorted(kept[0]) == ["s.csv", "t.csv", "t.md", "t.tex"]
    with pytest.raises(AugmarkError, match="a table is a"):
        write_table(analysis, TABLE, [tmp_path / "t.html"])


# --- properties --------------------------------------------------------------------------------------

found_rows = st.one_of(
    st.builds(measured, st.floats(1e-6, 1e3), st.sampled_from(["ok", "slow"])),
    st.builds(
        unmeasured,
        st.sampled_from([s for s in WITHOUT_NUMBER if s not in ("not-run",)]),
        st.text(min_size=1).filter(str.strip),
    ),
    st.none(),
)
NAMES = ["Flip", "Blur", "Rain"]
LIBRARIES = ["kornia", "pillow"]
outcomes = st.dictionaries(
    st.tuples(st.sampled_from(LIBRARIES), st.integers(0, 2), st.sampled_from(NAMES)), found_rows, max_size=18
)


def _records(plan, outcome):
    for library in LIBRARIES:
        for repeat in range(3):
            found = {name: outcome.get((library, repeat, name)) for name in NAMES}
            yield make_record(plan, library, repeat, {name: row for name, row in found.items() if row})


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(outcomes)
def test_a_number_stands_only_where_the_row_is_ok_or_slow(outcome):
    """All formats and statuses: every planned row once; without a number, no digit but the footnote's."""
    plan = make_plan(dict.fromkeys(LIBRARIES, NAMES))
    table = table_of(plan, _records(plan, outcome))
    lines = {(line["transform"], line["library"]): line for line in table.summary.to_dict("records")}
    for rows, footnote in (
        (markdown_rows(markdown.render(table)), r"<sup>[^<]*</sup>"),
        (latex_rows(latex.render(table)), r"\\textsuperscript\{[^}]*\}"),
    ):
        assert [row[0] for row in rows] == NAMES
        for name, _, *fields in rows:
            for library, text in zip(LIBRARIES, fields, strict=True):
                has_digit = bool(re.search(r"\d", re.sub(footnote, "", text)))
                assert has_digit == (lines[name, library]["status"] in ("ok", "slow"))
                if not has_digit:
                    assert re.search(footnote, text)
    raw = list(csv.DictReader(io.StringIO(longform.render(table, plan))))
    assert sorted((line["library"], line["transform"]) for line in raw) == sorted((a, b) for b, a in lines)
    figures = [
        "seconds_median",
        "seconds_low",
        "seconds_high",
        "throughput",
        "throughput_low",
        "throughput_high",
    ]
    for line in raw:
        with_number = line["status"] in ("ok", "slow")
        assert [bool(line[name]) for name in figures] == [with_number] * 6
        assert with_number or (
            not line["cv"] and not line["ratio"] and line["best"] == "false" and line["reason"]
        )


@given(st.text())
def test_latex_text_is_safe(text):
    """What comes out is ASCII, on one line, and no special character stands unescaped."""
    escaped = latex.escape(text)
    assert escaped.isascii()
    assert "\n" not in escaped
    harmless = r"\\[a-zA-Z]+\{\}|\\[{}&#%_`]|\{[-\[\]]\}|\$\\[a-z]+\$|\$\\\$\$|\$\^\\circ\$|\{\}"
    bare = re.sub(harmless, "", escaped)
    assert not set(bare) & set('\\$&#%_^~{}<>|"')


def test_latex_specials_by_name():
    """The ten special characters of TeX, and what an error message likes to hold."""
    assert latex.escape("a_b & 50% #1 {x} $y$ ^ ~ \\") == (
        r"a\_b \& 50\% \#1 \{x\} $\$$y$\$$ \textasciicircum{} \textasciitilde{} \textbackslash{}"
    )
    assert latex.escape("é → 日") == r"e $\rightarrow$ (U+65E5)"


def test_markdown_specials():
    """A reason cannot break the table or become markup."""
    assert markdown.escape("a|b <i> *c* `d`\n_e_ & f") == r"a\|b \<i\> \*c\* \`d\` \_e\_ &amp; f"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_in_a_minimal_document(tmp_path):
    """booktabs and longtable are all it needs, whatever the reasons hold; nothing runs over its box."""
    names = [f"Transform{index}" for index in range(58)]
    every = "".join(map(chr, range(32, 127))) + "é → ± × µ ° – … ‘’ “” 日 \U0001f600"
    plan = make_plan(
        {"kornia": [*names, "Odd_name"], "pillow": [*names, "Odd_name"]}, stamp="smoke signal & more"
    )
    found = {
        name: measured(0.01 * (1 + index % 7), "slow" if index % 5 else "ok")
        for index, name in enumerate(names)
    }
    found["Odd_name"] = unmeasured("failed", every)
    records = [make_record(plan, library, r, found) for library in ("kornia", "pillow") for r in range(3)]
    (tmp_path / "table.tex").write_text(latex.render(table_of(plan, records)))
    document = (
        r"\documentclass{article}\usepackage{booktabs,longtable}\begin{document}\input{table}\end{document}"
    )
    (tmp_path / "paper.tex").write_text(document)
    for _ in range(2):
        done = subprocess.run(
            ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    log = (tmp_path / "paper.log").read_text(errors="replace")
    assert "Missing character" not in log
    assert "Overfull \\hbox" not in log
