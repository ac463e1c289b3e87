"""The figures of the HTML report, drawn by matplotlib as SVG whose colours are the page's.

Each figure is one string of SVG to stand inside a page. Its colours are CSS variables, so that the page decides on
light or dark; its text is text, in the page's font.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.errors import BackendError
from crfpunct.report.cells import iwslt_name, mark_name, number
from crfpunct.scoring import counts as table
from crfpunct.scoring.comparison import Comparison, MetricComparison
from crfpunct.scoring.evaluation import MarksResult, PolevalResult, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

#: What matplotlib draws with, and the page's variable that takes its place.
INK, MUTED, GRID, ON_COLOUR = "#101112", "#707172", "#d0d1d2", "#fafbfc"
FIRST, SECOND, THIRD = "#1060a0", "#d07010", "#309060"
_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    ON_COLOUR: "--on-colour",
    FIRST: "--first",
    SECOND: "--second",
    THIRD: "--third",
}
#: Share of its colour from which a cell's number is printed in `ON_COLOUR`.
_DARK_CELL = 0.55

#: How many documents have a dot of their own, at most: a dot is 120 bytes of the page.
MOST_DOTS = 4000

_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "crfpunct",
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": GRID,
    "axes.linewidth": 0.8,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
}


def _figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _style() -> AbstractContextManager[None]:
    """The look of every figure, as a context to draw in; BackendError where matplotlib is missing."""
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise BackendError(
            "the HTML report draws its figures with matplotlib, which is not installed; "
            "run: pip install 'crfpunct[plots]'"
        ) from error
    return rc_context(_STYLE)


def _svg(figure: Figure, name: str, description: str) -> str:
    """The figure as an `<svg>` element: ids with a prefix of its own, colours as variables, no fixed size."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-").replace('href="#', f'href="#{name}-')
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(r"font: ([^;\"]*?)'?(?:DejaVu|sans)[^;\"]*", r"font: \1var(--font)", svg)
    width, height = (float(size) for size in re.findall(r'(?:width|height)="([\d.]+)pt"', svg)[:2])
    svg = re.sub(r'\swidth="[\d.]+pt"|\sheight="[\d.]+pt"', "", svg, count=2)
    size = f'style="max-width: {width * 4 / 3:.0f}px; aspect-ratio: {width:g} / {height:g}"'
    return svg.replace("<svg", f'<svg role="img" aria-label="{description}" {size}', 1)


def _bare(axes: Axes, grid: str = "x") -> None:
    """Only a light grid along one axis, no frame."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(axis=grid)  # type: ignore[arg-type]


def label_bars(rows: Sequence[Row], name: str, iwslt: bool = False) -> str:
    """Precision, recall and F1 of each label as bars, each with its interval."""
    series = (("precision", FIRST, 0.55), ("recall", SECOND, 0.55), ("f1", THIRD, 1.0))
    with _style():
        figure = _figure(7.4, 0.7 + 0.56 * len(rows))
        axes = figure.add_subplot()
        height = 0.26
        for place, (score, colour, alpha) in enumerate(series):
            values = np.nan_to_num(np.array([getattr(row.score, score) for row in rows]))
            ends = np.array([getattr(row, score) for row in rows]).reshape(-1, 2)
            y = np.arange(len(rows)) + (place - 1) * height
            label = "F1" if score == "f1" else score
            axes.barh(y, values, height * 0.88, color=colour, alpha=alpha, label=label, linewidth=0)
            known = ~np.isnan(ends).any(axis=1)
            axes.hlines(y[known], ends[known, 0], ends[known, 1], color=INK, linewidth=1.0)
        axes.set_yticks(np.arange(len(rows)), [_named(row.score.label, iwslt) for row in rows])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("%")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.32 / max(1, len(rows)) - 0.06), ncols=3)
        _bare(axes)
        return _svg(figure, name, "Precision, recall and F1 of each mark")


def _named(label: str, iwslt: bool) -> str:
    sign, words = (iwslt_name if iwslt else mark_name)(label)
    return f"{words}  {sign}" if not iwslt else sign


def confusion_matrix(result: MarksResult, name: str) -> str:
    """Reference × output; a cell's colour is its share of the row, so that rare marks are seen, too."""
    present = [i for i in range(len(result.labels)) if result.confusion[i].any() or result.confusion[:, i].any()]
    counts = result.confusion[np.ix_(present, present)]
    shares = np.nan_to_num(table.percentage(counts, counts.sum(axis=1, keepdims=True)) / 100)
    labels = [result.labels[i] or "none" for i in present]
    with _style():
        from matplotlib.patches import Rectangle

        size = len(present)
        figure = _figure(1.2 + 0.62 * size, 0.9 + 0.46 * size)
        axes = figure.add_subplot()
        for row in range(size):
            for column in range(size):
                share = shares[row, column]
                # Square root: the share of the small, wrong cells is what one looks for.
                alpha = float(np.sqrt(share)) * 0.9
                axes.add_patch(
                    Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, color=FIRST, alpha=alpha, linewidth=0)
                )
                if counts[row, column]:
                    axes.text(
                        column,
                        row,
                        f"{counts[row, column]:,}",
                        ha="center",
                        va="center",
                        fontsize=8.5,
                        color=ON_COLOUR if alpha > _DARK_CELL else INK,
                    )
        axes.set_xlim(-0.5, size - 0.5)
        axes.set_ylim(size - 0.5, -0.5)
        axes.set_xticks(range(size), labels)
        axes.set_yticks(range(size), labels)
        axes.tick_params(axis="x", labelcolor=INK, top=True, labeltop=True, bottom=False, labelbottom=False)
        axes.tick_params(axis="both", labelsize=11)
        axes.xaxis.set_label_position("top")
        axes.set_xlabel("output")
        axes.set_ylabel("reference")
        _bare(axes, grid="")
        return _svg(figure, name, "Which mark of the reference came out as which")


def document_scores(result: PolevalResult, name: str) -> str:
    """Weighted F1 (rule:all) of each document against its number of marks, and the spread of the scores beside it."""
    scores = result.by_document
    known = ~np.isnan(scores)
    step = -(-len(scores) // MOST_DOTS)
    marks = table.support(result.counts.values).sum(axis=1)[known]
    scores = scores[known]
    overall = result.scores["all"].value
    with _style():
        figure = _figure(7.4, 3.2)
        axes, spread = figure.subplots(1, 2, sharey=True, width_ratios=(4, 1))
        axes.scatter(marks[::step], scores[::step], 14, color=FIRST, alpha=0.45, linewidths=0)
        axes.axhline(overall, color=SECOND, linewidth=1.2)
        axes.text(
            1, overall, f" all: {number(overall)}", color=SECOND, va="bottom", ha="right", transform=_across(axes)
        )
        axes.set_xlabel("marks in the reference")
        axes.set_ylabel("weighted F1, %")
        axes.set_ylim(-2, 102)
        spread.hist(scores, bins=np.linspace(0, 100, 21).tolist(), orientation="horizontal", color=FIRST, alpha=0.55)
        spread.axhline(overall, color=SECOND, linewidth=1.2)
        spread.set_xlabel("documents")
        for each in (axes, spread):
            _bare(each, grid="y")
            each.tick_params(axis="y", labelcolor=MUTED)
        return _svg(figure, name, "Scores of single documents")


def _across(axes: Axes) -> Transform:
    """Coordinates: 0 … 1 across the axes, data upwards."""
    return axes.get_yaxis_transform()


def system_scores(comparison: Comparison, result: MetricComparison, name: str) -> str:
    """Each system's score, and its difference from the baseline, with intervals."""
    systems = len(comparison.names)
    y = np.arange(systems)
    with _style():
        figure = _figure(7.4, 0.85 + 0.36 * systems)
        left, right = figure.subplots(1, 2, sharey=True)
        _dots(left, y, result.scores, result.intervals.scores, FIRST)
        left.set_yticks(y, comparison.names)
        left.set_xlabel(f"{result.metric.title}, %")
        differences = result.scores - result.scores[0]
        right.axvline(0, color=MUTED, linewidth=0.9)
        holds = np.array([result.holds(place, 0) for place in range(systems)])
        for chosen, colour in ((holds, THIRD), (~holds, MUTED)):
            chosen = chosen & (y > 0)
            _dots(right, y[chosen], differences[chosen], result.intervals.differences[chosen, 0], colour)
        right.set_xlabel(f"difference from {comparison.names[0]}")
        left.invert_yaxis()
        for axes in (left, right):
            _bare(axes)
            axes.margins(y=0.5 / systems + 0.05)
        return _svg(figure, name, f"{result.metric.title} of each system")


def _dots(
    axes: Axes, y: NDArray[np.int64], values: NDArray[np.float64], ends: NDArray[np.float64], colour: str
) -> None:
    axes.hlines(y, ends[:, 0], ends[:, 1], color=colour, linewidth=2, alpha=0.55)
    axes.plot(values, y, "o", color=colour, markersize=6, markeredgewidth=0)


#: How many systems are drawn document by document.
MOST_PAIRED = 6


def paired_documents(comparison: Comparison, result: MetricComparison, name: str) -> str:
    """Each document's score under the baseline against the same under each other system (the first few)."""
    shown = list(range(1, min(len(comparison.names), MOST_PAIRED + 1)))
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    with _style():
        figure = _figure(0.4 + 2.5 * columns, 0.3 + 2.4 * rows)
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        scores = result.by_document[:, :: -(-comparison.documents // MOST_DOTS)]
        top = float(np.nanmax(scores, initial=1.0)) * 1.03
        for place, axes in enumerate(grid.flat):
            if place >= len(shown):
                axes.set_visible(False)
                continue
            system = shown[place]
            axes.plot([0, top], [0, top], color=MUTED, linewidth=0.9)
            axes.scatter(scores[0], scores[system], 12, color=FIRST, alpha=0.45, linewidths=0)
            axes.set_title(comparison.names[system], fontsize=9.5, color=INK)
            axes.set_xlim(0, top)
            axes.set_ylim(0, top)
            axes.set_box_aspect(1)
            _bare(axes, grid="both")
            axes.tick_params(axis="y", labelcolor=MUTED)
        figure.supxlabel(comparison.names[0], fontsize=9.5, color=MUTED)
        return _svg(figure, name, "Scores of single documents, baseline against each system")
