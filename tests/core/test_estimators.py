"""Training, and parity with CRFsuite: the same model, decoded by its own tagger and by us.

Equal means: the same label everywhere, or a path whose score is within 1e-9 of CRFsuite's (a tie, which each of the
two breaks in its own order of labels); marginals within 1e-6; weights bit for bit.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import sklearn_crfsuite
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from crfpunct import attributes, estimators, templates
from crfpunct.attributes import Batch
from crfpunct.chain import LinearChain, _of_steps, _steps
from crfpunct.document import Document
from crfpunct.errors import CorpusError, ModelError
from crfpunct.estimators import Progress, PunctuationCRF, joined_parts
from crfpunct.model_folder import pack

MARKS = ["", "", "", ".", ",", "?", "..."]


# ---------------------------------------------------------------- small random corpora and feature files


@st.composite
def documents(draw, vocabulary=("ala", "ma", "kota", "że", "12"), least=0):
    words = draw(st.lists(st.sampled_from(vocabulary), min_size=least, max_size=6))
    marks = draw(st.lists(st.sampled_from(MARKS), min_size=len(words), max_size=len(words)))
    if draw(st.booleans()):
        return Document("", words, marks=marks)
    starts = np.cumsum([0, *draw(st.lists(st.sampled_from([90, 300, 900]), min_size=8, max_size=8))])[: len(words)]
    return Document("", words, np.stack([starts, starts + 60], axis=1).astype(np.int64), marks)


@st.composite
def corpora(draw):
    corpus = draw(st.lists(documents(), min_size=1, max_size=8))
    assume(len({mark for document in corpus for mark in document.marks}) > 1)
    return corpus


parts = st.builds(
    "{}[{}]".format, st.sampled_from(["word", "suffix1", "kind", "gap", "pause", "rank"]), st.integers(-2, 2)
)
feature_files = st.lists(
    st.tuples(st.lists(parts, min_size=1, max_size=2, unique=True).map(tuple), st.integers(1, 2)),
    min_size=1,
    max_size=4,
    unique_by=lambda drawn: drawn[0],
).map(
    lambda drawn: "\n".join(
        f'[[template]]\nname = "t{i}"\nuse = {list(use)}\nmin_count = {least}' for i, (use, least) in enumerate(drawn)
    )
)
penalties = st.sampled_from([0.0, 0.05, 0.5])


@pytest.fixture(scope="module")
def feature_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("features") / "small.toml"

    def write(text=None):
        path.write_text(text or '[[template]]\nname = "w"\nuse = ["word[{k}]"]\nfor = { k = [0, 1] }')
        return path

    return write


@dataclass
class Reference:
    """CRFsuite's own model behind one of ours; its labels are the numbers of ours."""

    crf: sklearn_crfsuite.CRF = None
    ours: LinearChain = None
    all_attributes: attributes.AttributeIndex = field(default=None)

    def items(self, document: Document) -> list[list[str]]:
        """What CRFsuite is given for a document: the ids of all attributes of training, as strings."""
        ids = self.all_attributes.transform(Batch.of([document]))
        return [[str(i) for i in row if i] for row in ids.tolist()]

    def marks(self, document: Document) -> list[str]:
        return [self.ours.labels[int(number)] for number in self.crf.tagger_.tag(self.items(document))]

    def marginals(self, document: Document) -> list[list[float]]:
        self.crf.tagger_.set(self.items(document))
        numbers = [str(number) for number in range(len(self.ours.labels))]
        return [[self.crf.tagger_.marginal(number, t) for number in numbers] for t in range(len(document.words))]


@contextmanager
def crfsuite_kept() -> Iterator[list[sklearn_crfsuite.CRF]]:
    """Catches the CRFsuite model of every training inside."""
    kept = []
    real = estimators._exact_weights

    def keep(crf, *arguments):
        kept.append(crf)
        return real(crf, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimators, "_exact_weights", keep)
        yield kept


def trained(path, corpus, **options) -> tuple[PunctuationCRF, Reference]:
    with crfsuite_kept() as kept:
        fitted = PunctuationCRF(path, **{"max_iterations": 12} | options).fit(corpus)
    features = templates.load(path)
    index, _ = attributes.fit(Batch.of(corpus), features.templates, features.lexicons)
    return fitted, Reference(kept[0], fitted.chain_, index)


def path_score(chain: LinearChain, document: Document, marks: list[str]) -> float:
    emission = chain.emissions([document])
    path = [chain.labels.index(mark) for mark in marks]
    steps = [chain.transition[i, j] for i, j in itertools.pairwise(path)]
    return math.fsum([*(emission[t, y] for t, y in enumerate(path)), *steps])


# ---------------------------------------------------------------- parity


@settings(max_examples=100)
@given(
    corpus=corpora(),
    features=feature_files,
    c1=penalties,
    c2=penalties,
    new=st.lists(documents(vocabulary=("ala", "kota", "nikt", "7")), max_size=3),
)
def test_predictions_and_marginals_equal_crfsuites(feature_file, corpus, features, c1, c2, new):
    fitted, reference = trained(feature_file(features), corpus, c1=c1, c2=c2)
    texts = [*corpus, *new]
    for document, ours, shares in zip(texts, fitted.predict(texts), fitted.predict_marginals(texts), strict=True):
        theirs = reference.marks(document)
        if ours != theirs:
            scores = [path_score(fitted.chain_, document, marks) for marks in (ours, theirs)]
            assert math.isclose(*scores, rel_tol=0, abs_tol=1e-9)
        expected = np.reshape(reference.marginals(document), shares.shape)
        np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-6)


def records(crf: sklearn_crfsuite.CRF) -> list[tuple[int, int, int, float]]:
    """The records of CRFsuite's model file, (type, source, target, weight), read one by one."""
    raw = Path(crf.modelfile.name).read_bytes()
    start = raw.index(b"FEAT")
    (size,) = struct.unpack("<I", raw[start + 4 : start + 8])
    return list(struct.iter_unpack("<IIId", raw[start + 12 : start + size]))


@settings(max_examples=30)
@given(corpus=corpora(), features=feature_files, c1=penalties)
def test_weights_are_crfsuites_bit_for_bit(feature_file, corpus, features, c1):
    fitted, reference = trained(feature_file(features), corpus, c1=c1)
    chain, info = fitted.chain_, reference.crf.tagger_.info()
    mark_of = {int(number): chain.labels[int(name)] for name, number in info.labels.items()}
    id_of = {int(number): int(name) for name, number in info.attributes.items()}
    shown = reference.all_attributes.describe()
    theirs = {}
    for kind, source, target, weight in records(reference.crf):
        origin = mark_of[source] if kind else shown[id_of[source]]
        theirs[kind, origin, mark_of[target]] = weight.hex()

    ours = {
        (0, attribute, mark): float(weight).hex()
        for attribute, row in zip(chain.index.describe(), chain.weights.tolist(), strict=True)
        for mark, weight in zip(chain.labels, row, strict=True)
        if weight
    } | {
        (1, a, b): float(weight).hex()
        for a, row in zip(chain.labels, chain.transition.tolist(), strict=True)
        for b, weight in zip(chain.labels, row, strict=True)
        if weight
    }
    assert ours == {key: weight for key, weight in theirs.items() if float.fromhex(weight)}
    # And CRFsuite's own text dump says the same, to the six decimals that it has.
    for (source, target), weight in info.transitions.items():
        exact = float.fromhex(theirs[1, chain.labels[int(source)], chain.labels[int(target)]])
        assert math.isclose(weight, exact, rel_tol=0, abs_tol=6e-7)


@settings(max_examples=10)
@given(corpus=corpora(), features=feature_files)
def test_training_twice_gives_the_same_bytes(feature_file, corpus, features):
    once, again = (PunctuationCRF(feature_file(features), max_iterations=12).fit(corpus) for _ in range(2))
    assert pack(once.chain_.to_arrays()) == pack(again.chain_.to_arrays())
    assert once.chain_.labels == again.chain_.labels
    # A refit forgets what was fitted before.
    refit = again.fit([Document("", ["x", "y"], marks=["", "?"])]).fit(corpus)
    assert pack(refit.chain_.to_arrays()) == pack(once.chain_.to_arrays())


@settings(max_examples=20)
@given(corpus=corpora(), features=feature_files, new=st.lists(documents(), max_size=3))
def test_a_stored_chain_is_read_back(feature_file, corpus, features, new):
    fitted = PunctuationCRF(feature_file(features), max_iterations=12).fit(corpus)
    chain = fitted.chain_.rounded()
    again = LinearChain.from_arrays(fitted.chain_.to_arrays(), chain.labels, fitted.features_.templates, {})
    assert again.weights.tobytes() == chain.weights.tobytes()
    assert again.transition.tobytes() == fitted.chain_.transition.tobytes()
    np.testing.assert_array_equal(again.emissions(new), chain.emissions(new))
    assert pack(again.to_arrays()) == pack(fitted.chain_.to_arrays())
    for one in (chain, fitted.chain_):
        assert not one.weights[0].any()
        assert one.weights[1:].any(axis=1).all()  # attributes without a weight are not kept


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(2, 4)), elements=st.floats(-1e9, 1e9)),
    st.sampled_from([1.0, 1e-9, 1e-60]),
)
def test_rounded_weights(weights, unit):
    """Roots of weights in whole steps of 1/127 of the largest root; the plain way, one by one."""
    weights = weights * unit
    steps, scale = _steps(weights)
    assert steps.dtype == np.int8
    largest = max((abs(w) for w in weights.flat), default=0.0)
    for weight, step, found in zip(weights.flat, steps.flat, _of_steps(steps, scale).flat, strict=True):
        if largest < 1e-30:
            assert not step
        elif largest:
            assert math.isclose(abs(step), 127 * math.sqrt(abs(weight) / largest), rel_tol=0, abs_tol=0.501)
            assert step == 0 or (step > 0) == (weight > 0)
            assert math.isclose(found, largest * (step / 127) ** 2 * np.sign(weight), rel_tol=1e-6, abs_tol=0)
    np.testing.assert_array_equal(_steps(_of_steps(steps, scale))[0], steps)
    assert _steps(_of_steps(steps, scale))[1] == (scale if steps.any() else 0)


def test_rounding_drops_attributes_that_are_left_no_weight(feature_file):
    fitted = PunctuationCRF(feature_file(), c1=0.0).fit(CORPUS)
    weights = fitted.chain_.weights.copy()
    weights[2] = weights.max() * 1e-9
    chain = replace(fitted.chain_, weights=weights).rounded()
    kept = fitted.chain_.index.describe()
    assert chain.index.describe() == kept[:2] + kept[3:]
    assert chain.index.count == len(chain.weights) - 1


def test_chain_arrays_that_do_not_fit(feature_file):
    fitted = PunctuationCRF(feature_file()).fit(CORPUS)
    arrays, features = fitted.chain_.to_arrays(), fitted.features_

    def load(labels=fitted.chain_.labels, **changes):
        return LinearChain.from_arrays(arrays | changes, labels, features.templates, features.lexicons)

    assert load().labels == fitted.chain_.labels
    for wrong in (
        {"weight": arrays["weight"][:-1]},
        {"weight_count": arrays["weight_count"][:-1]},
        {"weight_label": arrays["weight_label"] + 99},
        {"weight_scale": np.array([1.0, 2.0])},
        {"transition": arrays["transition"][:-1]},
        {"labels": fitted.chain_.labels[:-1]},
    ):
        with pytest.raises(ModelError, match=r"its weights do not fit its attributes .*; train or fetch it again"):
            load(**wrong)
    del arrays["weight"]
    with pytest.raises(ModelError, match=r"its weights do not fit its attributes \('weight'\)"):
        load()


# ---------------------------------------------------------------- the estimator

CORPUS = [
    Document("a", ["ala", "ma", "kota", "a", "kot", "ma", "alę"], marks=["", "", ",", "", "", "", "."]),
    Document("b", ["czy", "ala", "ma", "kota"], marks=["", "", "", "?"]),
    Document("c", ["kot", "ma", "alę"], marks=["", "", "."]),
    Document("d", [], marks=[]),
]


def test_it_learns_what_there_is_to_learn(feature_file):
    fitted = PunctuationCRF(feature_file(), c1=0.0, c2=1e-3).fit(CORPUS)
    assert fitted.predict(CORPUS) == [document.marks for document in CORPUS]
    assert fitted.score(CORPUS) == 1
    assert fitted.classes_.tolist() == ["", ".", ",", "?"]  # no mark, then by frequency, then by name
    assert list(fitted.chain_.labels) == fitted.classes_.tolist()


def test_transitions_never_seen_have_a_weight_too(feature_file):
    fitted = PunctuationCRF(feature_file(), c1=0.0).fit(CORPUS)
    assert fitted.chain_.transition.all()
    assert fitted.chain_.transition[1, 1] < 0  # two full stops in a row: nowhere in the corpus


def test_a_mark_may_be_spelled_like_crfsuites_outside_label(feature_file):
    path = feature_file('[[template]]\nname = "w"\nuse = ["word[0]"]')
    corpus = [Document("", ["a", "b", "a"], marks=["O", "", "O"]), Document("", ["b"], marks=["."])]
    fitted = PunctuationCRF(path, c1=0.0).fit(corpus)
    assert fitted.classes_.tolist() == ["", "O", "."]
    assert fitted.predict([Document("", ["a"])]) == [["O"]]


@pytest.mark.parametrize("mark", ["a b", "0", "1:2", "\n", "\t", "ż\0", "\\", "…"])
def test_a_mark_may_be_spelled_in_any_way(feature_file, mark):
    fitted = PunctuationCRF(feature_file(), c1=0.0).fit([Document("", ["a", "b", "c"], marks=[mark, "", "."])])
    assert fitted.predict([Document("", ["a", "b", "c"])]) == [[mark, "", "."]]


def test_only_marks_of_the_training_set_are_placed(feature_file):
    path = feature_file('[[template]]\nname = "w"\nuse = ["word[0]"]')
    corpus = [Document("", ["a", "b"], marks=[",", "."]), Document("", ["b"], marks=["."])]
    fitted = PunctuationCRF(path, c1=0.0).fit(corpus)  # no word without a mark
    assert fitted.classes_.tolist() == [".", ","]
    assert fitted.predict([Document("", ["a", "b"])]) == [[",", "."]]
    assert fitted.predict_marginals([Document("", ["a", "b"])])[0].shape == (2, 2)


def test_255_marks_are_stored_whole(feature_file):
    path = feature_file('[[template]]\nname = "w"\nuse = ["word[0]"]')
    corpus = [Document("", [f"w{i}"], marks=[f"m{i}" if i else ""]) for i in range(255)]
    fitted = PunctuationCRF(path, c1=0.0, max_iterations=3).fit(corpus)
    chain = fitted.chain_.rounded()
    again = LinearChain.from_arrays(chain.to_arrays(), chain.labels, fitted.features_.templates, {})
    np.testing.assert_array_equal(again.weights, chain.weights)
    with pytest.raises(CorpusError, match=r"^the training set has 256 different marks, expected at most 255; check wh"):
        fitted.fit([*corpus, Document("", ["x"], marks=["m255"])])


def test_marks_may_be_given_apart_from_the_documents(feature_file):
    bare = [Document(document.id, document.words) for document in CORPUS]
    fitted = PunctuationCRF(feature_file()).fit(bare, [document.marks for document in CORPUS])
    expected = PunctuationCRF(feature_file()).fit(CORPUS)
    assert pack(fitted.chain_.to_arrays()) == pack(expected.chain_.to_arrays())


def test_documents_of_no_words(feature_file):
    fitted = PunctuationCRF(feature_file()).fit(CORPUS)
    assert fitted.predict([]) == fitted.predict_marginals([]) == []
    assert fitted.predict([Document("", []), Document("", ["kota"]), Document("", [])])[::2] == [[], []]
    shapes = [share.shape for share in fitted.predict_marginals([Document("", []), Document("", ["kota"])])]
    assert shapes == [(0, 4), (1, 4)]


def test_without_pauses_times_make_no_difference(feature_file):
    path = feature_file('[[template]]\nname = "w"\nuse = ["word[0]"]\n[[template]]\nname = "g"\nuse = ["gap[0]"]')
    timed = [
        Document("", d.words, np.arange(2 * len(d.words), dtype=np.int64).reshape(-1, 2) * 500, d.marks) for d in CORPUS
    ]
    with_times, without = (PunctuationCRF(path, use_times=use).fit(timed) for use in (True, False))
    assert [template.name for template in with_times.chain_.index.templates] == ["w", "g"]
    assert [template.name for template in without.chain_.index.templates] == ["w"]
    assert without.predict(timed) == without.predict(CORPUS)
    untimed = PunctuationCRF(path, use_times=False).fit(CORPUS)
    assert pack(without.chain_.to_arrays()) == pack(untimed.chain_.to_arrays())


def test_options_of_the_feature_file_are_defaults(feature_file):
    path = feature_file('[train]\nc1 = 0.7\nmax_iterations = 3\n[[template]]\nname = "w"\nuse = ["word[0]"]')
    fitted = PunctuationCRF(path, c2=0.2).fit(CORPUS)
    assert fitted.options_ == templates.TrainOptions(c1=0.7, c2=0.2, max_iterations=3)
    assert PunctuationCRF(path, c1=0.0, max_iterations=5).fit(CORPUS).options_.c1 == 0


def test_every_iteration_is_reported(feature_file):
    seen: list[Progress] = []
    fitted = PunctuationCRF(feature_file(), max_iterations=4, progress=seen.append).fit(CORPUS)
    assert seen[1:] == fitted.training_log_
    assert [step.iteration for step in seen] == list(range(len(seen)))
    assert {step.limit for step in seen} == {4}
    assert all(later.loss <= earlier.loss for earlier, later in itertools.pairwise(seen[1:]))


def test_the_contract_of_scikit_learn(feature_file):
    estimator = PunctuationCRF(feature_file(), c1=0.1, max_iterations=5)
    assert clone(estimator).get_params() == estimator.get_params()
    assert estimator.fit(CORPUS) is estimator
    assert not hasattr(clone(estimator), "chain_")
    with pytest.raises(NotFittedError):
        clone(estimator).predict(CORPUS)
    with pytest.raises(NotFittedError):
        clone(estimator).predict_marginals(CORPUS)


def test_it_works_in_a_search_over_folds_of_whole_documents(feature_file):
    X = CORPUS[:3] * 2
    y = [document.marks for document in X]
    folds = GroupKFold(2).split(X, groups=[0, 0, 0, 1, 1, 1])
    search = GridSearchCV(PunctuationCRF(feature_file(), max_iterations=20), {"c1": [0.0, 5.0]}, cv=list(folds))
    search.fit(X, y)
    assert search.best_params_ == {"c1": 0.0}
    scores = cross_val_score(
        PunctuationCRF(feature_file(), c1=0.0, c2=0.05), X, y, cv=GroupKFold(2), groups=[0, 0, 0, 1, 1, 1]
    )
    assert scores.tolist() == [1, 1]


def test_the_score_is_f1_weighted_by_frequency(feature_file):
    fitted = PunctuationCRF(feature_file()).fit(CORPUS)
    found = fitted.predict(CORPUS[2:3])
    wrong = [["", "?", mark] for *_, mark in found]
    assert fitted.score(CORPUS[2:3], found) == 1
    # "." was placed rightly (F1 1) and "?" not at all (F1 0); each stands once.
    assert found == [["", "", "."]]
    assert fitted.score(CORPUS[2:3], wrong) == 0.5
    assert fitted.score(CORPUS[3:]) == 0


# ---------------------------------------------------------------- training sets that are none


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ([], r"^the training set has no words; check that it is not empty\.$"),
        ([Document("", [], marks=[])], r"^the training set has no words; check that it is not empty\.$"),
        (
            [Document("", ["ala", "ma"], marks=["", ""])],
            r"^the training set has no marks at all, so there is nothing to tell apart; train on punctuated text\.$",
        ),
        (
            [Document("", ["ala", "ma"], marks=[".", "."])],
            r"^the training set has only the mark '\.', so there is nothing to tell apart; train on punctuated text\.$",
        ),
        ([Document("", ["ala"], source="in.tsv:3")], r"^in\.tsv:3: has no marks to learn from; train on punctuated"),
        ([Document("", ["ala"])], r"^a training document: has no marks to learn from"),
        ([Document("x7", ["ala", "ma"], marks=["."])], r"^x7: 1 marks for 2 words; give one for each word\.$"),
    ],
)
def test_nothing_to_learn_from(feature_file, corpus, message):
    with pytest.raises(CorpusError, match=message):
        PunctuationCRF(feature_file()).fit(corpus)


def test_marks_that_are_not_those_of_the_documents(feature_file):
    with pytest.raises(CorpusError, match=r"^a: 1 marks for 7 words"):
        PunctuationCRF(feature_file()).fit(CORPUS[:1], [["."]])


def test_a_model_file_of_another_format(feature_file, monkeypatch):
    real = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: real(path).replace(b"FEAT", b"TAEF"))
    with pytest.raises(RuntimeError, match=r"b'TAEF' where FEAT was expected"):
        PunctuationCRF(feature_file(), max_iterations=2).fit(CORPUS)


# ---------------------------------------------------------------- first parts of compounds


def test_joined_parts_are_mostly_followed_by_a_hyphen():
    corpus = [
        Document("", ["Polsko", "rosyjskie", "polsko", "czeskie"], marks=["-", "", "-", "."]),
        Document("", ["dodał", "jan", "dodał", "ola", "dodał"], marks=["-", "", "", "", "-"]),
        Document("", ["biało", "czerwona", "19", "19"], marks=["-", "", "-", "-"]),
        Document("", ["powiedział", "powiedział", "powiedział"], marks=["-", "", ""]),
    ]
    assert joined_parts(corpus) == {"polsko", "dodał"}
    assert joined_parts([]) == frozenset()


def test_attributes_are_chosen_before_training(feature_file):
    corpus = [Document("", [f"w{n}", "że", f"w{n + 1}"], marks=["", ",", "."]) for n in range(12)]
    path = feature_file()
    assert PunctuationCRF(path, c1=0).fit(corpus).chain_.index.count > 8
    few = PunctuationCRF(path, most_attributes=8, c1=0).fit(corpus)
    assert few.chain_.index.count <= 8
    assert few.predict(corpus[:1]) == [["", ",", "."]]
    assert any("że" in name for name in few.chain_.index.describe())
    # A file can ask for it, and for attributes of several documents: here `że`, its neighbours, and the edges.
    path = feature_file("[train]\nmin_documents = 6\n" + path.read_text())
    names = PunctuationCRF(path, c1=0).fit(corpus).chain_.index.describe()[1:]
    assert sorted(names) == ["w: word[0]=że", "w: word[1]=(edge)", "w: word[1]=że"]


# ---------------------------------------------------------------- states of questions

ASKED = [
    Document("", ["czy", "ala", "ma", "kota", "tak", "ma"], marks=["", "", "", "?", "", "."]),
    Document("", ["ala", "ma", "kota", "czy", "kot", "ma"], marks=["", "", ".", "", "", "?"]),
    Document("", ["kota", "ma", "ala"], marks=["", "", "."]),
]
SPLIT = '[train]\nsplit = ["?"]\n[[template]]\nname = "w"\nuse = ["word[0]"]'


def test_words_of_a_question_have_a_state_of_their_own_which_is_folded_away(feature_file):
    fitted = PunctuationCRF(feature_file(SPLIT), use_times=False, c1=0.0, c2=0.01).fit(ASKED)
    plain = PunctuationCRF(feature_file(SPLIT.split("\n", 2)[2]), use_times=False, c1=0.0, c2=0.01).fit(ASKED)
    assert fitted.chain_.states == ("", ".", "?", "|?")
    assert fitted.chain_.labels == ("", ".", "?", "")
    assert fitted.chain_.distinct == tuple(fitted.classes_) == ("", ".", "?")
    # One word decides here what mark stands three words behind it: only states can hand that on.
    assert fitted.predict(ASKED) == [document.marks for document in ASKED]
    assert plain.predict(ASKED) != [document.marks for document in ASKED]
    for shares in fitted.predict_marginals(ASKED):
        assert shares.shape[1] == 3
        np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_with_times_there_are_no_such_states(feature_file):
    assert PunctuationCRF(feature_file(SPLIT), use_times=True).fit(ASKED).chain_.states == ("", ".", "?")


def test_a_mark_that_no_text_has_splits_nothing(feature_file):
    asked = [Document("", ["ala", "ma"], marks=["", "."])] * 3
    assert PunctuationCRF(feature_file(SPLIT), use_times=False).fit(asked).chain_.states == ("", ".")


def test_a_prior_and_what_builds_on_it_may_both_have_states_of_questions(feature_file):
    file = feature_file(SPLIT + '\n[[template]]\nname = "before"\nuse = ["word[-1]"]')
    prior = PunctuationCRF(file, use_times=False, c1=0.0, c2=0.01).fit(ASKED).chain_
    fitted = PunctuationCRF(file, use_times=False, c1=0.0, c2=0.01, prior=prior).fit(ASKED)
    assert fitted.chain_.states == prior.states
    again = estimators.LinearChain.from_arrays(
        fitted.chain_.to_arrays(), fitted.chain_.states, fitted.chain_.index.templates, {}
    )
    assert again.labels == fitted.chain_.labels
    assert fitted.predict(ASKED) == [document.marks for document in ASKED]
