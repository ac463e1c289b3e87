"""Case classes and spelling, over all of Unicode; what training text tells about words."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from crfpunct import casing, tables
from crfpunct.casing import CLASSES, OwnCase, Spelling, case_class, from_lines, learn, to_lines
from crfpunct.observations import FIRST_VALUE

TURKISH = Spelling(upper={"i": "İ", "ı": "I"})

any_words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
letters = st.text(
    st.characters(categories=["Lu", "Ll", "Lt", "Lo", "Mn", "Nd"]) | st.sampled_from("'’-.\"1"), max_size=9
)
words = any_words | letters


# ---------------------------------------------------------------- classes


@pytest.mark.parametrize(
    ("case", "examples"),
    [
        ("LOWER", ["kot", "3", "mp3", "5th", "'s", "ß", "ŉ", "ı", "ς", "ǆ", "中文", "%", "", "-u"]),
        ("TITLE", ["Ala", "I", '"Ala', "Saint-sur", "F-16", "Mp3", "ǅ", "ǅep", "Ősz", "O\u0301sme", "Ⅳ", "A.", "Élan"]),
        ("UPPER", ["NATO", "3D", "B2B", "(PKP", "F-16A", "ΟΔΟΣ", "O\u0301SMA", "ŁÓDŹ", "U.S"]),
        (
            "MIXED",
            ["iPhone", "PKP-u", "McDonald", "3Com", "d'Arc", "O'Neill", "Saryusz-Wolski", "GmbH", "STRAßE", "kWh"],
        ),
    ],
)
def test_classes(case, examples):
    assert [(word, case_class(word)) for word in examples] == [(word, case) for word in examples]


@given(words)
def test_a_word_is_lower_where_lower_case_changes_nothing(word):
    assert (case_class(word) == "LOWER") == (word == word.lower())


@given(words)
def test_composing_changes_no_class(word):
    composed = unicodedata.normalize("NFC", word)
    assume(unicodedata.normalize("NFD", composed) == word)
    assert case_class(composed) == case_class(word)


# ---------------------------------------------------------------- spelling


@settings(max_examples=500)
@given(words, st.sampled_from(CLASSES), st.sampled_from([Spelling(), TURKISH]))
@example("straße", "UPPER", Spelling())
@example("ŉ", "TITLE", Spelling())
@example("İstanbul", "LOWER", Spelling())
@example("ὈΔΥΣΣΕΎΣ", "LOWER", Spelling())
@example("ασ", "UPPER", Spelling())
@example("µm", "UPPER", Spelling())
@example("ﬁn", "TITLE", Spelling())
def test_a_word_keeps_its_length_and_its_letters(word, case, spelling):
    spelled = spelling.spell(word, case)
    assert len(spelled) == len(word)
    assert spelled.lower() == word.lower() or spelling is TURKISH
    # And what is there once stays: a second run changes nothing, whatever case the word came in.
    assert spelling.spell(spelled, case) == spelled
    assert spelling.lowered(spelled) == spelling.lowered(word)


@settings(max_examples=500)
@given(letters)
def test_a_word_is_spelled_as_its_class_says(word):
    """The inverse of `case_class`, for all classes but MIXED, wherever capitals lead back to the letters."""
    lower = Spelling().lowered(word)
    assume(all(len(c.lower()) == 1 and c.upper().lower() == c.title().lower() == c.lower() for c in word))
    assume(all(c in (c.upper(), c.lower()) and "GEORGIAN" not in unicodedata.name(c, "") for c in word))
    if case_class(word) != "MIXED" and lower.upper().lower() == lower:
        assert Spelling().spell(lower, case_class(word)) == word


@pytest.mark.parametrize(
    ("word", "title", "upper"),
    [
        ("łódź", "Łódź", "ŁÓDŹ"),
        ("ǆep", "ǅep", "ǄEP"),
        ("straße", "Straße", "straße"),
        ("ßa", "ßa", "ßa"),
        ("ŉx", "ŉx", "ŉx"),
        ("οδος", "Οδος", "ΟΔΟΣ"),
        ("o\u0301sma", "O\u0301sma", "O\u0301SMA"),
        ("d'arc", "D'arc", "D'ARC"),
        ("3d", "3d", "3D"),
        ("5th", "5th", "5TH"),
        ("mp3", "Mp3", "MP3"),
        ("f-16", "F-16", "F-16"),
        ('"ala', '"Ala', '"ALA'),
        ("'s", "'S", "'S"),
        ("中文", "中文", "中文"),
        ("+-%", "+-%", "+-%"),
        ("", "", ""),
    ],
)
def test_title_and_upper_case(word, title, upper):
    assert [Spelling().spell(word, case) for case in ("LOWER", "TITLE", "UPPER")] == [word, title, upper]


def test_the_languages_own_capitals():
    assert [TURKISH.spell("istanbul", case) for case in ("TITLE", "UPPER")] == ["İstanbul", "İSTANBUL"]
    assert TURKISH.spell("ISPARTA", "TITLE") == "Isparta"
    assert TURKISH.lowered("ISPARTA") == "ısparta"
    assert TURKISH.spell("ILGIN-İZMİR", "MIXED") == "Ilgın-İzmir"
    # Without the table the dotted capital would come back as two characters, so the word stays.
    assert Spelling().spell("İZMİR", "LOWER") == "İZMİR"
    assert Spelling().spell("ısparta", "UPPER") == "ısparta"


SURFACE = {
    "iphone": "iPhone",
    "kwh": "kWh",
    "d'arc": "d'Arc",
    "łks-u": "ŁKS-u",
    "'a": "'a",
    "żuk-ód": "ŻuK-Ód",
    "bad": "worse",
}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("IPHONE", "iPhone"),
        ("d'arc", "d'Arc"),
        ('"iphone"', '"iPhone"'),
        ("(kwh)", "(kWh)"),
        ("łks-u", "ŁKS-u"),
        (unicodedata.normalize("NFD", "żuk-ód"), unicodedata.normalize("NFD", "ŻuK-Ód")),
        ("saryusz-wolski", "Saryusz-Wolski"),
        ("bielsko–biała", "Bielsko–Biała"),
        ("o'neill", "O'Neill"),
        ("o’neill", "O’Neill"),
        ("iphone'a", "iPhone'a"),
        ("pkp", "PKP"),
        ("bad", "bad"),  # what is no spelling of the word is not taken
        ("-", "-"),
        ("''", "''"),
        ("", ""),
    ],
)
def test_mixed_words(word, expected):
    assert Spelling(SURFACE).spell(word, "MIXED") == expected


def test_parts_of_compounds_are_spelled_as_learned():
    spelling = Spelling({"-sur": "-sur", "-u": "-u", "d'": "d'", "mc-": "mC-", "-tv": "-TV"})
    assert spelling.spell("berry-sur-mer", "MIXED") == "Berry-sur-Mer"
    assert spelling.spell("d'azur", "MIXED") == "d'Azur"
    assert spelling.spell("mc-tv", "MIXED") == "mC-TV"
    # A capital in front alone would not be MIXED, so it is an acronym.
    assert spelling.spell("pkp-u", "MIXED") == "PKP-u"
    assert spelling.spell("mcdonald-u", "MIXED") == "Mcdonald-u"  # too long for one


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("pzu-owski", "PZU-owski"),
        ("pzu-ala", "PZU-Ala"),
        ("pzu-pkp", "PZU-PKP"),
        ("pzu-dom", "PZU-dom"),
        ("iphone'em", "iPhone'em"),
        ("ala-dom", "Ala-Dom"),
        ("kot-pzu", "Kot-PZU"),
        ("x-y", "X-Y"),
    ],
)
def test_parts_of_compounds_are_spelled_as_they_are_by_themselves(word, expected):
    own = {"pzu": "UPPER always many", "pkp": "UPPER at times", "ala": "TITLE often few", "dom": "LOWER always many"}
    assert Spelling({"iphone": "iPhone"}, own=own).spell(word, "MIXED") == expected


# ---------------------------------------------------------------- learning


def learned(*texts):
    """From texts whose marks stand behind their words, apart."""
    pairs = []
    for text in texts:
        tokens = [token.rpartition("/") if "/" in token else (token, "", "") for token in text.split()]
        pairs.append(([word for word, _, _ in tokens], [mark for _, _, mark in tokens]))
    return learn(pairs)


def test_words_that_open_a_sentence_are_left_out():
    for mark in (".", "?", "!", "...", ":", "-"):
        assert learned(*[f"Kot ma/{mark} Pies ma"] * 5).casing == {"ma": "LOWER always many"}
    assert learned(*["Kot ma/, Pies"] * 5).casing == {"ma": "LOWER always few", "pies": "TITLE always few"}


def test_signs_between_sentences_are_no_words():
    assert learned(*['Kot ma/. " Pies ma'] * 5).casing == {"ma": "LOWER always many"}
    assert learned(*['" Kot ma'] * 5).casing == {"ma": "LOWER always few"}
    # Inside a sentence they hide nothing.
    assert learned(*['Kot ma " Psa "'] * 5).casing.keys() == {"ma", "psa"}


@pytest.mark.parametrize(
    ("lower", "title", "expected"),
    [
        (3, 0, "LOWER always few"),
        (9, 0, "LOWER always few"),
        (10, 0, "LOWER always many"),
        (0, 100, "TITLE always many"),
        (1, 99, "TITLE always many"),
        (2, 98, "TITLE mostly many"),
        (1, 8, "TITLE often few"),
        (4, 6, "TITLE often many"),
        (5, 5, "LOWER at times"),
        (2, 0, "LOWER always rare"),
        (0, 1, "TITLE always rare"),
        (1, 1, "LOWER at times"),
        (0, 0, None),
    ],
)
def test_statistics_of_a_word(lower, title, expected):
    assert learned("x", *["x kot"] * lower, *["x Kot"] * title).casing.get("kot") == expected


@given(st.lists(st.tuples(st.sampled_from(["kot", "Kot", "KOT", "kOt", "ma"]), st.sampled_from(["", ",", "."]))))
def test_statistics_are_those_of_a_plain_count(text):
    inside = [w for (_, before), (w, _) in itertools.pairwise(text) if before != "."]
    counts = Counter(case_class(word) for word in inside if word.lower() == "kot")
    found = learn([([w for w, _ in text], [m for _, m in text])])
    assert ("kot" in found.casing) == bool(counts)
    if counts:
        case, share, *amount = found.casing["kot"].split()
        assert counts[case] == max(counts.values())
        if share != "at":
            assert amount == ["rare" if counts.total() < 3 else "few" if counts.total() < 10 else "many"]
    assert ("kot" in found.surface) == (counts["MIXED"] >= 2)


def test_the_spelling_seen_most_often_is_learned():
    found = learned(*["x iPhone IPhone"] * 2, "x iPhone once eBay").surface
    assert found == {"iphone": "iPhone"}
    found = learned(*["x PRL-u Berry-sur-Mer McDonald"] * 2).surface
    assert found == {
        "prl-u": "PRL-u",
        "prl-": "PRL-",
        "-u": "-u",
        "berry-sur-mer": "Berry-sur-Mer",
        "berry-": "Berry-",
        "-sur": "-sur",
        "-mer": "-Mer",
        "mcdonald": "McDonald",
    }


def test_of_a_compound_that_opens_a_sentence_all_parts_but_the_first_are_learned():
    assert learned(*["Berry-sur-Mer/. x"] * 2).surface == {"-sur": "-sur", "-mer": "-Mer"}
    assert learned(*["PRL/Unia/. x"] * 2).surface == {"/unia": "/Unia"}


def test_the_values_of_the_lexicon_are_few_enough_for_product_tables():
    values = {
        casing._described(Counter(dict.fromkeys(CLASSES, rest)) + Counter({case: most}))
        for case in CLASSES
        for most in range(1, 200)
        for rest in range(4)
    }
    assert values >= {"UPPER mostly many", "LOWER at times", "TITLE always rare"}
    # With the empty value of words that have no entry.
    assert FIRST_VALUE + len(values) + 1 <= tables._FEW_VALUES


# ---------------------------------------------------------------- each text from the others

texts_of_words = st.lists(
    st.lists(st.tuples(st.sampled_from(["kot", "Kot", "KOT", "ma"]), st.sampled_from(["", "."])), max_size=9).map(
        lambda text: ([w for w, _ in text], [m for _, m in text])
    ),
    max_size=9,
)


@given(texts_of_words, st.integers(1, 4))
def test_each_part_is_told_what_the_others_have(texts, block):
    """The plain way: word by word. A text that is cut begins a sentence for both."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(casing, "_BLOCK", block)
        learned, part_of = casing.learn_from_others(texts)
    words = sum(len(text) for text, _ in texts)
    size = min(block, max(1, -(-words // 5)))
    assert part_of == [place // size % 5 for place in range(words)]
    pieces = []
    for place, (words, marks, i) in enumerate((w, m, i) for w, m in texts for i in range(len(w))):
        if i == 0 or place % size == 0:
            pieces.append((part_of[place], [], []))
        pieces[-1][1].append(words[i])
        pieces[-1][2].append(marks[i])
    for part, found in enumerate(learned):
        assert found == learn((w, m) for other, w, m in pieces if other != part).casing


def test_a_word_of_one_text_alone_is_not_told_about():
    texts = [(["x", "Kot", "ma"], ["", "", "."])] + [(["x", "dom", "ma"], ["", "", "."])] * 4
    learned, part_of = casing.learn_from_others(texts)
    assert part_of == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    assert "kot" not in learned[0]
    assert all(own["kot"] == "TITLE always rare" for own in learned[1:])


# ---------------------------------------------------------------- compounds, capitals

KNOWN = OwnCase(
    {
        "pkp": "UPPER always many",
        "iphone": "MIXED always few",
        "ala": "TITLE often few",
        "nowak": "TITLE always rare",
        "polsko": "LOWER always many",
        "niemiecki": "LOWER mostly many",
        "e-mail": "LOWER always few",
    }
)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ala", "TITLE often few"),
        ("e-mail", "LOWER always few"),
        ("iphone'a", "MIXED always few"),
        ("iphone’a", "MIXED always few"),
        ("pkp-u", "MIXED always many"),
        ("pkp/pkp", "UPPER always many"),
        ("ala's", "TITLE often few"),
        ("ala-nowak", "MIXED often few"),
        ("polsko-niemiecki", "LOWER always many"),
        ("polsko-nowak", "MIXED always many"),
        ("ala-zielińska", None),
        ("x-pkp", None),
        ("kot", None),
        ("-u", None),
        ("-", None),
        ("", None),
    ],
)
def test_compounds_are_known_by_their_parts(word, expected):
    assert KNOWN.get(word) == expected
    assert (word in KNOWN) == (expected is not None)


def test_a_lexicon_of_words_own_case_lists_no_compounds():
    assert (dict(KNOWN), len(KNOWN)) == (KNOWN.words, 7)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("EWA:. Nie wiem.", "Nie wiem."),
        ("Kot z NATO. Kot.", "Kot z NATO. Kot."),
        ("TO JEST NIE tak. Kot", "Kot"),
        ("I. W? U", "I. W? U"),  # a single letter may open a sentence
        ("USA", ""),
        ("12 % 3", "12 % 3"),
        ("", ""),
    ],
)
def test_sentences_in_capitals_are_left_out(text, left):
    words = [token.rstrip(".?:") for token in text.split()]
    marks = [token[-1] if token[-1] in ".?:" else "" for token in text.split()]
    places = casing.ordinary_places(words, marks)
    assert [text.split()[i] for i in places] == left.split()


def test_words_are_learned_composed():
    found = learned(*[unicodedata.normalize("NFD", "x Łódź ŻuK ŻuK")] * 3)
    assert found.casing == {"łódź": "TITLE always few", "żuk": "MIXED always few"}
    assert found.surface == {"żuk": "ŻuK"}
    decomposed = unicodedata.normalize("NFD", "żuk")
    assert Spelling(found.surface).spell(decomposed, "MIXED") == unicodedata.normalize("NFD", "ŻuK")


def test_words_are_lowered_by_the_languages_rule():
    texts = [(["x", "İzmir", "Isparta"], ["", "", ""])] * 3
    assert learn(texts, TURKISH.lowered).casing.keys() == {"izmir", "ısparta"}


def test_nothing_to_learn():
    assert learned() == learned("") == learned("Kot") == casing.Lexicons({}, {})


# ---------------------------------------------------------------- lexicons as lines

entries = st.text(st.characters(exclude_characters="\n\t", exclude_categories=["Cs"]), max_size=4)


@given(st.dictionaries(st.sampled_from(["a", "ab", "abc", "a b", "a\x01", "b", "\u2028", "\r"]) | entries, entries))
def test_lines_are_read_back(lexicon):
    lines = to_lines(lexicon)
    read = from_lines(lines)
    asked = [*lexicon, "", "a", "ab", "b", "zz", "\uffff", "\ud800"] * 2
    assert [read.get(word) for word in asked] == [lexicon.get(word) for word in asked]  # before it is a dictionary
    assert read == lexicon
    assert [read.get(word) for word in asked] == [lexicon.get(word) for word in asked]
    assert lines.split(b"\n") == sorted(lines.split(b"\n"))


@pytest.mark.parametrize("broken", [b"a", b"a\tb\nc", b"a\tb\tc", b"a\tb\n"])
def test_broken_lines(broken):
    with pytest.raises(ValueError, match="no word, tab and value"):
        from_lines(broken)


@pytest.mark.parametrize("broken", [b"\xff\t\xff", b"a\tb\xc5", b"a\t" + b"b" * (1 << 14) + b"\xc5"])
def test_lines_that_are_not_utf8(broken):
    with pytest.raises(UnicodeDecodeError):
        from_lines(broken)
