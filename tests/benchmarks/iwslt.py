"""IWSLT 2012: a model from TED talks, scored on the development talks (docs/recipes/iwslt.md).

    python tests/benchmarks/iwslt.py                     # prepares, learns word classes, trains, scores
    python tests/benchmarks/iwslt.py --words 150000      # of a smaller part of the talks: minutes
    python tests/benchmarks/iwslt.py --prepare < talks.txt > talks.tsv     # only the text, as the IWSLT files have it

Reads the data folder from --data or CRFPUNCT_DATA (default ../shared/data). The commands that it runs are printed, so
that they can be run one by one. Nothing is chosen on the development talks: the bias of the model is, on every 40th of
the other talks, which are not trained on.
"""

from __future__ import annotations

import argparse
import lzma
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from crfpunct import formats, load
from crfpunct.scoring import counts as table
from crfpunct.scoring import entities

FEATURES = Path(__file__).resolve().parents[2] / "docs" / "recipes" / "iwslt.toml"
HELD_OUT = slice(6, None, 40)  # talks that are not trained on
#: What tells talks that are younger than those to be scored: a year, or the dash of later transcribers, who write fewer
#: full stops before "and".
_LATER = re.compile(r"—|201[3-9]")

_DASH = re.compile(r"\s(?:-+|[—–])(?=\s)|--+|—")
#: The IWSLT files keep a few of these as words with a full stop, it seems those of sentences that laughter cuts off.
_BROKEN_OFF = re.compile(r"\s--+\s+(?=\()")
#: Stage directions, such as (Laughter) and (Video), and editors' brackets.
_ASIDE = re.compile(r"\([^()]*\)|\[[^][]*\]")
_SIGNS = re.compile(r'["“”♫♪(){}<>*_|\[\]]')
_LABELS = {",": "COMMA", ":": "COMMA", "-": "COMMA", ".": "PERIOD", "!": "PERIOD", ";": "PERIOD", "?": "QUESTION"}
_TITLES = ("mr", "dr")
_CLITIC = re.compile(r"(?<=\w)(?:n't|'(?:s|re|m|ll))$")  # not 've and 'd


def labelled(talk: str) -> Iterator[tuple[str, str]]:
    """The words of a punctuated text as the IWSLT files write them, and the label of each.

    >>> " ".join(f"{word}/{label}" for word, label in labelled("CA: I can't! (Laughter) It's -- 'tis -- the U.S. ..."))
    "ca/COMMA i/O cannot/PERIOD it/O 's/COMMA tis/COMMA the/O us/PERIOD"
    """
    talk = _BROKEN_OFF.sub(" --. ", talk)
    talk = _SIGNS.sub("", _ASIDE.sub(" ", talk)).replace("…", "...")
    talk = _DASH.sub(lambda dash: dash[0] if talk[dash.end() : dash.end() + 1] == "." else " - ", talk)
    found: list[list[str]] = []
    for token in talk.split():
        word = token.rstrip(",:;.!?-'")
        mark = token[len(word) :].rstrip("'")[-1:]
        word = "--" if token == "--." else word.lstrip("'.,-").lower()
        if not word:
            # A mark on its own belongs to the word before; a dash adds nothing to another mark.
            if found and mark and not (mark == "-" and found[-1][1] != "O"):
                found[-1][1] = _LABELS[mark]
            continue
        label = _LABELS.get(mark, "O")
        if word in _TITLES and mark == ".":
            word, label = f"{word}.", "O"
        elif word == "can't":
            word = "cannot"
        else:
            word = word.replace(".", "")
        clitic = _CLITIC.search(word)
        if clitic:
            found.append([word[: clitic.start()], "O"])
            word = clitic[0]
        found.append([word, label])
    for word, label in found:
        yield word, label


def write(talks: Iterable[str], path: Path) -> None:
    """Write talks as words and labels, blank lines between them."""
    with path.open("w", encoding="utf-8") as out:
        for talk in talks:
            out.writelines(f"{word}\t{label}\n" for word, label in labelled(talk))
            out.write("\n")


def older(talks: Iterable[str], words: int) -> Iterator[str]:
    """The first talks that seem as old as those to be scored, until they have so many words."""
    for talk in talks:
        if not _LATER.search(talk):
            words -= len(talk.split())
            if words < 0:
                return
            yield talk


def crfpunct(folder: Path, *arguments: object) -> None:
    """Run a command in a folder and say which."""
    command = ["crfpunct", *map(str, arguments)]
    print(f"$ {shlex.join(command)}", flush=True)
    subprocess.run([str(Path(sys.executable).parent / command[0]), *command[1:]], cwd=folder, check=True)


def biases(model: Path, held_out: Path) -> None:
    """Print micro F1 on the held-out talks where the model's bias is changed, by so much for every mark."""
    documents = list(formats.read_punctuated(held_out, "conll"))
    punctuator = load(model).punctuator
    assert punctuator is not None
    print("| added to the bias | micro F1, held-out talks |\n|---|---|")
    for added in (-0.75, -0.5, -0.25, 0.0, 0.25, 0.5):
        found = punctuator.with_bias(dict.fromkeys(punctuator.marks_known, added)).marks(documents)
        confusions = entities.fold_to_iwslt(entities.confusion([d.marks or [] for d in documents], found))
        print(f"| {added:+.2f} | {table.micro_f1(entities.per_mark(confusions.sum(axis=0))):.2f} |")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CRFPUNCT_DATA", "../shared/data")))
    parser.add_argument("--prepare", action="store_true", help="talks, a line each, from standard input to output")
    parser.add_argument("--words", type=int, default=2_250_000, help="how many to train on")
    parser.add_argument("--folder", type=Path, default=Path("iwslt"), help="where texts and model are written")
    arguments = parser.parse_args()
    if arguments.prepare:
        for line in sys.stdin:
            sys.stdout.writelines(f"{word}\t{label}\n" for word, label in labelled(line))
            sys.stdout.write("\n")
        return
    texts, folder = arguments.data.resolve() / "en-text", arguments.folder
    folder.mkdir(parents=True)
    with lzma.open(texts / "ted.txt.xz", "rt", encoding="utf-8") as stream:
        talks = list(stream)
    with lzma.open(texts / "changelog.txt.xz", "rt", encoding="utf-8") as stream:
        write(stream, folder / "podcasts.tsv")
    write(talks[HELD_OUT], folder / "held-out.tsv")
    del talks[HELD_OUT]
    write(talks, folder / "talks.tsv")
    write(older(talks, arguments.words), folder / "train.tsv")
    (folder / FEATURES.name).write_bytes(FEATURES.read_bytes())
    classes = ("word-classes", "talks.tsv", "podcasts.tsv", "--classes", "64,256", "--device", "cpu")
    crfpunct(folder, *classes, "--out", "iwslt-classes.txt.xz")
    crfpunct(folder, "train", "train.tsv", "--features", FEATURES.name, "--language", "en", "--out", "model")
    biases(folder / "model", folder / "held-out.tsv")
    reference = texts / "iwslt-dev2012.tsv"
    crfpunct(folder, "tag", reference, "--model", "model", "--replace-marks", "--no-case", "--output", "dev2012.tsv")
    crfpunct(folder, "evaluate", reference, "dev2012.tsv", "--scheme", "iwslt")


if __name__ == "__main__":
    main()
