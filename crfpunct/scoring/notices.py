"""What a reader of scores must know about the two files: said by `evaluate` on stderr and kept in every report."""

from __future__ import annotations

from crfpunct.scoring.poleval import PolevalCounts
from crfpunct.scoring.texts import Pair, Text

#: How many lines a kind of warning names before it only counts.
NAMED = 3


def notices(pair: Pair, counts: PolevalCounts | None, reference_words: int, errors: tuple[int, int, int]) -> list[str]:
    """A line each: documents without a partner (said first), other tokens and words, undefined scores, one document.

    counts: of the PolEval score, where it was asked for. errors: substituted, missing and added words.
    """
    warnings = []
    reference, hypothesis = pair.reference, pair.hypothesis
    if pair.missing:
        short, long = (hypothesis, reference) if pair.missing > 0 else (reference, hypothesis)
        warnings.append(
            f"{short.name}: {plural(len(short.lines), 'document')}, but {long.name} has {len(long.lines):,}; what "
            f"stands from {long.places[len(short.lines)]} on has no partner. Give one document of output for each of "
            "the reference" + (", or add --one-document." if 1 in (len(short.lines), len(long.lines)) else ".")
        )
    if counts is not None:
        differences = counts.differences
        for difference in differences[:NAMED]:
            words = [
                "nothing" if word is None else f'"{word}"'
                for word in (difference.hypothesis_word, difference.reference_word)
            ]
            warnings.append(
                f"{_place(hypothesis, difference.line)}: {plural(difference.hypothesis_tokens, 'token')}, "
                f"but {_place(reference, difference.line)} has {difference.reference_tokens}; first difference at "
                f"token {difference.place} ({' / '.join(words)})."
            )
        if differences:
            count = f"{len(differences):,} of {plural(len(counts.values), 'document')}"
            warnings.append(
                f"{count} with another number of tokens than the reference: the PolEval score goes by token index, so "
                "all marks behind the first difference count as wrong there."
            )
        stops = counts.stops
        if stops and not pair.missing:
            side = reference if stops.side == "reference" else hypothesis
            warnings.append(
                f"{_place(side, stops.line)}: {stops.reason}; the task's own tool stops there, so rule:geval is "
                "undefined."
            )
        elif stops:
            warnings.append("The task's own tool stops at a different number of lines, so rule:geval is undefined.")
        if not counts.per_label("all"):
            warnings.append(f"{reference.name}: no marks in it, so recall and F1 are undefined (–).")
        if unweighted := counts.unweighted():
            labels = ", ".join(f"{label} {count:,}" for label, count in unweighted.items())
            warnings.append(f"Put out, but not in the reference at all, and so without weight: {labels}.")
    if any(errors):
        rate = f"{100 * sum(errors) / reference_words:.2f} % of the reference's" if reference_words else "no"
        warnings.append(
            f"Other words in the output: {errors[0]:,} substituted, {errors[1]:,} missing, {errors[2]:,} added ({rate} "
            "words); all scores but PolEval's are over aligned words"
            + ("." if 2 * sum(errors) < reference_words else "; are these the same documents, in the same order?")
        )
    if len(pair.lines[0]) == 1:
        warnings.append("One document only: no intervals, since these come from resampled documents.")
    return warnings


def plural(number: int, noun: str) -> str:
    """A number and its noun in words: `1 document`, `2 documents`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _place(text: Text, line: int) -> str:
    return text.places[line - 1] if line <= len(text.places) else f"{text.name}:{line}"
