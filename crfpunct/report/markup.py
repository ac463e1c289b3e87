"""A report as Markdown, and as LaTeX with booktabs rules, to paste into a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from crfpunct.report.tables import Report, Table

#: A vertical bar, and a place where a line may end.
BAR, BREAK = r"\textbar{}", r"\allowbreak{}"

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": BAR,
    '"': r"\textquotedbl{}",
    "–": "--",
    "−": "$-$",
    "…": r"\ldots{}",
}


def write_markdown(report: Report, out: TextIO) -> None:
    """Headings, pipe tables, notes, warnings and signatures."""
    out.write(f"# {_markdown(report.title)}\n\n{_markdown(report.subtitle)}\n")
    for table in report.tables:
        out.write(f"\n## {_markdown(table.title)}\n\n")
        out.write(_row([_markdown(column.head) for column in table.columns]))
        out.write(_row(["---:" if column.right else "---" for column in table.columns]))
        for place, row in enumerate(table.rows):
            cells = [_markdown(cell) for cell in row]
            out.write(_row([f"**{cell}**" if (place, i) in table.strong else cell for i, cell in enumerate(cells)]))
        for note in table.notes:
            out.write(f"\n{_markdown(note)}\n")
        if table.signature:
            out.write(f"\n`{table.signature}`\n")
    if report.warnings:
        out.write("\n## Warnings\n\n")
        out.writelines(f"- {_markdown(warning)}\n" for warning in report.warnings)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _markdown(text: str) -> str:
    """Escape what Markdown would read as markup inside a line or a table cell.

    >>> _markdown("a_b|*")
    'a\\\\_b\\\\|\\\\*'
    """
    return re.sub(r"([\\`*_<>|]|\](?=\())", r"\\\1", text)


def write_latex(report: Report, out: TextIO) -> None:
    """A `table` each, with booktabs rules, the notes and the signature under it; warnings as comments on top."""
    out.write(f"% {_comment(report.title)}: {_comment(report.subtitle)}\n")
    out.write("% in the preamble: \\usepackage{booktabs}\n")
    out.writelines(f"% warning: {_comment(warning)}\n" for warning in report.warnings)
    for table in report.tables:
        _write_latex_table(table, out)


def _write_latex_table(table: Table, out: TextIO) -> None:
    # Small and tight: the widest of the tables then fit a page of the article class.
    out.write("\n\\begin{table}\n  \\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}\n")
    out.write(f"  \\caption{{{latex(table.title)}}}\n  \\label{{tab:{table.name}}}\n")
    out.write(f"  \\begin{{tabular}}{{{''.join('r' if column.right else 'l' for column in table.columns)}}}\n")
    out.write(f"    \\toprule\n    {' & '.join(latex(column.head) for column in table.columns)} \\\\\n    \\midrule\n")
    for place, row in enumerate(table.rows):
        if place in table.rules:
            out.write("    \\midrule\n")
        cells = [
            f"{{\\scriptsize {latex(cell)}}}" if column.head == "signature" else latex(cell)
            for column, cell in zip(table.columns, row, strict=True)
        ]
        strong = [f"\\textbf{{{cell}}}" if (place, i) in table.strong else cell for i, cell in enumerate(cells)]
        out.write(f"    {' & '.join(strong)} \\\\\n")
    out.write("    \\bottomrule\n  \\end{tabular}\n")
    lines = [latex(note) for note in table.notes]
    if table.signature:
        # Long and without spaces: it may break behind each field.
        lines.append(f"\\texttt{{{latex(table.signature).replace(BAR, BAR + BREAK)}}}")
    for line in lines:
        out.write(f"  \\par\\smallskip{{\\raggedright {line}\\par}}\n")
    out.write("\\end{table}\n")


def latex(text: str) -> str:
    """Escape a text for LaTeX; dashes and minus signs become its own.

    >>> print(latex("a_b −0.50 – 95 %"))
    a\\_b $-$0.50 -- 95 \\%
    """
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _comment(text: str) -> str:
    return " ".join(text.splitlines())
