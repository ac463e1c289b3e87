"""JSON lines, one text each: ``{"id", "words": [{"word", "start", "end"}]}`` (in seconds), or ``{"id", "text"}``.

Words may be bare strings, too. Out, each word also has its `mark` and, where the document knows it, the `probability`
of the mark (or of none); other keys that were read come back.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats import json_rows
from crfpunct.formats.json_rows import Row, line_of, row_of, rows, untouched
from crfpunct.formats.json_text import timed
from crfpunct.formats.text import join, spaced
from crfpunct.marks import MARK_CHARACTERS, Typography, apart

_EXPECTED = '{"id", "words": [{"word", "start", "end"}]} or {"id", "text"}'


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield one document an object; words with a `mark` have marks."""
    for where, raw, data in rows(stream, source, _EXPECTED):
        entries = data.get("words")
        marks = times = None
        if isinstance(entries, list):
            words: list[Any] = [entry.get("word") if isinstance(entry, dict) else entry for entry in entries]
            if not all(isinstance(word, str) for word in words):
                raise CorpusError(f"{where}: an entry without a word, expected {_EXPECTED}.")
            times = json_rows.times(entries, where)
            given = [entry.get("mark") if isinstance(entry, dict) else None for entry in entries]
            if any(mark is not None for mark in given):
                marks = [mark or "" for mark in given]
                if not all(isinstance(mark, str) and not mark.strip(MARK_CHARACTERS) for mark in marks):
                    raise CorpusError(f"{where}: a mark that is none, expected marks such as . or ,.")
        elif isinstance(data.get("text"), str):
            words, _ = spaced(data["text"])
        else:
            raise CorpusError(f"{where}: neither words nor text, expected {_EXPECTED}.")
        json_rows.words(words, where)
        yield Document(str(data.get("id", "")), words, times, marks, where, Row.of("jsonl", raw, data, words, marks))


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write one object a line."""
    for document in documents:
        row = row_of(document, "jsonl")
        if not row:
            words, marks = apart(document.words, document.marks)
            document = replace(document, words=words, marks=marks)
        if row and document.probabilities is None and untouched(document, row):
            out.write(row.raw)
            continue
        data: dict[str, Any] = dict(row.data) if row else {"id": document.id}
        entries = data.get("words")
        if row and not isinstance(entries, list):
            _, gaps = spaced(row.data["text"])
            data["text"] = join(document.words, document.marks, typography, gaps)
        if isinstance(entries, list) or not row or document.probabilities is not None:
            given = entries if isinstance(entries, list) else timed(document, document.words)
            data["words"] = [
                (entry if isinstance(entry, dict) else {}) | {"word": word} | added
                for entry, word, added in zip(given, document.words, _added(document), strict=True)
            ]
        out.write(line_of(data, row))


def _added(document: Document) -> Iterator[dict[str, Any]]:
    """What is known of the mark behind each word."""
    if document.marks is None:
        yield from itertools.repeat({}, len(document.words))
        return
    if document.probabilities is None:
        for mark in document.marks:
            yield {"mark": mark}
        return
    for mark, probability in zip(document.marks, document.probabilities.tolist(), strict=True):
        yield {"mark": mark} | ({} if math.isnan(probability) else {"probability": round(probability, 4)})


def sniff(head: bytes) -> bool:
    """An object that begins with an `id`, or with a list of words or a text on one line with others behind it."""
    start = b"".join(head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].split())
    return start.startswith(b'{"id":')
