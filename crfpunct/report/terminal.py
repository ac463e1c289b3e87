"""A report as tables of a terminal, through rich."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from crfpunct.report.tables import Report, Table

if TYPE_CHECKING:
    from rich.table import Table as Grid

_UNLIMITED = 100_000  # characters a line
_NAME = 20  # characters of a name, and of a head over numbers, that stay on one line
_HEAD = 10
_BETWEEN = 3  # white space between columns


def write(report: Report, out: TextIO) -> None:
    """Print a report: with bold and dim text on a terminal, as plain text without trailing spaces elsewhere."""
    from rich.console import Console
    from rich.text import Text

    on_terminal = out.isatty()
    drawn = out if on_terminal else io.StringIO()
    console = Console(file=drawn, highlight=False)
    limit = console.width if on_terminal else _UNLIMITED
    console.width = _UNLIMITED  # rich would cut what is wider than its console

    def line(text: str, style: str = "dim") -> None:
        console.print(Text(text, style), soft_wrap=True)

    line(report.title, "bold")
    line(report.subtitle)
    for table in report.tables:
        console.print()
        line(table.title, "bold")
        widths = _widths(table, limit)
        console.print(_grid(table, widths))
        for note in table.notes:
            line(note)
        if table.signature:
            line(table.signature)
        left_out = [column.head for place, column in enumerate(table.columns) if place not in widths]
        if left_out:
            line(f"(left out on this narrow screen: {', '.join(left_out)})")
    if isinstance(drawn, io.StringIO):
        out.writelines(text.rstrip() + "\n" for text in drawn.getvalue().splitlines())


def _widths(table: Table, limit: int) -> dict[int, int]:
    """The widths of the columns shown, by place, so that the table fits into `limit` characters if it can.

    Numbers are never cut. Names and heads wrap first, then spare columns are left out, the last one first.
    """
    from rich.cells import cell_len

    widths: dict[int, int] = {}
    least: dict[int, int] = {}
    for place, column in enumerate(table.columns):
        cells = max((cell_len(row[place]) for row in table.rows), default=0)
        widths[place] = least[place] = max(cells, cell_len(column.head))
        if not column.spare:
            least[place] = min(widths[place], max(cells, _HEAD) if column.right else _NAME)
    spare = [place for place in widths if table.columns[place].spare]
    while spare and _total(least) > limit:
        place = spare.pop()
        del widths[place], least[place]
    while _total(widths) > limit and widths != least:
        widest = max((place for place in widths if widths[place] > least[place]), key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _total(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + _BETWEEN * (len(widths) - 1)


def _grid(table: Table, widths: Mapping[int, int]) -> Grid:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, width in widths.items():
        column = table.columns[place]
        grid.add_column(Text(column.head), justify="right" if column.right else "left", width=width, overflow="fold")
    for place, row in enumerate(table.rows):
        cells = [Text(row[i], "bold" if (place, i) in table.strong else "") for i in widths]
        grid.add_row(*cells, end_section=place + 1 in table.rules)
    return grid
