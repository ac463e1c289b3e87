"""An explanation as an SVG picture: one text with its marks and pauses, and the reasons of one of them.

Drawn without any library. Words are set in a monospaced font whose letters are told how wide to be, so that the picture
looks alike whatever font is there. Colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from crfpunct.explanation import Explained, Reason
from crfpunct.report.cells import signed
from crfpunct.report.explained import Reading, band, label_name, percent, shortened, sign_of

_WIDTH, _MARGIN = 860, 24
_LETTER, _LINE = 9.6, 46  # a letter's width at 16 px, and a line's height
_SMALL = 7.2  # a letter's width at 12 px
_PX_PER_MS, _LONGEST_MS, _NUMBERED_MS = 0.06, 1500, 400
_BAR, _ROW = 170, 19

_STYLE = """svg{--paper:#fdfdfc;--ink:#1b1c1e;--muted:#63666b;--grid:#dcdcd7;--first:#2467a8;--second:#c2620a;
--p1:#1f63a5;--p2:#2c7f55;--p3:#a86400;--p4:#b8352b}
@media(prefers-color-scheme:dark){svg{--paper:#17181a;--ink:#e7e7e4;--muted:#a0a3a8;--grid:#383b40;--first:#6aa9e6;
--second:#eb9a4b;--p1:#74b2ef;--p2:#67c594;--p3:#f0ad58;--p4:#ff8a7d}}
text{fill:var(--ink);font:16px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre}
.small{font-size:12px}.tiny{font-size:10px;fill:var(--muted)}.muted{fill:var(--muted)}
.said{font:13px system-ui,"DejaVu Sans",sans-serif}.head{font:600 15px system-ui,"DejaVu Sans",sans-serif}
.right{text-anchor:end}.middle{text-anchor:middle}.p1{--c:var(--p1)}.p2{--c:var(--p2)}.p3{--c:var(--p3)}
.p4{--c:var(--p4)}.p0{--c:var(--muted)}.mark{fill:var(--c);font-weight:700}.chip{fill:var(--c);fill-opacity:.16}
.under{stroke:var(--c);stroke-width:3}.p2 .under{stroke-width:2}.p3 .under{stroke-width:2;stroke-dasharray:6 4}
.p4 .under{stroke-width:2;stroke-dasharray:2 3}.pause{stroke:var(--muted);fill:none;stroke-opacity:.8}
.asked{fill:none;stroke:var(--c);stroke-width:1.5}.pro{fill:var(--first)}.con{fill:var(--second)}
.axis{stroke:var(--grid)}.track{fill:var(--grid)}.share{fill:var(--c)}"""


def drawn(reading: Reading) -> str:
    """The first text whose place is explained, and the reasons of the first of its places."""
    number_of_text, place = reading.places[0]
    text = reading.texts[number_of_text]
    parts, y = _words(text, place)
    y += 14
    parts.append(f'<line class="axis" x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{y}" y2="{y}"/>')
    reasons, height = _reasons(text, place, reading.top, y + 32)
    decision = text.decision(place)
    said = f"{text.words[place]}: {label_name(decision.label)}, {percent(text.probability(place))} %, and why"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img">\n<title>{escape(said)}</title>\n<style>{_STYLE}</style>\n'
        f'<rect width="{_WIDTH}" height="{height}" rx="10" fill="var(--paper)"/>\n'
        + "\n".join([*parts, *reasons])
        + "\n</svg>\n"
    )


def _written(x: float, y: float, text: str, letter: float, kind: str = "") -> str:
    """A text whose letters are `letter` wide."""
    width = f'textLength="{letter * len(text):.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {width} class="{kind}">{escape(text)}</text>'


def _words(text: Explained, asked: int) -> tuple[list[str], float]:
    """The words with marks and pauses, in lines; gives the last line's y as well."""
    parts: list[str] = []
    x, y = float(_MARGIN), 46.0
    marks = text.document.marks
    for place, word in enumerate(text.words):
        shown = word + (marks[place] if marks is not None else "")
        label = text.found[place]
        placed = label != text.labels[0]
        sign = sign_of(label) if placed or place == asked else ""
        width = _LETTER * len(shown) + (_LETTER * len(sign) + 12 if sign else 0)
        gap = int(text.gaps_ms[place])
        if x + width > _WIDTH - _MARGIN and x > _MARGIN:
            x, y = float(_MARGIN), y + _LINE
        parts.append(_written(x, y, shown, _LETTER))
        if sign:
            kind = band(text.probability(place)) if placed else 0
            parts.append(_chip(x, y, shown, sign, text.probability(place), kind, place == asked))
        x += width + 4
        if gap > 0:
            x = _pause(parts, x, y, gap)
        x += 5
    return parts, y + 26


def _chip(x: float, y: float, word: str, sign: str, probability: float, kind: int, asked: bool) -> str:
    """A mark behind its word: its colour (`kind`), the line under both and a number say alike how sure it is."""
    left, width = x + _LETTER * len(word) + 2, _LETTER * len(sign) + 8
    end = left + width
    lines = [
        f'<rect class="chip" x="{left:.1f}" y="{y - 16:.1f}" width="{width:.1f}" height="22" rx="4"/>',
        _written(left + 4, y, sign, _LETTER, "mark"),
        f'<text class="tiny right" x="{end:.1f}" y="{y + 21:.1f}">{min(99, round(100 * probability))} %</text>',
    ]
    if kind:
        lines.append(f'<line class="under" x1="{x:.1f}" x2="{end:.1f}" y1="{y + 9}" y2="{y + 9}"/>')
    if asked:
        box = f'x="{x - 5:.1f}" y="{y - 22:.1f}" width="{end - x + 10:.1f}" height="49" rx="6"'
        lines.append(f'<rect class="asked" {box}/>')
    return f'<g class="p{kind}">{"".join(lines)}</g>'


def _pause(parts: list[str], x: float, y: float, gap: int) -> float:
    """A bracket as long as the pause, unless the line ends before; gives where it ends."""
    width = _PX_PER_MS * min(gap, _LONGEST_MS)
    end = min(x + width, _WIDTH - _MARGIN)
    dashes = ' stroke-dasharray="3 3"' if gap > _LONGEST_MS or end < x + width else ""
    parts.append(f'<path class="pause"{dashes} d="M{x:.1f} {y - 3:.1f}v6H{end:.1f}v-6"/>')
    if gap >= _NUMBERED_MS:
        parts.append(f'<text class="tiny middle" x="{(x + end) / 2:.1f}" y="{y - 5:.1f}">{gap:,} ms</text>')
    return end


def _reasons(text: Explained, place: int, top: int, y: float) -> tuple[list[str], int]:
    """Probabilities and reasons of one place, from y down; gives the picture's height as well."""
    decision = text.decision(place)
    chosen, other = label_name(decision.label), label_name(decision.runner_up)
    gap = int(text.gaps_ms[place])
    pause = f", after it a pause of {gap:,} ms" if gap >= 0 else ""
    kind = band(text.probability(place)) if decision.label != text.labels[0] else 0
    parts = [
        f'<text class="head" x="{_MARGIN}" y="{y}">“{escape(text.words[place])}”: why {escape(chosen)}, not '
        f"{escape(other)}?</text>",
        f'<text class="said muted" x="{_MARGIN}" y="{y + 20}">word {place + 1}{pause}</text>',
    ]
    y += 48
    order = sorted(range(len(text.labels)), key=lambda i: -text.probabilities[place, i])[:6]
    parts.append(f'<g class="p{kind}"><text class="said muted" x="{_MARGIN}" y="{y}">probability, %</text>')
    for row, number in enumerate(order, 1):
        share, line = float(text.probabilities[place, number]), y + row * _ROW
        parts.append(
            f'<text class="said" x="{_MARGIN}" y="{line}">{escape(label_name(text.labels[number]))}</text>'
            f'<rect class="track" x="{_MARGIN + 120}" y="{line - 10}" width="80" height="10" rx="2"/>'
            f'<rect class="share" x="{_MARGIN + 120}" y="{line - 10}" width="{80 * share:.1f}" height="10" rx="2"/>'
            f'<text class="said right" x="{_MARGIN + 246}" y="{line}">{escape(percent(share))}</text>'
        )
    parts.append("</g>")
    named, rest = shortened(decision, top)
    rows = [*named, *([rest] if rest else []), *decision.path]
    left = _MARGIN + 290
    parts.append(
        f'<text class="said muted" x="{left}" y="{y}">what speaks for {escape(chosen)} (right) and for '
        f"{escape(other)} (left)</text>"
    )
    lines, below = _bars(rows, len(named), decision.lead, left, y)
    return [*parts, *lines], int(max(below, y + len(order) * _ROW) + 24)


def _bars(rows: Sequence[Reason], named: int, lead: float, left: float, y: float) -> tuple[list[str], float]:
    most = max((abs(reason.lead) for reason in rows), default=1.0) or 1.0
    middle, right = _WIDTH - _MARGIN - 60 - _BAR / 2, _WIDTH - _MARGIN
    room = int((middle - _BAR / 2 - left - 6) / _SMALL)
    parts = []
    for row, reason in enumerate(rows, 1):
        line = y + row * _ROW
        width = _BAR / 2 * abs(reason.lead) / most
        seen = reason.seen if len(reason.seen) <= room else reason.seen[: room - 1] + "…"
        side, start = ("pro", middle) if reason.lead >= 0 else ("con", middle - width)
        parts.append(_written(left, line, seen, _SMALL, "small" if row <= named else "small muted"))
        parts.append(f'<rect class="{side}" x="{start:.1f}" y="{line - 10}" width="{width:.1f}" height="10" rx="1"/>')
        parts.append(f'<text class="said right" x="{right}" y="{line}">{signed(reason.lead)}</text>')
    below = y + len(rows) * _ROW
    parts.append(f'<line class="axis" x1="{middle}" x2="{middle}" y1="{y + 6}" y2="{below + 4}"/>')
    parts.append(f'<line class="axis" x1="{left}" x2="{right}" y1="{below + 7}" y2="{below + 7}"/>')
    parts.append(f'<text class="said" x="{left}" y="{below + 23}" font-weight="600">sum</text>')
    parts.append(f'<text class="said right" x="{right}" y="{below + 23}">{signed(lead)}</text>')
    return parts, below + 23
