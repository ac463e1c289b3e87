"""Pipe tables as Earnings-22 and Rev's fstalign have them (``.nlp``): a header of column names, then a token a line.

Needed is `token`; used are `ts` and `endTs` (seconds, may be empty), `punctuation` and `case` (LC lower, UC first
letter upper, CA all capitals, MC mixed). Tokens in angle brackets, ``<crosstalk>`` (but ``<unk>``), are not words.
https://github.com/revdotcom/fstalign/blob/develop/docs/NLP-Format.md
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO, TextIO

import numpy as np

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import decode
from crfpunct.formats.json_text import milliseconds
from crfpunct.formats.places import check_same
from crfpunct.formats.text import BYTE_ORDER_MARK
from crfpunct.marks import MARK_CHARACTERS, Typography, apart


@dataclass(frozen=True, slots=True)
class Table:
    """The layout of a document: all lines cut into fields and line end, the line of each word, and the columns."""

    lines: list[tuple[list[str], str]]
    rows: list[int]
    words: tuple[str, ...]
    columns: dict[str, int]


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield the one document of a file; its id is the file's name."""
    lines: list[tuple[list[str], str]] = []
    rows: list[int] = []
    words: list[str] = []
    marks: list[str] = []
    times: list[tuple[int, int]] = []
    columns: dict[str, int] = {}
    for number, raw in enumerate(stream, 1):
        where = f"{source}:{number}"
        line = decode(raw, where)
        text = line.rstrip("\r\n")
        fields = text.split("|")
        lines.append((fields, line[len(text) :]))
        if number == 1:
            columns = {name.strip(BYTE_ORDER_MARK): i for i, name in enumerate(fields)}
            if "token" not in columns:
                raise CorpusError(f"{where}: found {text[:60]!r}, expected column names with token among them.")
            if len(columns) < len(fields):
                raise CorpusError(f"{where}: found {text[:60]!r}, where a column name stands twice; mend the line.")
            continue
        if not text:
            continue
        if len(fields) != len(columns):
            raise CorpusError(f"{where}: {len(fields)} columns, expected {len(columns)} as in line 1; mend the line.")
        word = fields[columns["token"]]
        if not word or set(word) & set(" \t\v\f\r"):
            raise CorpusError(f"{where}: {word[:60]!r} is no word; tokens are not empty and hold no white space.")
        if word[0] + word[-1] == "<>" and word.lower() != "<unk>":
            continue
        start, end = [_ms(fields[columns[name]] if name in columns else "", where) for name in ("ts", "endTs")]
        if 0 <= end < start:
            raise CorpusError(f'{where}: the word "{word}" ends at {end} ms, before it starts ({start} ms).')
        mark = fields[columns["punctuation"]] if "punctuation" in columns else ""
        if mark.strip(MARK_CHARACTERS):
            raise CorpusError(f"{where}: the punctuation {mark[:60]!r}, expected marks such as . or ,.")
        rows.append(number - 1)
        words.append(word)
        marks.append(mark)
        times.append((start, end))
    array = np.array(times, dtype=np.int64).reshape(-1, 2)
    yield Document(
        PurePath(source).name.partition(".")[0],
        words,
        array if (array >= 0).any() else None,
        marks if "punctuation" in columns else None,
        f"{source}:1",
        Table(lines, rows, tuple(words), columns),
    )


def _ms(seconds: str, where: str) -> int:
    if not seconds.strip():
        return -1
    try:
        ms = milliseconds(float(seconds))
    except ValueError:
        ms = -1
    if ms < 0:
        raise CorpusError(
            f"{where}: the time {seconds[:60]!r}, expected seconds of at least 0 or nothing; mend the line."
        )
    return ms


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:  # noqa: ARG001
    """Write the table back with new punctuation and case; documents of other formats share a table of their own."""
    for number, document in enumerate(documents):
        if isinstance(document.layout, Table):
            _write(document, document.layout, out)
            continue
        if not number:
            out.write("token|speaker|ts|endTs|punctuation|case|tags\n")
        times = [[-1, -1]] * len(document.words) if document.times_ms is None else document.times_ms.tolist()
        words, marks = apart(document.words, document.marks)
        for word, mark, row in zip(words, marks or [""] * len(words), times, strict=True):
            if "|" in word:
                raise CorpusError(f'{document.source or document.id}: the word "{word}" holds the table\'s own sign |.')
            start, end = ["" if time < 0 else f"{time / 1000:.3f}" for time in row]
            out.write(f"{word}|{number}|{start}|{end}|{mark}|{_case(word)}|[]\n")


def _write(document: Document, layout: Table, out: TextIO) -> None:
    check_same(layout.words, document)
    lines = [(list(fields), end) for fields, end in layout.lines]
    column = layout.columns.get("punctuation")
    if column is None and any(document.marks or ()):
        column = len(layout.columns)
        for number, (fields, _) in enumerate(lines):
            if len(fields) == column:  # not an empty line
                fields.append("" if number else "punctuation")
    for i, row in enumerate(layout.rows):
        fields = lines[row][0]
        if document.marks is not None and column is not None:
            fields[column] = document.marks[i]
        if document.words[i] != layout.words[i]:
            fields[layout.columns["token"]] = document.words[i]
            if "case" in layout.columns:
                fields[layout.columns["case"]] = _case(document.words[i])
    out.write("".join("|".join(fields) + end for fields, end in lines))


def _case(word: str) -> str:
    if word.lower() == word:
        return "LC" if word.upper() != word else "CA"  # a number is CA in these tables
    if word.upper() == word and len(word) > 1:
        return "CA"
    return "UC" if word[1:] == word[1:].lower() else "MC"


def sniff(head: bytes) -> bool:
    """The first line is of column names with pipes, token among them."""
    return b"token" in head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[0].strip().split(b"|")[:20] and b"|" in head
