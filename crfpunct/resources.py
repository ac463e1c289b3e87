"""Where the feature files and models that come with crfpunct are found."""

from __future__ import annotations

from pathlib import Path

from crfpunct.errors import CrfpunctError, ModelError, TemplateError

_PACKAGE = Path(__file__).resolve().parent


def shipped(kind: str) -> dict[str, Path]:
    """Name -> path of what ships with the program; `kind` is "features" or "models".

    An installed wheel holds them inside the package, a source checkout beside it.
    """
    for folder in (_PACKAGE / kind, _PACKAGE.parent / kind):
        if folder.is_dir():
            if kind == "features":
                return {path.stem: path for path in sorted(folder.glob("*.toml"))}
            return {path.parent.name: path.parent for path in sorted(folder.glob("*/model.json"))}
    return {}


def find(kind: str, name: str | Path, error: type[CrfpunctError]) -> Path:
    """The path itself if it exists, else what ships under that name."""
    path = Path(name)
    at_hand = shipped(kind)
    # A file or folder that happens to be called like a shipped one must also look like one to be taken for it.
    alike = path.suffix == ".toml" if kind == "features" else (path / "model.json").exists()
    if path.exists() and (alike or str(name) not in at_hand):
        return path
    if str(name) in at_hand:
        return at_hand[str(name)]
    known = ", ".join(at_hand) or "none"
    raise error(f"{name}: no such {kind.removesuffix('s')} file or folder, and none of that name is shipped ({known}).")


def find_features(name: str | Path) -> Path:
    """The feature file for a path or a shipped name such as `punct`; TemplateError where there is none."""
    return find("features", name, TemplateError)


def find_model(name: str | Path) -> Path:
    """The model folder for a path or a shipped name such as `pl`; ModelError where there is none."""
    return find("models", name, ModelError)
