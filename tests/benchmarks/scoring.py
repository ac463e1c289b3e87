"""How long scoring takes, and how much memory: `python tests/benchmarks/scoring.py` prints a Markdown table.

All data are synthetic and made here. Each measurement runs in a process of its own, so that its peak memory is its own;
the ratio to seqeval is of two times of the same process.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import sys
import time
from collections.abc import Callable

from crfpunct.scoring import casing, comparison, entities, evaluation, poleval, significance, texts, word_errors
from crfpunct.scoring import counts as table

WORDS = [f"{a}{b}{c}" for a in ("ka", "to", "wi", "Ma", "zu") for b in ("ra", "le", "no", "pi") for c in "abcdefgh"]
MARKS = ["", "", "", "", "", "", "", "", ".", ",", ",", "?", "-", ":", "..."]


def reference(documents: int, words: int) -> list[str]:
    """Punctuated lines."""
    generator = random.Random(0)
    return [" ".join(generator.choice(WORDS) + generator.choice(MARKS) for _ in range(words)) for _ in range(documents)]


def output(lines: list[str], seed: int, other_words: float = 0.0) -> list[str]:
    """The same lines with a fifth of the marks drawn anew, and perhaps a share of the words lost or replaced."""
    generator = random.Random(seed)
    result = []
    for line in lines:
        tokens = []
        for token in line.split():
            word = token.rstrip(".,?-:")
            mark = generator.choice(MARKS) if generator.random() < 0.2 else token[len(word) :]
            if generator.random() < other_words:
                word = generator.choice(["", generator.choice(WORDS)])
            if word:
                tokens.append(word + mark)
        result.append(" ".join(tokens))
    return result


def compare_ten() -> dict[str, float]:
    """Ten systems on 200 documents of 170 words (the size of a WikiPunct test set), 10,000 trials."""
    lines = reference(200, 170)
    systems = [texts.Text.of(output(lines, seed), f"system {seed}") for seed in range(1, 11)]
    started = time.perf_counter()
    comparison.compare(texts.Text.of(lines, "reference"), systems, ["poleval"])
    return {"ten systems × 200 documents, 10,000 trials, all 45 pairs": time.perf_counter() - started}


def null_simulation() -> dict[str, float]:
    """1,000 tests of two systems that do not differ, and in how many of them p < 0.05."""
    import numpy as np

    below = 0
    started = time.perf_counter()
    for seed in range(1000):
        generator = np.random.default_rng(seed)
        supports = generator.integers(1, 30, (100, 3))
        right = generator.binomial(supports, 0.7, (2, 100, 3))
        wrong = generator.binomial(supports, 0.2, (2, 100, 3))
        values = np.stack([right, wrong, supports - right], axis=-1)
        below += significance.approximate_randomisation(values, table.weighted_f1, 1000, seed)[0, 1] < 0.05
    seconds = time.perf_counter() - started
    return {f"1,000 tests of equal systems on 100 documents (p < 0.05 in {below / 10:.1f} %), 1,000 trials": seconds}


def one_million_words() -> dict[str, float]:
    """Each score of 1,000,000 words in 5,000 documents, and seqeval on the same tags."""
    lines = reference(5000, 200)
    found = output(lines, 1)
    seconds = {}

    def timed(name: str, work: Callable[[], object]) -> object:
        started = time.perf_counter()
        result = work()
        seconds[name] = time.perf_counter() - started
        return result

    timed("1,000,000 words: PolEval, both rules", lambda: poleval.counts(lines, found).weighted_f1("geval"))
    pair = texts.pair(texts.Text.of(lines, "reference"), texts.Text.of(found, "output"))
    timed("1,000,000 words: splitting and aligning", lambda: pair.aligned)
    tags = entities.tag_sequences(pair.aligned)
    timed("1,000,000 words: counts of marks, all averages", lambda: averages(entities.confusion(*tags)))
    sides = [entities.as_tags(side) for side in tags]
    timed("1,000,000 words: seqeval, default mode, one average", lambda: seqeval_f1(sides, strict=False))
    timed("1,000,000 words: seqeval, strict mode, one average", lambda: seqeval_f1(sides, strict=True))
    timed("1,000,000 words: case", lambda: casing.count_case(pair.aligned))
    timed("1,000,000 words: WER, four rows", lambda: word_errors.count_rows(pair.aligned))
    timed("1,000,000 words: characters", lambda: word_errors.count_characters(lines, found))
    return seconds


def averages(confusions):  # type: ignore[no-untyped-def]
    counts = entities.per_mark(confusions).sum(axis=0)
    return table.micro_f1(counts), entities.macro_f1(counts), table.weighted_f1(counts)


def seqeval_f1(sides, strict: bool) -> float:  # type: ignore[no-untyped-def]
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    return float(f1_score(*sides, mode="strict", scheme=IOB2) if strict else f1_score(*sides))


def whole_evaluation() -> dict[str, float]:
    """`evaluate --task all` of 1,000,000 words, of which 4 % differ, with 1,000 resamples."""
    lines = reference(5000, 200)
    pair = texts.pair(texts.Text.of(lines, "reference"), texts.Text.of(output(lines, 1, 0.04), "output"))
    started = time.perf_counter()
    evaluation.evaluate(pair, "all")
    return {"1,000,000 words: `evaluate --task all`, 4 % other words": time.perf_counter() - started}


def measured(work: Callable[[], dict[str, float]], queue) -> None:  # type: ignore[no-untyped-def]
    seconds = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    queue.put((seconds, peak / (1024 if sys.platform != "darwin" else 1024**2)))


def main() -> None:
    """Print the table."""
    context = multiprocessing.get_context("spawn")
    print("| what | seconds | peak memory, MB |\n| --- | ---: | ---: |")
    collected: dict[str, float] = {}
    for work in (compare_ten, null_simulation, one_million_words, whole_evaluation):
        queue = context.Queue()
        process = context.Process(target=measured, args=(work, queue))
        process.start()
        seconds, peak = queue.get()
        process.join()
        collected |= seconds
        for place, (name, value) in enumerate(seconds.items()):
            print(f"| {name} | {value:.2f} | {f'{peak:.0f}' if place == len(seconds) - 1 else ''} |", flush=True)
    ours = collected["1,000,000 words: counts of marks, all averages"]
    for mode in ("default", "strict"):
        theirs = collected[f"1,000,000 words: seqeval, {mode} mode, one average"]
        print(f"| seqeval ({mode} mode, one average) / our counts (all averages) | {theirs / ours:.1f} × | |")


if __name__ == "__main__":
    main()
