"""Classes for words that no text had: a decision list of word endings (Rivest 1987; as in Mikheev 1997 for tags).

The longest ending known decides. An ending is worth its line if the words of the vocabulary that end in it and in
nothing longer are told apart better with it than without.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from crfpunct.observations import normal

Classes = tuple[int, ...]  # the class of a word in each granularity

LONGEST = 5  # characters of an ending
_LEAST_GAIN = 4  # words of the vocabulary, over all granularities, that an ending must set right to be kept


def learn(table: Mapping[str, Classes], longest: int = LONGEST, least_gain: int = _LEAST_GAIN) -> dict[str, Classes]:
    """Ending -> classes, from words and their classes; the ending `""` holds for every word.

    Of each ending the commonest class in each granularity is taken (the lowest number where two are as common); every
    word counts once, since what is still unseen is like rare words, not like frequent ones.
    """
    granularities = len(next(iter(table.values()), ()))
    counts: defaultdict[str, list[Counter[int]]] = defaultdict(lambda: [Counter() for _ in range(granularities)])
    for word, classes in table.items():
        for length in range(min(longest, len(word)) + 1):
            ending = word[len(word) - length :]
            if normal(f"*{ending}") == f"*{ending}":  # else a lexicon file would take it for another one
                for counter, number in zip(counts[ending], classes, strict=True):
                    counter[number] += 1
    endings: dict[str, Classes] = {}
    for ending in sorted(counts, key=lambda e: (len(e), e)):
        best = tuple(min(counter, key=lambda c: (-counter[c], c)) for counter in counts[ending])
        if not ending:
            endings[ending] = best
            continue
        without = of(ending[1:], endings, longest)
        pairs = zip(counts[ending], best, without, strict=True)
        if sum(counter[new] - counter[old] for counter, new, old in pairs) >= least_gain:
            endings[ending] = best
    return endings


def of(word: str, endings: Mapping[str, Classes], longest: int = LONGEST) -> Classes:
    """The classes of the longest ending of a word; `endings` has one for `""`.

    >>> of("kotami", {"": (0,), "i": (1,), "ami": (2,)}), of("kot", {"": (0,), "i": (1,)})
    ((2,), (0,))
    """
    for start in range(max(len(word) - longest, 0), len(word)):
        if word[start:] in endings:
            return endings[word[start:]]
    return endings[""]
