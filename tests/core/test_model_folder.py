"""Model folders: what is written is read back; what is damaged, altered, newer or foreign is refused."""

from __future__ import annotations

import hashlib
import io
import json
import re
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crfpunct.errors import ModelError
from crfpunct.model_folder import FORMAT, ModelFolder, _manifest_sum, check_free, pack, read, write

CONTENT = ModelFolder({"language": "pl"}, {"punct.npz": b"arrays", "templates/punct.toml": b"[train]", "card.md": b"#"})

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("aąb.", max_size=3), inner, max_size=3),
    max_leaves=8,
)
file_names = st.from_regex(r"(templates/)?[a-z]{1,4}\.(npz|md)", fullmatch=True)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "pl", CONTENT)
    return tmp_path / "pl"


def rewrite_manifest(folder: Path, **changes) -> None:
    """A manifest with other entries (... for none), as a program would write it that knows how to add it up."""
    manifest = json.loads((folder / "model.json").read_text()) | changes
    manifest = {key: value for key, value in manifest.items() if value is not ...}
    if isinstance(manifest.get("sha256"), dict) and manifest["sha256"]:
        manifest["sha256"]["model.json"] = _manifest_sum(manifest)
    (folder / "model.json").write_text(json.dumps(manifest))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---------------------------------------------------------------- inverse


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), json_values, max_size=3),
    st.dictionaries(file_names, st.binary(max_size=20), min_size=1, max_size=4),
)
def test_what_is_written_is_read_back(tmp_path_factory, manifest, files):
    folder = tmp_path_factory.mktemp("models") / "m"
    write(folder, ModelFolder(manifest, files))
    again = read(folder)
    assert again.files == files
    assert again.manifest == {"format": FORMAT, **manifest, "sha256": again.manifest["sha256"]}
    # What was read can be written again, and gives the same bytes.
    write(folder.with_name("copy"), again)
    assert contents(folder.with_name("copy")) == contents(folder)
    assert {path.name for path in folder.parent.iterdir()} == {"m", "copy"}


arrays = st.dictionaries(
    st.text("abc", min_size=1, max_size=3),
    st.builds(
        lambda values, dtype: np.array(values).astype(dtype),
        st.lists(st.integers(0, 200), max_size=6),
        st.sampled_from(["u1", "u2", "i8", "f8"]),
    ),
    max_size=3,
)


@given(arrays)
def test_arrays_are_read_back(drawn):
    found = ModelFolder({}, {"a.npz": pack(drawn)}).arrays("a.npz")
    assert found.keys() == drawn.keys()
    for name, array in drawn.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_the_same_arrays_give_the_same_bytes():
    drawn = {"weight": np.arange(5.0), "label": np.zeros(3, dtype=np.uint8)}
    assert pack(drawn) == pack({name: array.copy() for name, array in drawn.items()})
    with zipfile.ZipFile(io.BytesIO(pack(drawn))) as archive:  # no clock in it
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_DEFLATED}


def test_the_manifest_names_format_and_checksums(folder):
    manifest = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    assert manifest["format"] == FORMAT
    assert manifest["sha256"]["card.md"] == hashlib.sha256(b"#").hexdigest()
    assert manifest["sha256"].keys() == CONTENT.files.keys() | {"model.json"}


def test_a_folder_has_the_permissions_of_any_new_folder(folder, tmp_path):
    (tmp_path / "usual").mkdir()
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


def test_folders_above_are_made(tmp_path):
    write(tmp_path / "a" / "b" / "pl", CONTENT)
    assert read(tmp_path / "a" / "b" / "pl").files == CONTENT.files


# ---------------------------------------------------------------- writing: whole or not at all


class Interrupted(BaseException):
    """Such as KeyboardInterrupt."""


@pytest.mark.parametrize("failing", [OSError(28, "No space left"), Interrupted()])
def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch, failing):
    real, calls = Path.write_bytes, []

    def second_fails(path, data):
        calls.append(path)
        if len(calls) == 2:
            raise failing
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", second_fails)
    with pytest.raises(
        ModelError if isinstance(failing, OSError) else Interrupted,
        match=r"pl: cannot be written \(No space left\); the folder is as it was\.$|^$",
    ):
        write(tmp_path / "pl", CONTENT)
    assert len(calls) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_model(folder, monkeypatch):
    before = contents(folder)

    def fails(*_):
        raise Interrupted

    monkeypatch.setattr(Path, "write_bytes", fails)
    with pytest.raises(Interrupted):
        write(folder, ModelFolder({}, {"other.npz": b""}), force=True)
    assert contents(folder) == before
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("failing_call", [1, 2])
def test_a_renaming_that_fails_leaves_the_old_model(folder, monkeypatch, failing_call):
    before = contents(folder)
    real, calls = Path.rename, []

    def fails_once(path, target):
        calls.append(path)
        if len(calls) == failing_call:
            raise OSError(5, "I/O error")
        return real(path, target)

    monkeypatch.setattr(Path, "rename", fails_once)
    with pytest.raises(ModelError, match=r"pl: cannot be written \(I/O error\); the folder is as it was\.$"):
        write(folder, ModelFolder({}, {"other.npz": b""}), force=True)
    assert contents(folder) == before
    assert list(folder.parent.iterdir()) == [folder]


def test_a_model_is_not_replaced_without_force(folder):
    before = contents(folder)
    for refused in (lambda: write(folder, CONTENT), lambda: check_free(folder, force=False)):
        with pytest.raises(ModelError, match=r"pl: a model is there already; name another --out, or add --force to re"):
            refused()
    assert contents(folder) == before
    check_free(folder, force=True)


def test_force_replaces_the_whole_model(folder):
    write(folder, ModelFolder({"language": "en"}, {"other.npz": b"new"}), force=True)
    assert (read(folder).manifest["language"], read(folder).files) == ("en", {"other.npz": b"new"})
    assert contents(folder).keys() == {"model.json", "other.npz"}
    assert list(folder.parent.iterdir()) == [folder]


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "pl").mkdir()
    write(tmp_path / "pl", CONTENT)
    assert read(tmp_path / "pl").files == CONTENT.files
    assert [path.name for path in tmp_path.iterdir()] == ["pl"]


@pytest.mark.parametrize("force", [True, False])
def test_what_is_no_model_is_never_replaced(tmp_path, force):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("mine")
    for name in ("file", "folder"):
        with pytest.raises(ModelError, match=rf"{name}: exists and is not a model folder; name another --out\.$"):
            write(tmp_path / name, CONTENT, force=force)
    assert contents(tmp_path) == {"file": b"mine", "folder/thesis.tex": b"mine"}


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match=r"pl: cannot be written \(.+\); check the folder it stands in\.$"):
        write(tmp_path / "file" / "pl", CONTENT)


# ---------------------------------------------------------------- reading: refused unless whole


def refused(folder) -> str:
    with pytest.raises(ModelError) as caught:
        read(folder)
    assert str(caught.value).startswith(str(folder))
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(folder))


@pytest.mark.parametrize("name", CONTENT.files)
@pytest.mark.parametrize("change", [lambda raw: raw[:-1], lambda raw: raw + b"\0", lambda raw: b"?" + raw[1:]])
def test_a_file_that_was_truncated_or_altered(folder, name, change):
    path = folder / name
    path.write_bytes(change(path.read_bytes()))
    found = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    expected = hashlib.sha256(CONTENT.files[name]).hexdigest()[:12]
    assert refused(folder).startswith(
        f"/{name}: altered or truncated (sha256 {found}…, expected {expected}…); train it again, or fetch it again"
    )


def test_a_file_that_is_missing(folder):
    (folder / "punct.npz").unlink()
    assert re.match(r"/punct\.npz: cannot be read \(.*No such file or directory.*\); train it again", refused(folder))


def test_a_newer_format_names_both_numbers(folder):
    rewrite_manifest(folder, format=FORMAT + 1)
    assert refused(folder) == (
        f"/model.json: format {FORMAT + 1} is newer than format {FORMAT} of this program; upgrade crfpunct."
    )


def test_an_older_format_names_both_numbers(folder):
    rewrite_manifest(folder, format=FORMAT - 1)
    assert refused(folder).startswith(f"/model.json: format {FORMAT - 1} is older than {FORMAT}, no longer read; train")


@pytest.mark.parametrize("number", [..., None, "1", 1.0, True])
def test_no_format_number(folder, number):
    rewrite_manifest(folder, format=number)
    assert refused(folder).startswith(f"/model.json: no format number in it; expected {FORMAT}; train it again")


@pytest.mark.parametrize("raw", [b"", b'{"format": 1, ', b"\xff\xfe"])
def test_a_manifest_that_is_no_json(folder, raw):
    (folder / "model.json").write_bytes(raw)
    assert refused(folder).startswith("/model.json: cannot be read (")


@pytest.mark.parametrize(
    "alter",
    [
        lambda raw: raw.replace('"pl"', '"en"'),
        lambda raw: raw.replace('"language"', '"langauge"'),
        lambda raw: raw.replace('"sha256"', '"data": null, "sha256"'),
        # A file that is no longer listed would no longer be checked.
        lambda raw: raw.replace(f'"card.md": "{hashlib.sha256(b"#").hexdigest()}",', ""),
    ],
)
def test_a_manifest_that_was_altered(folder, alter):
    raw = (folder / "model.json").read_text(encoding="utf-8")
    assert alter(raw) != raw
    (folder / "model.json").write_text(alter(raw), encoding="utf-8")
    assert refused(folder).startswith("/model.json: altered: its checksum is not the one it states; train it again")


def test_a_manifest_may_be_spelled_in_another_way(folder):
    manifest = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    (folder / "model.json").write_text(json.dumps(manifest, indent=None, sort_keys=True))
    assert read(folder) == ModelFolder(manifest, CONTENT.files)


def test_a_manifest_that_is_no_object(folder):
    (folder / "model.json").write_text("[1]")
    assert refused(folder).startswith("/model.json: no format number in it; ")


@pytest.mark.parametrize("sums", [..., None, {}, ["punct.npz"]])
def test_no_checksums(folder, sums):
    rewrite_manifest(folder, sha256=sums)
    assert refused(folder).startswith("/model.json: no checksums in it; train it again")


@pytest.mark.parametrize("name", ["../secret", "templates/../../secret", "/etc/hostname"])
def test_a_manifest_that_points_outside(folder, name):
    (folder.parent / "secret").write_bytes(b"")
    rewrite_manifest(folder, sha256={name: hashlib.sha256(b"").hexdigest()})
    assert refused(folder).startswith(f"/model.json: names a file outside the folder ({name}); ")


@pytest.mark.parametrize("name", ["a\0b", ".", "templates", "x" * 300])
def test_a_manifest_that_names_no_file(folder, name):
    rewrite_manifest(folder, sha256={name: hashlib.sha256(b"").hexdigest()})
    assert ": cannot be read (" in refused(folder)


@pytest.mark.parametrize("name", ["missing", "empty", "file"])
def test_what_is_no_model_folder(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    assert refused(tmp_path / name) == ": no model.json in it, so it is not a model folder; check the path."


def npz_of_objects() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, a=np.array([{}], dtype=object))  # what only pickle could read
    return stream.getvalue()


def npy() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.arange(3))
    return stream.getvalue()


def altered(raw, place):
    return raw[:place] + bytes([raw[place] ^ 255]) + raw[place + 1 :]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"no arrays",
        pack({"a": np.arange(9)})[:-30],
        npz_of_objects(),
        npy(),
        np.lib.format.magic(1, 0),
        altered(pack({"a": np.arange(99)}), 57),
        altered(pack({"a": np.arange(99)}), 314),
    ],
    ids=["empty", "text", "truncated", "objects", "npy", "magic alone", "deflated wrongly", "of another kind"],
)
def test_what_are_no_arrays(raw):
    with pytest.raises(
        ModelError, match=r"^a\.npz: cannot be read as arrays \(.*\); train it again, or fetch it again"
    ):
        ModelFolder({}, {"a.npz": raw}).arrays("a.npz")


def test_arrays_that_the_folder_does_not_list():
    with pytest.raises(ModelError, match=r"^punct\.npz: cannot be read as arrays \('punct\.npz'\); "):
        ModelFolder({}, {}).arrays("punct.npz")


def test_files_of_the_users_own_are_not_replaced_with_the_model(tmp_path):
    write(tmp_path / "pl", CONTENT)
    (tmp_path / "pl" / "NOTES.md").write_text("mine", encoding="utf-8")
    with pytest.raises(ModelError, match=r"holds NOTES\.md as well, which is no part of the model"):
        write(tmp_path / "pl", CONTENT, force=True)
    assert (tmp_path / "pl" / "NOTES.md").read_text(encoding="utf-8") == "mine"


def test_a_link_to_a_model_stays_a_link(tmp_path):
    write(tmp_path / "pl", CONTENT)
    (tmp_path / "link").symlink_to("pl")
    write(tmp_path / "link", CONTENT, force=True)
    assert (tmp_path / "link").is_symlink()
    assert read(tmp_path / "pl").files == read(tmp_path / "link").files
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pl"]


def test_a_manifest_nested_without_end(tmp_path):
    write(tmp_path / "pl", CONTENT)
    (tmp_path / "pl" / "model.json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(ModelError, match=r"model\.json: cannot be read"):
        read(tmp_path / "pl")
