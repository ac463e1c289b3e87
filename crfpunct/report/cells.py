"""Numbers, intervals and marks as the text of a table's cell."""

from __future__ import annotations

import math
from collections.abc import Sequence

from crfpunct.scoring import entities, poleval
from crfpunct.scoring.evaluation import Interval

#: Printed for a score that is 0/0.
UNDEFINED = "–"

_MARK_NAMES = {
    "": "none",
    ".": "full stop",
    ",": "comma",
    "?": "question mark",
    "!": "exclamation mark",
    "-": "hyphen, dash",
    ":": "colon",
    ";": "semicolon",
    "...": "ellipsis",
}


def number(value: float, decimals: int = 2) -> str:
    """A score; a true minus sign; `–` where it is undefined.

    >>> number(61.234), number(-0.5), number(float("nan"))
    ('61.23', '−0.50', '–')
    """
    if math.isnan(value):
        return UNDEFINED
    text = f"{value:.{decimals}f}"
    return "−" + text[1:] if text.startswith("-") and float(text) else text.lstrip("-")


def signed(value: float) -> str:
    """A difference, with its sign.

    >>> signed(1.5), signed(0.0), signed(-2.25)
    ('+1.50', '0.00', '−2.25')
    """
    return "+" + number(value) if value > 0 and float(f"{value:.2f}") else number(value)


def interval(ends: Interval | Sequence[float], as_difference: bool = False) -> str:
    """Low and high end of an interval; `–` where it is undefined.

    >>> interval((59.5, 62.25)), interval((-1.0, 2.0), as_difference=True)
    ('[59.50, 62.25]', '[−1.00, +2.00]')
    """
    if any(math.isnan(end) for end in ends):
        return UNDEFINED
    low, high = (signed(end) if as_difference else number(end) for end in ends)
    return f"[{low}, {high}]"


def count(value: int) -> str:
    """An integer with its thousands apart."""
    return f"{value:,}"


def mark_name(label: str) -> tuple[str, str]:
    """A mark and its name in words, from one of `MARKS`, a label of the PolEval tool, or one of IWSLT.

    >>> mark_name("..."), mark_name("COMMA"), mark_name("HYPHENO")
    (('...', 'ellipsis'), (',', 'comma'), ('-', 'inside a word'))
    """
    if label in _MARK_NAMES:
        return label, _MARK_NAMES[label]
    if label in poleval.MARK_OF_LABEL:
        return poleval.MARK_OF_LABEL[label], _MARK_NAMES[poleval.MARK_OF_LABEL[label]]
    if label[:-1] in poleval.MARK_OF_LABEL:
        return poleval.MARK_OF_LABEL[label[:-1]], "inside a word"
    return label, label.lower()


def iwslt_name(label: str) -> tuple[str, str]:
    """A label of the IWSLT scheme, and the marks that count as it."""
    return label, " ".join(entities.IWSLT[label]) if label in entities.IWSLT else "none"


def p_value(p: float, trials: int) -> str:
    """A p-value with as many decimals as the number of trials can tell apart."""
    return number(p, max(2, math.ceil(math.log10(max(trials, 1)))))
