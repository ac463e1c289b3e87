"""Decoding against an enumeration of all paths, and against the recursions as a textbook writes them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import decoding
from crfpunct.decoding import dominance, marginals, undecided, viterbi


def path_score(emission, transition, path) -> float:
    """The score of one path: emissions and transitions, summed exactly."""
    terms = [emission[t][y] for t, y in enumerate(path)]
    terms += [transition[i][j] for i, j in itertools.pairwise(path)]
    return math.fsum(terms)


def best_of_all_paths(emission, transition) -> list[int]:
    """Every path, scored; of several best ones the first in the order of last label, last but one, …"""
    labels = range(len(transition))
    paths = itertools.product(labels, repeat=len(emission))
    return list(min(paths, key=lambda path: (-path_score(emission, transition, path), path[::-1])))


def marginals_of_all_paths(emission, transition) -> list[list[float]]:
    """The share that the paths through each label have of all paths."""
    paths = list(itertools.product(range(len(transition)), repeat=len(emission)))
    scores = [path_score(emission, transition, path) for path in paths]
    weights = [math.exp(score - max(scores)) for score in scores]
    total = math.fsum(weights)
    return [
        [math.fsum(w for w, path in zip(weights, paths, strict=True) if path[t] == y) / total for y in range(labels)]
        for t, labels in enumerate([len(transition)] * len(emission))
    ]


def textbook_viterbi(emission, transition) -> list[int]:
    """Rabiner (1989), eqs. 32-35, one cell at a time; strictly better wins, so the first of equals stays."""
    if not len(emission):
        return []
    labels = range(len(transition))
    delta = [list(emission[0])]
    back = []
    for t in range(1, len(emission)):
        row, pointers = [], []
        for j in labels:
            best, source = -math.inf, 0
            for i in labels:
                if delta[-1][i] + transition[i][j] > best:
                    best, source = delta[-1][i] + transition[i][j], i
            row.append(best + emission[t][j])
            pointers.append(source)
        delta.append(row)
        back.append(pointers)
    path = [max(labels, key=lambda j: delta[-1][j])]
    for pointers in reversed(back):
        path.append(pointers[path[-1]])
    return path[::-1]


def log_sum(values) -> float:
    top = max(values)
    return top + math.log(math.fsum(math.exp(v - top) for v in values))


def textbook_marginals(emission, transition) -> list[list[float]]:
    """Rabiner (1989), eqs. 19-27, one cell at a time, in logarithms (so no score is too large)."""
    if not len(emission):
        return []
    labels = range(len(transition))
    alpha = [list(emission[0])]
    for row in emission[1:]:
        alpha.append([row[j] + log_sum([alpha[-1][i] + transition[i][j] for i in labels]) for j in labels])
    beta = [[0.0 for _ in labels]]
    for row in reversed(emission[1:]):
        beta.append([log_sum([transition[i][j] + row[j] + beta[-1][j] for j in labels]) for i in labels])
    total = log_sum(alpha[-1])
    return [
        [math.exp(a + b - total) for a, b in zip(*rows, strict=True)] for rows in zip(alpha, beta[::-1], strict=True)
    ]


@st.composite
def chains(draw, emissions, transitions=None, longest=4, most_labels=3):
    """Emissions, transitions and lengths of a few documents, some of them empty."""
    lengths = draw(st.lists(st.integers(0, longest), max_size=5))
    labels = draw(st.integers(1, most_labels))
    cells = sum(lengths) * labels
    emission = draw(st.lists(emissions, min_size=cells, max_size=cells))
    transition = draw(
        st.lists(emissions if transitions is None else transitions, min_size=labels**2, max_size=labels**2)
    )
    return read_only(
        np.array(emission, dtype=np.float64).reshape(-1, labels),
        np.array(transition, dtype=np.float64).reshape(labels, labels),
        np.array(lengths, dtype=np.int64),
    )


def read_only(*arrays):
    """A kernel that wrote into its inputs would raise."""
    for array in arrays:
        array.setflags(write=False)
    return arrays


def documents(emission, lengths):
    return np.split(emission, np.cumsum(lengths)[:-1]) if len(lengths) else []


def one_by_one(kernel, emission, transition, lengths):
    rows = [kernel(e, transition, np.array([len(e)])) for e in documents(emission, lengths)]
    return np.concatenate(rows) if rows else kernel(emission, transition, lengths)


few = st.integers(-2, 2).map(float)  # many paths of the same score
sure = few | st.sampled_from([8.0, 20.0])  # and tokens that no neighbour can change
moderate = st.floats(-20, 20)
extreme = st.floats(-1e3, 1e3) | st.sampled_from([-1e3, -700.0, 0.0, 700.0, 1e3])


@given(chains(sure, few))
def test_viterbi_finds_the_best_of_all_paths_and_of_equals_the_lowest_labels(chain):
    emission, transition, lengths = chain
    expected = [label for e in documents(emission, lengths) for label in best_of_all_paths(e.tolist(), transition)]
    assert viterbi(emission, transition, lengths).tolist() == expected


@pytest.mark.parametrize("few_runs", [0, decoding._FEW_RUNS])  # side by side, or one after the other
@given(chains(sure, few, longest=25, most_labels=5))
def test_viterbi_equals_the_textbook(few_runs, chain):
    emission, transition, lengths = chain
    expected = [
        label for e in documents(emission, lengths) for label in textbook_viterbi(e.tolist(), transition.tolist())
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "_FEW_RUNS", few_runs)
        assert viterbi(emission, transition, lengths).tolist() == expected


@given(chains(moderate | extreme, longest=12, most_labels=5))
def test_viterbi_finds_a_path_as_good_as_the_textbooks_whatever_the_scores(chain):
    emission, transition, lengths = chain
    found = np.split(viterbi(emission, transition, lengths), np.cumsum(lengths)[:-1]) if len(lengths) else []
    for e, path in zip(documents(emission, lengths), found, strict=True):
        expected = textbook_viterbi(e.tolist(), transition.tolist())
        # Sums of 24 scores of up to 1e3, in another order: rounding stays near 1e-11.
        assert math.isclose(
            path_score(e, transition, path), path_score(e, transition, expected), rel_tol=0, abs_tol=1e-9
        )


def sure_tokens(emission, transition):
    return ~undecided(emission, dominance(transition))


@given(chains(sure, few))
def test_where_label_0_dominates_every_best_path_has_it(chain):
    emission, transition, lengths = chain
    for e in documents(emission, lengths):
        paths = list(itertools.product(range(len(transition)), repeat=len(e)))
        scores = [path_score(e, transition, path) for path in paths]
        best = [path for path, score in zip(paths, scores, strict=True) if score == max(scores)]
        for t in np.flatnonzero(sure_tokens(e, transition)):
            assert {path[t] for path in best} == {0}


def test_dominance_is_the_worst_that_two_transitions_can_do():
    transition = np.array([[0.0, 1.0], [2.0, 5.0]])
    # Into: max(1 - 0, 5 - 2) = 3; out of: max(2 - 0, 5 - 1) = 4.
    assert dominance(transition).tolist() == [7]
    assert undecided(np.array([[7.0, 0.0], [7.5, 0.0]]), dominance(transition)).tolist() == [True, False]
    assert dominance(np.zeros((1, 1))).tolist() == []
    assert dominance(np.array([[9.0, 0.0], [0.0, -9.0]])).tolist() == [0]  # at an edge there is no transition to lose


@pytest.mark.parametrize("kernel", [viterbi, marginals])
@given(chain=chains(sure, few, longest=8), data=st.data())
def test_documents_may_lie_anywhere(kernel, chain, data):
    emission, transition, lengths = chain
    gaps = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(lengths) + 1, max_size=len(lengths) + 1)))
    starts = np.cumsum(lengths) - lengths + np.cumsum(gaps[:-1])
    places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    spread = np.full((len(emission) + gaps.sum(), len(transition)), 3.0)
    spread[:, -1] = 99.0  # whatever stands between documents
    spread[places] = emission
    order = np.array(data.draw(st.permutations(range(len(lengths)))), dtype=np.int64)
    found = kernel(*read_only(spread), transition, lengths[order], starts[order])
    np.testing.assert_allclose(found[places], kernel(emission, transition, lengths), rtol=1e-12, atol=1e-15)
    assert not np.delete(found, places, axis=0).any()


@given(chains(st.floats(-4, 4)))
def test_marginals_are_the_shares_of_all_paths(chain):
    emission, transition, lengths = chain
    expected = [row for e in documents(emission, lengths) for row in marginals_of_all_paths(e.tolist(), transition)]
    # Sums of at most 3^4 products: rounding stays near 1e-15.
    np.testing.assert_allclose(
        marginals(emission, transition, lengths), np.reshape(expected, emission.shape), rtol=1e-11, atol=1e-14
    )


@given(chains(extreme, moderate, longest=12, most_labels=5))
def test_marginals_equal_the_textbook_whatever_the_emissions(chain):
    emission, transition, lengths = chain
    expected = [
        row for e in documents(emission, lengths) for row in textbook_marginals(e.tolist(), transition.tolist())
    ]
    # The textbook adds up to 12 scores of up to 1e3 before it takes them apart again: 1e4 * 2^-53 is lost on the way.
    np.testing.assert_allclose(
        marginals(emission, transition, lengths), np.reshape(expected, emission.shape), rtol=1e-9, atol=1e-11
    )


@given(chains(moderate, longest=12, most_labels=4), st.integers(1, 5))
def test_marginals_of_long_documents_are_chained_exactly(chain, size):
    emission, transition, lengths = chain
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "CHUNK_TOKENS", size)
        found = marginals(emission, transition, lengths)
    np.testing.assert_allclose(found, marginals(emission, transition, lengths), rtol=1e-10, atol=1e-14)


def test_a_document_of_many_chunks():
    random = np.random.default_rng(0)
    emission, transition = random.normal(0, 3, (1700, 3)), random.normal(0, 2, (3, 3))
    expected = textbook_marginals(emission.tolist(), transition.tolist())
    # The textbook sums 1,700 scores in logarithms and loses about 1e-12 on the way.
    np.testing.assert_allclose(marginals(emission, transition, np.array([1700])), expected, rtol=0, atol=1e-10)
    assert viterbi(emission, transition, np.array([1700])).tolist() == textbook_viterbi(emission, transition)


def score_of(path, emission, transition) -> float:
    return sum(emission[range(len(path)), path]) + sum(transition[path[:-1], path[1:]])


@settings(max_examples=200)
@given(
    chains(moderate, st.floats(-3, 3), longest=40, most_labels=4) | chains(few, few, longest=40),
    st.integers(2, 6),
    st.data(),
)
def test_a_long_run_is_decoded_in_pieces_that_make_one_best_path(chain, piece, data):
    emission, transition, lengths = chain
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "PIECE_TOKENS", piece)
        patch.setattr(decoding, "STRETCH_TOKENS", data.draw(st.integers(1, piece - 1)))
        found = viterbi(emission, transition, lengths)
    for e, path in zip(documents(emission, lengths), documents(found, lengths), strict=True):
        best = score_of(textbook_viterbi(e.tolist(), transition.tolist()), e, transition)
        assert score_of(path, e, transition) == pytest.approx(best, abs=1e-8)


@settings(max_examples=100)
@given(chains(st.integers(-300, 300), st.integers(-99, 99), longest=40), st.integers(2, 6), st.data())
def test_sums_of_whole_numbers_are_as_good_in_32_bits(chain, piece, data):
    emission, transition, lengths = chain
    starts, places = np.cumsum(lengths) - lengths, np.arange(len(emission))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "PIECE_TOKENS", piece)
        patch.setattr(decoding, "STRETCH_TOKENS", data.draw(st.integers(1, piece - 1)))
        patch.setattr(decoding, "_FEW_RUNS", data.draw(st.sampled_from([0, decoding._FEW_RUNS])))
        # As many steps as 24 bits have between 0 and the largest of them, so that a sum over a whole path needs more.
        wide, narrow = (
            decoding.viterbi_at(
                places, (emission * 2.0**13).astype(kind), transition * 2.0**13, len(places), starts, lengths
            )
            for kind in (np.float64, np.float32)
        )
    assert narrow.tolist() == wide.tolist()


def test_a_run_of_two_kinds_of_sentence_is_cut_and_is_none_the_worse_for_it():
    # Two neutral states that hardly turn into each other, as those of questions and of other sentences.
    random = np.random.default_rng(1)
    emission, transition = random.normal(0, 2, (9000, 4)), random.normal(0, 1, (4, 4))
    transition[0, 3] = transition[3, 0] = -5.0
    transition[3, 3] = 2.0
    cut, _, _ = decoding._forgetting(emission, transition, np.arange(1024, 7900, 1024))
    assert len(cut) > 3
    assert viterbi(emission, transition, np.array([9000])).tolist() == textbook_viterbi(emission, transition)


@given(chains(extreme, longest=9))
def test_marginals_are_probabilities_whatever_the_scores(chain):
    found = marginals(*chain)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)


@settings(max_examples=50)
@given(chains(extreme, moderate, longest=30, most_labels=9))
def test_marginals_are_probabilities(chain):
    found = marginals(*chain)
    assert found.shape == chain[0].shape
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", [viterbi, marginals])
@given(chain=chains(moderate, longest=12, most_labels=4))
def test_a_batch_is_its_documents_one_by_one(kernel, chain):
    emission, transition, lengths = chain
    # Matrix products of different heights may round differently in the last place.
    np.testing.assert_allclose(
        kernel(emission, transition, lengths), one_by_one(kernel, *chain), rtol=1e-12, atol=1e-15
    )


@given(chains(few, longest=6), st.integers(-3, 3))
def test_a_constant_on_all_labels_of_a_token_changes_nothing(chain, constant):
    emission, transition, lengths = chain
    moved = emission + constant * np.arange(len(emission))[:, None]
    assert viterbi(moved, transition, lengths).tolist() == viterbi(emission, transition, lengths).tolist()
    np.testing.assert_allclose(
        marginals(moved, transition, lengths), marginals(emission, transition, lengths), rtol=1e-9, atol=1e-12
    )


@given(chains(moderate, st.just(0.25), longest=6))
def test_flat_transitions_leave_a_softmax(chain):
    emission, transition, lengths = chain
    weights = np.exp(emission - emission.max(axis=1, keepdims=True)) if emission.size else emission
    np.testing.assert_allclose(
        marginals(emission, transition, lengths),
        weights / weights.sum(axis=1, keepdims=True),
        rtol=1e-11,
        atol=1e-15,
    )
    # Each token takes its own best label (to within the last place, which the sum of a long path rounds away).
    chosen = emission[np.arange(len(emission)), viterbi(emission, transition, lengths)]
    np.testing.assert_allclose(chosen, emission.max(axis=1, initial=-99), rtol=0, atol=1e-12)


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_nothing_to_decode(lengths):
    chain = np.zeros((0, 3)), np.zeros((3, 3)), np.array(lengths, dtype=np.int64)
    assert viterbi(*chain).tolist() == []
    assert marginals(*chain).shape == (0, 3)


def test_empty_documents_take_no_room():
    emission = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0]])
    transition = np.array([[0.0, -3.0], [0.0, 0.0]])
    packed = viterbi(emission, transition, np.array([1, 2]))
    assert viterbi(emission, transition, np.array([0, 1, 0, 0, 2, 0])).tolist() == packed.tolist() == [1, 1, 1]


def test_documents_of_one_word_know_no_transition():
    emission = np.array([[0.0, 1.0], [3.0, 0.0]])
    transition = np.full((2, 2), 1e3)
    transition[1, 1] = -1e3
    assert viterbi(emission, transition, np.array([1, 1])).tolist() == [1, 0]
    found = marginals(emission, transition, np.array([1, 1]))
    np.testing.assert_allclose(found[:, 1], [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(3))], rtol=1e-12, atol=0)


def test_a_worked_example():
    # Two labels, three words; the path 0 1 0 has 1 + 2 - 1 + 3 = 5 on emissions and 1 + 1 on transitions.
    emission = np.array([[1.0, 0.0], [-1.0, 1.0], [3.0, 0.0]])
    transition = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert viterbi(emission, transition, np.array([3])).tolist() == [0, 1, 0]
    assert path_score(emission, transition, [0, 1, 0]) == 7
    weights = {
        (0, 0, 0): 3, (0, 0, 1): 1, (0, 1, 0): 7, (0, 1, 1): 3, (1, 0, 0): 3, (1, 0, 1): 1, (1, 1, 0): 5, (1, 1, 1): 1,
    }  # fmt: skip
    total = sum(math.exp(score) for score in weights.values())
    middle = sum(math.exp(score) for path, score in weights.items() if path[1] == 1) / total
    found = marginals(emission, transition, np.array([3]))
    np.testing.assert_allclose(found[1], [1 - middle, middle], rtol=1e-12, atol=0)


def test_a_tie_goes_to_the_lowest_label():
    assert viterbi(np.zeros((7, 4)), np.zeros((4, 4)), np.array([3, 4])).tolist() == [0] * 7
    # Equal paths 0 1 and 1 0: the last label decides first.
    emission, transition = np.zeros((2, 2)), np.array([[0.0, 1.0], [1.0, 0.0]])
    assert viterbi(emission, transition, np.array([2])).tolist() == [1, 0]
