"""The numbers of a report as JSON: the schema is documented in docs/evaluation.md and has a version.

Scores are percentages with full precision; an undefined one (0/0) is null. Keys are stable: one is only ever added,
or the version changes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from crfpunct.report.cells import mark_name
from crfpunct.scoring import entities, poleval, word_errors
from crfpunct.scoring.comparison import ALPHA, Comparison, MetricComparison
from crfpunct.scoring.counts import LabelScore
from crfpunct.scoring.entities import SeqevalScores
from crfpunct.scoring.evaluation import CaseResult, Evaluation, MarksResult, PolevalResult, Row, Score, WordsResult
from crfpunct.scoring.texts import Text

#: Version of both schemas.
SCHEMA = 1

Json = dict[str, Any]


def write(value: Mapping[str, Any], out: TextIO) -> None:
    """Write one JSON object, indented, in UTF-8."""
    json.dump(value, out, ensure_ascii=False, indent=2, allow_nan=False)
    out.write("\n")


def evaluation_data(evaluation: Evaluation) -> Json:
    """All numbers of an evaluation; parts that were not asked for are null."""
    reference_words, hypothesis_words = evaluation.words
    substituted, deleted, inserted = evaluation.word_errors
    return {
        "schema": {"name": "crfpunct-evaluation", "version": SCHEMA},
        "reference": {**_text(evaluation.reference), "words": reference_words},
        "hypothesis": {**_text(evaluation.hypothesis), "words": hypothesis_words},
        "documents": evaluation.documents,
        "word_errors": {"substituted": substituted, "deleted": deleted, "inserted": inserted},
        "sampling": {
            "trials": evaluation.sampling.trials,
            "seed": evaluation.sampling.seed,
            "confidence": evaluation.sampling.confidence,
        },
        "warnings": evaluation.warnings,
        "poleval": _poleval(evaluation.poleval) if evaluation.poleval else None,
        "marks": _marks(evaluation.marks) if evaluation.marks else None,
        "iwslt": _marks(evaluation.iwslt) if evaluation.iwslt else None,
        "case": _case(evaluation.case) if evaluation.case else None,
        "wer": _words(evaluation.errors) if evaluation.errors else None,
    }


def comparison_data(comparison: Comparison) -> Json:
    """All numbers of a comparison; matrices have a row and a column for each system, in the order of `systems`."""
    return {
        "schema": {"name": "crfpunct-comparison", "version": SCHEMA},
        "reference": _text(comparison.reference),
        "systems": [
            {"name": name, **_text(system)} for name, system in zip(comparison.names, comparison.systems, strict=True)
        ],
        "documents": comparison.documents,
        "sampling": {
            "trials": comparison.sampling.trials,
            "seed": comparison.sampling.seed,
            "confidence": comparison.sampling.confidence,
        },
        "alpha": ALPHA,
        "warnings": comparison.warnings,
        "metrics": [_metric(result) for result in comparison.metrics],
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _numbers(values: NDArray[np.float64] | Sequence[float]) -> list[Any]:
    """Nested lists of a vector or a matrix."""

    def plain(value: Any) -> Any:
        return list(map(plain, value)) if isinstance(value, list) else _number(value)

    return list(map(plain, np.asarray(values, np.float64).tolist()))


def _text(text: Text) -> Json:
    return {"path": text.name, "documents": len(text.lines), "sha256": text.fingerprint}


def _score(score: Score) -> Json:
    return {
        "value": _number(score.value),
        "interval": _numbers(score.interval),
        "signature": {**score.signature.fields(), "line": str(score.signature)},
    }


def _label(score: LabelScore) -> Json:
    return {
        "label": score.label,
        "true_positives": score.true_positives,
        "false_positives": score.false_positives,
        "false_negatives": score.false_negatives,
        "precision": _number(score.precision),
        "recall": _number(score.recall),
        "f1": _number(score.f1),
        "reference": score.support,
        "output": score.output,
    }


def _row(row: Row) -> Json:
    intervals = {"precision": row.precision, "recall": row.recall, "f1": row.f1}
    return {**_label(row.score), "intervals": {name: _numbers(ends) for name, ends in intervals.items()}}


def _poleval(result: PolevalResult) -> Json:
    stops = result.counts.stops
    return {
        "scores": {f"rule:{rule}": _score(score) for rule, score in result.scores.items()},
        "labels": [
            {
                **_row(row),
                "mark": mark_name(row.score.label)[0],
                "inside_word": row.score.label not in poleval.MARK_OF_LABEL,
                "geval": _label(geval),
            }
            for row, geval in zip(result.rows, result.geval_rows, strict=True)
        ],
        "unweighted": result.unweighted,
        "stops": {"line": stops.line, "side": stops.side, "reason": stops.reason} if stops else None,
        "differing_documents": [
            {
                "line": difference.line,
                "reference_tokens": difference.reference_tokens,
                "hypothesis_tokens": difference.hypothesis_tokens,
                "token": difference.place,
                "reference_word": difference.reference_word,
                "hypothesis_word": difference.hypothesis_word,
            }
            for difference in result.counts.differences
        ],
        "by_document": _numbers(result.by_document),
    }


def _seqeval(scores: SeqevalScores | None) -> Json | None:
    if scores is None:
        return None
    names = ("precision", "recall", "f1", "support")
    return {
        "marks": {mark: dict(zip(names, values, strict=True)) for mark, values in scores.per_mark.items()},
        "averages": {average: dict(zip(names, values, strict=True)) for average, values in scores.averages.items()},
    }


def _slots(slots: tuple[int, int, int, int]) -> Json:
    return dict(zip(("substituted", "deleted", "inserted", "reference"), slots, strict=True))


def _marks(result: MarksResult) -> Json:
    return {
        "labels": [{**_row(row), "slots": _slots(result.slots[row.score.label])} for row in result.rows],
        "overall": _label(result.overall),
        "averages": {average: _score(score) for average, score in result.averages.items()},
        "slots": _slots(result.slot_total),
        "slot_error_rate": _score(result.slot_error_rate),
        "confusion": {"labels": list(result.labels), "counts": result.confusion.tolist()},
        "seqeval": {"default": _seqeval(result.seqeval(strict=False)), "strict": _seqeval(result.seqeval(strict=True))}
        if result.tags
        else None,
        "scheme": {label: list(marks) for label, marks in entities.IWSLT.items()} if not result.tags else None,
    }


def _case(result: CaseResult) -> Json:
    return {
        "accuracy": _score(result.accuracy),
        "f1": _score(result.f1),
        "classes": [_row(row) for row in result.rows],
        "parts": {
            part: {"accuracy": _number(result.accuracies[part]), "classes": [_label(score) for score in scores]}
            for part, scores in result.parts.items()
        },
        "words": {"aligned": result.words[0], "reference": result.words[1]},
    }


def _words(result: WordsResult) -> Json:
    rows = []
    for place, (cased, punctuated) in enumerate(word_errors.ROWS):
        tokens, substituted, deleted, inserted = (int(value) for value in result.rows[place])
        rows.append(
            {
                "case": cased,
                "marks": punctuated,
                **_score(result.rates[place]),
                "corrected": _number(result.corrected[place]),
                "tokens": tokens,
                "substituted": substituted,
                "deleted": deleted,
                "inserted": inserted,
            }
        )

    def rates(numbers: tuple[int, int], values: tuple[float, float]) -> Json:
        return {
            "reference": numbers[0],
            "output": numbers[1],
            "recall": _number(values[0]),
            "precision": _number(values[1]),
        }

    return {
        "rows": rows,
        "marks": rates(result.marks, result.marks_rates),
        "capitals": rates(result.capitals, result.capitals_rates),
        "characters": {
            **_score(result.character_error_rate),
            "reference": result.characters[0],
            "distance": result.characters[1],
        },
        "lines": {**_score(result.line_accuracy), "all": result.lines[0], "right": result.lines[1]},
    }


def _metric(result: MetricComparison) -> Json:
    return {
        "metric": result.metric.name,
        "title": result.metric.title,
        "higher_is_better": result.metric.higher_is_better,
        "scores": _numbers(result.scores),
        "intervals": _numbers(result.intervals.scores),
        "difference_intervals": _numbers(result.intervals.differences),
        "p": _numbers(result.p),
        "p_holm": _numbers(result.p_holm),
        "by_document": _numbers(result.by_document),
        "signature": {**result.signature.fields(), "line": str(result.signature)},
    }
