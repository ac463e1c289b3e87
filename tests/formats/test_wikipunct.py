"""WikiPunct: ids and texts in, gold marks, punctuated lines out."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfpunct import formats
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.formats import wikipunct
from crfpunct.marks import MARKS, Typography

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\v\f\ufeff"), min_size=1)


def corpus(folder, given, gold):
    (folder / "in.tsv").write_bytes(given.encode())
    (folder / "expected.tsv").write_bytes(gold.encode())
    return list(formats.read_punctuated(folder))


def read(raw):
    return list(wikipunct.read(io.BytesIO(raw.encode()), "in.tsv"))


def written(documents):
    out = io.StringIO()
    formats.write(documents, out, "wikipunct", Typography())
    return out.getvalue()


def test_reads_ids_texts_and_empty_documents():
    documents = read("\ufeffwikinews1\tala ma  kota\r\nwikitalks2\t\r\n")
    assert [(document.id, document.words) for document in documents] == [
        ("wikinews1", ["ala", "ma", "kota"]),
        ("wikitalks2", []),
    ]


def test_reads_texts_without_ids():
    assert [(document.id, document.words) for document in read("ala, ma.\n\nkota\n")] == [
        ("", ["ala,", "ma."]),
        ("", []),
        ("", ["kota"]),
    ]


def test_writes_marks_glued_to_words():
    document = Document("1", ["polsko", "niemiecki", '"'], marks=["-", "", "."])
    assert written([document, Document("2", []), Document("3", ["tak"])]) == 'polsko- niemiecki ".\n\ntak\n'


@given(st.lists(st.lists(st.tuples(words, st.sampled_from(["", *MARKS])))))
def test_marks_come_back_from_what_is_written(tmp_path_factory, documents):
    folder = tmp_path_factory.mktemp("corpus")
    made = [
        Document(f"id{i}", [word for word, _ in tokens], marks=[mark for _, mark in tokens])
        for i, tokens in enumerate(documents)
    ]
    given = "".join(f"{document.id}\t{' '.join(document.words)}\n" for document in made)
    back = corpus(folder, given, written(made))
    assert [(document.id, document.words, document.marks) for document in back] == [
        (document.id, document.words, document.marks) for document in made
    ]


@pytest.mark.parametrize(
    ("word", "token", "mark"),
    [
        ("ala", "Ala,", ","),
        ('"', '".', "."),
        ('"', '"-', "-"),
        ("np.", "np..", "."),
        ("straße", "STRASSE?", "?"),
        ("i̇stanbul", "İstanbul!", "!"),
        ("ß" * 300_000, "SS" * 300_000 + ".", "."),  # in linear time
        ("tak", "tak?!", "!"),
        ("tak", "tak…", "..."),
        ("tak", "tak–", "-"),
        ("3.5", "3.5;", ";"),
    ],
)
def test_gold_marks(tmp_path, word, token, mark):
    [document] = corpus(tmp_path, f"1\t{word}\n", f"{token}\n")
    assert document.words == [word]
    assert document.marks == [mark]


@pytest.mark.parametrize(
    ("given", "gold", "message"),
    [
        ("1\ta\nb\n", "a\nb\n", r"in\.tsv:2: 0 tabs, expected id TAB text; mend the line"),
        ("1\ta\tb\n", "a\n", r"in\.tsv:1: 2 tabs, expected id TAB text"),
        ("a\n1\ta\n", "a\nb\n", r"in\.tsv:2: 1 tabs, expected text without tabs, as in line 1"),
        ("1\ta\n2\tb\n1\tc\n", "a\nb\nc\n", r"in\.tsv:3: the id '1' is that of line 1, too"),
        ("1\ta\n2\tb\n", "a\n", r"expected\.tsv: 1 lines, but .*in\.tsv has 2; each text needs its gold line"),
        ("1\ta\n", "a\nb\nc\n", r"expected\.tsv: 3 lines, but .*in\.tsv has 1"),
        (
            "1\tjacek saryusz wolski\n",
            "jacek saryusz-wolski.\n",
            r"expected\.tsv:1: 2 words, but .*in\.tsv:1 has 3; first difference at word 2 "
            r'\("saryusz-wolski\." / "saryusz"\)',
        ),
        ("1\ta b c\n", "a b\n", r'2 words, but .* has 3; first difference at word 3 \(nothing / "c"\)'),
        ("1\tx" + "a" * 600_000 + "\n", "X" + "b" * 600_000 + "\n", r"first difference at word 1 "),
        ("1\ta kot\n", "a kotu.\n", r'2 words, but .* has 2; first difference at word 2 \("kotu." / "kot"\)'),
    ],
)
def test_corpus_errors(tmp_path, given, gold, message):
    with pytest.raises(CorpusError, match=message):
        corpus(tmp_path, given, gold)


def test_not_utf8(tmp_path):
    (tmp_path / "in.tsv").write_bytes(b"1\tzd\xbabo\n")
    with pytest.raises(CorpusError, match=r"in\.tsv:1: byte 5 \(0xba\) is not UTF-8; convert the file"):
        list(formats.read(tmp_path))
