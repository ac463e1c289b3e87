"""JSON of Whisper and its relatives, of Vosk, and the row formats: shapes, times, errors."""

import io
import json
import time

import numpy as np
import pytest

from crfpunct import formats
from crfpunct.errors import CorpusError
from crfpunct.marks import Typography


def read(text, format="whisper"):
    raw = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return [
        document.check() for document in formats.module(format).read(io.BytesIO(raw.encode()), "a/nagranie.pl.json")
    ]


def written(documents, format="whisper"):
    out = io.StringIO()
    formats.write(documents, out, format, Typography(frozenset({"polsko"})))
    return out.getvalue()


def restored(text, words, marks, format="whisper"):
    [document] = read(text, format)
    document.words, document.marks = words, marks
    return json.loads(written([document], format))


@pytest.mark.parametrize(
    ("data", "times"),
    [
        ({"text": " tak nie", "segments": [{"start": 1.0, "end": 2.5, "text": " tak nie"}]}, [[1000, -1], [-1, 2500]]),
        (
            {
                "segments": [
                    {"start": 1, "end": 9, "text": " tak", "words": [{"word": " tak", "start": 1.2, "end": 1.5}]}
                ]
            }
            | {"text": " tak"},
            [[1200, 1500]],
        ),
        ({"segments": [{"text": "tak 5", "words": [{"word": "tak", "start": 0.1, "end": 0.2}, {"word": "5"}]}]}, None),
        ({"words": [{"text": "tak", "start": 0, "end": 1}, {"text": "nie", "start": 1, "end": 2}]}, None),
        ({"text": "tak nie", "words": [{"word": "tak", "start": 0.0, "end": 0.5}]}, [[0, 500]]),
        ({"text": "tak", "words": [{"word": "tak", "start": 10**400, "end": 0.5}]}, [[-1, 500]]),
        ({"chunks": [{"timestamp": [0.0, 1.5], "text": " tak nie"}], "text": " tak nie"}, [[0, -1], [-1, 1500]]),
        ({"chunks": [{"timestamp": [0.0, None], "text": " tak"}]}, [[0, -1]]),
        ({"transcription": [{"offsets": {"from": 10, "to": 1500}, "text": " tak"}]}, [[10, 1500]]),
        ([{"start": 0.5, "end": 1.0, "text": "tak"}], [[500, 1000]]),
        ([[" tak", 0.0, 0.36], [" nie", 0.36, 0.6]], [[0, 360], [360, 600]]),
        ({"text": "tak"}, "none"),
        ({"text": "", "segments": []}, "none"),
    ],
)
def test_whisper_shapes(data, times):
    [document] = read(data)
    assert document.id == "nagranie"
    if times == "none":
        assert document.times_ms is None
    elif times:
        assert document.times_ms.tolist() == times
    assert written([document]) == json.dumps(data, ensure_ascii=False)
    document.marks = ["."] * len(document.words)
    again = json.dumps(json.loads(written([document])), ensure_ascii=False)
    for word in document.words:
        assert again.count(word + ".") == again.count(word) >= 1


def test_every_spelling_of_the_text_gets_the_marks():
    words = [{"word": " dzień", "start": 0.0, "end": 0.5}, {"word": " dobry", "start": 0.5, "end": 1.0}]
    data = {
        "text": " dzień dobry pani",
        "segments": [{"text": " dzień dobry", "words": words}, {"text": " pani", "words": [{"word": " pani"}]}],
        "word_segments": [{"word": "dobry"}, {"word": "pani"}],
        "task": "dzień",
    }
    back = restored(data, ["Dzień", "dobry", "Pani"], ["", ",", "!"])
    assert back["text"] == " Dzień dobry, Pani!"
    assert [segment["text"] for segment in back["segments"]] == [" Dzień dobry,", " Pani!"]
    assert [word["word"] for segment in back["segments"] for word in segment["words"]] == [
        " Dzień",
        " dobry,",
        " Pani!",
    ]
    assert [word["word"] for word in back["word_segments"]] == ["dobry,", "Pani!"]
    assert back["task"] == "dzień"


def test_words_in_pieces_are_one_word():
    words = [{"word": " tak", "start": 0.0, "end": 0.4}, {"word": " słowo", "start": 0.4, "end": 0.6}]
    words += [{"word": "-klucz", "start": 0.6, "end": 0.9}, {"word": " nie", "start": 1.0, "end": 1.2}]
    data = {"segments": [{"text": " tak słowo-klucz nie", "words": words}]}
    [document] = read(data)
    assert document.words == ["tak", "słowo-klucz", "nie"]
    assert document.times_ms.tolist() == [[0, 400], [400, 900], [1000, 1200]]
    back = restored(data, ["tak", "SŁOWO-KLUCZ", "nie"], ["", ",", "."])
    assert [word["word"] for word in back["segments"][0]["words"]] == [" tak", " SŁOWO", "-KLUCZ,", " nie."]


def test_a_segment_that_ends_before_its_last_word_does():
    words = [{"word": "tak", "start": 1.0}, {"word": "nie", "start": 2.0}]
    [document] = read({"segments": [{"start": 0.9, "end": 1.9, "text": "tak nie", "words": words}]})
    assert document.times_ms.tolist() == [[1000, -1], [2000, -1]]


def test_segments_do_not_run_into_each_other():
    [document] = read({"segments": [{"text": " tak"}, {"text": "nie"}, {"text": " może"}]})
    assert document.words == ["tak", "nie", "może"]


def test_results_are_found_in_linear_time():
    lines = [b'{"partial": "tak", "a": [\n', *[b'{"a": "]}"}\n,\n'] * 20_000, b"{}]}\n", b'{"text": "nie"}\n']
    documents = list(formats.module("vosk").read(io.BytesIO(b"".join(lines)), "-"))
    assert [document.words for document in documents] == [["tak"], ["nie"]]
    assert [document.source for document in documents] == ["-:1", "-:40003"]


def test_lists_that_differ_from_the_text_are_aligned():
    data = {
        "text": "raz dwa trzy",
        "segments": [{"text": "raz dwa trzy"}],
        "words": [{"word": "dwa"}, {"word": "inne"}],
    }
    back = restored(data, ["raz", "dwa", "trzy"], [".", ".", "."])
    assert [word["word"] for word in back["words"]] == ["dwa.", "inne"]


def test_joined_compounds():
    back = restored({"segments": [{"text": " polsko niemiecki tak"}]}, ["polsko", "niemiecki", "tak"], ["-", "-", "."])
    assert back["segments"][0]["text"] == " polsko-niemiecki – tak."


def test_escapes_stay_as_the_file_has_them():
    raw = '{"text": "tak \\u0142 \\"a\\" \\ud83d\\ude00 \\ud83d\\n\\u00a0"}'
    [document] = read(raw)
    assert document.words == ["tak", "ł", '"a"', "😀", "\ufffd", "\u00a0"]
    document.marks = ["-", ".", "", "", "", "."]
    assert written([document]) == '{"text": "tak \\u2013 \\u0142. \\"a\\" \\ud83d\\ude00 \\ud83d\\n\\u00a0."}'


def test_documents_of_other_formats_become_segments():
    documents = list(
        formats.module("clntmstmp").read(io.BytesIO("(0,500) tak\n(-1,-1) nie\n(900,1000) ź\n".encode()), "a")
    )
    documents[0].marks = [",", "", "."]
    assert json.loads(written(documents)) == {
        "text": "tak, nie ź.",
        "segments": [
            {
                "id": 0,
                "start": 0.0,
                "end": 1.0,
                "text": "tak, nie ź.",
                "words": [
                    {"word": "tak,", "start": 0.0, "end": 0.5},
                    {"word": "nie"},
                    {"word": "ź.", "start": 0.9, "end": 1.0},
                ],
            }
        ],
    }


def test_vosk_results_come_one_by_one():
    documents = formats.module("vosk").read(
        Slow([b'{"partial" : "tak"}\n', b"{\n", b'"text" : "tak nie"\n}\n', b"\n{", b""]), "-"
    )
    assert next(documents).words == ["tak"]
    assert next(documents).words == ["tak", "nie"]
    with pytest.raises(CorpusError, match=r"-:5: broken JSON at column 2"):
        next(documents)


class Slow:
    """A pipe whose lines come one after the other; none is asked for before the line before is used up."""

    def __init__(self, lines):
        self.lines = lines

    def __iter__(self):
        return iter(self.lines)


def test_vosk_times_and_alternatives():
    word = {"word": "tak", "start": 0.33, "end": 0.6, "conf": 1.0}
    [document] = read({"result": [word], "text": "tak"}, "vosk")
    assert document.times_ms.tolist() == [[330, 600]]
    back = restored({"result": [word], "text": "tak"}, ["Tak"], ["."], "vosk")
    assert back == {"result": [word | {"word": "Tak."}], "text": "Tak."}
    data = {"alternatives": [{"text": "tak", "result": [word]}, {"text": "nie"}]}
    assert restored(data, ["tak"], ["?"], "vosk")["alternatives"][1] == {"text": "nie"}
    assert restored({"partial": "tak"}, ["tak"], ["?"], "vosk") == {"partial": "tak?"}


def test_row_formats_keep_what_they_do_not_know():
    data = {"id": "a", "words": [{"word": "tak", "start": 1.5, "x": [1]}, "nie"], "y": None}
    back = restored(data, ["Tak", "nie"], [",", ""], "jsonl")
    assert back == {
        "id": "a",
        "words": [{"word": "Tak", "start": 1.5, "x": [1], "mark": ","}, {"word": "nie", "mark": ""}],
        "y": None,
    }
    back = restored({"text": " tak  nie "}, ["tak", "nie"], [",", "."], "jsonl")
    assert back == {"text": " tak,  nie. "}
    back = restored({"tokens": ["tak"], "tags": ["O"], "z": 1}, ["Tak"], ["..."], "tags")
    assert back == {"tokens": ["Tak"], "tags": ["B-..."], "z": 1}
    data = {
        "words": [
            {"word": "polsko", "punctuation": "", "space_after": True, "q": 1},
            {"word": "niemiecki", "space_after": False},
        ]
    }
    back = restored(data, ["polsko", "niemiecki"], ["-", "."], "words-json")
    assert back["words"][0] == {"word": "polsko", "punctuation": "-", "space_after": False, "q": 1}


def test_rows_for_programs_are_labelled_on_reading():
    [document] = read({"tokens": ["tak", "nie"], "tags": ["B-?", "O"]}, "tags")
    assert document.marks == ["?", ""]
    [document] = read({"words": [{"word": "tak", "punctuation": "…"}]}, "words-json")
    assert document.marks == ["…"]
    [document] = read({"id": 7, "words": [{"word": "tak", "start": 0.5, "end": 0.7, "mark": "."}]}, "jsonl")
    assert (document.id, document.marks, document.times_ms.tolist()) == ("7", ["."], [[500, 700]])


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("whisper", '{"text": "tak\n', r"json:1: broken JSON at column 14 \(.*\); the file may be cut off"),
        ("whisper", '{"text": "tak"}\n{}', r"json:2: text behind the JSON value; expected one value"),
        ("whisper", '{"a": 1, "b": 2}', r"json:1: JSON with the keys a, b, expected segments or words with times"),
        ("whisper", "5", r"json:1: JSON with 5, expected segments"),
        ("whisper", DEEP, r"json:1: JSON nested too deep"),
        (
            "whisper",
            '[["a", 2.0, 1.0]]',
            r'json:1: the word "a" \(number 1\) ends at 1000 ms, before it starts \(2000 ms\)',
        ),
        ("vosk", '{"a": 1}', r"json:1: JSON without text, partial or result, expected a result of Vosk"),
        ("vosk", "{", r"json:1: broken JSON"),
        ("tags", '{"tokens": ["a"], "tags": []}', r"json:1: 0 tags for 1 tokens; each token needs its tag"),
        ("tags", '{"tokens": ["a"], "tags": 3}', r"json:1: no list of tags for 1 tokens"),
        ("tags", '{"tokens": ["a"], "tags": ["PER"]}', r"json:1: the tag 'PER', expected O or B- and a mark"),
        ("tags", '{"tokens": [1]}', r"json:1: '\[1\]', expected a list of tokens"),
        ("tags", '{"tokens": ["a b"]}', r"json:1: 'a b' is no word"),
        ("tags", '{"tokens": ["\\ud800"]}', r"is no word"),
        ("tags", "[]\n", r"json:1: found a list, expected"),
        ("tags", '{"tokens"', r"json:1: broken JSON \(.*\), expected .*; is it cut off"),
        ("words-json", '{"words": 1}', r"json:1: no list of words, expected"),
        ("words-json", '{"words": [{}]}', r"json:1: an entry without a word"),
        (
            "words-json",
            '{"words": [{"word": "a", "punctuation": "x"}]}',
            r"json:1: the punctuation 'x', expected marks",
        ),
        ("jsonl", '{"id": 1}', r"json:1: neither words nor text, expected"),
        ("jsonl", '{"words": [{}]}', r"json:1: an entry without a word"),
        ("jsonl", '{"words": [{"word": "a", "mark": "x"}]}', r"json:1: a mark that is none"),
        (
            "jsonl",
            '{"words": [{"word": "a", "start": 2, "end": 1}]}',
            r"json:1: word 1 ends at 1000 ms, before it starts",
        ),
    ],
)
def test_errors(format, text, message):
    with pytest.raises(CorpusError, match=message):
        read(text, format)


def test_not_utf8():
    for format in ("whisper", "vosk", "tags"):
        with pytest.raises(CorpusError, match=r"byte \d+ \(0xb3\) is not UTF-8"):
            list(formats.module(format).read(io.BytesIO(b'{"text": "\xb3"}'), "a.json"))


def test_long_texts_are_read_in_linear_time():
    # A text used to be compared with itself once a word: fifteen seconds for this one.
    text = "słowo " * 100_000
    start = time.process_time()
    [document] = read({"text": text, "segments": [{"id": 0, "start": 0.0, "end": 9.0, "text": text}]})
    assert len(document.words) == 100_000
    assert time.process_time() - start < 6


def test_numbers_that_python_does_not_take():
    for format in ("whisper", "vosk", "jsonl", "tags", "words-json"):
        with pytest.raises(CorpusError, match=r":1: JSON with a number of thousands of digits"):
            read('{"id": ' + "9" * 5000 + "}", format)


def test_half_a_character_is_escaped():
    raw = '{"id": "\\ud800 ż", "words": ["a"]}\n'
    [document] = read(raw, "jsonl")
    document.marks = ["."]
    assert json.loads(written([document], "jsonl"))["id"] == "\ud800 ż"


def test_a_document_with_probabilities():
    [document] = read('{"id": 1, "words": [{"word": "a", "mark": "."}, "b"]}', "jsonl")
    document.probabilities = np.array([0.123456, np.nan])
    assert json.loads(written([document], "jsonl"))["words"] == [
        {"word": "a", "mark": ".", "probability": 0.1235},
        {"word": "b", "mark": ""},
    ]
    document.probabilities = np.zeros(3)
    with pytest.raises(CorpusError, match="3 probabilities for 2 words"):
        written([document], "jsonl")


@pytest.mark.parametrize("format", ["whisper", "vosk", "jsonl", "tags", "words-json"])
def test_a_string_without_end_is_refused_at_once(format):
    started = time.perf_counter()
    with pytest.raises(CorpusError, match=r":1: broken JSON .*Unterminated string"):
        read('{"text": "' + r"\"" * 300_000, format)
    assert time.perf_counter() - started < 5  # a search for the end from every quote took a minute and more


@pytest.mark.parametrize("raw", ["", "\n \n", "\ufeff"])
def test_an_empty_file_is_said_to_be_empty(raw):
    with pytest.raises(CorpusError, match=r"json: nothing in it, expected JSON; check how the file was made\.$"):
        read(raw)


@pytest.mark.parametrize(("raw", "found"), [("{}", "no keys"), ("[1]", r"\[1\]"), ("null", "null"), ('"ala"', '"ala"')])
def test_json_that_is_no_transcript(raw, found):
    with pytest.raises(
        CorpusError, match=rf"json:1: JSON with {found}, expected segments or words with times as Whisper"
    ):
        read(raw)
