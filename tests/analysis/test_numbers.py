"""How figures are written, everywhere alike."""

import pytest

from augmark.analysis.numbers import duration, figure


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12345.0, "12,300"),
        (999.6, "1,000"),
        (100.4, "100"),
        (99.96, "100"),
        (12.0, "12.0"),
        (4.567, "4.57"),
        (0.01234, "0.0123"),
        (0.00012, "1.20e-04"),
    ],
)
def test_three_significant_digits(value, text):
    """Figures are written alike everywhere."""
    assert figure(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.0, "2.00 s"), (0.0101, "10.1 ms"), (1.5e-6, "1.50 us"), (8e-9, "8.00 ns")]
)
def test_durations_have_their_unit(seconds, text):
    """The unit follows the size."""
    assert duration(seconds) == text
