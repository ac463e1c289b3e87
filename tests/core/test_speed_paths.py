"""Ways of doing many at once against the way of doing one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct.casing import OwnCase
from crfpunct.numbering import Forms, numbering
from crfpunct.observations import FIRST_VALUE, UNSEEN, WORD_OBSERVATIONS, Observation, normal, normals
from crfpunct.templates import Lexicon

ENTRIES = {"ba": "name", "de": "verb", "żółw": "name", "zoza": "verb"}
LEXICONS = {
    "said": ENTRIES,
    "ending": Lexicon(ENTRIES, {"a": "name", "ża": "verb", "abż": "adverb"}),
    "any": Lexicon(ENTRIES, {"": "verb", "b": "name"}),
    "listed": Lexicon(ENTRIES),
    "case": OwnCase({"ba": "UPPER always many", "a": "TITLE often few", "bał": "LOWER mostly few", "a-a": "MIXED"}),
}
OBSERVATIONS = [
    *(Observation(name, n) for name in ("prefix", "suffix") for n in (1, 2, 3, 4, 7)),
    *(Observation(name) for name in WORD_OBSERVATIONS.keys() - {"prefix", "suffix"}),
    *(Observation("lexicon", 0, name) for name in LEXICONS),
]

words_of_few_letters = st.text("abżł01.-'", min_size=1, max_size=14)
any_words = st.text(min_size=1, max_size=9)  # other scripts, other digits, characters beyond 16 bits
words = st.lists(words_of_few_letters | any_words | st.sampled_from(["ba", "żółw", "1998", "mp3", '"']), max_size=12)


@settings(max_examples=300)
@given(words, words, st.sampled_from(OBSERVATIONS), st.data())
def test_numbers_of_many_words_are_those_of_each(known, others, observation, data):
    values = sorted({observation.of_word(word, LEXICONS) for word in known})
    values = [value for value in values if data.draw(st.booleans())]
    number = {value: i for i, value in enumerate(values, FIRST_VALUE)}
    expected = [number.get(observation.of_word(word, LEXICONS), UNSEEN) for word in known + others]
    found = numbering(observation, values, LEXICONS).of(Forms(known + others))
    assert found.tolist() == expected


def test_affixes_of_many_letters():
    # More of them than fit into the digits of one number.
    observation = Observation("suffix", 9)
    known = ["".join(map(chr, range(start, start + 9))) for start in range(0x4E00, 0x5E00, 9)]
    values = sorted(known)
    found = numbering(observation, values, {}).of(Forms([*values, "x" * 9, "x", "y" + values[3]]))
    number = np.arange(FIRST_VALUE, FIRST_VALUE + len(values)).tolist()
    assert found.tolist() == [*number, UNSEEN, UNSEEN, number[3]]


look_alikes = st.sampled_from(
    ["ΑΣ", "ΑΣ.", "e\u0301", "\u0301a", "I\u0307", "\u1100\u1161", "\u212b", "a\nb", "...", "!a?"]
)


@settings(max_examples=300)
@given(st.lists(look_alikes | st.text(max_size=6), max_size=8))
def test_normal_forms_of_many_words_are_those_of_each(words):
    assert normals(words) == [normal(word) for word in words]
