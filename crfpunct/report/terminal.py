"""A report as tables of a terminal, through rich."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from crfpunct.report.tables import Report, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Grid

#: Wide enough for every table, where the output is not a terminal.
_WIDTH = 200


def write(report: Report, out: TextIO) -> None:
    """Print a report: with bold and dim text on a terminal, as plain text without trailing spaces elsewhere."""
    from rich.console import Console
    from rich.text import Text

    on_terminal = out.isatty()
    drawn = out if on_terminal else io.StringIO()
    console = Console(file=drawn, highlight=False, width=None if on_terminal else _WIDTH)

    def line(text: str, style: str = "dim") -> None:
        console.print(Text(text, style), soft_wrap=True)

    line(report.title, "bold")
    line(report.subtitle)
    for table in report.tables:
        console.print()
        line(table.title, "bold")
        shown, left_out = _fitting(table, console)
        console.print(_grid(table, shown), no_wrap=True, crop=False, width=max(console.width, _WIDTH))
        for note in table.notes:
            line(note)
        if table.signature:
            line(table.signature)
        if left_out:
            line(f"(left out on this narrow screen: {', '.join(left_out)})")
    if isinstance(drawn, io.StringIO):
        out.writelines(text.rstrip() + "\n" for text in drawn.getvalue().splitlines())


def _fitting(table: Table, console: Console) -> tuple[list[int], list[str]]:
    """The places of the columns that fit the screen, spare ones going first, and the heads of those left out."""
    shown = list(range(len(table.columns)))
    left_out: list[str] = []
    while console.measure(_grid(table, shown), options=console.options.update(width=_WIDTH)).maximum > console.width:
        spare = [place for place in shown if table.columns[place].spare]
        if not spare:
            break
        shown.remove(spare[-1])
        left_out.insert(0, table.columns[spare[-1]].head)
    return shown, left_out


def _grid(table: Table, shown: Sequence[int]) -> Grid:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in (table.columns[place] for place in shown):
        grid.add_column(Text(column.head), justify="right" if column.right else "left", no_wrap=True)
    for place, row in enumerate(table.rows):
        cells = [Text(row[i], "bold" if (place, i) in table.strong else "") for i in shown]
        grid.add_row(*cells, end_section=place + 1 in table.rules)
    return grid
