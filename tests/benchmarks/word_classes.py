"""Word classes: time and memory of learning them, and what they change in accuracy.

    python tests/benchmarks/word_classes.py                      # time and memory for 1, 5 and 11 million words
    python tests/benchmarks/word_classes.py --device cuda
    python tests/benchmarks/word_classes.py --quality --folds 5  # weighted F1 from text alone, with classes and without

Reads the data folder from --data or CRFPUNCT_DATA (default ../shared/data); prints Markdown. Each size is measured in
a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from crfpunct import clusters, formats
from crfpunct.document import Document
from crfpunct.files import open_output
from crfpunct.training import Options, bare, cross_validate

MILLION = 1_000_000
TALKS = (
    300  # TED talks that English is cross-validated on; their words are not among those the classes are learned from
)
FEATURES = """extends = "punct"
[lexicon]
coarse = {{ file = "classes.txt", column = 1 }}
fine = {{ file = "classes.txt", column = 2 }}
{templates}"""
TEMPLATES = """
[[template]]
name = "{lexicon} class"
use = ["lexicon.{lexicon}[{{k}}]"]
for = {{ k = [-2, -1, 0, 1, 2, 3] }}
min_count = 3
[[template]]
name = "{lexicon} pair"
use = ["lexicon.{lexicon}[0]", "lexicon.{lexicon}[1]"]
min_count = 3
[[template]]
name = "{lexicon} pair before"
use = ["lexicon.{lexicon}[-1]", "lexicon.{lexicon}[0]"]
min_count = 3
[[template]]
name = "{lexicon} pair after"
use = ["lexicon.{lexicon}[1]", "lexicon.{lexicon}[2]"]
min_count = 3
[[template]]
name = "{lexicon} triple"
use = ["lexicon.{lexicon}[-1]", "lexicon.{lexicon}[0]", "lexicon.{lexicon}[1]"]
min_count = 3
"""


def polish(data: Path) -> list[Path]:
    """The files of Polish text."""
    return [*sorted((data / "pl-text").glob("*.txt")), *sorted((data / "pl-text" / "books").glob("*.txt"))]


def english(data: Path) -> list[Path]:
    """The files of English text."""
    return [data / "en-text" / "ted.txt.xz", data / "en-text" / "changelog.txt.xz"]


def documents(files: Iterable[Path]) -> Iterator[Document]:
    """The texts of plain-text files, a line each."""
    return (bare(document) for file in files for document in formats.read_punctuated(file, "text"))


def tokens(texts: Iterable[Document]) -> Iterator[list[str]]:
    """As `crfpunct word-classes` takes them."""
    return (clusters.tokens(text.words, text.marks or ()) for text in texts)


def first(texts: Iterable[list[str]], size: int) -> Iterator[list[str]]:
    """The first `size` words, the last text cut."""
    for text in texts:
        yield text[:size]
        size -= len(text)
        if size <= 0:
            return


def measure(data: Path, size: int, device: str) -> None:
    """Learn classes from `size` words; prints a row of the table."""
    backend, _ = clusters.choose(device)
    # One thread does all the work of a processor; its own time does not depend on what else runs.
    clock = time.process_time if backend.name == "cpu" else time.perf_counter
    moments: list[tuple[str, float]] = []
    learned = clusters.learn(
        first(tokens(documents([*polish(data), *english(data)])), size),
        clusters.Options(),
        backend,
        lambda stage, _number, _stages: moments.append((stage, clock())),
    )
    spans = [(a, u - t) for (a, t), (_, u) in itertools.pairwise(moments)]
    cells = [f"{size / seconds:,.0f}" for _, seconds in spans]
    total = moments[-1][1] - moments[0][1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kilobytes on Linux
    print(
        f"| {size / MILLION:g} M | {backend.name} | {' | '.join(cells)} | {total:.0f} s | {peak:.2f} GB |", flush=True
    )
    print(f"{learned.summary}; {len(learned.words):,} lines", file=sys.stderr)


def compare(name: str, raw: Iterable[Document], corpus: list[Document], options: argparse.Namespace) -> None:
    """Cross-validate on a corpus without and with classes learned from raw text; prints rows of a table."""
    with tempfile.TemporaryDirectory() as folder:
        learned = clusters.learn(tokens(raw), clusters.Options(classes=(64, 256)), clusters.choose(options.device)[0])
        with open_output(Path(folder) / "classes.txt") as stream:
            learned.write(stream, [])
        templates = "".join(TEMPLATES.format(lexicon=lexicon) for lexicon in ("coarse", "fine"))
        features = Path(folder) / "with-classes.toml"
        features.write_text(FEATURES.format(templates=templates), encoding="utf-8")
        for kind, used in (("without", "punct"), ("with", str(features))):
            folds = cross_validate(corpus, False, Options(used), options.folds, options.jobs)
            scores = [fold.counts.weighted_f1("all") for fold in folds]
            cells = " | ".join(f"{score:.2f}" for score in scores)
            print(f"| {name} | {kind} | {cells} | **{np.mean(scores):.2f}** |", flush=True)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CRFPUNCT_DATA", "../shared/data")))
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="cpu")
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 5, 11])
    parser.add_argument("--row", action="store_true", help="one size in this process, without the table's head")
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    data = options.data
    if options.row:
        measure(data, int(options.millions[0] * MILLION), options.device)
    elif options.quality:
        print(f"| text | classes | {' | '.join(f'fold {i}' for i in range(options.folds))} | mean |")
        print(f"|---|---|{'--:|' * (options.folds + 1)}")
        compare("Polish", documents(polish(data)), list(formats.read_punctuated(data / "wikipunct" / "train")), options)
        talks = list(itertools.islice(documents(english(data)), TALKS))
        compare("English", itertools.islice(documents(english(data)), TALKS, None), talks, options)
    else:
        stages = ["reading", "counting", "vectors", *(f"{size} classes" for size in clusters.Options().classes)]
        print(f"| words | device | {' | '.join(stages)} | rare words | all | peak memory |\n|---|---|{'--:|' * 9}")
        for size in options.millions:
            row = [sys.executable, __file__, "--row", "--data", str(data), "--device", options.device]
            subprocess.run([*row, "--millions", str(size)], check=True)


if __name__ == "__main__":
    main()
