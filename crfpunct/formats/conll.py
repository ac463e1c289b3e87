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
from crfpunct.formats.paragraphs import groups
from crfpunct.formats.places import check_same
from crfpunct.formats.text import BYTE_ORDER_MARK
from crfpunct.marks import MARK_CHARACTERS, Typography, apart

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
    for number, lines in groups(stream, source):
        yield _document(lines, number, source, word, label)


def _document(lines: list[str], first: int, source: str, word: int, label: int | None) -> Document:
    fields = [line.rstrip("\r\n").split("\t") for line in lines]
    ends = [line[len(line.rstrip("\r\n")) :] for line in lines]
    rows = [i for i, row in enumerate(fields) if len(row) > 1 or (row[0].strip(" \ufeff") and row[0][:2] != "# ")]
    width = len(fields[rows[0]]) if rows else 1
    label = label if label is not None or width == 1 else width - 1
    words: list[str] = []
    marks: list[str] = []
    for i in rows:
        where = f"{source}:{first + i}"
        row = fields[i]
        if len(row) != width or max(word, label or 0) >= width:
            raise CorpusError(
                f"{where}: {len(row)} columns, expected {max(width, word + 1, (label or 0) + 1)}; mend the line "
                f"or name the columns with --from conll:WORD,LABEL."
            )
        words.append(row[word].removeprefix(BYTE_ORDER_MARK) if first + i == 1 else row[word])
        if set(words[-1]) & set(" \r\v\f"):
            raise CorpusError(f"{where}: {words[-1][:60]!r} is no word; words hold no white space.")
        marks.append("" if label is None else _mark(row[label], where))
    # The IWSLT files have ten lines with a label but no word; they stay as they are.
    kept = [i for i, found in enumerate(words) if found]
    rows, words, marks = [rows[i] for i in kept], [words[i] for i in kept], [marks[i] for i in kept]
    layout = Columns(list(zip(fields, ends, strict=True)), rows, tuple(words), word, label)
    source = f"{source}:{first + (rows[0] if rows else 0)}"
    return Document("", words, marks=None if label is None else marks, source=source, layout=layout)


def _columns(options: str) -> tuple[int, int | None]:
    if not options:
        return 0, None
    numbers = options.split(",")
    fit = all(number.isdecimal() and len(number) < 10 and int(number) > 0 for number in numbers)
    if len(numbers) != 2 or not fit or int(numbers[0]) == int(numbers[1]):
        raise CorpusError(
            f"the columns {options[:60]!r}, expected two different numbers from 1: "
            f"the word's and the label's, such as 1,3."
        )
    return int(numbers[0]) - 1, int(numbers[1]) - 1


def _mark(label: str, where: str) -> str:
    if label in _NONE:
        return ""
    if label in _NAMES:
        return _NAMES[label]
    mark = label[2:] if label[:2] in ("B-", "I-") and len(label) > 2 else label
    if mark.strip(MARK_CHARACTERS) or not mark:
        raise CorpusError(
            f"{where}: the label {label[:60]!r}, expected O, a mark such as , or B-, or a name such as COMMA; "
            f"name the columns with --from conll:WORD,LABEL."
        )
    return mark


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:  # noqa: ARG001
    """Write the lines as they were with new labels, in the spelling that the file has; others as word TAB label."""
    for number, document in enumerate(documents):
        layout = document.layout
        if isinstance(layout, Columns):
            _write(document, layout, out)
            continue
        words, marks = apart(document.words, document.marks)
        out.write("\n" * bool(number))
        out.writelines(f"{word}\t{mark or 'O'}\n" for word, mark in zip(words, marks or [""] * len(words), strict=True))


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
