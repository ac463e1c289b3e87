"""A CRF that builds on another: the two written out as one score every token as the two do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from crfpunct import attributes, estimators, templates
from crfpunct.attributes import Batch
from crfpunct.chain import LinearChain
from crfpunct.document import Document
from crfpunct.errors import ModelError, TemplateError
from crfpunct.estimators import _SCORE_SCALE, PunctuationCRF, _Given
from crfpunct.model_folder import pack
from crfpunct.prior import PAUSE_SHARE, log_odds, read, with_pauses
from crfpunct.tables import Tables

FEATURES = """
[[template]]
name = "word"
use = ["word[{k}]"]
for = { k = [-1, 0, 1] }
[[template]]
name = "pair"
use = ["word[0]", "suffix1[1]"]
[[template]]
name = "gap"
use = ["gap[0]", "kind[0]"]
"""


penalties = st.sampled_from([0.0, 0.05, 0.5])


@st.composite
def documents(draw, vocabulary=("ala", "ma", "kota", "że", "12")):
    words = draw(st.lists(st.sampled_from(vocabulary), max_size=6))
    marks = draw(st.lists(st.sampled_from(["", "", ".", ","]), min_size=len(words), max_size=len(words)))
    gaps = draw(st.lists(st.sampled_from([90, 300, 900]), min_size=len(words), max_size=len(words)))
    starts = np.cumsum(np.array(gaps, dtype=np.int64))
    return Document("", words, np.stack([starts, starts + 60], axis=1) if draw(st.booleans()) else None, marks)


corpora = st.lists(documents(), min_size=1, max_size=8).filter(lambda c: len({m for d in c for m in d.marks}) > 1)
others = documents(vocabulary=("ala", "nikt", "7"))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("features") / "small.toml"
    path.write_text(FEATURES)
    return path


def on_prior(path, text, corpus, timed, **options) -> tuple[LinearChain, PunctuationCRF]:
    prior = PunctuationCRF(path, use_times=False, max_iterations=8).fit(text).chain_
    return prior, PunctuationCRF(path, timed, max_iterations=8, prior=prior, **options).fit(corpus)


@settings(max_examples=50)
@given(text=corpora, corpus=corpora, timed=st.booleans(), new=st.lists(others, max_size=3))
def test_both_as_one_score_as_the_two(path, text, corpus, timed, new):
    prior, fitted = on_prior(path, text, corpus, timed)
    adapted, seen = fitted.adapted_, [*corpus, *new]
    taken_over = replace(prior, index=adapted.own.index, weights=adapted.prior)
    np.testing.assert_array_equal(taken_over.emissions(seen), prior.emissions(seen))
    expected = adapted.own.emissions(seen) + prior.emissions(seen) @ adapted.mixing
    # The constant is in the transition to every token but the first of a document, and in the attribute of that one.
    expected[np.cumsum([0, *(len(d.words) for d in seen if d.words)])[:-1]] += adapted.constant
    np.testing.assert_allclose(fitted.chain_.emissions(seen), expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(fitted.chain_.transition, adapted.own.transition + adapted.constant)
    assert fitted.chain_.index.count == sum(map(len, fitted.chain_.index.keys)) == len(fitted.chain_.weights) - 1


@settings(max_examples=25)
@given(text=corpora, corpus=corpora, timed=st.booleans())
def test_what_is_read_back_is_what_was_rounded(path, text, corpus, timed):
    _, fitted = on_prior(path, text, corpus, timed)
    rounded = fitted.adapted_.rounded()
    chain, arrays = rounded.folded(), fitted.adapted_.to_arrays()
    templates_used, lexicons = fitted.chain_.index.templates, fitted.chain_.index.lexicons
    again = read(arrays, chain.labels, templates_used, lexicons)
    np.testing.assert_array_equal(again.weights, chain.weights)
    np.testing.assert_array_equal(again.transition, chain.transition)
    assert again.index.describe() == chain.index.describe()
    assert pack(rounded.to_arrays()) == pack(arrays)
    plain = rounded.own
    np.testing.assert_array_equal(
        read(plain.to_arrays(), chain.labels, templates_used, lexicons).weights, plain.rounded().weights
    )


@settings(max_examples=50)
@given(text=corpora, corpus=corpora, timed=st.booleans(), c1=penalties, new=st.lists(others, max_size=3))
def test_probabilities_equal_crfsuites_own(path, text, corpus, timed, c1, new):
    prior = PunctuationCRF(path, use_times=False, max_iterations=8).fit(text).chain_
    kept = []
    exact = estimators._exact_weights
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimators, "_exact_weights", lambda crf, *sizes: kept.append(crf) or exact(crf, *sizes))
        fitted = PunctuationCRF(path, timed, c1=c1, max_iterations=8, prior=prior).fit(corpus)
    crf, chain = kept[0], fitted.chain_
    features = templates.load(path)
    used = features.templates if timed else templates.without_pauses(features.templates)
    index, _ = attributes.fit(Batch.of(corpus), used, features.lexicons)
    shift = _Given.of(prior, corpus, [d.marks for d in corpus]).shift
    for document, ours in zip([*corpus, *new], fitted.predict_marginals([*corpus, *new]), strict=True):
        emission = prior.emissions([document])
        scores = _SCORE_SCALE * (emission[:, 1:] - emission[:, :1]) + shift
        rows = index.transform(Batch.of([document])).tolist()
        items = [
            {str(i): 1.0 for i in row if i} | {str(index.count + 1 + k): v for k, v in enumerate(values)}
            for row, values in zip(rows, scores.tolist(), strict=True)
        ]
        crf.tagger_.set(items)
        numbers = map(str, range(len(chain.labels)))
        theirs = np.array([[crf.tagger_.marginal(n, t) for t in range(len(items))] for n in numbers]).T
        np.testing.assert_allclose(ours, theirs.reshape(ours.shape), rtol=0, atol=1e-6)


def test_what_the_prior_knows_is_used(path):
    def sentences(numbers):
        kinds = [("p", ["", ",", "."]), ("q", ["", "", "."])]
        return [Document("", ["ala", "wie", f"{kind}{n}o"], marks=m) for n in numbers for kind, m in kinds]

    options = {"features": path, "use_times": False, "c1": 0.01, "c2": 0.01}
    prior = PunctuationCRF(**options).fit(sentences(range(40))).chain_
    adapted = PunctuationCRF(**options, prior=prior).fit(sentences(range(4)) * 3)
    new = sentences(range(20, 30))
    assert adapted.predict(new) == [document.marks for document in new]  # words that its own texts never had


def test_arrays_that_do_not_fit(path):
    text = [Document("", ["ala", "ma", "kota"], marks=["", ",", "."])] * 3
    _, fitted = on_prior(path, text, text, timed=False)
    arrays = fitted.adapted_.to_arrays()
    form = fitted.chain_.labels, fitted.chain_.index.templates, {}
    assert Tables(read(arrays, *form)).decode(text) == fitted.predict(text)
    for changed, message in [
        ({name: array for name, array in arrays.items() if name != "constant"}, "'constant'"),
        (arrays | {"mixing": arrays["mixing"][:, :2]}, r"mixing of shape \(3, 2\), constant of \(3,\), 3 states"),
        (arrays | {"prior_weight_count": arrays["prior_weight_count"][1:]}, r"\d+ weights of \d+ attributes"),
    ]:
        with pytest.raises(ModelError, match=rf"its prior does not fit its attributes \(.*({message})"):
            read(changed, *form)
    own = fitted.adapted_.own
    keep = np.array([name != "(unseen)" and not name.endswith("word[-1]=(edge)") for name in own.index.describe()])
    weights = np.vstack([np.zeros(3), np.ones((keep.sum(), 3))])
    without = LinearChain(own.states, own.index.select(keep), weights, own.transition, own.bias)
    prior = {name: array for name, array in arrays.items() if name in ("mixing", "constant", "prior_weight_scale")}
    prior |= {f"prior_{name}": without.to_arrays()[name] for name in ("weight_count", "weight_label", "weight")}
    with pytest.raises(ModelError, match="no attribute of a document's edge"):
        read(without.to_arrays() | prior, *form)


def test_templates_that_do_not_fit(path, tmp_path):
    text = [Document("", ["ala", "ma", "kota"], marks=["", ",", "."])] * 3
    prior = PunctuationCRF(path, use_times=False, max_iterations=2).fit(text).chain_
    (tmp_path / "few.toml").write_text('[[template]]\nname = "w"\nuse = ["word[0]"]')
    with pytest.raises(TemplateError, match=r"template 'word' \(word\[-1\]\) is the prior's alone"):
        PunctuationCRF(tmp_path / "few.toml", prior=prior, max_iterations=2).fit(text)
    small = PunctuationCRF(tmp_path / "few.toml", use_times=False, max_iterations=2).fit(text).chain_
    with pytest.raises(TemplateError, match=r"a prior needs a template for the word before; add one with use = "):
        PunctuationCRF(tmp_path / "few.toml", prior=small, max_iterations=2).fit(text)


def test_the_prior_is_a_parameter_like_others(path):
    text = [Document("", ["ala", "ma", "kota"], marks=["", ",", "."])] * 3
    prior, fitted = on_prior(path, text, text, timed=False)
    again = clone(fitted).fit(text)
    np.testing.assert_array_equal(again.chain_.weights, fitted.chain_.weights)
    assert not hasattr(PunctuationCRF(path, max_iterations=2).fit(text), "adapted_")
    assert again.prior.labels == prior.labels


# ---------------------------------------------------------------- pauses that were learned elsewhere

SPEECH = (
    FEATURES
    + """
[[template]]
name = "gap alone"
use = ["gap[{k}]"]
for = { k = [0, 1] }
"""
)


@settings(max_examples=25)
@given(text=corpora, speech=corpora, new=st.lists(others, max_size=3))
def test_pauses_are_added_as_log_odds(tmp_path_factory, text, speech, new):
    path = tmp_path_factory.getbasetemp() / "speech.toml"
    path.write_text(SPEECH)
    features = templates.load(path)
    of_text = PunctuationCRF(features, use_times=False, max_iterations=8).fit(text).chain_
    alone = templates.pauses_alone(features.templates)
    assert [t.name for t in alone] == ["gap alone"] * 2
    of_pauses = PunctuationCRF(replace(features, templates=alone), max_iterations=8).fit(speech).chain_
    odds = np.arange(len(of_pauses.labels)) * 0.25
    both, seen = with_pauses(of_text, of_pauses, features.templates, odds).folded(), [*text, *speech, *new]
    known = [of_pauses.labels.index(label) if label in of_pauses.labels else 0 for label in of_text.labels]
    expected = of_text.emissions(seen) + PAUSE_SHARE * of_pauses.emissions(seen)[:, known]
    expected[np.cumsum([0, *(len(d.words) for d in seen if d.words)])[:-1]] += PAUSE_SHARE * odds[known]
    np.testing.assert_allclose(both.emissions(seen), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(both.transition, of_text.transition + PAUSE_SHARE * odds[known], rtol=0, atol=1e-12)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 30), min_size=2, max_size=5),
)
def test_log_odds_have_every_label_as_often_as_it_is_there(seed, counts):
    labels = np.repeat(np.arange(len(counts)), counts)
    scores = np.random.default_rng(seed).normal(size=(len(labels), len(counts)))
    share = np.array(counts) / len(labels)
    probable = np.exp(scores + log_odds(scores, labels) + np.log(share))
    probable /= probable.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(probable.mean(axis=0), share, atol=0.01)


def test_log_odds_of_scores_that_say_nothing():
    np.testing.assert_allclose(log_odds(np.zeros((10, 2)), np.array([0] * 9 + [1])), 0, atol=1e-12)
