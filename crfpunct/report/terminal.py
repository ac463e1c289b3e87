"""A report as tables of a terminal, through rich."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, TextIO

from crfpunct.report.tables import Report, Table

if TYPE_CHECKING:
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
        console.print(_grid(table))
        for note in table.notes:
            line(note)
        if table.signature:
            line(table.signature)
    if isinstance(drawn, io.StringIO):
        out.writelines(text.rstrip() + "\n" for text in drawn.getvalue().splitlines())


def _grid(table: Table) -> Grid:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in table.columns:
        grid.add_column(Text(column.head), justify="right" if column.right else "left", no_wrap=True)
    for place, row in enumerate(table.rows):
        cells = [Text(cell, "bold" if (place, i) in table.strong else "") for i, cell in enumerate(row)]
        grid.add_row(*cells, end_section=place + 1 in table.rules)
    return grid
