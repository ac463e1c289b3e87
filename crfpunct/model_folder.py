"""A model folder on disk: a manifest, arrays, copies of the feature files, a card.

    model.json    format number, sha256 of every other file, and all that the model says about itself
    *.npz         arrays only; read without pickle
    templates/    exact copies of the feature files and lexicons that the model was trained with
    card.md       data, licence, intended use, limits, scores

A folder is written whole under a temporary name and then renamed. What is truncated, altered or newer than this
program is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crfpunct.errors import ModelError
from crfpunct.files import umask

#: Raised by one whenever an older program could no longer read the folder.
FORMAT = 3
MANIFEST = "model.json"
_REMEDY = "train it again, or fetch it again from where you have it"

Arrays = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """What is in a folder: the manifest (a JSON object) and the other files' bytes by name (``punct.npz``, ...)."""

    manifest: Mapping[str, Any]
    files: Mapping[str, bytes]

    def arrays(self, name: str) -> dict[str, NDArray[np.generic]]:
        """The arrays of one `.npz` file; ModelError where it is none."""
        try:
            with np.load(io.BytesIO(self.files[name]), allow_pickle=False) as stored:
                return {key: stored[key] for key in stored.files}
        except Exception as error:  # numpy and zipfile raise whatever damaged bytes lead them to
            raise ModelError(f"{name}: cannot be read as arrays ({error}); {_REMEDY}.") from error


def pack(arrays: Arrays) -> bytes:
    """Arrays as the bytes of an `.npz` file; the same arrays give the same bytes with the same zlib."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]  # zip entries are dated 1980 whatever the clock says
    return buffer.getvalue()


def write(folder: str | Path, content: ModelFolder, force: bool = False) -> None:
    """Write a model folder, whole or not at all.

    Raises ModelError where the folder exists and `force` is not given, or where it exists and is no model.
    """
    folder = Path(folder).resolve()
    check_free(folder, force)
    manifest = {"format": FORMAT, **content.manifest}
    manifest["sha256"] = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(content.files.items())}
    manifest["sha256"][MANIFEST] = _manifest_sum(manifest)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name[:40]}.", suffix=".part"))
    except OSError as error:
        raise ModelError(f"{folder}: cannot be written ({error.strerror}); check the folder it stands in.") from error
    aside = scratch.with_suffix(".old.part")
    try:
        for name, data in content.files.items():
            (scratch / name).parent.mkdir(exist_ok=True)
            (scratch / name).write_bytes(data)
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        (scratch / MANIFEST).write_text(text, encoding="utf-8", newline="")
        scratch.chmod(0o777 & ~umask())
        if folder.exists():
            # A folder cannot be renamed over a full one: the old one steps aside first.
            folder.rename(aside)
            scratch.rename(folder)
            shutil.rmtree(aside, ignore_errors=True)
        else:
            scratch.rename(folder)
    except BaseException as error:
        if aside.exists() and not folder.exists():
            aside.rename(folder)
        shutil.rmtree(scratch, ignore_errors=True)
        if isinstance(error, OSError):
            raise ModelError(f"{folder}: cannot be written ({error.strerror}); the folder is as it was.") from error
        raise


def _manifest_sum(manifest: Mapping[str, Any]) -> str:
    """The manifest's own checksum: of all it says, this sum left out, in one spelling."""
    sums = {name: value for name, value in manifest["sha256"].items() if name != MANIFEST}
    text = json.dumps({**manifest, "sha256": sums}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def check_free(folder: Path, force: bool) -> None:
    """Raise ModelError where `write` would refuse, so that it is known before an hour of training."""
    if not folder.exists():
        return
    if not folder.is_dir() or not ((folder / MANIFEST).is_file() or not any(folder.iterdir())):
        raise ModelError(f"{folder}: exists and is not a model folder; name another --out.")
    if not force and any(folder.iterdir()):
        raise ModelError(f"{folder}: a model is there already; name another --out, or add --force to replace it.")
    if others := _other_files(folder):
        raise ModelError(f"{folder}: holds {others[0]} as well, which is no part of the model; move it away first.")


def _other_files(folder: Path) -> list[str]:
    """Files in a model's folder that its manifest does not list: replacing the model would delete them."""
    try:
        listed = {MANIFEST, *json.loads((folder / MANIFEST).read_bytes())["sha256"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []  # a damaged model is replaced as a whole
    found = (path for path in sorted(folder.rglob("*")) if not path.is_dir())
    return [str(path.relative_to(folder)) for path in found if path.relative_to(folder).as_posix() not in listed]


def read(folder: str | Path) -> ModelFolder:
    """Read a model folder and check it; raises ModelError, naming the file and both numbers, where it is not whole."""
    folder = Path(folder)
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelError(f"{folder}: no {MANIFEST} in it, so it is not a model folder; check the path.") from error
    except (ValueError, OSError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read ({error}); {_REMEDY}.") from error
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int:
        raise ModelError(f"{path}: no format number in it; expected {FORMAT}; {_REMEDY}.")
    if manifest["format"] > FORMAT:
        raise ModelError(
            f"{path}: format {manifest['format']} is newer than format {FORMAT} of this program; upgrade crfpunct."
        )
    if manifest["format"] < FORMAT:
        raise ModelError(f"{path}: format {manifest['format']} is older than {FORMAT}, no longer read; train it again.")
    sums = manifest.get("sha256")
    if not isinstance(sums, dict) or not sums:
        raise ModelError(f"{path}: no checksums in it; {_REMEDY}.")
    if sums.get(MANIFEST) != _manifest_sum(manifest):
        raise ModelError(f"{path}: altered: its checksum is not the one it states; {_REMEDY}.")
    files = {}
    for name, expected in sums.items():
        if name == MANIFEST:
            continue
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ModelError(f"{path}: names a file outside the folder ({name}); {_REMEDY}.")
        try:
            if (folder / name).exists() and not (folder / name).is_file():
                raise ValueError("it is no regular file")
            files[name] = (folder / name).read_bytes()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ModelError(f"{folder / name}: cannot be read ({reason}); {_REMEDY}.") from error
        found = hashlib.sha256(files[name]).hexdigest()
        if found != expected:
            raise ModelError(
                f"{folder / name}: altered or truncated (sha256 {found[:12]}…, expected {expected[:12]}…); {_REMEDY}."
            )
    return ModelFolder(manifest, files)
