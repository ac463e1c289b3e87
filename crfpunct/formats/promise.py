"""The word promise, checked while it is kept: what is written has the words that were read, and no others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from crfpunct.document import Document
from crfpunct.formats.places import check_same
from crfpunct.marks import split_mark


class Promise:
    """Documents on their way from a reader to a writer, in order: `remember` them first, `check` them last.

    >>> promise = Promise()
    >>> [document.words for document in promise.check(promise.remember([Document("", ["tak"])]))]
    [['tak']]
    """

    def __init__(self) -> None:
        self._read: deque[list[str]] = deque()

    def remember(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents themselves; their words are noted."""
        for document in documents:
            self._read.append(document.words.copy())
            yield document

    def check(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents themselves; CorpusError before one that has other words than it had.

        Words are compared without case and the marks behind them; marks that stand alone are no words.
        """
        for document in documents:
            read = self._read.popleft()
            # Most texts keep all their words and change but their case: one comparison of the whole tells.
            if read != document.words and " ".join(read).lower() != " ".join(document.words).lower():
                if len(read) != len(document.words):
                    check_same(_bare(read), replace(document, words=_bare(document.words)))
                else:
                    check_same(read, document)
            yield document


def _bare(words: Iterable[str]) -> list[str]:
    return [word for word in words if split_mark(word)[0]]
