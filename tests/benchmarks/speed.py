"""Speed on one core, beside plain Python, python-crfsuite and (if torch is installed) BERT: one Markdown table.

    python tests/benchmarks/speed.py --model pl            # about six minutes
    python tests/benchmarks/speed.py --model pl --quick    # a minute, smaller numbers, rougher

Reads the data folder from --data or CRFPUNCT_DATA (default ../shared/data). Rates are words per second of processor
time (of this process, or of the command and all it starts), so that other people's load weighs less; each is the best
of several runs. "New text" is Polish prose, debate and newspapers, or English talks, lower-cased, without marks, no
document twice, met for the first time: of the Polish words an eighth are new word types. "Met before" is WikiPunct
after one pass. The English text is tagged with the same model, since speed is asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import lzma
import os
import pickle
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

import crfpunct
from crfpunct import formats, marks, parallel
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.formats.clntmstmp import Times
from crfpunct.observations import normal
from crfpunct.restorer import BATCH_TOKENS, Restorer
from crfpunct.tables import Tables

TEXTS = ("nkjp.txt", "poquad-passages.txt", "sejm-1991.txt", "poquad-summaries.txt")
LINE = "dzień dobry panie janie jak się pan miewa dzisiaj rano"
COMMAND = [sys.executable, "-c", "from crfpunct.cli import main; main()", "--quiet", "tag"]
#: Runs a command and prints what it used. A process of its own, because a child's peak memory begins with its parent's.
WATCH = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(code)
"""


# ---------------------------------------------------------------- texts


def polish(data: Path) -> Iterator[str]:
    """The lines of the shared Polish texts."""
    for name in TEXTS:
        yield from (data / "pl-text" / name).read_text(encoding="utf-8").splitlines()


def english(data: Path) -> Iterator[str]:
    """The lines of the shared English text."""
    with lzma.open(data / "en-text" / "ted.txt.xz", "rt", encoding="utf-8") as lines:
        yield from lines


def new_text(lines: Iterable[str], words: int) -> list[Document]:
    """Documents as a recogniser would write them, in lower case and without marks, up to so many words."""
    found: list[Document] = []
    left = words
    for line in lines:
        bare = marks.strip(line.lower().split())[0][:left]
        if bare:
            found.append(Document("", bare))
            left -= len(bare)
        if not left:
            break
    return found


def batches(documents: Sequence[Document]) -> list[list[Document]]:
    """As `Restorer.tag` makes them."""
    made: list[list[Document]] = [[]]
    tokens = 0
    for document in documents:
        if tokens >= BATCH_TOKENS:
            made.append([])
            tokens = 0
        made[-1].append(document)
        tokens += len(document.words)
    return made


def count(documents: Sequence[Document]) -> int:
    return sum(len(document.words) for document in documents)


# ---------------------------------------------------------------- measuring


def seconds(work: Callable[[], object], runs: int) -> float:
    """Processor time of the fastest run."""
    best = float("inf")
    for _ in range(runs):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def command(arguments: Sequence[str]) -> tuple[float, float]:
    """Processor seconds and peak memory in MB of `crfpunct tag` with these arguments."""
    watch = [sys.executable, "-c", WATCH, *COMMAND, *arguments]
    # As users have it: modules are compiled to byte code once.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(watch, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    took, memory = done.stdout.split()
    return float(took), float(memory)


def floor(source: Path, target: Path, table: dict[str, str]) -> None:
    """What any program in Python does at least: read, split, look each word up, join, write."""
    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
        for line in lines:
            out.write(" ".join([table.get(word, word) for word in line.split()]) + "\n")


# ---------------------------------------------------------------- CRFsuite


class CrfsuitePipeline:
    """The usual way: string features made in Python, python-crfsuite's tagger; the same templates as the model's."""

    def __init__(self, chain: LinearChain, corpus: Sequence[Document], folder: Path, iterations: int) -> None:
        import pycrfsuite

        self.chain = chain
        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.set_params({"c1": 0.5, "c2": 0.5, "max_iterations": iterations, "feature.minfreq": 2})
        for document in corpus:
            trainer.append(self.features(document.words), [mark or "O" for mark in document.marks or ()])
        path = str(folder / "crfsuite.model")
        trainer.train(path)
        self.tagger = pycrfsuite.Tagger()
        self.tagger.open(path)

    def features(self, words: Sequence[str]) -> list[list[str]]:
        """A list of attribute strings per token."""
        index = self.chain.index
        forms = [normal(word) for word in words]
        used = {o for template in index.templates for o, _ in template.use}
        columns = {o: [o.of_word(form, index.lexicons) for form in forms] for o in used}
        size = len(words)
        rows = []
        for t in range(size):
            row = []
            for template in index.templates:
                values = [columns[o][t + k] if 0 <= t + k < size else "#" for o, k in template.use]
                row.append(template.name + ":" + "|".join(values))
            rows.append(row)
        return rows

    def tag(self, documents: Sequence[Document]) -> None:
        for document in documents:
            self.tagger.tag(self.features(document.words))


# ---------------------------------------------------------------- the table


class Report:
    """Rows of the table: a rate each, with what it is times those of CRFsuite and of the floor."""

    def __init__(self) -> None:
        self.rates: list[tuple[str, float]] = []
        self.others: list[tuple[str, str]] = []
        self.crfsuite = float("nan")
        self.floor = float("nan")

    def rate(self, what: str, words: int, took: float) -> float:
        self.rates.append((what, words / took))
        print(f"{what}: {words / took:,.0f} words/s", file=sys.stderr)
        return words / took

    def other(self, what: str, value: str) -> None:
        self.others.append((what, value))
        print(f"{what}: {value}", file=sys.stderr)

    def print(self) -> None:
        print("| | words/s | times the CRFsuite pipeline | floor / this |\n|---|--:|--:|--:|")
        for what, rate in self.rates:
            print(f"| {what} | {_rounded(rate):,} | {rate / self.crfsuite:.3g} | {self.floor / rate:.3g} |")
        print("\n| | |\n|---|--:|")
        for what, value in self.others:
            print(f"| {what} | {value} |")


def _rounded(rate: float) -> int:
    digits = max(0, len(str(int(rate))) - 3)
    return round(rate / 10**digits) * 10**digits


@contextlib.contextmanager
def temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def measure(data: Path, model: str, quick: bool) -> Report:
    """All of it."""
    report = Report()
    restorer = crfpunct.load(model)
    text = restorer.punctuator.text
    runs = 2 if quick else 5
    size = 100_000 if quick else 1_000_000
    prose, talks = new_text(polish(data), size), new_text(english(data), size)
    wikipunct = list(formats.read_punctuated(data / "wikipunct" / "train"))[: 100 if quick else None]
    with temporary() as folder:
        source, target = folder / "in.txt", folder / "out.txt"
        source.write_text("".join(" ".join(d.words) + "\n" for d in prose), encoding="utf-8")
        table = {word: word + "," for d in wikipunct for word in d.words}
        took = seconds(lambda: floor(source, target, table), runs)
        report.floor = report.rate("the floor: read, split, look up, join, write in plain Python", count(prose), took)
        in_process(report, restorer, prose, talks, wikipunct, data, runs)
        end_to_end(report, model, prose, source, target, runs)
        two_jobs(report, model, prose, source, target, runs)
        crfsuite(report, text, wikipunct, folder, quick)
        small_and_large(report, restorer, model, prose, folder, quick)
    bert(report, quick)
    return report


def in_process(
    report: Report,
    restorer: Restorer,
    prose: Sequence[Document],
    talks: Sequence[Document],
    wikipunct: Sequence[Document],
    data: Path,
    runs: int,
) -> None:
    """Words that are split already."""
    text, timed = restorer.punctuator.text, restorer.punctuator.timed
    for language, documents in (("Polish", prose), ("English", talks)):
        cut = batches(documents)
        fresh = iter([Tables(text) for _ in range(runs)])
        took = seconds(lambda cut=cut, fresh=fresh: [*map(next(fresh).decode, cut)], runs)
        report.rate(f"ours, in process, new text, {language}", count(documents), took)
    if restorer.truecaser is not None:
        # Copies know no words yet.
        copies = iter([compiled(pickle.loads(pickle.dumps(restorer))) for _ in range(2 * runs)])
        took = [seconds(lambda case=case: [*next(copies).tag(prose, case=case)], runs) for case in (False, True)]
        report.rate("ours, in process, new text, Polish, marks and case", count(prose), took[1])
        report.other("what case costs, times what marks cost", f"{took[1] / took[0] - 1:.2f}")
    tables = Tables(text)
    cut = batches([Document(d.id, d.words) for d in wikipunct])
    took = seconds(lambda: [*map(tables.decode, cut)], runs + 1)
    report.rate("ours, in process, met before", count(wikipunct), took)
    took = seconds(lambda: [*map(tables.marginals, cut)], runs)
    report.rate("ours, in process, met before, marginals", count(wikipunct), took)
    if timed is not None:
        times = Times(data / "wikipunct" / "fa" / "poleval_fa.train.tar.gz")
        spoken = [d for d in times.attach(iter(wikipunct)) if d.times_ms is not None]
        tables, cut = Tables(timed), batches(spoken)
        took = seconds(lambda: [*map(tables.decode, cut)], runs + 1)
        report.rate("ours, in process, met before, with times", count(spoken), took)


def compiled(restorer: Restorer) -> Restorer:
    """The restorer, its tables made."""
    restorer.restore("a")
    return restorer


def end_to_end(report: Report, model: str, prose: Sequence[Document], source: Path, target: Path, runs: int) -> None:
    """`crfpunct tag` from file to file, less what it takes for one short line."""
    short = source.with_name("short.txt")
    short.write_text(LINE + "\n", encoding="utf-8")
    for option, what in (["--no-case"], "marks"), ([], "marks and case"):
        arguments = ["--model", model, "-o", str(target), *option]
        start_up = min(command([str(short), *arguments])[0] for _ in range(runs + 1))
        took = min(command([str(source), *arguments])[0] for _ in range(runs))
        report.rate(f"ours, `crfpunct tag` from file to file, {what}, less start-up", count(prose), took - start_up)
        report.other(f"`crfpunct tag` of one short line, {what}, processor time", f"{1000 * start_up:.0f} ms")


def two_jobs(report: Report, model: str, prose: Sequence[Document], source: Path, target: Path, runs: int) -> None:
    """Shards of one file over two processes; wall time, once the workers are there."""
    took = {}
    for jobs in (1, 2):
        took[jobs] = float("inf")
        for _ in range(runs + 1):
            began = time.perf_counter()
            with open(target, "wb") as out:
                size = max(1 << 16, source.stat().st_size // 8)
                parallel.tag_lines(source, parallel.LineTagger(model, case=False), jobs, out, size)
            took[jobs] = min(took[jobs], time.perf_counter() - began)
    report.rate("ours, file to file, one process, wall time", count(prose), took[1])
    report.rate("ours, file to file, two jobs, wall time", count(prose), took[2])


def crfsuite(report: Report, text: LinearChain, wikipunct: Sequence[Document], folder: Path, quick: bool) -> None:
    """python-crfsuite with string features; fewer words, since it takes its time."""
    corpus = wikipunct[: 40 if quick else 400]
    pipeline = CrfsuitePipeline(text, corpus, folder, 3 if quick else 10)
    tagged = wikipunct[: 40 if quick else 200]
    features = [pipeline.features(d.words) for d in tagged]
    took = seconds(lambda: [pipeline.features(d.words) for d in tagged], 2)
    report.rate("python-crfsuite, features only (strings in Python)", count(tagged), took)
    took = seconds(lambda: [pipeline.tagger.tag(rows) for rows in features], 2)
    report.rate("python-crfsuite, tagging only", count(tagged), took)
    took = seconds(lambda: pipeline.tag(tagged), 2)
    report.crfsuite = report.rate("python-crfsuite, features and tagging", count(tagged), took)


def small_and_large(
    report: Report, restorer: Restorer, model: str, prose: Sequence[Document], folder: Path, quick: bool
) -> None:
    """One short line, a line of a million words, ten million words; loading and compiling."""
    loading = seconds(lambda: crfpunct.load(model), 5)
    report.other("loading the model for text without times or case, checksums included", f"{1000 * loading:.0f} ms")
    loading = seconds(lambda: whole(crfpunct.load(model)), 5)
    report.other("loading all of it", f"{1000 * loading:.0f} ms")
    compiling = seconds(lambda: Tables(restorer.punctuator.text), 5)
    report.other("compiling its text-only tables, when first needed", f"{1000 * compiling:.0f} ms")
    for what, work in (
        ("a line of 10 words, decoded", lambda: restorer.punctuator.marks([Document("", LINE.split())])),
        ("a line of 10 words, `restore`, marks and case", lambda: restorer.restore(LINE)),
    ):
        work()
        samples = []
        for _ in range(500 if quick else 5000):
            began = time.perf_counter()
            work()
            samples.append(1e6 * (time.perf_counter() - began))
        median, late = np.percentile(samples, [50, 99])
        report.other(what, f"median {median:.0f} µs, 99th percentile {late:.0f} µs")
    words = [word for document in prose for word in document.words]
    size = 200_000 if quick else 1_000_000
    long = Document("", (words * (1 + size // len(words)))[:size])
    tables = Tables(restorer.punctuator.text)
    tables.decode([long])
    report.rate(f"ours, in process, one line of {size:,} words", size, seconds(lambda: tables.decode([long]), 2))
    path, target = folder / "large.txt", folder / "large.out"
    path.write_text(" ".join(long.words) + "\n", encoding="utf-8")
    took, memory = command([str(path), "--no-case", "--model", model, "-o", str(target)])
    report.other(f"peak memory, one line of {size:,} words", f"{memory:.0f} MB")
    lines = [" ".join(document.words) for document in prose]
    size = 1_000_000 if quick else 10_000_000
    left = size
    shuffled = random.Random(0)
    with open(path, "w", encoding="utf-8") as out:
        while left > 0:
            shuffled.shuffle(lines)
            for line in lines:
                out.write(line + "\n")
                left -= line.count(" ") + 1
                if left <= 0:
                    break
    took, memory = command([str(path), "--no-case", "--model", model, "-o", str(target)])
    report.rate(f"ours, `crfpunct tag`, {size:,} words, start-up included", size - left, took)
    report.other(f"peak memory, {size:,} words in many lines", f"{memory:.0f} MB")


def whole(restorer: Restorer) -> None:
    """Load what is loaded when it is first needed."""
    restorer.punctuator.timed, restorer.truecaser  # noqa: B018


def bert(report: Report, quick: bool) -> None:
    """A BERT-base of random weights: 12 layers of 768, batches of 8 × 256 sub-words, 1.4 sub-words a word."""
    try:
        import torch
    except ImportError:
        report.other("BERT-base, random weights", "not measured: torch is not installed")
        return
    torch.set_num_threads(1)
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).eval()
    given = torch.randn(1 if quick else 8, 256, 768)
    with torch.inference_mode():
        took = seconds(lambda: encoder(given), 2)
    words = round(given.shape[0] * 256 / 1.4)
    report.rate(f"BERT-base, random weights, torch {torch.__version__}, one thread", words, took)


def main() -> None:
    """Run what the command line asks for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CRFPUNCT_DATA", "../shared/data")))
    parser.add_argument("--model", default="pl", help="a model folder, or the name of a shipped model")
    parser.add_argument("--quick", action="store_true", help="less text, fewer runs")
    arguments = parser.parse_args()
    measure(arguments.data, arguments.model, arguments.quick).print()


if __name__ == "__main__":
    main()
