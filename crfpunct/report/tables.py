"""Results laid out as tables of text, once for all outputs that people read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from crfpunct.report.cells import UNDEFINED, count, interval, iwslt_name, mark_name, number, p_value, signed
from crfpunct.scoring import casing, entities, word_errors
from crfpunct.scoring.comparison import ALPHA, Comparison, MetricComparison
from crfpunct.scoring.counts import LabelScore
from crfpunct.scoring.evaluation import (
    CaseResult,
    Evaluation,
    Interval,
    MarksResult,
    PolevalResult,
    Score,
    WordsResult,
)
from crfpunct.scoring.notices import plural
from crfpunct.scoring.signature import Signature


@dataclass(frozen=True, slots=True)
class Column:
    """A column's head; whether its cells stand at the right, as numbers do; whether a narrow screen can do without."""

    head: str
    right: bool = True
    spare: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under columns.

    name: short and stable, for labels and anchors. strong: (row, column) of cells to stress. rules: rows that
    a line is drawn before. notes: what stands under it. signature: that of its scores.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    strong: frozenset[tuple[int, int]] = frozenset()
    rules: frozenset[int] = frozenset()
    notes: Sequence[str] = ()
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A title, a line about the data, tables, and the signatures of all scores in them."""

    title: str
    subtitle: str
    tables: Sequence[Table]
    signatures: Sequence[Signature]
    warnings: Sequence[str] = field(default_factory=list)


def evaluation_report(evaluation: Evaluation, details: bool = False) -> Report:
    """Lay out one output's scores; `details` adds every table there is (else those that a first look needs)."""
    headline: list[tuple[str, Score]] = []
    tables: list[Table] = []
    confidence = f"{evaluation.sampling.confidence:g} % interval"
    if evaluation.poleval:
        headline += [(f"PolEval weighted F1 (rule:{rule})", score) for rule, score in evaluation.poleval.scores.items()]
        tables.append(_poleval_table(evaluation.poleval, confidence))
    for result, title in ((evaluation.marks, "of marks"), (evaluation.iwslt, "of IWSLT marks")):
        if result:
            headline += [(f"{name.capitalize()} F1 {title}", score) for name, score in result.averages.items()]
            headline.append(("Slot error rate", result.slot_error_rate))
            # With the reference's own words it would repeat the table above.
            if details or evaluation.iwslt or any(evaluation.word_errors):
                tables.append(_marks_table(result, confidence))
            if details:
                tables.append(_confusion_table(result))
            if details and result.tags:
                tables.append(_seqeval_table(result))
    if evaluation.case:
        headline += [("Case accuracy", evaluation.case.accuracy), ("F1 of words with a capital", evaluation.case.f1)]
        tables.append(_case_table(evaluation.case, confidence))
    if evaluation.errors:
        headline += [
            ("Word error rate", evaluation.errors.rates[0]),
            ("Character error rate", evaluation.errors.character_error_rate),
            ("Lines wholly right", evaluation.errors.line_accuracy),
        ]
        tables.append(_words_table(evaluation.errors, confidence))
    reference_words, hypothesis_words = evaluation.words
    words = count(reference_words) + (
        "" if reference_words == hypothesis_words else f" (output: {count(hypothesis_words)})"
    )
    return Report(
        f"{evaluation.hypothesis.name} against {evaluation.reference.name}",
        f"{plural(evaluation.documents, 'document')}, {words} words",
        [_headline_table(headline, confidence), *tables],
        [score.signature for _, score in headline],
        evaluation.warnings,
    )


def _headline_table(rows: Sequence[tuple[str, Score]], confidence: str) -> Table:
    return Table(
        "scores",
        "Scores",
        [
            Column("score", right=False),
            Column("%"),
            Column(confidence, spare=True),
            Column("signature", right=False, spare=True),
        ],
        [(title, number(score.value), interval(score.interval), score.signature.own()) for title, score in rows],
        # A run has one sampling and one reference, so the rest of all signatures is the same.
        signature=f"each signature goes on: |{rows[0][1].signature.shared()}",
    )


def _prf(score: LabelScore) -> tuple[str, str, str]:
    return number(score.precision), number(score.recall), number(score.f1)


def _poleval_table(result: PolevalResult, confidence: str) -> Table:
    rows = []
    for row, geval in zip(result.rows, result.geval_rows, strict=True):
        forgiven = UNDEFINED if result.counts.stops else number(geval.f1)
        score = row.score
        rows.append(
            (
                *mark_name(score.label),
                *_prf(score),
                interval(row.f1),
                forgiven,
                count(score.support),
                count(score.output),
            )
        )
    return Table(
        "poleval",
        "PolEval, mark by mark (rule:all)",
        [
            Column("mark", right=False),
            Column("", right=False),
            Column("P"),
            Column("R"),
            Column("F1"),
            Column(confidence, spare=True),
            Column("F1 geval", spare=True),
            Column("reference"),
            Column("output", spare=True),
        ],
        rows,
    )


def _marks_table(result: MarksResult, confidence: str) -> Table:
    name = mark_name if result.tags else iwslt_name

    def cells(score: LabelScore, ends: Interval, slots: tuple[int, int, int, int]) -> tuple[str, ...]:
        *wrong, total = slots
        rate = number(100 * sum(wrong) / total) if total else UNDEFINED
        return (*_prf(score), interval(ends), rate, count(score.support), count(score.output))

    rows = [(*name(row.score.label), *cells(row.score, row.f1, result.slots[row.score.label])) for row in result.rows]
    rows.append(("all", "", *cells(result.overall, result.averages["micro"].interval, result.slot_total)))
    s, d, i, n = map(count, result.slot_total)
    return Table(
        "marks" if result.tags else "iwslt",
        "Marks over aligned words" if result.tags else "The three marks of IWSLT over aligned words",
        [
            Column("mark", right=False),
            Column("", right=False),
            Column("P"),
            Column("R"),
            Column("F1"),
            Column(confidence, spare=True),
            Column("SER"),
            Column("reference"),
            Column("output", spare=True),
        ],
        rows,
        rules=frozenset({len(rows) - 1}),
        notes=[f"Slots: {s} substituted, {d} deleted, {i} inserted of {n}."],
    )


def _confusion_table(result: MarksResult) -> Table:
    present = [0] + [
        i for i in range(1, len(result.labels)) if result.confusion[i].any() or result.confusion[:, i].any()
    ]
    heads = [result.labels[i] or "none" for i in present]
    return Table(
        "confusion",
        "Confusion: reference (rows) and output (columns)",
        [Column("reference", right=False), *map(Column, heads)],
        [(heads[row], *(count(int(result.confusion[i, j])) for j in present)) for row, i in enumerate(present)],
        strong=frozenset((row, row + 1) for row in range(len(present))),
    )


def _seqeval_table(result: MarksResult) -> Table:
    default, strict = result.seqeval(strict=False), result.seqeval(strict=True)
    rows: list[tuple[str, ...]] = []
    rules: set[int] = set()
    if default and strict:
        marks = sorted(default.per_mark, key=lambda mark: -default.per_mark[mark][3])
        for block in (
            [(mark, default.per_mark[mark], strict.per_mark[mark]) for mark in marks],
            [(str(average), default.averages[average], strict.averages[average]) for average in entities.AVERAGES],
        ):
            rules.add(len(rows))
            rows += [
                (name, *map(number, scores[:3]), *map(number, strictly[:3]), count(scores[3]))
                for name, scores, strictly in block
            ]
    return Table(
        "seqeval",
        "As the seqeval library gives them (where 0/0 is 0)",
        [
            Column("mark", right=False),
            Column("P"),
            Column("R"),
            Column("F1"),
            Column("P strict"),
            Column("R strict"),
            Column("F1 strict"),
            Column("support"),
        ],
        rows,
        rules=frozenset(rules - {0}),
    )


def _case_table(result: CaseResult, confidence: str) -> Table:
    def cells(score: LabelScore) -> tuple[str, ...]:
        return *_prf(score), count(score.support), count(score.output)

    rows = [("all words", row.score.label, *cells(row.score), interval(row.f1)) for row in result.rows]
    titles = dict(zip(casing.POSITIONS, ("inside sentences", "opening a sentence"), strict=True))
    rules = {len(rows)}
    rows += [(titles[part], scores[0].label, *cells(scores[0]), "") for part, scores in result.parts.items()]
    accuracies = ", ".join(f"{number(value)} % {titles[part]}" for part, value in result.accuracies.items())
    return Table(
        "case",
        "Upper and lower case",
        [
            Column("words", right=False),
            Column("class", right=False),
            Column("P"),
            Column("R"),
            Column("F1"),
            Column("reference"),
            Column("output", spare=True),
            Column(confidence, spare=True),
        ],
        rows,
        rules=frozenset(rules),
        notes=[
            f"Over {count(result.words[0])} of {count(result.words[1])} words, those that both sides have. "
            f"Case accuracy: {accuracies}."
        ],
    )


def _words_table(result: WordsResult, confidence: str) -> Table:
    derived = {1: result.marks_rates, 2: result.capitals_rates}
    rows = []
    for place, (cased, punctuated) in enumerate(word_errors.ROWS):
        tokens, s, d, i = (int(value) for value in result.rows[place])
        rate = result.rates[place]
        rows.append(
            (
                "yes" if cased else "no",
                "yes" if punctuated else "no",
                number(rate.value),
                interval(rate.interval),
                number(result.corrected[place]) if place else UNDEFINED,
                *map(count, (i, d, s, tokens)),
                *(number(value) for value in derived.get(place, (math.nan, math.nan))),
            )
        )
    return Table(
        "wer",
        "Word error rate, with case and marks counted or not",
        [
            Column("case", right=False),
            Column("marks", right=False),
            Column("WER"),
            Column(confidence, spare=True),
            Column("corrected", spare=True),
            Column("I"),
            Column("D"),
            Column("S"),
            Column("tokens"),
            Column("recall"),
            Column("precision"),
        ],
        rows,
        notes=[
            f"Marks: {count(result.marks[0])} in the reference, {count(result.marks[1])} in the output; words with a "
            f"capital: {count(result.capitals[0])} and {count(result.capitals[1])}. Recall and precision are those of "
            "marks (row 2) and of words with a capital (row 3)."
        ],
    )


def comparison_report(comparison: Comparison) -> Report:
    """Lay out a comparison: for each metric a table of systems and, with three or more, one of p-values."""
    tables = []
    for result in comparison.metrics:
        tables.append(_systems_table(comparison, result))
        if len(comparison.systems) > 2 and comparison.documents > 1:
            tables.append(_p_table(comparison, result))
    return Report(
        f"{len(comparison.systems)} systems against {comparison.reference.name}",
        f"{plural(comparison.documents, 'document')}; baseline: {comparison.names[0]}",
        tables,
        [result.signature for result in comparison.metrics],
        comparison.warnings,
    )


def best(result: MetricComparison) -> list[int]:
    """The places of the best score (several where they are equal); none where all are undefined or equal."""
    scores = result.scores
    if np.isnan(scores).all():
        return []
    top = np.nanmax(scores) if result.metric.higher_is_better else np.nanmin(scores)
    places = [place for place, score in enumerate(scores) if score == top]
    return places if len(places) < len(scores) else []


def _systems_table(comparison: Comparison, result: MetricComparison) -> Table:
    trials, confidence = comparison.sampling.trials, f"{comparison.sampling.confidence:g} % interval"
    rows = []
    for place, name in enumerate(comparison.names):
        cells = [name, number(result.scores[place]), interval(result.intervals.scores[place])]
        if place:
            cells += [
                signed(result.scores[place] - result.scores[0]),
                interval(result.intervals.differences[place, 0], as_difference=True),
                p_value(result.p[place, 0], trials),
                p_value(result.p_holm[place, 0], trials) + "*" * result.holds(place, 0),
            ]
        else:
            cells += ["", "", "", ""]
        rows.append(cells)
    return Table(
        f"compare-{result.metric.name}",
        result.metric.title + ("" if result.metric.higher_is_better else " (lower is better)"),
        [
            Column("system", right=False),
            Column("%"),
            Column(confidence, spare=True),
            Column("difference"),
            Column(confidence, spare=True),
            Column("p"),
            Column("p (Holm)"),
        ],
        rows,
        strong=frozenset((place, 1) for place in best(result)),
        notes=[_verdict(comparison, result)] if comparison.documents > 1 else [],
        signature=str(result.signature),
    )


#: How many significant differences are put in words; of more, only those from the baseline.
MOST_NAMED = 6


def _verdict(comparison: Comparison, result: MetricComparison) -> str:
    """In words, which systems differ."""
    names = comparison.names
    pairs = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
    held = [(a, b) for a, b in pairs if result.holds(a, b)]
    undefined = any(math.isnan(result.p[a, b]) for a, b in pairs)
    tests = "1 test" if len(pairs) == 1 else f"{len(pairs)} tests, corrected by Holm's method"
    if not held:
        none = "No difference is significant" if not undefined else "No difference can be said to be significant"
        return f"{none} at {ALPHA} ({tests})."
    better = [
        (a, b) if (result.scores[a] > result.scores[b]) == result.metric.higher_is_better else (b, a) for a, b in held
    ]
    if len(better) <= MOST_NAMED:
        said = [f"{names[a]} is better than {names[b]}" for a, b in better]
    else:
        above, below = [names[a] for a, b in better if b == 0], [names[b] for a, b in better if a == 0]
        said = [f"better than {names[0]}: {', '.join(above)}"] if above else []
        said += [f"worse than {names[0]}: {', '.join(below)}"] if below else []
        said.append(f"{len(held)} of {len(pairs)} pairs differ")
    return f"* significant at {ALPHA} ({tests}): {'; '.join(said)}."


def _p_table(comparison: Comparison, result: MetricComparison) -> Table:
    trials, names = comparison.sampling.trials, comparison.names

    def cell(row: int, column: int) -> str:
        if row == column:
            return ""
        values = result.p if column > row else result.p_holm
        return p_value(values[row, column], trials) + "*" * (result.holds(row, column) and column < row)

    return Table(
        f"p-{result.metric.name}",
        f"p-values: {result.metric.title}",
        [Column("", right=False), *map(Column, names)],
        [(name, *(cell(row, column) for column in range(len(names)))) for row, name in enumerate(names)],
        notes=["Above the diagonal as they are, below it after Holm's correction."],
    )
