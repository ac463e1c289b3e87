"""Restoring marks: trained models applied to documents. Imports numpy and nothing heavier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crfpunct import model_folder, resources, templates
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import ModelError, TemplateError
from crfpunct.formats.text import join, spaced
from crfpunct.marks import MARK_CHARACTERS, Typography
from crfpunct.tables import Tables

#: Tokens that are tagged together; enough to make the cost of each numpy call small, few enough to stay in memory.
BATCH_TOKENS = 1 << 15

Result = TypeVar("Result")


class Punctuator:
    """Places marks: by one CRF for texts without word times and, where there is one, by another for texts with them.

    Two models, because one that is trained on both kinds is worse at texts with times than one that may rely on
    them (docs/accuracy.md). Immutable: threads can share it, and it can be pickled to other processes.
    """

    def __init__(self, text: LinearChain, timed: LinearChain | None = None) -> None:
        self.text = text
        self.timed = timed
        self._compiled: dict[int, Tables] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text, "timed": self.timed, "_compiled": {}}

    def chain_for(self, document: Document) -> LinearChain:
        """The CRF for a document: the one with pauses if at least half of the gaps between its words are known."""
        if self.timed is None or document.times_ms is None or len(document.words) == 0:
            return self.text
        times = document.times_ms
        known = (times[1:, 0] >= 0) & (times[:-1, 1] >= 0)
        return self.timed if len(known) and 2 * known.sum() >= len(known) else self.text

    def marks(self, documents: Sequence[Document]) -> list[list[str]]:
        """The best mark behind every word of every document."""
        return self._by_chain(documents, Tables.decode)

    def marginals(self, documents: Sequence[Document]) -> list[NDArray[np.float64]]:
        """Per document the probability of every label of its chain behind every word: (T, L)."""
        return self._by_chain(documents, Tables.marginals)

    def _tables(self, chain: LinearChain) -> Tables:
        # Compiled when first needed. Two threads may both do it; either result will do.
        if id(chain) not in self._compiled:
            self._compiled[id(chain)] = Tables(chain)
        return self._compiled[id(chain)]

    def _by_chain(
        self, documents: Sequence[Document], of: Callable[[Tables, Sequence[Document]], list[Result]]
    ) -> list[Result]:
        """Apply a function to the documents of each chain together; the results in the documents' order."""
        chains = [self.chain_for(document) for document in documents]
        if all(chain is self.text for chain in chains):
            return of(self._tables(self.text), documents)
        results: dict[int, Result] = {}
        for chain in (self.text, self.timed):
            places = [i for i, chosen in enumerate(chains) if chosen is chain]
            if chain is not None and places:
                found = of(self._tables(chain), [documents[i] for i in places])
                results.update(zip(places, found, strict=True))
        return [results[i] for i in range(len(documents))]


class Restorer:
    """A model folder, loaded and ready to restore text. Immutable, so that threads can share it."""

    def __init__(self, punctuator: Punctuator, typography: Typography, manifest: Mapping[str, Any]) -> None:
        self.punctuator = punctuator
        self.typography = typography
        self.manifest = manifest

    def tag(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Each document with its marks, in order; reads no further ahead than one batch.

        A word that already ends in a mark keeps it and gets no second one.
        """
        for batch in _batches(documents):
            for document, marks in zip(batch, self.punctuator.marks(batch), strict=True):
                words = document.words
                for i, mark in enumerate(marks):
                    if mark and words[i][-1:] in MARK_CHARACTERS:
                        marks[i] = ""
                yield replace(document, marks=marks)

    def restore(self, text: str) -> str:
        """One text with its marks, for readers; white space stays as it is.

        >>> import crfpunct
        >>> crfpunct.load("pl").restore("dzień dobry jak się pan miewa")
        'dzień dobry, jak się pan miewa?'
        """
        words, gaps = spaced(text)
        (document,) = self.tag([Document("", words)])
        return join(words, document.marks, self.typography, gaps)


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    tokens = 0
    for document in documents:
        batch.append(document)
        tokens += len(document.words)
        if tokens >= BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch


def load(name: str | Path = "pl") -> Restorer:
    """Load a model: a folder, or the name of a shipped one. ModelError where there is none or it is not whole."""
    folder = resources.find_model(name)
    try:
        return _load(folder)
    except ModelError as error:
        message = str(error)
        raise ModelError(message if message.startswith(str(folder)) else f"{folder}: {message}") from error


def _load(folder: Path) -> Restorer:
    stored = model_folder.read(folder)
    part = stored.manifest.get("punct")
    if part is None:
        raise ModelError("has no punctuation part; train one with `crfpunct train`.")
    try:
        copies = {Path(name).name: raw for name, raw in stored.files.items() if name.startswith("templates/")}
        features = templates.load_copies(part["features"], copies)
        chains = {}
        for name in ("text", "timed"):
            if name in part["chains"]:
                described = part["chains"][name]
                used = features.templates if name == "timed" else templates.without_pauses(features.templates)
                arrays = stored.arrays(described["file"])
                chains[name] = LinearChain.from_arrays(arrays, described["labels"], used, features.lexicons)
        typography = Typography(frozenset(part["joined_parts"]), features.dash)
        punctuator = Punctuator(**chains)
    except (KeyError, TypeError, TemplateError) as error:
        # The checksums are right, so it was written like this: by another program, or by a defect of ours.
        raise ModelError(f"its {model_folder.MANIFEST} does not describe its files ({error}).") from error
    return Restorer(punctuator, typography, stored.manifest)
