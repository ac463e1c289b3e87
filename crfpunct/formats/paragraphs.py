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


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield one document a paragraph, with the blank lines behind it (the first: in front of it, too)."""
    lines: list[str] = []
    start = 0
    seen_words = between = False
    first = True
    for number, raw in enumerate(stream, 1):
        blank = not raw.strip()
        if between and not blank:
            yield text.from_text("".join(lines), f"{source}:{start}", first)
            lines, seen_words, first = [], False, False
        between = blank and seen_words
        if not blank and not seen_words:
            start, seen_words = number, True
        lines.append(decode(raw, f"{source}:{number}"))
    if lines:
        yield text.from_text("".join(lines), f"{source}:{start or 1}", first)


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write paragraphs with the white space they were read with; those of other formats, a blank line between."""
    for i, document in enumerate(documents):
        alone = "\n" * bool(i) + text.join(document.words, document.marks, typography) + "\n"
        out.write(text.as_read(document, typography) or alone)


def sniff(head: bytes) -> bool:  # noqa: ARG001
    """Never guessed: a text with blank lines may as well be one of empty documents."""
    return False
