"""Word observations by their properties; pause observations against one document at a time in plain Python."""

from __future__ import annotations

import functools
import math
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import observations
from crfpunct.observations import (
    DISTANCE_OBSERVATIONS,
    FIRST_VALUE,
    PAUSE_OBSERVATIONS,
    SIZED,
    WORD_OBSERVATIONS,
    Observation,
    Pauses,
    kind,
    normal,
    shape,
)

words = st.text(st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1, max_size=12)

# ---------------------------------------------------------------- words


@given(words)
def test_every_word_has_a_value_that_can_stand_on_a_line(word):
    for name in WORD_OBSERVATIONS:
        value = Observation(name, 3 if name in SIZED else 0).of_word(normal(word), {})
        assert isinstance(value, str)
        assert "\n" not in value


@given(words)
def test_a_looked_up_form_is_composed_and_not_empty(word):
    assert normal(word)
    assert unicodedata.is_normalized("NFC", normal(word))
    assert normal(word) == normal(unicodedata.normalize("NFD", word))


@settings(max_examples=300)
@given(words)
def test_the_form_looked_up_is_a_fixed_point_whatever_the_word(word):
    assert normal(normal(word)) == normal(word)


@given(st.text("aąćębGŁ09.,?!-'", min_size=1, max_size=12))
def test_the_form_looked_up_is_a_fixed_point(word):
    assert normal(normal(word)) == normal(word) == normal(word).lower()


@given(words, st.sampled_from([".", ",", "?!", "...", "–"]))
def test_a_mark_that_a_word_already_carries_makes_no_difference(word, mark):
    assert normal(word + mark) == normal(word) or normal(word) == word.lower()  # the latter: nothing but marks


@given(words, st.integers(1, 6))
def test_affixes_have_their_length_or_are_empty(word, n):
    suffix = Observation("suffix", n).of_word(word, {})
    prefix = Observation("prefix", n).of_word(word, {})
    assert (len(suffix), len(prefix)) == ((n, n) if len(word) >= n else (0, 0))
    assert word.endswith(suffix)
    assert word.startswith(prefix)


@given(st.text("abcdęł", min_size=1), st.text("0123456789", min_size=1))
def test_shapes_tell_letters_and_digits_but_not_which(letters, digits):
    assert shape(letters) == "a" * min(len(letters), 3)
    assert shape(digits) == ("0" * len(digits) if len(digits) <= 4 else "00000+")


@pytest.mark.parametrize(
    ("word", "shape_of", "kind_of"),
    [
        ("kota", "aaa", "letters"),
        ("3", "0", "digit"),
        ("1410", "0000", "year"),
        ("2150", "0000", "number"),
        ("0950", "0000", "number"),
        ("10:30", "00:00", "mixed"),
        ("xx-wiecznego", "aa-aaa", "mixed"),
        ("„", "„", "quote"),
        ("%", "%", "symbol"),
    ],
)
def test_shapes_and_kinds(word, shape_of, kind_of):
    assert (shape(word), kind(word)) == (shape_of, kind_of)


def test_a_lexicon_gives_the_class_of_a_word_or_nothing():
    lexicons = {"verbs": {"dodał": "said"}}
    observation = Observation("lexicon", 0, "verbs")
    assert str(observation) == "lexicon.verbs"
    assert not observation.is_pause
    assert [observation.of_word(w, lexicons) for w in ("dodał", "kot")] == ["said", ""]


# ---------------------------------------------------------------- pauses: the slow way

LONG_MS = 400
UNKNOWN = (-1, -1)


def median(values: list[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


@functools.lru_cache(maxsize=4)
def gaps(times) -> list[float | None]:
    found: list[float | None] = []
    for (_, end), (start, _) in pairwise(times):
        found.append(None if end < 0 or start < 0 else max(start - end, 0))
    return [*found, None] if times else []


def durations(times) -> list[float | None]:
    return [None if start < 0 or end < 0 else max(end - start, 0) for start, end in times]


@functools.lru_cache(maxsize=4)
def ms_per_character(times, characters) -> float:
    """The document's own rate: the median over its words, each in whole µs per character."""
    return (
        median([1000 * d // max(n, 1) for d, n in zip(durations(times), characters, strict=True) if d is not None])
        / 1000
    )


def slow_gap(times, _characters, _n, t):
    return gaps(times)[t]


def slow_rank(times, _characters, _n, t):
    known = [g for g in gaps(times) if g is not None]
    here = gaps(times)[t]
    return None if here is None else sum(g < here for g in known) / len(known)


def slow_ratio(times, _characters, _n, t):
    here = gaps(times)[t]
    return None if here is None else here / max(median([g for g in gaps(times) if g is not None]), 30)


def slow_peak(times, _characters, n, t):
    here = gaps(times)[t]
    if here is None:
        return "no times"
    around = [g for g in gaps(times)[max(t - n, 0) : t] + gaps(times)[t + 1 : t + n + 1] if g is not None]
    longest = max(around, default=-1)
    if here < longest:
        return "no"
    if here == longest:
        return "equal"
    return "twice" if here >= 2 * longest and here >= 60 else "longest"


def slow_longer(direction):
    def distance(times, _characters, _n, t):
        here = gaps(times)[t]
        if here is None:
            return None
        others = range(t - 1, -1, -1) if direction < 0 else range(t + 1, len(times))
        for other in others:
            if (gaps(times)[other] or 0) > here:
                return abs(other - t)
        return math.inf

    return distance


def slow_since_long(times, _characters, _n, t):
    if gaps(times)[t] is None:
        return None
    long = [s for s in range(t) if (gaps(times)[s] or 0) >= LONG_MS]
    return t - (long[-1] if long else -1)


def slow_until_long(times, _characters, _n, t):
    if gaps(times)[t] is None:
        return None
    long = [s for s in range(t + 1, len(times)) if (gaps(times)[s] or 0) >= LONG_MS]
    return (long[0] if long else len(times) - 1) - t


def slow_stretch(times, characters, _n, t):
    here = durations(times)[t]
    return None if here is None else here - ms_per_character(times, characters) * characters[t]


def slow_rate(times, characters, _n, t):
    here = durations(times)[t]
    return None if here is None else here / max(characters[t], 1)


def slow_zero(times, _characters, _n, t):
    here = durations(times)[t]
    return "no times" if here is None else "yes" if here == 0 else "no"


def slow_onset(times, characters, _n, t):
    if gaps(times)[t] is None or durations(times)[t] is None:
        return None
    return max(times[t + 1][0] - times[t][0] - ms_per_character(times, characters) * characters[t], 0)


#: name -> (slow value, edges of its bins; None where the slow value is the name itself)
SLOW = {
    "gap": (slow_gap, observations._GAP_EDGES),
    "pause": (slow_gap, observations._COARSE_EDGES),
    "rank": (slow_rank, observations._RANK_EDGES),
    "ratio": (slow_ratio, observations._RATIO_EDGES),
    "peak": (slow_peak, None),
    "longer_before": (slow_longer(-1), observations._DISTANCE_EDGES),
    "longer_after": (slow_longer(1), observations._DISTANCE_EDGES),
    "since_long": (slow_since_long, observations._DISTANCE_EDGES),
    "until_long": (slow_until_long, observations._DISTANCE_EDGES),
    "stretch": (slow_stretch, observations._STRETCH_EDGES),
    "rate": (slow_rate, observations._RATE_EDGES),
    "zero": (slow_zero, None),
    "onset": (slow_onset, observations._GAP_EDGES),
}


def bin_name(value: float | None, edges) -> str:
    if value is None:
        return "no times"
    if value < edges[0]:
        return f"<{edges[0]:g}"
    for low, high in pairwise(edges):
        if low <= value < high:
            return f"{low:g}–{high:g}"
    return f"≥{edges[-1]:g}"


def slowly(name, n, document) -> list[str]:
    times, characters = tuple(time for time, _ in document), tuple(length for _, length in document)
    function, edges = SLOW[name]
    values = [function(times, characters, n, t) for t in range(len(times))]
    return values if edges is None else [bin_name(value, edges) for value in values]


# ---------------------------------------------------------------- pauses: fast = slow


def pauses_of(documents) -> Pauses:
    """documents: lists of ((start, end), characters)."""
    times = np.array([time for document in documents for time, _ in document], dtype=np.int64).reshape(-1, 2)
    characters = np.array([n for document in documents for _, n in document], dtype=np.int64)
    return Pauses(times, characters, np.array([len(document) for document in documents], dtype=np.int64))


def named(name, n, documents) -> list[str]:
    observation = Observation(name, n)
    values = observation.of_pauses(pauses_of(documents))
    return [observation.pause_values()[value - FIRST_VALUE] for value in values.tolist()]


@st.composite
def spoken(draw, most_words=14):
    """Words as an alignment gives them: mostly one behind the other, some unknown, of length zero or backwards."""
    clock, document = draw(st.integers(0, 500)), []
    for _ in range(draw(st.integers(0, most_words))):
        start = clock + draw(st.sampled_from([0, 0, 30, 60, 90, 150, 390, 400, 900, 3000, -300]) | st.integers(0, 4000))
        end = max(start, 0) + draw(st.sampled_from([0, 30, 120, 480]) | st.integers(0, 900))
        time = draw(st.sampled_from([(max(start, 0), end)] * 8 + [UNKNOWN, (max(end, 0), max(start, 0))]))
        document.append((time, draw(st.integers(0, 12))))
        clock = max(end, 0)
    return document


sizes = st.integers(1, 6)


def test_every_pause_observation_has_a_slow_twin():
    assert SLOW.keys() == PAUSE_OBSERVATIONS.keys()


@pytest.mark.parametrize("name", SLOW)
@settings(max_examples=60)
@given(documents=st.lists(spoken(), max_size=3), n=sizes)
def test_pauses_equal_the_slow_way(name, documents, n):
    assert named(name, n, documents) == [value for document in documents for value in slowly(name, n, document)]


@pytest.mark.parametrize("name", ["longer_before", "longer_after", "since_long", "until_long", "peak"])
@settings(max_examples=30)
@given(
    gap_ms=st.lists(st.sampled_from([0, 0, 0, 0, 0, 0, 0, 0, 30, 400, 900]), min_size=30, max_size=75),
    n=st.integers(10, 25),
)
def test_far_away_equals_the_slow_way(name, gap_ms, n):
    starts = np.cumsum([0, *gap_ms]).tolist()
    document = [((start, start), 3) for start in starts]
    assert named(name, n, [document]) == slowly(name, n, document)


@settings(max_examples=40)
@given(st.lists(spoken(), max_size=3), st.integers(0, 10**6))
def test_when_a_recording_starts_changes_nothing(documents, later):
    def moved(time):
        return time if time == UNKNOWN else (time[0] + later, time[1] + later)

    shifted = [[(moved(time), length) for time, length in document] for document in documents]
    for name in SLOW:
        assert named(name, 5, shifted) == named(name, 5, documents)


@given(st.lists(st.integers(0, 12), max_size=6))
def test_without_times_every_pause_says_so(lengths):
    for name in SLOW:
        assert named(name, 2, [[(UNKNOWN, length) for length in lengths]]) == ["no times"] * len(lengths)


@given(st.lists(st.integers(0, 4000), min_size=2, max_size=10))
def test_a_longer_gap_never_has_a_lower_bin(gap_ms):
    starts = np.cumsum([0, *gap_ms]).tolist()
    pauses = pauses_of([[((start, start), 3) for start in starts]])
    order = np.argsort(gap_ms, kind="stable")
    for name in ("gap", "pause", "rank", "ratio", "onset"):
        values = Observation(name).of_pauses(pauses)[:-1][order]
        assert (np.diff(values) >= 0).all(), name


@pytest.mark.parametrize("name", ["gap", "pause"])
def test_a_gap_on_an_edge_belongs_to_the_longer_bin(name):
    edges = SLOW[name][1]
    assert (np.diff(edges) > 0).all()
    for i, edge in enumerate(edges.astype(int).tolist()):
        below = Observation(name).of_pauses(pauses_of([[((0, 0), 1), ((edge - 1, edge), 1)]]))[0]
        at = Observation(name).of_pauses(pauses_of([[((0, 0), 1), ((edge, edge), 1)]]))[0]
        assert (below, at) == (FIRST_VALUE + 1 + i, FIRST_VALUE + 2 + i)


def test_a_word_whose_start_alone_is_unknown_has_no_onset():
    document = [((-1, 300), 3), ((900, 1000), 3)]
    assert named("onset", 0, [document]) == ["no times", "no times"]
    assert named("gap", 0, [document]) == ["600–720", "no times"]


def test_names_of_values_are_distinct():
    for name in SLOW:
        names = Observation(name, 2).pause_values()
        assert len(set(names)) == len(names)


def test_a_spoken_example():
    # tak (120 ms), 30 ms, powiedział (600 ms), 900 ms, bo: alignment failed, 0 ms, no (unknown)
    document = [((0, 120), 3), ((150, 750), 10), ((1650, 1650), 2), (UNKNOWN, 2)]
    assert named("gap", 0, [document]) == ["<45", "870–1050", "no times", "no times"]
    assert named("peak", 2, [document]) == ["no", "twice", "no times", "no times"]
    assert named("rank", 0, [document]) == ["<0.2", "0.4–0.55", "no times", "no times"]
    assert named("zero", 0, [document]) == ["no", "no", "yes", "no times"]
    assert named("longer_after", 0, [document]) == ["<2", "≥30", "no times", "no times"]
    assert named("since_long", 0, [document]) == ["<2", "2–3", "no times", "no times"]


def test_names_carry_the_number_only_where_there_is_one():
    assert [str(o) for o in (Observation("suffix", 3), Observation("peak", 5), Observation("gap"))] == [
        "suffix3",
        "peak5",
        "gap",
    ]


# ---------------------------------------------------------------- distances to words of a lexicon


def _distance(member: list[bool], place: int, name: str) -> str:
    """In plain words: how far the last one up to here is, or the next one behind."""
    places = range(place, -1, -1) if name == "since" else range(place + 1, len(member))
    distances = [abs(other - place) for other in places if member[other]]
    if not distances:
        return "none"
    (nearest,) = distances[:1]
    low = max(edge for edge in (0, 1, 2, 3, 4, 5, 7, 10, 15) if edge <= nearest)
    return {0: "<1", 15: "≥15"}.get(low) or f"{low}–{ {1: 2, 2: 3, 3: 4, 4: 5, 5: 7, 7: 10, 10: 15}[low] }"


@given(st.lists(st.lists(st.booleans() | st.just(False), max_size=40), max_size=4))
def test_a_distance_is_counted_inside_its_document(documents):
    member = np.array([value for document in documents for value in document], dtype=bool)
    lengths = np.array([len(document) for document in documents], dtype=np.int64)
    places = Pauses(np.full((len(member), 2), -1), np.ones(len(member), dtype=np.int64), lengths)
    for name in DISTANCE_OBSERVATIONS:
        observation = Observation(name, 0, "verbs")
        found = [observation.pause_values()[v - FIRST_VALUE] for v in observation.of_pauses(places, member)]
        assert found == [_distance(d, place, name) for d in documents for place in range(len(d))]


def test_a_distance_is_named_by_its_lexicon():
    observation = Observation("since", 0, "verbs")
    assert str(observation) == "since.verbs"
    assert observation.by_token
    assert not observation.is_pause
