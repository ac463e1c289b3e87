"""The report of a training as one HTML page: pauses against marks, learning curve, confusions, errors in context.

Its charts are SVG drawn here, with the page's colours, so that nothing needs to be installed; the page needs nothing
else and follows the reader's light or dark scheme.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from crfpunct.document import Document
from crfpunct.report import page
from crfpunct.report.cells import mark_name, number

#: Bins of the charts of pauses, in ms.
PAUSE_EDGES = (1, 50, 100, 150, 200, 300, 400, 600, 800, 1200, 2000)
#: Labels with fewer pauses than this have no histogram of their own.
_FEWEST = 20
_WORDS_AROUND, _EXAMPLES, _CONTEXTS, _KINDS = 4, 3, 6, 12

_COLOURS = ("--none", "--first", "--second", "--third", "--m4", "--m5", "--m6", "--m7", "--m8", "--m9")
_CSS = """
:root { --none: #d5d5d0; --m4: #8a5fb0; --m5: #b0455f; --m6: #5b8a1f; --m7: #1f8a8a; --m8: #8a741f; --m9: #6b6f76; }
@media (prefers-color-scheme: dark) { :root { --none: #46494e; --m4: #b796dc; --m5: #e88aa0; --m6: #a3cf63;
  --m7: #62c4c4; --m8: #d0b95f; --m9: #9a9ea5; } }
svg.chart { display: block; width: 100%; max-width: 46rem; height: auto; overflow: visible; }
.chart text { font: 11px var(--font); fill: var(--muted); }
.chart .strong { fill: var(--ink); font-weight: 600; }
.chart .grid { stroke: var(--grid); } .chart .line { fill: none; stroke-width: 2.2; }
.keys { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; font-size: .85rem; margin: .4rem 0; }
.keys i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .35em; }
.multiples { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1rem; margin: 1rem 0; }
.heat td { text-align: right; padding: .28rem .6rem; border: 0; }
.heat td:first-child, .heat th:first-child { text-align: left; }
.heat .own { outline: 1.5px solid var(--muted); outline-offset: -1.5px; }
.errors td { white-space: normal; vertical-align: top; }
.errors td:first-child, .errors td:nth-child(2) { white-space: nowrap; }
.context { display: block; color: var(--muted); }
.context b { color: var(--ink); }
.pair { white-space: nowrap; margin-right: .8em; }
"""


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training has to say for itself.

    cards: (what, value, remark). documents: the training texts, for their pauses. curves: by chain, (words trained on,
    F1 in percent), few words first. decided: by chain, held-out documents with the marks decided for them.
    """

    title: str
    subtitle: str
    cards: Sequence[tuple[str, str, str]]
    documents: Sequence[Document]
    curves: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    decided: Mapping[str, Sequence[tuple[Document, Sequence[str]]]] = field(default_factory=dict)


def write(trained: Trained, out: TextIO) -> None:
    """Write the page."""
    page.write_head(trained.title, out, _CSS)
    out.write(f'<h1>{escape(trained.title)}</h1>\n<p class="subtitle">{escape(trained.subtitle)}</p>\n')
    out.write('<div class="cards">')
    for what, value, remark in trained.cards:
        out.write(
            f'<div class="card"><span>{escape(what)}</span><b>{escape(value)}</b><small>{escape(remark)}</small></div>'
        )
    out.write("</div>\n")
    _write_pauses(trained.documents, out)
    curves = {chain: curve for chain, curve in trained.curves.items() if len(curve) > 1}
    if curves:
        _write_curves(curves, out)
    for chain, decided in trained.decided.items():
        about = f" ({chain})" if len(trained.decided) > 1 else ""
        _write_confusion(decided, about, out)
        _write_errors(decided, about, out)
    if not trained.decided:
        out.write(
            '<h2>Scores</h2>\n<p class="note">The model was not cross-validated. With --folds 5 this page has the '
            "learning curve, the confusions and the errors of held-out texts as well.</p>\n"
        )
    out.write("</body>\n</html>\n")


def _name(label: str) -> str:
    sign, name = mark_name(label)
    return f"{name} {sign}".strip() if name != sign else sign or "none"


def _keys(labels: Sequence[str]) -> str:
    shown = (
        f'<span><i style="background: var({_colour(i)})"></i>{escape(_name(label))}</span>'
        for i, label in enumerate(labels)
    )
    return f'<div class="keys">{"".join(shown)}</div>\n'


def _colour(place: int) -> str:
    return _COLOURS[min(place, len(_COLOURS) - 1)]


# ---------------------------------------------------------------- pauses


def pauses_by_mark(documents: Sequence[Document]) -> dict[str, NDArray[np.int64]]:
    """By label, the neutral one first and then the most frequent: how many of its places have a pause in which bin.

    Bins are those between 0, `PAUSE_EDGES` and infinity; a place without a known pause, as behind the last word, is in
    none of them.
    """
    found: dict[str, list[int]] = defaultdict(list)
    for document in documents:
        if document.times_ms is None or document.marks is None:
            continue
        start, end = document.times_ms[1:, 0], document.times_ms[:-1, 1]
        gaps = np.where((start >= 0) & (end >= 0), np.maximum(start - end, 0), -1).tolist()
        for mark, gap in zip(document.marks, gaps, strict=False):
            if gap >= 0:
                found[mark].append(gap)
    order = sorted(found, key=lambda mark: (mark != "", -len(found[mark]), mark))
    bins = len(PAUSE_EDGES) + 1
    return {
        mark: np.bincount(np.searchsorted(PAUSE_EDGES, found[mark], side="right"), minlength=bins) for mark in order
    }


def _bin_names() -> list[str]:
    inner = [f"{a}–" for a in PAUSE_EDGES[:-1]]
    return ["0", *inner, f"{PAUSE_EDGES[-1]}+"]


def _write_pauses(documents: Sequence[Document], out: TextIO) -> None:
    counts = pauses_by_mark(documents)
    if not counts:
        return
    out.write(
        "<h2>Pauses against marks</h2>\n"
        '<p class="note">What stands in the training texts behind a word that is followed by a pause of so many ms: '
        "each column is all places with such a pause, and their number is on top.</p>\n"
    )
    out.write(_keys(list(counts)))
    out.write(_stacked(counts))
    out.write('<p class="note">How long the pauses of each mark are, in percent of its places:</p>\n')
    out.write('<div class="multiples">')
    for place, (label, bins) in enumerate(counts.items()):
        if bins.sum() >= _FEWEST:
            out.write(_histogram(label, bins, _colour(place)))
    out.write("</div>\n")


def _stacked(counts: Mapping[str, NDArray[np.int64]]) -> str:
    table = np.array(list(counts.values()))
    totals = table.sum(axis=0)
    left, top, height, step = 34, 18, 200, 54
    width = left + step * len(totals)
    parts = []
    for share in (0, 25, 50, 75, 100):
        y = top + height * (1 - share / 100)
        parts.append(f'<line class="grid" x1="{left}" x2="{width}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{left - 5}" y="{y + 4}" text-anchor="end">{share}</text>')
    for column, (name, total) in enumerate(zip(_bin_names(), totals.tolist(), strict=True)):
        x, y = left + step * column + 5, float(top + height)
        for place, (label, count) in enumerate(zip(counts, table[:, column].tolist(), strict=True)):
            part = height * count / total if total else 0.0
            y -= part
            if part > 0:
                shown = f"{_name(label)}: {count:,} of {total:,}"
                parts.append(
                    f'<rect x="{x}" y="{y:.1f}" width="{step - 10}" height="{part:.1f}" fill="var({_colour(place)})">'
                    f"<title>{escape(shown)}</title></rect>"
                )
        middle = x + (step - 10) / 2
        parts.append(f'<text x="{middle}" y="{top - 5}" text-anchor="middle">{_short(total)}</text>')
        parts.append(f'<text x="{middle}" y="{top + height + 15}" text-anchor="middle">{name}</text>')
    parts.append(f'<text x="{width}" y="{top + height + 30}" text-anchor="end">pause, ms</text>')
    return _chart(parts, width, top + height + 34, "Share of each mark by the length of the pause")


def _histogram(label: str, bins: NDArray[np.int64], colour: str) -> str:
    total = int(bins.sum())
    shares = 100 * bins / total
    width, height, top = 240, 90, 20
    step = width / len(bins)
    highest = max(float(shares.max()), 1.0)
    parts = [f'<text class="strong" x="0" y="12">{escape(_name(label))}</text>']
    parts.append(f'<text x="{width}" y="12" text-anchor="end">{total:,} places</text>')
    for place, (name, share) in enumerate(zip(_bin_names(), shares.tolist(), strict=True)):
        tall = height * share / highest
        parts.append(
            f'<rect x="{place * step + 1:.1f}" y="{top + height - tall:.1f}" width="{step - 2:.1f}" '
            f'height="{tall:.1f}" fill="var({colour})"><title>{name} ms: {number(share, 1)} %</title></rect>'
        )
        if place in (0, 4, 8, len(bins) - 1):
            x = place * step + step / 2
            parts.append(f'<text x="{x:.1f}" y="{top + height + 13}" text-anchor="middle">{name}</text>')
    parts.append(f'<line class="grid" x1="0" x2="{width}" y1="{top + height}" y2="{top + height}"/>')
    return _chart(parts, width, top + height + 16, f"Pauses of the label {_name(label)}")


def _chart(parts: Sequence[str], width: float, height: float, about: str) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(about)}">'
        f"{''.join(parts)}</svg>\n"
    )


def _short(count: float) -> str:
    """A count in a few characters: 950, 1.2k, 35k."""
    if count < 1000:
        return f"{count:.0f}"
    return f"{count / 1000:.1f}k" if count < 10_000 else f"{count / 1000:.0f}k"


# ---------------------------------------------------------------- learning curve


def _write_curves(curves: Mapping[str, Sequence[tuple[int, float]]], out: TextIO) -> None:
    out.write(
        "<h2>Learning curve</h2>\n"
        '<p class="note">PolEval weighted F1 (rule:all) of one held-out fold, by the number of words trained on (each '
        "step doubles it). A line that still rises says that more text would help.</p>\n"
    )
    points = [point for curve in curves.values() for point in curve]
    left, top, width, height = 40, 14, 640, 230
    logs = [math.log2(max(1, words)) for words, _ in points]
    low, high = min(logs), max(*logs, min(logs) + 1)
    floor = 10 * math.floor(min(f1 for _, f1 in points) / 10)
    ceiling = max(10 * math.ceil(max(f1 for _, f1 in points) / 10), floor + 10)

    def x(words: int) -> float:
        return left + 10 + (width - left - 90) * (math.log2(max(1, words)) - low) / (high - low)

    def y(f1: float) -> float:
        return top + height * (1 - (f1 - floor) / (ceiling - floor))

    parts = []
    for share in range(floor, ceiling + 1, 10):
        parts.append(f'<line class="grid" x1="{left}" x2="{width - 80}" y1="{y(share):.1f}" y2="{y(share):.1f}"/>')
        parts.append(f'<text x="{left - 5}" y="{y(share) + 4:.1f}" text-anchor="end">{share}</text>')
    for words in sorted({words for words, _ in points}):
        parts.append(f'<text x="{x(words):.1f}" y="{top + height + 15}" text-anchor="middle">{_short(words)}</text>')
    parts.append(f'<text x="{width - 80}" y="{top + height + 30}" text-anchor="end">words trained on</text>')
    for place, (chain, curve) in enumerate(curves.items(), 1):
        line = " ".join(f"{x(words):.1f},{y(f1):.1f}" for words, f1 in curve)
        dashes = "" if place == 1 else ' stroke-dasharray="7 4"'
        parts.append(f'<polyline class="line" stroke="var({_colour(place)})"{dashes} points="{line}"/>')
        for words, f1 in curve:
            parts.append(
                f'<circle cx="{x(words):.1f}" cy="{y(f1):.1f}" r="4" fill="var({_colour(place)})">'
                f"<title>{chain}, {words:,} words: {number(f1)}</title></circle>"
            )
            parts.append(f'<text x="{x(words):.1f}" y="{y(f1) - 9:.1f}" text-anchor="middle">{number(f1, 1)}</text>')
        words, f1 = curve[-1]
        parts.append(f'<text class="strong" x="{x(words) + 12:.1f}" y="{y(f1) + 4:.1f}">{escape(chain)}</text>')
    out.write(_chart(parts, width, top + height + 34, "F1 by words trained on"))


# ---------------------------------------------------------------- confusions and errors


def confusion(decided: Sequence[tuple[Document, Sequence[str]]]) -> Counter[tuple[str, str]]:
    """How often each (mark of the text, mark decided) occurs."""
    return Counter(pair for document, found in decided for pair in zip(document.marks or (), found, strict=True))


def _write_confusion(decided: Sequence[tuple[Document, Sequence[str]]], about: str, out: TextIO) -> None:
    counts = confusion(decided)
    gold: Counter[str] = Counter()
    for (mark, _), count in counts.items():
        gold[mark] += count
    labels = sorted({label for pair in counts for label in pair}, key=lambda mark: (mark != "", -gold[mark], mark))
    out.write(
        f"<h2>Confusions{escape(about)}</h2>\n"
        '<p class="note">Rows are the marks of the held-out texts, columns what the model decided; the darker, the '
        "larger the share of the row.</p>\n"
    )
    heads = "".join(f"<th>{escape(label or 'none')}</th>" for label in labels)
    out.write(f'<div class="scroll"><table class="heat"><thead><tr><th></th>{heads}</tr></thead><tbody>\n')
    for row in labels:
        cells = []
        for column in labels:
            count = counts[row, column]
            # The root makes rare confusions visible.
            shade = 55 * math.sqrt(count / gold[row]) if gold[row] else 0
            own = ' class="own"' if row == column else ""
            style = f"background: color-mix(in srgb, var(--first) {shade:.0f}%, transparent)"
            cells.append(f'<td{own} style="{style}">{f"{count:,}" if count else ""}</td>')
        out.write(f"<tr><td>{escape(_name(row))}</td>{''.join(cells)}</tr>\n")
    out.write("</tbody></table></div>\n")


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One kind of error: the text has `gold`, the model decided `found`.

    contexts: (word before, word behind, how often), the most frequent first. examples: (words before, words behind).
    """

    gold: str
    found: str
    count: int
    contexts: Sequence[tuple[str, str, int]]
    examples: Sequence[tuple[str, str]]


def top_errors(decided: Sequence[tuple[Document, Sequence[str]]]) -> list[ErrorKind]:
    """The most frequent kinds of errors, with the words around them."""
    places: dict[tuple[str, str], list[tuple[Document, int]]] = defaultdict(list)
    for document, found in decided:
        for place, pair in enumerate(zip(document.marks or (), found, strict=True)):
            if pair[0] != pair[1]:
                places[pair].append((document, place))
    kinds = []
    for (gold, found_mark), where in sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))[:_KINDS]:
        pairs = Counter((document.words[i].lower(), _word(document, i + 1).lower()) for document, i in where)
        contexts = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:_CONTEXTS]
        examples = [
            (
                " ".join(document.words[max(0, i + 1 - _WORDS_AROUND) : i + 1]),
                " ".join(document.words[i + 1 : i + 1 + _WORDS_AROUND]),
            )
            for document, i in where[:: max(1, len(where) // _EXAMPLES)][:_EXAMPLES]
        ]
        kinds.append(ErrorKind(gold, found_mark, len(where), [(*pair, n) for pair, n in contexts], examples))
    return kinds


def _word(document: Document, place: int) -> str:
    return document.words[place] if place < len(document.words) else ""


def _write_errors(decided: Sequence[tuple[Document, Sequence[str]]], about: str, out: TextIO) -> None:
    kinds = top_errors(decided)
    if not kinds:
        return
    out.write(
        f"<h2>Most frequent errors{escape(about)}</h2>\n"
        "<p class=\"note\">The text's mark, then the model's; the pairs of words around it that are most often wrong, "
        "and examples.</p>\n"
        '<div class="scroll"><table class="errors"><thead><tr><th>error</th><th>places</th><th>words around, examples'
        "</th></tr></thead><tbody>\n"
    )
    for kind in kinds:
        pairs = "".join(
            f'<span class="pair">{escape(before)} · {escape(behind) or "end"} <small>{count}</small></span>'
            for before, behind, count in kind.contexts
            if count > 1
        )
        examples = "".join(
            f'<span class="context">… {escape(before)} <b>{escape(kind.gold or "∅")} → {escape(kind.found or "∅")}</b> '
            f"{escape(behind)} …</span>"
            for before, behind in kind.examples
        )
        what = f"{escape(kind.gold or 'none')} → {escape(kind.found or 'none')}"
        out.write(f'<tr><td>{what}</td><td class="right">{kind.count:,}</td><td>{pairs}{examples}</td></tr>\n')
    out.write("</tbody></table></div>\n")
