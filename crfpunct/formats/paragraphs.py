"""Plain text, a paragraph a document: paragraphs are separated by blank lines, and lines run on inside them.

All white space is kept as it was; see `text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.files import decode
from crfpunct.formats import text
from crfpunct.marks import Typography

_BLANK = " \t\n\r\v\f"


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield one document a paragraph, with the blank lines behind it (the first: in front of it, too)."""
    for number, lines in groups(stream, source):
        start = number + next((i for i, line in enumerate(lines) if line.strip(_BLANK)), 0)
        yield text.from_text("".join(lines), f"{source}:{start}", first=number == 1)


def groups(stream: BinaryIO, source: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of the first, lines) for lines up to and with the blank lines behind them; none is left out."""
    ready = getattr(stream, "ready", None)  # of a stream that may stay open; then blank lines may come too late
    lines: list[str] = []
    start = 1
    filled = ended = False
    for number, raw in enumerate(stream, 1):
        line = decode(raw, f"{source}:{number}")
        blank = not line.strip(_BLANK)
        if ended and not blank:
            yield start, lines
            lines, start, filled = [], number, False
        filled = filled or not blank
        ended = filled and blank
        lines.append(line)
        if ended and ready and not ready():
            yield start, lines
            lines, start, filled, ended = [], number + 1, False, False
    if lines:
        yield start, lines


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write paragraphs with the white space they were read with; those of other formats, a blank line between."""
    for i, document in enumerate(documents):
        alone = "\n" * bool(i) + text.join(document.words, document.marks, typography) + "\n"
        out.write(text.as_read(document, typography) or alone)


def sniff(head: bytes) -> bool:  # noqa: ARG001
    """Never guessed: a text with blank lines may as well be one of empty documents."""
    return False
