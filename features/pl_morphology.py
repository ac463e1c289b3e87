"""Makes `pl-morphology.txt.xz`: what Morfeusz says of the words of Polish texts, as classes for feature files.

    pip install 'crfpunct[pl]'
    python features/pl_morphology.py TEXT... --out features/pl-morphology.txt.xz

Morfeusz 2 (Kieraś & Woliński 2017; BSD-2-Clause) and its dictionary SGJP (BSD-2-Clause) are needed here only: training
and tagging read the table. A word has two classes: the parts of speech that it can be, and the cases that it can stand
in (for words without case its parts of speech again). Words that are not in the table get theirs by their endings.
"""

from __future__ import annotations

import argparse
import lzma
from collections import Counter
from collections.abc import Hashable, Mapping

from crfpunct import formats
from crfpunct.clusters import endings
from crfpunct.marks import strip
from crfpunct.observations import normal

# Classes of the tagset of NKJP (Przepiórkowski et al. 2012, chapter 6), joined where they are alike before a mark.
_AS_THEY_ARE = (
    "ppas",
    "pact",
    "adv",
    "impt",
    "imps",
    "inf",
    "ger",
    "prep",
    "conj",
    "comp",
    "pred",
    "interj",
    "brev",
    "dig",
)
_PART = {
    **dict.fromkeys(("subst", "depr"), "noun"),
    **dict.fromkeys(("adj", "adja", "adjp", "adjc"), "adj"),
    **dict.fromkeys(("fin", "bedzie"), "fin"),
    **dict.fromkeys(("praet", "winien"), "praet"),
    **dict.fromkeys(("pcon", "pant"), "pcon"),
    **dict.fromkeys(("part", "qub"), "part"),
    **dict.fromkeys(("num", "numcol"), "num"),
    **dict.fromkeys(("ppron12", "ppron3", "siebie"), "pron"),
    **{
        name: name
        for name in [
            "ppas",
            "pact",
            "adv",
            "impt",
            "imps",
            "inf",
            "ger",
            "prep",
            "conj",
            "comp",
            "pred",
            "interj",
            "brev",
            "dig",
        ]
    },
}
_WITH_CASE = {"subst", "depr", "adj", "ppas", "pact", "ger", "num", "numcol", "ppron12", "ppron3", "siebie"}
_CASES = {"nom", "gen", "dat", "acc", "inst", "loc"}
_MOST_PARTS, _MOST_CASES = 63, 95  # different classes kept; with "unseen" and "edge" small enough for product tables
_RARE = 3  # occurrences up to which a word says how unseen words are classed
_LEAST_GAIN = 6  # words that an ending must set right to be worth a line

Readings = tuple[frozenset[str], frozenset[str]]


def readings(word: str, morfeusz: object) -> Readings | None:
    """The parts of speech and the cases that a word can have; None where Morfeusz does not know it."""
    found = morfeusz.analyse(word)  # type: ignore[attr-defined]
    tags = [reading[2].split(":") for start, _, reading in found if start == 0]
    parts = {_PART[tag[0]] for tag in tags if tag[0] in _PART}
    if not parts or any(reading[2] == "ign" for _, _, reading in found):
        return None
    if len(parts) > 1:
        parts -= {"interj", "brev"}  # which nearly every short word can be, and hardly ever is
    cases = {value for tag in tags if tag[0] in _WITH_CASE for field in tag[1:] for value in field.split(".")}
    return frozenset(parts), frozenset(cases & _CASES or {f"-{part}" for part in parts})


def commonest(classes: Mapping[str, frozenset[str]], count: Counter[str], most: int) -> dict[str, str]:
    """Word -> the name of its class; of rare classes, the largest common one that they contain."""
    total: Counter[frozenset[str]] = Counter()
    for word, found in classes.items():
        total[found] += count[word]
    kept = [found for found, _ in sorted(total.items(), key=lambda item: (-item[1], sorted(item[0])))[:most]]
    nearest = {found: max((k for k in kept if k <= found), key=len, default=kept[0]) for found in total}
    return {word: ".".join(sorted(nearest[found])) for word, found in classes.items()}


def numbered(names: Mapping[str, Hashable]) -> tuple[dict[str, int], list[Hashable]]:
    """Word -> number of its class, and the classes by number."""
    known = sorted(set(names.values()), key=str)
    place = {name: number for number, name in enumerate(known)}
    return {word: place[name] for word, name in names.items()}, known


def main() -> None:
    """Read texts, write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    import morfeusz2

    morfeusz = morfeusz2.Morfeusz(generate=False)
    count: Counter[str] = Counter()
    for path in arguments.texts:
        for document in formats.read(path):
            for word in strip(document.words)[0]:
                count.update(part for part in normal(word).split("-") if part)
    found = {word: known for word in count if (known := readings(word, morfeusz))}
    parts, part_names = numbered(commonest({w: r[0] for w, r in found.items()}, count, _MOST_PARTS))
    cases, case_names = numbered(commonest({w: r[1] for w, r in found.items()}, count, _MOST_CASES))
    table = {word: (parts[word], cases[word]) for word in found}
    by_ending = endings.learn({word: c for word, c in table.items() if count[word] <= _RARE}, least_gain=_LEAST_GAIN)
    lines = {
        word: classes
        for word, classes in table.items()
        if count[word] > 1 and normal(word) == word and word[0] not in "*#" and endings.of(word, by_ending) != classes
    }
    lines |= {f"*{ending}": classes for ending, classes in by_ending.items()}
    comments = [
        "Polish morphology: word, or * and an ending, TAB parts of speech TAB cases.",
        "From Morfeusz 2 and its dictionary SGJP (Zygmunt Saloni et al.), both BSD-2-Clause: https://morfeusz.sgjp.pl",
        "Made by features/pl_morphology.py; which words are listed follows from the texts that it was given.",
    ]
    rows = [f"{word}\t{part_names[p]}\t{case_names[c]}" for word, (p, c) in sorted(lines.items())]
    text = "\n".join([*(f"# {comment}" for comment in comments), *rows, ""])
    with lzma.open(arguments.out, "wb", preset=9 | lzma.PRESET_EXTREME) as out:
        out.write(text.encode())
    print(f"{len(lines):,} lines; {len(found):,} of {len(count):,} words are known to Morfeusz")


if __name__ == "__main__":
    main()
