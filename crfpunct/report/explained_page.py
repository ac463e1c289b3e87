"""An explanation as one HTML page that needs nothing else: the text with its marks, pauses to scale, reasons on demand.

The page works without scripts. A mark's reasons show while it is pointed at or has the focus, by a click, a tap or the
Tab key. How sure the model is can be read from the number at each mark and from the line under the word, not from the
colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TextIO

from crfpunct.explanation import Explained, Reason
from crfpunct.report import page
from crfpunct.report.cells import number, signed
from crfpunct.report.explained import (
    Reading,
    band,
    by_name,
    label_name,
    pause,
    percent,
    shortened,
    sign_of,
)
from crfpunct.report.tables import Report
from crfpunct.scoring.notices import plural

#: Width of a pause in em for a millisecond; longer ones than this many are cut, and say so.
_EM_PER_MS, _LONGEST_MS = 0.006, 2400
#: Pauses at least so long have their number printed.
_NUMBERED_MS = 400
#: A mark that was not placed is shown as a ghost if it is at least so probable.
_ALMOST = 0.2
_CASE_SIGNS = {"TITLE": "Aa", "UPPER": "AA", "MIXED": "aA", "LOWER": "aa"}

_CSS = """
body { max-width: 76rem; }
.text { font-size: 1.2rem; line-height: 2.7; }
.legend { font-size: .9rem; color: var(--muted); display: flex; flex-wrap: wrap; gap: .35rem 1.4rem; margin: 1.2rem 0; }
.legend b { color: var(--ink); }
h2 small { font-weight: 400; color: var(--muted); }
:root { --p1: #1f63a5; --p2: #2c7f55; --p3: #a86400; --p4: #b8352b; --panel: #ffffff; --shadow: 0 2px 18px #0003; }
@media (prefers-color-scheme: dark) { :root { --p1: #74b2ef; --p2: #67c594; --p3: #f0ad58; --p4: #ff8a7d;
  --panel: #26282c; --shadow: 0 2px 18px #000a; } }
.p1 { --c: var(--p1); --line: 3px solid; } .p2 { --c: var(--p2); --line: 2px solid; }
.p3 { --c: var(--p3); --line: 2px dashed; } .p4 { --c: var(--p4); --line: 2px dotted; }
.ghost { --c: var(--muted); --line: 0 none; }
.m { display: inline-block; line-height: 1.35; white-space: nowrap; cursor: pointer;
  border-bottom: var(--line) var(--c); border-radius: .2rem .2rem 0 0;
  -webkit-tap-highlight-color: transparent; }
.m > b { color: var(--c); background: color-mix(in srgb, var(--c) 16%, transparent); border-radius: .25rem;
  padding: 0 .28em; margin-left: .12em; font-weight: 700; }
.m > sub { color: var(--c); font-size: .58em; font-variant-numeric: tabular-nums; vertical-align: -.45em;
  margin-left: .15em; }
.ghost > b { background: none; border: 1px dashed var(--muted); font-weight: 500; padding: 0 .22em; }
.m:hover, .m:focus { outline: 2px solid var(--c); outline-offset: 2px; background: var(--card); }
.asked > b { box-shadow: 0 0 0 2px var(--paper), 0 0 0 4px var(--c); }
.gap { display: inline-block; width: calc(var(--ms) * .006em); height: .38em; margin: 0 .05em; position: relative;
  border: solid var(--muted); border-width: 0 1px 1.5px; opacity: .8; vertical-align: -.12em; }
.gap[data-ms]::after { content: attr(data-ms); position: absolute; left: 50%; bottom: .5em; color: var(--muted);
  transform: translateX(-50%); font: normal .54em/1 var(--font); white-space: nowrap; }
.cut { border-right-style: dashed; border-bottom-style: dashed; }
.m > sup { color: var(--muted); font-size: .7em; margin-left: .25em; vertical-align: .4em; }
.m > sup b { color: var(--ink); margin-left: .15em; }
.why { display: none; position: fixed; z-index: 2; left: 0; right: 0; bottom: 0; max-height: 56vh; overflow: auto;
  background: var(--panel); color: var(--ink); box-shadow: var(--shadow); border-top: 4px solid var(--c);
  padding: .8rem 1rem 1.1rem; font-size: .875rem; line-height: 1.4; white-space: normal; text-align: left;
  cursor: default; }
.m:hover > .why { display: block; z-index: 3; }
.m:focus > .why { display: block; }
body:has(.m:hover) .m:focus:not(:hover) > .why { display: none; }
.m { scroll-margin: 5rem 0 60vh; }
.why .head { display: block; font-size: 1.05rem; font-weight: 600; }
.why .said { display: block; color: var(--muted); margin: .1rem 0 .5rem; }
.why .bars, .why .list { display: grid; gap: .1rem .6rem; align-items: center; font-variant-numeric: tabular-nums; }
.why .bars { grid-template-columns: max-content 1fr 3.5rem; margin-bottom: .7rem; }
.why .list { grid-template-columns: minmax(0, 1fr) 5.5rem 3.5rem; }
.why .sub { display: block; font-weight: 600; margin: .35rem 0 .15rem; }
.v { text-align: right; }
.seen { font: .8rem/1.35 ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.rest { color: var(--muted); }
.total { font-weight: 600; border-top: 1px solid var(--grid); padding-top: .15rem; margin-top: .15rem; }
.bar { display: block; height: .7em; background: var(--grid); border-radius: 2px; overflow: hidden; }
.bar i { display: block; height: 100%; background: var(--c, var(--first)); width: var(--w); }
.two { position: relative; display: block; height: .8em; background: linear-gradient(var(--grid), var(--grid)) center /
  1px 100% no-repeat; }
.two i { position: absolute; top: 0; bottom: 0; width: calc(var(--w) / 2); }
.two .pro { left: 50%; background: var(--first); border-radius: 0 2px 2px 0; }
.two .con { right: 50%; background: repeating-linear-gradient(135deg, var(--second) 0 3px, transparent 3px 5px);
  border-radius: 2px 0 0 2px; }
.hint { display: none; }
.share { width: 9rem; }
.pad { height: 45vh; }
@media (min-width: 62rem) {
  .reading { margin-right: 27rem; }
  .why, .hint { left: auto; right: max(1.25rem, calc(50vw - 36.75rem)); top: 1.25rem; bottom: auto; width: 25.5rem;
    max-height: calc(100vh - 2.5rem); border: 1px solid var(--grid); border-top: 4px solid var(--c);
    border-radius: .5rem; }
  .hint { display: block; position: fixed; padding: 1rem; color: var(--muted); background: var(--card);
    border-top-color: var(--grid); font-size: .9rem; }
  .pad { display: none; }
  .m { scroll-margin: 2rem 0; }
}
@media print { .why, .hint, .pad { display: none !important; } .reading { margin-right: 0; } }
"""


def write_text(reading: Reading, out: TextIO) -> None:
    """The page of explained texts."""
    words = sum(len(text.words) for text in reading.texts)
    placed = sum(len(text.placed) for text in reading.texts)
    chains = ", ".join(dict.fromkeys(text.chain for text in reading.texts))
    what = "words with a capital" if reading.task == "case" else "marks"
    title = "Why this case?" if reading.task == "case" else "Why these marks?"
    page.write_head(f"{title} {reading.source}", out, _CSS)
    documents = plural(len(reading.texts), "document")
    out.write(
        f'<div class="reading">\n<h1>{title}</h1>\n<p class="subtitle">{escape(reading.source)}, read by the model '
        f"{escape(reading.model)} ({chains}): {documents}, {words:,} words, {placed:,} {what}.</p>\n"
    )
    out.write(_legend(reading))
    asked = set(reading.at)
    for i, text in enumerate(reading.texts):
        about = f"{plural(len(text.words), 'word')}, {len(text.placed)} {what}"
        out.write(f"<h2>{escape(reading.title_of(i))} <small>{about}</small></h2>\n")
        out.write('<div class="text">')
        out.writelines(_text(text, i, {place for t, place in asked if t == i}, reading.top))
        out.write("</div>\n")
    if any(text.placed for text in reading.texts):
        _write_shares(reading, out)
    out.write(
        '</div>\n<div class="hint">Point at a mark, tap it, or move with the Tab key: its reasons show here.</div>\n'
        '<div class="pad"></div>\n</body>\n</html>\n'
    )


def _legend(reading: Reading) -> str:
    parts = []
    for level, said in enumerate(("90 % and more", "70 to 90 %", "50 to 70 %", "less"), 1):
        parts.append(
            f'<span><span class="m p{level}"><b>{"Aa" if reading.task == "case" else ","}</b></span> {said}</span>'
        )
    has_own = any(text.given is not None for text in reading.texts)
    also = ", or in the text itself" if has_own else ""
    parts.append(f'<span><span class="m ghost"><b>?</b></span> not placed, but considered{also}</span>')
    if has_own:
        parts.append('<span><span class="m"><sup>≠<b>?</b></sup></span> the text itself has this</span>')
    if any((text.gaps_ms > 0).any() for text in reading.texts):
        parts.append('<span>pauses to scale: <i class="gap" style="--ms:500"></i> 500 ms</span>')
    zero, one = ("itself", "that follows") if reading.task == "case" else ("in front of the mark", "behind it")
    parts.append(f"<span>In the reasons, <b>[0]</b> is the word {zero}, <b>[1]</b> the one {one}.</span>")
    return f'<div class="legend">{"".join(parts)}</div>\n'


def _text(text: Explained, number_of_text: int, asked: set[int], top: int) -> Iterator[str]:
    neutral = text.labels[0]
    marks = text.document.marks
    for place, word in enumerate(text.words):
        shown = escape(word + (marks[place] if marks is not None else ""))
        label = text.found[place]
        ghost = ""
        if label == neutral:
            others = text.probabilities[place, 1:]
            likeliest = text.labels[1 + int(others.argmax())]
            own = text.given[place] if text.given is not None else neutral
            if own != neutral and own in text.labels:
                ghost = own
            elif others.max() >= _ALMOST or place in asked:
                ghost = likeliest
        if label == neutral and not ghost:
            yield shown
        else:
            sign = _sign(ghost or label)
            share = text.probability(place, ghost or label)
            kind = "ghost" if ghost else f"p{band(share)}"
            kind += " asked" if place in asked else ""
            own = text.given[place] if text.given is not None else label
            differs = f"<sup>≠<b>{escape(_sign(own))}</b></sup>" if own != label and own != ghost else ""
            focus = " autofocus" if place in asked and place == min(asked) else ""
            rounded = min(99, round(100 * share))
            name = f"w{number_of_text}-{place + 1}"
            said = f"{label_name(label)} behind {word}, {percent(text.probability(place))} percent"
            yield (
                f'<span class="m {kind}" tabindex="0" role="button" aria-label="{escape(said)}" '
                f'aria-describedby="{name}"{focus}>{shown}<b>{escape(sign)}</b><sub>{rounded}</sub>{differs}'
                f'<span class="why" id="{name}" role="tooltip">{_why(text, place, top)}</span></span>'
            )
        gap = int(text.gaps_ms[place])
        if gap > 0:
            kind = "gap cut" if gap > _LONGEST_MS else "gap"
            numbered = f' data-ms="{gap:,}"' if gap >= _NUMBERED_MS else ""
            yield (f' <i class="{kind}" style="--ms:{min(gap, _LONGEST_MS)}"{numbered} title="{gap:,} ms"></i>')
        yield "\n"


def _sign(label: str) -> str:
    return _CASE_SIGNS.get(label, sign_of(label))


def _why(text: Explained, place: int, top: int) -> str:
    """The inside of the panel of one place."""
    decision = text.decision(place)
    named, rest = shortened(decision, top)
    chosen, other = label_name(decision.label), label_name(decision.runner_up)
    facts = [f"word {place + 1}"]
    if text.gaps_ms[place] >= 0:
        facts.append(f"pause {pause(int(text.gaps_ms[place]))} ms")
    if text.given is not None:
        facts.append(f"in the text itself: {label_name(text.given[place])}")
    order = sorted(range(len(text.labels)), key=lambda i: -text.probabilities[place, i])
    bars = "".join(_bar(text.labels[i], float(text.probabilities[place, i])) for i in order[:5])
    most = max((abs(reason.lead) for reason in (*named, *decision.path, *([rest] if rest else []))), default=1.0) or 1.0
    rows = [_row(reason, most, "seen") for reason in named]
    rows += [_row(reason, most, "rest") for reason in (*([rest] if rest else []), *decision.path)]
    return (
        f'<span class="head">{escape(text.words[place])} → {escape(chosen)}</span>'
        f'<span class="said">{escape(", ".join(facts))}</span>'
        f'<span class="bars">{bars}</span>'
        f'<span class="sub">For {escape(chosen)}, against {escape(other)}</span>'
        f'<span class="list">{"".join(rows)}<span class="total">lead</span><span class="total">&nbsp;</span>'
        f'<span class="v total">{signed(decision.lead)}</span></span>'
    )


def _bar(label: str, probability: float) -> str:
    name = label_name(label)
    sign = f" {label}" if label != name else ""
    return (
        f'<span>{escape(name + sign)}</span><span class="bar"><i style="--w:{100 * probability:.1f}%"></i></span>'
        f'<span class="v">{escape(percent(probability))}</span>'
    )


def _row(reason: Reason, most: float, kind: str) -> str:
    side = "pro" if reason.lead >= 0 else "con"
    template = f' title="template: {escape(reason.template)}"' if reason.template else ""
    return (
        f'<span class="{kind}"{template}>{escape(reason.seen)}</span>'
        f'<span class="two"><i class="{side}" style="--w:{100 * abs(reason.lead) / most:.0f}%"></i></span>'
        f'<span class="v">{signed(reason.lead)}</span>'
    )


def _write_shares(reading: Reading, out: TextIO) -> None:
    shares = reading.shares()
    out.write("<h2>What decided</h2>\n")
    out.write(
        '<p class="note">Each template\'s share of the differences between the label and the runner-up, over all '
        "places where a label was placed.</p>\n"
    )
    if any(share.pauses for share in shares):
        total = 100 * sum(share.share for share in shares if share.pauses)
        out.write(f'<p class="note">Templates that look at pauses: {number(total, 1)} % together.</p>\n')
    rows = by_name(shares)
    most = rows[0][3] or 1.0
    out.write("<table><thead><tr><th>template</th><th>pauses</th><th></th><th>share, %</th></tr></thead><tbody>\n")
    for name, pauses, _, share in rows:
        if share >= 0.005:
            out.write(
                f"<tr><td>{escape(name)}</td><td>{'yes' if pauses else ''}</td>"
                f'<td class="share"><span class="bar"><i style="--w:{100 * share / most:.0f}%"></i></span></td>'
                f'<td class="right">{number(100 * share, 1)}</td></tr>\n'
            )
    out.write("</tbody></table>\n")


def write_model(report: Report, out: TextIO) -> None:
    """The page of a model's own weights."""
    page.write_head(report.title, out)
    out.write(f'<h1>{escape(report.title)}</h1>\n<p class="subtitle">{escape(report.subtitle)}</p>\n')
    for table in report.tables:
        page.write_section(table, (), out)
    out.write("</body>\n</html>\n")
