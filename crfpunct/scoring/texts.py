"""The two sides of a score: a reference and a system's output, read from any format and paired.

A text is a list of documents, each one line: its words as they stand, marks behind them, white space between
them. Line formats keep their lines byte for byte, since the PolEval score depends on them; every other format
(subtitles, JSON, …) becomes a line a document.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

from crfpunct import formats, marks
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import STDIO, check_name, check_text, open_input, printable, read_lines
from crfpunct.scoring.alignment import AlignedDocument, align_documents
from crfpunct.scoring.signature import fingerprint

#: Formats whose lines are documents and are scored as they stand.
_LINE_FORMATS = ("text", "wikipunct")
_GOLD = "expected.tsv"


@dataclass(frozen=True)
class Text:
    """One side.

    name: the path as the user gave it. lines: D documents. places: where each stands, as ``file:line``.
    ids: the documents' names, or None where the format has none. by_line: whether lines are as in the file.
    """

    name: str
    lines: Sequence[str]
    places: Sequence[str]
    ids: Sequence[str] | None = None
    by_line: bool = True

    @classmethod
    def of(cls, lines: Sequence[str], name: str) -> Text:
        """A text that is in memory already."""
        return cls(name, lines, [f"{name}:{number}" for number in range(1, len(lines) + 1)])

    @cached_property
    def fingerprint(self) -> str:
        """`signature.fingerprint` of the lines."""
        return fingerprint(self.lines)

    def joined(self) -> Text:
        """All documents as one."""
        return Text(self.name, [" ".join(self.lines)], [self.name], None, by_line=False)


def read(path: str | Path, format: str | None = None) -> Text:
    """Read one side in any format that crfpunct reads; of a WikiPunct folder, its `expected.tsv`.

    Raises CorpusError where the file is missing, empty, not text or not of its format.
    """
    check_name(path)
    name = "stdin" if str(path) == STDIO else printable(path)
    if str(path) != STDIO and (Path(path) / _GOLD).is_file():
        path = Path(path) / _GOLD
    if str(path) != STDIO and Path(path).is_dir():
        text = _from_documents(formats.read(path, format), name)
    else:
        with open_input(path) as raw:
            stream = cast(io.BufferedReader, raw if hasattr(raw, "peek") else io.BufferedReader(raw))
            try:
                text = _from_stream(stream, path, format, name)
            except zlib.error as error:
                raise CorpusError(f"{name}: damaged archive ({error}); fetch or compress it again.") from error
    if not any(line.strip() for line in text.lines):
        raise CorpusError(f"{name}: no text in it; check how the file was made.")
    return text


def _from_stream(stream: io.BufferedReader, path: str | Path, format: str | None, name: str) -> Text:
    head = stream.peek(1 << 13)
    check_text(head, name)
    chosen = format or formats.guess(path, head)
    if chosen in _LINE_FORMATS:
        return _from_lines(read_lines(stream, name), name, chosen)
    options = chosen.partition(":")[2]
    return _from_documents(formats.module(chosen).read(stream, name, *([options] if options else [])), name)


def _from_lines(numbered: Iterable[tuple[int, str]], name: str, format: str) -> Text:
    lines, places = [], []
    for number, line in numbered:
        if "\0" in line:
            raise CorpusError(f"{name}:{number}: holds a NUL byte, so this is not UTF-8 text; check the file.")
        lines.append(line)
        places.append(f"{name}:{number}")
    if len(lines) == 1 and "\r" in lines[0]:
        raise CorpusError(f"{name}: its lines end in CR alone, expected LF; convert it with tr '\\r' '\\n'.")
    if format == "wikipunct" and any("\t" in line for line in lines):
        for place, line in zip(places, lines, strict=True):
            if line.count("\t") != 1:
                raise CorpusError(
                    f"{place}: {line.count(chr(9))} tabs, but other lines are id TAB text; mend the line, "
                    "or name the format with --from text."
                )
        ids, lines = map(list, zip(*(line.split("\t") for line in lines), strict=True))
        first: dict[str, str] = {}
        for id, place in zip(ids, places, strict=True):
            if first.setdefault(id, place) != place:
                raise CorpusError(f"{place}: the id {id!r} is that of {first[id]}, too; each text needs its own id.")
        return Text(name, lines, places, ids)
    return Text(name, lines, places)


def _from_documents(documents: Iterable[Document], name: str) -> Text:
    lines, places, ids = [], [], []
    for document in documents:
        words = document.words if document.marks is None else marks.attach(document.words, document.marks)
        lines.append(" ".join(words))
        places.append(document.source or name)
        ids.append(document.id)
    named = all(ids) and len(set(ids)) == len(ids) > 1
    return Text(name, lines, places, ids if named else None, by_line=False)


@dataclass(frozen=True)
class Pair:
    """A reference and an output of it, document for document.

    missing: how many documents only one side has (positive: the output lacks them); those are compared with
    an empty line. notes: what was done to pair them.
    """

    reference: Text
    hypothesis: Text
    missing: int = 0
    notes: list[str] = field(default_factory=list)

    @cached_property
    def lines(self) -> tuple[list[str], list[str]]:
        """The D lines of both sides, the shorter one filled up with empty lines."""
        count = max(len(self.reference.lines), len(self.hypothesis.lines))
        sides = [[*side.lines, *[""] * (count - len(side.lines))] for side in (self.reference, self.hypothesis)]
        return sides[0], sides[1]

    @cached_property
    def aligned(self) -> list[AlignedDocument]:
        """Both sides of each document aligned by their words, whatever their case."""
        return align_documents(*self.lines)


def pair(reference: Text, hypothesis: Text, as_one: bool = False) -> Pair:
    """Match the documents of two texts: by their ids where both have them, else in order.

    Where one side is a single document that is not a line of a file (a subtitle file, say) and the other has
    several, or where `as_one` asks for it, each side is joined into one document.
    Raises CorpusError where an id of the reference is not in the output, or the other way round.
    """
    if as_one:
        return Pair(reference.joined(), hypothesis.joined())
    if reference.ids is not None and hypothesis.ids is not None:
        return Pair(reference, _in_order(reference, hypothesis))
    sizes = len(reference.lines), len(hypothesis.lines)
    if sizes[0] != sizes[1] and 1 in sizes:
        single = (reference, hypothesis)[sizes.index(1)]
        if not single.by_line:
            return Pair(
                reference.joined(),
                hypothesis.joined(),
                notes=[f"{single.name} is one document, so both files are scored as one document."],
            )
    return Pair(reference, hypothesis, missing=sizes[0] - sizes[1])


def _in_order(reference: Text, hypothesis: Text) -> Text:
    """The output's documents in the order of the reference's ids."""
    wanted, found = reference.ids or (), hypothesis.ids or ()
    place_of = {id: place for place, id in enumerate(found)}
    for present, absent, ids in ((reference, hypothesis, wanted), (hypothesis, reference, found)):
        other = set(absent.ids or ())
        for place, id in zip(present.places, ids, strict=True):
            if id not in other:
                raise CorpusError(
                    f"{absent.name}: no document with the id {id!r}, but {place} has one; both files need the same ids."
                )
    order = [place_of[id] for id in wanted]
    return Text(
        hypothesis.name,
        [hypothesis.lines[place] for place in order],
        [hypothesis.places[place] for place in order],
        wanted,
        hypothesis.by_line,
    )
