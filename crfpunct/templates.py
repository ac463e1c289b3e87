"""Feature templates: what a CRF looks at, read from a TOML file of `features/`.

A template names a conjunction of observations at offsets from the place of a mark (behind ``word[0]``) and yields one
attribute per token::

    [[template]]
    name = "ends"                       # unique; the family's members are told apart by what they use
    use  = ["suffix{n}[{k}]"]           # placeholders make a family ...
    for  = { n = [2, 3], k = [0, 1] }   # ... of one template per combination: suffix2[0], suffix2[1], ...
    min_count = 2                       # attributes seen less often in training are dropped

    [lexicon]
    conjunctions = "pl-conjunctions.txt"   # beside the file; a word a line, or word TAB class TAB class ...; used
                                           # as lexicon.conjunctions[1]; see `Lexicon`
    coarse = { file = "pl-classes.txt.xz", column = 2 }   # the second class of each line
    verb = { file = "pl-classes.txt.xz", only = ["fin", "praet"] }   # words of other classes are not in it
    casing = { learned = "casing" }        # not a file: what training learns about the case of words

    [text]
    dash = "–"                          # the sign printed for the mark `-` where it is a dash
    upper = { i = "İ", "ı" = "I" }      # capitals that are not Unicode's default

    [train]                             # defaults of the optimiser; the command line overrides
    c1 = 0.3
    split = ["?"]                       # words before this mark have a state of their own in its sentences

    [prior]                             # the same where a CRF learns from other text first (`train --text`)
    c1 = 1.5

`extends = "punct"` takes over all of another file: its templates come first, its lexicons and options are
defaults. All mistakes of a file are reported at once.
"""

from __future__ import annotations

import difflib
import io
import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from crfpunct.casing import caseless
from crfpunct.errors import TemplateError
from crfpunct.files import read_lines, unpacked
from crfpunct.marks import MARKS
from crfpunct.observations import MARK, PAUSE_OBSERVATIONS, SIZED, WORD_OBSERVATIONS, Observation, normal, normals
from crfpunct.resources import find_features

MAX_OFFSET = 16
MAX_FAMILY = 10_000
MAX_OPTION = 1_000_000
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_USE = re.compile(
    r"(?:(?P<of>lexicon|since|until)\.(?P<lexicon>[\w-]+)|(?P<name>[a-z_]+)(?P<n>\d{0,4}))\[(?P<offset>[+-]?\d{1,4})\]"
)


@dataclass(frozen=True, slots=True)
class Template:
    """A conjunction of observations, each at an offset from the mark's place."""

    name: str
    use: tuple[tuple[Observation, int], ...]
    min_count: int = 1

    def __str__(self) -> str:
        return " ".join(f"{observation}[{offset}]" for observation, offset in self.use)


@dataclass(frozen=True)
class Lexicon(Mapping[str, str]):
    """The class of each word in a list, and of words that are not in it by how they end: the longest ending decides.

    >>> verbs = Lexicon({"być": "be"}, {"ć": "infinitive"})
    >>> verbs["być"], verbs["robić"], verbs.get("kot", "")
    ('be', 'infinitive', '')
    """

    words: Mapping[str, str]
    endings: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.endings), default=-1)

    def __getitem__(self, word: str) -> str:
        found = self.words.get(word)
        if found is not None:
            return found
        for start in range(max(len(word) - self._longest, 0), len(word) + 1 if self.endings else 0):
            found = self.endings.get(word[start:])
            if found is not None:
                return found
        raise KeyError(word)

    def __iter__(self) -> Iterator[str]:
        """The words that are listed."""
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """Options of CRFsuite's L-BFGS (elastic net), see Okazaki's CRFsuite manual, and which attributes it is given.

    min_documents: attributes that fewer documents have are left out. most_attributes: of the others so many are kept,
    by chi-squared (`crfpunct.clusters.selection`); 0 keeps all.
    split: marks whose sentences are a kind of their own: in them, words without a mark have another state.
    """

    c1: float = 0.5
    c2: float = 0.5
    max_iterations: int = 60
    bias: float = 0.0  # of every label but the neutral one: see `chain.LinearChain`
    min_documents: int = 1
    most_attributes: int = 0
    split: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """All that a feature file says, its ancestors included.

    learned: lexicon name -> what training is to learn for it ("casing": see `crfpunct.casing.learn`).
    upper: letters whose capital is not Unicode's default.
    files: name -> bytes of every file that was read, the first one first, so that a model folder can keep exact copies.
    """

    name: str
    templates: tuple[Template, ...]
    lexicons: Mapping[str, Mapping[str, str]]
    options: TrainOptions
    prior_options: TrainOptions
    dash: str
    upper: Mapping[str, str]
    learned: Mapping[str, str]
    files: Mapping[str, bytes] = field(repr=False)


_SECTIONS = {"extends", "template", "lexicon", "train", "prior", "text"}
_TEMPLATE_KEYS = {"name", "use", "for", "min_count"}


_SHOWN = 20  # mistakes that one message names


class _Mistakes(list[str]):
    """Collects what is wrong with a file, so that one run shows all of it."""

    def unknown(self, where: str, what: str, found: str, known: Mapping[str, Any] | set[str] | frozenset[str]) -> None:
        close = difflib.get_close_matches(found, known, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(sorted(known)) or 'none'}"
        self.append(f"{where}unknown {what} {found!r}; {hint}")

    def kind(self, where: str, key: str, found: Any, expected: str) -> None:
        shown = repr(found)
        self.append(f"{where}{key} = {shown[:60] + '…' if len(shown) > 60 else shown}; expected {expected}")


def load(name: str | Path | FeatureSet) -> FeatureSet:
    """Read a feature file (a path or a shipped one's name) and what it extends; TemplateError names every mistake."""
    if isinstance(name, FeatureSet):
        return name
    return _loaded(find_features(name), None)


def load_copies(name: str, copies: Mapping[str, bytes]) -> FeatureSet:
    """Read a feature set from the copies in a model folder: file name -> bytes; nothing else is looked at."""
    return _loaded(Path(f"{name}.toml"), copies)


def _loaded(path: Path, copies: Mapping[str, bytes] | None) -> FeatureSet:
    mistakes = _Mistakes()
    if path.suffix != ".toml":
        mistakes.append("not the name of a TOML file; let it end in .toml")
    loaded = _load(path, copies, mistakes, ())
    if not mistakes and not loaded.templates:
        mistakes.append("no [[template]] in it; a feature file needs at least one")
    if mistakes:
        shown = [*mistakes[:_SHOWN], *([f"and {len(mistakes) - _SHOWN} more"] if len(mistakes) > _SHOWN else [])]
        raise TemplateError(f"{path}: " + "; ".join(shown) + ".")
    return loaded


def without_pauses(templates: tuple[Template, ...]) -> tuple[Template, ...]:
    """The templates that look at words only."""
    return tuple(t for t in templates if not any(observation.is_pause for observation, _ in t.use))


def pauses_alone(templates: tuple[Template, ...]) -> tuple[Template, ...]:
    """The templates that look at pauses only."""
    return tuple(t for t in templates if all(observation.is_pause for observation, _ in t.use))


def _load(path: Path, copies: Mapping[str, bytes] | None, mistakes: _Mistakes, seen: tuple[Path, ...]) -> FeatureSet:
    raw = _bytes(path, copies)
    try:
        parsed = tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # tomllib's own errors among them
        raise TemplateError(f"{path}: not a TOML file: {str(error)[:200]}.") from error
    for key in parsed.keys() - _SECTIONS:
        mistakes.unknown("", "section", key, _SECTIONS)

    base = _base(parsed.get("extends"), path, copies, mistakes, (*seen, path))
    files = dict(base.files if base else {})
    _keep(path.name, raw, files, mistakes)
    lexicons = dict(base.lexicons if base else {})
    learned = dict(base.learned if base else {})
    for name, given in _table(parsed, "lexicon", mistakes).items():
        if given == {"learned": "casing"}:
            if name != "casing":
                mistakes.append(
                    f'lexicon: {name} = {{ learned = "casing" }}; what is learned is called casing; name it so'
                )
            lexicons[name], learned[name] = {}, "casing"
            continue
        file, column, only = _file_column_and_classes(given)
        if file is None:
            expected = (
                'the name of a file in the same folder, { file = "…", column = 2, only = ["a class", …] } '
                'or { learned = "casing" }'
            )
            mistakes.kind("lexicon: ", name, given, expected)
            continue
        lexicons[name] = {}  # known, even if it cannot be read: templates that use it are not at fault
        try:
            listed = _bytes(path.parent / file, copies)
            lexicons[name] = _lexicon(listed, path.parent / file, column, only)
        except TemplateError as error:
            mistakes.append(str(error).removesuffix("."))
            continue
        _keep(file, listed, files, mistakes)

    templates = list(base.templates if base else ())
    names = {template.name for template in templates}
    for number, entry in enumerate(_list(parsed, "template", mistakes), 1):
        family = _expand(entry, number, lexicons, mistakes)
        if family and family[0].name in names:
            mistakes.append(f"template {family[0].name!r}: the name is taken; choose another")
        names.update(template.name for template in family)
        templates += family
    used: dict[tuple[tuple[Observation, int], ...], str] = {}
    for template in templates:
        if template.use in used:
            mistakes.append(f"template {template.name!r} repeats {used[template.use]!r}: both use {template}")
        used[template.use] = template.name
    text = _table(parsed, "text", mistakes)
    for key in text.keys() - {"dash", "upper"}:
        mistakes.unknown("[text]: ", "key", key, {"dash", "upper"})
    upper = text.get("upper", base.upper if base else {})
    if not isinstance(upper, dict) or not all(map(_is_capital, upper.values(), upper)):
        mistakes.kind("[text]: ", "upper", upper, 'single letters and their capitals, such as { i = "İ" }')
        upper = {}
    dash = text.get("dash", base.dash if base else "–")
    if not isinstance(dash, str) or not dash or any(sign.isalnum() or sign.isspace() for sign in dash):
        mistakes.kind("[text]: ", "dash", dash, "one sign")
    options = _options(parsed, "train", base.options if base else TrainOptions(), mistakes)
    # What a file says for all its training holds for other text too, unless it or its ancestors say more.
    prior_options = _options(parsed, "prior", base.prior_options if base else options, mistakes)
    return FeatureSet(path.stem, tuple(templates), lexicons, options, prior_options, dash, upper, learned, files)


def _is_capital(capital: Any, letter: str) -> bool:
    return isinstance(capital, str) and len(letter) == len(capital) == 1 and caseless(capital) == caseless(letter)


def _bytes(path: Path, copies: Mapping[str, bytes] | None) -> bytes:
    """A file as it is on disk, or as a model folder has it."""
    if copies is not None:
        if path.name not in copies:
            raise TemplateError(f"{path.name}: not among the model's copies of its feature files.")
        return copies[path.name]
    try:
        return path.read_bytes()
    except OSError as error:
        raise TemplateError(f"{path}: cannot be read ({error.strerror}).") from error


def _keep(name: str, raw: bytes, files: dict[str, bytes], mistakes: _Mistakes) -> None:
    if files.get(name, raw) != raw:
        mistakes.append(f"two files are named {name}; rename one, so that a model folder can keep both")
    files[name] = raw


def _file_column_and_classes(given: Any) -> tuple[str | None, int, frozenset[str]]:
    """What a lexicon's entry names; None where it is none. No classes: all of them."""
    entry = given if isinstance(given, dict) else {"file": given}
    file, column, only = entry.get("file"), entry.get("column", 1), entry.get("only", [])
    fits = entry.keys() <= {"file", "column", "only"} and _is_plain_name(file) and type(column) is int and column >= 1
    fits = (
        fits
        and isinstance(only, list)
        and all(isinstance(c, str) and c for c in only)
        and ("only" in entry) <= bool(only)
    )
    return (file, column, frozenset(only)) if fits else (None, 1, frozenset())


def _is_plain_name(name: Any) -> bool:
    return isinstance(name, str) and Path(name).name == name != ".." and "\0" not in name


def _base(
    parent: Any, path: Path, copies: Mapping[str, bytes] | None, mistakes: _Mistakes, seen: tuple[Path, ...]
) -> FeatureSet | None:
    """The feature set that a file extends: one beside it, else a shipped one."""
    if parent is None:
        return None
    if not _is_plain_name(parent):
        mistakes.kind("", "extends", parent, "the name of a feature file in the same folder, or of a shipped one")
        return None
    beside = path.parent / (parent if parent.endswith(".toml") else f"{parent}.toml")
    # A file of one's own may extend the shipped one of the same name.
    local = copies is not None or (beside.is_file() and beside != path)
    found = beside if local else find_features(parent.removesuffix(".toml"))
    if found in seen:
        chain = " -> ".join(step.name for step in (*seen, found))
        mistakes.append(f"extends itself ({chain}); remove one link")
        return None
    return _load(found, copies, mistakes, seen)


def _table(parsed: dict[str, Any], key: str, mistakes: _Mistakes) -> dict[str, Any]:
    value = parsed.get(key, {})
    if not isinstance(value, dict):
        mistakes.kind("", key, value, f"a table, [{key}]")
        return {}
    return value


def _list(parsed: dict[str, Any], key: str, mistakes: _Mistakes) -> list[dict[str, Any]]:
    value = parsed.get(key, [])
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        mistakes.kind("", key, value, f"tables, each headed [[{key}]]")
        return []
    return value


_LEAST = {"max_iterations": 1, "min_documents": 1, "most_attributes": 0}  # options that are whole numbers


def _options(parsed: dict[str, Any], section: str, defaults: TrainOptions, mistakes: _Mistakes) -> TrainOptions:
    known = {name: getattr(defaults, name) for name in TrainOptions.__dataclass_fields__}
    for key, value in _table(parsed, section, mistakes).items():
        if key not in known:
            mistakes.unknown(f"[{section}]: ", "key", key, known)
        elif key == "split":
            if (
                not isinstance(value, list)
                or len(set(map(str, value))) < len(value)
                or any(m not in MARKS for m in value)
            ):
                mistakes.kind(f"[{section}]: ", key, value, f"a list of marks, each once: {' '.join(MARKS)}")
            else:
                known[key] = tuple(value)
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_OPTION:
            mistakes.kind(f"[{section}]: ", key, value, f"a number from 0 to {MAX_OPTION:,}")
        elif key in _LEAST and (not isinstance(value, int) or value < _LEAST[key]):
            mistakes.kind(f"[{section}]: ", key, value, f"a whole number of at least {_LEAST[key]}")
        else:
            known[key] = value
    return TrainOptions(**known)


def _expand(
    entry: dict[str, Any], number: int, lexicons: Mapping[str, Mapping[str, str]], mistakes: _Mistakes
) -> list[Template]:
    name = entry.get("name")
    where = f"template {name!r}: " if isinstance(name, str) else f"template number {number}: "
    before = len(mistakes)
    for key in entry.keys() - _TEMPLATE_KEYS:
        mistakes.unknown(where, "key", key, _TEMPLATE_KEYS)
    if not isinstance(name, str) or not name:
        mistakes.append(f"{where}has no name")
    use = entry.get("use")
    if not isinstance(use, list) or not use or not all(isinstance(u, str) for u in use):
        mistakes.kind(where, "use", use, 'a list such as ["word[0]", "word[1]"]')
    min_count = entry.get("min_count", 1)
    if not isinstance(min_count, int) or isinstance(min_count, bool) or min_count < 1:
        mistakes.kind(where, "min_count", min_count, "a whole number of at least 1")
    family = entry.get("for", {})
    if not isinstance(family, dict) or not all(isinstance(v, list) and v for v in family.values()):
        mistakes.kind(where, "for", family, "lists of values, such as { n = [2, 3] }")
    if len(mistakes) > before:
        return []
    if math.prod(len(values) for values in family.values()) > MAX_FAMILY:
        mistakes.append(f"{where}for has more than {MAX_FAMILY:,} combinations; list fewer values")
        return []
    assert isinstance(use, list)  # both checked above; said again for the type checker
    assert isinstance(name, str)
    if any(set("{}") & set(_PLACEHOLDER.sub("", u)) for u in use):
        mistakes.append(f"{where}use = {use!r}: a placeholder is a name in braces, such as {{n}}")
        return []
    found = []
    for values in itertools.product(*family.values()):
        member = dict(zip(family, values, strict=True))
        try:
            parts = tuple(_observation(u.format(**member), lexicons, where, mistakes) for u in use)
        except (KeyError, IndexError, ValueError, AttributeError, TypeError):
            mistakes.append(f"{where}use = {use!r} names a placeholder that `for` ({', '.join(family)}) does not list")
            return []
        if len(mistakes) > before:
            return []
        if len(set(parts)) < len(parts):
            mistakes.append(f"{where}use = {use!r} names an observation twice")
            return []
        found.append(Template(name, tuple(p for p in parts if p), min_count))
    return found


def _observation(
    text: str, lexicons: Mapping[str, Mapping[str, str]], where: str, mistakes: _Mistakes
) -> tuple[Observation, int] | None:
    match = _USE.fullmatch(text)
    if match is None:
        mistakes.append(
            f"{where}{text[:60]!r} is not an observation; expected one such as word[0], suffix3[-1], gap[0]"
        )
        return None
    offset = int(match["offset"])
    if abs(offset) > MAX_OFFSET:
        mistakes.append(f"{where}{text!r} looks {abs(offset)} words away; at most {MAX_OFFSET}")
    if match["lexicon"]:
        if match["lexicon"] not in lexicons:
            mistakes.unknown(where, "lexicon", match["lexicon"], set(lexicons))
        return Observation(match["of"], 0, match["lexicon"]), offset
    known = WORD_OBSERVATIONS.keys() | PAUSE_OBSERVATIONS.keys() | {MARK}
    if match["name"] not in known:
        mistakes.unknown(where, "observation", match["name"], known)
    elif (match["name"] in SIZED) != (match["n"] != "" and int(match["n"]) > 0):
        needs = "a number, as in" if match["name"] in SIZED else "no number, as in"
        shown = f"{match['name']}{3 if match['name'] in SIZED else ''}[0]"
        mistakes.append(f"{where}{text!r}: {match['name']} takes {needs} {shown}")
    return Observation(match["name"], int(match["n"] or 0)), offset


def _lexicon(raw: bytes, path: Path, column: int, only: frozenset[str]) -> Lexicon:
    """A word a line, or word TAB class TAB class …: the classes of one column, counted from 1.

    only: if it names classes, words of others have none; TemplateError where no line has a class that it names.

    `*ending` stands for all words that end so and are not listed themselves. Lines that begin with `#` are comments
    (source and licence). A file whose name ends in .xz or .gz is compressed.
    """
    forms, starred, columns = _listed(raw, path)
    found = columns[column - 1] if column <= len(columns) else (None,) * len(forms)
    classes = [name or "yes" for name in found]
    entries = dict(zip(forms, classes, strict=True))
    is_missing = column > 1 and None in found  # a word without a class is just listed
    if is_missing or "" in entries or len(entries) < len(forms):
        raise TemplateError(_mistake_in_lexicon(raw, path, column))
    if only:
        if strange := only - set(classes):
            raise TemplateError(f"{path}: no line has the class {min(strange)!r} in column {column}; correct `only`.")
        entries = {form: name if name in only else "" for form, name in entries.items()}
    endings = {form[1:]: entries.pop(form) for form in starred}
    return Lexicon(entries, endings)


_ANY = "*"  # stands for any beginning of a word


# A model reads its lexicons whenever it is loaded, and they have tens of thousands of lines: so all words are
# normalised at once, and a file with several columns is split once.
@lru_cache(maxsize=4)
def _listed(raw: bytes, path: Path) -> tuple[list[str], list[str], list[Sequence[str | None]]]:
    """Of each line the word in its `normal` form; the endings among these; and each column, None where it ends."""
    forms, columns = _split(raw, path)
    return forms, [form for form in forms if form[:1] == _ANY], columns


def _split(raw: bytes, path: Path) -> tuple[list[str], list[Sequence[str | None]]]:
    text = _text(unpacked(raw, str(path)), path).replace("\r\n", "\n")
    while text.startswith("#"):
        text = text.partition("\n")[2]
    text = text.removesuffix("\n") + "\n"
    codes = np.frombuffer(text.encode(), dtype=np.uint8)
    ends = codes[(codes == ord("\t")) | (codes == ord("\n"))] == ord("\n")
    width = int(ends.argmax()) + 1
    if "\n#" not in text and (ends == (np.arange(1, len(ends) + 1) % width == 0)).all():
        # Every line has as many fields, so that they need not be split line by line.
        fields = list(map(str.strip, text.replace("\n", "\t").split("\t")))[:-1]
        if "" not in fields[::width]:
            return normals(fields[::width]), [fields[i::width] for i in range(1, width)]
    rows = [line.split("\t") for line in text.split("\n") if line and line[0] != "#" and not line.isspace()]
    columns = itertools.zip_longest(*([field.strip() for field in row] for row in rows))
    forms = normals(next(columns, ()))
    return forms, list(columns)


def _mistake_in_lexicon(raw: bytes, path: Path, column: int) -> str:
    """What is wrong with the first bad line."""
    seen: set[str] = set()
    for number, line in enumerate(_text(unpacked(raw, str(path)), path).replace("\r\n", "\n").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, *classes = line.split("\t")
        if not word.strip() or (len(classes) < column and column > 1):
            needed = (
                "a word, or word TAB class" if column == 1 else f"a word and at least {column} classes, TAB between"
            )
            return f"{path}:{number}: {line!r}; expected {needed}."
        if normal(word.strip()) in seen:
            return f"{path}:{number}: {word.strip()!r} stands twice; remove one of the two lines."
        seen.add(normal(word.strip()))
    raise AssertionError("called for a lexicon without a mistake")


def _text(raw: bytes, path: Path) -> str:
    try:
        return raw.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError:  # then line by line, for a message that names the line
        return "\n".join(line for _, line in read_lines(io.BytesIO(raw), str(path)))
