"""SRT and WebVTT: what is a word, the times, the errors, and cues made for reading."""

import io
import re
import time

import numpy as np
import pysubs2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfpunct import formats
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats import subtitles
from crfpunct.marks import Typography

JOINED = Typography(frozenset({"polsko"}))


def read(text, format="vtt"):
    [document] = formats.module(format).read(io.BytesIO(text.encode()), f"a/film.pl.{format}")
    return document.check()


def written(documents, format):
    out = io.StringIO()
    formats.write(documents, out, format, JOINED)
    return out.getvalue()


def cue(text):
    return f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<v Jan Kowalski>dzień <i>dobry</i>", ["dzień", "dobry"]),
        ("- tak\n– nie\n>> może", ["tak", "nie", "może"]),
        ("tak - nie", ["tak", "-", "nie"]),
        ("JAN KOWALSKI: tak\n- ANNA: nie", ["tak", "nie"]),
        ("powiedział: tak", ["powiedział:", "tak"]),
        ("JAN: 5", ["5"]),
        ("ODPOWIEDŹ TO: TAK", ["ODPOWIEDŹ", "TO:", "TAK"]),
        ("TO JEST BARDZO DŁUGIE ZDANIE: TAK", ["TO", "JEST", "BARDZO", "DŁUGIE", "ZDANIE:", "TAK"]),
        ("[śmiech w tle] no tak [brawa]", ["no", "tak"]),
        ("[SPEAKER_01]: no tak", ["no", "tak"]),
        ("[nie zamknięte tak", ["[nie", "zamknięte", "tak"]),
        ("♪ la la ♪", ["la", "la"]),
        ("R&amp;D &lt;3 &nbsp;x", ["R&D", "<3", "\u00a0x"]),
        ("a&#32;b", ["a&#32;b"]),
        ("5 < 6 > 4", ["5", "<", "6", ">", "4"]),
        ("sły<b>cha</b>ć", ["słychać"]),
        ("{\\an8}{nie}", ["{nie}"]),
    ],
)
def test_what_is_a_word(text, words):
    assert read(cue(text)).words == words


def test_times_are_known_at_cue_borders_only():
    document = read(
        "1\n00:00:01,000 --> 00:00:02,500\ndzień dobry\npani\n\n2\n00:00:03,5 --> 01:00:04,000\nco\n", "srt"
    )
    assert document.id == "film"
    assert document.times_ms.tolist() == [[1000, -1], [-1, -1], [-1, 2500], [3500, 3604000]]


def test_karaoke_stamps_are_word_starts():
    document = read(cue("dzień <00:01.200><c>dobry</c> <00:01.700>pani<00:01.900>"))
    assert document.times_ms.tolist() == [[1000, -1], [1200, -1], [1700, 2000]]


def test_captions_that_roll_up_are_the_same_words():
    text = (
        "WEBVTT\nKind: captions\n\n00:01.000 --> 00:02.000 align:start\n \ndzień<00:01.500><c> dobry</c>\n\n"
        "00:02.000 --> 00:02.010 align:start\ndzień dobry\n \n\n"
        "00:02.010 --> 00:03.000 align:start\ndzień dobry\npolsko<00:02.500><c> niemiecki</c>\n"
    )
    document = read(text)
    assert document.words == ["dzień", "dobry", "polsko", "niemiecki"]
    document.words[0] = "Dzień"
    document.marks = ["", ".", "", "!"]
    assert written([document], "vtt") == (
        text.replace("dzień", "Dzień").replace("dobry", "dobry.").replace("niemiecki", "niemiecki!")
    )
    assert "00:00:01,000 --> 00:00:02,000\nDzień dobry.\n\n2\n00:00:02,010" in written([document], "srt")


def test_marks_go_before_closing_tags_and_case_into_the_markup():
    document = read(cue("<i>dzień</i> <b>polsko</b> r&amp;d słyn<u>ny</u> polsko niemiecki"))
    document.words = ["Dzień", "polsko", "R&D", "Słynny", "polsko", "niemiecki"]
    document.marks = ["-", "-", ",", "…", "-", "."]
    assert written([document], "vtt") == cue("<i>Dzień –</i> <b>polsko-</b> R&amp;D, Słyn<u>ny…</u> polsko-niemiecki.")


def test_a_cue_may_follow_the_header_at_once():
    assert read("WEBVTT\n00:01.000 --> 00:02.000\ntak\n").words == ["tak"]


def test_notes_styles_regions_and_stray_text_are_no_words():
    text = "WEBVTT\n\nNOTE tak --> nie\n\nREGION\nid:a\n\nzbłąkany tekst\n\nSTYLE\n::cue {}\n\n"
    text += "id\n00:01.000 --> 00:02.000\nsłowo\n"
    assert read(text).words == ["słowo"]


def test_srt_without_numbers_or_blank_lines_between_cues():
    text = "00:00:01,000 --> 00:00:02,000\n12 minut\n7\n00:00:02,000 --> 00:00:03,000\n13\n\n\n"
    text += "9\n00:00:04.000 --> 00:00:05.000"
    assert read(text, "srt").words == ["12", "minut", "13"]


@pytest.mark.parametrize("format", ["srt", "vtt"])
@pytest.mark.parametrize("text", ["", "\n\n"])
def test_no_cues(format, text):
    text = text if format == "srt" else "WEBVTT" + text
    document = read(text, format)
    assert document.words == []
    assert written([document], format) == text


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        (
            "srt",
            "1\n00:00:01,000 -> 00:00:02,000\ntak\n",
            r"srt:2: found '00:00:01,000 -> .*' before any cue, expected",
        ),
        ("srt", "1\n00:00:01,000 --> 00:00\ntak\n", r"srt:2: broken cue '00:00:01,000 --> 00:00', expected hours"),
        ("srt", "1\n-00:00:01,000 --> 00:00:02,000\n", r"srt:2: broken cue"),
        ("srt", "1\n00:00:03,000 --> 00:00:02,000\n", r"srt:2: the cue ends at 2000 ms, before it starts \(3000 ms\)"),
        ("vtt", "00:01.000 --> 00:02.000\n", r"vtt:1: found '00:01.000 --> 00:02.000', expected WEBVTT"),
        ("vtt", "", r"vtt:1: found '', expected WEBVTT"),
        ("vtt", "WEBVTT\n\nid\n00:01 --> 00:02.000\n", r"vtt:4: broken cue '00:01 --> 00:02.000'"),
    ],
)
def test_errors(format, text, message):
    with pytest.raises(CorpusError, match=message):
        read(text, format)


def test_not_utf8():
    with pytest.raises(CorpusError, match=r"a.srt:2: byte 2 \(0xb3\) is not UTF-8"):
        list(formats.module("srt").read(io.BytesIO(b"1\n2\xb3"), "a.srt"))


def test_pysubs2_finds_the_same_cues_in_what_is_written():
    text = "".join(
        f"{i}\r\n00:00:{i:02},000 --> 00:00:{i:02},900\r\n<i>słowo {i}</i> i\r\ndrugi wiersz\r\n\r\n"
        for i in range(1, 20)
    )
    document = read(text, "srt")
    document.marks = [".", ",", "", "?", "-"] * 19
    for format in ("srt", "vtt"):
        theirs = pysubs2.SSAFile.from_string(written([document], format).replace("\r\n", "\n"), format_=format)
        assert [(event.start, event.end) for event in theirs] == [(i * 1000, i * 1000 + 900) for i in range(1, 20)]
        assert [re.sub(r"[.,?–]", "", event.plaintext).split() for event in theirs] == [
            ["słowo", str(i), "i", "drugi", "wiersz"] for i in range(1, 20)
        ]


def timed(text, step=400):
    words = text.split()
    start = np.arange(len(words), dtype=np.int64) * step
    found = [re.fullmatch(r"(.*?)([.,?!]*)", word) for word in words]
    return Document("", [m[1] for m in found], np.stack([start, start + step - 50], axis=1), [m[2] for m in found])


def test_cues_for_reading_end_with_sentences_and_clauses():
    document = timed(
        "Kto kupi bilet dzisiaj, ten zapłaci mniej, a dzieci wejdą za darmo na wszystkie "
        "pokazy tego niezwykłego festiwalu. Gdzie? W kinie."
    )
    assert written([document], "srt") == (
        "1\n00:00:00,000 --> 00:00:02,750\nKto kupi bilet dzisiaj, ten zapłaci mniej,\n\n"
        "2\n00:00:02,800 --> 00:00:07,150\na dzieci wejdą za darmo na wszystkie\npokazy tego niezwykłego festiwalu.\n\n"
        "3\n00:00:07,200 --> 00:00:07,550\nGdzie?\n\n"
        "4\n00:00:07,600 --> 00:00:08,350\nW kinie.\n\n"
    )


@given(st.lists(st.tuples(st.text("abcż", min_size=1, max_size=50), st.sampled_from(["", "", ",", "."])), max_size=60))
def test_cues_keep_to_the_limits(tokens):
    start = np.arange(len(tokens), dtype=np.int64) * 700
    document = Document("", [w for w, _ in tokens], np.stack([start, start + 600], axis=1), [m for _, m in tokens])
    cues = subtitles.cut(document)
    assert [i for cue in cues for i in range(cue.first, cue.beyond)] == list(range(len(tokens)))
    for cue, text in zip(cues, subtitles.texts(document, cues, JOINED), strict=True):
        rows = text.split("\n")
        assert cue.beyond - cue.first == 1 or len(rows) <= 2
        assert all(len(row) <= 42 or " " not in row for row in rows)
        assert cue.end_ms - cue.start_ms <= 7000


def test_resegmented_subtitles_get_new_cues():
    document = read(cue("dzień dobry co") + "\n00:02.000 --> 00:04.000\nsłychać pani aniu\n")
    document.marks = ["", ".", "", "", "", "?"]
    assert written([subtitles.resegmented(document)], "vtt") == (
        "WEBVTT\n\n00:00:01.000 --> 00:00:01.785\ndzień dobry.\n\n"
        "00:00:01.857 --> 00:00:04.000\nco słychać pani aniu?\n"
    )


def test_vtt_escapes_what_would_be_markup():
    document = timed("R&D <b> tak.")
    assert "\nR&amp;D &lt;b&gt; tak.\n" in written([document], "vtt")


def test_subtitles_need_times():
    with pytest.raises(
        CorpusError, match=r"in.txt:1: no word has a time, but subtitles and CTM need them; give --times"
    ):
        written([Document("", ["tak"], source="in.txt:1")], "srt")
    assert written([Document("", [])], "srt") == ""


@pytest.mark.parametrize("piece", ["[a ", "<a ", "&a ", "{\\a ", "A: ", "a "])
def test_a_long_line_takes_no_longer_than_its_length_says(piece):
    # Twenty thousand words took eight seconds where one word was compared with all that follow it.
    raw = ("1\n00:00:01,000 --> 00:00:02,000\n" + piece * 20000).encode()
    start = time.process_time()
    list(formats.module("srt").read(io.BytesIO(raw), "x"))
    assert time.process_time() - start < 3


@pytest.mark.parametrize("format", ["srt", "vtt"])
def test_words_that_look_like_markup_are_no_markup(format):
    words = ["<unk>", "R&D", "a<b>c", "&lt;", "-->", "x-->y", "<a", "b>", "{\\an8}", "&amp;amp;", "<00:01.000>"]
    times = np.arange(2 * len(words), dtype=np.int64).reshape(-1, 2) * 100
    out = io.StringIO()
    formats.write([Document("", words, times)], out, format, Typography())
    [document] = formats.module(format).read(io.BytesIO(out.getvalue().encode()), "x")
    assert document.words == words


def test_words_like_a_line_of_times_are_read_back():
    words = ["00:00:01,000", "-->", "00:00:02,000", "ala"]
    document = Document("a", words, np.array([[i * 1000, i * 1000 + 500] for i in range(4)]))
    out = io.StringIO()
    formats.write([document], out, "srt", Typography())
    [back] = formats.module("srt").read(io.BytesIO(out.getvalue().encode()), "a.srt")
    assert back.words == words
