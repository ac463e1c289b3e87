"""A report as one HTML page that needs nothing else: tables, figures, warnings, signatures; light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TextIO

from crfpunct.report import figures
from crfpunct.report.tables import Report, Table
from crfpunct.scoring.comparison import Comparison
from crfpunct.scoring.evaluation import Evaluation

_CSS = """
:root { color-scheme: light dark; --paper: #fdfdfc; --card: #f4f4f1; --ink: #1b1c1e; --muted: #63666b; --grid: #dcdcd7;
  --first: #2467a8; --second: #c2620a; --third: #2c7f55; --on-colour: #ffffff; --warn: #fbf1dc; --warn-edge: #d9a441;
  --font: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; }
@media (prefers-color-scheme: dark) { :root { --paper: #17181a; --card: #202225; --ink: #e7e7e4; --muted: #a0a3a8;
  --grid: #383b40; --first: #6aa9e6; --second: #eb9a4b; --third: #62bd8d; --on-colour: #101113; --warn: #322916;
  --warn-edge: #a87f33; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 58rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 var(--font); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.75rem 0 .75rem; }
.subtitle, .note, figcaption, footer { color: var(--muted); }
.subtitle { margin: .3rem 0 0; }
.note, figcaption, footer { font-size: .875rem; }
.note { margin: .5rem 0 0; max-width: 48rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .75rem;
  margin: 1.75rem 0 0; }
.card { background: var(--card); border-radius: .6rem; padding: .8rem 1rem; }
.card b { display: block; font-size: 1.75rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.card span { display: block; font-size: .85rem; }
.card small { color: var(--muted); font-variant-numeric: tabular-nums; }
.warnings { background: var(--warn); border-left: 4px solid var(--warn-edge); border-radius: .25rem;
  padding: .6rem 1rem; margin: 1.5rem 0 0; font-size: .9rem; }
.warnings p { margin: .25rem 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem 1rem .28rem 0; text-align: left; white-space: nowrap; }
th { font-weight: 600; color: var(--muted); border-bottom: 1.5px solid var(--grid); }
td { border-bottom: 1px solid var(--grid); }
tr:last-child td { border-bottom: 0; }
tr.rule td { border-top: 2px solid var(--grid); }
.right { text-align: right; }
td:first-child { font-weight: 500; }
figure { margin: 1.25rem 0 0; }
figure svg { display: block; width: 100%; height: auto; }
code { font: .8rem/1.5 ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", monospace; color: var(--muted);
  overflow-wrap: anywhere; white-space: normal; }
td code { white-space: nowrap; overflow-wrap: normal; }
footer { margin-top: 3.5rem; border-top: 1px solid var(--grid); padding-top: 1rem; }
footer p { margin: 0 0 .5rem; }
footer code { display: block; margin: .2rem 0; }
@media print { body { max-width: none; padding: 0; } h2, figure, .card { break-inside: avoid; } }
"""

#: A figure and what it shows, to stand under the table of that name.
Figure = tuple[str, str]


def write_evaluation(evaluation: Evaluation, report: Report, out: TextIO) -> None:
    """One output's page: its tables (`report`), bars with intervals, the confusion matrix, scores by document."""
    drawn: dict[str, list[Figure]] = {}
    confidence = f"{evaluation.sampling.confidence:g} %"
    bars = f"Precision, recall and F1; the lines are {confidence} intervals over resampled documents."
    if result := evaluation.poleval:
        drawn["poleval"] = []
        if result.rows:
            drawn["poleval"].append((figures.label_bars(result.rows, "poleval-bars"), bars))
        if len(result.by_document) > 1 and result.rows:
            drawn["poleval"].append(
                (
                    figures.document_scores(result, "documents"),
                    "Each document's weighted F1 (rule:all) by its number of marks, and how many documents score what.",
                )
            )
    for name, marks in (("marks", evaluation.marks), ("iwslt", evaluation.iwslt)):
        if marks and marks.rows:
            drawn[name] = [(figures.label_bars(marks.rows, f"{name}-bars", iwslt=name == "iwslt"), bars)]
            drawn["confusion"] = [
                (
                    figures.confusion_matrix(marks, "confusion-matrix"),
                    "Rows are the reference. A cell's colour follows its share of the row, so that rare marks show.",
                )
            ]
    _write(report, drawn, out)


def write_comparison(comparison: Comparison, report: Report, out: TextIO) -> None:
    """A comparison's page: for each metric scores and differences with intervals, and document against document."""
    drawn: dict[str, list[Figure]] = {}
    confidence = f"{comparison.sampling.confidence:g} %"
    for result in comparison.metrics:
        name = result.metric.name
        drawn[f"compare-{name}"] = [
            (
                figures.system_scores(comparison, result, f"systems-{name}"),
                f"Lines are {confidence} intervals over resampled documents. Green differences are significant.",
            )
        ]
        if comparison.documents > 1 and len(comparison.names) > 1:
            side = "above" if result.metric.higher_is_better else "below"
            drawn[f"compare-{name}"].append(
                (
                    figures.paired_documents(comparison, result, f"paired-{name}"),
                    f"A dot is a document: {comparison.names[0]} across, the other system upwards. "
                    f"Dots {side} the line are documents where the other system is better.",
                )
            )
    _write(report, drawn, out)


def write_head(title: str, out: TextIO, css: str = "") -> None:
    """What every page begins with, up to its body; css: rules of a page's own."""
    out.write(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_CSS}{css}</style>\n</head>\n<body>\n"
    )


def _write(report: Report, drawn: dict[str, list[Figure]], out: TextIO) -> None:
    write_head(report.title, out)
    out.write(f'<h1>{escape(report.title)}</h1>\n<p class="subtitle">{escape(report.subtitle)}</p>\n')
    if report.tables[0].name == "scores":
        _write_cards(report.tables[0], out)
    if report.warnings:
        lines = "".join(f"<p>{escape(warning)}</p>" for warning in report.warnings)
        out.write(f'<div class="warnings">{lines}</div>\n')
    for table in report.tables:
        if table.name != "scores":
            write_section(table, drawn.get(table.name, ()), out)
    out.write("<footer><p>Signatures: each holds everything that changes its number.</p>\n")
    out.writelines(f"<code>{escape(str(signature))}</code>\n" for signature in report.signatures)
    out.write("</footer>\n</body>\n</html>\n")


def _write_cards(table: Table, out: TextIO) -> None:
    out.write('<div class="cards">\n')
    for title, value, ends, _ in table.rows:
        out.write(
            f'<div class="card"><span>{escape(title)}</span><b>{escape(value)}</b><small>{escape(ends)}</small></div>\n'
        )
    out.write("</div>\n")
    out.write(f'<p class="note">In percent, each with its {escape(table.columns[2].head)}.</p>\n')


def write_section(table: Table, drawn: Sequence[Figure], out: TextIO) -> None:
    """A table with its notes, and the figures that belong to it."""
    out.write(f'<section id="{escape(table.name)}">\n<h2>{escape(table.title)}</h2>\n')
    if table.name != "confusion" or not drawn:  # the figure holds the same numbers
        _write_table(table, out)
    out.writelines(f'<p class="note">{escape(note)}</p>\n' for note in table.notes)
    for svg, caption in drawn:
        out.write(f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>\n")
    out.write("</section>\n")


def _write_table(table: Table, out: TextIO) -> None:
    out.write('<div class="scroll"><table>\n')
    sides = [' class="right"' if column.right else "" for column in table.columns]
    heads = "".join(f"<th{side}>{escape(column.head)}</th>" for side, column in zip(sides, table.columns, strict=True))
    out.write(f"<thead><tr>{heads}</tr></thead>\n<tbody>\n")
    for place, row in enumerate(table.rows):
        cells = []
        for i, (side, cell) in enumerate(zip(sides, row, strict=True)):
            text = escape(cell)
            cells.append(f"<td{side}>{f'<strong>{text}</strong>' if (place, i) in table.strong else text}</td>")
        rule = ' class="rule"' if place in table.rules else ""
        out.write(f"<tr{rule}>{''.join(cells)}</tr>\n")
    out.write("</tbody>\n</table></div>\n")
