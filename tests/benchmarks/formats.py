"""Formats and streams, measured: how fast files are read and written, what a look-ahead costs, what fuzzing finds.

    python tests/benchmarks/formats.py speed                 # words a second, per format; Markdown
    python tests/benchmarks/formats.py lookahead             # agreement of streams with whole texts, per look-ahead
    python tests/benchmarks/formats.py lookahead --train 400 # the same with a model of its own, and an honest F1
    python tests/benchmarks/formats.py fuzz --seconds 5      # damaged examples into every reader; exits 1 on a crash

`lookahead` reads WikiPunct from --data or CRFPUNCT_DATA (default ../shared/data) and tags the documents of one fold.
A shipped model was trained on them, so of such a model only the agreement with its own tagging of whole documents
means anything, and its F1 is no score. With --train N, a model is trained first on N documents of the other folds.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crfpunct import formats
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats.clntmstmp import Times
from crfpunct.marks import Typography, attach
from crfpunct.punctuator import Punctuator
from crfpunct.restorer import load
from crfpunct.scoring import poleval
from crfpunct.stream import Stream
from crfpunct.training import Options, estimator, fold_of, without_times

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
LOOKAHEADS = (2, 4, 8, 16, 32)
SYLLABLES = ["ka", "to", "wi", "ma", "zu", "łó", "że", "ść", "ra", "le", "no", "pi"]
ONE_A_FILE = ("srt", "vtt", "aligned", "clntmstmp", "whisper")
FOLDS = 5
PIECES = [
    b"",
    b"",
    b"\n",
    b"\r",
    b"\x00",
    b"\xff",
    b"\\ud800",
    b"9" * 30,
    b"-1",
    b"-->",
    b"<",
    b'"',
    b"{",
    b"]",
    b"|",
    b"\t",
]
PIECES += ["\u2028".encode(), b"NaN", b"1e999", b"&#0;"]


def texts(words: int, length: int) -> list[Document]:
    """Documents of made-up words with times, without marks."""
    generator = random.Random(0)
    made = ["".join(generator.choices(SYLLABLES, k=generator.randint(1, 5))) for _ in range(words)]
    documents = []
    for start in range(0, words, length):
        part = made[start : start + length]
        begins = np.arange(len(part), dtype=np.int64) * 400
        documents.append(Document(f"d{start}", part, np.stack([begins, begins + 300], axis=1)))
    return documents


def raw_of(format: str, documents: Sequence[Document]) -> bytes:
    """A file with the documents."""
    if format == "wikipunct":
        return "".join(f"{d.id}\t{' '.join(d.words)}\n" for d in documents).encode()
    if format == "poleval2022":
        lines = []
        for d in documents:
            assert d.times_ms is not None
            pairs = zip(d.words, d.times_ms.tolist(), strict=True)
            lines.append(f"a.wav\t{d.id}\t" + " ".join(f"{word}:{start}-{end}" for word, (start, end) in pairs))
        return "\n".join(lines).encode() + b"\n"
    out = io.StringIO()
    formats.write(documents, out, format, Typography())
    return out.getvalue().encode()


def speed(words: int) -> None:
    """Every format read, and written with marks on every seventh word: the best of three."""
    print("| format | read, words/s | written, words/s | together |\n|---|---:|---:|---:|")
    for format in formats.names():
        if format == "sentences":
            continue
        raw = raw_of(format, texts(words, words if format in ONE_A_FILE else 500))
        reading = writing = float("inf")
        count = 0
        for _ in range(3):
            start = time.perf_counter()
            documents = list(formats.module(format).read(io.BytesIO(raw), "x"))
            reading = min(reading, time.perf_counter() - start)
            count = sum(len(document.words) for document in documents)
            for document in documents:
                document.marks = ["" if i % 7 else "." for i in range(len(document.words))]
            start = time.perf_counter()
            formats.write(documents, io.StringIO(), format, Typography())
            writing = min(writing, time.perf_counter() - start)
        assert count == words, f"{format}: {count} words read, {words} written"
        rates = [f"{count / seconds:,.0f}" for seconds in (reading, writing, reading + writing)]
        print(f"| {format} | {' | '.join(rates)} |")


def streamed(punctuator: Punctuator, document: Document, lookahead: int) -> list[str]:
    """The marks of a document whose words come one at a time."""
    stream = Stream(punctuator, lookahead)
    times = [[-1, -1]] * len(document.words) if document.times_ms is None else document.times_ms.tolist()
    given = []
    for word, (start, end) in zip(document.words, times, strict=True):
        given += stream.put(word, start, end)
    given += stream.end()
    assert [word for word, _ in given] == document.words
    return [mark for _, mark in given]


def weighted_f1(documents: Sequence[Document], reference: Sequence[list[str]], found: Sequence[list[str]]) -> float:
    """PolEval weighted F1 (rule:all)."""
    lines = [
        [" ".join(attach(d.words, marks)) for d, marks in zip(documents, side, strict=True)]
        for side in (reference, found)
    ]
    return poleval.counts(*lines).weighted_f1("all")


def lookahead(data: Path, model: str, train: int, fold: int, limit: int) -> None:
    """Tables of look-aheads, with and without times."""
    folder = data / "wikipunct"
    corpus = Times(folder / "fa" / "poleval_fa.train.tar.gz").attach(formats.read_punctuated(folder / "train"))
    timed = [document for document in corpus if document.times_ms is not None]
    chosen = [document for document in timed if fold_of(document, FOLDS) == fold][:limit]
    if train:
        others = [document for document in timed if fold_of(document, FOLDS) != fold][:train]
        options = Options(max_iterations=40)
        text = estimator(options, timed=False).fit(without_times(others)).chain_
        punctuator = Punctuator(text, estimator(options, timed=True).fit(others).chain_)
    else:
        restored = load(model).punctuator
        assert restored is not None, "the model has no punctuation part"
        punctuator = restored
    gold = [document.marks or [] for document in chosen]
    total = sum(map(len, gold))
    for condition, documents in (("text only", without_times(chosen)), ("with times", chosen)):
        whole = punctuator.marks(documents)
        of_whole = weighted_f1(documents, gold, whole)
        print(f"\n{condition}: {len(documents)} documents, {total} words; F1 of whole documents: {of_whole:.2f}\n")
        print(
            "| look-ahead | same mark | F1, whole documents as reference | F1 against the gold, difference | µs/word |"
        )
        print("|---:|---:|---:|---:|---:|")
        for ahead in LOOKAHEADS:
            start = time.perf_counter()
            found = [streamed(punctuator, document, ahead) for document in documents]
            micros = (time.perf_counter() - start) / total * 1e6
            same = sum(a == b for x, y in zip(found, whole, strict=True) for a, b in zip(x, y, strict=True)) / total
            print(
                f"| {ahead} | {100 * same:.2f} % | {weighted_f1(documents, whole, found):.2f} "
                f"| {weighted_f1(documents, gold, found) - of_whole:+.2f} | {micros:.0f} |",
                flush=True,
            )


def damaged(raw: bytes, generator: random.Random) -> bytes:
    """Bytes with a few pieces cut, doubled or replaced."""
    for _ in range(generator.randint(1, 6)):
        start = generator.randint(0, len(raw))
        end = min(len(raw), start + generator.choice([0, 1, 1, 2, 5, 50, 500]))
        piece = generator.choice([*PIECES, raw[start:end] * 2, generator.randbytes(3)])
        raw = raw[:start] + piece + raw[end:]
    return raw


def fuzz(seconds: float, seed: int) -> bool:
    """Damaged examples, read, marked and written; whether nothing but CorpusError was raised, and nothing hung."""
    generator = random.Random(seed)
    fine = True
    print("| format | files | refused | slowest, ms |\n|---|---:|---:|---:|")
    for format in formats.names():
        if format == "sentences":
            continue
        seeds = [raw_of(format, texts(30, 30)), *(p.read_bytes() for p in EXAMPLES.glob("rozmowa*"))]
        until = time.perf_counter() + seconds
        files = refused = 0
        slowest = 0.0
        while time.perf_counter() < until:
            raw = damaged(generator.choice(seeds[:1] * 4 + seeds), generator)
            files += 1
            start = time.perf_counter()
            try:
                documents = list(formats.module(format).read(io.BytesIO(raw), "x"))
                for document in documents:
                    document.check().marks = [generator.choice([".", ",", "-", ""]) for _ in document.words]
                formats.write(documents, io.TextIOWrapper(io.BytesIO(), "utf-8"), format, Typography())
            except CorpusError:
                refused += 1
            except Exception as error:
                fine = False
                print(f"{format}: {type(error).__name__}: {error}; seed {seed}, input {raw!r}", file=sys.stderr)
            slowest = max(slowest, time.perf_counter() - start)
        fine = fine and slowest < 10
        print(f"| {format} | {files:,} | {refused:,} | {1000 * slowest:.0f} |", flush=True)
    return fine


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "lookahead", "fuzz"])
    parser.add_argument("--words", type=int, default=40_000)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CRFPUNCT_DATA", "../shared/data")))
    parser.add_argument("--train", type=int, default=0, metavar="N")
    parser.add_argument("--model", default="pl")
    parser.add_argument("--fold", type=int, default=0)
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each format")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.what == "speed":
        speed(given.words)
    elif given.what == "lookahead":
        lookahead(given.data, given.model, given.train, given.fold, given.documents)
    elif not fuzz(given.seconds, given.seed):
        sys.exit(1)


if __name__ == "__main__":
    main()
