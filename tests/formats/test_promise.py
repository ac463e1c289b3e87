"""What every format promises: words come back, bytes come back, marks and case are all that is added."""

import io
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crfpunct import formats
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats.promise import Promise
from crfpunct.marks import MARKS, Typography, apart, split_mark

PLAIN = Typography()

#: Words that programs like to break: numbers, addresses, signs, combining and invisible characters, other scripts.
AWKWARD = [
    *["3.5", "10:30", "24/7", "9-11", "U.S", "C++", "R&D", '"', "l'été", "don't", "’tis", "łódź", "ﬁ", "ß", "İ", "ŉ"],
    *[
        "https://example.org/a?b=c#d",
        "jan.kowalski@example.org",
        "😀",
        "👩‍👩‍👧",
        "e\u0301",
        "z\u0336a\u0336",
        "שלום",
        "مرحبا",
    ],
    *[
        "a\u200bb",
        "10\u00a0000",
        "\u2028",
        "x\x1cy",
        "\x85",
        "\u3000",
        "x" * 3000,
        "\x00",
        "\\n",
        "\\u0041",
        "{}",
        "50%",
    ],
]
characters = st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\v\f\ufeff<>[]{}&|♪♫♬♩#-–—:;")
words = st.sampled_from(AWKWARD) | st.text(characters, min_size=1, max_size=8).filter(lambda w: split_mark(w)[0])
labels = st.sampled_from(["", *MARKS])
times = st.lists(st.integers(0, 9999), min_size=2, max_size=2).map(sorted)
texts = st.lists(st.tuples(words, labels, times), min_size=1, max_size=12)

#: Formats that give a file back byte for byte where nothing was added, and what a file of theirs may look like.
SAMPLES = {
    "srt": (
        "\ufeff1\r\n"
        "00:00:01,000 --> 00:00:02,500 X1:40\r\n"
        "<i>dzień dobry</i>\r\n"
        "- [śmiech] JAN: {\\an8}no R&amp;D\r\n"
        "\r\n"
        "3\r\n"
        "00:00:03,000 --> 00:00:04,000\r\n"
        "\r\n"
        "00:00:05,000 --> 00:00:06,000\r\n"
        "co\r\n"
        "\r\n"
        "sły<b>chać</b> ♪\r\n"
    ),
    "vtt": (
        "WEBVTT - tytuł\n"
        "Kind: captions\n"
        "\n"
        "STYLE\n"
        "::cue { color: red }\n"
        "\n"
        "NOTE nic\n"
        "ważnego\n"
        "\n"
        "id1\n"
        "00:01.000 --> 00:02.500 align:start\n"
        "<v Jan Kowalski>dzień <00:01.500><c>dobry</c>\n"
        "R&amp;D\n"
        "\n"
        "01:00:03.000 --> 01:00:04.000\n"
        "<c.a>sły</c>chać\n"
    ),
    "ctm": (
        ";; nic\n"
        "plik A 0.10 0.20 dzień 0.99 lex\n"
        "plik A 0.30 0.20 <eps>\n"
        "plik A * * <ALT_BEGIN>\n"
        "plik A 0.50 0.20 dobry 0.9\n"
        "plik A * * <ALT>\n"
        "plik A 0.50 0.20 dobra 0.1\n"
        "plik A * * <ALT_END>\n"
        "plik B 0.1 0.2 tak\r\n"
        "inny 1 0 0 nie\n"
    ),
    "conll": ("# zdanie 1\ndzień\tN\tO\r\ndobry\tA\t,\n\npanie\tN\tO\njanie\tN\t.\n\n\n"),
    "aligned": (
        "token|speaker|ts|endTs|punctuation|case|tags\r\n"
        "Dzień|1|0.1|0.25||UC|[]\r\n"
        "<crosstalk>|1||||LC|[]\r\n"
        "dobry|1|||,|LC|['x']\r\n"
    ),
    "tags": ('{"tokens": ["dzień", "dobry"], "tags": ["O", "B-."], "źródło": 1.50}\n\n{"tokens":[],"tags":[]}\n'),
    "words-json": (
        '{"title": "a", "words": [{"word": "dzień", "punctuation": "", "space_after": true},\n'
        ' {"word": "dobry", "punctuation": ".", "space_after": false, "n": 1}]}\n'
    ),
    "jsonl": (
        '{"id": "a", "words": [{"word": "dzie\\u0144", "start": 0.10, "end": 0.5}, {"word": '
        '"dobry"}]}\n'
        '{"id": 2, "text": " a  b"}\n'
    ),
    "vosk": (
        "{\n"
        '  "result" : [{\n'
        '      "conf" : 1.00000,\n'
        '      "end" : 1.02,\n'
        '      "start" : 0.3,\n'
        '      "word" : "dzień"\n'
        "    }],\n"
        '  "text" : "dzień dobry"\n'
        "}\n"
        "\n"
        '{"partial": "co"}\n'
        '{"text": ""}\n'
        '{"alternatives": [{"text": "tak"}, {"text": "nie"}]}\n'
    ),
    "whisper": (
        '{"text": " Dzie\\u0144  \\"dobry\\" pa", "segments": [{"id": 0, "start": 0.0, "end": 1.20, '
        '"text": " Dzie\\u0144  \\"dobry\\" pa",\n'
        '"words": [{"word": " Dzień", "start": 0.0, "end": 0.5}, {"word": " \\"dobry\\"", "end": '
        '1.0}, {"word": " pa"}]}], "language": "pl"}'
    ),
    "text": ("\ufeff a  b\r\n\nc\u2028d\te\n"),
    "paragraphs": ("\n\na  b\nc\n\n \nd"),
}
WRITTEN = [
    "srt",
    "vtt",
    "ctm",
    "conll",
    "aligned",
    "tags",
    "words-json",
    "jsonl",
    "vosk",
    "whisper",
    "text",
    "paragraphs",
]
WRITTEN += ["clntmstmp"]
READABLE = ("srt", "vtt", "vosk", "whisper", "text", "paragraphs")


def read(raw, format):
    return list(formats.module(format).read(io.BytesIO(raw), "in.txt"))


def written(documents, format, typography=PLAIN):
    out = io.StringIO()
    formats.write(documents, out, format, typography)
    return out.getvalue().encode()


def bare(words):
    """Words as the promise compares them; lone marks belong to the word before."""
    return [split_mark(word)[0].casefold() for word in words if split_mark(word)[0]]


def capitalized(word):
    """The word with a capital, where that changes no length; never all of capitals (`JAN: tak` is a speaker)."""
    changed = word[:1].upper() + word[1:]
    same = len(changed) == len(word) and changed.casefold() == word.casefold()
    return changed if same and not changed.isupper() else word


def restore(document):
    document.words = list(map(capitalized, document.words))
    document.marks = list(itertools.islice(itertools.cycle(["", ".", "?", ","]), len(document.words)))
    return document


@pytest.mark.parametrize("format", WRITTEN)
@settings(max_examples=40, deadline=None)
@given(tokens=texts)
def test_words_marks_and_times_come_back(format, tokens):
    array = np.array(sorted(time for _, _, time in tokens), dtype=np.int64)
    made = Document("a", [word for word, _, _ in tokens], array, [mark for _, mark, _ in tokens])
    if format in READABLE:
        # A hyphen joins two words for readers, and capitals with a colon are a speaker's name in subtitles.
        made.marks = [mark.translate({ord("-"): ",", ord(":"): ";"}) for mark in made.marks]
    if format == "conll" and len(made.words) == 1:
        made.words[0] = made.words[0].removeprefix("#") or "x"
    raw = written([made], format)
    documents = read(raw, format)
    assert bare(word for document in documents for word in document.words) == bare(made.words)
    assert written(documents, format) == raw
    for document in documents:
        if document.marks is not None:
            assert document.marks == apart(made.words, made.marks)[1]
        if format in ("ctm", "aligned", "jsonl", "vosk", "clntmstmp") and "-" not in made.marks:
            assert document.times_ms.tolist() == array.tolist()


@pytest.mark.parametrize("format", SAMPLES)
def test_samples_come_back_byte_for_byte(format):
    raw = SAMPLES[format].encode()
    documents = read(raw, format)
    assert sum(len(document.words) for document in documents) >= 2
    assert written(documents, format) == raw
    assert formats.guess("-", raw) == ("text" if format == "paragraphs" else format)


@pytest.mark.parametrize("format", SAMPLES)
def test_restoring_changes_case_and_adds_marks_only(format):
    raw = SAMPLES[format].encode()
    given = [document.words for document in read(raw, format)]
    restored = written(map(restore, read(raw, format)), format)
    documents = read(restored, format)
    assert [bare(document.words) for document in documents] == [bare(words) for words in given]
    assert restored != raw
    # Taking the marks off and the case away leaves two equal files, but for the formats that have labels.
    if format not in ("conll", "aligned", "tags", "words-json", "jsonl"):
        ignored = dict.fromkeys(map(ord, ".?,"))
        # The case of escapes (\u0144, \u0143) differs where the letter's case does.
        assert len(restored.decode().translate(ignored)) == len(raw.decode().translate(ignored))


@pytest.mark.parametrize("format", SAMPLES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_damaged_files_are_read_or_refused_and_never_altered(format, data):
    raw = SAMPLES[format].encode()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(raw)))
        end = data.draw(st.integers(start, min(len(raw), start + 20)))
        piece = data.draw(
            st.binary(max_size=4)
            | st.sampled_from([*b'\n\r \t<>[]{}"\\:,.-|&/0', *range(48, 58)]).map(lambda b: bytes([b]))
        )
        raw = raw[:start] + piece + raw[end:]
    try:
        documents = read(raw, format)
    except CorpusError as refused:
        error = str(refused)
    else:
        error = ""
    if error:
        assert error.startswith("in.txt:")
        assert "\n" not in error
        return
    for document in documents:
        document.check()
    assert written(documents, format) == raw
    try:
        restored = written(map(restore, read(raw, format)), format)
    except CorpusError:
        return  # words that no writer writes, from a file that could not be read back
    given = [word for document in documents for word in document.words]
    back = [word for document in read(restored, format) for word in document.words]
    assert bare(back) == bare(given)


LIKELY = [
    *"\t\n\r |:-,.()<>{}[]\"'\\0123abł\ufeff",
    "-->",
    "word",
    '{"text": "',
    "WEBVTT\n",
    "token|",
    "(1,2) a\n",
    "a:1-2",
]


@pytest.mark.parametrize("format", [name for name in formats.names() if name != "sentences"])
@settings(max_examples=40, deadline=None)
@given(raw=st.lists(st.sampled_from(LIKELY)).map(lambda pieces: "".join(pieces).encode()) | st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(format, raw):
    assert formats.guess("-", raw) in formats.names()
    try:
        documents = read(raw, format)
    except CorpusError as refused:
        error = str(refused)
    else:
        error = ""
        for document in documents:
            document.check()
    assert "\n" not in error


@pytest.mark.parametrize("format", SAMPLES)
def test_other_words_are_refused(format):
    [document, *_] = read(SAMPLES[format].encode(), format)
    words = document.words
    document.marks = document.times_ms = None
    document.words = words[:-1]
    with pytest.raises(CorpusError, match=r"\d words to write, but \d were read; words are never added"):
        written([document], format)
    if format in ("text", "paragraphs"):
        return  # they keep white space only, so they have nothing to compare words with
    document.words = [*words[:-1], "inne"]
    with pytest.raises(CorpusError, match=r'"inne" would be written for ".+"; words are never changed'):
        written([document], format)


@pytest.mark.parametrize("format", SAMPLES)
def test_marks_that_a_word_has_may_go(format):
    documents = read(SAMPLES[format].encode(), format)
    for document in documents:
        document.marks = ["."] * len(document.words)
    with_marks = read(written(documents, format), format)
    for document in with_marks:
        document.words = [split_mark(word)[0] for word in document.words]
        document.marks = [""] * len(document.words)
    without = read(written(with_marks, format), format)
    assert not any(split_mark(word)[1] for document in without for word in document.words)


@pytest.mark.parametrize("source", SAMPLES)
@pytest.mark.parametrize("target", WRITTEN)
def test_conversion_keeps_the_words(source, target):
    documents = read(SAMPLES[source].encode(), source)
    documents = [document for document in documents if document.words]
    if target == "clntmstmp":
        documents = documents[:1]
    for document in documents:
        if document.times_ms is None or target == "ctm":
            start = np.arange(len(document.words), dtype=np.int64) * 100
            document.times_ms = np.stack([start, start + 90], axis=1)
    back = read(written(documents, target), target)
    assert bare(word for document in back for word in document.words) == bare(
        word for document in documents for word in document.words
    )


def test_turkish_capitals_are_a_change_of_case():
    promise = Promise()
    list(promise.remember([Document("a", ["istanbul", "ılık"])]))
    assert list(promise.check([Document("a", ["İstanbul", "ILIK"])]))
