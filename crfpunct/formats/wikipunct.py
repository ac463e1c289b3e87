"""WikiPunct, the corpus of PolEval 2021 Task 1: ``id TAB text`` in, the punctuated text alone out, a line each.

Marks stand right behind words, also ``-``: ``polsko- niemiecki`` (http://2021.poleval.pl/tasks/task1). A folder
holds `in.tsv` and, where the gold is known, `expected.tsv`; words are the same in both but for capitals.
A file without any tab is text alone, such as `expected.tsv` itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate, zip_longest
from operator import add
from pathlib import Path
from typing import BinaryIO, TextIO

from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.files import open_input, read_lines
from crfpunct.formats.text import split
from crfpunct.marks import MARK_CHARACTERS, Typography, label


def read(stream: BinaryIO, source: str) -> Iterator[Document]:
    """Yield one document a line; whether lines have an id is what the first line shows."""
    tabs = 0
    lines_of_ids: dict[str, int] = {}
    for number, line in read_lines(stream, source):
        where = f"{source}:{number}"
        found = line.count("\t")
        if number == 1:
            tabs = found
        if found != tabs or found > 1:
            expected = "id TAB text" if tabs else "text without tabs, as in line 1"
            raise CorpusError(
                f"{where}: {found} tabs, expected {expected}; mend the line or name the format with --from."
            )
        id, _, text = line.rpartition("\t")
        if tabs:
            if id in lines_of_ids:
                raise CorpusError(
                    f"{where}: the id {id[:60]!r} is that of line {lines_of_ids[id]}, too; each text needs its own id."
                )
            lines_of_ids[id] = number
        yield Document(id, split(text) if text else [], source=where)


def read_corpus(folder: Path) -> Iterator[Document]:
    """Yield the documents of `in.tsv` with the marks (labels of `marks.MARKS`) of `expected.tsv`."""
    given, gold = folder / "in.tsv", folder / "expected.tsv"
    with open_input(given) as given_stream, open_input(gold) as gold_stream:
        documents = read(given_stream, str(given))
        for document, line in zip_longest(documents, read_lines(gold_stream, str(gold))):
            if document is None or line is None:
                counts = [sum(1 for _ in read_lines(open_file, "")) for open_file in _reopened(given, gold)]
                raise CorpusError(
                    f"{gold}: {counts[1]} lines, but {given} has {counts[0]}; each text needs its gold line."
                )
            number, text = line
            document.marks = gold_labels(document, split(text) if text else [], f"{gold}:{number}")
            yield document


def _reopened(*paths: Path) -> Iterator[BinaryIO]:
    for path in paths:
        with open_input(path) as stream:
            yield stream


def gold_labels(document: Document, tokens: list[str], where: str) -> list[str]:
    """The label of each word of a document, from the gold tokens; CorpusError where their words differ."""
    words = document.words
    marks = [_behind(word, token) for word, token in zip(words, tokens, strict=False)]
    if len(words) == len(tokens) and None not in marks:
        labels = {mark: label(mark) for mark in set(marks) if mark is not None}
        return [labels[mark] for mark in marks if mark is not None]
    first = marks.index(None) if None in marks else len(marks)
    pair = [f'"{side[first]}"' if first < len(side) else "nothing" for side in (tokens, words)]
    raise CorpusError(
        f"{where}: {len(tokens)} words, but {document.source} has {len(words)}; first difference at word "
        f"{first + 1} ({' / '.join(pair)}); both need the same words, and marks only behind them."
    )


def _behind(word: str, token: str) -> str | None:
    """The marks behind a word in its gold token, or None where the token is not that word.

    >>> _behind("polska", "Polska,"), _behind("straße", "STRASSE."), _behind("kot", "kotu")
    (',', '.', None)
    """
    if token.startswith(word):
        rest = token[len(word) :]
    else:
        folded = word.casefold()
        end = len(word)
        if token[:end].casefold() != folded:
            # Folding can change the length (ß, İ), so the word's end is where the folded lengths are equal.
            end = bisect_left(list(accumulate(len(character.casefold()) for character in token)), len(folded)) + 1
        rest = token[end:] if token[:end].casefold() == folded else "\0"
    return None if rest.strip(MARK_CHARACTERS) else rest


def write(documents: Iterable[Document], out: TextIO, typography: Typography) -> None:  # noqa: ARG001
    """Write one text a line, each mark glued to its word; an empty document is an empty line."""
    for document in documents:
        tokens = document.words if document.marks is None else map(add, document.words, document.marks)
        out.write(" ".join(tokens) + "\n")


def sniff(head: bytes) -> bool:
    """The first line and most others are `id TAB text`, ids without white space; `read` names a line that is not."""
    lines = head.split(b"\n")
    rows = [line.split(b"\t") for line in (lines[:-1] if len(lines) > 1 else lines)]
    fitting = [len(row) == 2 and len(row[0].split()) == 1 for row in rows]
    return fitting[0] and 2 * sum(fitting) > len(fitting)
