"""From a training set to a model folder: fit, cross-validate, describe."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import crfpunct
from crfpunct import formats, marks, model_folder, resources, templates
from crfpunct.cards import TASKS, Task, card
from crfpunct.casing import begins_in_lower_case
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import CorpusError, ModelError, TemplateError
from crfpunct.estimators import Progress, PunctuationCRF, TruecasingCRF, joined_parts
from crfpunct.model_folder import ModelFolder, pack
from crfpunct.prior import Adapted, check_prior, log_odds, with_pauses
from crfpunct.prior import read as read_chain
from crfpunct.scoring import calibration, poleval
from crfpunct.scoring import counts as table
from crfpunct.scoring.casing import accuracy, capitalised, count_same_words
from crfpunct.templates import FeatureSet


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose for training; None leaves the choice to the feature file."""

    features: str | Path | FeatureSet = "punct"
    c1: float | None = None
    c2: float | None = None
    max_iterations: int | None = None
    bias: float | None = None
    most_attributes: int | None = None
    device: str = "cpu"  # where chi-squared is computed, if attributes are chosen by it
    prior: LinearChain | None = None  # for marks: what was learned from other text


@dataclass(frozen=True, slots=True)
class About:
    """What a model says of its training texts; `non_commercial` where their licence forbids other use."""

    data: str | None = None
    licence: str | None = None
    non_commercial: bool = False


@dataclass(frozen=True, slots=True)
class FoldScore:
    """One held-out fold: its number, documents trained on and scored, PolEval counts, seconds of training.

    found: the marks decided for each held-out document. likelihoods: how well each of `calibration.TEMPERATURES` suits
    the held-out documents.
    """

    fold: int
    trained: int
    scored: int
    counts: poleval.PolevalCounts
    seconds: float
    found: list[list[str]]
    likelihoods: NDArray[np.float64]


def fold_of(document: Document, folds: int) -> int:
    """The fold of a document, by a hash of its words: texts that repeat under other ids stay together."""
    digest = hashlib.sha256(" ".join(document.words).lower().encode()).digest()
    return int.from_bytes(digest[:8], "big") % folds


def without_times(documents: Sequence[Document]) -> list[Document]:
    """The same texts as if no word times were known."""
    return [replace(document, times_ms=None) for document in documents]


def estimator(options: Options, timed: bool, progress: Callable[[Progress], None] | None = None) -> PunctuationCRF:
    """The estimator for texts with word times, or for texts without."""
    return PunctuationCRF(
        features=options.features,
        use_times=timed,
        c1=options.c1,
        c2=options.c2,
        max_iterations=options.max_iterations,
        bias=options.bias,
        most_attributes=options.most_attributes,
        device=options.device,
        prior=options.prior,
        progress=progress,
    )


def score_fold(documents: Sequence[Document], fold: int, folds: int, timed: bool, options: Options) -> FoldScore:
    """Train on all folds but one and score that one, as the PolEval task does."""
    train = [document for document in documents if fold_of(document, folds) != fold]
    held_out = [document for document in documents if fold_of(document, folds) == fold]
    if not held_out:
        raise CorpusError(f"fold {fold} of {folds} has no documents; use fewer folds.")
    return score_held_out(train, held_out, fold, timed, options)


def score_held_out(
    train: Sequence[Document], held_out: Sequence[Document], fold: int, timed: bool, options: Options
) -> FoldScore:
    """Train on some documents and score others, which are called a fold."""
    if not timed:
        train, held_out = without_times(train), without_times(held_out)
    start = time.perf_counter()
    fitted = estimator(options, timed).fit(train)
    seconds = time.perf_counter() - start
    found = fitted.predict(held_out)
    counts = poleval_counts(held_out, found)
    return FoldScore(fold, len(train), len(held_out), counts, seconds, found, _likelihoods(fitted.chain_, held_out))


def _likelihoods(chain: LinearChain, documents: Sequence[Document]) -> NDArray[np.float64]:
    """How well each of the temperatures suits documents that the chain was not trained on."""
    number_of = {label: number for number, label in enumerate(chain.distinct)}
    reference = [number_of.get(mark, -1) for document in documents for mark in document.marks or ()]
    return calibration.log_likelihoods(
        chain.emissions(documents),
        chain.transition,
        np.array([len(document.words) for document in documents], dtype=np.int64),
        np.array(reference, dtype=np.int64),
        by_label=chain.by_label,
    )


def temperature(found: Sequence[FoldScore]) -> float:
    """The temperature that suits all held-out folds best; 1 where there are none."""
    if not found:
        return 1.0
    likelihoods = np.sum([fold.likelihoods for fold in found], axis=0)
    return calibration.TEMPERATURES[int(np.argmax(likelihoods))]


def learning_curve(
    documents: Sequence[Document],
    timed: bool,
    options: Options,
    folds: int,
    last: FoldScore,
    progress: Callable[[Progress], None] | None = None,
) -> list[tuple[int, float]]:
    """(words trained on, weighted F1 of one fold) for a part of the other folds' documents, doubled again and again.

    last: the score of that fold by all of them, which ends the curve. Parts in which nothing can be learned, as those
    without any mark, are left out.
    """
    documents = documents if timed else without_times(documents)
    held_out = [document for document in documents if fold_of(document, folds) == last.fold]
    # In the order of another hash, so that each part is a sample of all.
    train = sorted(
        (document for document in documents if fold_of(document, folds) != last.fold),
        key=lambda document: hashlib.sha256(" ".join([*document.words, "sample"]).encode()).digest(),
    )
    points = []
    for step, share in enumerate(_CURVE_SHARES, 1):
        part = train[: len(train) // share]
        try:
            fitted = estimator(options, timed).fit(part)
        except CorpusError:
            continue
        finally:
            if progress is not None:
                progress(Progress(step, len(_CURVE_SHARES)))
        score = poleval_counts(held_out, fitted.predict(held_out)).weighted_f1("all")
        points.append((sum(len(document.words) for document in part), score))
    return [*points, (sum(len(document.words) for document in train), last.counts.weighted_f1("all"))]


_CURVE_SHARES = (16, 8, 4, 2)  # the parts of a learning curve: a sixteenth, an eighth, …


def poleval_counts(documents: Sequence[Document], found: Sequence[Sequence[str]]) -> poleval.PolevalCounts:
    """The counts of the marks found behind the words of documents, whose own marks are the reference."""
    reference = [" ".join(marks.attach(document.words, document.marks or [])) for document in documents]
    hypothesis = [" ".join(marks.attach(d.words, m)) for d, m in zip(documents, found, strict=True)]
    return poleval.counts(reference, hypothesis)


def cross_validate(
    documents: Sequence[Document],
    timed: bool,
    options: Options,
    folds: int = 5,
    jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> list[FoldScore]:
    """The score of each fold; `jobs` folds are trained side by side, each in a process of its own."""
    return list(_by_fold(lambda fold: (score_fold, documents, fold, folds, timed, options), folds, jobs, progress))


def _by_fold(
    call: Callable[[int], tuple[Any, ...]], folds: int, jobs: int, progress: Callable[[Progress], None] | None
) -> Iterator[Any]:
    """The results of a function, which `call` names together with its arguments, for each fold in order."""
    from joblib import Parallel, delayed

    calls = ((function, arguments) for function, *arguments in map(call, range(folds)))
    results = Parallel(n_jobs=jobs, return_as="generator")(delayed(function)(*given) for function, given in calls)
    for done, result in enumerate(results, 1):
        if progress is not None:
            progress(Progress(done, folds))
        yield result


@dataclass(frozen=True, slots=True)
class Summary:
    """What a training did, for the user."""

    documents: int
    words: int
    timed_documents: int
    attributes: dict[str, tuple[int, int]]  # by chain: kept, candidates
    iterations: dict[str, int]
    seconds: float


@dataclass(frozen=True, slots=True)
class Part:
    """A trained task: its entry in the manifest, its files, a summary for the user; the folds and curves, by chain."""

    task: Task
    entry: dict[str, Any]
    files: dict[str, bytes]
    summary: Summary
    held_out: dict[str, list[FoldScore]] = field(default_factory=dict)
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=dict)


def train_punctuation(
    documents: Sequence[Document],
    about: About,
    options: Options,
    folds: int = 0,
    jobs: int = 1,
    progress: Callable[[str, Progress], None] | None = None,
    text: Sequence[Document] = (),
    curves: bool = False,
    speech: Sequence[Document] = (),
) -> Part:
    """Train the punctuation part of a model: a CRF for texts without word times and, if there are any, one with.

    folds: cross-validate as well, with that many folds, and let the model carry the scores, and the temperature that
    makes its probabilities honest (0: do not).
    progress: called with the chain's name at every iteration. text: other documents without word times, of which a
    CRF learns first that both build on (`crfpunct.prior`); see `like_speech`. curves: with folds, learning curves.
    speech: where the documents have no word times, others that have, in whatever language, of whose pauses is learned
    (`prior.with_pauses`).
    """
    start = time.perf_counter()
    if speech:
        _check_pauses(speech, documents, options)
    fitted: dict[str, PunctuationCRF] = {}
    if text:
        fitted["prior"] = prior_estimator(options, _named(progress, "prior")).fit(without_times(text))
        # As the model keeps it, so that the others build on what they will be put together with.
        options = replace(options, prior=fitted["prior"].chain_.rounded())
    texts = {"text": without_times(documents)}
    if any(document.times_ms is not None for document in documents):
        texts["timed"] = list(documents)
    for name, chosen in texts.items():
        fitted[name] = estimator(options, name == "timed", _named(progress, name)).fit(chosen)
    if speech:
        fitted["timed"] = _fit_pauses(speech, fitted["text"], options, _named(progress, "timed"))
    held_out: dict[str, list[FoldScore]] = {}
    for name in texts if folds else ():
        show = _named(progress, f"{name}, folds")
        held_out[name] = cross_validate(documents, name == "timed", options, folds, jobs, show)
    drawn = {
        name: learning_curve(
            documents, name == "timed", options, folds, found[0], _named(progress, f"{name}, learning curve")
        )
        for name, found in held_out.items()
        if curves
    }
    features = fitted["text"].features_
    files = {
        f"punct-{name}.npz": pack(_kept(chain, temperature(held_out.get(name, []))).to_arrays())
        for name, chain in fitted.items()
    }
    files |= {f"templates/{name}": raw for name, raw in features.files.items()}
    entry: dict[str, Any] = {
        "features": features.name,
        "chains": {name: {"file": f"punct-{name}.npz", **_described(chain)} for name, chain in fitted.items()},
        "joined_parts": sorted(joined_parts(documents)),
        "training": _counted(documents),
        **({"text": _counted(text)} if text else {}),
        **({"speech": _counted(speech)} if speech else {}),
        **asdict(about),
        "scores": {name: _scores(found) for name, found in held_out.items()},
    }
    return Part("punct", entry, files, _summary(documents, fitted, start), held_out, drawn)


@dataclass(frozen=True, slots=True)
class Base:
    """A model to build on: its CRF for texts without word times, its features, what it says of itself."""

    name: str
    chain: LinearChain
    features: FeatureSet
    about: About

    @staticmethod
    def load(name: str | Path) -> Base:
        """A model's punctuation part, by the model's folder or name; ModelError where it has none."""
        folder = resources.find_model(name)
        stored = model_folder.read(folder)
        punct = stored.manifest.get("punct")
        if punct is None:
            raise ModelError(f"{folder}: has no punctuation part to build on; name another model.")
        features = templates.load_copies(punct["features"], copies_of_templates(stored.files))
        described = punct["chains"]["text"]
        used = templates.without_pauses(features.templates)
        chain = read_chain(stored.arrays(described["file"]), described["labels"], used, features.lexicons)
        about = About(punct["data"], punct["licence"], punct["non_commercial"])
        return Base(str(name), chain, features, about)

    def joined(self, about: About) -> About:
        """What a model says of its data if it builds on this one: the licences of both bind it."""
        licences = [licence for licence in (about.licence, self.about.licence) if licence]
        return About(
            f"{about.data or 'not stated'}; built on the model {self.name}: {self.about.data or 'not stated'}",
            "; ".join(dict.fromkeys(licences)) or None,
            about.non_commercial or self.about.non_commercial,
        )


def copies_of_templates(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The feature files in a model folder, by their names."""
    return {Path(name).name: raw for name, raw in files.items() if name.startswith("templates/")}


def prior_estimator(options: Options, progress: Callable[[Progress], None] | None = None) -> PunctuationCRF:
    """The estimator for other text. Its penalties are the feature file's [prior], since there is more of it."""
    features = templates.load(options.features)
    features = replace(features, options=features.prior_options)
    return PunctuationCRF(features=features, use_times=False, device=options.device, progress=progress)


def _check_pauses(speech: Sequence[Document], documents: Sequence[Document], options: Options) -> None:
    """CorpusError or TemplateError where pauses cannot be learned, before anything is."""
    if any(document.times_ms is not None for document in documents):
        raise CorpusError("the texts have word times of their own; leave out --pauses.")
    features = templates.load(options.features)
    if not templates.pauses_alone(features.templates):
        raise TemplateError(f"{features.name}: no template looks at pauses alone, as --pauses needs; add one.")
    check_prior(templates.without_pauses(features.templates), f"{features.name}: --pauses")
    known, given = ({mark for d in of for mark in d.marks or ()} - {""} for of in (speech, documents))
    if not known & given:
        raise CorpusError(
            f"the speech of --pauses has none of the marks of the texts: {' '.join(sorted(known))} there, "
            f"{' '.join(sorted(given)) or 'none'} here; name speech with the same marks."
        )


def learn_pauses(
    speech: Sequence[Document], options: Options, progress: Callable[[Progress], None] | None = None
) -> tuple[PunctuationCRF, NDArray[np.float64]]:
    """A CRF that looks at nothing but the pauses of speech, and its `prior.log_odds`."""
    features = templates.load(options.features)
    alone = replace(features, templates=templates.pauses_alone(features.templates))
    chosen = replace(options, features=alone, prior=None, most_attributes=None)
    fitted = estimator(chosen, True, progress).fit(speech)
    fitted.chain_ = fitted.chain_.rounded()
    number_of = {label: number for number, label in enumerate(fitted.chain_.labels)}
    labels = np.array([number_of[mark] for document in speech for mark in document.marks or ()], dtype=np.int64)
    return fitted, log_odds(fitted.chain_.emissions(speech), labels)


def _fit_pauses(
    speech: Sequence[Document],
    text: PunctuationCRF,
    options: Options,
    progress: Callable[[Progress], None] | None,
) -> PunctuationCRF:
    """A CRF for texts with word times, from what another learned of text and what speech elsewhere tells of pauses."""
    fitted, odds = learn_pauses(speech, options, progress)
    fitted.prior = text.chain_
    fitted.adapted_ = with_pauses(text.chain_.rounded(), fitted.chain_, text.features_.templates, odds)
    fitted.chain_ = fitted.adapted_.folded()
    return fitted


def _kept(fitted: PunctuationCRF, temperature: float) -> LinearChain | Adapted:
    if fitted.prior is None:
        return replace(fitted.chain_, temperature=temperature)
    adapted = fitted.adapted_
    return replace(adapted, own=replace(adapted.own, temperature=temperature))


def like_speech(text: Iterable[Document], documents: Sequence[Document]) -> list[Document]:
    """Other text, cut and joined so that a CRF for `documents` can learn from it.

    Lines are joined until they have as many words as half of the documents have, since speech does not end at every
    mark. Where the documents write no word with a hyphen inside but have the mark `-`, hyphens are such marks.
    """
    least = int(np.median([len(document.words) for document in documents])) if documents else 0
    hyphens_are_marks = any("-" in (d.marks or ()) for d in documents) and not any(
        _HYPHEN in word.strip(_HYPHEN) for document in documents for word in document.words
    )
    found: list[Document] = []
    for document in text:
        spoken = bare(document)
        words, labels = spoken.words, list(spoken.marks or ())
        if hyphens_are_marks:
            words, labels = _hyphens_as_marks(words, labels)
        file = document.source.rpartition(":")[0]
        if found and found[-1].source == file and len(found[-1].words) < least:
            last = found.pop()
            words, labels = [*last.words, *words], [*(last.marks or ()), *labels]
        if words:
            found.append(Document(document.id, words, marks=labels, source=file))
    return found


_HYPHEN = "-"


def _hyphens_as_marks(words: Sequence[str], labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """
    >>> _hyphens_as_marks(["biało-czerwony", "dom"], ["", "."])
    (['biało', 'czerwony', 'dom'], ['-', '', '.'])
    """
    parts: list[str] = []
    marked: list[str] = []
    for word, mark in zip(words, labels, strict=True):
        split = [part for part in word.split(_HYPHEN) if part] or [word]
        parts += split
        marked += [*[_HYPHEN] * (len(split) - 1), mark]
    return parts, marked


def train_case(
    documents: Sequence[Document],
    about: About,
    options: Options,
    folds: int = 0,
    jobs: int = 1,
    progress: Callable[[str, Progress], None] | None = None,
) -> Part:
    """Train the truecasing part of a model on cased and punctuated documents; arguments as `train_punctuation`."""
    documents = [d for d in documents if not begins_in_lower_case(d.words)] or documents
    start = time.perf_counter()
    fitted = truecasing_estimator(options, _named(progress, "case")).fit(documents)
    files = {"case.npz": pack(fitted.truecaser_.to_arrays())}
    files |= {f"templates/{name}": raw for name, raw in fitted.features_.files.items()}
    entry: dict[str, Any] = {
        "features": fitted.features_.name,
        "file": "case.npz",
        **_described(fitted),
        "surface_forms": len(fitted.truecaser_.spelling.surface),
        "training": _counted(documents),
        **asdict(about),
        "scores": {},
    }
    if folds:
        entry["scores"] = cross_validate_case(documents, options, folds, jobs, _named(progress, "case, folds"))
    return Part("case", entry, files, _summary(documents, {"case": fitted}, start))


def truecasing_estimator(options: Options, progress: Callable[[Progress], None] | None = None) -> TruecasingCRF:
    """The estimator of the truecasing part."""
    return TruecasingCRF(
        features=options.features,
        c1=options.c1,
        c2=options.c2,
        max_iterations=options.max_iterations,
        bias=options.bias,
        most_attributes=options.most_attributes,
        device=options.device,
        progress=progress,
    )


def case_fold(documents: Sequence[Document], fold: int, folds: int, options: Options) -> NDArray[np.int64]:
    """Train on all folds but one; counts (2, 4, 3) of `scoring.casing` on that one, with its own marks given."""
    train = [document for document in documents if fold_of(document, folds) != fold]
    held_out = [document for document in documents if fold_of(document, folds) == fold]
    if not held_out:
        raise CorpusError(f"fold {fold} of {folds} has no documents; use fewer folds.")
    found = truecasing_estimator(options).fit(train).truecaser_.words(lowered(held_out))
    return count_same_words(
        [(document.words, words, document.marks or []) for document, words in zip(held_out, found, strict=True)]
    )


def lowered(documents: Sequence[Document]) -> list[Document]:
    """The same documents as a recogniser would write them: no capitals."""
    return [replace(document, words=[word.lower() for word in document.words]) for document in documents]


def cross_validate_case(
    documents: Sequence[Document],
    options: Options,
    folds: int = 5,
    jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """F1 of words with a capital and accuracy over all words: mean, standard deviation and folds."""
    counts = list(_by_fold(lambda fold: (case_fold, documents, fold, folds, options), folds, jobs, progress))
    scores: dict[str, Any] = {"metric": "F1 of words with a capital, %", "folds": folds}
    scores["f1"] = _spread([float(table.f1(capitalised(fold).sum(axis=0))) for fold in counts])
    scores["accuracy"] = _spread([float(accuracy(fold.sum(axis=0))) for fold in counts])
    return scores


def assemble(language: str | None, parts: Sequence[Part], into: ModelFolder | None = None) -> ModelFolder:
    """A model folder of trained parts; `into` keeps the other tasks of a model that is there already."""
    manifest: dict[str, Any] = {key: value for key, value in (into.manifest if into else {}).items() if key in TASKS}
    files = {name: raw for name, raw in (into.files if into else {}).items() if name != "card.md"}
    for part in parts:
        for name in _files_of(manifest.pop(part.task, None), files, manifest):
            del files[name]
        for name, raw in part.files.items():
            if files.get(name, raw) != raw:
                raise ModelError(
                    f"the model has another file {name}; give the feature file another name, or train anew with --out."
                )
            files[name] = raw
        manifest[part.task] = part.entry
    content: dict[str, Any] = {
        "crfpunct": crfpunct.__version__,
        "created": datetime.now(UTC).strftime("%Y-%m-%d"),
        "language": language or (into.manifest.get("language") if into else None),
        "non_commercial": any(manifest[task]["non_commercial"] for task in manifest),
        "licence": "; ".join(dict.fromkeys(entry["licence"] for entry in manifest.values() if entry["licence"])),
    }
    content |= {task: manifest[task] for task in TASKS if task in manifest}
    files["card.md"] = card(content).encode()
    return ModelFolder(content, files)


def _files_of(entry: dict[str, Any] | None, files: dict[str, bytes], others: Mapping[Any, Any]) -> list[str]:
    """The files that only this task of a model uses."""
    if entry is None:
        return []
    own = {chain["file"] for chain in entry.get("chains", {}).values()} | {entry.get("file")}
    shared = {name for other in others.values() for name in _templates_of(other, files)}
    return [name for name in files if name in own or name in set(_templates_of(entry, files)) - shared]


def _templates_of(entry: dict[str, Any], files: dict[str, bytes]) -> list[str]:
    copies = copies_of_templates(files)
    return [f"templates/{name}" for name in templates.load_copies(entry["features"], copies).files]


def heard(path: str | Path, format: str | None = None) -> Iterator[Document]:
    """Punctuated documents of a file or folder as if they had been spoken: written ones are made `bare`.

    Formats that give words and labels apart have words as a recogniser or a tokeniser wrote them (``'s``, ``"``), and
    as they will come when marks are to be restored; they are taken as they are.
    """
    transcript = (format or formats.identify(path)).partition(":")[0] in _WORDS_APART
    for document in formats.read_punctuated(path, format):
        yield document if transcript else bare(document)


_WORDS_APART = ("wikipunct", "poleval2022", "conll", "tags")


def bare(document: Document) -> Document:
    """A written text as if it had been spoken: quotation signs and brackets are gone, marks behind them are kept.

    >>> bare(Document("", ['"Tak"', "(rzekł)"], marks=[",", "."])).words
    ['Tak', 'rzekł']
    """
    words: list[str] = []
    labels: list[str] = []
    kept: list[int] = []
    for place, (word, mark) in enumerate(zip(document.words, document.marks or (), strict=True)):
        inner, run = marks.split_mark(word.strip(_WRITTEN_SIGNS))
        inner = inner.strip(_WRITTEN_SIGNS)
        label = marks.label(mark or run)
        if inner:
            words.append(inner)
            labels.append(label)
            kept.append(place)
        elif label and labels:
            labels[-1] = labels[-1] or label
    times = None if document.times_ms is None else document.times_ms[kept]
    return replace(document, words=words, marks=labels, times_ms=times, layout=None)


_WRITTEN_SIGNS = "\"„”“«»‹›‘’‚'`()[]{}<>*_|"


def _described(fitted: PunctuationCRF | TruecasingCRF) -> dict[str, Any]:
    return {
        "labels": list(fitted.chain_.states),
        "options": asdict(fitted.options_),
        "attributes": fitted.chain_.rounded().index.count,
    }


def _counted(documents: Sequence[Document]) -> dict[str, Any]:
    return {
        "documents": len(documents),
        "timed_documents": sum(document.times_ms is not None for document in documents),
        "words": sum(len(document.words) for document in documents),
        "fingerprint": _fingerprint(documents),
    }


def _summary(documents: Sequence[Document], fitted: Mapping[str, Any], start: float) -> Summary:
    counted = _counted(documents)
    return Summary(
        counted["documents"],
        counted["words"],
        counted["timed_documents"],
        {name: (_kept_attributes(chain), chain.candidates_) for name, chain in fitted.items()},
        {name: len(chain.training_log_) for name, chain in fitted.items()},
        time.perf_counter() - start,
    )


def _kept_attributes(fitted: PunctuationCRF | TruecasingCRF) -> int:
    """How many attributes have a weight that was learned by the CRF itself, not by one that it builds on."""
    if isinstance(fitted, PunctuationCRF) and fitted.prior is not None:
        return int(np.count_nonzero(fitted.adapted_.own.weights.any(axis=1)))
    return fitted.chain_.rounded().index.count


def _named(progress: Callable[[str, Progress], None] | None, name: str) -> Callable[[Progress], None] | None:
    return None if progress is None else lambda step: progress(name, step)


def _fingerprint(documents: Sequence[Document]) -> str:
    """A hash of words, marks and times, which tells whether two models learned from the same data."""
    digest = hashlib.sha256()
    for document in documents:
        digest.update("\n".join(marks.attach(document.words, document.marks or [])).encode() + b"\0")
        if document.times_ms is not None:
            digest.update(document.times_ms.astype("<i8").tobytes())
    return digest.hexdigest()[:16]


def _scores(found: Sequence[FoldScore]) -> dict[str, Any]:
    """The PolEval weighted F1 by both rules over the folds, and each mark's scores with all folds taken together."""
    scores: dict[str, Any] = {"metric": "PolEval weighted F1, %", "folds": len(found)}
    for rule in poleval.RULES:
        scores[rule] = _spread([fold.counts.weighted_f1(rule) for fold in found])
    scores["marks"] = {
        poleval.MARK_OF_LABEL[score.label]: {
            "precision": _percent(score.precision),
            "recall": _percent(score.recall),
            "f1": _percent(score.f1),
            "reference": score.support,
        }
        for score in together(found).per_label("all")
        if score.label in poleval.MARK_OF_LABEL  # the task has labels of marks inside words as well
    }
    return scores


def _percent(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 1)


def together(found: Sequence[FoldScore]) -> poleval.PolevalCounts:
    """The counts of all folds as of one test set."""
    counts = [fold.counts for fold in found]
    return poleval.PolevalCounts(np.concatenate([c.values for c in counts]), np.concatenate([c.tokens for c in counts]))


def _spread(values: Sequence[float]) -> dict[str, Any]:
    if np.isnan(values).any():  # rule:geval has no score where GEval stops (`poleval.Stop`)
        return {"mean": None, "sd": None, "by_fold": [None if np.isnan(v) else round(v, 2) for v in values]}
    return {
        "mean": round(float(np.mean(values)), 2),
        "sd": round(float(np.std(values, ddof=1)), 2) if len(values) > 1 else None,
        "by_fold": [round(value, 2) for value in values],
    }
