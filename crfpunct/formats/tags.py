"""JSON lines of `tokens` and `tags`, as data sets for token classification have them (``O``, ``B-.``, ``B-,``).

So is WikiPunct in the Polish benchmarks on the Hugging Face hub; seqeval scores such tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats.json_rows import Row, line_of, row_of, rows, strings, untouched
from crfpunct.marks import MARK_CHARACTERS, Typography, apart

_EXPECTED = '{"tokens": […], "tags": […]}'


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield one document an object; without `tags` it has no marks yet."""
    for where, raw, data in rows(stream, source, _EXPECTED):
        words = strings(data.get("tokens"), where, "a list of tokens")
        marks = None
        if "tags" in data:
            tags = data["tags"]
            if not isinstance(tags, list) or len(tags) != len(words):
                found = f"{len(tags)} tags" if isinstance(tags, list) else "no list of tags"
                raise CorpusError(f"{where}: {found} for {len(words)} tokens; each token needs its tag.")
            marks = [_mark(tag, where) for tag in tags]
        yield Document(
            str(data.get("id", "")), words, marks=marks, source=where, layout=Row.of("tags", raw, data, words, marks)
        )


def _mark(tag: object, where: str) -> str:
    if tag == "O":
        return ""
    if isinstance(tag, str) and tag[:2] in ("B-", "I-") and tag[2:] and not tag[2:].strip(MARK_CHARACTERS):
        return tag[2:]
    raise CorpusError(f"{where}: the tag {str(tag)[:60]!r}, expected O or B- and a mark, such as B-. or B-,.")


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:  # noqa: ARG001
    """Write one object a line; other keys that were read come back."""
    for document in documents:
        row = row_of(document, "tags")
        if row and untouched(document, row):
            out.write(row.raw)
            continue
        data: dict[str, Any] = dict(row.data) if row else {"id": document.id} if document.id else {}
        words, marks = (document.words, document.marks) if row else apart(document.words, document.marks)
        data["tokens"] = words
        data["tags"] = ["B-" + mark if mark else "O" for mark in marks or [""] * len(words)]
        out.write(line_of(data, row))


def sniff(head: bytes) -> bool:
    """An object whose first kilobytes hold `tokens` or `tags` with a list of strings."""
    return bool(re.match(rb"(\xef\xbb\xbf)?\s*\{", head) and re.search(rb'"(tokens|tags)"\s*:\s*\[\s*["\]]', head))
