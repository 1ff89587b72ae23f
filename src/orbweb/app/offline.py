"""The verbs that ask nothing of a server: `extract`, `replay`, `retry`, `adopt`.

Always holds: the project is owned by this process while they read and write it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from orbweb import extraction
from orbweb.app import build
from orbweb.app.control import Workspace, now_us
from orbweb.app.identity import manner_of
from orbweb.app.import_state import BodyFolder, ImportTarget
from orbweb.app.import_state import adopt as adopt_state
from orbweb.app.reextract import Reextraction
from orbweb.app.request import Note, Request, configure, name_of
from orbweb.app.session import subject
from orbweb.app.settings import lane_of, processor_settings, url_rules
from orbweb.config.schema import Config
from orbweb.engine.control import signals
from orbweb.engine.workers.page import PageProcessor
from orbweb.errors import Busy, StoreError, UsageError
from orbweb.events import Reading
from orbweb.export.live.catalog import OutputSettings
from orbweb.export.live.rebuild import rebuild
from orbweb.export.state.files import StateFolder
from orbweb.export.state.places import StateReader, StateSettings
from orbweb.frontier import seeds
from orbweb.model import FailKind, Resources
from orbweb.store import runs, workspace_files
from orbweb.store.bodies import BodyStore
from orbweb.store.bodies.segments import SegmentStore
from orbweb.store.queries import outline, reports
from orbweb.store.queries.reports import Report
from orbweb.store.runs import DISCOVERY, Project, Run


def extract(
    workspace: Workspace,
    request: Request,
    *,
    number: int | None,
    everything: bool,
    watch: Callable[[Reading], None],
    note: Note,
) -> Report:
    """Read the stored pages of a run again: those that another extractor read, or all of them."""
    known = runs.project(workspace.db, name_of(workspace, request))
    if known.name.endswith(DISCOVERY):
        raise UsageError(f"project {known.name!r} keeps no bodies: there is nothing to read again")
    with workspace.own(known.name):
        config, _ = configure(known, request)
        if runs.settle_crashed(workspace.db, known.id, now_us()):
            note("the last crawl was killed; nothing it had committed is lost")
        run = runs.run_of(workspace.db, known, number)
        started = time.monotonic()
        done = asyncio.run(_extract(workspace, config, run, everything=everything, watch=watch))
        return {
            "project": known.name,
            "run": run.number,
            "extractor": extraction.VERSION,
            "pages": done.pages,
            "extracted": done.extracted,
            "failed": [{"url": url, "problem": problem} for url, problem in done.problems],
            "left": done.left,
            "seconds": round(time.monotonic() - started, 3),
            "workspace": str(workspace.path),
        }


def extract_code(report: Report) -> int:
    """What the result of an extraction tells a script."""
    return 4 if report["left"] else 3 if report["failed"] else 0


async def _extract(
    workspace: Workspace, config: Config, run: Run, *, everything: bool, watch: Callable[[Reading], None]
) -> Reextraction:
    with workspace.reader() as body:
        extraction = Reextraction(
            workspace.db,
            run.id,
            everything=everything,
            body=body,
            alone=lambda: workspace.idle_but_for(run.project_id),
            watch=watch,
        )
        settings = replace(processor_settings(config), resources=False)
        pool = await build.pool(config, settings, extraction.processed, extraction.broke)
        try:
            with signals(extraction.tell):
                await extraction.run(pool)
        finally:
            pool.close()
    return extraction


def replay(
    workspace: Workspace,
    request: Request,
    *,
    number: int | None,
    out: Path | None,
    verify: bool,
    watch: Callable[[int, int], None],
    note: Note,
) -> Report:
    """Make the files and the Markdown of a run again from what is stored; nothing is asked of a server."""
    from orbweb.export import Format

    known = runs.project(workspace.db, request.project or _only_project(workspace, number))
    with workspace.own(known.name):
        config, _ = configure(known, request)
        if runs.settle_crashed(workspace.db, known.id, now_us()):
            note("the last crawl was killed; nothing it had committed is lost")
        run, started = runs.run_of(workspace.db, known, number), time.monotonic()
        top = workspace.path if out is None else out
        told = subject(workspace, known, run, config)
        damaged = list(_damaged(workspace, run, watch)) if verify else []
        read = asyncio.run(_extract(workspace, config, run, everything=False, watch=lambda _now: None))
        everything = OutputSettings(pages=True, edges=True, metadata=True, raw=config.outputs.raw)
        files = rebuild(told, everything, top, watch)
        markdown = top / "markdown" if out is not None else top / "markdown" / told.label
        if out is None:
            workspace_files.make_directory(top, markdown.relative_to(top))
        pages = workspace.export(
            known.name, Format.MARKDOWN, markdown, run.number, rules=url_rules(config), watch=watch
        )
        return {
            "project": known.name,
            "run": run.number,
            "out": str(top),
            "visits": reports.settled(workspace.db, run.id),
            "pages": pages.pages,
            "files": [asdict(file) for file in files],
            "markdown": str(markdown),
            "verified": verify,
            "damaged": damaged,
            "failed": [{"url": url, "problem": problem} for url, problem in read.problems],
            "seconds": round(time.monotonic() - started, 3),
            "workspace": str(workspace.path),
        }


def replay_code(report: Report) -> int:
    """What the result of a replay tells a script."""
    return 3 if report["damaged"] or report["failed"] else 0


def _only_project(workspace: Workspace, number: int | None) -> str:
    """The one project of the workspace, of a pipeline the one that scrapes, or the one that has kept anything in
    such a run."""
    known = runs.projects(workspace.db)
    discoveries = {each.name + DISCOVERY for each in known}
    final = [each for each in known if each.name not in discoveries]
    filled = [each for each in known if _keeps_bodies(workspace, each, number)]
    for candidates in (known, final, filled):
        if len(candidates) == 1:
            return candidates[0].name
    names = ", ".join(each.name for each in filled or known)
    raise UsageError(f"name a PROJECT: {workspace.path} has {names or 'none yet'}")


def _keeps_bodies(workspace: Workspace, project: Project, number: int | None) -> bool:
    if project.name.endswith(DISCOVERY):
        return False
    asked = (run for run in runs.runs_of(workspace.db, project.id) if number in (None, run.number))
    return any(outline.count_bodies(workspace.db, run.id) for run in asked)


def _damaged(workspace: Workspace, run: Run, watch: Callable[[int, int], None]) -> Iterator[Report]:
    """Every visit of the run whose stored body is not what was captured; each body is read once."""
    total, known = outline.count_bodies(workspace.db, run.id), dict[bytes, str | None]()
    with workspace.reader() as read:
        for done, body in enumerate(outline.bodies(workspace.db, run.id), 1):
            if body.sha256 not in known:
                known[body.sha256] = _problem(read, body.sha256)
            problem = known[body.sha256]
            if problem is not None:
                yield {"url": body.url, "sha256": body.sha256.hex(), "problem": problem}
            watch(done, total)


def _problem(read: Callable[[bytes], bytes], sha256: bytes) -> str | None:
    try:
        read(sha256)
    except StoreError as error:
        return str(error)
    return None


def retry(workspace: Workspace, project: str, kind: str | None) -> int:
    """Queue failed URLs again, all or those of a kind; how many. Files of the run get their rows first, because a
    visit that is taken back is gone."""
    if kind is not None and kind not in list(FailKind):
        raise UsageError(f"--kind {kind!r} is not a kind of failure; use one of {', '.join(FailKind)}")
    known = runs.project(workspace.db, project)
    with workspace.own(known.name):
        build.catch_up(workspace, known, configure(known, Request())[0])
        runs.settle_crashed(workspace.db, known.id, now_us())
        return runs.retry(workspace.db, runs.run_of(workspace.db, known, None), kind, now_us())


def adopt(
    workspace: Workspace,
    path: Path,
    *,
    project: str | None,
    bases: Sequence[str],
    bodies: Path | None,
    watch: Callable[[int, int], None],
) -> Report:
    """Take over the state of a crawl that is in plain files, as a new project with a paused run."""
    folder = StateFolder(path)
    state = folder.state()
    said = state.fields if state is not None else {}
    name = seeds.check_project_name(project or str(said.get("project") or path.resolve().name))
    given = said.get("settings")
    config, settings = configure(None, Request(settings=given if isinstance(given, dict) else {}))
    if runs.find_project(workspace.db, name) is not None:
        raise UsageError(f"project {name!r} is in {workspace.path} already. Choose another name: --project NAME")
    intake = StateReader(folder, StateSettings(url_rules(config), lane_of(config), tuple(bases)))
    with workspace.own(name):
        if not workspace.idle_but_for(0):
            raise Busy(f"a crawl is running in {workspace.path}: import when it has ended, or elsewhere")
        found_at = [base.url for base in intake.bases]
        resources = Resources(config.resources.mode)
        home = ImportTarget(
            name,
            json.dumps(settings, sort_keys=True),
            manner_of(config, found_at, processor_settings(config), resources, refresh=False),
            url_rules(config),
            _new_bodies(workspace, config),
            now_us(),
        )
        found = BodyFolder(bodies or path / "bodies", config.fetch.max_bytes)
        taken = adopt_state(workspace.db, intake, home, found, PageProcessor(processor_settings(config)), watch)
    run = workspace.run(name)
    return {
        "project": name,
        "run": run.number,
        "state": run.state.value,
        **asdict(taken),
        "repeated": intake.repeated,
        "workspace": str(workspace.path),
    }


def _new_bodies(workspace: Workspace, config: Config) -> Callable[[int], BodyStore]:
    """The body store of a project that is being made: a new segment is made in the same transaction."""

    def made(project_id: int) -> BodyStore:
        if config.store.layout == "files":
            return workspace.file_writer(
                project_id, compress=config.store.compress, file_mode=config.store.file_mode
            )
        return SegmentStore(
            workspace.path / "store",
            allocate=lambda: int(workspace.db.value("add_segment", project_id=project_id)),
        )

    return made
