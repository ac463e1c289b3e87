"""The PolEval score against the tool's own rewriting rules, and against worked examples."""

from __future__ import annotations

import math
import re
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crfpunct.scoring import poleval

# The tool's chain, rule by rule as its configuration states it: slow and obvious.
CHAIN = [
    (rb"[^\s,!?.:-]+", rb"O"),
    (rb"(^|\s)([\s,!?.:-]+)(\s|$)", rb"\2"),
    (rb"\S+-+", rb"B-HYPHEN"),
    (rb"\S+,+", rb"B-COMMA"),
    (rb"\S+\.\.\.+", rb"B-ELLIPSIS"),
    (rb"\S+\.+", rb"B-FULLSTOP"),
    (rb"\S+\?+", rb"B-QMARK"),
    (rb"\S+!+", rb"B-XCL"),
    (rb"\S+:+", rb"B-KOLON"),
]


def chain(line: str) -> list[str]:
    text = line.casefold().encode()
    for pattern, replacement in CHAIN:
        text = re.sub(pattern, replacement, text)
    return [token.decode() for token in text.split()]


def slow_score(references: list[str], hypotheses: list[str], forgiving: bool) -> float:
    """Weighted F1 out of sets of (token index, label), in percent, one division at a time."""
    counts: dict[str, list[int]] = {}
    for reference, hypothesis in zip(references, hypotheses, strict=True):
        expected, found = (
            {(i, tag) for i, tag in enumerate(chain(line)) if tag.startswith("B-")} for line in (reference, hypothesis)
        )
        labels = {tag for _, tag in expected}
        if not forgiving:
            labels |= {tag for _, tag in found}
        for label in labels:
            sides = [{entity for entity in side if entity[1] == label} for side in (expected, found)]
            sums = counts.setdefault(label, [0, 0, 0])
            sums[0] += len(sides[0] & sides[1])
            sums[1] += len(sides[0])
            sums[2] += len(sides[1])
    total = sum(n_reference for _, n_reference, _ in counts.values())
    if not total:
        return math.nan
    score = 0.0
    for tp, n_reference, n_output in counts.values():
        p = tp / n_output if n_output else 1.0
        r = tp / n_reference if n_reference else 1.0
        score += n_reference * (2 * p * r / (p + r) if p + r else 0.0)
    return 100 * score / total


lines = st.text(st.sampled_from("ab;żI…–\u00a0\u0085\u2028 \t\x0b  ,,..!?:--\"'"), max_size=25)
any_line = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=20)


@given(st.one_of(lines, any_line))
@example("a - b")
@example("... a .... b")
@example(" - ")
def test_the_linear_rewriting_is_the_tools_chain(line: str) -> None:
    assert poleval.tags(line) == chain(line)


@given(st.lists(st.tuples(lines, lines), min_size=1, max_size=5))
def test_counts_and_score_are_those_of_the_definition(pairs: list[tuple[str, str]]) -> None:
    references, hypotheses = map(list, zip(*pairs, strict=True))
    counted = poleval.counts(references, hypotheses)
    assert counted.weighted_f1("all") == pytest.approx(
        slow_score(references, hypotheses, forgiving=False), rel=1e-12, nan_ok=True
    )
    if not counted.stops:
        assert counted.weighted_f1("geval") == pytest.approx(
            slow_score(references, hypotheses, forgiving=True), rel=1e-12, nan_ok=True
        )


@given(st.lists(lines, min_size=1, max_size=5))
def test_a_text_scores_100_against_itself(texts: list[str]) -> None:
    counted = poleval.counts(texts, texts)
    if not counted.stops and counted.values.any():
        assert counted.weighted_f1("geval") == counted.weighted_f1("all") == 100


def test_case_folding_changes_no_ascii_mark_or_white_space() -> None:
    kept = set(" \t\r\x0b\x0c,!?.:-")
    changed = [c for i in range(sys.maxunicode + 1) if (c := chr(i)).casefold() != c and kept & {c, *c.casefold()}]
    assert changed == []


@pytest.mark.parametrize(
    ("reference", "hypothesis", "score"),
    [
        ("ala ma kota. tak", "ala ma kota. tak!", 100),
        ("ala, ma kota.", "ala, ma kota?", 50),
        ("a b, c d.", "a b, - c d.", 0),
        ("a b, c d.", "a b,c d.", 0),
        ("a b, c d.", "a b, c d .", 100),
        ("a b- c.", "a b - c.", 0),
        ("co?! tak.", "co! tak.", 100),
        ("a. b", "a... b", 0),
        ("a ; b.", "a b.", 0),
    ],
)
def test_worked_examples(reference: str, hypothesis: str, score: float) -> None:
    assert poleval.counts([reference], [hypothesis]).weighted_f1("geval") == pytest.approx(score, abs=1e-9)


def test_two_documents_tell_the_rules_apart() -> None:
    counted = poleval.counts(["a! b.", "a b."], ["a! b.", "a! b."])
    assert counted.weighted_f1("geval") == pytest.approx(100, abs=1e-9)
    assert counted.weighted_f1("all") == pytest.approx(88.888889, abs=1e-6)


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("a?! b!? c-, d,-", "B-XCL B-QMARK B-COMMA B-HYPHEN"),
        ("post-punk 3.5 2:1", "B-HYPHENO B-FULLSTOPO B-KOLONO"),
        ("a … b– „c” 5% d;", "O O O O O O"),
        ("a - b", "B-HYPHENO"),
        ("a .", "B-FULLSTOP"),
        ("a.. b... c....", "B-FULLSTOP B-ELLIPSIS B-ELLIPSIS"),
        ("a\u00a0b,", "B-COMMA"),
        ("", ""),
    ],
)
def test_tags_of_a_line(line: str, tags: str) -> None:
    assert poleval.tags(line) == tags.split()


@pytest.mark.parametrize(("line", "stops"), [(",a", True), ("- a", True), (",a.", False), ("...", False), (".", True)])
def test_a_leading_mark_stops_the_tool_but_not_the_other_rule(line: str, stops: bool) -> None:
    counted = poleval.counts(["a.", "a."], ["a.", line])
    assert math.isnan(counted.weighted_f1("geval")) is stops
    assert not math.isnan(counted.weighted_f1("all"))
    if stops:
        assert counted.stops is not None
        assert (counted.stops.line, counted.stops.side) == (2, "hypothesis")


def test_a_missing_line_stops_the_tool_and_counts_as_empty() -> None:
    counted = poleval.counts(["a.", "b.", "c."], ["a."])
    assert counted.stops is not None
    assert (counted.stops.line, counted.stops.side) == (2, "hypothesis")
    assert counted.weighted_f1("all") == pytest.approx(50, abs=1e-9)
    assert math.isnan(counted.weighted_f1("geval"))


def test_the_first_differing_token_is_named() -> None:
    (difference,) = poleval.counts(["To, Saryusz-Wolski tak."], ["to saryusz wolski tak."]).differences
    assert difference == poleval.Difference(1, 3, 4, 2, "Saryusz-Wolski", "saryusz")
    (difference,) = poleval.counts(["a b."], ["a"]).differences
    assert (difference.place, difference.reference_word, difference.hypothesis_word) == (2, "b", None)


def test_a_reference_without_marks_has_no_score() -> None:
    counted = poleval.counts(["a b"], ["a, b."])
    assert math.isnan(counted.weighted_f1("all"))
    assert counted.unweighted() == {"COMMA": 1, "FULLSTOP": 1}
    assert counted.per_label("all") == []


def test_a_line_without_white_space_takes_linear_time() -> None:
    line = "a," * 200_000
    assert poleval.tags(line) == ["B-COMMA"]


def test_forgiving_leaves_its_input_alone() -> None:
    values = np.zeros((1, len(poleval.LABELS), 3), np.int64)
    values[0, 0, 1] = 7
    assert poleval.forgive(values).sum() == 0
    assert values.sum() == 7
