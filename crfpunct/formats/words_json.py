"""JSON objects ``{"words": [{"word", "punctuation", "space_after"}]}``, one a text: WikiPunct's further texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats import json_rows
from crfpunct.formats.json_rows import Row, line_of, row_of, rows, untouched
from crfpunct.formats.places import printed
from crfpunct.marks import MARK_CHARACTERS, Typography, apart

_EXPECTED = '{"words": [{"word", "punctuation", "space_after"}]}'


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield one document an object; its id is `id` or `title`."""
    for where, raw, data in rows(stream, source, _EXPECTED):
        entries = data.get("words")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise CorpusError(f"{where}: no list of words, expected {_EXPECTED}.")
        words = [entry.get("word") for entry in entries]
        if not all(isinstance(word, str) for word in words):
            raise CorpusError(f"{where}: an entry without a word, expected {_EXPECTED}.")
        json_rows.words(words, where)
        marks = [entry.get("punctuation") or "" for entry in entries]
        for mark in marks:
            if not isinstance(mark, str) or mark.strip(" " + MARK_CHARACTERS):
                raise CorpusError(f"{where}: the punctuation {str(mark)[:60]!r}, expected marks such as . or ,.")
        marks = [mark.replace(" ", "") for mark in marks]
        id = str(data.get("id", data.get("title", "")))
        yield Document(id, words, marks=marks, source=where, layout=Row.of("words-json", raw, data, words, marks))


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write one object a line; other keys that were read come back."""
    for document in documents:
        row = row_of(document, "words-json")
        if not row:
            words, marks = apart(document.words, document.marks)
            document = replace(document, words=words, marks=marks)
        if row and untouched(document, row):
            out.write(row.raw)
            continue
        data: dict[str, Any] = dict(row.data) if row else {"id": document.id} if document.id else {}
        old: list[dict[str, Any]] = row.data["words"] if row else [{}] * len(document.words)
        old_marks = row.marks if row else None
        marks = document.marks or [""] * len(document.words)
        data["words"] = [
            entry
            | {"word": word, "punctuation": mark}
            # White space stays as it was behind words whose mark did not change.
            | ({} if old_marks and old_marks[i] == mark and "space_after" in entry else {"space_after": behind != "-"})
            for i, (entry, word, mark, behind) in enumerate(
                zip(old, document.words, marks, printed(document, typography), strict=True)
            )
        ]
        out.write(line_of(data, row))


def sniff(head: bytes) -> bool:
    """An object with `punctuation` or `space_after` as a key."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and (
        b'"punctuation"' in head or b'"space_after"' in head
    )
