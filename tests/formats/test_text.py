"""Plain text: words are split at ASCII white space, and all white space comes back."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfpunct import formats
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats import paragraphs, text
from crfpunct.marks import Typography

PLAIN = Typography()
JOINED = Typography(frozenset({"polsko"}))

#: Words that programs like to break: numbers, addresses, signs, combining and invisible characters, other scripts.
AWKWARD = [
    *["3.5", "10:30", "24/7", "9-11", "-5", "U.S.", "C++", "R&D", "...", "42.", "—", '"', "l'été", "don't", "’tis"],
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
        "ﬁ",
        "ß",
        "İ",
        "łódź",
        "x" * 5000,
        "</s>",
        "\x00",
    ],
]
words = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\v\f\ufeff"), min_size=1, max_size=8),
)
white_space = st.text(" \t\v\f\r", min_size=1, max_size=3)


def read(raw, module=text):
    return list(module.read(io.BytesIO(raw), "in.txt"))


def written(documents, format="text", typography=PLAIN):
    out = io.StringIO()
    formats.write(documents, out, format, typography)
    return out.getvalue()


@given(st.lists(st.lists(words)))
def test_words_come_back(documents):
    raw = written([Document("", document) for document in documents]).encode()
    assert [document.words for document in read(raw)] == documents
    assert all(document.layout is None for document in read(raw))


@pytest.mark.parametrize("format", ["text", "paragraphs"])
@given(data=st.data())
def test_bytes_come_back_and_words_stay_in_order(format, data):
    pieces = data.draw(st.lists(st.one_of(words, white_space, st.sampled_from(["\n", "\r\n", "\n\n", " ", "\ufeff"]))))
    raw = "".join(pieces).encode()
    documents = read(raw, formats.module(format))
    assert written(documents, format).encode() == raw
    split = raw.removeprefix(b"\xef\xbb\xbf").split()  # bytes.split splits at ASCII white space
    assert [word.encode() for document in documents for word in document.words] == split


@given(st.lists(st.tuples(words, st.sampled_from(["", ".", ",", "?!", ":"]), white_space | st.just("\n"))))
def test_marks_are_all_that_is_added(tokens):
    raw = "".join(word + space for word, _, space in tokens)
    [document] = read(raw.encode(), paragraphs) or [Document("", [])]
    document.marks = [mark for _, mark, _ in tokens]
    assert written([document], "paragraphs") == ("".join(map("".join, tokens)) or "\n")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("polsko niemiecki", "polsko-niemiecki"),
        ("polsko  niemiecki", "polsko-  niemiecki"),
        ("23 25", "23-25"),
        (" tak  powiedział", " tak –  powiedział"),
        ("tak\r\npowiedział\r\n", "tak –\r\npowiedział\r\n"),
    ],
)
def test_dashes_keep_the_white_space(line, expected):
    [document] = read(line.encode(), paragraphs)
    document.marks = ["-", ""]
    assert written([document], "paragraphs", JOINED) == expected


def test_dash_in_canonical_text():
    assert written([Document("", ["tak", "nie", "wiem"], marks=["-", ",", "-"])]) == "tak – nie, wiem –\n"


def test_blank_lines_are_empty_documents():
    assert [document.words for document in read(b"a b\n\n \nc")] == [["a", "b"], [], [], ["c"]]
    assert [document.source for document in read(b"a b\n\n")] == ["in.txt:1", "in.txt:2"]


def test_paragraphs():
    documents = read(b"\n\na b\nc\n \n\nd\n\n", paragraphs)
    assert [document.words for document in documents] == [["a", "b", "c"], ["d"]]
    assert [document.source for document in documents] == ["in.txt:3", "in.txt:7"]


def test_paragraphs_of_other_formats_get_a_blank_line_between():
    assert written([Document("", ["a"], marks=["."]), Document("", ["b"])], "paragraphs") == "a.\n\nb\n"


def test_existing_marks_stay_with_their_words():
    [document] = read(b"the end .\n")
    assert document.words == ["the", "end", "."]


@pytest.mark.parametrize("module", [text, paragraphs])
def test_not_utf8(module):
    with pytest.raises(CorpusError, match=r"in\.txt:2: byte 2 \(0xb3\) is not UTF-8; convert the file"):
        read(b"a\na\xb3\n", module)
