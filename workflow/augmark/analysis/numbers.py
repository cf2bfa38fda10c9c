"""How figures and texts are written in tables and figures."""

from __future__ import annotations

import math


def figure(value: float) -> str:
    """Three significant digits, thousands apart: ``12,300``, ``4.56``, ``0.0123``."""
    if not math.isfinite(value):
        return "inf" if value > 0 else "0"
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 100:
        return f"{rounded:,.0f}"
    if rounded == 0 or abs(rounded) >= 0.001:
        return f"{rounded:#.3g}".rstrip(".")
    return f"{rounded:.2e}"


def duration(seconds: float) -> str:
    """Seconds in the unit that fits: ``850 ns``, ``1.23 us``, ``10.1 ms``, ``2.00 s``."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{figure(seconds / scale)} {unit}"
    return f"{figure(seconds / 1e-9)} ns"


def joined(words: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def one_line(text: str) -> str:
    """Text on one line, without characters that cannot be seen: the message of an error may hold anything."""
    shown = (
        letter if letter.isprintable() else f"(U+{ord(letter):04X})" for letter in " ".join(text.split())
    )
    return "".join(shown)
