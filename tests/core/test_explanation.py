"""Explanations add up to what the model does, and name its weights."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import decoding
from crfpunct.attributes import Batch
from crfpunct.casing import Spelling
from crfpunct.document import Document
from crfpunct.errors import CorpusError, ModelError
from crfpunct.estimators import PunctuationCRF, TruecasingCRF
from crfpunct.explanation import Explained, Explainer, explain_case, explain_marks, state_name
from crfpunct.punctuator import Punctuator

PUNCT = """
[[template]]
name = "word"
use = ["word[{k}]"]
for = { k = [-1, 0, 1] }
[[template]]
name = "pair: both"
use = ["word[0]", "suffix2[1]"]
[[template]]
name = "gap"
use = ["gap[0]"]
[[template]]
name = "never"
use = ["word[0]", "word[1]", "word[2]", "word[3]"]
min_count = 1000
"""
CASE = """
[[template]]
name = "word"
use = ["word[0]"]
[[template]]
name = "mark before"
use = ["mark[-1]"]
"""
WORDS = ["ala", "ma", "kota", "a", "że", "tak", "12"]


def timed(words, gaps, marks=None) -> Document:
    """Words of 100 ms each with the gaps given between them."""
    starts = np.cumsum([0, *gaps])[: len(words)].astype(np.int64) + 100 * np.arange(len(words))
    return Document("d", list(words), np.stack([starts, starts + 100], axis=1), marks)


QUESTIONS = '[train]\nsplit = ["?"]\n'


@cache
def punctuator(folder, train: str = "") -> Punctuator:
    file = folder / "mine.toml"
    file.write_text(train + PUNCT, encoding="utf-8")
    random = np.random.default_rng(1)
    texts = []
    for _ in range(40):
        words = random.choice(WORDS, 9).tolist()
        gaps = random.choice([0, 60, 500, 1200], 9).tolist()
        following = [*words[1:], ""]
        end = "?" if train and "tak" in words else "."
        marks = ["," if n in ("że", "a") else end if gap > 1000 else "" for n, gap in zip(following, gaps, strict=True)]
        texts.append(timed(words, gaps, marks))
    chains = [PunctuationCRF(file, use_times=t, c1=0.01, c2=0.1, bias=0.3).fit(texts).chain_ for t in (False, True)]
    return Punctuator(*chains)


@pytest.fixture(scope="session", params=["", QUESTIONS], ids=["one neutral state", "two"])
def marker(request, tmp_path_factory) -> Punctuator:
    return punctuator(tmp_path_factory.mktemp("explained"), request.param)


@pytest.fixture(scope="session")
def truecaser(tmp_path_factory):
    file = tmp_path_factory.mktemp("case") / "mycase.toml"
    file.write_text(CASE, encoding="utf-8")
    words = ["Ala", "ma", "kota", "Tak", "rzekła", "Ala"]
    return TruecasingCRF(file, c2=0.01).fit([Document("", words, marks=["", "", ".", "", "", "."])] * 5).truecaser_


texts = st.lists(
    st.tuples(st.sampled_from([*WORDS, "nowe"]), st.sampled_from([0, 90, 700, 2000])), min_size=1, max_size=9
)


def explained(marker, pairs, with_times=True) -> Explained:
    words, gaps = zip(*pairs, strict=True)
    document = timed(words, gaps) if with_times else Document("d", list(words))
    (text,) = explain_marks(marker, [document])
    return text


@given(pairs=texts, with_times=st.booleans())
@settings(max_examples=40)
def test_the_reasons_add_up_to_the_emissions(marker, pairs, with_times):
    text = explained(marker, pairs, with_times)
    chain = text.explainer.chain
    emission = chain.emissions([text.document])
    for place in range(len(pairs)):
        decision = text.decision(place)
        for side, number in zip(("chosen", "runner_up"), text._pairs[place], strict=True):
            total = sum(getattr(reason, side) for reason in decision.attributes)
            assert total == pytest.approx(emission[place, number], abs=1e-9)
            assert getattr(decision, "label" if side == "chosen" else side) == chain.labels[number]


@given(pairs=texts, with_times=st.booleans())
@settings(max_examples=40)
def test_labels_and_probabilities_are_those_of_tagging(marker, pairs, with_times):
    text = explained(marker, pairs, with_times)
    assert text.chain == ("timed" if with_times and len(pairs) > 1 else "text")
    assert [text.found] == marker.marks([text.document])
    np.testing.assert_allclose(text.probabilities, marker.marginals([text.document])[0], atol=1e-9)
    np.testing.assert_allclose(text.probabilities.sum(axis=1), 1, atol=1e-9)
    assert text.placed == [i for i, mark in enumerate(text.found) if mark]


@given(pairs=texts)
@settings(max_examples=40)
def test_the_lead_is_what_the_path_loses_by_the_runner_up(marker, pairs):
    text = explained(marker, pairs)
    chain = text.explainer.chain
    emission = chain.emissions([text.document]) + chain.bias

    def score(path):
        steps = chain.transition[path[:-1], path[1:]].sum()
        return emission[np.arange(len(path)), path].sum() + steps

    for place in range(len(pairs)):
        decision = text.decision(place)
        assert decision.label == text.found[place] != decision.runner_up
        path = text._states
        other = np.where(np.arange(len(path)) == place, text._pairs[place, 1], path)
        assert decision.lead == pytest.approx(score(path) - score(other), abs=1e-9)
        assert decision.lead >= -1e-9
        leads = [abs(reason.lead) for reason in decision.attributes]
        assert leads == sorted(leads, reverse=True)
        probable = [
            p for label, p in zip(text.labels, text.probabilities[place], strict=True) if label != decision.label
        ]
        assert text.probability(place, decision.runner_up) == max(probable)


def test_reasons_name_what_was_seen(marker):
    text = explained(marker, [("ala", 0), ("tak", 1200), ("że", 0)])
    named = {(reason.template, reason.seen) for reason in text.decision(1).attributes}
    assert ("word", "word[1]=że") in named
    assert any(template == "gap" and seen == "gap[0]=1050–1350" for template, seen in named)
    assert text.gaps_ms.tolist() == [0, 1200, -1]
    assert [reason.seen for reason in text.decision(1).path] == ["bias", "label before: none", "label after: none"]
    assert [reason.seen for reason in text.decision(0).path][:2] == ["bias", f"label after: {text.found[1]}"]


def test_every_attribute_is_named_with_its_own_template(marker):
    for chain in (marker.text, marker.timed):
        named = [f"{template}: {seen}" for template, seen in Explainer(chain).named[1:]]
        assert named == chain.index.describe()[1:]


def test_the_strongest_attributes_are_the_largest_weights(marker):
    chain = marker.timed
    for label in chain.labels:
        positive, negative = Explainer(chain).strongest(label, 5)
        weights = np.sort(chain.weights[:, chain.labels.index(label)])
        assert [w for _, _, w in positive] == [w for w in weights[::-1][:5] if w > 0]
        assert [w for _, _, w in negative] == [w for w in weights[:5] if w < 0]


def test_shares_of_a_model_are_its_absolute_weights(marker):
    chain = marker.timed
    shares = Explainer(chain).shares()
    assert [share.use for share in shares] == [str(template) for template in chain.index.templates]
    assert sum(share.attributes for share in shares) == chain.index.count
    assert sum(share.share for share in shares) == pytest.approx(1)
    gap = next(share for share in shares if share.template == "gap")
    described = chain.index.describe()
    rows = [i for i, name in enumerate(described) if name.startswith("gap: ")]
    assert gap.share == pytest.approx(np.abs(chain.weights[rows]).sum() / np.abs(chain.weights).sum())
    assert [share.template for share in shares if share.pauses] == ["gap"]
    assert next(share for share in shares if share.template == "never").share == 0


@given(pairs=texts)
@settings(max_examples=25)
def test_shares_of_a_text_are_what_the_templates_say_at_its_marks(marker, pairs):
    text = explained(marker, pairs)
    shares = text.explainer.shares([text])
    by_template: dict[str, float] = {}
    for place in text.placed:
        for reason in text.decision(place).attributes:
            by_template[reason.template] = by_template.get(reason.template, 0.0) + abs(reason.lead)
    total = sum(by_template.values())
    assert sum(share.share for share in shares) == pytest.approx(1 if total else 0)
    for name in ("word", "gap"):
        part = sum(share.share for share in shares if share.template == name)
        assert part == pytest.approx(by_template.get(name, 0.0) / total if total else 0)


def test_the_marks_of_the_text_are_kept_to_be_shown(marker):
    document = Document("d", ["ala", "tak", "że"], marks=[".", "", ""])
    (text,) = explain_marks(marker, [document])
    assert text.given == [".", "", ""]
    (without,) = explain_marks(marker, [Document("d", ["ala", "tak", "że"])])
    assert without.given is None
    assert without.found == text.found


def test_the_chain_can_be_chosen(marker):
    document = timed(["ala", "ma", "kota"], [0, 1200, 0])
    kinds = [text.chain for chain in ("text", "timed", None) for text in explain_marks(marker, [document], chain)]
    assert kinds == ["text", "timed", "timed"]
    with pytest.raises(CorpusError, match="has no word times, which --chain timed listens to"):
        list(explain_marks(marker, [Document("d", ["ala"])], "timed"))
    with pytest.raises(ModelError, match="no CRF for texts with word times"):
        list(explain_marks(Punctuator(marker.text), [document], "timed"))


def test_case_is_explained_as_the_truecaser_decides(truecaser, marker):
    document = Document("d", ["tak", "rzekła", "ala", "ma"], marks=["", ".", "", "."])
    (text,) = explain_case(truecaser, [document])
    assert [text.found] == truecaser.classes([document])
    assert [text.words] == truecaser.words([document])
    assert text.given is None
    assert text.chain == "case"
    np.testing.assert_allclose(
        text.probabilities,
        decoding.marginals(truecaser.chain.emissions([text.document]), truecaser.chain.transition, np.array([4])),
    )
    (own,) = explain_case(truecaser, [Document("d", ["Ala", "ma"], marks=["", "."])])
    assert own.given == ["TITLE", "LOWER"]
    (placed,) = explain_case(truecaser, [Document("d", ["ala", "ma", "że"])], marker)
    assert placed.document.marks == marker.marks([Document("d", ["ala", "ma", "że"])])[0]


def test_letters_are_spelled_as_the_language_has_them(truecaser):
    turkish = type(truecaser)(truecaser.chain, Spelling(upper={"i": "İ", "ı": "I"}))
    (text,) = explain_case(turkish, [Document("d", ["İYİ"], marks=[""])])
    assert text.document.words == ["iyi"]


@given(both=st.lists(texts, min_size=2, max_size=4))
@settings(max_examples=15)
def test_texts_are_explained_together_as_alone(marker, both):
    documents = [timed(*zip(*pairs, strict=True)) for pairs in both]
    documents[0].times_ms = None
    for together, document in zip(explain_marks(marker, documents), documents, strict=True):
        [alone] = explain_marks(marker, [document])
        assert (together.chain, together.found) == (alone.chain, alone.found)
        np.testing.assert_allclose(together.probabilities, alone.probabilities, atol=1e-12)
        for place in range(len(document.words)):
            assert together.decision(place) == alone.decision(place)


def test_a_document_without_words_has_no_places(marker):
    (text,) = explain_marks(marker, [Document("d", [])])
    assert text.placed == []
    assert all(share.share == 0 for share in text.explainer.shares([text]))


def test_pauses_are_those_of_the_observations(marker):
    document = timed(["a", "że", "tak"], [40, 700, 0])
    (text,) = explain_marks(marker, [document])
    np.testing.assert_array_equal(text.gaps_ms, Batch.of([document]).pauses.gap_ms)


def test_states_of_questions_are_named():
    assert [state_name(name) for name in ("", ",", "|?")] == ["none", ",", "none, in a sentence with ?"]


def test_a_reason_names_the_state_beside_it(tmp_path):
    marker = punctuator(tmp_path, QUESTIONS)
    (text,) = explain_marks(marker, [Document("d", ["tak", "ala", "ma", "kota"])], "text")
    named = {reason.seen.partition(": ")[2] for place in range(4) for reason in text.decision(place).path[1:]}
    assert named <= {"none", ",", ".", "?", "none, in a sentence with ?"}
    assert text.probabilities.shape == (4, len(text.labels))
