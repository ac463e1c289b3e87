"""`crfpunct evaluate` and `crfpunct compare`."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command()(evaluate)


def evaluate(
    reference: Annotated[str, typer.Argument(help="The right text, or - for standard input.")],
    hypothesis: Annotated[str, typer.Argument(help="A system's output, line for line.")],
) -> None:
    """Score a system's output against a reference: PolEval weighted F1 by both rules, and each mark."""
    from rich.console import Console
    from rich.table import Table

    from crfpunct.cli.notes import note
    from crfpunct.files import open_input, read_lines
    from crfpunct.scoring import poleval
    from crfpunct.scoring.signature import Signature, fingerprint

    sides = []
    for path in (reference, hypothesis):
        with open_input(path) as stream:
            sides.append([line for _, line in read_lines(stream, path)])
    counted = poleval.counts(*sides)
    for each in counted.differences:
        note(
            f"{hypothesis}:{each.line}: {each.hypothesis_tokens} tokens, but {reference}:{each.line} has "
            f'{each.reference_tokens}; first difference at token {each.place} ("{each.reference_word}" / '
            f'"{each.hypothesis_word}").'
        )
    if counted.stops:
        note(f"line {counted.stops.line}: {counted.stops.reason}; rule:geval is undefined.")
    table = Table("mark", "P", "R", "F1", "support", title="PolEval weighted F1")
    for score in counted.per_label("all"):
        cells = (f"{value:.2f}" for value in (score.precision, score.recall, score.f1))
        table.add_row(score.label, *cells, str(score.support))
    console = Console()
    console.print(table)
    for rule in poleval.RULES:
        options = (("rule", rule),)
        signature = Signature("poleval-weighted-f1", options, len(sides[0]), fingerprint(sides[0]))
        console.print(f"rule:{rule} {counted.weighted_f1(rule):.2f}   {signature}", soft_wrap=True)
