"""The truecaser and its estimator: small corpora, parity with CRFsuite, storage, threads, scikit-learn's contract."""

from __future__ import annotations

import doctest
import itertools
import math
import pickle
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import sklearn_crfsuite
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from crfpunct import attributes, casing, estimators, templates, truecaser
from crfpunct.attributes import Batch
from crfpunct.casing import CLASSES, WRITTEN_SIGNS, case_class
from crfpunct.document import Document
from crfpunct.errors import CorpusError, ModelError
from crfpunct.estimators import Progress, PunctuationCRF, TruecasingCRF
from crfpunct.marks import label, split_mark, strip
from crfpunct.model_folder import pack
from crfpunct.stream import CasedStream
from crfpunct.truecaser import Truecaser, heard


def text(line: str) -> Document:
    words, marks = strip(line.split())
    return Document("", words, marks=marks)


LINES = [
    "wczoraj był prof. Kowalski z Łodzi. Dziś jest dr Nowak, a jutro np. kot, np. dom i np. kod.",
    "jest w NATO i w PKP, a kot i pan są w domu. Kot pani z Bielska-Białej ma iPhone. Ma też mp3.",
    "pan ma kod 3D i F-16. Pani Ala jest z PKP, a Nowak z NATO! Kot jest w Łodzi.",
    "pan i kot ma dom, a prof. Nowak ma iPhone. To jest film 3D. Bielska-Białej nie ma.",
]
CORPUS = [text(line[0].upper() + line[1:]) for line in LINES] * 6


@pytest.fixture(scope="module")
def fitted():
    return TruecasingCRF(max_iterations=40).fit(CORPUS)


@pytest.fixture(scope="module")
def model(fitted):
    return fitted.truecaser_


def restored(model: Truecaser, line: str) -> str:
    [words] = model.words([text(line)])
    return " ".join(words)


def test_the_examples_in_the_documentation_are_true():
    assert doctest.testmod(truecaser).failed == 0


def test_what_was_trained_on_comes_back(model):
    lowered = [replace(d, words=[word.lower() for word in d.words]) for d in CORPUS]
    raised = [replace(d, words=[word.upper() for word in d.words]) for d in CORPUS]
    for texts in (CORPUS, lowered, raised):
        assert model.words(texts) == [d.words for d in CORPUS]


def test_marks_decide_about_the_case(model):
    assert restored(model, "jest kot pani kot") == "Jest kot pani kot"
    assert restored(model, "jest kot. pani kot") == "Jest kot Pani kot"
    assert restored(model, "jest kot, pani kot") == "Jest kot pani kot"
    # A full stop behind an abbreviation of the training text ends no sentence.
    assert restored(model, "jest w domu np. kot") == "Jest w domu np kot"


def test_texts_without_marks_or_words(model):
    assert model.words([]) == []
    assert model.words([Document("", []), Document("", ["ala"]), Document("", [], marks=[])]) == [[], ["Ala"], []]
    assert model.words([Document("", ["jest", "w", "nato"])]) == [["Jest", "w", "NATO"]]


def test_unknown_words_and_symbols(model):
    found = restored(model, "xyzzy % 77 +48 żółw ßß ŉ 中文 🙂 e\u0301 \u0301")
    assert found.lower() == "xyzzy % 77 +48 żółw ßß ŉ 中文 🙂 e\u0301 \u0301"
    assert restored(model, "% 77 🙂 &") == "% 77 🙂 &"


def test_combining_characters_are_composed_to_look_words_up(model):
    line = unicodedata.normalize("NFD", "jest kot z łodzi i z bielska-białej, ósmy")
    found = restored(model, line)
    assert "Łodzi" in found
    assert found.lower().split() == [word.strip(",") for word in line.split()]
    assert unicodedata.normalize("NFC", found) == restored(model, unicodedata.normalize("NFC", line))


SIGNED = {
    'jest kot. " pani ala "': 'Jest kot " Pani Ala "',
    'jest kot " . pani ala': 'Jest kot " Pani Ala',
    'pani "ala" (nowak) jest «kot»': 'Pani "Ala" (Nowak) jest «kot»',
    '„jest w "nato"': '„Jest w "NATO"',
    '( " )': '( " )',
}


@pytest.mark.parametrize("line", SIGNED)
def test_quotation_signs_and_brackets_are_not_looked_at(model, line):
    assert restored(model, line) == SIGNED[line]


def test_a_mark_before_a_closing_sign_is_the_words(model):
    [words] = model.words([Document("", ['"jest', 'kot."', '"pani', 'kot"'], marks=["", "", "", ""])])
    assert words == ['"Jest', 'kot."', '"Pani', 'kot"']


def plainly_heard(document: Document) -> tuple[list[str], list[str], list[int]]:
    """The slow way: word by word."""
    words: list[str] = []
    marks: list[str] = []
    places: list[int] = []
    for place, (word, mark) in enumerate(zip(document.words, document.marks, strict=True)):
        inner, run = split_mark(word.strip(WRITTEN_SIGNS))
        inner = inner.rstrip(WRITTEN_SIGNS)
        if inner:
            words.append(inner)
            marks.append(mark or label(run))
            places.append(place)
        elif marks:
            marks[-1] = marks[-1] or mark or label(run)
    return words, marks, places


signed_words = st.sampled_from(['"', "(", "„a”", "b.", 'c."', "...", "d"])


@settings(max_examples=300)
@given(st.lists(st.tuples(signed_words, st.sampled_from(["", ".", ","]))))
def test_what_is_heard_of_a_text(tokens):
    document = Document("", [word for word, _ in tokens], marks=[mark for _, mark in tokens])
    before = document.words.copy(), document.marks.copy()
    view, places = heard(document)
    if view is not document:
        everything = list(range(len(tokens)))
        assert (view.words, view.marks, everything if places is None else places) == plainly_heard(document)
    else:
        assert not set(WRITTEN_SIGNS) & set("".join(document.words))
    assert (document.words, document.marks) == before


some_words = st.sampled_from(["ala", "Kot", "NATO", "prof", "xyzzy", "iphone", '"', "(pani)", "3d", "1998"])
some_texts = st.lists(
    st.lists(st.tuples(some_words, st.sampled_from(["", "", ".", ",", "?!"])), max_size=8).map(
        lambda tokens: Document("", [w for w, _ in tokens], marks=[m for _, m in tokens])
    ),
    max_size=6,
)


@settings(max_examples=50)
@given(some_texts)
def test_many_texts_are_as_each_alone(model, texts):
    assert model.words(texts) == [model.words([one])[0] for one in texts]
    assert model.classes(texts) == [model.classes([one])[0] for one in texts]


@settings(max_examples=50)
@given(some_texts)
def test_the_case_of_the_input_says_nothing(model, texts):
    upper = [replace(d, words=[word.upper() for word in d.words]) for d in texts]
    assert model.words(upper) == model.words(texts)


def test_a_full_cache_starts_afresh(fitted, monkeypatch):
    monkeypatch.setattr(truecaser, "_CACHED_FORMS", 3)
    again = Truecaser(fitted.chain_, fitted.truecaser_.spelling)
    for _ in range(3):
        assert again.words(CORPUS) == [d.words for d in CORPUS]


# ---------------------------------------------------------------- storage and sharing


def test_arrays_are_read_back(fitted, model):
    arrays = model.to_arrays()
    again = Truecaser.from_arrays(arrays, fitted.chain_.labels, fitted.features_)
    assert pack(again.to_arrays()) == pack(arrays)
    assert again.spelling == model.spelling
    assert again.chain.index.lexicons == model.chain.index.lexicons
    assert again.words(CORPUS) == model.words(CORPUS)


@pytest.mark.parametrize("name", ["casing", "surface"])
@pytest.mark.parametrize("broken", [b"word", b"\xff\t\xff"])
def test_damaged_lexicons_are_refused(fitted, model, name, broken):
    arrays = model.to_arrays() | {name: np.frombuffer(broken, dtype=np.uint8)}
    with pytest.raises(ModelError, match="its lexicons of case are damaged"):
        Truecaser.from_arrays(arrays, fitted.chain_.labels, fitted.features_)
    del arrays[name]
    with pytest.raises(ModelError, match="train or fetch it again"):
        Truecaser.from_arrays(arrays, fitted.chain_.labels, fitted.features_)


def test_it_can_be_pickled(model):
    model.words(CORPUS)
    again = pickle.loads(pickle.dumps(model))
    assert again.words(CORPUS) == model.words(CORPUS)


def test_threads_share_it(fitted):
    fresh = Truecaser(fitted.chain_, fitted.truecaser_.spelling)
    with ThreadPoolExecutor(8) as pool:
        for words in pool.map(lambda _: fresh.words(CORPUS), range(16)):
            assert words == [d.words for d in CORPUS]


# ---------------------------------------------------------------- what training text teaches


def test_compounds_that_training_never_saw_are_known_by_their_stem():
    more = [
        text("Kot jest z ZUS i z BBC, Jan i Ala w domu."),
        text("Kot jest z PKP-u i z NATO-u, a kod-u i dom-u nie ma, Jan-u i Ala-u."),
        text("Kot ma iPada i z iPhone'a, ma iPada."),
    ]
    model = TruecasingCRF(max_iterations=40).fit([*CORPUS, *more * 6]).truecaser_
    assert restored(model, "kot jest z zus-u i z bbc-u i z ipada'a") == "Kot jest z ZUS-u i z BBC-u i z iPada'a"


def test_names_of_speakers_in_capitals_teach_nothing():
    play = [text("JAN: Kot ma dom."), text("KOT: Jan ma dom i kod."), text("NIE MA KOTA. Kot ma dom.")] * 9
    model = TruecasingCRF(max_iterations=40).fit([*CORPUS, *play]).truecaser_
    assert restored(model, "kot ma dom. jan ma kota") == "Kot ma dom Jan ma kota"


# ---------------------------------------------------------------- word by word


def streamed(model: Truecaser, tokens: list[tuple[str, str]], lookahead: int) -> list[str]:
    """The words of a stream whose marks are known: each is given back when so many others have come."""

    class Marked:
        waiting: list[str] = []  # noqa: RUF012  # the place of a Stream is taken by one

        def __init__(self) -> None:
            self._marks = [mark for _, mark in tokens]

        def put(self, word: str, *_: int) -> list[tuple[str, str]]:
            self.waiting = [*self.waiting, word]
            return self._give(len(self.waiting) - lookahead)

        def end(self) -> list[tuple[str, str]]:
            return self._give(len(self.waiting))

        def _give(self, count: int) -> list[tuple[str, str]]:
            given, self.waiting = self.waiting[: max(count, 0)], self.waiting[max(count, 0) :]
            marks, self._marks = self._marks[: len(given)], self._marks[len(given) :]
            return list(zip(given, marks, strict=True))

    stream = CasedStream(Marked(), lambda document: model.words([document])[0])
    found = [word for token, _ in tokens for word, _ in stream.put(token)]
    return found + [word for word, _ in stream.end()]


@pytest.mark.parametrize("lookahead", [2, 5, 99])
def test_a_stream_has_the_case_of_the_whole_text(model, lookahead):
    for document in CORPUS[: len(LINES)]:
        lowered = [word.lower() for word in document.words]
        assert streamed(model, list(zip(lowered, document.marks, strict=True)), lookahead) == document.words


@settings(max_examples=50)
@given(st.lists(st.tuples(some_words, st.sampled_from(["", ".", ","])), max_size=40), st.integers(0, 20))
def test_a_stream_loses_no_word(model, tokens, lookahead):
    found = streamed(model, tokens, lookahead)
    assert [word.lower() for word in found] == [word.lower() for word, _ in tokens]


# ---------------------------------------------------------------- the language's own rule


def test_turkish(tmp_path):
    path = tmp_path / "tr.toml"
    path.write_text('extends = "case"\n[text]\nupper = { i = "İ", "ı" = "I" }\n', encoding="utf-8")
    corpus = [text("Dün Isparta ve İzmir güzel. Bugün ılık, Isparta ve İzmir güzel.")] * 5
    fitted = TruecasingCRF(path, max_iterations=30).fit(corpus)
    lowered = Document(
        "",
        ["dün", "ısparta", "ve", "izmir", "güzel", "bugün", "ılık", "ısparta", "ve", "izmir", "güzel"],
        marks=corpus[0].marks,
    )
    raised = replace(
        lowered, words=["DÜN", "ISPARTA", "VE", "İZMİR", "GÜZEL", "BUGÜN", "ILIK", "ISPARTA", "VE", "İZMİR", "GÜZEL"]
    )
    assert fitted.truecaser_.words([lowered, raised]) == [corpus[0].words] * 2


# ---------------------------------------------------------------- parity with CRFsuite

tokens = st.tuples(
    st.sampled_from(["ala", "Ala", "NATO", "kot", "Kot", "iPhone", "12"]), st.sampled_from(["", "", ".", ",", "?"])
)


@st.composite
def corpora(draw):
    drawn = draw(st.lists(st.lists(tokens, min_size=1, max_size=6), min_size=1, max_size=8))
    corpus = [Document("", [w for w, _ in one], marks=[m for _, m in one]) for one in drawn]
    counts = [case_class(word) for document in corpus for word in document.words]
    assume(len(set(counts)) > 1 and counts.count("UPPER") <= 0.9 * len(counts))
    # Training leaves out sentences in capitals; what remains must have several classes, too.
    kept = [case_class(d.words[i]) for d in corpus for i in casing.ordinary_places(d.words, d.marks)]
    assume(len(set(kept)) > 1)
    return corpus


@settings(max_examples=25)
@given(corpora(), corpora(), st.sampled_from([0.0, 0.05, 0.5]))
def test_classes_and_marginals_equal_crfsuites(corpus, new, c1):
    kept: list[sklearn_crfsuite.CRF] = []
    exact = estimators._exact_weights
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimators, "_exact_weights", lambda crf, *rest: kept.append(crf) or exact(crf, *rest))
        fitted = TruecasingCRF(c1=c1, max_iterations=10).fit(corpus)
    chain, tagger = fitted.chain_, kept[0].tagger_
    features = templates.load("case")
    lexicons = chain.index.lexicons
    views = [estimators._at(d, casing.ordinary_places(d.words, d.marks)) for d in corpus]
    apart = estimators._learned_apart(views, features.learned, casing.Spelling())
    everything, _ = attributes.fit(Batch.of(views), features.templates, lexicons, apart)
    texts = [*corpus, *new]
    for document, found, shares in zip(texts, fitted.predict(texts), fitted.predict_marginals(texts), strict=True):
        ids = everything.transform(Batch.of([document])).tolist()
        theirs = [chain.labels[int(number)] for number in tagger.tag([[str(i) for i in row if i] for row in ids])]
        if theirs != found:
            assert math.isclose(*(score(chain, document, labels) for labels in (theirs, found)), abs_tol=1e-9)
        expected = [[tagger.marginal(str(k), t) for k in range(len(chain.labels))] for t in range(len(found))]
        np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-6)


def score(chain, document, labels) -> float:
    emission, path = chain.emissions([document]), [chain.labels.index(name) for name in labels]
    steps = [chain.transition[i, j] for i, j in itertools.pairwise(path)]
    return math.fsum([*(emission[t, y] for t, y in enumerate(path)), *steps])


# ---------------------------------------------------------------- the estimator


def test_what_a_fitted_estimator_has(fitted):
    assert fitted.classes_.tolist()[0] == "LOWER"
    assert set(fitted.classes_) == set(CLASSES)
    assert fitted.truecaser_.chain is fitted.chain_
    assert fitted.truecaser_.spelling.surface["iphone"] == "iPhone"
    assert fitted.predict(CORPUS) == [[case_class(word) for word in d.words] for d in CORPUS]
    assert fitted.score(CORPUS) == 1.0
    assert all(np.allclose(shares.sum(axis=1), 1) for shares in fitted.predict_marginals(CORPUS))


def test_training_twice_gives_the_same_arrays(model):
    again = TruecasingCRF(max_iterations=40).fit(CORPUS).truecaser_
    assert pack(again.to_arrays()) == pack(model.to_arrays())


def test_its_parameters_are_stored_and_nothing_else():
    given = {"features": "case", "c1": 0.1, "c2": 0.3, "max_iterations": 7, "bias": 0.2, "progress": None}
    given |= {"most_attributes": 5, "device": "auto"}
    estimator = TruecasingCRF(**given)
    assert estimator.get_params() == given
    assert vars(estimator) == given
    assert clone(estimator).get_params() == given
    assert estimator.set_params(c1=0.5).c1 == 0.5
    with pytest.raises(NotFittedError):
        estimator.predict(CORPUS)


def test_options_override_those_of_the_feature_file():
    steps: list[Progress] = []
    fitted = TruecasingCRF(c1=0.0, max_iterations=3, bias=0.25, progress=steps.append).fit(CORPUS)
    assert (fitted.options_.c1, fitted.options_.max_iterations, fitted.options_.bias) == (0.0, 3, 0.25)
    assert fitted.options_.c2 == templates.load("case").options.c2
    assert fitted.chain_.bias.tolist() == [0.0, 0.25, 0.25, 0.25]
    assert steps


def test_cross_validation_and_grid_search():
    estimator = TruecasingCRF(max_iterations=5)
    assert (cross_val_score(estimator, CORPUS, cv=2) > 0.5).all()
    search = GridSearchCV(estimator, {"c1": [0.0, 0.5]}, cv=2).fit(CORPUS)
    assert search.best_params_["c1"] in (0.0, 0.5)
    assert search.best_estimator_.truecaser_.words(CORPUS[:1])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "the training set has no words"),
        ("ala ma kota.", "the training text has no capital letter"),
        ("ALA MA KOTA.", "the training text is all in capitals"),
        ("ALA MA kota. ala ma kota.", "has capitals in sentences in capitals alone, which tell nothing; train case on"),
        ("ALA MA kota.", "has capitals in sentences in capitals alone"),
    ],
)
def test_nothing_to_learn_from(line, message):
    with pytest.raises(CorpusError, match=message):
        TruecasingCRF().fit([text(line)])


def test_marks_are_for_the_truecaser_alone():
    with pytest.raises(Exception, match="looks at the marks"):
        PunctuationCRF("case").fit(CORPUS)
