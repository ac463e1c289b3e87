"""Out only: plain text, a sentence a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats.places import printed, sentence_ends
from crfpunct.marks import Typography


def read(stream: BinaryIO, source: str) -> Iterator[Document]:  # noqa: ARG001
    """Refuse: a sentence a line is read as `text`."""
    raise CorpusError(f"{source}: sentences is a format for output only; read the file as text.")


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write each document's sentences; what is left behind the last end of a sentence is one, too."""
    for document in documents:
        line: list[str] = []
        behind = printed(document, typography) if document.marks is not None else [" "] * len(document.words)
        for word, mark, is_end in zip(document.words, behind, sentence_ends(document), strict=True):
            line.append(word + mark)
            if is_end:
                out.write("".join(line).rstrip(" ") + "\n")
                line = []
        if line:
            out.write("".join(line).rstrip(" ") + "\n")


def sniff(head: bytes) -> bool:  # noqa: ARG001
    """Never: it is not read."""
    return False
