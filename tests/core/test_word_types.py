"""Words as numbers: the same word has the same one, whatever else is numbered, in bounded memory."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import word_types
from crfpunct.casing import WRITTEN_SIGNS
from crfpunct.document import Document
from crfpunct.marks import any_marked
from crfpunct.word_types import CASED, MARKED, SIGNED, Vocabulary

words = st.lists(
    st.text("abŻ.,\"'(", max_size=3) | st.sampled_from(["kot", "Kot", "kot.", '"kot"', "", "İ"]), max_size=6
)
documents = st.lists(words.map(lambda chosen: Document("", chosen)), max_size=6)


def spelled(numbered) -> list[list[str]]:
    """The normal forms that the numbers stand for, of each text."""
    forms = [""]
    while len(forms) < len(numbered.of):
        forms += numbered.of.forms(len(forms)).words
    found = [forms[number] for number in numbered.types.tolist()]
    ends = np.cumsum(numbered.lengths).tolist()
    return [found[end - length : end] for end, length in zip(ends, numbered.lengths.tolist(), strict=True)]


@settings(max_examples=200)
@given(st.lists(documents, min_size=1, max_size=4), st.sampled_from([0, 4, 1 << 17]))
def test_a_number_stands_for_its_word(batches, cached):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_types, "CACHED_TYPES", cached)
        vocabulary = Vocabulary()
        kept = [(batch, vocabulary.number(batch)) for batch in batches]
    for batch, numbered in kept:  # those of the first ones too, when others have been numbered since
        assert spelled(numbered) == spelled(Vocabulary().number(batch))
        texts = [document.words for document in batch]
        assert numbered.with_trait(MARKED) == [any_marked(text) for text in texts]
        assert numbered.with_trait(SIGNED) == [any(sign in "".join(text) for sign in WRITTEN_SIGNS) for text in texts]
        assert numbered.with_trait(CASED) == [text != [word.lower() for word in text] for text in texts]


@settings(max_examples=200)
@given(documents, st.data(), st.sampled_from([0, 1 << 17]))
def test_changed_texts_are_numbered_anew(batch, data, cached):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_types, "CACHED_TYPES", cached)
        vocabulary = Vocabulary()
        numbered = vocabulary.number(batch)
        changed = [data.draw(st.booleans()) for _ in batch]
        other = [Document("", data.draw(words)) if new else old for old, new in zip(batch, changed, strict=True)]
        found = numbered.changed(other, changed)
    assert spelled(found) == spelled(Vocabulary().number(other))
    assert found.lengths.tolist() == [len(document.words) for document in other]


def test_a_copy_starts_empty():
    vocabulary = Vocabulary()
    numbered = vocabulary.number([Document("", ["kot"])])
    for copied in (copy.copy(vocabulary), pickle.loads(pickle.dumps(vocabulary))):
        assert copied.number([Document("", ["kot"])]).of is not numbered.of


def test_endless_new_words_start_afresh(monkeypatch):
    monkeypatch.setattr(word_types, "CACHED_TYPES", 50)
    vocabulary = Vocabulary()
    for i in range(0, 500, 10):
        numbered = vocabulary.number([Document("", [f"w{j}" for j in range(i, i + 10)])])
        assert len(numbered.of) <= 50 + 11
