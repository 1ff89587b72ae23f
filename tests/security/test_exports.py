"""S6: an export stays in its folder and touches only what orbweb wrote there, whatever lies in it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from orbweb.errors import Busy, OrbwebError, StoreError, UsageError
from orbweb.export.atomic_file import replacing
from orbweb.export.folder import MANIFEST, ExportFolder

HEADER = {"project": "site", "to": "markdown"}


def written(path: Path, **files: str) -> ExportFolder:
    with ExportFolder(path, HEADER) as folder:
        for name, text in files.items():
            folder.put(name.replace("__", "/") + ".md", text.encode())
        folder.finish()
    return folder


def entry(name: str, text: str) -> str:
    return json.dumps({"file": name, "sha256": hashlib.sha256(text.encode()).hexdigest()}) + "\n"


def test_a_folder_of_others_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty and was not created by orbweb export"):
        ExportFolder(tmp_path, HEADER)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_folder_of_another_export_is_refused(tmp_path: Path) -> None:
    written(tmp_path, a="a")
    with pytest.raises(UsageError, match="contains project 'site' as markdown"):
        ExportFolder(tmp_path, {"project": "site", "to": "llms"})
    assert (tmp_path / "a.md").read_text() == "a"


def test_former_files_go_and_foreign_ones_stay(tmp_path: Path) -> None:
    written(tmp_path, a="a", old__b="b", old__deep__c="c", old2__d="d")
    (tmp_path / "old/mine.md").write_text("mine")
    (tmp_path / "old2/d.md").write_text("d, with my notes")
    again = written(tmp_path, a="a2").tally
    assert (again.written, again.removed, again.kept) == (1, 2, 1)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {MANIFEST, "a.md", "old/mine.md", "old2/d.md"}
    assert not (tmp_path / "old/deep").exists()


def test_a_file_that_somebody_changed_is_not_overwritten(tmp_path: Path) -> None:
    written(tmp_path, a="a")
    (tmp_path / "a.md").write_text("my own")
    with (
        ExportFolder(tmp_path, HEADER) as folder,
        pytest.raises(UsageError, match=r"a\.md is not what orbweb wrote"),
    ):
        folder.put("a.md", b"new")
    assert (tmp_path / "a.md").read_text() == "my own"
    assert not (tmp_path / ".orbweb-export.part").exists()


@pytest.mark.parametrize(
    "name", ["../out.md", "/etc/x.md", "a/../../x.md", "a\x00.md", "con.md", "a//b.md", MANIFEST]
)
def test_no_name_leads_out(tmp_path: Path, name: str) -> None:
    with (
        ExportFolder(tmp_path / "out", HEADER) as folder,
        pytest.raises(StoreError, match="not a valid file name"),
    ):
        folder.put(name, b"x")
    assert {path.name for path in tmp_path.rglob("*")} == {"out", MANIFEST}


def test_links_inside_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.md").write_text("secret")
    out = tmp_path / "out"
    written(out, a="a", dir__b="b")
    (out / "dir/b.md").unlink()
    (out / "dir").rmdir()
    (out / "dir").symlink_to(outside)
    (out / "a.md").unlink()
    (out / "a.md").symlink_to(outside / "b.md")
    for name in ("a.md", "dir/b.md", "dir/new.md"):
        with ExportFolder(out, HEADER) as folder, pytest.raises(OrbwebError, match="out"):
            folder.put(name, b"overwritten")
    written(out, c="c")
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"b.md": "secret"}


def test_a_former_file_behind_a_link_is_not_removed(tmp_path: Path) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    outside.mkdir()
    written(out, dir__b="b")
    (outside / "b.md").write_text("b")
    (out / "dir/b.md").unlink()
    (out / "dir").rmdir()
    (out / "dir").symlink_to(outside)
    assert written(out, c="c").tally.kept == 1
    assert (outside / "b.md").exists()


@pytest.mark.parametrize(
    "line",
    [
        entry("../victim.md", "v"),
        entry("/victim.md", "v"),
        entry("a/../../victim.md", "v"),
        '{"file": 1, "sha256": ""}\n',
        '{"file": "a.md", "sha256": "xyz"}\n',
        "[]\n",
        "no json\n",
    ],
)
def test_a_forged_manifest_removes_nothing(tmp_path: Path, line: str) -> None:
    victim = tmp_path / "victim.md"
    victim.write_text("v")
    out = tmp_path / "out"
    written(out, a="a")
    with (out / MANIFEST).open("a") as stream:
        stream.write(line)
    with pytest.raises(StoreError, match="nothing was changed"):
        ExportFolder(out, HEADER)
    assert victim.read_text() == "v"


def test_a_manifest_that_was_cut_off_loses_its_last_line_only(tmp_path: Path) -> None:
    written(tmp_path, a="a", b="b")
    manifest = tmp_path / MANIFEST
    manifest.write_bytes(manifest.read_bytes()[:-9])
    again = written(tmp_path, a="a", b="b").tally
    assert (again.unchanged, again.written) == (2, 0)
    assert written(tmp_path).tally.removed == 2


def test_a_new_name_that_differs_in_case_only_does_not_take_the_file_with_it(tmp_path: Path) -> None:
    """On a file system that ignores case both names are one file; a hard link stands for it here."""
    written(tmp_path, A="same")
    (tmp_path / "a.md").hardlink_to(tmp_path / "A.md")
    done = written(tmp_path, a="same").tally
    assert (done.unchanged, done.removed) == (1, 0)
    assert (tmp_path / "a.md").read_text() == "same"


def test_two_exports_do_not_write_to_one_place(tmp_path: Path) -> None:
    with ExportFolder(tmp_path / "out", HEADER), pytest.raises(Busy, match="another export"):
        ExportFolder(tmp_path / "out", HEADER)
    with replacing(tmp_path / "file") as stream:
        stream.write(b"x")
        with pytest.raises(Busy, match="another export"), replacing(tmp_path / "file"):
            pass
    assert (tmp_path / "file").read_bytes() == b"x"


def test_an_error_leaves_neither_file_nor_part(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "file") as stream:
        stream.write(b"x" * (1 // 0))
    with (
        pytest.raises(ZeroDivisionError),
        ExportFolder(tmp_path / "out", HEADER) as folder,
        folder.stream("a") as part,
    ):
        part.write(b"x" * (1 // 0))
    assert {path.name for path in tmp_path.rglob("*")} == {"out", MANIFEST}
