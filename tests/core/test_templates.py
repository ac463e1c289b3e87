"""Feature files: what they expand into, what they inherit, and every mistake that they can hold."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfpunct import templates
from crfpunct.errors import CrfpunctError, TemplateError
from crfpunct.observations import MARK, PAUSE_OBSERVATIONS, SIZED, WORD_OBSERVATIONS, Observation, normal
from crfpunct.templates import MAX_OFFSET, Lexicon, TrainOptions

ONE = '[[template]]\nname = "w"\nuse = ["word[0]"]\n'


@pytest.fixture
def load(tmp_path):
    """Write files, the first of them the one to load."""

    def write_and_load(text, **others):
        for name, content in {"mine": text, **others}.items():
            path = tmp_path / f"{name}.{'txt' if name == 'said' else 'toml'}"
            path.write_text(content, encoding="utf-8")
        return templates.load(tmp_path / "mine.toml")

    return write_and_load


def mistakes(load, text, **others) -> str:
    with pytest.raises(TemplateError) as caught:
        load(text, **others)
    message = str(caught.value)
    assert "mine.toml: " in message
    assert message.endswith(".")
    assert "\n" not in message
    return message.split("mine.toml: ", 1)[1].removesuffix(".")


# ---------------------------------------------------------------- what a file says


def test_a_template_names_observations_at_offsets(load):
    found = load('[[template]]\nname = "pair"\nuse = ["word[0]", "suffix3[+1]", "gap[-2]"]\nmin_count = 2')
    [template] = found.templates
    assert template.use == ((Observation("word"), 0), (Observation("suffix", 3), 1), (Observation("gap"), -2))
    assert (template.name, template.min_count, str(template)) == ("pair", 2, "word[0] suffix3[1] gap[-2]")
    assert (found.name, found.options, found.dash, found.lexicons) == ("mine", TrainOptions(), "–", {})


@given(st.lists(st.integers(1, 9), min_size=1, unique=True), st.lists(st.integers(-9, 9), min_size=1, unique=True))
def test_a_family_is_every_combination_of_its_values(tmp_path_factory, n, k):
    path = tmp_path_factory.mktemp("family") / "f.toml"
    path.write_text(f'[[template]]\nname = "f"\nuse = ["suffix{{n}}[{{k}}]"]\nfor = {{ n = {n}, k = {k} }}')
    found = templates.load(path).templates
    assert [t.use for t in found] == [((Observation("suffix", size), offset),) for size in n for offset in k]
    assert {t.name for t in found} == {"f"}


def test_a_family_can_vary_the_observation(load):
    found = load('[[template]]\nname = "f"\nuse = ["longer_{side}[0]"]\nfor = { side = ["before", "after"] }')
    assert list(map(str, found.templates)) == ["longer_before[0]", "longer_after[0]"]


@pytest.mark.parametrize("name", [*WORD_OBSERVATIONS, *PAUSE_OBSERVATIONS, MARK])
def test_every_observation_can_be_named_and_is_printed_as_it_was_written(load, name):
    written = f"{name}{2 if name in SIZED else ''}[-1]"
    [template] = load(f'[[template]]\nname = "t"\nuse = ["{written}"]').templates
    assert str(template) == written


def test_the_shipped_file_stands():
    shipped = templates.load("punct")
    assert shipped.files.keys() == {"punct.toml"}
    assert len(shipped.templates) == len({t.use for t in shipped.templates}) > 50
    assert not shipped.lexicons  # it is neutral between languages


def test_a_lexicon_lies_beside_the_file(load):
    found = load(
        '[lexicon]\nsaid = "said.txt"\n[[template]]\nname = "s"\nuse = ["lexicon.said[1]"]',
        said="# ours, MIT\nDodał\n\nrzekł\told\n",
    )
    assert found.lexicons == {"said": Lexicon({"dodał": "yes", "rzekł": "old"})}
    assert found.templates[0].use == ((Observation("lexicon", 0, "said"), 1),)
    assert found.files["said.txt"].decode() == "# ours, MIT\nDodał\n\nrzekł\told\n"


def test_a_chain_of_files(load, tmp_path):
    found = load(
        'extends = "middle"\n[train]\nc1 = 1\n[[template]]\nname = "mine"\nuse = ["word[2]"]',
        middle='extends = "root"\n[text]\ndash = "—"\n[train]\nc1 = 2\nc2 = 2\n[[template]]\nname = "m"\nuse = ["word[1]"]',  # noqa: E501
        root="[train]\nc1 = 3\nc2 = 3\nmax_iterations = 3\n" + ONE,
    )
    assert list(map(str, found.templates)) == ["word[0]", "word[1]", "word[2]"]
    assert found.options == TrainOptions(c1=1, c2=2, max_iterations=3)
    assert found.dash == "—"
    assert list(found.files) == ["root.toml", "middle.toml", "mine.toml"]
    assert all((tmp_path / name).read_bytes() == raw for name, raw in found.files.items())


def test_a_file_of_ones_own_extends_a_shipped_one_and_its_copies_read_the_same(load):
    found = load(
        'extends = "punct"\n[lexicon]\nsaid = "said.txt"\n[[template]]\nname = "s"\nuse = ["lexicon.said[1]"]',
        said="dodał\n",
    )
    assert found.templates[:-1] == templates.load("punct").templates
    assert templates.load_copies("mine", found.files) == found


def test_copies_are_read_alone(load):
    found = load('extends = "root"\n[lexicon]\nsaid = "said.txt"', root=ONE, said="dodał\n")
    assert templates.load_copies("mine", found.files) == found
    # Nothing beside the copies is looked at, not even what is shipped.
    for missing in found.files:
        copies = {name: raw for name, raw in found.files.items() if name != missing}
        with pytest.raises(TemplateError, match=rf"{missing}: not among the model's copies of its feature files\.$"):
            templates.load_copies("mine", copies)
    with pytest.raises(TemplateError, match=r"punct\.toml: not among the model's copies"):
        templates.load_copies("punct", {})


@pytest.mark.parametrize("name", ["../mine", "/etc/mine"])
def test_copies_go_by_name(load, name):
    found = load(ONE)
    assert templates.load_copies(name, found.files).templates == found.templates
    with pytest.raises(TemplateError, match=r"mine\.toml: not among the model's copies"):
        templates.load_copies(name, {})


@pytest.mark.parametrize("name", ["mine.tml", "mine"])
def test_a_feature_file_is_named_toml(tmp_path, name):
    # As a copy it is looked for under the name of the feature set.
    (tmp_path / name).write_text(ONE)
    with pytest.raises(TemplateError, match=rf"{name}: not the name of a TOML file; let it end in \.toml\.$"):
        templates.load(tmp_path / name)


def test_a_template_may_be_empty_where_another_file_has_one(load):
    assert load('extends = "root"', root=ONE).templates == load(ONE).templates


# ---------------------------------------------------------------- mistakes


def template(*lines) -> str:
    return '[[template]]\nname = "t"\n' + "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[templates]]\nname = "w"', "unknown section 'templates'; did you mean 'template'?"),
        ("zzz = 1\n" + ONE, "unknown section 'zzz'; known: extends, lexicon, prior, template, text, train"),
        (template('use = ["word[0]"]', "min_cuont = 2"), "'t': unknown key 'min_cuont'; did you mean 'min_count'?"),
        (template('use = ["wrod[0]"]'), "template 't': unknown observation 'wrod'; did you mean 'word'?"),
        (template('use = ["lexicon.said[0]"]', "[lexicon]"), "template 't': unknown lexicon 'said'"),
        (template('use = ["suffix[0]"]'), "template 't': 'suffix[0]': suffix takes a number, as in suffix3[0]"),
        (template('use = ["suffix0[0]"]'), "template 't': 'suffix0[0]': suffix takes a number, as in suffix3[0]"),
        (template('use = ["word2[0]"]'), "template 't': 'word2[0]': word takes no number, as in word[0]"),
        (template('use = ["word"]'), "template 't': 'word' is not an observation; expected one such as word[0]"),
        (template('use = ["Word[0]"]'), "template 't': 'Word[0]' is not an observation"),
        (template('use = ["word[1.5]"]'), "template 't': 'word[1.5]' is not an observation"),
        (
            template(f'use = ["word[{MAX_OFFSET + 1}]"]'),
            f"template 't': 'word[{MAX_OFFSET + 1}]' looks {MAX_OFFSET + 1} words away; at most {MAX_OFFSET}",
        ),
        (template('use = ["word[0]", "word[+0]"]'), "use = ['word[0]', 'word[+0]'] names an observation twice"),
        (template("use = []"), 'template \'t\': use = []; expected a list such as ["word[0]", "word[1]"]'),
        (template('use = "word[0]"'), "template 't': use = 'word[0]'; expected a list"),
        (template("use = [1]"), "template 't': use = [1]; expected a list"),
        (template(), "template 't': use = None; expected a list"),
        (template('use = ["word[0]"]', "min_count = 0"), "min_count = 0; expected a whole number of at least 1"),
        (template('use = ["word[0]"]', "min_count = true"), "min_count = True; expected a whole number of at least 1"),
        (template('use = ["word[{k}]"]', "for = 3"), "template 't': for = 3; expected lists of values"),
        (template('use = ["word[{k}]"]', "for = { k = [] }"), "for = {'k': []}; expected lists of values"),
        (
            template('use = ["word[{j}]"]', "for = { k = [1] }"),
            "template 't': use = ['word[{j}]'] names a placeholder that `for` (k) does not list",
        ),
        (template('use = ["word[{}]"]', "for = { k = [1] }"), "names a placeholder that `for` (k) does not list"),
        (template('use = ["word[{k.x}]"]', "for = { k = [1] }"), "a placeholder is a name in braces, such as {n}"),
        (template('use = ["word[{k[0]}]"]', "for = { k = [1] }"), "a placeholder is a name in braces, such as {n}"),
        (template('use = ["word[{k"]', "for = { k = [1] }"), "a placeholder is a name in braces, such as {n}"),
        (template('use = ["lexicon.x[0]"]'), "template 't': unknown lexicon 'x'; known: none"),
        ('[[template]]\nuse = ["word[0]"]', "template number 1: has no name"),
        (ONE + '[[template]]\nname = "again"\nuse = ["word[0]"]', "template 'again' repeats 'w': both use word[0]"),
        (ONE + '[[template]]\nname = "w"\nuse = ["word[1]"]', "template 'w': the name is taken; choose another"),
        ("template = 1", "template = 1; expected tables, each headed [[template]]"),
        ("template = [1]", "template = [1]; expected tables, each headed [[template]]"),
        ("train = 1\n" + ONE, "train = 1; expected a table, [train]"),
        ("[train]\nc3 = 1\n" + ONE, "[train]: unknown key 'c3'; known: bias, c1, c2, max_iterations"),
        ("[train]\nc1 = -1\n" + ONE, "[train]: c1 = -1; expected a number from 0 to 1,000,000"),
        ("[train]\nc1 = nan\n" + ONE, "[train]: c1 = nan; expected a number from 0 to 1,000,000"),
        ("[train]\nc2 = inf\n" + ONE, "[train]: c2 = inf; expected a number from 0 to 1,000,000"),
        ('[train]\nc1 = "1"\n' + ONE, "[train]: c1 = '1'; expected a number from 0 to 1,000,000"),
        ("[train]\nc2 = true\n" + ONE, "[train]: c2 = True; expected a number from 0 to 1,000,000"),
        ("[train]\nmax_iterations = 0\n" + ONE, "[train]: max_iterations = 0; expected a whole number of at least 1"),
        ("[train]\nmax_iterations = 1.5\n" + ONE, "max_iterations = 1.5; expected a whole number of at least 1"),
        ("[text]\nhyphen = '-'\n" + ONE, "[text]: unknown key 'hyphen'; known: dash"),
        ("[text]\ndash = ''\n" + ONE, "[text]: dash = ''; expected one sign"),
        ("[text]\ndash = 'a b'\n" + ONE, "[text]: dash = 'a b'; expected one sign"),
        ("[text]\nupper = { a = 'B' }\n" + ONE, "[text]: upper = {'a': 'B'}; expected single letters and their capit"),
        ("[train]\nsplit = [['?']]\n" + ONE, "[train]: split = [['?']]; expected a list of marks, each once"),
        ('[lexicon]\na = "x\\u0000y"\n' + ONE, "lexicon: a = 'x\\x00y'; expected the name of a file"),
        ('[train]\nsplit = "?"\n' + ONE, "[train]: split = '?'; expected a list of marks, each once"),
        ('[train]\nsplit = ["?", "x"]\n' + ONE, "[train]: split = ['?', 'x']; expected a list of marks, each once"),
        ("[lexicon]\nsaid = 1\n" + ONE, "lexicon: said = 1; expected the name of a file"),
        ('[lexicon]\nsaid = "../said.txt"\n' + ONE, "lexicon: said = '../said.txt'; expected the name of a file"),
        ("extends = 1\n" + ONE, "extends = 1; expected the name of a feature file in the same folder, or of a shipped"),
        ('extends = "../s/a"\n' + ONE, "extends = '../s/a'; expected the name of a feature file in the same folder"),
        ('extends = "/a"\n' + ONE, "extends = '/a'; expected the name of a feature file in the same folder"),
        ('extends = "."\n' + ONE, "extends = '.'; expected the name of a feature file in the same folder"),
        ("[train]\nc1 = 1", "no [[template]] in it; a feature file needs at least one"),
        ("= 1", "not a TOML file: "),
    ],
)  # fmt: skip
def test_a_mistake_is_named(load, text, message):
    assert message in mistakes(load, text)


def test_all_mistakes_are_named_at_once(load):
    found = mistakes(
        load,
        'extends = "root"\n' + template('use = ["wrod[0]", "word[99]"]', "[train]\nc1 = -1\n[tekst]"),
        root='[text]\nhyphen = "-"\n[[template]]\nname = "r"\nuse = ["word[0]"]\nmin_cuont = 1',
    )
    assert len(found.split("; ")) >= 5
    for part in ("'wrod'", "'word[99]'", "c1 = -1", "'tekst'", "'hyphen'", "'min_cuont'"):
        assert part in found


def test_a_template_that_repeats_an_inherited_one(load):
    text = 'extends = "root"\n[[template]]\nname = "again"\nuse = ["word[0]"]'
    assert mistakes(load, text, root=ONE) == "template 'again' repeats 'w': both use word[0]"


def test_a_circle_of_files(load):
    with pytest.raises(TemplateError, match=r"extends itself \(mine\.toml -> other\.toml -> mine\.toml\); remove one"):
        load('extends = "other"', other='extends = "mine"')


def test_a_model_folder_could_not_keep_two_files_of_one_name(load):
    text = 'extends = "punct"\n[[template]]\nname = "mine"\nuse = ["word[9]"]'
    load(ONE, punct=text)
    with pytest.raises(TemplateError, match=r"two files are named punct\.toml; rename one"):
        load('extends = "punct"', punct=text)


def test_nor_two_lexicons_of_one_name(tmp_path, monkeypatch):
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / "theirs.toml").write_text('[lexicon]\ntheirs = "said.txt"\n' + ONE)
    (tmp_path / "shipped" / "said.txt").write_text("rzekł\n")
    monkeypatch.setattr(templates, "find_features", lambda name: tmp_path / "shipped" / f"{name}.toml")
    (tmp_path / "said.txt").write_text("dodał\n")
    (tmp_path / "mine.toml").write_text('extends = "theirs"\n[lexicon]\nmine = "said.txt"')
    with pytest.raises(TemplateError, match=r"two files are named said\.txt; rename one"):
        templates._loaded(tmp_path / "mine.toml", None)
    # The same list twice is one file.
    (tmp_path / "said.txt").write_text("rzekł\n")
    found = templates._loaded(tmp_path / "mine.toml", None)
    assert found.lexicons == {"theirs": Lexicon({"rzekł": "yes"}), "mine": Lexicon({"rzekł": "yes"})}
    assert templates.load_copies("mine", found.files) == found


def test_a_file_that_extends_nothing_known(load):
    with pytest.raises(TemplateError, match=r"klingon: no such feature file.*\(.*punct.*\)"):
        load('extends = "klingon"')


def test_a_name_that_is_not_shipped():
    with pytest.raises(TemplateError, match=r"klingon: no such feature file.*\(.*punct.*\)"):
        templates.load("klingon")


def test_a_file_that_is_not_utf8(tmp_path):
    (tmp_path / "mine.toml").write_bytes(b'[text]\ndash = "\x96"')
    with pytest.raises(TemplateError, match=r"mine\.toml: not a TOML file: .*0x96"):
        templates.load(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("lexicon", "message"),
    [
        ("\tclass\n", r"said\.txt:1: '\\tclass'; expected a word, or word TAB class"),
        ("# words\ndodał\nDodał\n", r"said\.txt:3: 'Dodał' stands twice; remove one of the two lines"),
    ],
)
def test_a_lexicon_with_a_mistake(load, lexicon, message):
    # What uses it is not blamed as well.
    uses = '[[template]]\nname = "s"\nuse = ["lexicon.said[0]"]\n'
    with pytest.raises(TemplateError, match=rf"{message}[^;]*$"):
        load('[lexicon]\nsaid = "said.txt"\n' + uses, said=lexicon)


def test_a_lexicon_that_is_not_there_is_one_mistake_of_several(load):
    found = mistakes(load, 'zzz = 1\n[lexicon]\nsaid = "said.txt"\n' + ONE)
    assert "unknown section 'zzz'" in found
    assert found.endswith("said.txt: cannot be read (No such file or directory)")


def test_a_lexicon_that_is_not_utf8(tmp_path):
    (tmp_path / "said.txt").write_bytes(b"doda\xb3\n")
    (tmp_path / "mine.toml").write_text('[lexicon]\nsaid = "said.txt"\n' + ONE)
    with pytest.raises(CrfpunctError, match=r"said\.txt:1: byte 5 \(0xb3\) is not UTF-8"):
        templates.load(tmp_path / "mine.toml")


def test_a_folder_instead_of_a_feature_file(tmp_path):
    with pytest.raises(TemplateError, match=r": cannot be read \(Is a directory\)\.$"):
        templates.load(tmp_path)


def test_numbers_of_toml_are_numbers(load):
    assert load("[train]\nc1 = 0\nc2 = 1e-3\n" + ONE).options == TrainOptions(c1=0, c2=1e-3)
    assert load("[train]\nbias = 1\n" + ONE).options == TrainOptions(bias=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('use = ["word[{n:>99}]"]\nfor = { n = [1] }', "a placeholder is a name in braces, such as {n}"),
        (
            f'use = ["word[{{n}}]"]\nfor = {{ n = {[*range(200)]}, k = {[*range(200)]} }}',
            "more than 10,000 combinations",
        ),
    ],
)
def test_families_without_end_are_refused(load, text, message):
    with pytest.raises(TemplateError, match=re.escape(message)):
        load('[[template]]\nname = "t"\n' + text)


def test_a_message_names_twenty_mistakes_at_most(load):
    with pytest.raises(TemplateError, match=r"; and 30 more\.$"):
        load("".join(f"a{i} = 1\n" for i in range(50)) + ONE)


def test_a_lexicon_knows_words_by_their_endings_and_has_columns(load, tmp_path):
    listed = "# ours, MIT\nrobić\tverb\tv\n*ić\tinfinitive\ti\n*ć\tother\to\nKot\tnoun\tn\n"
    (tmp_path / "said.txt.xz").write_bytes(lzma.compress(listed.encode()))
    uses = '[[template]]\nname = "c"\nuse = ["lexicon.c[0]"]'
    found = load(f'[lexicon]\nc = {{ file = "said.txt.xz" }}\nd = {{ file = "said.txt.xz", column = 2 }}\n{uses}')
    words = ["robić", "mówić", "ić", "być", "ć", "kot", "koty", ""]
    classes = ["verb", "infinitive", "infinitive", "other", "other", "noun", "none", "none"]
    assert [found.lexicons["c"].get(word, "none") for word in words] == classes
    assert [found.lexicons["d"].get(word, "-") for word in words] == ["v", "i", "i", "o", "o", "n", "-", "-"]
    assert list(found.files) == ["mine.toml", "said.txt.xz"]
    assert templates.load_copies("mine", found.files) == found


def test_a_lexicon_of_some_classes_only(load):
    uses = '[[template]]\nname = "v"\nuse = ["since.verb[0]", "until.verb[-1]"]'
    found = load(f'[lexicon]\nverb = {{ file = "said.txt", only = ["v"] }}\n{uses}', said="robi\tv\n*i\tn\n*ski\tv\n")
    classes = [found.lexicons["verb"].get(word, "") for word in ("robi", "rabi", "polski", "kot")]
    assert classes == ["v", "", "v", ""]
    assert found.templates[0].use == ((Observation("since", 0, "verb"), 0), (Observation("until", 0, "verb"), -1))


@given(st.dictionaries(st.text("ab", max_size=3), st.sampled_from("xy")), st.text("abc", max_size=5))
def test_the_longest_ending_decides(endings, word):
    by_length = sorted((e for e in endings if word.endswith(e)), key=len)
    assert Lexicon({}, endings).get(word, "") == (endings[by_length[-1]] if by_length else "")
    assert Lexicon({word: "listed"}, endings)[word] == "listed"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            '{ file = "said.txt", column = 0 }',
            r"lexicon: said = .*; expected the name of a file in the same folder, \{",
        ),
        ('{ file = "said.txt", colum = 1 }', r"lexicon: said = .*; expected the name of a file in the same folder, \{"),
        ('{ file = "said.txt", column = 2 }', r"said\.txt:1: 'a\\tb'; expected a word and at least 2 classes"),
        ('{ file = "said.txt", only = [] }', r"lexicon: said = .*; expected the name of a file"),
        ('{ file = "said.txt", only = ["c"] }', r"said\.txt: no line has the class 'c' in column 1; correct `only`"),
        ('"said.xz"', r"said\.xz: damaged \.xz file"),
    ],
)
def test_a_lexicon_with_a_column_that_is_not_there(tmp_path, given, message):
    (tmp_path / "said.txt").write_text("a\tb\n")
    (tmp_path / "said.xz").write_text("a\tb\n")
    (tmp_path / "mine.toml").write_text(f"[lexicon]\nsaid = {given}\n" + ONE)
    with pytest.raises(CrfpunctError, match=message):
        templates.load(tmp_path / "mine.toml")


fields = st.sampled_from(["", "a", "Ba", " c", "*d", "#", "e.", "\x0b", "żó\u0142w"])
lines = st.one_of(
    *(st.lists(fields, min_size=width, max_size=width) for width in (1, 2, 3)), st.lists(fields, max_size=3)
)


@given(
    st.lists(lines, max_size=4) | st.lists(st.tuples(fields, fields, fields), max_size=4), st.sampled_from(["", "\n"])
)
def test_a_lexicon_is_split_as_line_by_line(rows, end):
    text = "# source\n" + "\n".join("\t".join(row) for row in rows) + end
    written = [line.split("\t") for line in text.split("\n") if line.strip() and not line.startswith("#")]
    forms, columns = templates._split(text.encode(), Path("said.txt"))
    assert forms == [normal(row[0].strip()) for row in written]
    for i, column in enumerate(columns, 1):
        assert list(column) == [row[i].strip() if i < len(row) else None for row in written]
    assert len(columns) == max((len(row) - 1 for row in written), default=0)
