"""CoNLL columns: a word and its label a line, tabs between, blank lines between documents.

The word is in the first column and the label in the last, or where `conll:WORD,LABEL` (numbers from 1) says. Labels
are marks, with or without ``B-``, or names (``COMMA``, ``PERIOD`` … of IWSLT files); ``O``, ``0`` and ``_`` are none.
Lines of one column are words still to be labelled; lines that begin with ``# `` and have no tab are comments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import decode
from crfpunct.formats.places import check_same
from crfpunct.formats.text import BYTE_ORDER_MARK
from crfpunct.marks import MARK_CHARACTERS, Typography

_NONE = ("O", "0", "_")
_NAMES = {
    "COMMA": ",",
    "PERIOD": ".",
    "QUESTION": "?",
    "QUESTIONMARK": "?",
    "EXCLAMATION": "!",
    "EXCLAMATIONMARK": "!",
    "COLON": ":",
    "SEMICOLON": ";",
    "DASH": "-",
    "HYPHEN": "-",
    "ELLIPSIS": "...",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The layout of a document: its lines cut into fields and line end, and which lines and columns hold its words."""

    lines: list[tuple[list[str], str]]
    rows: list[int]  # line of each word
    words: tuple[str, ...]
    word: int
    label: int | None  # None: there is none yet


def read(stream: BinaryIO, source: str, options: str = "") -> Iterator[Document]:
    """Yield one document between blank lines; `options` are the columns of word and label, such as `1,3`."""
    word, label = _columns(options)
    lines: list[tuple[list[str], str]] = []
    rows: list[int] = []
    words: list[str] = []
    marks: list[str] = []
    width = start = 0
    ended = False
    for number, raw in enumerate(stream, 1):
        where = f"{source}:{number}"
        line = decode(raw, where)
        text = line.rstrip("\r\n")
        if ended and text.strip(" \t"):
            yield _document(lines, rows, words, marks, word, label, f"{source}:{start}")
            lines, rows, words, marks, ended = [], [], [], [], False
        mark = BYTE_ORDER_MARK if number == 1 and text[:1] == BYTE_ORDER_MARK else ""
        text = text.removeprefix(mark)
        fields = text.split("\t")
        if not text.strip(" \t"):
            ended = bool(words)
        elif len(fields) > 1 or not text.startswith("# "):
            width = width or len(fields)
            if len(fields) != width or max(word, label or 0) >= width:
                raise CorpusError(
                    f"{where}: {len(fields)} columns, expected {max(width, word + 1, (label or 0) + 1)}; mend the line "
                    f"or name the columns with --columns."
                )
            if set(fields[word]) & set(" \r\v\f"):
                raise CorpusError(f"{where}: {fields[word][:60]!r} is no word; words hold no white space.")
            if not fields[word]:  # the IWSLT files have ten such lines; they stay as they are
                lines.append((fields, line[len(mark) + len(text) :]))
                continue
            start = start if words else number
            rows.append(len(lines))
            words.append(fields[word])
            if width > 1:
                marks.append(_mark(fields[-1 if label is None else label], where))
        lines.append((fields, line[len(mark) + len(text) :]))
        if mark:
            lines[-1] = ([mark + fields[0], *fields[1:]], lines[-1][1])
    if lines:
        yield _document(lines, rows, words, marks, word, label, f"{source}:{start or 1}")


def _columns(options: str) -> tuple[int, int | None]:
    if not options:
        return 0, None
    numbers = options.split(",")
    if len(numbers) != 2 or not all(number.isdecimal() and int(number) > 0 for number in numbers):
        raise CorpusError(
            f"the columns {options!r}, expected two numbers from 1: the word's and the label's, such as 1,3."
        )
    return int(numbers[0]) - 1, int(numbers[1]) - 1


def _document(
    lines: list[tuple[list[str], str]],
    rows: list[int],
    words: list[str],
    marks: list[str],
    word: int,
    label: int | None,
    source: str,
) -> Document:
    labelled = len(marks) == len(words) and bool(words)
    if labelled and label is None:
        label = len(lines[rows[0]][0]) - 1
    layout = Columns(lines, rows, tuple(words), word, label)
    return Document("", words, marks=marks if labelled else None, source=source, layout=layout)


def _mark(label: str, where: str) -> str:
    if label in _NONE:
        return ""
    if label in _NAMES:
        return _NAMES[label]
    mark = label[2:] if label[:2] in ("B-", "I-") and len(label) > 2 else label
    if mark.strip(MARK_CHARACTERS) or not mark:
        raise CorpusError(
            f"{where}: the label {label!r}, expected O, a mark such as , or B-, or a name such as COMMA; "
            f"name the columns with --columns."
        )
    return mark


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:  # noqa: ARG001
    """Write the lines as they were with new labels, in the spelling that the file has; others as word TAB label."""
    for number, document in enumerate(documents):
        layout = document.layout
        if isinstance(layout, Columns):
            _write(document, layout, out)
            continue
        marks = document.marks or [""] * len(document.words)
        out.write("\n" * bool(number))
        out.writelines(f"{word}\t{mark or 'O'}\n" for word, mark in zip(document.words, marks, strict=True))


def _write(document: Document, layout: Columns, out: TextIO) -> None:
    check_same(layout.words, document)
    lines = [(list(fields), end) for fields, end in layout.lines]
    old = [] if layout.label is None else [lines[row][0][layout.label] for row in layout.rows]
    none = next((label for label in old if label in _NONE), "O")
    prefix = "B-" if any(label[:2] == "B-" and len(label) > 2 for label in old) else ""
    names = {mark: name for name, mark in reversed(_NAMES.items())} if any(label in _NAMES for label in old) else {}
    for i, row in enumerate(layout.rows):
        fields = lines[row][0]
        if document.words[i] != layout.words[i]:
            fields[layout.word] = fields[layout.word].replace(layout.words[i], document.words[i])
        if document.marks is None:
            continue
        mark = document.marks[i]
        if layout.label is None:
            fields.append(mark or none)
        elif _mark(fields[layout.label], "") != mark:
            fields[layout.label] = names.get(mark, prefix + mark) if mark else none
    out.write("".join("\t".join(fields) + end for fields, end in lines))


def sniff(head: bytes) -> bool:
    """The lines have as many columns as the first, words without spaces in the first and known labels in the last."""
    lines = [line.rstrip("\r") for line in head.decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK).split("\n")]
    rows = [line.split("\t") for line in lines[: -1 if len(lines) > 1 else None] if line.strip() and line[:2] != "# "]
    return len(rows) > 1 and all(
        len(row) == len(rows[0]) > 1
        and row[0] != ""
        and " " not in row[0]
        and (
            row[-1] in _NONE or row[-1] in _NAMES or (row[-1] and not row[-1].removeprefix("B-").strip(MARK_CHARACTERS))
        )
        for row in rows
    )
