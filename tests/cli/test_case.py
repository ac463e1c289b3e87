"""Case on the command line: what `crfpunct tag` does with it, whatever the input's case, marks and format are."""

from __future__ import annotations

import io
import json
import sys

import pytest

from crfpunct import cli, model_folder
from crfpunct.document import Document
from crfpunct.marks import strip
from crfpunct.training import About, Options, assemble, train_case, train_punctuation

LINES = [
    "Wczoraj był prof. Kowalski z Łodzi, np. w domu. Dziś jest dr Nowak, jutro np. kot, np. dom i np. kod. Dom ma kod.",
    "Jan jest w NATO i w PKP, a kot i Jan są w domu. Kot Jana z Bielska-Białej ma iPhone. Ma też mp3. Kod ma dom.",
    "Jan ma kod 3D i F-16. Dom Jana jest z PKP, a Nowak z NATO! Kot jest w Łodzi! Dom ma kota. Kod ma kot. Mp3 ma też.",
    "Jan i kot ma dom, a prof. Nowak ma iPhone. To jest film 3D. Kot ma dom i kod, a Jan ma kota. Dom ma np. kod.",
    "Kot ma dom. Kot ma kod! Dom ma kota. Kod ma dom! Dom ma kod. Kot ma kota. Mp3 ma też. Jan ma np. dom. Kot ma dom.",
]


def texts():
    for line in LINES * 6:
        words, marks = strip(line.split())
        yield Document("", words, marks=marks)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A folder with the models both, punct and case."""
    folder = tmp_path_factory.mktemp("models")
    documents = list(texts())
    features = folder / "words.toml"
    features.write_text('[[template]]\nname = "w"\nuse = ["word[{k}]"]\nfor = { k = [0, 1] }\n', encoding="utf-8")
    punct = train_punctuation(documents, About(), Options(features, c1=0.0, c2=0.01, max_iterations=40))
    case = train_case(documents, About("notes", "CC BY-NC 4.0", True), Options("case", max_iterations=40))
    for name, parts in {"both": [punct, case], "punct": [punct], "case": [case]}.items():
        model_folder.write(folder / name, assemble("pl", parts))
    return folder


NOTE = "for non-commercial use only, as its training data are; see its card.md."


@pytest.fixture
def tag(models, monkeypatch, tmp_path):
    """Runs `crfpunct tag` in an empty folder; gives (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin="", model="both"):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["crfpunct", "tag", "--model", str(models / model), *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = 0
            try:
                cli.main()
            except SystemExit as done:
                code = done.code or 0
        shown = []
        for stream in (out, err):
            stream.flush()
            shown.append(stream.buffer.getvalue().decode())
        assert "Traceback" not in shown[1]
        return code, *shown

    return run


GIVEN = "kot jana z bielska-białej ma iphone ma też mp3"
RESTORED = "Kot Jana z Bielska-Białej ma iPhone. Ma też mp3."


@pytest.mark.parametrize(
    "line", [GIVEN, GIVEN.upper(), GIVEN.title(), "Kot JANA Z bielska-Białej mA iphone MA też MP3"]
)
def test_whatever_case_comes_in_is_decided_again(tag, line):
    assert tag(stdin=f"{line}\n")[:2] == (0, f"{RESTORED}\n")


def test_words_with_a_capital_are_kept_if_asked_for(tag):
    assert tag("--keep-case", stdin="kot JANA z Iksa ma iphone\n")[1] == "Kot JANA z Iksa ma iPhone.\n"
    assert tag("--keep-case", "--no-punct", stdin="KOT. jana; MP3 łodzi\n")[1] == "KOT. Jana; MP3 Łodzi\n"


CASED = (
    "crfpunct: the input has capitals already, and the case of all words was decided again; --keep-case keeps capitals"
)


@pytest.mark.parametrize(
    ("line", "options", "told"),
    [
        ("kot Jana ma", [], True),
        ("kot Jana ma", ["--lookahead", "3"], True),
        ("kot Jana ma", ["--no-punct"], True),
        ("kot Jana ma", ["--keep-case"], False),
        ("kot Jana ma", ["--no-case"], False),
        ("kot jana ma", [], False),
        ("KOT JANA MA 12", [], False),
        ("", [], False),
    ],
)
def test_capitals_that_are_decided_again_are_told(tag, tmp_path, line, options, told):
    assert tag(*options, stdin=f"{line}\n")[2].count(CASED) == told
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"{line}\n", encoding="utf-8")
    assert tag(*options, "a.txt", "b.txt")[2].count(CASED) == told
    if "--no-punct" not in options:  # a model that knows no case decides nothing
        assert CASED not in tag(*options, stdin=f"{line}\n", model="punct")[2]


def test_capitals_are_told_by_many_processes_too(tag, tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("kot Jana ma\n", encoding="utf-8")
    assert tag("--jobs", "2", "a.txt")[2].count(CASED) == 1
    assert tag("--jobs", "2", "a.txt", "b.txt", "-o", "out")[2].count(CASED) == 1


def test_case_alone(tag):
    """Marks that are there already then decide."""
    assert tag("--no-punct", stdin="kot ma dom. dom ma kota, kot dom\n")[1] == "Kot ma dom. Dom ma kota, kot dom\n"
    assert tag("--no-punct", stdin="kot ma dom i dom ma kota\n")[1] == "Kot ma dom i dom ma kota\n"
    # A model that knows nothing else does the same.
    assert tag("--no-punct", stdin="kot ma dom. dom ma kota\n", model="case")[1] == "Kot ma dom. Dom ma kota\n"


def test_marks_alone(tag):
    line = "kot Jana z BIELSKA-białej ma iphone ma też mp3\n"
    expected = "kot Jana z BIELSKA-białej ma iphone. ma też mp3.\n"
    assert tag("--no-case", stdin=line)[1] == expected
    assert tag(stdin=line, model="punct")[1] == expected


@pytest.mark.parametrize(
    "line",
    ["kot ma  dom . dom ma kota , kot\r\n", " jan\t!  kot ma dom", "kot . . . dom\n", ". kot\n", "\n", "- kot - jan\n"],
)
def test_tokenised_text_comes_back_but_for_case(tag, line):
    code, out, _ = tag("--no-punct", "--from", "text", stdin=line)
    assert (code, out.lower()) == (0, line)


def test_a_mark_that_stands_alone_ends_a_sentence(tag):
    assert tag("--no-punct", stdin="kot ma dom . dom ma kota , kot\n")[1] == "Kot ma dom . Dom ma kota , kot\n"


def test_words_with_marks_on_them(tag):
    assert tag("--no-punct", stdin='"kot ma dom." (jan!) dom, iphone. kot...\n')[1] == (
        '"Kot ma dom." (Jan!) Dom, iPhone. Kot...\n'
    )


def test_no_capital_behind_an_abbreviation(tag):
    assert (
        tag("--no-punct", stdin="jan ma np. dom. dom ma np. kod. kot\n")[1] == "Jan ma np. dom. Dom ma np. kod. Kot\n"
    )


def test_a_stream_has_its_case_too(tag):
    assert tag("--lookahead", "4", stdin=f"{GIVEN}\n")[:2] == (0, f"{RESTORED}\n")
    assert tag("--lookahead", "4", "--no-case", stdin=f"{GIVEN}\n")[1].lower() == f"{RESTORED}\n".lower()
    assert tag("--lookahead", "4", "--no-case", stdin="kot ma dom\n")[1].startswith("kot ma dom")
    assert tag("--lookahead", "4", "--keep-case", stdin="KOT ma dom\n")[1].startswith("KOT ma dom")
    assert tag("--lookahead", "4", stdin=f"{GIVEN}\n", model="punct")[1].startswith("kot jana")


CUES = ["kot ma dom\nkod ma", "dom i kota. dom", "ma kota"]


def test_lines_of_subtitles_are_no_sentences(tag):
    srt = "".join(f"{i}\n00:00:0{i},000 --> 00:00:0{i + 1},000\n{cue}\n\n" for i, cue in enumerate(CUES, 1))
    code, out, _ = tag("--no-punct", "--from", "srt", stdin=srt)
    assert (code, out.lower()) == (0, srt)
    assert [block.split("\n", 2)[2] for block in out.split("\n\n")[:-1]] == [
        "Kot ma dom\nkod ma",
        "dom i kota. Dom",
        "ma kota",
    ]


def test_json_lines(tag):
    given = '{"id": 1, "text": "kot JANA z bielska-białej"}\n{"id": "b", "words": ["Jan", "ma", "iphone"]}\n'
    first, second = map(json.loads, tag("--from", "jsonl", "--no-punct", stdin=given)[1].splitlines())
    assert first == {"id": 1, "text": "Kot Jana z Bielska-Białej"}
    assert (second["id"], [word["word"] for word in second["words"]]) == ("b", ["Jan", "ma", "iPhone"])


@pytest.mark.parametrize("format", ["text", "wikipunct", "conll", "ctm", "vtt", "sentences", "tags", "words-json"])
def test_every_output_has_the_case(tag, format):
    words = [{"word": "jan", "start": 0.1, "end": 0.2}, {"word": "iphone", "start": 0.3, "end": 1}]
    given = json.dumps({"id": "a", "words": words}) + "\n"
    code, out, _ = tag("--from", "jsonl", "--to", format, stdin=given)
    assert code == 0
    assert "Jan" in out
    assert "iPhone" in out


def test_letters_are_never_lost(tag):
    line = "straße ŉ ﬁn İ ı ǆep µ ΟΔΟΣ e\u0301 🙂 中文 STRASSE\n"
    for option in ([], ["--no-punct"], ["--keep-case"]):
        code, out, _ = tag(*option, stdin=line)
        words = [word.rstrip(".,!") for word in out.split()]
        assert (code, [word.lower() for word in words]) == (0, line.lower().split())
        assert [len(word) for word in words] == [len(word) for word in line.split()]


def test_nothing_to_restore(tag):
    assert tag(stdin="")[:2] == (0, "")
    assert tag(stdin="\n \n")[:2] == (0, "\n \n")


def test_a_model_without_the_part_that_is_asked_for(tag):
    code, out, error = tag(stdin="kot\n", model="case")
    assert (code, out) == (1, "")
    assert error.endswith(
        "crfpunct: the model has no punctuation part, only case; add --no-punct, or train one with --into.\n"
    )


def test_the_licence_is_told_once(tag, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("kot ma dom\njan ma kota\n", encoding="utf-8")
    assert tag("a.txt", "b.txt")[2].count(NOTE) == 1
    assert tag("a.txt", model="punct")[2] == ""
    # Nothing is said where no model is used.
    assert tag("--no-punct", "--no-case", "a.txt")[2] == ""


def test_models_can_be_named(models, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["crfpunct", "models", str(models / "case"), str(models / "punct")])
    with pytest.raises(SystemExit) as done:
        cli.main()
    assert not done.value.code
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines if line[0] != " "] == [str(models / "case"), str(models / "punct")]
    assert "        data: notes; licence: CC BY-NC 4.0" in lines
    assert "    punct: not cross-validated" in lines
