"""Several systems on one test set: scores with intervals, differences, and whether they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from crfpunct.errors import CorpusError
from crfpunct.scoring import significance
from crfpunct.scoring.evaluation import Sampling
from crfpunct.scoring.metrics import METRICS, Metric, MetricName
from crfpunct.scoring.notices import plural
from crfpunct.scoring.signature import Signature
from crfpunct.scoring.texts import Pair, Text, pair

#: Differences with a p-value below it (after Holm's correction) are said to hold.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """S systems by one metric, the baseline first.

    scores: (S,). intervals: of the scores (S, 2) and of all differences (S, S, 2). p, p_holm: (S, S); `nan` where
    there is no test (one document, or an undefined score). by_document: (S, D) scores of single documents.
    """

    metric: Metric
    scores: NDArray[np.float64]
    intervals: significance.Intervals
    p: NDArray[np.float64]
    p_holm: NDArray[np.float64]
    by_document: NDArray[np.float64]
    signature: Signature

    def holds(self, a: int, b: int) -> bool:
        """Whether two systems differ at `ALPHA` after correction."""
        return bool(self.p_holm[a, b] < ALPHA)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Systems (the baseline first) on the documents of one reference."""

    reference: Text
    systems: list[Text]
    names: list[str]
    documents: int
    sampling: Sampling
    metrics: list[MetricComparison]
    warnings: list[str] = field(default_factory=list)


def compare(
    reference: Text,
    systems: Sequence[Text],
    metrics: Sequence[MetricName] = ("poleval",),
    sampling: Sampling | None = None,
    as_one: bool = False,
    names: Sequence[str] | None = None,
) -> Comparison:
    """Score each system by each metric and test every pair of systems.

    The first system is the baseline. `names` are what tables print, else the files' names are shortened.

    Raises CorpusError where a system has another number of documents than the reference: then its documents cannot be
    swapped with another system's.
    """
    sampling = sampling or Sampling(trials=10_000)
    pairs = []
    for system in systems:
        matched = pair(reference, system, as_one)
        if matched.missing:
            size = plural(len(system.lines), "document")
            raise CorpusError(
                f"{system.name}: {size}, but {reference.name} has {len(reference.lines):,}; a test swaps documents "
                "between systems, so each needs one document of output for each of the reference."
            )
        pairs.append(matched)
    documents = {len(matched.lines[0]) for matched in pairs}
    if len(documents) > 1:
        pairs = [pair(reference, system, as_one=True) for system in systems]
    count = len(pairs[0].lines[0])
    warnings = list(dict.fromkeys(note for matched in pairs for note in matched.notes))
    if count == 1:
        warnings.append(
            "One document only: no intervals and no test, since both come from swapped and resampled documents; "
            "give the texts one by one."
        )
    elif count < 6:
        warnings.append(
            f"{count} documents only: of the {2**count} ways to swap them, at best 2 are as extreme as the systems "
            f"themselves, so no p-value can be much smaller than {2 / 2**count:.3g}."
        )
    return Comparison(
        reference,
        list(systems),
        list(names) if names else short_names([system.name for system in systems]),
        count,
        sampling,
        [_by_metric(METRICS[name], pairs, sampling) for name in metrics],
        warnings + _word_warnings(pairs),
    )


def _by_metric(metric: Metric, pairs: Sequence[Pair], sampling: Sampling) -> MetricComparison:
    counts = np.stack([metric.count(matched) for matched in pairs])
    documents = counts.shape[1]
    resampled = significance.bootstrap_scores(counts, metric.score, sampling.trials, sampling.seed)
    p = significance.approximate_randomisation(counts, metric.score, sampling.trials, sampling.seed)
    drawn = (("test", "approximate-randomisation"), *sampling.options()) if documents > 1 else ()
    return MetricComparison(
        metric,
        significance.observed(counts, metric.score),
        significance.intervals(resampled, documents, sampling.confidence),
        p,
        significance.holm(p),
        metric.score(counts),
        Signature(metric.metric, metric.options, drawn, documents, pairs[0].reference.fingerprint),
    )


def _word_warnings(pairs: Sequence[Pair]) -> list[str]:
    """Systems whose lines have other words than the reference's, by the numbers of their tokens alone."""
    warnings = []
    for matched in pairs:
        differing = sum(len(a.split()) != len(b.split()) for a, b in zip(*matched.lines, strict=True))
        if differing:
            warnings.append(
                f"{matched.hypothesis.name}: {differing:,} of {len(matched.lines[0]):,} documents with another "
                f"number of tokens than in {matched.reference.name}; `crfpunct evaluate` names them."
            )
    return warnings


def short_names(names: Sequence[str]) -> list[str]:
    """File names without folders and suffixes, where that tells them apart; else the paths."""
    for shorten in (_stem, _file_name):
        short = [shorten(name) for name in names]
        if len(set(short)) == len(short):
            return short
    if len(set(names)) == len(names):
        return list(names)
    return [f"{name} ({place})" for place, name in enumerate(names, 1)]


def _file_name(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2] or name


def _stem(name: str) -> str:
    return _file_name(name).partition(".")[0] or name
