"""The verb `import`: the state of a crawl in plain files becomes a new project with a run that can be resumed.

Everything is imported in one transaction, or nothing is. A body is taken only if it has the hash that its line
names, and is read for its links like any body. Its crawl has no `read_with`, so that a recrawl reads every
imported body again, and requests a page without one unconditionally: a 304 could not give its links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from orbweb.app.callbacks import Count
from orbweb.app.directory import OpenWorkspace, now_us
from orbweb.app.identity import request_profile
from orbweb.app.import_run import Imported, ImportRules, ImportTarget, StateImport
from orbweb.app.request import Request, configure
from orbweb.app.settings import lane_of, modes, policy_rules, processor_settings, url_rules
from orbweb.config.schema import Config
from orbweb.engine.robots_gate import origin_of
from orbweb.engine.workers.page import PageProcessor
from orbweb.errors import Busy, UsageError, option
from orbweb.export.state import robots
from orbweb.export.state.bodies import BodyFolder
from orbweb.export.state.files import ROBOTS, StateFolder
from orbweb.export.state.places import StateReader, StateSettings, StateUrl
from orbweb.export.state.problems import Problems
from orbweb.frontier import seeds
from orbweb.model import Resources
from orbweb.policy.rules import Policy
from orbweb.store import Queries, robots_cache, runs, unit_times
from orbweb.store.bodies import BodyStore
from orbweb.store.queries.reports import Report
from orbweb.store.rows import Progress
from orbweb.store.runs import Base

PORTION = 500


def import_state(
    workspace: OpenWorkspace,
    path: Path,
    *,
    project: str | None,
    bases: Sequence[str],
    bodies: Path | None,
    on_progress: Count,
) -> Report:
    """Import the state of a crawl from plain files, as a new project with a paused run."""
    problems = Problems()
    folder = StateFolder(path, problems)
    state = folder.state()
    fields = state.fields if state is not None else {}
    name = seeds.check_project_name(project or str(fields.get("project") or path.resolve().name))
    given = fields.get("settings")
    config, settings = configure(None, Request(settings=given if isinstance(given, dict) else {}))
    if runs.find_project(workspace.db, name) is not None:
        raise UsageError(
            f"project {name!r} already exists in {workspace.path}. Choose another {option('project', 'NAME')}"
        )
    intake = StateReader(folder, StateSettings(url_rules(config), lane_of(config), tuple(bases)))
    with workspace.own(name):
        if not workspace.idle_but_for(0):
            raise Busy(f"a crawl is running in {workspace.path}; import after it ends, or into another workspace")
        bases_found = [base.url for base in intake.bases]
        resources = Resources(config.resources.mode)
        profile = request_profile(config, bases_found, processor_settings(config), resources, refresh=False)
        home = ImportTarget(
            name,
            settings,
            replace(profile, read_with=None),
            ImportRules(
                url_rules(config),
                Policy(policy_rules(config), [base.scope for base in intake.bases]),
                lane_of(config),
            ),
            workspace.store(),
            _new_bodies(workspace, config),
            workspace.known_bodies(),
            now_us(),
        )
        found = BodyFolder.chosen(bodies, folder.root, problems, config.fetch.max_bytes)
        processor = PageProcessor(processor_settings(config))
        taken = _import(workspace.db, intake, home, found, processor, on_progress)
    run = workspace.run(name)
    return {
        "project": name,
        "run": run.number,
        "state": run.state.value,
        **asdict(taken),
        "repeated": intake.repeated,
        "problems": list(problems.named),
        "unnamed_problems": problems.unnamed,
        "workspace": str(workspace.path),
    }


def _new_bodies(workspace: OpenWorkspace, config: Config) -> Callable[[int], BodyStore]:
    """The body store of a new project: a new segment is added in the same transaction."""

    def store_of(project_id: int) -> BodyStore:
        store = config.store
        if store.layout == "files":
            return workspace.file_writer(project_id, modes(config), compress=store.compress)
        return workspace.new_segments(project_id, modes(config))

    return store_of


def _import(
    db: Queries,
    intake: StateReader,
    home: ImportTarget,
    bodies: BodyFolder,
    processor: PageProcessor,
    on_progress: Count,
) -> Imported:
    """Create the project, its run and everything in it. `on_progress` counts visits."""
    with db.transaction():
        project = runs.write_project(
            db, home.project, home.settings, [base.url for base in intake.bases], home.now
        )
        visited = [(each, line.instant("timestamp") or home.now) for each, line in intake.visits()]
        times = [at for _, at in visited]
        progress = Progress(
            intake.next_url,
            intake.next_rank,
            len(times) + 1,
            bool(intake.facts("scope_fixed", intake.is_begun)),
            bool(intake.facts("surveyed", intake.is_begun)),
            *(0, 0, 0, 0),
        )
        bases = [Base(number, base.url, base.scope) for number, base in enumerate(intake.bases)]
        run = runs.adopt_run(db, project, bases, progress, min(times, default=home.now), home.profile)
        store = home.bodies(project.id)
        try:
            work = StateImport(home.store.open_run(run), intake, home, bodies, processor, store)
            taken = work.write(progress, max(times, default=home.now), on_progress)
            taken.robots = _adopt_robots(db, intake, home.now)
            _adopt_times(db, run.id, intake, [each for each, _ in visited], work.next_url, home.now)
            return taken
        finally:
            store.close()


def _adopt_robots(db: Queries, intake: StateReader, now: int) -> int:
    """Store the robots.txt files of the state that are newer than those of the workspace; returns their number."""
    origins = {origin_of(f"{each.key}/") for each in intake.urls()}
    return sum(
        robots_cache.adopt(db, file)
        for line in intake.folder.lines(ROBOTS)
        for file in robots.files(line, origins, now)
    )


def _adopt_times(
    db: Queries, run_id: int, intake: StateReader, visited: Sequence[StateUrl], next_url: int, now: int
) -> None:
    """Record when each URL was found and changed; what the files do not say happened at the import, and URLs that
    only a body names were found by it."""
    found = {each.id: each.found_at or now for each in intake.urls()}
    found |= dict.fromkeys(range(intake.next_url, next_url), now)
    settled = {each.id: each.changed_at or now for each in visited}
    others = [each for each in intake.urls() if each.id not in settled]
    changed = {each.id: each.changed_at or now for each in others if each.changed_at or each.due_at}
    unit_times.adopt(db, run_id, found, list(settled.values()), changed)
