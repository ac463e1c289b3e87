"""Attribute ids against dictionaries of strings: one token, one template, one lookup at a time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import attributes
from crfpunct.attributes import AttributeIndex, Batch
from crfpunct.document import Document
from crfpunct.errors import ModelError, TemplateError
from crfpunct.observations import FIRST_VALUE, Observation, Pauses, normal
from crfpunct.templates import Template

LEXICONS = {"said": {"ala": "name", "ma": "verb"}}
OBSERVATIONS = [
    *(Observation(name) for name in ("word", "kind", "shape", "length", "gap", "pause", "rank", "ratio", "zero")),
    *(Observation("suffix", n) for n in (1, 2, 3)),
    Observation("prefix", 2),
    Observation("peak", 2),
    Observation("since_long"),
    Observation("stretch"),
    Observation("lexicon", 0, "said"),
    Observation("since", 0, "said"),
    Observation("until", 0, "said"),
]

parts = st.tuples(st.sampled_from(OBSERVATIONS), st.integers(-3, 4))
template_sets = st.lists(
    st.tuples(st.lists(parts, min_size=1, max_size=3).map(tuple), st.integers(1, 3)), min_size=1, max_size=5
).map(lambda drawn: tuple(Template(f"t{i}", use, min_count) for i, (use, min_count) in enumerate(drawn)))


@st.composite
def documents(draw, vocabulary=("ala", "Ala", "ma", "kota", "kota.", "12", "1998", "że", "x")):
    words = draw(st.lists(st.sampled_from(vocabulary), max_size=7))
    if not draw(st.booleans()):
        return Document("", words)
    times, clock = [], 0
    for _ in words:
        start = clock + draw(st.sampled_from([0, 30, 120, 450, 2000]))
        clock = start + draw(st.sampled_from([0, 90, 300]))
        times.append(draw(st.sampled_from([(start, clock)] * 5 + [(-1, -1)])))
    return Document("", words, np.array(times, dtype=np.int64).reshape(-1, 2))


corpora = st.lists(documents(), max_size=5)
unseen = st.lists(documents(vocabulary=("ala", "kotem", "ma", "77", "nikt")), max_size=4)


# ---------------------------------------------------------------- the slow way


def values_of(document: Document, observation: Observation) -> list[str]:
    """The observation's value at every word of one document, by name."""
    words = [normal(word) for word in document.words]
    if observation.is_distance:
        listed = np.array([word in LEXICONS["said"] for word in words], dtype=bool)
        found = observation.of_pauses(Batch.of([document]).pauses, listed)
        return [observation.pause_values()[value - FIRST_VALUE] for value in found]
    if not observation.is_pause:
        return [observation.of_word(word, LEXICONS) for word in words]
    times = document.times_ms if document.times_ms is not None else np.full((len(words), 2), -1)
    pauses = Pauses(times, np.array([len(word) for word in words], dtype=np.int64), np.array([len(words)]))
    return [observation.pause_values()[value - FIRST_VALUE] for value in observation.of_pauses(pauses)]


def strings_of(document: Document, template: Template) -> list[str]:
    """The one attribute string that a template yields at each word."""
    columns = [(f"{o}[{offset}]", offset, values_of(document, o)) for o, offset in template.use]
    found = []
    for t in range(len(document.words)):
        shown = [
            f"{name}={values[t + offset] if 0 <= t + offset < len(values) else '(edge)'}"
            for name, offset, values in columns
        ]
        found.append(f"{template.name}: " + " ".join(shown))
    return found


def all_strings(corpus, templates) -> list[list[str]]:
    """(N, M) attribute strings, documents end to end."""
    rows = []
    for document in corpus:
        rows += zip(*(strings_of(document, template) for template in templates), strict=True)
    return [list(row) for row in rows]


def known_strings(corpus, templates) -> set[str]:
    """Those seen at least min_count times (names differ between templates, so one set holds all)."""
    counts = Counter(string for row in all_strings(corpus, templates) for string in row)
    least = {template.name: template.min_count for template in templates}
    return {string for string, n in counts.items() if n >= least[string.split(":")[0]]}


def described(index: AttributeIndex, ids) -> list[list[str | None]]:
    shown = index.describe()
    return [[shown[i] if i else None for i in row] for row in ids.tolist()]


def fit(corpus, templates):
    return attributes.fit(Batch.of(corpus), templates, LEXICONS)


# ---------------------------------------------------------------- fast = slow


@given(corpora, template_sets)
def test_training_equals_the_slow_way(corpus, templates):
    index, ids = fit(corpus, templates)
    known = known_strings(corpus, templates)
    expected = [[s if s in known else None for s in row] for row in all_strings(corpus, templates)]
    assert described(index, ids) == expected
    assert ids.dtype == np.int32
    assert ids.shape == (sum(len(d.words) for d in corpus), len(templates))
    # Every attribute has an id of its own, and every id is used.
    assert len(set(index.describe())) == index.count + 1 == len(known) + 1
    assert set(ids.ravel().tolist()) - {0} == set(range(1, index.count + 1))


@given(corpora, template_sets, unseen)
def test_tagging_equals_the_slow_way(corpus, templates, new):
    index, _ = fit(corpus, templates)
    known = known_strings(corpus, templates)
    expected = [[s if s in known else None for s in row] for row in all_strings(new, templates)]
    assert described(index, index.transform(Batch.of(new))) == expected


@given(corpora, template_sets)
def test_training_and_tagging_give_the_same_ids(corpus, templates):
    index, ids = fit(corpus, templates)
    np.testing.assert_array_equal(index.transform(Batch.of(corpus)), ids)


@given(corpora, template_sets, unseen)
def test_a_batch_is_its_documents_one_by_one(corpus, templates, new):
    index, _ = fit(corpus, templates)
    together = index.transform(Batch.of(new))
    apart = [index.transform(Batch.of([document])) for document in new]
    np.testing.assert_array_equal(together, np.vstack([together[:0], *apart]))


@settings(max_examples=50)
@given(corpora, template_sets, st.randoms(use_true_random=False))
def test_the_order_of_documents_does_not_matter_to_the_index(corpus, templates, random):
    shuffled = list(corpus)
    random.shuffle(shuffled)
    assert fit(shuffled, templates)[0].describe() == fit(corpus, templates)[0].describe()


# ---------------------------------------------------------------- select, store


@given(corpora, template_sets, unseen, st.data())
def test_select_keeps_the_meaning(corpus, templates, new, data):
    index, ids = fit(corpus, templates)
    keep = np.array([False, *data.draw(st.lists(st.booleans(), min_size=index.count, max_size=index.count))])
    selected = index.select(keep)
    shown = index.describe()
    assert selected.describe() == [shown[0], *(shown[i] for i in np.flatnonzero(keep))]
    number = np.where(keep, np.cumsum(keep), 0)
    np.testing.assert_array_equal(selected.transform(Batch.of(corpus)), number[ids])
    np.testing.assert_array_equal(selected.transform(Batch.of(new)), number[index.transform(Batch.of(new))])
    # Only values that are still used are kept.
    used = " ".join(selected.describe())
    assert all(f"={value}" in used for values in selected.values.values() for value in values)


@given(corpora, template_sets, unseen, st.booleans())
def test_what_is_stored_is_read_back(corpus, templates, new, all_of_it):
    index, _ = fit(corpus, templates)
    if not all_of_it:
        index = index.select(np.arange(index.count + 1) % 2 == 1)
    arrays = index.to_arrays()
    again = AttributeIndex.from_arrays(arrays, templates, LEXICONS)
    assert again.describe() == index.describe()
    assert {o: list(v) for o, v in again.values.items()} == {o: list(v) for o, v in index.values.items()}
    for keys, expected in zip(again.keys, index.keys, strict=True):
        np.testing.assert_array_equal(keys, expected)
    np.testing.assert_array_equal(again.transform(Batch.of(new)), index.transform(Batch.of(new)))
    assert {name: a.tobytes() for name, a in again.to_arrays().items()} == {n: a.tobytes() for n, a in arrays.items()}


@pytest.fixture
def stored():
    templates = (
        Template("pair", ((Observation("word"), 0), (Observation("word"), 1))),
        Template("end", ((Observation("suffix", 2), 0),)),
    )
    index, _ = fit([Document("", ["ala", "ma", "kota"])], templates)
    return index.to_arrays(), templates


@pytest.mark.parametrize("name", ["value_text", "value_bytes", "value_count", "key_parts", "key_count"])
def test_arrays_that_are_missing(stored, name):
    arrays, templates = stored
    del arrays[name]
    with pytest.raises(ModelError, match=rf"attribute arrays do not fit its templates \('{name}'\); train or fetch it"):
        AttributeIndex.from_arrays(arrays, templates, LEXICONS)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("value_text", lambda a: a[:-9]),
        ("value_text", lambda a: np.full_like(a, 0xFF)),
        ("value_count", lambda a: a + 1),
        ("value_count", lambda a: a[:-1]),
        ("key_parts", lambda a: a[:-1]),
        ("key_parts", lambda a: np.concatenate([a, a])),
        ("key_parts", lambda a: a + 50),
        ("key_count", lambda a: a[:-1]),
        ("key_count", lambda a: a + 1),
    ],
)
def test_arrays_that_do_not_fit(stored, name, change):
    arrays, templates = stored
    arrays[name] = change(arrays[name])
    with pytest.raises(ModelError, match="its attribute arrays do not fit its templates"):
        AttributeIndex.from_arrays(arrays, templates, LEXICONS)


# ---------------------------------------------------------------- examples


def test_an_example():
    templates = (
        Template("word", ((Observation("word"), 0),), min_count=2),
        Template("next", ((Observation("word"), 1),)),
    )
    index, ids = fit([Document("", ["Tak", "nie,", "tak"]), Document("", ["nie"])], templates)
    assert index.describe() == [
        "(unseen)",
        "word: word[0]=nie",
        "word: word[0]=tak",
        "next: word[1]=(edge)",
        "next: word[1]=nie",
        "next: word[1]=tak",
    ]
    assert ids.tolist() == [[2, 4], [1, 5], [2, 3], [1, 3]]
    assert index.transform(Batch.of([Document("", ["nie", "wiem"])])).tolist() == [[1, 0], [0, 3]]
    assert index.first_ids().tolist() == [1, 3]


def test_a_batch_lays_documents_end_to_end():
    timed = Document("", ["Ala", "ma."], np.array([[0, 200], [500, 900]]))
    batch = Batch.of([timed, Document("", []), Document("", ["ma"])])
    assert (batch.types, batch.type_of.tolist(), batch.lengths.tolist()) == (["ala", "ma"], [0, 1, 1], [2, 0, 1])
    assert batch.pauses.start_ms.tolist() == [0, 500, -1]
    assert batch.pauses.gap_ms.tolist()[0] == 300
    assert (batch.pauses.gap_ms[1:] == -1).all()


@pytest.mark.parametrize("corpus", [[], [Document("", [])]])
def test_nothing(corpus):
    index, ids = fit(corpus, (Template("pair", ((Observation("word"), 0), (Observation("gap"), 1))),))
    assert (index.count, ids.shape) == (0, (0, 1))
    assert index.transform(Batch.of([Document("", ["ala"])])).tolist() == [[0]]
    assert AttributeIndex.from_arrays(index.to_arrays(), index.templates, {}).describe() == ["(unseen)"]


def test_large_value_numbers_are_stored_whole():
    words = [f"w{i:05}" for i in range(2**16)]
    index, ids = fit([Document("", words)], (Template("word", ((Observation("word"), 0),)),))
    arrays = index.to_arrays()
    assert arrays["key_parts"].dtype == np.uint32
    again = AttributeIndex.from_arrays(arrays, index.templates, {})
    np.testing.assert_array_equal(again.transform(Batch.of([Document("", words[-3:])])), ids[-3:])


def test_a_template_with_too_many_possible_attributes():
    template = Template("gaps", tuple((Observation("gap"), k) for k in range(16)))
    with pytest.raises(TemplateError, match=r"template 'gaps' \(gap\[0\] .*over 2\^62 possible attributes; use fewer"):
        fit([Document("", ["ala"])], (template,))
