"""Word classes: each step against a slow or a known one, the whole by its properties, and the choice of a device."""

from __future__ import annotations

import inspect
import io
import random
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.stats import chi2_contingency
from sklearn.feature_selection import chi2 as sklearn_chi2
from sklearn.metrics import adjusted_rand_score

from crfpunct import clusters
from crfpunct.clusters import backend, counts, endings, selection
from crfpunct.clusters.backend import ScikitLearn
from crfpunct.clusters.classes import embed
from crfpunct.errors import BackendError, CorpusError
from crfpunct.observations import normal

SMALL = clusters.Options(classes=(2, 4), min_count=3, window=2, dimensions=8)


def sentences(number: int = 400, seed: int = 0) -> list[list[str]]:
    """Subject, verb, object: three kinds of words that stand in three places, some of them rare."""
    draw = random.Random(seed)
    people = ["ala", "jan", "ewa", "ola", "piotr", "marta"]
    doing = ["widział", "czytał", "pisał", "malował", "zjadał"]
    things = ["książkę", "gazetę", "kartkę", "zupę", "łódkę"]
    made = [[draw.choice(people), draw.choice(doing), draw.choice(things)] for _ in range(number)]
    return [*made, ["ala", "rysował", "deskę"], ["jan", "rysował", "kreskę"], ["ewa", "wrysował", "deskę"]] * 2


# ---------------------------------------------------------------- counts

WORDS = st.sampled_from(["a", "b", "c", "d", "e", "f"])
TEXTS = st.lists(st.lists(WORDS, max_size=7), max_size=8)


def slow_counts(texts: list[list[str]], words: list[str], rows: int, contexts: int, window: int) -> np.ndarray:
    """One pair after the other, edges of texts included."""
    place = {word: i for i, word in enumerate(words)}
    found = np.zeros((rows, 2 * window * contexts))
    for text in texts:
        edged = ["", *text, ""]
        for i, word in enumerate(edged):
            if not word or place[word] > rows:
                continue
            for distance in range(1, window + 1):
                for j, block in ((i + distance, distance - 1), (i - distance, window + distance - 1)):
                    if 0 <= j < len(edged) and place[edged[j]] < contexts:
                        found[place[word] - 1, block * contexts + place[edged[j]]] += 1
    return found


@given(TEXTS, st.integers(1, 3), st.integers(1, 7), st.integers(1, 4), st.integers(1, 6))
def test_counts_are_those_of_counting_pair_by_pair_whatever_the_chunks(texts, window, contexts, chunk, rows):
    with counts.read(texts) as corpus, pytest.MonkeyPatch.context() as patch:
        rows, contexts = min(rows, len(corpus.words) - 1), min(contexts, len(corpus.words))
        patch.setattr(counts, "_CHUNK", chunk)
        found = counts.cooccurrences(corpus, rows, contexts, window)
    np.testing.assert_array_equal(found.toarray(), slow_counts(texts, corpus.words, rows, contexts, window))


def test_words_are_counted_in_their_normal_form_the_commonest_first():
    with counts.read([["Kota.", "kota", "pies"], [], ["A"]]) as corpus:
        pass
    assert corpus.words == ["", "kota", "a", "pies"]
    assert corpus.counts.tolist() == [3, 2, 1, 1]


def small_matrix() -> csr_matrix:
    with counts.read(sentences()) as corpus:
        return counts.ppmi(counts.cooccurrences(corpus, 15, 16, 2))


def test_ppmi_is_the_textbook_formula():
    table = np.array([[4.0, 1, 0], [1, 1, 1], [0, 2, 6]])
    smoothed = table.sum(axis=0) ** 0.75
    with np.errstate(divide="ignore"):
        pmi = np.log((table / table.sum()) / np.outer(table.sum(axis=1) / table.sum(), smoothed / smoothed.sum()))
    np.testing.assert_allclose(counts.ppmi(csr_matrix(table)).toarray(), np.maximum(pmi, 0), rtol=1e-6)
    np.testing.assert_allclose(
        counts.ppmi(csr_matrix(table), shift=2).toarray(), np.maximum(pmi - np.log(2), 0), rtol=1e-5, atol=1e-7
    )


def test_vectors_have_length_one():
    vectors = embed(small_matrix(), 4, 0, ScikitLearn())
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)


# ---------------------------------------------------------------- endings

TABLES = st.dictionaries(
    st.text("abc", min_size=1, max_size=6), st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=40
)


@given(TABLES, st.integers(1, 5), st.integers(1, 4))
def test_every_ending_that_is_kept_sets_words_right(table, longest, gain):
    learned = endings.learn(table, longest, gain)

    def right(known: dict) -> int:
        pairs = [(endings.of(word, known, longest), classes) for word, classes in table.items()]
        return sum(a == b for found, gold in pairs for a, b in zip(found, gold, strict=True))

    assert "" in learned
    assert all(len(ending) <= longest for ending in learned)
    assert right(learned) >= right({"": learned[""]})
    for ending in learned.keys() - {""}:
        shorter = {e: c for e, c in learned.items() if len(e) < len(ending)}
        # Endings of the same length hold for other words.
        assert right({**shorter, ending: learned[ending]}) >= right(shorter) + gain


def test_an_ending_that_a_lexicon_file_would_change_is_not_used():
    table = {word: (i % 2,) for i in range(40) for word in [f"{'ab'[i % 2]}{i}…", f"{'ab'[i % 2]}{i}."]}
    assert all(normal(f"*{ending}") == f"*{ending}" for ending in endings.learn(table))


# ---------------------------------------------------------------- the whole


@pytest.fixture(scope="module")
def learned() -> clusters.WordClasses:
    return clusters.learn(sentences(), SMALL, ScikitLearn())


def test_words_that_stand_in_the_same_places_have_the_same_class(learned):
    finest = [
        {learned.of(word)[1] for word in group.split()} for group in ("ala ewa jan", "pisał czytał", "gazetę zupę")
    ]
    assert [len(classes) for classes in finest] == [1, 1, 1]
    assert len(set.union(*finest)) == 3


def test_rare_words_go_by_their_spelling_and_unseen_ones_by_their_endings(learned):
    assert learned.of("wrysował")[1] == learned.of("pisał")[1]
    assert "wymalował" not in learned.words
    assert learned.of("wymalował")[1] == learned.of("pisał")[1]


def test_the_same_texts_and_seed_give_the_same_file(learned):
    again = clusters.learn(iter(sentences()), SMALL, ScikitLearn())
    assert again == learned
    assert written(again) == written(learned)


def written(learned: clusters.WordClasses) -> str:
    out = io.StringIO()
    learned.write(out, ["a comment"])
    return out.getvalue()


def test_no_word_is_listed_that_its_ending_places_anyway(learned):
    assert learned.words
    for word, classes in learned.words.items():
        assert endings.of(word, learned.endings) != classes


def test_the_file_is_a_lexicon_of_sorted_lines(learned):
    comment, *lines = written(learned).splitlines()
    assert comment == "# a comment"
    words = [line.split("\t")[0] for line in lines]
    assert words == sorted(words)
    assert "*" in words
    assert all(len(line.split("\t")) == 3 for line in lines)


def test_feature_files_read_what_is_written(learned, tmp_path):
    from crfpunct import templates

    (tmp_path / "classes.txt").write_text(written(learned), encoding="utf-8")
    (tmp_path / "f.toml").write_text(
        '[lexicon]\nfine = { file = "classes.txt", column = 2 }\n[[template]]\nname = "c"\nuse = ["lexicon.fine[0]"]\n',
        encoding="utf-8",
    )
    lexicon = templates.load(tmp_path / "f.toml").lexicons["fine"]
    for word in ["ala", "wrysował", "wymalował", "zzz", "x"]:
        assert lexicon[word] == str(learned.of(word)[1])


def test_words_that_a_lexicon_cannot_have_are_left_out():
    odd = [["#tag", "*", "nie\u00a0wiem", "...", "kot", "pies", "dom"]] * 9
    found = clusters.learn(odd, clusters.Options(classes=(2,), min_count=2, dimensions=2), ScikitLearn())
    assert set(found.words) <= {"kot", "pies", "dom"}


def test_marks_are_neighbours_and_have_no_class():
    texts = [clusters.tokens(["tak", "a", "nie", "b"], [",", "", ".", ""]) for _ in range(9)]
    assert texts[0] == ["tak", ",", "a", "nie", ".", "b"]
    learned = clusters.learn(texts, clusters.Options(classes=(2,), min_count=2, dimensions=2), ScikitLearn())
    assert set(learned.words) <= {"tak", "a", "nie", "b"}
    assert learned.summary.startswith("54 words and marks, 6 of them different;")


def test_progress_names_every_stage():
    told = []
    clusters.learn(sentences(), SMALL, ScikitLearn(), lambda *step: told.append(step))
    assert [stage for stage, _, _ in told] == [
        "reading", "counting", "vectors", "2 classes", "4 classes", "rare words", "rare words",
    ]  # fmt: skip
    assert told[-1][1] == told[-1][2] == 6


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "the texts have no words, so there is nothing to tell apart; give more text."),
        ([["tak", "tak."]], "the texts have only the word 'tak', so there is nothing to tell apart; give more text."),
        (
            [["tak", "nie"]] * 5,
            "the texts have 2 words and marks that occur 3 times or more, expected 4 at least, one a class; "
            "give more text, a smaller --min-count or fewer --classes.",
        ),
    ],
)
def test_texts_that_are_too_small(texts, message):
    with pytest.raises(CorpusError) as caught:
        clusters.learn(texts, SMALL, ScikitLearn())
    assert str(caught.value) == message


def test_a_small_vocabulary_has_vectors_of_fewer_dimensions():
    options = clusters.Options(classes=(2,), min_count=1, dimensions=500)
    assert "(3 dimensions)" in clusters.learn([["a", "b", "c", "d"]] * 4, options, ScikitLearn()).summary


# ---------------------------------------------------------------- devices


def loaded_with(module: str) -> set[str]:
    """The modules that a fresh interpreter holds after an import."""
    code = f"import sys, {module}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_tagging_loads_nothing_of_this_and_this_nothing_heavy():
    assert not any(name.startswith("crfpunct.clusters") for name in loaded_with("crfpunct.restorer"))
    assert not loaded_with("crfpunct.clusters") & {"sklearn", "scipy", "threadpoolctl", "cupy", "cudf", "cuml"}


def test_one_module_names_what_the_card_needs():
    package = Path(clusters.__file__).parents[1]
    pattern = re.compile(r"^\s*(?:import|from) (?:cuml|cupy|cupyx|cudf)\b", re.MULTILINE)
    assert [path for path in package.rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))] == [
        package / "clusters" / "backend.py"
    ]


@pytest.mark.parametrize("device", [ScikitLearn, backend.CuML])
def test_both_devices_have_the_same_methods(device):
    for name, method in inspect.getmembers(backend.Backend, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.signature(getattr(device, name)) == inspect.signature(method)


def test_hashes_are_murmurhash3_of_character_ngrams():
    from sklearn.utils import murmurhash3_32

    found = ScikitLearn().hash_ngrams(["^ćma$", "^a$"], (2, 4), 1024)
    expected = np.zeros((2, 1024))
    for row, word in enumerate(["^ćma$", "^a$"]):
        for n in range(2, 5):
            for start in range(len(word) - n + 1):
                expected[row, abs(murmurhash3_32(word[start : start + n])) % 1024] += 1
    np.testing.assert_array_equal(found.toarray(), expected)


def test_an_unknown_cuda_is_said_and_auto_takes_the_processor():
    if cuda_is_there():
        pytest.skip("there is a CUDA device")
    with pytest.raises(BackendError, match=r"^cuda: .*; .*pip install 'crfpunct\[cuda12\]'"):
        clusters.choose("cuda")
    chosen, why = clusters.choose("auto")
    assert chosen.name == "cpu"
    assert why.startswith("device cpu (")


def cuda_is_there() -> bool:
    try:
        backend.check_cuda()
    except BackendError:
        return False
    return True


def fake(monkeypatch, name: str, **parts: object) -> None:
    module = types.ModuleType(name)
    module.__dict__.update(parts)
    monkeypatch.setitem(sys.modules, name, module)


def cupy_with(available: bool, free: int = 0) -> dict[str, object]:
    runtime = types.SimpleNamespace(memGetInfo=lambda: (free, 10**12))
    return {"cuda": types.SimpleNamespace(is_available=lambda: available, runtime=runtime)}


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(BackendError, match=r"^cuda: CuPy is not installed \(.*\); pip install 'crfpunct\[cuda12\]'"):
        backend.check_cuda()


def test_without_a_device(monkeypatch):
    fake(monkeypatch, "cupy", **cupy_with(available=False))
    fake(monkeypatch, "cuml", __version__="26.10.0")  # which imports without a driver, and proves nothing
    with pytest.raises(BackendError, match=r"^cuda: no CUDA device or no driver for it was found; use --device cpu"):
        backend.check_cuda()


def test_without_cuml(monkeypatch):
    fake(monkeypatch, "cupy", **cupy_with(available=True))
    monkeypatch.setitem(sys.modules, "cuml", None)
    with pytest.raises(BackendError, match=r"^cuda: cuML is not installed \(.*\); pip install 'crfpunct\[cuda12\]'"):
        backend.check_cuda()


def test_with_a_cuml_that_is_not_known(monkeypatch):
    fake(monkeypatch, "cupy", **cupy_with(available=True))
    fake(monkeypatch, "cuml", __version__="25.12.00")
    with pytest.raises(BackendError, match=r"^cuda: cuML 25\.12\.00 is installed, expected 26\.x; pip install"):
        backend.check_cuda()


def test_what_does_not_fit_on_the_card_is_refused_before_it_is_copied(monkeypatch):
    fake(monkeypatch, "cupy", **cupy_with(available=True, free=10**9))
    with pytest.raises(BackendError, match=r"^cuda: the SVD needs 2\.0 GB on the device, 1\.0 GB are free; free some"):
        backend._check_memory(2 * 10**9, "the SVD")
    backend._check_memory(10**9, "the SVD")


class OnTheCard(ScikitLearn):
    """Stands in for cuML."""

    name = "cuda"


def test_the_device_asked_for_does_the_work(monkeypatch, learned):
    monkeypatch.setitem(clusters.BACKENDS, "cuda", OnTheCard)
    for device, name in (("cuda", "cuda"), ("auto", "cuda"), ("cpu", "cpu")):
        chosen, why = clusters.choose(device)
        assert chosen.name == name
        assert why.startswith(f"device {name}")
        assert clusters.learn(sentences(), SMALL, chosen) == learned


# ---------------------------------------------------------------- selection

IDS = st.integers(1, 4).flatmap(
    lambda templates: st.lists(
        st.tuples(st.integers(0, 2), *[st.integers(0, 3) for _ in range(templates)]), min_size=1, max_size=30
    )
)


def as_ids(rows: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray, int]:
    """Ids of their own for every template: (N, M), the labels (N,) and how many ids there are."""
    table = np.array(rows)
    labels, values = table[:, 0], table[:, 1:]
    ids = np.where(values > 0, values + 3 * np.arange(values.shape[1]), 0)
    return ids.astype(np.int32), labels, 3 * values.shape[1]


def one_hot(ids: np.ndarray, count: int) -> np.ndarray:
    """(N, A) 1 where a token has an attribute."""
    return (ids[:, :, None] == np.arange(1, count + 1)).any(axis=1).astype(float)


@given(IDS)
def test_chi_squared_is_that_of_scikit_learn(rows):
    ids, labels, count = as_ids(rows)
    observed = selection.occurrences(ids, labels, count, 3)
    found = ScikitLearn().chi2(observed, np.bincount(labels, minlength=3).astype(float))
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = sklearn_chi2(one_hot(ids, count), labels)[0]
    assert found[0] == 0
    # scikit-learn has NaN for what never occurs.
    np.testing.assert_allclose(found[1:], np.nan_to_num(expected), rtol=1e-9, atol=1e-12)


def test_chi_squared_of_scipy_adds_the_absences():
    observed = np.array([[0.0, 8, 2], [0.0, 2, 6]])
    labels = np.array([12.0, 12.0])
    of_attribute = ScikitLearn().chi2(observed, labels)[1]
    of_absence = ScikitLearn().chi2(labels[:, None] - observed, labels)[1]
    table = np.stack([observed[:, 1], labels - observed[:, 1]])
    assert of_attribute + of_absence == pytest.approx(chi2_contingency(table, correction=False).statistic, rel=1e-12)


@given(IDS, st.integers(1, 3), st.integers(1, 6))
def test_what_is_kept_is_frequent_enough_and_the_best(rows, least, most):
    ids, labels, count = as_ids(rows)
    lengths = np.array([len(ids) // 2, 0, len(ids) - len(ids) // 2])
    keep = selection.select(ids, lengths, labels, count, min_documents=least)
    frequency = selection.document_frequency(ids, lengths, count)
    halves = [set(np.unique(part).tolist()) for part in np.split(ids, [len(ids) // 2])]
    assert frequency.tolist() == [0, *[sum(i in half for half in halves) for i in range(1, count + 1)]]
    np.testing.assert_array_equal(keep, frequency >= max(least, 1))
    fewer = selection.select(ids, lengths, labels, count, min_documents=least, most_attributes=most)
    assert fewer.sum() == min(most, keep.sum())
    assert not (fewer & ~keep).any()
    observed = selection.occurrences(ids, labels, count, labels.max() + 1)
    scores = ScikitLearn().chi2(observed, np.bincount(labels).astype(float))
    dropped = keep & ~fewer
    if dropped.any():
        assert scores[fewer].min() >= scores[dropped].max()


@given(IDS)
def test_ids_are_renumbered_as_the_index_is(rows):
    ids, _, count = as_ids(rows)
    keep = np.arange(count + 1) % 2 == 1
    found = selection.renumber(ids, keep)
    kept = np.flatnonzero(keep).tolist()
    expected = [[kept.index(i) + 1 if i in kept else 0 for i in row] for row in ids.tolist()]
    assert found.tolist() == expected


# ---------------------------------------------------------------- parity with a graphics card


@pytest.fixture(scope="module")
def card() -> backend.Backend:
    """cuML, or a visible skip."""
    try:
        return backend.CuML()
    except BackendError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def blobs() -> np.ndarray:
    """(600, 12) float32 vectors of length 1 around six directions."""
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(6, 12))
    points = centres[draw.integers(0, 6, 600)] + 0.2 * draw.normal(size=(600, 12))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.gpu
def test_gpu_hashes_are_the_same(card):
    words = [f"^{word}$" for text in sentences(50) for word in text] + ["^a$", "^łódź$", "^日本$", "^𝒳$"]
    ours, theirs = (b.hash_ngrams(words, (2, 4), 2**16).toarray() for b in (ScikitLearn(), card))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.gpu
def test_gpu_svd_spans_the_same_space(card):
    matrix = small_matrix()
    ours, theirs = (np.linalg.qr(b.reduce(matrix, 4, 0)[0])[0] for b in (ScikitLearn(), card))
    # Cosines of the principal angles between the two spaces.
    assert np.linalg.svd(ours.T @ theirs, compute_uv=False).min() > 0.999


@pytest.mark.gpu
def test_gpu_k_means_from_the_same_start(card, blobs):
    start = blobs[:6]
    ours, theirs = (b.cluster(blobs, start, 50) for b in (ScikitLearn(), card))
    assert adjusted_rand_score(ours, theirs) >= 0.9


@pytest.mark.gpu
@settings(max_examples=10)
@given(IDS)
def test_gpu_chi_squared_is_the_same(card, rows):
    ids, labels, count = as_ids(rows)
    observed = selection.occurrences(ids, labels, count, 3)
    label_counts = np.bincount(labels, minlength=3).astype(float)
    ours, theirs = (b.chi2(observed, label_counts) for b in (ScikitLearn(), card))
    np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12)


@pytest.mark.gpu
def test_gpu_tables_train_the_same_model(card, learned, tmp_path):
    from crfpunct.document import Document
    from crfpunct.estimators import PunctuationCRF

    documents = [Document("", text, marks=["", ",", "."]) for text in sentences(60)]
    (tmp_path / "f.toml").write_text(
        '[train]\nmax_iterations = 20\n[lexicon]\nfine = { file = "c.txt", column = 2 }\n'
        '[[template]]\nname = "c"\nuse = ["lexicon.fine[0]"]\n',
        encoding="utf-8",
    )
    found = []
    for table in (learned, clusters.learn(sentences(), SMALL, card)):
        (tmp_path / "c.txt").write_text(written(table), encoding="utf-8")
        found.append(PunctuationCRF(tmp_path / "f.toml", use_times=False).fit(documents).predict(documents))
    assert found[0] == found[1]
