"""The weighted F1 of PolEval 2021 Task 1 (WikiPunct) and PolEval 2022 Task 1, exactly as the task's tool counts.

The tool is GEval with the metric `BIO-Weighted-F1` and a chain of rewriting rules that turn a punctuated line
into tags. The rules work on bytes, so that quotes, `;`, `%`, `…`, `–` and no-break spaces are parts of words. What
they do, and what follows from it, stands in docs/evaluation.md; `tags` is that chain in linear time, and the tests hold
it against the chain written as the regular expressions of the tool.

Not done here: aligning words. One lost, joined or split token shifts all that follows in its line, as in the tool.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crfpunct.scoring import counts as table
from crfpunct.scoring.counts import LabelScore

Rule = Literal["geval", "all"]
Side = Literal["reference", "hypothesis"]
RULES: tuple[Rule, ...] = ("geval", "all")

#: The tool's labels in the order of its rules, each with its mark: a later rule overrides an earlier one.
MARK_OF_LABEL = {
    "HYPHEN": "-",
    "COMMA": ",",
    "ELLIPSIS": "...",
    "FULLSTOP": ".",
    "QMARK": "?",
    "XCL": "!",
    "KOLON": ":",
}

#: A mark inside a word (`post-punk`, `3.5`) makes a label of its own, `HYPHENO`, `FULLSTOPO`.
LABELS: tuple[str, ...] = (*MARK_OF_LABEL, *(f"{label}O" for label in MARK_OF_LABEL))

# In bytes patterns `\s` is the six ASCII white-space characters, as in the tool.
_WORD = re.compile(rb"[^\s,!?.:-]+")
_LONE_MARKS = re.compile(rb"(?:^|\s)([\s,!?.:-]+)(?:\s|$)")

_NO_MARK = 0
_NOT_A_TAG = len(LABELS) + 1
_IDS = {f"B-{label}": number for number, label in enumerate(LABELS, 1)} | {"O": _NO_MARK}


def glue(line: str) -> bytes:
    """A line after the tool's third rule: marks that stand alone are joined to their neighbours.

    The rule replaces ``(^|\\s)([\\s,!?.:-]+)(\\s|$)`` by its second group alone. It stands before the second rule
    here, which is the same, since that rule keeps every white space and mark in its place.

    >>> glue("a - b, c ."), glue("a  b")
    (b'a-b, c.', b'a  b')
    """
    return _LONE_MARKS.sub(rb"\1", line.encode())


def _tag(token: bytes) -> str:
    """The tag of one glued token, `O`, `B-…`, or, where the tool stops, something else (a leading mark)."""
    text = _WORD.sub(b"O", token).decode()
    for label, mark in MARK_OF_LABEL.items():
        # `\S+m+` takes all up to the last m that something stands before.
        place = text.rfind(mark)
        if place > 0:
            text = f"B-{label}{text[place + len(mark) :]}"
    return text


class _TagIds(dict[bytes, int]):
    """Glued token -> number of its label (0 none, 1 … L, L + 1 not a tag); each token is worked out once."""

    def __missing__(self, token: bytes) -> int:
        number = self[token] = _IDS.get(_tag(token), _NOT_A_TAG)
        return number


def tags(line: str) -> list[str]:
    """The tags of a line as the tool sees them.

    Unicode case folding, the tool's first rule, is left out: it never makes or removes an ASCII mark or white space.

    >>> tags("Ala ma kota, 3.5 psa - i co?!"), tags(",a")
    (['O', 'O', 'B-COMMA', 'B-FULLSTOPO', 'B-HYPHENO', 'B-XCL'], [',O'])
    """
    return [_tag(token) for token in glue(line).split()]


@dataclass(frozen=True, slots=True)
class Difference:
    """A line whose reference and output have different numbers of tokens, so that its later marks do not match.

    line: number of the line, from 1. place: number of the first token that differs, from 1; its words are
    without marks, and `None` where that side has ended.
    """

    line: int
    reference_tokens: int
    hypothesis_tokens: int
    place: int
    reference_word: str | None
    hypothesis_word: str | None


@dataclass(frozen=True, slots=True)
class Stop:
    """Where the tool refuses the files: `line` from 1, and the reason in words."""

    line: int
    side: Side
    reason: str


@dataclass(frozen=True, slots=True)
class PolevalCounts:
    """Counts of a pair of files.

    values: (D, L, 3) int64, true positives, false positives and false negatives of the L `LABELS` in each of the D
        lines, where every false positive is counted (`rule:all`).
    tokens: (D, 2) int64, tokens of reference and output.
    stops: the first place, if any, at which the tool stops; then `rule:geval` is undefined.
    differences: the lines with different numbers of tokens.
    """

    values: NDArray[np.int64]
    tokens: NDArray[np.int64]
    stops: Stop | None = None
    differences: list[Difference] = field(default_factory=list)

    def under(self, rule: Rule) -> NDArray[np.int64]:
        """The counts (D, L, 3) under a rule: `geval` forgives the marks that a line's reference lacks."""
        return forgive(self.values) if rule == "geval" else self.values

    def weighted_f1(self, rule: Rule) -> float:
        """The task's score in percent; `nan` where the reference has no mark, and for `geval` where the tool stops."""
        if rule == "geval" and self.stops:
            return float("nan")
        return float(table.weighted_f1(self.under(rule).sum(axis=0)))

    def per_label(self, rule: Rule) -> list[LabelScore]:
        """Scores of each label that the reference has, commonest first, in the tool's spelling (`COMMA`)."""
        totals = self.under(rule).sum(axis=0)
        supports = table.support(totals)
        return [LabelScore.of(LABELS[i], totals[i]) for i in np.argsort(-supports, kind="stable") if supports[i]]

    def unweighted(self) -> dict[str, int]:
        """Labels that the whole reference lacks, which have weight 0 under both rules: how often they were put out."""
        totals = self.values.sum(axis=0)
        return {
            LABELS[i]: int(totals[i, table.FALSE_POSITIVE])
            for i in range(len(LABELS))
            if totals[i, table.FALSE_POSITIVE] and not table.support(totals[i])
        }


def forgive(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The tool's own counting: false positives of a label count only in lines whose reference has that label.

    values (D, L, 3) -> (D, L, 3); the input is unchanged.
    """
    result = values.copy()
    result[..., table.FALSE_POSITIVE] *= table.support(values) > 0
    return result


def counts(reference_lines: Sequence[str], hypothesis_lines: Sequence[str]) -> PolevalCounts:
    """Count reference against output, line by line and token by token.

    A line that only one side has is compared with an empty one; the tool stops there, and so `rule:geval` is
    undefined. Nothing is raised.
    """
    known = _TagIds()
    lines = max(len(reference_lines), len(hypothesis_lines))
    bins = len(LABELS) + 2
    values = np.zeros((lines, len(LABELS), 3), np.int64)
    tokens = np.zeros((lines, 2), np.int64)
    refused: list[Stop] = []
    differences = []
    for number in range(lines):
        reference = glue(reference_lines[number]).split() if number < len(reference_lines) else []
        hypothesis = glue(hypothesis_lines[number]).split() if number < len(hypothesis_lines) else []
        expected = np.array([known[token] for token in reference], np.int64)
        found = np.array([known[token] for token in hypothesis], np.int64)
        shared = min(len(expected), len(found))
        right = expected[:shared][expected[:shared] == found[:shared]]
        true_positives, supports, outputs = (np.bincount(ids, minlength=bins)[1:-1] for ids in (right, expected, found))
        values[number] = np.stack([true_positives, outputs - true_positives, supports - true_positives], axis=-1)
        tokens[number] = len(expected), len(found)
        if len(expected) != len(found) and number < min(len(reference_lines), len(hypothesis_lines)):
            differences.append(_first_difference(number + 1, reference, hypothesis))
        if not refused and _NOT_A_TAG in expected:
            refused.append(_leading_mark(number + 1, "reference", reference, expected))
        if not refused and _NOT_A_TAG in found:
            refused.append(_leading_mark(number + 1, "hypothesis", hypothesis, found))
    if not refused and len(reference_lines) != len(hypothesis_lines):
        first = min(len(reference_lines), len(hypothesis_lines)) + 1
        short: Side = "hypothesis" if len(hypothesis_lines) < first else "reference"
        refused.append(Stop(first, short, "the files have different numbers of lines"))
    return PolevalCounts(values, tokens, refused[0] if refused else None, differences)


def _leading_mark(line: int, side: Side, tokens: Sequence[bytes], ids: NDArray[np.int64]) -> Stop:
    token = tokens[int(np.argmax(ids == _NOT_A_TAG))].decode()
    return Stop(line, side, f'the token "{token}" begins with a mark')


def _first_difference(line: int, reference: Sequence[bytes], hypothesis: Sequence[bytes]) -> Difference:
    """Name the first token of a line at which the words of reference and output differ, whatever their case."""
    sides = [[token.decode().strip(",!?.:-") for token in tokens] for tokens in (reference, hypothesis)]
    place = next(
        (i for i, (a, b) in enumerate(zip(*sides, strict=False)) if a.casefold() != b.casefold()),
        min(map(len, sides)),
    )
    words = [side[place] if place < len(side) else None for side in sides]
    return Difference(line, len(reference), len(hypothesis), place + 1, *words)
