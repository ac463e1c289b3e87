"""Everything that `evaluate` reports about one output: counts, scores, intervals and signatures, not yet as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crfpunct.casing import CLASSES
from crfpunct.scoring import casing, entities, poleval, significance, word_errors
from crfpunct.scoring import counts as table
from crfpunct.scoring.counts import LabelScore
from crfpunct.scoring.entities import Average, SeqevalScores
from crfpunct.scoring.notices import notices
from crfpunct.scoring.poleval import PolevalCounts, Rule
from crfpunct.scoring.signature import Signature
from crfpunct.scoring.texts import Pair, Text

Task = Literal["punct", "case", "wer", "all"]
Scheme = Literal["poleval", "iwslt"]
Interval = tuple[float, float]

UNDEFINED = (float("nan"), float("nan"))


@dataclass(frozen=True, slots=True)
class Sampling:
    """How intervals and tests are drawn: `trials` resamples or swaps, the `seed`, `confidence` in percent."""

    trials: int = 1_000
    seed: int = 0
    confidence: float = 95.0

    def options(self) -> tuple[tuple[str, str], ...]:
        """The part of a signature that says how an interval was drawn."""
        return (
            ("interval", f"bootstrap-{self.confidence:g}"),
            ("trials", str(self.trials)),
            ("seed", str(self.seed)),
        )


@dataclass(frozen=True, slots=True)
class Score:
    """A number in percent (`nan` for 0/0), its interval over resampled documents, and what it was computed with."""

    value: float
    interval: Interval
    signature: Signature


@dataclass(frozen=True, slots=True)
class Row:
    """One label's scores, and the intervals of precision, recall and F1."""

    score: LabelScore
    precision: Interval
    recall: Interval
    f1: Interval


@dataclass(frozen=True, slots=True)
class PolevalResult:
    """scores: by rule. rows: each label of the reference under `rule:all`; geval_rows: the same under `rule:geval`.

    unweighted: false positives of labels that the whole reference lacks. by_document: (D,) weighted F1 of each line
    under `rule:all`, `nan` where its reference has no mark.
    """

    counts: PolevalCounts
    scores: dict[Rule, Score]
    rows: list[Row]
    geval_rows: list[LabelScore]
    unweighted: dict[str, int]
    by_document: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MarksResult:
    """Marks over aligned words.

    labels: the axis of the confusion, "no mark" (`""`) first. rows: the labels that either side has.
    slots: label -> S, D, I and reference marks of that label alone; slot_total: of all labels.
    averages: our own scores. tags: both sides' labels by document, or None for the IWSLT scheme.
    """

    labels: tuple[str, ...]
    confusion: NDArray[np.int64]
    rows: list[Row]
    slots: dict[str, tuple[int, int, int, int]]
    slot_total: tuple[int, int, int, int]
    slot_error_rate: Score
    averages: dict[Average, Score]
    overall: LabelScore
    tags: tuple[list[list[str]], list[list[str]]] | None = None

    def seqeval(self, strict: bool) -> SeqevalScores | None:
        """The seqeval library's own scores of the tags, worked out now; None where there are no tags."""
        if self.tags is None:
            return None
        reference, hypothesis = map(entities.as_tags, self.tags)
        return entities.seqeval_scores(reference, hypothesis, strict)


@dataclass(frozen=True, slots=True)
class WordsResult:
    """rows: (4, 4) tokens, S, D, I of each row. rates: the WER of each row, of which `corrected` is less the first.

    marks, capitals: (reference, output) numbers, with (recall, precision) in percent.
    characters: (reference, distance). lines: (all, right).
    """

    rows: NDArray[np.int64]
    rates: list[Score]
    marks: tuple[int, int]
    marks_rates: tuple[float, float]
    capitals: tuple[int, int]
    capitals_rates: tuple[float, float]
    characters: tuple[int, int]
    character_error_rate: Score
    lines: tuple[int, int]
    line_accuracy: Score

    @property
    def corrected(self) -> list[float]:
        """WER of each row less that of the first."""
        return [rate.value - self.rates[0].value for rate in self.rates]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """accuracy, f1: over all aligned words. rows: "with a capital", then each class.

    parts: the same rows inside sentences, and for words that open one. words: (aligned, all of the reference).
    """

    accuracy: Score
    f1: Score
    rows: list[Row]
    parts: dict[str, list[LabelScore]]
    accuracies: dict[str, float]
    words: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One output scored against one reference; a part that the task did not ask for is None.

    words: (reference, output) words without marks. word_errors: S, D, I of the words, whatever their case.
    warnings: what a reader of the numbers must know, a line each.
    """

    reference: Text
    hypothesis: Text
    documents: int
    words: tuple[int, int]
    word_errors: tuple[int, int, int]
    sampling: Sampling
    poleval: PolevalResult | None = None
    marks: MarksResult | None = None
    iwslt: MarksResult | None = None
    case: CaseResult | None = None
    errors: WordsResult | None = None
    warnings: list[str] = field(default_factory=list)


def evaluate(
    pair: Pair, task: Task = "punct", scheme: Scheme = "poleval", sampling: Sampling | None = None
) -> Evaluation:
    """Score an output; nothing is raised for an output that differs from its reference, however much."""
    sampling = sampling or Sampling()
    documents = len(pair.lines[0])
    signed = _Signer(pair, documents, sampling)
    punctuation = task in ("punct", "all")
    poleval_result = _poleval(pair, signed) if punctuation and scheme == "poleval" else None
    aligned = pair.aligned
    substituted, deleted, inserted = np.array([each.columns.errors for each in aligned]).reshape(-1, 3).sum(axis=0)
    errors = int(substituted), int(deleted), int(inserted)
    words = tuple(
        sum(len(side.words) for side in sides)
        for sides in zip(*((document.reference, document.hypothesis) for document in aligned), strict=True)
    )
    marks_result = iwslt_result = None
    if punctuation:
        tags = entities.tag_sequences(aligned)
        if scheme == "poleval":
            marks_result = _marks(tags, signed)
        else:
            iwslt_result = _iwslt(tags, signed)
    return Evaluation(
        pair.reference,
        pair.hypothesis,
        documents,
        (words[0], words[1]),
        errors,
        sampling,
        poleval_result,
        marks_result,
        iwslt_result,
        _case(pair, signed) if task in ("case", "all") else None,
        _words(pair, signed) if task in ("wer", "all") else None,
        [*pair.notes, *notices(pair, poleval_result.counts if poleval_result else None, words[0], errors)],
    )


class _Signer:
    """Makes scores with intervals and signatures for one pair of texts."""

    def __init__(self, pair: Pair, documents: int, sampling: Sampling) -> None:
        self.documents = documents
        self.reference = pair.reference.fingerprint
        self.sampling = sampling

    def sums(self, counts: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Resampled sums (B, *shape), or None where there is nothing to resample."""
        if self.documents < 2:
            return None
        return significance.resampled(counts, self.sampling.trials, self.sampling.seed)

    def interval(self, scores: NDArray[np.float64] | None) -> Interval:
        """From resampled scores (B,)."""
        if scores is None:
            return UNDEFINED
        low, high = significance.percentile_interval(scores, self.sampling.confidence)
        return float(low), float(high)

    def score(
        self,
        metric: str,
        options: Sequence[tuple[str, str]],
        score: significance.Score,
        total: NDArray[np.int64],
        sums: NDArray[np.int64] | None,
    ) -> Score:
        drawn = self.sampling.options() if sums is not None else ()
        return Score(
            float(score(total)),
            self.interval(None if sums is None else score(sums)),
            Signature(metric, tuple(options), drawn, self.documents, self.reference),
        )

    def rows(self, labels: Sequence[str], total: NDArray[np.int64], sums: NDArray[np.int64] | None) -> list[Row]:
        """Rows of labels from totals (L, 3) and resampled sums (B, L, 3)."""

        def intervals(score: Callable[[NDArray[np.int64]], NDArray[np.float64]], place: int) -> Interval:
            return self.interval(None if sums is None else score(sums[:, place]))

        return [
            Row(
                LabelScore.of(label, total[place]),
                intervals(table.precision, place),
                intervals(table.recall, place),
                intervals(table.f1, place),
            )
            for place, label in enumerate(labels)
        ]


def _poleval(pair: Pair, signed: _Signer) -> PolevalResult:
    counted = poleval.counts(pair.reference.lines, pair.hypothesis.lines)
    scores: dict[Rule, Score] = {}
    for rule in poleval.RULES:
        counts = counted.under(rule)
        sums = signed.sums(counts)
        score = signed.score("poleval-weighted-f1", (("rule", rule),), table.weighted_f1, counts.sum(axis=0), sums)
        if rule == "geval" and counted.stops:
            score = Score(float("nan"), UNDEFINED, score.signature)
        scores[rule] = score
    # `sums` is now that of rule:all.
    order = [poleval.LABELS.index(score.label) for score in counted.per_label("all")]
    total = counted.values.sum(axis=0)
    return PolevalResult(
        counted,
        scores,
        signed.rows([poleval.LABELS[i] for i in order], total[order], None if sums is None else sums[:, order]),
        counted.per_label("geval"),
        counted.unweighted(),
        table.weighted_f1(counted.values),
    )


def _marks(tags: tuple[list[list[str]], list[list[str]]], signed: _Signer) -> MarksResult:
    return _confusion(entities.AXIS, entities.confusion(*tags), signed, "marks-f1", tags)


def _iwslt(tags: tuple[list[list[str]], list[list[str]]], signed: _Signer) -> MarksResult:
    confusion = entities.fold_to_iwslt(entities.confusion(*tags))
    return _confusion(("", *entities.IWSLT), confusion, signed, "iwslt-f1")


def _confusion(
    labels: tuple[str, ...],
    confusion: NDArray[np.int64],
    signed: _Signer,
    metric: str,
    tags: tuple[list[list[str]], list[list[str]]] | None = None,
) -> MarksResult:
    """A result from confusions (D, M + 1, M + 1)."""
    options = (("words", "aligned"),)
    total = confusion.sum(axis=0)
    sums = signed.sums(confusion)
    counts = entities.per_mark(total)
    resampled = None if sums is None else entities.per_mark(sums)
    order = [int(i) for i in np.argsort(-table.support(counts), kind="stable") if counts[i].any()]
    functions: dict[Average, significance.Score] = {
        "micro": table.micro_f1,
        "macro": entities.macro_f1,
        "weighted": table.weighted_f1,
    }
    slots = {}
    for i in order:
        supported = int(table.support(counts[i]))
        deleted = int(total[i + 1, 0])
        substituted = supported - deleted - int(total[i + 1, i + 1])
        slots[labels[i + 1]] = (substituted, deleted, int(total[0, i + 1]), supported)
    s, d, i, n = (int(count) for count in entities.slots(total))
    return MarksResult(
        labels,
        total,
        signed.rows([labels[i + 1] for i in order], counts[order], None if resampled is None else resampled[:, order]),
        slots,
        (s, d, i, n),
        signed.score(
            "slot-error-rate",
            options if metric == "marks-f1" else (*options, ("marks", "iwslt")),
            entities.slot_error_rate,
            entities.slots(total),
            None if sums is None else entities.slots(sums),
        ),
        {
            average: signed.score(metric, (*options, ("average", average)), function, counts, resampled)
            for average, function in functions.items()
        },
        LabelScore.of("overall", counts.sum(axis=0)),
        tags,
    )


def _case(pair: Pair, signed: _Signer) -> CaseResult:
    counts = casing.count_case(pair.aligned)
    both = counts.sum(axis=1)
    total = both.sum(axis=0)
    sums = signed.sums(both)
    options = (("words", "aligned"),)
    labels = ("with a capital", *CLASSES)

    def with_capitals(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([casing.capitalised(values)[..., None, :], values], axis=-2)

    parts = {name: counts[:, place].sum(axis=0) for place, name in enumerate(casing.POSITIONS)}
    return CaseResult(
        signed.score("case-accuracy", options, casing.accuracy, total, sums),
        signed.score("case-f1", options, lambda values: table.f1(casing.capitalised(values)), total, sums),
        signed.rows(labels, with_capitals(total), None if sums is None else with_capitals(sums)),
        {
            name: [LabelScore.of(label, row) for label, row in zip(labels, with_capitals(part), strict=True)]
            for name, part in parts.items()
        },
        {name: float(casing.accuracy(part)) for name, part in parts.items()},
        (
            int(total[:, table.TRUE_POSITIVE].sum() + total[:, table.FALSE_NEGATIVE].sum()),
            sum(len(document.reference.words) for document in pair.aligned),
        ),
    )


def _words(pair: Pair, signed: _Signer) -> WordsResult:
    counted = word_errors.count_words(pair.aligned, *pair.lines)
    rows, marks, capitals = (values.sum(axis=0) for values in (counted.rows, counted.marks, counted.capitals))
    sums = signed.sums(counted.rows)
    rates = [
        signed.score(
            "wer",
            (("case", "yes" if cased else "no"), ("marks", "yes" if punctuated else "no")),
            word_errors.word_error_rate,
            rows[place],
            None if sums is None else sums[:, place],
        )
        for place, (cased, punctuated) in enumerate(word_errors.ROWS)
    ]

    def share(metric: str, counts: NDArray[np.int64]) -> Score:
        return signed.score(
            metric,
            (),
            lambda values: table.percentage(values[..., 1], values[..., 0]),
            counts.sum(axis=0),
            signed.sums(counts),
        )

    def ints(values: NDArray[np.int64]) -> tuple[int, int]:
        return int(values[0]), int(values[1])

    marks_rates = word_errors.marks_rates(rows, marks)
    capitals_rates = word_errors.capitals_rates(rows, capitals)
    return WordsResult(
        rows,
        rates,
        ints(marks),
        (float(marks_rates[0]), float(marks_rates[1])),
        ints(capitals),
        (float(capitals_rates[0]), float(capitals_rates[1])),
        ints(counted.characters.sum(axis=0)),
        share("cer", counted.characters),
        ints(counted.lines.sum(axis=0)),
        share("line-accuracy", counted.lines),
    )
