"""Reliability diagrams: how often a mark is right against the probability that it was given, as text and as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np
from numpy.typing import NDArray

from crfpunct.report.cells import number
from crfpunct.scoring import calibration

_WIDTH = 40  # characters that stand for 100 %


def ascii_diagram(table: NDArray[np.float64]) -> str:
    """One line a bin of counts (B, 3): the bar is how often it was right, the `|` the mean probability.

    >>> table = calibration.counts(np.array([[0.4], [0.9], [0.9]]), np.array([-1, 0, -1]), bins=2)[0]
    >>> print(ascii_diagram(table))
     0– 50 %           1    0.0 % ················|·······················
    50–100 %           2   50.0 % ####################················|···
    """
    lines = []
    for place, (confidence, accuracy) in enumerate(
        zip(calibration.confidence(table), calibration.accuracy(table), strict=True)
    ):
        low, high = 100 * place / len(table), 100 * (place + 1) / len(table)
        bar = ["·"] * _WIDTH
        if table[place, 0]:
            filled = round(accuracy / 100 * _WIDTH)
            bar[:filled] = "#" * filled
            bar[min(_WIDTH - 1, round(confidence / 100 * _WIDTH))] = "|"
        head = f"{low:2.0f}–{high:3.0f} %{table[place, 0]:12,.0f}{number(float(accuracy), 1):>7} %"
        lines.append(f"{head} {''.join(bar)}")
    return "\n".join(lines)


_SIDE, _GAP, _LEFT, _TOP = 200, 56, 52, 44
_STYLE = """text{font:12px system-ui,sans-serif;fill:#63666b}.title{font-weight:600;fill:#1b1c1e;font-size:13px}
.grid{stroke:#dcdcd7;fill:none}.even{stroke:#63666b;stroke-dasharray:4 4}.line{stroke:#2467a8;fill:none;stroke-width:2}
.dot{fill:#2467a8;fill-opacity:.55}@media(prefers-color-scheme:dark){text{fill:#a0a3a8}.title{fill:#e7e7e4}
.grid{stroke:#383b40}.even{stroke:#a0a3a8}.line{stroke:#6aa9e6}.dot{fill:#6aa9e6}}"""


def svg_diagram(tables: Mapping[str, NDArray[np.float64]]) -> str:
    """A square for each table (B, 3), by its title: right against probability; a dot's area is the bin's tokens."""
    width = _LEFT + len(tables) * (_SIDE + _GAP)
    parts = []
    for place, (title, table) in enumerate(tables.items()):
        left = _LEFT + place * (_SIDE + _GAP)
        some = table[:, 0] > 0
        x = left + _SIDE * calibration.confidence(table)[some] / 100
        y = _TOP + _SIDE * (1 - calibration.accuracy(table)[some] / 100)
        radius = 2 + 9 * np.sqrt(table[some, 0] / max(1.0, table[:, 0].max()))
        bottom, right = _TOP + _SIDE, left + _SIDE
        error = number(float(calibration.expected_calibration_error(table)))
        parts.append(
            f'<text class="title" x="{left}" y="18">{escape(title)}</text>'
            f'<text x="{left}" y="34">ECE {error}, {table[:, 0].sum():,.0f} places</text>'
            f'<rect class="grid" x="{left}" y="{_TOP}" width="{_SIDE}" height="{_SIDE}"/>'
            f'<line class="even" x1="{left}" y1="{bottom}" x2="{right}" y2="{_TOP}"/>'
            f'<polyline class="line" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))}"/>'
        )
        parts += [
            f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="{r:.1f}"/>' for a, b, r in zip(x, y, radius, strict=True)
        ]
        for share in (0, 50, 100):
            across, up = left + _SIDE * share / 100, bottom - _SIDE * share / 100
            parts.append(f'<text x="{across}" y="{bottom + 16}" text-anchor="middle">{share}</text>')
            parts.append(f'<text x="{left - 6}" y="{up + 4}" text-anchor="end">{share}</text>')
        parts.append(f'<text x="{left + _SIDE / 2}" y="{bottom + 34}" text-anchor="middle">probability, %</text>')
    middle = _TOP + _SIDE / 2
    parts.append(f'<text transform="translate(13 {middle}) rotate(-90)" text-anchor="middle">right, %</text>')
    height = _TOP + _SIDE + 44
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>Reliability of probabilities</title><style>{_STYLE}</style>{"".join(parts)}</svg>\n'
    )
