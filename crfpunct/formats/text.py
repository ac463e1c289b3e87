"""Plain text, a document a line.

Words are what stands between ASCII white space; all other characters, such as U+00A0 or U+2028, belong to words.
A line of words with one space between them needs no layout; any other white space, line end, or byte-order
mark is kept in a `Spacing` and written back as it was. A blank line is an empty document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import add
from typing import BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import decode
from crfpunct.marks import Typography

_SPACES = re.compile(r"([ \t\n\r\v\f]+)")
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Spacing:
    """The T + 1 pieces of white space around T words, the text's line end included."""

    gaps: list[str]


def split(line: str) -> list[str]:
    """Split a line into words at ASCII white space (`str.split` would split at U+00A0 and others too).

    >>> split("10\\u00a0000 zł ")
    ['10\\xa0000', 'zł']
    """
    words = line.split(" ")
    # Six scans in C cost half of what a regular expression costs; nearly every line is canonical.
    if "" in words or "\t" in line or "\r" in line or "\n" in line or "\v" in line or "\f" in line:
        return [piece for piece in _SPACES.split(line)[::2] if piece]
    return words


def spaced(text: str) -> tuple[list[str], list[str]]:
    """Split a text into its T words and the T + 1 pieces of white space around them.

    >>> spaced(" a  b")
    (['a', 'b'], [' ', '  ', ''])
    """
    pieces = ["", *_SPACES.split(text), ""]
    # White space at an edge comes with an empty piece beyond it; a word at an edge has no white space beyond it.
    start = 2 if not pieces[1] else 0
    end = -2 if len(pieces) > 3 and not pieces[-2] else None
    pieces = pieces[start:end]
    return pieces[1::2], pieces[::2]


def join(
    words: Sequence[str], marks: Sequence[str] | None, typography: Typography, gaps: Sequence[str] | None = None
) -> str:
    """The text of words and marks; `gaps` is the white space around the words, else one space between them."""
    if gaps is None:
        if marks is None:
            return " ".join(words)
        if "-" not in marks:
            return " ".join(map(add, words, marks))
        return "".join(map(add, words, typography.separators(words, marks)))
    if marks is None:
        behind = gaps[1:]
    else:
        separators = marks if "-" not in marks else typography.separators(words, marks)
        behind = [
            # A compound or a range loses the space inside it, and only that.
            "-" if mark == "-" and separator == "-" and gap == " " else separator.removesuffix(" ") + gap
            for mark, separator, gap in zip(marks, separators, gaps[1:], strict=True)
        ]
    return gaps[0] + "".join(map(add, words, behind))


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield one document a line."""
    for number, raw in enumerate(stream, 1):
        where = f"{source}:{number}"
        line = decode(raw, where)
        text = line[:-1]
        words = text.split(" ")
        if (
            line[-1] == "\n"
            and "" not in words
            and "\r" not in text
            and "\t" not in text
            and "\v" not in text
            and "\f" not in text
            and (number > 1 or text[0] != BYTE_ORDER_MARK)
        ):
            yield Document("", words, source=where)
        elif line == "\n":
            yield Document("", [], source=where)
        else:
            yield from_text(line, where, first=number == 1)


def from_text(text: str, where: str, first: bool) -> Document:
    """A document with all of its white space; a byte-order mark in front of the first one is white space."""
    mark = BYTE_ORDER_MARK if first and text.startswith(BYTE_ORDER_MARK) else ""
    words, gaps = spaced(text.removeprefix(mark))
    gaps[0] = mark + gaps[0]
    return Document("", words, source=where, layout=Spacing(gaps))


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write one document a line, each with the white space it was read with."""
    for document in documents:
        out.write(as_read(document, typography) or join(document.words, document.marks, typography) + "\n")


def as_read(document: Document, typography: Typography) -> str:
    """The text with the white space that it was read with; empty where the document has none of ours.

    Raises CorpusError where there are other gaps than words: words are never added or taken away.
    """
    if not isinstance(document.layout, Spacing):
        return ""
    gaps = document.layout.gaps
    if len(gaps) != len(document.words) + 1:
        raise CorpusError(
            f"{document.source}: {len(document.words)} words to write, but {len(gaps) - 1} were read; "
            f"words are never added or taken away."
        )
    return join(document.words, document.marks, typography, gaps)


def sniff(head: bytes) -> bool:
    """Any text is plain text."""
    return b"\0" not in head
