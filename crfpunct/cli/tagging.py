"""`crfpunct tag` and `crfpunct models`."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crfpunct.cli.notes import fail, note
from crfpunct.errors import CorpusError, CrfpunctError

if TYPE_CHECKING:
    from crfpunct.document import Document
    from crfpunct.formats.clntmstmp import Times
    from crfpunct.marks import Typography
    from crfpunct.restorer import Restorer


_DEFAULT_MODEL = "pl"


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    app.command()(tag)
    app.command()(models)


def tag(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[INPUT…]", help="Texts to restore; - is standard input (the default)."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A model folder, or the name of a shipped model (default: the shipped pl).")
    ] = None,
    times: Annotated[
        str | None,
        typer.Option(help="Folder or .tar.gz of .clntmstmp files with the word times, matched by text id."),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="Format of the input (default: found out).")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="Format of the output (default: its suffix's, or the input's)."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="PATH", help="File to write; for several inputs, an existing folder."),
    ] = None,
    no_punct: Annotated[bool, typer.Option("--no-punct", help="Place no marks.")] = False,
    no_case: Annotated[bool, typer.Option("--no-case", help="Leave the case of the words as it is.")] = False,
    keep_case: Annotated[
        bool,
        typer.Option(
            "--keep-case", help="Leave words that have a capital alone; by default their case is decided again."
        ),
    ] = False,
    replace_marks: Annotated[
        bool,
        typer.Option("--replace-marks/--keep-marks", help="Marks that are there already: decide them again, or keep."),
    ] = False,
    paragraphs: Annotated[
        bool, typer.Option("--paragraphs", help="Plain text: a document is a paragraph, not a line.")
    ] = False,
    columns: Annotated[
        str | None, typer.Option(metavar="WORD,LABEL", help="CoNLL: the columns of word and label, from 1.")
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add the probability of each mark (output: jsonl).")
    ] = False,
    bias: Annotated[
        list[str] | None,
        typer.Option(metavar="MARK=VALUE", help="Place a mark more often, or less (below 0); may be repeated."),
    ] = None,
    resegment: Annotated[
        bool, typer.Option("--resegment", help="New subtitles that end with sentences and clauses (output: srt, vtt).")
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            max=1024,
            help="Processes, for several inputs into a folder or one big file of plain text (-1: all cores).",
        ),
    ] = 1,
    lookahead: Annotated[
        int | None,
        typer.Option(min=0, help="Plain text as one stream: write each word at most so many words later."),
    ] = None,
) -> None:
    """Put marks behind the words of transcripts, and give the words their case.

    Words come out as they went in, in the same order, but for their case; only marks are added. With word
    times (in the input, or from --times) the pauses between the words are used too. From a pipe that stays
    open, each line is answered as soon as it is there.

    Formats: text, paragraphs, srt, vtt, whisper, vosk, ctm, jsonl, conll, tags, words-json, wikipunct,
    poleval2022, clntmstmp, aligned; for output also sentences.
    """
    from crfpunct import formats
    from crfpunct.marks import Typography

    from_ = _source_format(from_, paragraphs, columns)
    if lookahead is not None:
        given = {
            "--no-punct": no_punct,
            "--replace-marks": replace_marks,
            "--marginals": marginals,
            "--resegment": resegment,
            "--times": times is not None,
            "--jobs": jobs != 1,
            "--to": to not in (None, "text"),
            f"--from {from_}": from_ not in (None, "text"),
        }
        if others := [name for name, is_given in given.items() if is_given]:
            raise typer.BadParameter(f"--lookahead is for plain text word by word; leave out {others[0]}.")
    added = _bias(bias or [])
    if no_punct and (marginals or replace_marks or added):
        option = "--marginals" if marginals else "--replace-marks" if replace_marks else "--bias"
        raise typer.BadParameter(f"{option} is about marks that are placed; leave out --no-punct.")
    if marginals:
        to = _only(to, ("jsonl",), "--marginals", "jsonl")
    for option, path in (("--output", output), ("--times", times)):
        if path == "":
            raise CorpusError(f"{option} has an empty name, which would be that of this folder; name a file or folder.")
    for name in filter(None, (from_, to)):
        formats.module(name)  # an unknown one is refused before anything is loaded
    restorer = None
    if no_punct and no_case:
        model = None
    else:
        from crfpunct import resources
        from crfpunct.restorer import load

        # The default does not depend on what stands in the working folder.
        model = model or str(resources.shipped("models").get(_DEFAULT_MODEL, _DEFAULT_MODEL))
        restorer = load(model)
        if added:
            restorer = restorer.with_bias(dict(added))
        name = Path(model).name
        if restorer.manifest.get("non_commercial"):
            note(f"model {name}: for non-commercial use only, as its training data are; see its card.md.")
    word_times = None
    if times is not None:
        from crfpunct.formats.clntmstmp import Times

        word_times = Times(times)
    inputs = inputs or ["-"]
    if inputs.count("-") > 1:
        raise typer.BadParameter("standard input (-) can be read once only; name it once.")
    if "-" in inputs and sys.stdin is None:
        raise CorpusError("-: there is no standard input; name a file.")
    if "-" in inputs and sys.stdin.isatty():
        note("reading from the terminal; end with Ctrl-D.")
    to_folder = output is not None and Path(output).is_dir()
    targets = _targets(inputs, output, to)
    typography = restorer.typography if restorer else Typography()
    way = _Way(
        restorer,
        typography,
        word_times,
        punct=not no_punct,
        case=not no_case,
        replace_marks=replace_marks,
        keep_case=keep_case,
        marginals=marginals,
        resegment=resegment,
        named=output is not None and not to_folder,
    )
    if jobs == 0:
        raise typer.BadParameter("--jobs 0 is no process at all; use at least 1, or -1 for all cores.")
    failed = 0
    if restorer is not None and lookahead is not None:
        for name, target in zip(inputs, targets, strict=True):
            failed += _said(
                lambda: _stream_one(name, lookahead, target, way, from_),  # noqa: B023
                len(inputs),
            )
    elif jobs != 1 and len(inputs) > 1 and output is not None and "-" not in inputs and word_times is None:
        from crfpunct import parallel
        from crfpunct.files import scratch_folder

        with scratch_folder(Path(output)) as scratch:
            job = _Job(replace(way, restorer=None), model, from_, to, added, scratch)
            with contextlib.closing(parallel.each(job, list(zip(inputs, targets, strict=True)), jobs)) as outcomes:
                for outcome in outcomes:
                    if isinstance(outcome, CrfpunctError):
                        failed += 1
                        fail(outcome)
                    else:
                        way.noticed.add(outcome)
    elif jobs != 1 and len(inputs) == 1 and model is not None and way.is_by_line(inputs[0], from_, to, targets[0]):
        from crfpunct import parallel
        from crfpunct.files import open_output

        tagger = parallel.LineTagger(model, not no_punct, not no_case, replace_marks, keep_case, added)
        with open_output(targets[0]) as out:
            out.flush()
            parallel.tag_lines(inputs[0], tagger, jobs, out.buffer)
        way.noticed.cased = _begins_cased(inputs[0])
    else:
        for name, target in zip(inputs, targets, strict=True):
            failed += _said(lambda: way.tag(name, from_, to, target), len(inputs))  # noqa: B023
    for line in word_times.notes() if word_times else ():
        note(line)
    if kept := way.noticed.kept:
        note(f"{kept} words had a mark in a column of their own and keep it; --replace-marks decides again.")
    if (marked := way.noticed.marked) > _FEW * way.noticed.words:
        note(f"{marked:,} words end in a mark already and keep it, and more marks are added; see --replace-marks.")
    if restorer is not None:
        _note_languages(way.noticed.languages, restorer.manifest.get("language"))
    if way.noticed.cased and restorer is not None and restorer.truecaser is not None and not (no_case or keep_case):
        note("the input has capitals already, and the case of all words was decided again; --keep-case keeps capitals.")
    if failed:
        raise CorpusError(f"{failed} of {len(inputs)} inputs failed; the others are done.")


def _note_languages(stated: set[str], of_model: str | None) -> None:
    """Say so where files are in another language than the model; languages that no code is known for are left out."""
    expected = _code(of_model or "")
    others = sorted({_code(language) for language in stated} - {expected})
    if others := [code for code in others if len(code) == len(expected) == 2]:
        note(f"the input says its language is {', '.join(others)}, the model's is {expected}; choose one with --model.")


def _code(language: str) -> str:
    """The two letters of a language: "pl" for "pl", "pl-PL" and "Polish"."""
    import locale

    return locale.normalize(language.lower().replace("-", "_")).partition("_")[0]


_MOST_BIAS = 1e6  # as in training; no score of a model comes near


def _bias(options: list[str]) -> tuple[tuple[str, float], ...]:
    """What --bias says: (mark, number added to its score); the same mark may be named again, and adds up."""
    added: dict[str, float] = {}
    for option in options:
        mark, sign, value = option.rpartition("=")
        try:
            number = float(value) if mark and sign else math.nan
        except ValueError:
            number = math.nan
        added[mark] = added.get(mark, 0.0) + number
        if not abs(added[mark]) <= _MOST_BIAS:  # nor NaN
            raise typer.BadParameter(f"--bias {option}: expected MARK=VALUE, a mark and a number, such as ,=0.5")
    return tuple(added.items())


def _source_format(from_: str | None, paragraphs: bool, columns: str | None) -> str | None:
    if paragraphs:
        return _only(from_, ("text", "paragraphs"), "--paragraphs", "paragraphs")
    if columns is not None:
        _only(from_, ("conll",), "--columns", "conll")
        return f"conll:{columns}"
    return from_


def _only(format: str | None, allowed: tuple[str, ...], option: str, chosen: str) -> str:
    """The format that an option stands for, unless another was named."""
    if format is not None and format not in allowed:
        raise typer.BadParameter(f"{option} goes with the format {' or '.join(allowed)}, not with {format}.")
    return chosen


def _targets(inputs: list[str], output: str | None, to: str | None) -> list[str | Path]:
    """Where each input's result goes; all are different, unless they go to standard output."""
    if output is None:
        return ["-"] * len(inputs)
    folder = Path(output)
    if not folder.is_dir():
        if len(inputs) > 1:
            raise CorpusError(
                f"{output}: not a folder, but there are several inputs; make the folder or name one input."
            )
        return [folder]
    targets: dict[Path, str] = {}
    for name in inputs:
        target = folder / _result_name(name, to)
        if target in targets:
            raise CorpusError(
                f"{target}: would be the result of both {targets[target]} and {name}; tag them into different folders."
            )
        targets[target] = name
    return list(targets)


def _result_name(name: str, to: str | None) -> str:
    """The input's name, not compressed, with the suffix of the format that was asked for."""
    from crfpunct.formats import FORMATS

    path = Path("stdin.txt" if name == "-" else Path(name).resolve().name)
    if path.suffix.lower() in (".gz", ".xz"):
        path = path.with_suffix("")
    if to is not None:
        suffixes = FORMATS[to.partition(":")[0]].suffixes or (".txt",)
        if path.suffix.lower() not in suffixes:
            path = Path(f"{path.stem}{suffixes[0]}")
    return str(path)


def _said(work: Callable[[], None], inputs: int) -> bool:
    """Whether the work on one of several inputs failed; the error is printed, and the others go on."""
    try:
        work()
    except BrokenPipeError:
        raise
    except (CrfpunctError, OSError) as error:
        if inputs == 1:
            raise
        fail(error)
        return True
    return False


@dataclass(frozen=True, slots=True)
class _Job:
    """The way of one input in a worker process; a model travels by its name."""

    way: _Way  # without its restorer
    model: str | None  # None: only convert
    from_: str | None
    to: str | None
    bias: tuple[tuple[str, float], ...]
    scratch: Path  # for temporary files: a Ctrl-C kills the workers where they stand

    def __call__(self, item: tuple[str, str | Path]) -> _Noticed:
        """Tag an input (name, target)."""
        from crfpunct import parallel

        restorer = parallel.loaded(self.model, self.bias) if self.model else None
        way = replace(self.way, restorer=restorer, noticed=_Noticed())
        way.tag(item[0], self.from_, self.to, item[1], self.scratch)
        return way.noticed


_FEW = 0.02  # of the words may end in a dot or so, as abbreviations do


@dataclass(slots=True)
class _Noticed:
    """What the user is told once all inputs are read."""

    kept: int = 0  # words with a mark in a column of the file
    languages: set[str] = field(default_factory=set)  # that the files say they are in
    cased: bool = False  # whether a text has capitals, and not them alone
    words: int = 0
    marked: int = 0  # words that end in a mark

    def add(self, other: _Noticed) -> None:
        self.kept += other.kept
        self.languages |= other.languages
        self.cased |= other.cased
        self.words += other.words
        self.marked += other.marked


def _is_cased(text: str) -> bool:
    return text != text.lower() and text != text.upper()


def _begins_cased(path: str) -> bool:
    with open(path, "rb") as stream:
        return _is_cased(stream.read(1 << 16).decode(errors="ignore"))


@dataclass(slots=True)
class _Way:
    """The way of documents from a reader to a writer."""

    restorer: Restorer | None
    typography: Typography
    word_times: Times | None
    punct: bool
    case: bool
    replace_marks: bool
    keep_case: bool
    marginals: bool
    resegment: bool
    named: bool  # whether the output's name was chosen, and so says its format
    noticed: _Noticed = field(default_factory=_Noticed)

    def tag(
        self, name: str, from_: str | None, to: str | None, target: str | Path, scratch: Path | None = None
    ) -> None:
        """Tag one input; scratch: as for `files.open_output`."""
        from crfpunct import formats
        from crfpunct.files import open_output
        from crfpunct.formats.pipe import Pipe
        from crfpunct.formats.promise import Promise

        with open_output(target, scratch) as out:
            pipe = Pipe.of_standard_input(out.flush) if name == "-" else None
            from_ = from_ or formats.identify(name, pipe)
            to = to or self._output_format(from_, target)
            if self.resegment and to not in ("srt", "vtt"):
                raise CorpusError(f"{name}: --resegment makes subtitles, but the output is {to}; add --to srt or vtt.")
            promise = Promise()
            documents = promise.remember(formats.read(name, from_, pipe))
            if self.word_times is not None:
                documents = self.word_times.attach(documents)
            if self.restorer is not None:
                documents = self.restorer.tag(
                    self._watched(documents),
                    punct=self.punct,
                    case=self.case,
                    replace_marks=self.replace_marks,
                    keep_case=self.keep_case,
                    probabilities=self.marginals,
                    ready=pipe.ready if pipe else None,
                )
            documents = promise.check(documents)
            if self.resegment:
                from crfpunct.formats.subtitles import resegmented

                documents = map(resegmented, documents)
            formats.write(documents, out, to, self.typography)

    def _output_format(self, from_: str, target: str | Path) -> str:
        from crfpunct import formats

        return formats.output_format(target, from_) if self.named else from_

    def is_by_line(self, name: str, from_: str | None, to: str | None, target: str | Path) -> bool:
        """Whether an input is a file of plain text whose lines can be tagged apart."""
        from crfpunct import formats

        if name == "-" or not Path(name).is_file() or Path(name).suffix.lower() in (".gz", ".xz"):
            return False
        plain = (from_ or formats.identify(name)) == "text" == (to or self._output_format("text", target))
        return plain and self.word_times is None and not (self.marginals or self.resegment)

    def _watched(self, documents: Iterator[Document]) -> Iterator[Document]:
        noticed = self.noticed
        for document in documents:
            if document.language:
                noticed.languages.add(document.language)
            if self.punct and not self.replace_marks and document.marks is not None:
                noticed.kept += sum(map(bool, document.marks))
            text = " ".join(document.words) + " "
            noticed.cased = noticed.cased or _is_cased(text)
            if self.punct and not self.replace_marks:
                noticed.words += len(document.words)
                noticed.marked += sum(text.count(mark + " ") for mark in ".,?!")  # in C: no word is looked at alone
            yield document


def _stream_one(name: str, lookahead: int, target: str | Path, way: _Way, from_: str | None) -> None:
    import codecs

    from crfpunct import formats
    from crfpunct.files import check_text, open_input, open_output
    from crfpunct.formats.pipe import Pipe

    def decoded(chunks: Iterable[bytes]) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")()
        line = 1
        try:
            for i, chunk in enumerate(chunks):
                if i == 0:
                    check_text(chunk, name)
                text = decoder.decode(chunk)
                way.noticed.cased = way.noticed.cased or _is_cased(text)
                yield text
                line += chunk.count(b"\n")
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise CorpusError(
                f"{name}:{line}: the byte 0x{error.object[error.start]:02x} is not UTF-8; "
                f"convert the text, for example with iconv -f WINDOWS-1250 -t UTF-8."
            ) from error

    def flow(chunks: Iterable[bytes]) -> Iterator[str]:
        assert way.restorer is not None
        return way.restorer.flow(decoded(chunks), lookahead, case=way.case, keep_case=way.keep_case)

    found = "text" if name == "-" or from_ else formats.identify(name)
    for path, format in ((name, found), (target, formats.output_format(target, "text"))):
        if format != "text":
            raise CorpusError(f"{path}: looks like {format}, but --lookahead is for plain text; leave it out.")
    with open_output(target) as out:
        if name == "-" and (pipe := Pipe.of_standard_input(out.flush)):
            out.writelines(flow(pipe.chunks()))
        else:
            with open_input(name) as stream:
                out.writelines(flow(iter(lambda: stream.read(1 << 16), b"")))


def models(
    folders: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL…]", help="Model folders, or names of shipped models (default: all of these)."),
    ] = None,
) -> None:
    """List the models at hand: language, tasks, size, score, data and licence."""
    from crfpunct import model_folder, resources

    named = {name: resources.find_model(name) for name in folders or ()}
    for name, folder in (named or resources.shipped("models")).items():
        manifest = model_folder.read(folder).manifest
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        use = "non-commercial use only" if manifest["non_commercial"] else "any use"
        typer.echo(f"{name}  language {manifest['language'] or 'not stated'}, {use}, {size / 1e6:.1f} MB, {folder}")
        for task in ("punct", "case"):
            if task in manifest:
                entry = manifest[task]
                typer.echo(f"    {task}: {_score(task, entry)}")
                typer.echo(
                    f"        data: {entry['data'] or 'not stated'}; licence: {entry['licence'] or 'not stated'}"
                )


def _score(task: str, entry: Mapping[str, Any]) -> str:
    """The cross-validated score in a few characters."""
    scores = entry["scores"]
    if not scores:
        return "not cross-validated"
    if task == "case":
        return f"F1 of words with a capital {scores['f1']['mean']:.1f}"
    kinds = {"timed": "with times", "text": "text only"}
    return "weighted F1 " + ", ".join(
        f"{scores[kind]['all']['mean']:.1f} {about}" for kind, about in kinds.items() if kind in scores
    )
