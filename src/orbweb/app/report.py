"""The verb `report`: a run becomes one HTML file."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from orbweb import __version__
from orbweb.app import javascript
from orbweb.app.configure import check_outside
from orbweb.app.directory import OpenWorkspace
from orbweb.app.options import Kind, options_of, words_of
from orbweb.app.request import Request, configure
from orbweb.app.results.files import WrittenReport
from orbweb.app.setting_sources import SHAREABLE, setting_text, settings
from orbweb.app.settings import page_type, policy_rules
from orbweb.export.atomic_file import writing
from orbweb.export.report import facts, page
from orbweb.export.report.facts import ReportSource
from orbweb.store import runs
from orbweb.store.queries.reports import Report
from orbweb.store.runs import Project

SECTION = "environment variable "


def check_place(workspace: Path, out: Path | IO[bytes]) -> None:
    """UsageError if a report would overwrite a file of the workspace."""
    if isinstance(out, Path):
        check_outside(workspace, out)


def write_report(
    workspace: OpenWorkspace, project: str, out: Path | IO[bytes], number: int | None
) -> WrittenReport:
    """Write the report of a run to a file or a stream. The same run gives the same bytes."""
    source = source_of(workspace, project, number)
    found = facts.read(source)
    text = page.drawn(found, __version__).encode()
    with writing(out) as stream:
        stream.write(text)
    place = str(out) if isinstance(out, Path) else None
    return WrittenReport(project, source.run.number, place, found.numbers["pages"], len(text))


def source_of(workspace: OpenWorkspace, project: str, number: int | None) -> ReportSource:
    known = runs.project(workspace.db, project)
    run = runs.run_of(workspace.db, known, number)
    config, _ = configure(known, Request())
    shells = javascript.shells(workspace, run.id)
    differing = _differing(workspace, known)
    return ReportSource(
        workspace.db,
        known,
        run,
        workspace.owner(project) is not None,
        page_type(config) if policy_rules(config).page_types else None,
        (shells["count"], tuple(shells["examples"])),
        tuple(
            (each["key"], setting_text(each["key"], each["value"]), _origin(each["source"])) for each in differing
        ),
        command_of(known, differing),
        config.fetch.max_bytes,
    )


def _differing(workspace: OpenWorkspace, project: Project) -> list[Report]:
    """The settings that are not as orbweb comes, without those that belong to a machine."""
    found = settings(workspace, Request(project=project.name))["settings"]
    return [each for each in found if each["differs"] and each["key"].startswith(SHAREABLE)]


def _origin(source: str) -> str:
    """Where a value comes from, without a path of the machine."""
    return source if source.startswith(("profile ", SECTION)) else Path(source).name


def command_of(project: Project, differing: Iterable[Report]) -> str:
    """The crawl as a command. Settings without an option are left out."""
    options = {each.setting: each for each in options_of("crawl") if each.setting and each.kind is not Kind.FILE}
    given = {options[each["key"]].name: each["value"] for each in differing if each["key"] in options}
    return shlex.join(["orbweb", "crawl", *project.bases, f"--project={project.name}", *words_of(given)])
