"""Forced alignments as WikiPunct gives them: one text a file, ``(start,end) word`` a line in ms, ``</s>`` last.

A file's name without its suffix is its text's id. Words of no length (start = end) are those where the alignment
failed; -1 is a time that is unknown. Times that run backwards from word to word are kept as they are.
"""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import BinaryIO, TextIO

import numpy as np
from numpy.typing import NDArray

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import open_input, read_lines, signature
from crfpunct.marks import Typography, split_mark

SUFFIX = ".clntmstmp"
END = "</s>"
_LINE = re.compile(r"\((-1|\d{1,9}),(-1|\d{1,9})\)\s+(\S+)\s*", re.ASCII)

#: Bounds for archives, far above real ones (WikiPunct: 6 KB a file, 3 MB in all), far below what fills a memory.
MAX_MEMBER_BYTES = 16 << 20
MAX_ARCHIVE_BYTES = 512 << 20

_ARCHIVES = f"a folder, or a .tar, .tar.gz or .tar.xz archive, of {SUFFIX} files"


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield the one document of a file; its id is the file's name up to its suffix."""
    words: list[str] = []
    times: list[tuple[int, int]] = []
    for number, line in read_lines(stream, source):
        if not line.strip(" \t\r\v\f") or line.strip() == END:
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise CorpusError(
                f"{source}:{number}: found {line[:60]!r}, expected (start,end) word with times in ms; mend the line."
            )
        start, end = int(found[1]), int(found[2])
        if 0 <= end < start:
            raise CorpusError(
                f"{source}:{number}: the word {found[3][:60]!r} ends at {end} ms, before it starts ({start} ms); "
                f"mend the line."
            )
        words.append(found[3])
        times.append((start, end))
    array = np.array(times, dtype=np.int64).reshape(-1, 2)
    yield Document(_id(source), words, array, source=f"{source}:1")


def _id(name: str) -> str:
    return PurePath(name).name.partition(SUFFIX)[0]


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:  # noqa: ARG001
    """Write one document; CorpusError for a second one, since a file holds one text."""
    for i, document in enumerate(documents):
        if i:
            raise CorpusError(
                f"{document.source or document.id}: a {SUFFIX} file holds one text and this is the second; "
                f"write the texts to files of their own or choose another format with --to."
            )
        times = np.full((len(document.words), 2), -1) if document.times_ms is None else document.times_ms
        marks = document.marks or [""] * len(document.words)
        for word, mark, (start, end) in zip(document.words, marks, times.tolist(), strict=True):
            out.write(f"({start},{end}) {word}{mark}\n")
        out.write(END + "\n")


def sniff(head: bytes) -> bool:
    """The first line is `(digits,digits) word`."""
    return bool(re.match(rb"(\xef\xbb\xbf)?\s*\((-1|\d+),(-1|\d+)\)[ \t]+\S", head))


class Times:
    """Word times by text id, from a folder (also its subfolders) of `.clntmstmp` files or a `.tar.gz` of them.

    `attach` puts them on documents and counts in `missing` and `differing` what `notes` then tells.
    """

    def __init__(self, source: str | Path) -> None:
        self.source = Path(source)
        self.texts = 0
        self.missing: list[str] = []  # ids of texts without a file
        self.differing: list[tuple[str, int]] = []  # ids of texts whose file has other words; words left without time
        self._files: dict[str, Path] = {}
        self._read: dict[str, tuple[str, NDArray[np.int32]]] = {}  # id -> words joined by spaces, times
        if self.source.is_dir():
            for path in sorted(self.source.rglob("*" + SUFFIX)):
                self._once(_id(path.name), str(path), self._files)
                self._files[_id(path.name)] = path
            found = len(self._files)
        else:
            for document in read_archive(self.source):
                self._once(document.id, document.source, self._read)
                assert document.times_ms is not None
                self._read[document.id] = " ".join(document.words), document.times_ms.astype(np.int32)
            found = len(self._read)
        if not found:
            raise CorpusError(f"{source}: no {SUFFIX} file in it; name the folder or archive that holds them.")

    def _once(self, id: str, where: str, known: Iterable[str]) -> None:
        if id in known:
            raise CorpusError(f"{where}: a second file for the text {id}; keep one.")

    def _find(self, id: str) -> tuple[list[str], NDArray[np.int64]] | None:
        if id in self._read:
            words, times = self._read[id]
            return words.split(" ") if words else [], times.astype(np.int64)
        if id not in self._files:
            return None
        with open_input(self._files[id]) as stream:
            document = next(read(stream, str(self._files[id])))
        assert document.times_ms is not None
        return document.words, document.times_ms

    def attach(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents, those that have a file with `times_ms` from it."""
        for document in documents:
            self.texts += 1
            found = self._find(document.id)
            if found is None:
                self.missing.append(document.id)
            else:
                words, times = found
                times, same = align(words, times, document.words)
                if not same:
                    self.differing.append((document.id, int((times[:, 0] < 0).sum())))
                document.times_ms = times
            yield document

    def notes(self) -> list[str]:
        """What the user should know after all documents: texts without times, texts with other words."""
        notes = []
        if self.missing and len(self.missing) == self.texts:
            notes.append(
                f"none of the {self.texts} texts has an id that occurs in {self.source}; their text alone is used."
            )
        elif self.missing:
            notes.append(
                f"{len(self.missing)} of {self.texts} texts have no word times in {self.source} "
                f"({_first(self.missing)}); their text alone is used."
            )
        if self.differing:
            words = sum(count for _, count in self.differing)
            notes.append(
                f"{len(self.differing)} of {self.texts} texts have other words in {self.source} "
                f"({_first([id for id, _ in self.differing])}); aligned by words, which leaves {words} without times."
            )
        return notes


def _first(ids: list[str], shown: int = 3) -> str:
    return ", ".join(ids[:shown]) + (", …" if len(ids) > shown else "")


def align(timed: list[str], times: NDArray[np.int64], words: list[str]) -> tuple[NDArray[np.int64], bool]:
    """Times (T, 2) for T words from the same words with times, and whether they are the same at all.

    Words are compared case-blind and without marks; alignments of punctuated text have lone marks among their
    words. Where words differ, those that a shortest edit leaves alone get their times, the others -1, -1.
    """
    if [word.casefold() for word in timed] == [word.casefold() for word in words]:
        return times, True
    theirs, ours = [[split_mark(word)[0].casefold() for word in side] for side in (timed, words)]
    times = times[np.array([bool(word) for word in theirs], dtype=bool)]
    theirs = [word for word in theirs if word]
    if theirs == ours:
        return times, True
    from rapidfuzz.distance import Levenshtein

    aligned = np.full((len(ours), 2), -1, dtype=np.int64)
    for tag, start, end, to_start, to_end in Levenshtein.opcodes(theirs, ours):
        if tag == "equal":
            aligned[to_start:to_end] = times[start:end]
    return aligned, False


class _Limited:
    """A stream that ends in an error where an archive turns out far too long (a "bomb")."""

    def __init__(self, stream: BinaryIO, source: Path) -> None:
        self.stream, self.source, self.left = stream, source, MAX_ARCHIVE_BYTES

    def read(self, size: int) -> bytes:
        data = self.stream.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise CorpusError(
                f"{self.source}: unpacks to more than {MAX_ARCHIVE_BYTES >> 20} MB; use a folder of the files instead."
            )
        return data


def read_archive(path: Path) -> Iterator[Document]:
    """Yield a document a `.clntmstmp` member of a tar archive (`.tar`, `.tar.gz`, `.tgz`, `.tar.xz`), in its order.

    The archive is read once, as a stream, and never unpacked to disk; members that are no plain files are skipped.
    """
    try:
        with open_input(path) as stream:
            if kind := signature(stream.peek(16)):  # type: ignore[attr-defined]
                raise CorpusError(f"{path}: is {kind}, expected {_ARCHIVES}; unpack it, or pack it anew.")
            limited = _Limited(stream, path)
            try:
                yield from _members(limited, path)
            except CorpusError:
                # What does not parse may not be what was packed: reading on compares gzip's checksum.
                while limited.read(1 << 16):
                    pass
                raise
    except (tarfile.TarError, zlib.error, ValueError, RecursionError, OverflowError) as error:
        raise CorpusError(f"{path}: damaged archive ({error}), expected {_ARCHIVES}; fetch it again.") from error


def _members(stream: _Limited, path: Path) -> Iterator[Document]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]
        for member in archive:
            if archive.offset > MAX_ARCHIVE_BYTES:  # tarfile would step over what is not there, block by block
                raise CorpusError(
                    f"{path}({member.name}): {member.size} bytes, expected at most {MAX_ARCHIVE_BYTES >> 20} MB in the "
                    f"whole archive; use a folder of the files instead."
                )
            if not member.isreg() or not member.name.endswith(SUFFIX):
                continue
            where = f"{path}({member.name})"
            if member.size > MAX_MEMBER_BYTES:
                raise CorpusError(
                    f"{where}: {member.size} bytes, expected at most {MAX_MEMBER_BYTES >> 20} MB for one text; "
                    f"take it out of the archive."
                )
            document = next(read(archive.extractfile(member), where))
            document.id = _id(member.name)
            yield document
        # tarfile ends quietly at a header it cannot read, but behind an archive's real end there are only zeros.
        while rest := archive.fileobj.read(1 << 16):
            if rest.strip(b"\0"):
                raise tarfile.ReadError("a member's header cannot be read")
