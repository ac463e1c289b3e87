"""JSON objects, one a text: what the formats `tags`, `words-json` and `jsonl` share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats.json_text import milliseconds, values
from crfpunct.formats.places import check_same


@dataclass(frozen=True, slots=True)
class Row:
    """The layout of a text that was a JSON object: its raw text, its value, its words and marks as they were read."""

    format: str
    raw: str
    data: dict[str, Any]
    words: tuple[str, ...]
    marks: tuple[str, ...] | None

    @staticmethod
    def of(format: str, raw: str, data: dict[str, Any], words: list[str], marks: list[str] | None) -> Row:
        """The layout of words and marks as they are now."""
        return Row(format, raw, data, tuple(words), None if marks is None else tuple(marks))


def rows(stream: BinaryIO, source: str, expected: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (file:line, raw text, object) for each JSON object of a file; CorpusError for anything else."""
    for line, raw in values(stream, source):
        where = f"{source}:{line}"
        try:
            data = json.loads(raw.removeprefix("\ufeff"))
        except (json.JSONDecodeError, RecursionError) as error:
            raise CorpusError(f"{where}: broken JSON ({error}), expected {expected}; is it cut off?") from error
        except ValueError as error:
            raise CorpusError(f"{where}: JSON with a number of thousands of digits; mend the line.") from error
        if not isinstance(data, dict):
            raise CorpusError(f"{where}: found a {type(data).__name__}, expected {expected}.")
        yield where, raw, data


def row_of(document: Document, format: str) -> Row | None:
    """The layout that a format's own reader gave a document, or None; CorpusError where its words have changed."""
    row = document.layout
    if not isinstance(row, Row) or row.format != format:
        return None
    check_same(row.words, document)
    return row


def untouched(document: Document, row: Row) -> bool:
    """Whether a document is as it was read, so that its raw text can be given back."""
    marks = None if document.marks is None else tuple(document.marks)
    return tuple(document.words) == row.words and marks == row.marks


def line_of(data: dict[str, Any], row: Row | None = None) -> str:
    """A JSON object on a line of its own, with non-ASCII characters escaped where the row read has them so."""
    ascii_only = row is not None and row.raw.isascii() and "\\u" in row.raw
    line = json.dumps(data, ensure_ascii=ascii_only) + "\n"
    if not line.isascii() and any("\ud800" <= c <= "\udfff" for c in line):
        line = json.dumps(data) + "\n"  # half a character, as some programs cut them, can be escaped only
    return line


def strings(value: Any, where: str, expected: str) -> list[str]:
    """A list of strings; CorpusError for anything else, and for a string that is no word."""
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise CorpusError(f"{where}: {str(value)[:60]!r}, expected {expected}.")
    return words(value, where)


def words(value: list[str], where: str) -> list[str]:
    """The words themselves; CorpusError for one that is empty or holds white space or half a character."""
    for word in value:
        if (
            not word
            or (not word.isascii() and any("\ud800" <= c <= "\udfff" for c in word))
            or set(word) & set(" \t\n\r\v\f")
        ):
            raise CorpusError(f"{where}: {word[:60]!r} is no word; words are not empty and hold no white space.")
    return value


def times(entries: list[Any], where: str) -> NDArray[np.int64] | None:
    """Word times from objects with `start` and `end` in seconds, or None where no object has any."""
    found = [
        (milliseconds(entry.get("start")), milliseconds(entry.get("end"))) if isinstance(entry, dict) else (-1, -1)
        for entry in entries
    ]
    array = np.array(found, dtype=np.int64).reshape(-1, 2)
    backward = (array[:, 1] < array[:, 0]) & (array[:, 1] >= 0)
    if backward.any():
        i = int(backward.argmax())
        raise CorpusError(
            f"{where}: word {i + 1} ends at {array[i, 1]} ms, before it starts ({array[i, 0]} ms); mend the times."
        )
    return array if (array >= 0).any() else None
