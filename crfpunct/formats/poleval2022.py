"""PolEval 2022 Task 1: ``audio TAB segment TAB word:start-end …`` in, with times in ms; out: a text a line.

A folder holds `in.tsv` and, where the gold is known, `expected.tsv` (text alone). A segment may have several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from crfpunct import marks
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import open_input, read_lines
from crfpunct.formats import wikipunct
from crfpunct.formats.places import keys, pairs
from crfpunct.formats.text import split
from crfpunct.marks import Typography

_WORD = re.compile(r"(.+):(\d{1,9})-(\d{1,9})")


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield one document a line; its id is `audio segment`."""
    for number, line in read_lines(stream, source):
        where = f"{source}:{number}"
        fields = line.split("\t")
        if len(fields) != 3:
            raise CorpusError(f"{where}: {len(fields)} columns, expected audio TAB segment TAB words; mend the line.")
        words: list[str] = []
        times: list[tuple[int, int]] = []
        for token in split(fields[2]) if fields[2] else ():
            found = _WORD.fullmatch(token)
            if found is None or int(found[2]) > int(found[3]):
                raise CorpusError(
                    f"{where}: word {len(words) + 1} is {token[:60]!r}, "
                    f"expected word:start-end in ms, the end not before the start."
                )
            words.append(found[1])
            times.append((int(found[2]), int(found[3])))
        array = np.array(times, dtype=np.int64).reshape(-1, 2)
        yield Document(f"{fields[0]} {fields[1]}", words, array, source=where)


def read_corpus(folder: Path) -> Iterator[Document]:
    """Yield the documents of `in.tsv` with the labels of `expected.tsv`.

    A few texts split words otherwise in the gold (``SubWay'u``); there, words without a counterpart have no mark.
    """
    given, gold = folder / "in.tsv", folder / "expected.tsv"
    with open_input(given) as given_stream, open_input(gold) as gold_stream:
        for document, line in zip_longest(read(given_stream, str(given)), read_lines(gold_stream, str(gold))):
            if document is None or line is None:
                raise CorpusError(f"{gold}: not as many lines as {given}; each text needs its gold line.")
            words, runs = marks.strip(split(line[1]) if line[1] else [])
            labels = [""] * len(document.words)
            for ours, theirs in pairs(keys(document.words), keys(words)):
                labels[ours] = marks.label(runs[theirs])
            document.marks = labels
            yield document


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:
    """Write one text a line, as the task wants it."""
    wikipunct.write(documents, out, typography)


def sniff(head: bytes) -> bool:
    """The first line has three columns, and the third begins with word:start-end."""
    return bool(re.match(rb"[^\t\n]+\t[^\t\n]+\t[^ \t\n]+:\d+-\d+[ \r\n]", head))
