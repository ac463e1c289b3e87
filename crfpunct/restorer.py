"""Restoring marks: trained models applied to documents. Imports numpy and nothing heavier."""

from __future__ import annotations

import contextlib
import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from crfpunct import model_folder, prior, resources, templates
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import ModelError, TemplateError
from crfpunct.formats.text import Spacing, join, spaced
from crfpunct.marks import MARK_CHARACTERS, Typography, any_marked, attach, label, removable, split_mark, strip
from crfpunct.punctuator import Punctuator
from crfpunct.stream import LOOKAHEAD, CasedStream, Stream
from crfpunct.templates import FeatureSet
from crfpunct.truecaser import Truecaser
from crfpunct.word_types import MARKED, Numbered, Vocabulary

#: Tokens that are tagged together; enough to make the cost of each numpy call small, few enough to stay in memory.
BATCH_TOKENS = 1 << 15


class Restorer:
    """A model folder, loaded and ready to restore text. Immutable, so that threads can share it."""

    def __init__(
        self,
        punctuator: Punctuator | None,
        typography: Typography,
        manifest: Mapping[str, Any],
        truecaser: Truecaser | Callable[[], Truecaser] | None = None,
    ) -> None:
        """truecaser: or what makes it when it is first needed."""
        self.punctuator = punctuator
        self.typography = typography
        self.manifest = manifest
        self._truecaser = truecaser
        self._vocabulary = punctuator.vocabulary if punctuator else Vocabulary()

    @property
    def truecaser(self) -> Truecaser | None:
        """What finds the words' case, if the model has a part for it."""
        if callable(self._truecaser):  # two threads may both make it; either result will do
            self._truecaser = self._truecaser()
        return self._truecaser

    def with_bias(self, added: Mapping[str, float]) -> Restorer:
        """A restorer like this one that places some marks more or less often: see `Punctuator.with_bias`."""
        return Restorer(self._places().with_bias(added), self.typography, self.manifest, self._truecaser)

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
        if case and not punct and self.truecaser is None:
            raise ModelError("the model has no case part, only punctuation; train one with --task case --into.")
        for batch in _batches(documents, ready):
            if punct and replace_marks:
                batch = [
                    self._unmarked(document) if any_marked(document.words) else _with(document, marks=None)
                    for document in batch
                ]
            numbered = self._vocabulary.number(batch)
            if punct:
                batch = list(self._tagged(batch, numbered, probabilities))
            if case and self.truecaser is not None:
                yield from self._cased(batch, self.truecaser, keep_case, numbered)
            else:
                yield from batch

    def _tagged(self, batch: Sequence[Document], numbered: Numbered, probabilities: bool) -> Iterator[Document]:
        """numbered: the words of the batch."""
        marked = numbered.with_trait(MARKED)
        # Marks that stand alone (`the end .`) are no words to the model.
        seen = [_words_alone(document) if some else document for document, some in zip(batch, marked, strict=True)]
        numbered = numbered.changed(seen, marked)
        punctuator = self._places()
        found_marks = punctuator.marks(seen, numbered)
        if not probabilities and not any(marked) and all(document.marks is None for document in batch):
            yield from map(_with, batch, found_marks)  # as below, with less to do for each: most texts are like that
            return
        shares = punctuator.marginals(seen, numbered) if probabilities else [None] * len(batch)
        for i, found in enumerate(found_marks):
            document = batch[i]
            if marked[i]:
                found = _kept_on_words(document.words, found)
            if document.marks is not None:
                found = [old or new for old, new in zip(document.marks, found, strict=True)]
            share = shares[i]
            if share is not None:
                share = _of_marks(document.words, found, share, punctuator.chain_for(seen[i]).distinct)
            yield _with(document, found, share)

    def _cased(
        self, batch: Sequence[Document], truecaser: Truecaser, keep_case: bool, numbered: Numbered | None = None
    ) -> Iterator[Document]:
        """numbered: the words of the batch, if they are numbered already."""
        numbered = numbered or self._vocabulary.number(batch)
        marked = numbered.with_trait(MARKED)
        seen = [_with_all_marks(document) if some else document for document, some in zip(batch, marked, strict=True)]
        found_words = truecaser.words(seen, numbered.changed(seen, marked))
        for document, view, found in zip(batch, seen, found_words, strict=True):
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
        >>> crfpunct.load("pl").restore("minister zapowiedział że rząd przyjmie ustawę jeśli poprze ją sejm")
        'Minister zapowiedział, że rząd przyjmie ustawę, jeśli poprze ją Sejm.'
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

    def open_stream(
        self, lookahead: int = LOOKAHEAD, *, case: bool = True, keep_case: bool = False
    ) -> Stream | CasedStream:
        """For a program that would rather put words in than have them fetched; the rest is as for `stream`."""
        stream, truecaser = Stream(self._places(), lookahead), self.truecaser
        if not case or truecaser is None:
            return stream
        return CasedStream(stream, lambda document: next(self._cased([document], truecaser, keep_case)).words)

    def stream(
        self,
        words: Iterable[str | tuple[str, int, int]],
        lookahead: int = LOOKAHEAD,
        *,
        case: bool = True,
        keep_case: bool = False,
    ) -> Iterator[tuple[str, str]]:
        """Each word in its case with its mark, at most `lookahead` words later; for words that come one at a time.

        A word comes bare or as (word, start in ms, end in ms), -1 for a time that is unknown. case and keep_case are
        as for `tag`.
        """
        stream = self.open_stream(lookahead, case=case, keep_case=keep_case)
        for word in words:
            yield from stream.put(word) if isinstance(word, str) else stream.put(*word)
        yield from stream.end()

    def flow(
        self, pieces: Iterable[str], lookahead: int = LOOKAHEAD, *, case: bool = True, keep_case: bool = False
    ) -> Iterator[str]:
        r"""A text that comes in pieces, with marks and case, as one text: each word at most `lookahead` words later.

        A piece may end anywhere, also inside a word. White space comes back as it was. case and keep_case are as for
        `tag`.

        >>> import crfpunct
        >>> "".join(crfpunct.load("pl").flow(["minister zapow", "iedział że ustawę ", "poprze sejm\n"]))
        'Minister zapowiedział, że ustawę poprze Sejm.\n'
        """
        stream = self.open_stream(lookahead, case=case, keep_case=keep_case)
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
        batch.append(document.check())
        tokens += len(document.words)
        if tokens >= BATCH_TOKENS or (ready is not None and not ready()):
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch


def _labels(part: Mapping[str, Any]) -> list[str]:
    labels = part["labels"]
    if not isinstance(labels, list) or not all(isinstance(name, str) for name in labels):
        raise TypeError(f"labels {labels!r:.60}")
    return labels


def load(name: str | Path = "pl") -> Restorer:
    """Load a model: a folder, or the name of a shipped one. ModelError where there is none or it is not whole."""
    return _Stored(resources.find_model(name)).restorer()


class _Stored:
    """A model folder, whole, whose parts are made out of its bytes when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with self._blamed():
            self._content = model_folder.read(folder)
        self._manifest = self._content.manifest
        self._read: dict[str, FeatureSet] = {}

    @contextlib.contextmanager
    def _blamed(self) -> Iterator[None]:
        """Whatever fails is said of the folder."""
        try:
            yield
        except ModelError as error:
            message = str(error)
            where = "" if message.startswith(str(self._folder)) else f"{self._folder}: "
            raise ModelError(where + message) from error
        except (KeyError, TypeError, TemplateError) as error:
            # The checksums are right, so it was written like this: by another program, or by a defect of ours.
            raise ModelError(
                f"{self._folder}: its {model_folder.MANIFEST} does not describe its files ({error})."
            ) from error

    def restorer(self) -> Restorer:
        """The restorer; the parts that not every text needs are made later."""
        punctuator, typography = None, Typography()
        with self._blamed():
            punct, case = self._manifest.get("punct"), self._manifest.get("case")
            if punct is None and case is None:
                raise ModelError("has neither a punctuation nor a case part; train one with `crfpunct train`.")
            if punct is not None:
                timed = (
                    functools.partial(self._chain, "timed") if self._is_there(punct["chains"].get("timed")) else None
                )
                punctuator = Punctuator(self._chain("text"), timed)
                typography = Typography(frozenset(punct["joined_parts"]), self._features("punct").dash)
            truecaser = self._truecaser if self._is_there(case) else None
        return Restorer(punctuator, typography, self._manifest, truecaser)

    def _is_there(self, part: Mapping[str, Any] | None) -> bool:
        """Whether the manifest names a part; what it says of it is checked so far that it can be made later."""
        if part is not None:
            self._content.files[part["file"]], _labels(part)
        return part is not None

    def _features(self, task: str) -> FeatureSet:
        if task not in self._read:
            copies = {Path(n).name: raw for n, raw in self._content.files.items() if n.startswith("templates/")}
            self._read[task] = templates.load_copies(self._manifest[task]["features"], copies)
        return self._read[task]

    def _chain(self, name: str) -> LinearChain:
        """One of the CRFs that place marks."""
        with self._blamed():
            described, features = self._manifest["punct"]["chains"][name], self._features("punct")
            used = features.templates if name == "timed" else templates.without_pauses(features.templates)
            arrays = self._content.arrays(described["file"])
            return prior.read(arrays, _labels(described), used, features.lexicons).on_grid()

    def _truecaser(self) -> Truecaser:
        with self._blamed():
            described = self._manifest["case"]
            arrays = self._content.arrays(described["file"])
            stored = Truecaser.from_arrays(arrays, described["labels"], self._features("case"))
            return Truecaser(stored.chain.on_grid(), stored.spelling)
