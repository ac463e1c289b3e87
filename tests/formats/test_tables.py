"""CTM, CoNLL columns, pipe tables, PolEval 2022, and the sentences that are for output only."""

import io

import numpy as np
import pytest

from crfpunct import formats
from crfpunct.document import Document
from crfpunct.errors import CorpusError
from crfpunct.marks import Typography


def read(text, format):
    name, _, options = format.partition(":")
    module = formats.module(format)
    documents = module.read(io.BytesIO(text.encode()), f"a/plik.x.{name}", *([options] if options else []))
    return [document.check() for document in documents]


def written(documents, format):
    out = io.StringIO()
    formats.write(documents, out, format, Typography())
    return out.getvalue()


def test_ctm_files_channels_and_alternatives():
    documents = read(
        ";; komentarz\na A 0.10 0.2 tak 0.9 lex\na A * * <ALT_BEGIN>\na A 0.3 0.1 dwa\na A * * <ALT>\n"
        "a A 0.3 0.1 dwie\na A * * <ALT_END>\na A 0.5 0.1 <unk>\na A 0.6 0.1 <eps>\na B 1 1 nie\n\nb 1 0 0 x\n",
        "ctm",
    )
    assert [(document.id, document.words) for document in documents] == [
        ("a", ["tak", "dwa", "<unk>"]),
        ("a B", ["nie"]),
        ("b", ["x"]),
    ]
    assert documents[0].times_ms.tolist() == [[100, 300], [300, 400], [500, 600]]
    assert [document.source for document in documents] == ["a/plik.x.ctm:1", "a/plik.x.ctm:10", "a/plik.x.ctm:12"]


def test_ctm_of_other_formats():
    document = Document("moje nagranie", ["tak", "nie"], np.array([[0, 250], [300, 1000]]), ["-", "."])
    assert written([document], "ctm") == "moje_nagranie A 0.000 0.250 tak-\nmoje_nagranie A 0.300 0.700 nie.\n"
    assert written([Document("", [])], "ctm") == ""
    document.times_ms = None
    with pytest.raises(CorpusError, match=r"moje nagranie: no word has a time, but subtitles and CTM need them"):
        written([document], "ctm")


@pytest.mark.parametrize(
    ("text", "labels", "marks", "back"),
    [
        ("a\tO\nb\tCOMMA\n", ["", ","], ["?", "-"], "a\tQUESTION\nb\tDASH\n"),
        ("a\tB-,\nb\tO\n", [",", ""], ["", "..."], "a\tO\nb\tB-...\n"),
        ("a\tx\t0\r\nb\ty\t:\r\n", ["", ":"], [".", ""], "a\tx\t.\r\nb\ty\t0\r\n"),
        ("a\nb\n", None, [".", ""], "a\t.\nb\tO\n"),
        ("# zdanie\na\t_\n\tCOMMA\nb\t_\n", ["", ""], [",", ""], "# zdanie\na\t,\n\tCOMMA\nb\t_\n"),
    ],
)
def test_conll_labels_keep_the_files_spelling(text, labels, marks, back):
    [document] = read(text, "conll")
    assert document.words == ["a", "b"]
    assert document.marks == labels
    document.marks = marks
    assert written([document], "conll") == back


def test_conll_columns():
    [document] = read("1\ttak\t.\t0\n2\tnie\t,\t1\n", "conll:2,3")
    assert document.words == ["tak", "nie"]
    assert document.marks == [".", ","]
    document.words[1] = "Nie"
    document.marks = ["", ","]
    assert written([document], "conll") == "1\ttak\tO\t0\n2\tNie\t,\t1\n"


def test_conll_documents():
    documents = read("\na\tO\n\n\nb\tO\n\n", "conll")
    assert [document.words for document in documents] == [["a"], ["b"]]
    assert written([Document("", ["a"], marks=["."]), Document("", ["b"])], "conll") == "a\t.\n\nb\tO\n"


def test_aligned():
    header = "token|speaker|ts|endTs|punctuation|prepunctuation|case|tags\n"
    [document] = read(header + "Good|0|1.5|1.75|||UC|[]\n<laugh>|0|||||LC|[]\nday|0|||,||LC|[]\n", "aligned")
    assert document.id == "plik"
    assert document.words == ["Good", "day"]
    assert document.marks == ["", ","]
    assert document.times_ms.tolist() == [[1500, 1750], [-1, -1]]
    document.words, document.marks = ["good", "DAY"], ["", "."]
    assert written([document], "aligned") == (
        header + "good|0|1.5|1.75|||LC|[]\n<laugh>|0|||||LC|[]\nDAY|0|||.||CA|[]\n"
    )
    assert read("token|case\nA|UC\n", "aligned")[0].marks is None


def test_aligned_of_other_formats():
    document = Document("", ["Ala", "ma", "iPhone", "5"], np.array([[0, 100], [-1, -1], [200, 300], [300, 400]]))
    assert written([document], "aligned") == (
        "token|speaker|ts|endTs|punctuation|case|tags\nAla|0|0.000|0.100||UC|[]\nma|0||||LC|[]\n"
        "iPhone|0|0.200|0.300||MC|[]\n5|0|0.300|0.400||CA|[]\n"
    )
    with pytest.raises(CorpusError, match=r'the word "a\|b" holds the table\'s own sign'):
        written([Document("", ["a|b"])], "aligned")


def test_poleval2022():
    documents = read("audio/a.wav\tid1\tTak:0-30 3:10:60-90\naudio/a.wav\tid1\t\n", "poleval2022")
    assert [(document.id, document.words) for document in documents] == [
        ("audio/a.wav id1", ["Tak", "3:10"]),
        ("audio/a.wav id1", []),
    ]
    assert documents[0].times_ms.tolist() == [[0, 30], [60, 90]]
    documents[0].marks = [",", "."]
    assert written(documents, "poleval2022") == "Tak, 3:10.\n\n"


def test_poleval2022_gold(tmp_path):
    (tmp_path / "in.tsv").write_text("a\t1\ttak:0-1 sub'u:2-3 nie:4-5\nb\t2\t…:0-1 co:1-2\n", encoding="utf-8")
    (tmp_path / "expected.tsv").write_text("Tak, sub u, nie.\n... co?\n", encoding="utf-8")
    documents = list(formats.read_punctuated(tmp_path))
    assert [document.marks for document in documents] == [[",", "", "."], ["", "?"]]
    (tmp_path / "expected.tsv").write_text("Tak, sub u, nie.\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"expected\.tsv: not as many lines as .*in\.tsv"):
        list(formats.read_punctuated(tmp_path))


def test_sentences():
    documents = [
        Document("", ["tak", "co", "polsko", "niemiecki", "wiem"], marks=[".", "?!", "-", "...", ","]),
        Document("", []),
        Document("", ["no", "tak.", "nie"]),
    ]
    assert written(documents, "sentences") == "tak.\nco?!\npolsko – niemiecki...\nwiem,\nno tak.\nnie\n"
    with pytest.raises(CorpusError, match=r"sentences is a format for output only; read the file as text"):
        formats.module("sentences").read(io.BytesIO(b"a"), "a.txt")


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("ctm", "a A 0.1 0.2\n", r"ctm:1: 4 fields, expected file channel start duration word"),
        (
            "ctm",
            "a A 0.1 0.2 b\na A -1 0.2 b\n",
            r"ctm:2: start '-1' and duration '0.2', expected seconds of at least 0",
        ),
        ("ctm", "a A x 0.2 b\n", r"start 'x'"),
        ("ctm", "a A nan 0.2 b\n", r"start 'nan'"),
        ("conll", "a\tO\nb\n", r"conll:2: 1 columns, expected 2; mend the line or name the columns"),
        ("conll", "a b\tO\n", r"conll:1: 'a b' is no word; words hold no white space"),
        ("conll", "a\tPER\n", r"conll:1: the label 'PER', expected O, a mark such as , or B-, or a name"),
        ("conll", "a\t\n", r"conll:1: the label ''"),
        ("conll:3,4", "a\tO\n", r"conll:1: 2 columns, expected 4"),
        ("conll:0,1", "a\tO\n", r"the columns '0,1', expected two different numbers from 1"),
        ("aligned", "word|ts\n", r"aligned:1: found 'word\|ts', expected column names with token among them"),
        ("aligned", "token|ts\na\n", r"aligned:2: 1 columns, expected 2 as in line 1"),
        ("aligned", "token|ts\na b|\n", r"aligned:2: 'a b' is no word"),
        ("aligned", "token|ts\na|-1\n", r"aligned:2: the time '-1', expected seconds"),
        ("aligned", "token|ts\na|x\n", r"aligned:2: the time 'x', expected seconds"),
        ("aligned", "token|ts|endTs\na|2|1\n", r'aligned:2: the word "a" ends at 1000 ms, before it starts'),
        ("aligned", "token|punctuation\na|x\n", r"aligned:2: the punctuation 'x', expected marks"),
        ("poleval2022", "a\tb\n", r"poleval2022:1: 2 columns, expected audio TAB segment TAB words"),
        ("poleval2022", "a\tb\tc:1-2 d:2\n", r"poleval2022:1: word 2 is 'd:2', expected word:start-end in ms"),
        ("poleval2022", "a\tb\tc:2-1\n", r"poleval2022:1: word 1 is 'c:2-1', expected"),
    ],
)
def test_errors(format, text, message):
    with pytest.raises(CorpusError, match=message):
        read(text, format)


def test_options_of_formats_that_take_none():
    with pytest.raises(CorpusError, match=r"unknown format 'text:1,2'"):
        formats.module("text:1,2")


def test_columns_through_the_registry(tmp_path):
    (tmp_path / "a.tsv").write_text("1\ttak\t.\n2\tnie\t,\n")
    [document] = formats.read_punctuated(tmp_path / "a.tsv", "conll:2,3")
    assert (document.words, document.marks) == (["tak", "nie"], [".", ","])


def test_marks_glued_to_words_go_where_a_format_keeps_marks():
    document = Document("a", ["tak,", "w", "U.S.", "co?!", "nie"], marks=["", "", "", "", "."])
    assert written([document], "conll") == "tak\t,\nw\tO\nU.S.\tO\nco?!\tO\nnie\t.\n"
    assert '"tokens": ["tak", "w", "U.S.", "co?!", "nie"], "tags": ["B-,", "O", "O", "O", "B-."]' in (
        written([document], "tags")
    )
    unmarked = Document("a", ["tak,", "nie…"])
    for format in ("jsonl", "words-json", "aligned", "tags", "conll"):
        [back] = read(written([unmarked], format), format)
        assert (back.words, back.marks) == (["tak", "nie"], [",", "..."])


def test_words_without_times_get_some_in_a_ctm_file():
    document = Document("a", ["tak", "nie", "no"], np.array([[0, 250], [-1, -1], [1000, 1200]]))
    assert [line.split()[4] for line in written([document], "ctm").splitlines()] == ["tak", "nie", "no"]
    start, length = map(float, written([document], "ctm").splitlines()[1].split()[2:4])
    assert 0.25 <= start <= start + length <= 1.0
    # A time between neighbours may lie before the word's own start, where voices overlap.
    document = Document("a", ["tak", "nie", "no"], np.array([[0, 250], [900, -1], [300, 1200]]))
    assert " -" not in written([document], "ctm")


def test_a_table_without_a_column_for_marks_gets_one():
    table = "token|ts\r\nala|0\r\n\r\nma|1\r\n<cough>|\r\n"
    [document] = read(table, "aligned")
    assert written([document], "aligned") == table
    document.marks = ["", "."]
    assert written([document], "aligned") == "token|ts|punctuation\r\nala|0|\r\n\r\nma|1|.\r\n<cough>||\r\n"


def test_sentences_do_not_end_behind_dots_that_were_there_before_a_small_letter():
    document = Document("a", ["Np.", "w", "domu.", "Tak", "5.", "rok"], marks=["", "", "", "", "", "."])
    assert written([document], "sentences") == "Np. w domu.\nTak 5. rok.\n"
    document = Document("a", ["tak.", "nie."])  # nothing has a capital, so that it says nothing
    assert written([document], "sentences") == "tak.\nnie.\n"


@pytest.mark.parametrize("columns", ["1,1", "1," + "1" * 5000])
def test_columns_of_word_and_label_differ(columns):
    with pytest.raises(CorpusError, match=r"expected two different numbers from 1"):
        read("O\tO\n", f"conll:{columns}")


def test_a_column_of_a_pipe_table_stands_once():
    with pytest.raises(CorpusError, match=r"aligned:1: found 'token\|ts\|ts', where a column name stands twice"):
        read("token|ts|ts\nala|0|1\n", "aligned")
