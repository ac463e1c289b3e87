"""The scores that systems are compared by: each a way to count documents and a way to score summed counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crfpunct.scoring import casing, entities, poleval, word_errors
from crfpunct.scoring import counts as table
from crfpunct.scoring.significance import Score
from crfpunct.scoring.texts import Pair

MetricName = Literal[
    "poleval",
    "poleval-geval",
    "marks-micro",
    "marks-macro",
    "marks-weighted",
    "ser",
    "iwslt",
    "case-f1",
    "case-accuracy",
    "wer",
    "wer-marks",
    "wer-case",
    "wer-both",
    "cer",
    "lines",
]


@dataclass(frozen=True, slots=True)
class Metric:
    """A score of a pair of texts.

    title: as tables print it. count: a pair -> (D, *shape) int64. score: (..., *shape) -> (...), in percent.
    higher_is_better: False for error rates. metric, options: what its signature says.
    """

    name: MetricName
    title: str
    count: Callable[[Pair], NDArray[np.int64]]
    score: Score
    higher_is_better: bool
    metric: str
    options: tuple[tuple[str, str], ...] = ()


def _poleval(pair: Pair) -> poleval.PolevalCounts:
    return poleval.counts(pair.reference.lines, pair.hypothesis.lines)


def _confusion(pair: Pair) -> NDArray[np.int64]:
    return entities.confusion(*entities.tag_sequences(pair.aligned))


def _marks(pair: Pair) -> NDArray[np.int64]:
    return entities.per_mark(_confusion(pair))


def _iwslt(pair: Pair) -> NDArray[np.int64]:
    return entities.per_mark(entities.fold_to_iwslt(_confusion(pair)))


def _case(pair: Pair) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = casing.count_case(pair.aligned).sum(axis=1)
    return counts


def _row(place: int) -> Callable[[Pair], NDArray[np.int64]]:
    def count(pair: Pair) -> NDArray[np.int64]:
        return word_errors.count_rows(pair.aligned)[:, place]

    return count


def _word_error_rate(name: MetricName, place: int) -> Metric:
    cased, punctuated = word_errors.ROWS[place]
    options = (("case", "yes" if cased else "no"), ("marks", "yes" if punctuated else "no"))
    title = "WER" + ", case" * cased + ", marks" * punctuated
    return Metric(name, title, _row(place), word_errors.word_error_rate, False, "wer", options)


def _lines(pair: Pair) -> NDArray[np.int64]:
    characters = word_errors.count_characters(*pair.lines)
    return np.stack([np.ones(len(characters), np.int64), (characters[:, 1] == 0).astype(np.int64)], axis=-1)


_ALIGNED = ("words", "aligned")

METRICS: dict[MetricName, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "poleval",
            "PolEval weighted F1 (rule:all)",
            lambda pair: _poleval(pair).under("all"),
            table.weighted_f1,
            True,
            "poleval-weighted-f1",
            (("rule", "all"),),
        ),
        Metric(
            "poleval-geval",
            "PolEval weighted F1 (rule:geval)",
            lambda pair: _poleval(pair).under("geval"),
            table.weighted_f1,
            True,
            "poleval-weighted-f1",
            (("rule", "geval"),),
        ),
        Metric(
            "marks-micro",
            "Micro F1 of marks",
            _marks,
            table.micro_f1,
            True,
            "marks-f1",
            (_ALIGNED, ("average", "micro")),
        ),
        Metric(
            "marks-macro",
            "Macro F1 of marks",
            _marks,
            entities.macro_f1,
            True,
            "marks-f1",
            (_ALIGNED, ("average", "macro")),
        ),
        Metric(
            "marks-weighted",
            "Weighted F1 of marks",
            _marks,
            table.weighted_f1,
            True,
            "marks-f1",
            (_ALIGNED, ("average", "weighted")),
        ),
        Metric(
            "ser",
            "Slot error rate",
            lambda pair: entities.slots(_confusion(pair)),
            entities.slot_error_rate,
            False,
            "slot-error-rate",
            (_ALIGNED,),
        ),
        Metric("iwslt", "IWSLT overall F1", _iwslt, table.micro_f1, True, "iwslt-f1", (_ALIGNED, ("average", "micro"))),
        Metric(
            "case-f1",
            "F1 of words with a capital",
            lambda pair: casing.capitalised(_case(pair)),
            table.f1,
            True,
            "case-f1",
            (_ALIGNED,),
        ),
        Metric("case-accuracy", "Case accuracy", _case, casing.accuracy, True, "case-accuracy", (_ALIGNED,)),
        _word_error_rate("wer", 0),
        _word_error_rate("wer-marks", 1),
        _word_error_rate("wer-case", 2),
        _word_error_rate("wer-both", 3),
        Metric(
            "cer",
            "Character error rate",
            lambda pair: word_errors.count_characters(*pair.lines),
            lambda counts: table.percentage(counts[..., 1], counts[..., 0]),
            False,
            "cer",
        ),
        Metric(
            "lines",
            "Lines wholly right",
            _lines,
            lambda counts: table.percentage(counts[..., 1], counts[..., 0]),
            True,
            "line-accuracy",
        ),
    )
}
