"""The Dockerfile and the release workflow, as far as they can be checked without Docker and GitHub."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = {
    *("ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "FROM", "RUN", "USER", "VOLUME", "WORKDIR"),
}


@dataclass
class Stage:
    """A stage of a Dockerfile: where it starts from, and its instructions."""

    base: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def values(self, instruction: str) -> list[str]:
        return [value for name, value in self.instructions if name == instruction]


def parsed(text: str) -> list[Stage]:
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    stages: list[Stage] = []
    for line in filter(None, lines.replace("\\\n", " ").splitlines()):
        instruction, value = line.split(maxsplit=1)
        assert instruction in INSTRUCTIONS, line
        if instruction == "FROM":
            named = re.fullmatch(r"(\S+) AS (\w+)", value)
            assert named, line
            stages.append(Stage(named[1], named[2]))
        elif stages:
            stages[-1].instructions.append((instruction, value))
        else:
            assert instruction == "ARG", line
    return stages


STAGES = {stage.name: stage for stage in parsed((ROOT / "Dockerfile").read_text())}


def lineage(stage: Stage) -> list[Stage]:
    """A stage and those it is built on, the lowest first."""
    return [*(lineage(STAGES[stage.base]) if stage.base in STAGES else []), stage]


def test_the_default_image_has_no_browser() -> None:
    assert list(STAGES)[-1] == "plain"
    assert "chromium" not in "".join(
        value for stage in lineage(STAGES["plain"]) for _, value in stage.instructions
    )
    assert "chromium-headless-shell" in STAGES["browser"].values("RUN")[0]


@pytest.mark.parametrize("name", ["plain", "browser"])
def test_an_image_runs_orbweb_as_a_user_without_rights(name: str) -> None:
    stages = lineage(STAGES[name])
    assert [stage.values("USER") for stage in stages] == [[], ["orbweb"]]
    assert STAGES[name].instructions[-1] == ("USER", "orbweb")
    assert stages[0].values("ENTRYPOINT") == ['["orbweb"]']
    assert stages[0].values("VOLUME") == ["/data"]
    assert "gcc" not in "".join(value for stage in stages for _, value in stage.instructions)


def test_images_are_of_a_named_release() -> None:
    outside = {stage.base for stage in STAGES.values()} - set(STAGES)
    assert outside == {"python:${PYTHON}-slim-${DEBIAN}"}


def test_everything_that_is_copied_exists_and_is_sent_to_docker() -> None:
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for stage in STAGES.values():
        for value in stage.values("COPY"):
            if value.startswith("--from="):
                assert value.removeprefix("--from=").split()[0] in STAGES
                continue
            for source in value.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert source.partition("/")[0] in sent, source


def test_a_build_has_everything_that_pyproject_names() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    copied = {word for value in STAGES["build"].values("COPY") for word in value.split()[:-1]}
    assert {told["project"]["readme"], *told["project"]["license-files"], "hatch_build.py", "src"} <= copied


def workflow() -> Any:
    return yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())


def test_the_workflow_pins_its_actions_and_stores_no_secret() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    used = [step["uses"] for job in workflow()["jobs"].values() for step in job["steps"] if "uses" in step]
    assert used
    assert [
        each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@(?:v\d+\.\d+\.\d+|[0-9a-f]{40})", each)
    ] == []
    assert "secrets." not in text
    assert workflow()["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert workflow()["permissions"] == {"contents": "read"}


def test_wheels_are_built_for_every_python_that_is_supported() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = {line.rpartition(" ")[2] for line in told["project"]["classifiers"] if "Python :: 3." in line}
    built = told["tool"]["cibuildwheel"]["build"].split()
    assert {f"cp{version.replace('.', '')}-*" for version in named} <= set(built)
