"""Restoring marks: trained models applied to documents. Imports numpy and nothing heavier."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from crfpunct import decoding, model_folder, resources, templates
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import ModelError, TemplateError
from crfpunct.formats.text import Spacing, join, spaced
from crfpunct.marks import MARK_CHARACTERS, Typography, any_marked, attach, label, removable, split_mark, strip
from crfpunct.tables import Tables
from crfpunct.truecaser import Truecaser

#: Tokens that are tagged together; enough to make the cost of each numpy call small, few enough to stay in memory.
BATCH_TOKENS = 1 << 15

#: Words that a stream may hold back, unless it is told otherwise (docs/formats.md has the measurements).
LOOKAHEAD = 8

Result = TypeVar("Result")


class Punctuator:
    """Places marks: by one CRF for texts without word times and, where there is one, by another for texts with them.

    Two models, because one that is trained on both kinds is worse at texts with times than one that may rely on
    them (docs/accuracy.md). Immutable: threads can share it, and it can be pickled to other processes.
    """

    def __init__(self, text: LinearChain, timed: LinearChain | None = None) -> None:
        self.text = text
        self.timed = timed
        self.marks_known = frozenset(name for chain in (text, timed) if chain for name in chain.labels if name)
        self._compiled: dict[int, Tables] = {}
        self._abbreviations: dict[str, bool] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_compiled": {}, "_abbreviations": {}}

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

    def abbreviated(self, word: str) -> bool:
        """Whether the training text writes the word with a dot: the model expects one between words it never saw."""
        if len(self._abbreviations) > 1 << 16:
            self._abbreviations.clear()
        if word not in self._abbreviations and "." in self.text.labels:
            sentence = Document("", [*[_UNKNOWN] * 4, word, *[_UNKNOWN] * 4])
            share = self.tables(self.text).marginals([sentence])[0][4, self.text.labels.index(".")]
            self._abbreviations[word] = bool(share > 0.5)
        return self._abbreviations.get(word, False)

    def tables(self, chain: LinearChain) -> Tables:
        """A chain compiled for tagging."""
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
            return of(self.tables(self.text), documents)
        results: dict[int, Result] = {}
        for chain in (self.text, self.timed):
            places = [i for i, chosen in enumerate(chains) if chosen is chain]
            if chain is not None and places:
                found = of(self.tables(chain), [documents[i] for i in places])
                results.update(zip(places, found, strict=True))
        return [results[i] for i in range(len(documents))]


class Restorer:
    """A model folder, loaded and ready to restore text. Immutable, so that threads can share it."""

    def __init__(
        self,
        punctuator: Punctuator | None,
        typography: Typography,
        manifest: Mapping[str, Any],
        truecaser: Truecaser | None = None,
    ) -> None:
        self.punctuator = punctuator
        self.typography = typography
        self.manifest = manifest
        self.truecaser = truecaser

    def _places(self) -> Punctuator:
        if self.punctuator is None:
            raise ModelError("the model has no punctuation part, only case; add --no-punct, or train one with --into.")
        return self.punctuator

    def tag(
        self,
        documents: Iterable[Document],
        *,
        punct: bool = True,
        case: bool = True,
        replace_marks: bool = False,
        keep_case: bool = False,
        probabilities: bool = False,
        ready: Callable[[], bool] | None = None,
    ) -> Iterator[Document]:
        """Each document with its marks and, if the model knows it, its case, in order; reads one batch ahead at most.

        Marks that a document has already, on its words or in `Document.marks`, stay, and no second one is put next to
        them; with replace_marks those of the model's own set are taken off and decided again (see `marks.removable`).
        Words get the case that their marks and neighbours ask for, whatever they had; with keep_case those that have
        a capital are left alone.
        With probabilities, `Document.probabilities` says how probable each word's mark is. Where `ready` says that
        the next document cannot be had without waiting, what is there is tagged at once.
        """
        for batch in _batches(documents, ready):
            tagged = self._tagged(batch, replace_marks, probabilities) if punct else batch
            if case and self.truecaser is not None:
                tagged = self._cased(list(tagged), self.truecaser, keep_case)
            yield from tagged

    def _tagged(self, batch: list[Document], replace_marks: bool, probabilities: bool) -> Iterator[Document]:
        marked = [any_marked(document.words) for document in batch]
        if replace_marks:
            batch = [
                self._unmarked(document) if some else _with(document, marks=None)
                for document, some in zip(batch, marked, strict=True)
            ]
            marked = [some and any_marked(document.words) for document, some in zip(batch, marked, strict=True)]
        # Marks that stand alone (`the end .`) are no words to the model.
        seen = [_words_alone(document) if some else document for document, some in zip(batch, marked, strict=True)]
        punctuator = self._places()
        shares = punctuator.marginals(seen) if probabilities else [None] * len(batch)
        for i, found in enumerate(punctuator.marks(seen)):
            document = batch[i]
            if marked[i]:
                found = _kept_on_words(document.words, found)
            if document.marks is not None:
                found = [old or new for old, new in zip(document.marks, found, strict=True)]
            share = shares[i]
            if share is not None:
                share = _of_marks(document.words, found, share, punctuator.chain_for(seen[i]).labels)
            yield _with(document, found, share)

    def _cased(self, batch: Sequence[Document], truecaser: Truecaser, keep_case: bool) -> Iterator[Document]:
        seen = [_with_all_marks(document) if any_marked(document.words) else document for document in batch]
        for document, view, found in zip(batch, seen, truecaser.words(seen), strict=True):
            words = document.words
            if keep_case:
                found = [old if old != old.lower() else new for old, new in zip(view.words, found, strict=True)]
            if view is not document:
                left = iter(found)
                bare = [split_mark(word)[0] for word in words]
                found = [next(left) + word[len(b) :] if b else word for word, b in zip(words, bare, strict=True)]
            yield _with(document, document.marks, document.probabilities, found)

    def _unmarked(self, document: Document) -> Document:
        """The document without the marks that can be decided again, on its words or alone between them."""
        punctuator = self._places()
        known = punctuator.marks_known
        words = [removable(word, known) for word in document.words]
        for i, word in enumerate(document.words):
            if words[i] != word and word[-1] == "." and punctuator.abbreviated(words[i]):
                words[i] = word
        plain = document.layout is None or isinstance(document.layout, Spacing)
        if not (plain and any(not word.strip(MARK_CHARACTERS) for word in words[1:])):
            return replace(document, words=words, marks=None)
        # Elsewhere than in plain text a mark alone is an entry of its own, with times or fields that have to stay.
        alone = [i > 0 and not w.strip(MARK_CHARACTERS) and label(w) in known for i, w in enumerate(words)]
        layout = document.layout and Spacing(_joined(document.layout.gaps, alone))
        times = document.times_ms if document.times_ms is None else document.times_ms[~np.array(alone)]
        words = [word for word, is_alone in zip(words, alone, strict=True) if not is_alone]
        return replace(document, words=words, times_ms=times, marks=None, layout=layout)

    @overload
    def restore(self, text: str, *, replace_marks: bool = False) -> str: ...

    @overload
    def restore(self, text: Document, *, replace_marks: bool = False) -> Document: ...

    @overload
    def restore(self, text: list[str], *, replace_marks: bool = False) -> list[str]: ...

    @overload
    def restore(self, text: list[Document], *, replace_marks: bool = False) -> list[Document]: ...

    def restore(
        self, text: str | Document | list[str] | list[Document], *, replace_marks: bool = False
    ) -> str | Document | list[str] | list[Document]:
        """A text with its marks, for readers, its white space as it was; or several, or Documents (with times).

        >>> import crfpunct
        >>> crfpunct.load("pl").restore("dzień dobry jak się pan miewa")
        'dzień dobry, jak się pan miewa?'
        """
        if isinstance(text, (str, Document)):
            [restored] = self._restored([text], replace_marks)
            return restored
        return cast("list[str] | list[Document]", list(self._restored(text, replace_marks)))

    def _restored(self, texts: Sequence[str | Document], replace_marks: bool) -> Iterator[str | Document]:
        documents = [text if isinstance(text, Document) else _spaced(text) for text in texts]
        for text, document in zip(texts, self.tag(documents, replace_marks=replace_marks), strict=True):
            if isinstance(text, Document):
                yield document
            else:
                yield join(document.words, document.marks, self.typography, document.layout.gaps)

    def stream(
        self, words: Iterable[str | tuple[str, int, int]], lookahead: int = LOOKAHEAD
    ) -> Iterator[tuple[str, str]]:
        """Each word with its mark, at most `lookahead` words later; for words that come one at a time.

        A word comes bare or as (word, start in ms, end in ms), -1 for a time that is unknown. `Stream` does the same
        for a program that would rather put words in.
        """
        stream = Stream(self._places(), lookahead)
        for word in words:
            yield from stream.put(word) if isinstance(word, str) else stream.put(*word)
        yield from stream.end()

    def flow(self, pieces: Iterable[str], lookahead: int = LOOKAHEAD) -> Iterator[str]:
        """A text that comes in pieces, with its marks, as one text: each word at most `lookahead` words later.

        A piece may end anywhere, also inside a word. White space comes back as it was.

        >>> import crfpunct
        >>> "".join(crfpunct.load("pl").flow(["dzień dob", "ry jak się ", "pan miewa\n"]))
        'dzień dobry, jak się pan miewa?\n'
        """
        stream = Stream(self._places(), lookahead)
        printed = ""  # the last word given back, if its mark is still to be printed
        gaps: deque[str] = deque()  # the white space in front of each word not yet printed
        rest = ""

        def put_out(given: Iterable[tuple[str, str]]) -> Iterator[str]:
            nonlocal printed
            for word, mark in given:
                gap = gaps.popleft()
                if printed:
                    # How a `-` is printed depends on the word behind it.
                    behind = self.typography.separators([printed, word], ["-", ""])[0].removesuffix(" ")
                    gap = behind if behind == "-" and gap == " " else behind + gap
                printed = word if mark == "-" else ""
                yield gap + word + ("" if mark == "-" else mark)

        for piece in pieces:
            words, spaces = spaced(rest + piece)
            # The last word may go on in the next piece.
            rest = spaces[-1] if spaces[-1] or not words else spaces[-2] + words.pop()
            for word, gap in zip(words, spaces, strict=False):
                gaps.append(gap)
                yield from put_out(stream.put(word))
        words, spaces = spaced(rest)
        for word, gap in zip(words, spaces, strict=False):
            gaps.append(gap)
            yield from put_out(stream.put(word))
        yield from put_out(stream.end())
        if printed:
            yield self.typography.separators([printed], ["-"])[0]
        yield spaces[-1]


def _spaced(text: str) -> Document:
    words, gaps = spaced(text)
    return Document("", words, layout=Spacing(gaps))


def _with(
    document: Document,
    marks: list[str] | None,
    probabilities: NDArray[np.float64] | None = None,
    words: list[str] | None = None,
) -> Document:
    # As dataclasses.replace, in a fifth of its time.
    d = document
    return Document(d.id, d.words if words is None else words, d.times_ms, marks, d.source, d.layout, probabilities)


def _with_all_marks(document: Document) -> Document:
    """The words of a document without any marks on or between them, and all of these as marks."""
    tokens = document.words if document.marks is None else attach(document.words, document.marks)
    words, runs = strip(tokens)
    return Document(document.id, words, marks=[label(run) for run in runs], source=document.source)


def _words_alone(document: Document) -> Document:
    """The document less its tokens of mark characters alone."""
    chosen = [bool(word.strip(MARK_CHARACTERS)) for word in document.words]
    times = document.times_ms if document.times_ms is None else document.times_ms[np.array(chosen, dtype=bool)]
    return Document(document.id, list(compress(document.words, chosen)), times, source=document.source)


def _kept_on_words(words: Sequence[str], found: Sequence[str]) -> list[str]:
    """Marks for all tokens from those for `_words_alone`: none behind a mark, none before one that stands alone."""
    left = iter(found)
    marks: list[str] = []
    for word in words:
        if not word.strip(MARK_CHARACTERS):
            if marks:
                marks[-1] = ""
            marks.append("")
        else:
            mark = next(left)
            marks.append("" if word[-1] in MARK_CHARACTERS else mark)
    return marks


def _of_marks(
    words: Sequence[str], marks: Sequence[str], shares: NDArray[np.float64], labels: Sequence[str]
) -> NDArray[np.float64]:
    """The share of each word's mark, be it in `marks` or on the word or alone behind it; NaN where none is known."""
    column = {name: i for i, name in enumerate(labels)}
    result = np.full(len(words), np.nan)
    row = -1
    for i, (word, mark) in enumerate(zip(words, marks, strict=True)):
        bare, run = split_mark(word)
        if not bare:
            continue
        row += 1
        following = words[i + 1] if i + 1 < len(words) else ""
        alone = following if following and not following.strip(MARK_CHARACTERS) else ""
        chosen = column.get(label(run + mark + alone))
        if chosen is not None:
            result[i] = shares[row, chosen]
    return result


def _joined(gaps: Sequence[str], dropped: Sequence[bool]) -> list[str]:
    """White space around T words, for those of them that are not dropped; a line break outlives a space."""
    left = [gaps[0]]
    for behind, drop in zip(gaps[1:], dropped, strict=True):
        if not drop:
            left.append(behind)
        elif behind.count("\n") >= left[-1].count("\n"):
            left[-1] = behind
    return left


def _batches(documents: Iterable[Document], ready: Callable[[], bool] | None = None) -> Iterator[list[Document]]:
    batch: list[Document] = []
    tokens = 0
    for document in documents:
        batch.append(document)
        tokens += len(document.words)
        if tokens >= BATCH_TOKENS or (ready is not None and not ready()):
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch


class Stream:
    """Words in, one at a time, with or without times; out, each with its mark, in order, none more than once.

    A word is given back as soon as nothing that follows can change its mark, and at the latest when `lookahead` more
    words have come. Without times, and with pauses that are looked at in place (`gap`, `rate`), the first is known
    exactly: the scores of a place are final once the words that its features look at are there, and its label once
    all best paths up to the last final place go through it (Šrámek, Brejová, Vinař 2007, "On-line Viterbi algorithm
    for analysis of long biological sequences"). Pauses that are compared with those of the whole document (`rank`,
    `ratio`, `longer_after` …) are compared with those of the last WINDOW words, and every word waits for `lookahead`
    others.
    """

    WINDOW = 200

    def __init__(self, punctuator: Punctuator, lookahead: int = LOOKAHEAD) -> None:
        if lookahead < 0:
            raise ValueError(f"a look-ahead of {lookahead} words; expected at least 0")
        self._punctuator = punctuator
        self._lookahead = lookahead
        self._start()

    def _start(self) -> None:
        self._words: list[str] = []  # those given back that may still be looked at, then those that wait
        self._times: list[tuple[int, int]] = []
        self._given = 0  # how many of the words are given back
        self._label: str | None = None  # of the last one given back
        self._waiting: deque[str] = deque()  # the words that wait, with the marks that stand alone between them

    def put(self, word: str, start_ms: int = -1, end_ms: int = -1) -> list[tuple[str, str]]:
        """Take a word; give back the words that are decided by now, each with its mark."""
        if not word.strip(MARK_CHARACTERS):
            if not self._waiting:
                return [(word, "")]
            self._waiting.append(word)
            return []
        self._waiting.append(word)
        self._words.append(word)
        self._times.append((start_ms, end_ms))
        keep = self.WINDOW + self._lookahead
        if len(self._words) > 2 * keep and self._given >= keep:
            self._given -= len(self._words) - keep
            del self._words[:-keep], self._times[:-keep]
        return self._give(ended=False)

    def end(self) -> list[tuple[str, str]]:
        """Give back all words that wait; what is put in afterwards is another text."""
        given = self._give(ended=True)
        self._start()
        return given

    def _give(self, ended: bool) -> list[tuple[str, str]]:
        given: list[tuple[str, str]] = []
        for mark in self._decided(ended):
            word = self._waiting.popleft()
            alone = bool(self._waiting) and not self._waiting[0].strip(MARK_CHARACTERS)
            given.append((word, "" if alone or word[-1] in MARK_CHARACTERS else mark))
            while self._waiting and not self._waiting[0].strip(MARK_CHARACTERS):
                given.append((self._waiting.popleft(), ""))
        return given

    def _decided(self, ended: bool) -> list[str]:
        """The labels of the words that are decided by now."""
        times = np.array(self._times, dtype=np.int64).reshape(-1, 2)
        whole = Document("", self._words, times if (times >= 0).any() else None)
        chain = self._punctuator.chain_for(whole)
        ahead, local = _outlook(chain)
        left = len(self._words) - self._given
        # The words whose scores can no longer change, of those that wait. One word at least must have come
        # behind each, since a mark may stand alone there.
        final = left if ended else max(0, left - max(ahead, 1)) if local else 0
        forced = left > self._lookahead and not ended
        if not (final or forced):
            return []
        scores = self._scores(whole, chain, ahead, local, ended)
        decided: list[int] = []
        last = None
        if self._label is not None:
            last = chain.labels.index(self._label) if self._label in chain.labels else 0
        margin = decoding.dominance(chain.transition)
        while len(decided) < final:
            here = scores[len(decided) :]
            if not ended and not decoding.undecided(here[:1], margin)[0]:
                decided.append(0)
            else:
                common = _common(here[: final - len(decided)], chain.transition, last, ended)
                if not common:
                    break
                decided += common
            last = decided[-1]
        if forced and not decided:
            decided = _common(scores, chain.transition, last, True)[:1]
        labels = [chain.labels[label] for label in decided]
        if labels:
            self._given += len(labels)
            self._label = labels[-1]
        return labels

    def _scores(self, whole: Document, chain: LinearChain, ahead: int, local: bool, ended: bool) -> NDArray[np.float64]:
        """The scores of the words that wait, (waiting, L)."""
        tables = self._punctuator.tables(chain)
        first = max(0, self._given - tables.reach - 1 if local else len(whole.words) - self.WINDOW - self._lookahead)
        words, times = whole.words[first:], None if whole.times_ms is None else whole.times_ms[first:]
        if not ended:
            # Words never seen stand for those that have not come yet, since the edge of a text would mean its end.
            words = words + [_UNKNOWN] * ahead
            times = times if times is None else np.concatenate([times, np.full((ahead, 2), -1, dtype=np.int64)])
        emission, starts, _ = tables.emissions([Document("", words, times)])
        start = int(starts[0]) - first
        return emission[start + self._given : start + len(whole.words)] + chain.bias


def _common(scores: NDArray[np.float64], transition: NDArray[np.float64], last: int | None, ended: bool) -> list[int]:
    """The labels (≤ T) from the first token on that all best paths share, whichever label each ends in.

    scores (T, L); last: the label before them. At the end of a text there is one best path, and it is shared whole.
    """
    score = scores[0] + (0.0 if last is None else transition[last])
    pointers = []
    for row in scores[1:]:
        paths = score[:, None] + transition
        pointers.append(paths.argmax(axis=0))
        score = paths.max(axis=0) + row
    labels = np.array([score.argmax()]) if ended else np.arange(len(score))
    columns = [labels]
    for pointer in reversed(pointers):
        labels = pointer[labels]
        columns.append(labels)
    shared: list[int] = []
    for column in reversed(columns):
        if (column != column[0]).any():
            break
        shared.append(int(column[0]))
    return shared


#: Pause observations that look at the words beside a place alone; all others look at the whole document.
_LOCAL = frozenset({"gap", "pause", "rate", "zero"})
_UNKNOWN = "\ufffd" * 2


def _outlook(chain: LinearChain) -> tuple[int, bool]:
    """How many words ahead a chain's features look, and whether that is all they look at."""
    places = [place for template in chain.index.templates for place in template.use]
    ahead = max((offset + observation.is_pause for observation, offset in places), default=0)
    return max(ahead, 0), all(not observation.is_pause or observation.name in _LOCAL for observation, _ in places)


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
    punct, case = stored.manifest.get("punct"), stored.manifest.get("case")
    if punct is None and case is None:
        raise ModelError("has neither a punctuation nor a case part; train one with `crfpunct train`.")
    copies = {Path(name).name: raw for name, raw in stored.files.items() if name.startswith("templates/")}
    punctuator, truecaser, typography = None, None, Typography()
    try:
        if punct is not None:
            features = templates.load_copies(punct["features"], copies)
            chains = {}
            for name in ("text", "timed"):
                if name in punct["chains"]:
                    described = punct["chains"][name]
                    used = features.templates if name == "timed" else templates.without_pauses(features.templates)
                    arrays = stored.arrays(described["file"])
                    chains[name] = LinearChain.from_arrays(arrays, described["labels"], used, features.lexicons)
            typography = Typography(frozenset(punct["joined_parts"]), features.dash)
            punctuator = Punctuator(**chains)
        if case is not None:
            features = templates.load_copies(case["features"], copies)
            truecaser = Truecaser.from_arrays(stored.arrays(case["file"]), case["labels"], features)
    except (KeyError, TypeError, TemplateError) as error:
        # The checksums are right, so it was written like this: by another program, or by a defect of ours.
        raise ModelError(f"its {model_folder.MANIFEST} does not describe its files ({error}).") from error
    return Restorer(punctuator, typography, stored.manifest, truecaser)
