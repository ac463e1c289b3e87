"""The compiled model against the plain way: `LinearChain.emissions`, one document at a time.

Weights are random, not trained, so that a wrong one shows. Those in halves make every sum exact whatever its order:
then scores must be equal to the last bit and ties are broken in the same way. Other weights may differ by rounding,
far less than 1e-9.
"""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import attributes, decoding, lookups, tables, word_types
from crfpunct.attributes import Batch
from crfpunct.chain import LinearChain, state
from crfpunct.document import Document
from crfpunct.lookups import Lookup, Packed, Pairs
from crfpunct.marks import Typography
from crfpunct.observations import DISTANCE_OBSERVATIONS, FIRST_VALUE, PAUSE_OBSERVATIONS, SIZED, Observation
from crfpunct.punctuator import Punctuator
from crfpunct.restorer import Restorer
from crfpunct.tables import Tables
from crfpunct.templates import Template
from crfpunct.word_types import EDGE_TYPE

WORD = Observation("word")
GAP = Observation("gap")

# ---------------------------------------------------------------- words and documents

#: More words, and more endings, than an observation of "few values" may have; of few letters, so that they repeat.
SYLLABLES = [a + b for a in "bdkmz" for b in "aeęo"]
KNOWN = [
    *SYLLABLES,
    *("".join(SYLLABLES[i] for i in row) for row in np.random.default_rng(5).integers(0, 20, (49, 3))),
    *("Ba", "de.", "ko!?", "...", "12", "1998", "10:30", '"', "%", "3.5", "mp3"),
]
UNSEEN = ["nikt", "babado", "Żółw,", "–", "77", "BA,", "ba...", "x", "zobęko"]
LEXICONS = {"said": {"ba": "name", "de": "verb", "nikt": "name", "zoza": "verb"}}


def times(rng, size: int):
    """Times as an alignment gives them: some words unknown, or one end of them, some of length zero or backwards."""
    starts = np.cumsum(rng.choice([0, 60, 120, 300, 450, 2000], size))
    ends = starts + rng.choice([0, 30, 90, 300, 480], size)
    found = np.stack([starts, ends], axis=1).astype(np.int64)
    found[rng.random(size) < 0.1] = -1
    found[rng.random(size) < 0.05, rng.integers(2)] = -1
    return found


def given_marks(words: list[str]) -> list[str]:
    """Marks as a truecaser is given them, of which one is not among those that it knows."""
    return [("", "", ".", ",", "...", "?!")[(i + len(word)) % 6] for i, word in enumerate(words)]


def corpus_of(seed: int) -> list[Document]:
    """A training set with frequent words and rare ones, with and without times."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, len(KNOWN) + 1)
    order = rng.permutation(len(KNOWN))
    corpus = []
    for size in (0, 1, 2, 5, 12, 20, 40):
        words = [KNOWN[order[i]] for i in rng.choice(len(KNOWN), size, p=share / share.sum())]
        if size == 40:
            words += [KNOWN[i] for i in order]  # every word at least once
        timed = times(rng, len(words)) if rng.random() < 0.6 else None
        corpus.append(Document("", words, timed, given_marks(words) if rng.random() < 0.6 else None))
    return corpus


@st.composite
def texts(draw, corpus):
    """Pieces of the training set, so that conjunctions are met again, and words of all kinds between them."""
    words: list[str] = []
    timed: list[np.ndarray] = []
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            source = draw(st.sampled_from(corpus[3:]))
            low = draw(st.integers(0, len(source.words) - 1))
            piece = source.words[low : low + draw(st.integers(1, 12))]
            known = source.times_ms
        else:
            piece, known = draw(st.lists(st.sampled_from(KNOWN + UNSEEN * 3), max_size=4)), None
        timed.append(np.full((len(piece), 2), -1) if known is None else known[low : low + len(piece)])
        words += piece
    found = np.concatenate(timed).astype(np.int64) if words and draw(st.booleans()) else None
    return Document("", words, found, given_marks(words) if draw(st.booleans()) else None)


# ---------------------------------------------------------------- templates and chains

WORD_OBSERVATIONS = [
    WORD,
    *(Observation("suffix", n) for n in (1, 2, 3, 4)),
    *(Observation("prefix", n) for n in (2, 3)),
    *(Observation(name) for name in ("shape", "kind", "length")),
    Observation("lexicon", 0, "said"),
]
PAUSES = [Observation(name, 2 if name in SIZED else 0) for name in PAUSE_OBSERVATIONS]
BY_TOKEN = [*PAUSES, Observation("mark"), *(Observation(name, 0, "said") for name in DISTANCE_OBSERVATIONS)]

words_at = st.tuples(st.sampled_from([WORD, WORD, *WORD_OBSERVATIONS]), st.integers(-3, 4))
pauses_at = st.tuples(st.sampled_from(BY_TOKEN), st.integers(-2, 2))
use_of = st.one_of(
    # one word, through one observation or several
    st.tuples(
        st.lists(st.sampled_from(WORD_OBSERVATIONS), min_size=1, max_size=3, unique=True), st.integers(-3, 4)
    ).map(lambda drawn: [(observation, drawn[1]) for observation in drawn[0]]),
    # a run of words, and words with some left out
    st.tuples(st.integers(-3, 1), st.integers(2, 4)).map(lambda drawn: [(WORD, drawn[0] + i) for i in range(drawn[1])]),
    st.lists(words_at, min_size=2, max_size=4, unique=True),
    # pauses: one or two fit a product table, four do not
    st.lists(pauses_at, min_size=1, max_size=4, unique=True),
    st.tuples(st.lists(words_at, min_size=1, max_size=2, unique=True), st.lists(pauses_at, min_size=1, max_size=2)).map(
        lambda drawn: list(dict.fromkeys(drawn[0] + drawn[1]))
    ),
)


@st.composite
def template_sets(draw):
    """Templates of every class; of some also the same path elsewhere, one that goes on from it, one like it."""
    uses = draw(st.lists(use_of, min_size=1, max_size=5))
    for use in list(uses):
        step = draw(st.integers(-2, 2))
        uses.append([(observation, offset + step) for observation, offset in use])
        if len(use) < 4 and draw(st.booleans()):
            uses.append(list(dict.fromkeys([*use, draw(words_at | pauses_at)])))
        if draw(st.booleans()):
            other = draw(st.sampled_from(WORD_OBSERVATIONS))
            uses.append(list(dict.fromkeys((o if o.by_token else other, offset) for o, offset in use)))
    return tuple(Template(f"t{i}", use) for i, use in enumerate(dict.fromkeys(map(tuple, uses))))


def chain_of(templates, corpus, labels: int = 3, seed: int = 0, exact: bool = True, kept: float = 1.0) -> LinearChain:
    """A chain of random weights over the attributes of a corpus, or over a share of them."""
    rng = np.random.default_rng(seed)
    index, _ = attributes.fit(Batch.of(corpus), templates, LEXICONS)
    index = index.select(rng.random(index.count + 1) < kept)

    def weights(rows: int):
        if exact:
            return rng.integers(-4, 5, (rows, labels)) / 2 * (rng.random((rows, labels)) < 0.6)
        return rng.normal(size=(rows, labels)) * (rng.random((rows, labels)) < 0.8)

    drawn = np.vstack([np.zeros((1, labels)), weights(index.count)])
    states = ["", *".,?!:;"[: labels - 1]]
    if labels > 2 and seed % 3 == 2:
        states[-1] = state("", ".")  # a second state of the neutral label
    return LinearChain(tuple(states), index, drawn, weights(labels), rng.integers(-2, 3, labels) / 2)


@st.composite
def cases(draw):
    """A chain, and documents for it."""
    corpus = corpus_of(draw(st.integers(0, 3)))
    chain = chain_of(
        draw(template_sets()),
        corpus,
        labels=draw(st.integers(1, 4)),
        seed=draw(st.integers(0, 99)),
        exact=draw(st.booleans()),
        kept=draw(st.sampled_from([1.0, 0.5, 0.02])),
    )
    return chain, [*corpus, *draw(st.lists(texts(corpus), max_size=4))]


@contextmanager
def constants(**values):
    """Other constants, which change how a model is compiled and run, and never what it says."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(next(module for module in (tables, lookups, word_types) if name in vars(module)), name, value)
        yield


# ---------------------------------------------------------------- the plain way


def is_exact(chain: LinearChain) -> bool:
    return bool((chain.weights * 2 % 1 == 0).all() and (chain.transition * 2 % 1 == 0).all())


def assert_scores(found, expected, chain) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=0 if is_exact(chain) else 1e-9)


def leads(emission):
    """Scores less that of the first label, as the compiled model has them."""
    return emission - emission[:, :1]


def path_score(chain, emission, path) -> float:
    return sum(emission[t, y] for t, y in enumerate(path)) + sum(
        chain.transition[a, b] for a, b in itertools.pairwise(path)
    )


def assert_labels(found: list[str], emission, chain) -> None:
    """The best path, and of several the one of the lowest labels; where sums round, one within 1e-9 of the best."""
    best = decoding.viterbi(emission, chain.transition, np.array([len(emission)])).tolist()
    labels = [chain.labels[y] for y in best]
    if found != labels and not is_exact(chain):
        allowed = np.where(np.array(chain.labels) == np.array(found)[:, None], emission, -1e6)
        path = decoding.viterbi(allowed, chain.transition, np.array([len(emission)])).tolist()
        assert [chain.labels[y] for y in path] == found
        scores = [path_score(chain, emission, p) for p in (path, best)]
        np.testing.assert_allclose(*scores, rtol=0, atol=1e-9)
    else:
        assert found == labels


def assert_plain(chain: LinearChain, compiled: Tables, documents: list[Document]) -> None:
    """The compiled chain says of the documents, taken together, what the plain way says of each alone."""
    emission, starts, lengths = compiled.emissions(documents)
    assert lengths.tolist() == [len(document.words) for document in documents]
    labels, shares = compiled.decode(documents), compiled.marginals(documents)
    for document, start, found, share in zip(documents, starts.tolist(), labels, shares, strict=True):
        plain = chain.emissions([document])
        assert_scores(emission[start : start + len(document.words)], leads(plain), chain)
        assert_labels(found, plain + chain.bias, chain)
        expected = chain.by_label(decoding.marginals(plain, chain.transition, np.array([len(plain)])))
        np.testing.assert_allclose(share, expected, rtol=0, atol=1e-9)


# ---------------------------------------------------------------- compiled = plain


@settings(max_examples=100)
@given(cases())
def test_compiled_equals_plain(case):
    chain, documents = case
    assert_plain(chain, Tables(chain), documents)


@settings(max_examples=100)
@given(cases(), st.floats(1e-6, 1e6))
def test_a_chain_on_a_grid_is_compiled_in_32_bits_and_every_sum_is_exact(case, scale):
    chain, documents = case
    chain = replace(chain, weights=chain.weights * scale)
    on_grid = chain.on_grid()
    np.testing.assert_array_equal(on_grid.on_grid().weights, on_grid.weights)
    # That it is on the grid, it knows; a changed one has to be looked at.
    for known, looked_at in zip(on_grid.leads(), replace(on_grid).leads(), strict=True):
        np.testing.assert_array_equal(known, looked_at)
        assert known.dtype == looked_at.dtype
    between = replace(on_grid, weights=on_grid.weights + on_grid._grid / 4)
    assert between.leads()[0].dtype == np.float64
    given = [numbers.ravel() for numbers in (chain.weights, chain.transition)]
    found = [numbers.ravel() for numbers in (on_grid.weights, on_grid.transition)]
    largest = max(1, np.abs(np.concatenate(given)).max())
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(given), rtol=0, atol=1e-4 * largest)
    compiled = Tables(on_grid)
    assert compiled._no_weights.dtype == np.float32
    emission, starts, _ = compiled.emissions(documents)
    for document, start in zip(documents, starts.tolist(), strict=True):
        plain = on_grid.emissions([document])
        np.testing.assert_array_equal(emission[start : start + len(plain)], leads(plain))
        best = decoding.viterbi(plain + on_grid.bias, on_grid.transition, np.array([len(plain)])).tolist()
        assert compiled.decode([document])[0] == [on_grid.labels[y] for y in best]


#: No observation of a pause or a given mark has more values, so each of them fits a product table.
MOST_VALUES = max(FIRST_VALUE + len(observation.pause_values()) for observation in BY_TOKEN)


def test_every_pause_and_mark_fits_a_product_table():
    # What `tables` stands on: it has no other place for one that stands alone.
    assert tables._PRODUCT_ROWS >= MOST_VALUES


@settings(max_examples=60)
@given(
    cases(),
    st.fixed_dictionaries(
        {
            "_FEW_VALUES": st.sampled_from([0, 8, 32, 10**6]),
            "_PRODUCT_ROWS": st.sampled_from([MOST_VALUES, 40, 500, 1 << 14]),
            "_PRODUCT_VALUES": st.sampled_from([0, 32, 70, 10**6]),
            "_SHARED_ROWS": st.sampled_from([0, 500, 1 << 14]),
            "_DENSE_KEYS": st.sampled_from([0, 1000, 1 << 17]),
            "_GRID": st.sampled_from([0, 1 << 14]),
            "_DENSE_SHARE": st.sampled_from([-1.0, 0.3, 1.0]),
        }
    ),
)
def test_how_templates_are_compiled_changes_nothing(case, limits):
    chain, documents = case
    with constants(**limits):
        assert_plain(chain, Tables(chain), documents)


@settings(max_examples=30)
@given(cases(), st.sampled_from([1, 2, 7, 30]), st.sampled_from([0, 1, 5, 1 << 16]))
def test_blocks_and_a_small_cache_change_nothing(case, block, cached):
    chain, documents = case
    with constants(BLOCK_POSITIONS=block, CACHED_TYPES=cached):
        compiled = Tables(chain)
        assert_plain(chain, compiled, documents)
        # Once more, with a cache that is warm, or has just started afresh.
        assert_plain(chain, compiled, documents[::-1])


@settings(max_examples=40)
@given(cases(), st.data())
def test_a_batch_is_its_documents_one_by_one(case, data):
    chain, documents = case
    compiled = Tables(chain)
    shuffled = data.draw(st.permutations(documents))
    cut = data.draw(st.integers(0, len(documents)))
    together = compiled.decode(documents)
    assert [compiled.decode([document])[0] for document in documents] == together
    in_two = compiled.decode(shuffled[:cut]) + compiled.decode(shuffled[cut:])
    place = {id(document): i for i, document in enumerate(documents)}
    assert in_two == [together[place[id(document)]] for document in shuffled]
    for document, share in zip(documents, compiled.marginals(documents), strict=True):
        np.testing.assert_allclose(compiled.marginals([document])[0], share, rtol=0, atol=1e-12)


CLASSES = {
    "one word": [[(WORD, 0)], [(WORD, 2)]],
    "one word through several observations": [[(Observation("suffix", 2), 1), (Observation("kind"), 1)]],
    "a mark": [[(Observation("mark"), 0)], [(Observation("mark"), -1), (Observation("mark"), 0)]],
    "a mark and a word": [[(Observation("mark"), -1), (WORD, 0)], [(Observation("mark"), 0), (WORD, 0), (WORD, 1)]],
    "a pause": [[(pause, offset)] for pause in PAUSES for offset in (-1, 0, 1)],
    "pauses": [[(GAP, 0), (Observation("zero"), 0)], [(GAP, 0), (Observation("peak", 2), 1)]],
    "pauses, too many for a table": [[(GAP, offset) for offset in range(4)]],
    "kinds of words": [[(Observation("kind"), 0), (Observation("kind"), 1)]],
    "a word and a pause": [[(WORD, 0), (GAP, 0)], [(GAP, -1), (WORD, 1)]],
    "a word through several observations and a pause": [
        [(WORD, 0), (GAP, 0)],
        [(Observation("suffix", 3), 0), (GAP, 0)],
        [(GAP, 0), (Observation("suffix", 3), 0), (Observation("prefix", 3), 0)],
        [(Observation("suffix", 4), 0), (GAP, 0)],
    ],
    "a word and two pauses": [[(WORD, 0), (GAP, 0), (GAP, 1)]],
    "a word and the kind of another": [[(WORD, 0), (Observation("kind"), 1)], [(Observation("length"), -1), (WORD, 0)]],
    "two words": [[(WORD, 0), (WORD, 1)], [(WORD, -1), (WORD, 0)], [(WORD, -2), (WORD, 1)]],
    "three words": [[(WORD, 0), (WORD, 1), (WORD, 2)], [(WORD, -2), (WORD, 0), (WORD, 1)]],
    "four words": [[(WORD, offset) for offset in (-1, 0, 1, 2)], [(WORD, offset) for offset in (-3, -1, 1, 3)]],
    "words and a pause": [[(WORD, 0), (WORD, 1), (GAP, 0)], [(GAP, 0), (WORD, 1), (WORD, 0)]],
    "a lexicon": [[(Observation("lexicon", 0, "said"), 0)], [(Observation("lexicon", 0, "said"), 0), (WORD, 1)]],
}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("uses", CLASSES.values(), ids=CLASSES)
def test_every_class_of_templates(uses, exact):
    corpus = corpus_of(1)
    chain = chain_of(tuple(Template(f"t{i}", tuple(use)) for i, use in enumerate(uses)), corpus, exact=exact)
    # Templates that yield attributes, or there would be nothing to compare.
    assert all(len(keys) > 1 for keys in chain.index.keys)
    assert chain.emissions(corpus).any()
    assert_plain(chain, Tables(chain), [*corpus, *corpus_of(0), Document("", UNSEEN)])


def test_every_way_of_compiling_is_taken():
    """What the random cases stand on: with the constants as they are, all ways of compiling are in use."""
    uses = [use for group in CLASSES.values() for use in group]
    compiled = Tables(chain_of(tuple(Template(f"t{i}", tuple(use)) for i, use in enumerate(uses)), corpus_of(1)))
    assert compiled._words.by_offset.keys() == {0, 1, 2}
    assert len(compiled._products) > 1
    assert {root.is_pause for root in compiled._trie} == {True, False}
    assert any(grandchild.children for node in compiled._nodes for grandchild in node.children.values())
    assert any(len(node.tables) > 1 for node in compiled._nodes)  # a path shared between places


# ---------------------------------------------------------------- edges of what there can be


@pytest.mark.parametrize("documents", [[], [Document("", [])], [Document("", [])] * 3], ids=len)
@pytest.mark.parametrize("use", [((WORD, 0),), ((GAP, -2), (WORD, 3)), ((GAP, 0),)], ids=str)
def test_nothing_to_tag(documents, use):
    compiled = Tables(chain_of((Template("t", use),), corpus_of(0)))
    assert compiled.decode(documents) == [[] for _ in documents]
    assert [share.shape for share in compiled.marginals(documents)] == [(0, 3)] * len(documents)
    emission, starts, lengths = compiled.emissions(documents)
    assert emission.shape[1] == 3
    assert (len(starts), lengths.tolist()) == (len(documents), [0] * len(documents))


def test_a_chain_of_no_attributes_follows_its_transitions():
    chain = chain_of((Template("t", ((WORD, 0), (GAP, 2))), Template("u", ((WORD, 1),))), [])
    assert chain.index.count == 0
    assert_plain(chain, Tables(chain), corpus_of(0))


def test_no_document_sees_the_words_of_another():
    # Far-reaching templates, documents of one word: all that is around them is their edge.
    chain = chain_of(
        (
            Template("far", tuple((WORD, offset) for offset in (-9, 0, 9))),
            Template("next", ((WORD, 1), (GAP, 1))),
            Template("before", ((WORD, -1),)),
        ),
        [Document("", [word]) for word in KNOWN],
    )
    assert chain.weights.any()
    assert_plain(chain, Tables(chain), [Document("", [word]) for word in KNOWN + UNSEEN])


@pytest.mark.parametrize("block", [1, 3, 8192, 1 << 16])
def test_a_path_shared_from_one_end_of_what_is_seen_to_the_other(block):
    uses = [((WORD, offset), (WORD, offset + 1)) for offset in (-4, 3)]
    uses += [((WORD, offset), (WORD, offset + 1), (GAP, 4)) for offset in (-4, 3)]
    corpus = corpus_of(0)
    chain = chain_of(tuple(Template(f"t{i}", use) for i, use in enumerate(uses)), corpus)
    with constants(BLOCK_POSITIONS=block):
        assert_plain(chain, Tables(chain), corpus)
        for document in corpus:
            assert_plain(chain, Tables(chain), [document])


def test_words_that_look_up_alike_are_tagged_alike():
    chain = chain_of((Template("w", ((WORD, 0),)), Template("p", ((WORD, 0), (WORD, 1)))), corpus_of(0))
    compiled = Tables(chain)
    emission, starts, _ = compiled.emissions([Document("", ["ba", "de"]), Document("", ["BA,", "De..."])])
    assert emission[starts[0] : starts[0] + 2].any()
    np.testing.assert_array_equal(emission[starts[0] : starts[0] + 2], emission[starts[1] : starts[1] + 2])


def test_many_paths():
    observations = [WORD, Observation("suffix", 3), Observation("prefix", 3)]
    uses = [((a, 0), (b, k)) for a in observations for b in observations for k in range(1, 10)]
    rng = np.random.default_rng(2)
    words = ["".join(SYLLABLES[i] for i in row) for row in rng.integers(0, len(SYLLABLES), (120, 2))]
    corpus = [Document("", words), Document("", words[::-1])]
    chain = chain_of(tuple(Template(f"t{i}", use) for i, use in enumerate(uses)), corpus)
    with constants(_PRODUCT_VALUES=0):
        compiled = Tables(chain)
    assert len(compiled._nodes) == 81
    assert_plain(chain, compiled, [*corpus, Document("", rng.permutation(words).tolist())])


def test_large_vocabularies():
    words = [f"w{i}" for i in range(700)]
    corpus = [Document("", words), Document("", words[::-1])]
    chain = chain_of((Template("pair", ((WORD, 0), (WORD, 2))), Template("w", ((WORD, 0), (GAP, 0)))), corpus)
    rng = np.random.default_rng(0)
    assert_plain(chain, Tables(chain), [*corpus, Document("", [words[i] for i in rng.integers(0, 700, 2000)])])


def test_a_tie_means_no_mark():
    chain = chain_of((Template("w", ((WORD, 0),)),), corpus_of(0))
    chain.weights[:], chain.transition[:] = 0, 0
    assert Tables(chain).decode(corpus_of(1)) == [[""] * len(document.words) for document in corpus_of(1)]


def test_documents_are_left_as_they_are():
    chain = chain_of((Template("t", ((WORD, 0), (GAP, 0))), Template("g", ((GAP, 0),))), corpus_of(0))
    documents, before = corpus_of(0), pickle.dumps(corpus_of(0))
    for document in documents:
        if document.times_ms is not None:
            document.times_ms.flags.writeable = False
    compiled = Tables(chain)
    compiled.decode(documents)
    compiled.marginals(documents)
    assert pickle.dumps(documents) == before


# ---------------------------------------------------------------- the cache of word types

USUAL = (
    Template("w", ((WORD, 0),)),
    Template("n", ((WORD, 1),)),
    Template("s", ((Observation("suffix", 2), 0), (Observation("length"), 0))),
    Template("pair", ((WORD, 0), (WORD, 1))),
    Template("ends", ((Observation("suffix", 1), -1), (WORD, 0))),
    Template("spoken", ((WORD, 0), (GAP, 0))),
    Template("stretch", ((Observation("stretch"), 0),)),
)


def new_words(first: int, count: int) -> list[str]:
    return [SYLLABLES[i % 20] * (1 + i % 3) + f"{i}" + SYLLABLES[i % 7] for i in range(first, first + count)]


def test_endless_new_words_take_no_more_room():
    chain = chain_of(USUAL, corpus_of(0))
    with constants(CACHED_TYPES=50):
        compiled = Tables(chain)
        for i in range(60):
            document = Document("", [*new_words(10 * i, 10), "ba", "de", "ba"])
            (found,) = compiled.decode([document])
            assert_labels(found, chain.emissions([document]), chain)
            assert len(compiled._cache.types) <= 50 + 12  # and those of one batch
            assert len(compiled._cache.rows().characters) == tables._ROOM


def test_known_words_take_no_room_twice():
    compiled = Tables(chain_of(USUAL, corpus_of(0)))
    compiled.decode(corpus_of(0))
    size, rows = len(compiled._cache.types), compiled._cache.rows()
    compiled.decode(corpus_of(0))
    assert (len(compiled._cache.types), compiled._cache.rows() is rows) == (size, True)
    assert size == 1 + len({word for document in corpus_of(0) for word in document.words})


def test_the_cache_grows_and_keeps_what_it_has(monkeypatch):
    chain = chain_of(USUAL, corpus_of(0))
    compiled = Tables(chain)
    old = corpus_of(0)
    monkeypatch.setattr(tables, "_ROOM", 1 << 12)
    assert_plain(chain, compiled, old)
    early = compiled._lay_out(old, None)
    for first, count in ((0, 10), (10, 5000), (5010, 9000)):
        assert_plain(chain, compiled, [Document("", new_words(first, count) + old[-1].words), *old])
    assert len(compiled._cache.types) > 14_000
    # Rows handed out earlier are still right for the types that they were handed out for.
    scores = np.concatenate([block for _, block in compiled._blocks(early)])
    inside = early.types[early.reach : len(early.types) - early.reach] != EDGE_TYPE
    np.testing.assert_array_equal(scores[inside], leads(chain.emissions(old))[:, 1:])


# ---------------------------------------------------------------- threads and processes


@pytest.mark.parametrize("cached", [3, 1 << 16])
def test_threads_share_tables(cached):
    chain = chain_of(USUAL, corpus_of(0))
    batches = [
        [Document(d.id, d.words + new_words(40 * t + 10 * i, 10)) for d in corpus_of(t % 4)[:5]]
        for t in range(8)
        for i in range(4)
    ]
    expected = [[chain.emissions([d]) for d in batch] for batch in batches]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with constants(CACHED_TYPES=cached, BLOCK_POSITIONS=16), ThreadPoolExecutor(8) as pool:
            for _ in range(5):
                compiled = Tables(chain)  # which knows no word yet
                found = list(pool.map(compiled.emissions, batches))
                labels = list(pool.map(compiled.decode, batches))
                for (emission, starts, _), plain in zip(found, expected, strict=True):
                    for start, scores in zip(starts.tolist(), plain, strict=True):
                        np.testing.assert_array_equal(emission[start : start + len(scores)], leads(scores))
                for marks, plain in zip(labels, expected, strict=True):
                    for found_marks, scores in zip(marks, plain, strict=True):
                        assert_labels(found_marks, scores, chain)
    finally:
        sys.setswitchinterval(interval)


def test_a_punctuator_can_be_sent_to_another_process():
    chain = chain_of(USUAL, corpus_of(0))
    spoken = chain_of((*USUAL, Template("g", ((GAP, 0),))), corpus_of(1), seed=1)
    punctuator = Punctuator(chain, spoken)
    documents = [*corpus_of(0), *corpus_of(1)]
    expected = punctuator.marks(documents)  # compiled by now, which does not travel
    restorer = Restorer(punctuator, Typography(frozenset({"ba"})), {"language": "pl"})
    text = " ".join(corpus_of(0)[-1].words)
    code = (
        "import pickle, sys; punctuator, restorer, documents, text = pickle.load(sys.stdin.buffer); "
        "found = punctuator.marks(documents), restorer.restore(text), restorer.manifest; "
        "sys.stdout.buffer.write(pickle.dumps(found))"
    )
    sent = pickle.dumps((punctuator, restorer, documents, text))
    answer = subprocess.run([sys.executable, "-c", code], input=sent, stdout=subprocess.PIPE, check=True)
    assert pickle.loads(answer.stdout) == (expected, restorer.restore(text), {"language": "pl"})
    assert len(pickle.dumps(punctuator)) == len(pickle.dumps(Punctuator(chain, spoken)))


# ---------------------------------------------------------------- lookups

INVERSE = pow(0x9E3779B97F4A7C15, -1, 1 << 64)  # of the hash's factor: makes keys for a given slot


def colliding(slot_of_16: int, count: int) -> list[int]:
    """Keys whose hashes begin with the same four bits and, as far as these go, with the next 28 as well."""
    keys = ((((slot_of_16 << 28) << 32) + j) * INVERSE % (1 << 64) for j in itertools.count(1))
    return list(itertools.islice((key for key in keys if key < 1 << 62), count))


some_keys = st.one_of(
    st.sets(st.integers(0, 40)),
    st.sets(st.integers(0, (1 << 62) - 1)),
    st.tuples(st.integers(0, 15), st.integers(0, 60)).map(lambda drawn: set(colliding(*drawn))),
    st.tuples(st.integers(0, 60), st.sets(st.integers(0, 99))).map(
        lambda drawn: set(colliding(15, drawn[0])) | drawn[1]
    ),
)


@settings(max_examples=200)
@given(some_keys, some_keys, st.randoms(use_true_random=False), st.sampled_from([0, 1 << 17]))
def test_a_lookup_is_a_dictionary(keys, others, random, dense_pairs):
    ordered = list(keys)
    random.shuffle(ordered)
    expected = {key: place for place, key in enumerate(ordered, 1)}
    queries = [*ordered, *others, *(key + 1 for key in ordered), *ordered[::-1]]
    given_keys = np.array(ordered, dtype=np.int64)
    with constants(_DENSE_KEYS=dense_pairs):
        lookup = Lookup.of(given_keys)
    found = lookup.find(np.array(queries, dtype=np.int64))
    assert found.tolist() == [expected.get(key, 0) for key in queries]
    assert given_keys.tolist() == ordered
    assert lookup.find(given_keys[:0]).tolist() == []


@pytest.mark.parametrize("slot", [0, 7, 15])
def test_a_lookup_of_keys_that_all_want_the_same_slot(slot):
    keys = colliding(slot, 400)
    with constants(_DENSE_KEYS=0):
        lookup = Lookup.of(np.array(keys[:200], dtype=np.int64))
    assert len(set(lookups._hash(np.array(keys), lookup.shift).tolist())) == 1
    assert lookup.find(np.array(keys, dtype=np.int64)).tolist() == [*range(1, 201), *[0] * 200]


def test_a_lookup_is_at_most_a_quarter_full():
    for size in (1, 3, 4, 5, 63, 64, 65, 1000):
        with constants(_DENSE_KEYS=0):
            lookup = Lookup.of(np.arange(size, dtype=np.int64) * 977)
        assert len(lookup.slot_keys) >= 4 * size
        assert (lookup.slot_keys >= 0).sum() == size


number_pairs = st.one_of(
    st.sets(st.tuples(st.integers(1, 30), st.integers(1, 30))),
    # long rows that look alike, which leave each other no room
    st.tuples(st.integers(1, 40), st.integers(1, 60), st.integers(1, 3)).map(
        lambda drawn: {(row, 1 + step * drawn[2]) for row in range(1, 1 + drawn[0]) for step in range(drawn[1])}
    ),
    st.sets(st.tuples(st.integers(1, 2000), st.integers(1, 5))),
)


@settings(max_examples=300)
@given(number_pairs, st.randoms(use_true_random=False))
def test_packed_rows_are_a_dictionary(pairs, random):
    ordered = list(pairs)
    random.shuffle(ordered)
    size = 1 + max((second for _, second in ordered), default=0)
    highest = 1 + max((first for first, _ in ordered), default=0)
    columns = np.array(ordered, dtype=np.int64).reshape(-1, 2).T
    sizes = (highest + 1, size)
    place_of = {pair: place for place, pair in enumerate(ordered, 1)}
    queries = [(first, second) for first in range(highest + 1) for second in range(size)]
    expected = [(i, place_of[query]) for i, query in enumerate(queries) if query in place_of]

    def found(lookup):
        known, places = lookup.find(*np.array(queries, dtype=np.int32).T)
        return list(zip(known.tolist(), places.tolist(), strict=True))

    assert found(Packed.of(*columns, sizes)) == expected
    # Searched at first, packed later, always the same.
    assert found(Pairs(*columns, sizes)) == expected
    with constants(_GRID=0):
        both = Pairs(*columns, sizes)
    both._left = len(queries)
    for is_packed in (False, True):
        assert found(both) == expected
        assert (both._packed is not None) == is_packed


def test_rows_that_leave_no_room_get_more():
    # Every row takes every second number: no two of them can lie over each other but in two ways.
    pairs = [(row, 2 * step) for row in range(1, 60) for step in range(1, 400)]
    first, second = np.array(pairs, dtype=np.int64).T
    packed = Packed.of(first, second, (60, 800))
    known, places = packed.find(first.astype(np.int32), second.astype(np.int32))
    assert known.tolist() == list(range(len(pairs)))
    assert places.tolist() == list(range(1, len(pairs) + 1))
    assert not len(packed.find(first.astype(np.int32), second.astype(np.int32) - 1)[0])


def test_many_templates_join_one_word_and_one_pause():
    observations = [Observation(name, n) for n in (3, 4, 5, 6, 7, 8) for name in ("prefix", "suffix")]
    words = [f"{a:x}{b:x}" for a, b in np.random.default_rng(0).integers(1 << 15, 1 << 31, (900, 2)).tolist()]
    corpus = [Document("", words)]
    uses = [((o, 0), (GAP, 0)) for o in observations]
    chain = chain_of(tuple(Template(f"t{i}", use) for i, use in enumerate(uses)), corpus)
    mixed = [a[:4] + b[4:] for a, b in itertools.pairwise(words)]
    assert_plain(chain, Tables(chain), [*corpus, Document("", mixed)])


def test_an_interrupted_call_leaves_the_tables_as_they_were(monkeypatch):
    chain = chain_of((Template("a", ((WORD, 0),)), Template("b", ((WORD, 1),))), corpus_of(0))
    compiled = Tables(chain)
    document = corpus_of(0)[-1]
    real = tables._Words.fill

    def interrupted(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(tables._Words, "fill", interrupted)  # Ctrl-C in a notebook, just then
    with pytest.raises(KeyboardInterrupt):
        compiled.decode([document])
    monkeypatch.undo()
    assert_plain(chain, compiled, [document])
