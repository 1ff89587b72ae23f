"""orbweb: a crawler that resumes exactly and explains every decision.

`import orbweb` loads only this file; a name loads its module when it is first used. The verbs are methods of
`Workspace`. Long, because every public name stands here for type checkers, for `dir` and for its module.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from os import PathLike
    from typing import Unpack

    from orbweb.app import (
        AddedPage,
        AsyncPageStream,
        BaseResult,
        ChangedPage,
        ConfiguredWorkspace,
        CrawlOptions,
        CrawlPlan,
        CrawlResult,
        CrawlSummary,
        DamagedBody,
        DeletedProject,
        Deletion,
        DoctorReport,
        DocumentSummary,
        EffectiveSetting,
        ExtractResult,
        FailedUrl,
        FailingUrl,
        FailureCounts,
        GonePage,
        GroupRoom,
        ImportResult,
        IndexEntry,
        LinkEdge,
        LinkSource,
        LostData,
        MovedPage,
        NoisyPage,
        Page,
        PageStream,
        PageSummary,
        ParkedFamily,
        PathStep,
        PipelineResult,
        PlannedBase,
        PlannedSitemap,
        PlannedSkips,
        PolicyVerdict,
        ProjectRules,
        ProjectSettings,
        ProjectStatus,
        QueuedUrl,
        QueueStatus,
        RebuiltFile,
        Record,
        RecrawledBase,
        RecrawlPlan,
        RedirectedPage,
        RefusedUrl,
        RefusedUrls,
        RemovedPage,
        RenamedProject,
        ReplayResult,
        ResetWorkspace,
        RunBase,
        RunDiff,
        RunName,
        RunSummary,
        SearchHit,
        ShellPages,
        SkippedUrl,
        SpoolPosition,
        SpoolStatus,
        StoredFiles,
        UnextractedPage,
        UrlDetails,
        UrlExplanation,
        UrlSample,
        Workspace,
        WorkspaceDamage,
        WrittenReport,
    )
    from orbweb.errors import (
        Busy,
        ConfigError,
        CorruptBody,
        DiskFull,
        ForeignFile,
        IdleScraper,
        NewerWorkspace,
        NoPage,
        NothingToDo,
        NotTrusted,
        OlderWorkspace,
        OrbwebError,
        ProxyChooserError,
        ScraperIdle,
        StoreError,
        TooComplex,
        UnknownId,
        UnknownProject,
        UsageError,
    )
    from orbweb.events import ExtractProgress, Snapshot, Visit
    from orbweb.export import Exported
    from orbweb.extraction import extract
    from orbweb.fetching import ProxyChooser
    from orbweb.model import Document, Heading
    from orbweb.parsing.elements import Element
    from orbweb.store.documents import Captured

__version__ = "0.1.0"

__all__ = [
    "AddedPage",
    "AsyncPageStream",
    "BaseResult",
    "Busy",
    "Captured",
    "ChangedPage",
    "ConfigError",
    "ConfiguredWorkspace",
    "CorruptBody",
    "CrawlPlan",
    "CrawlResult",
    "CrawlSummary",
    "DamagedBody",
    "DeletedProject",
    "Deletion",
    "DiskFull",
    "DoctorReport",
    "Document",
    "DocumentSummary",
    "EffectiveSetting",
    "Element",
    "Exported",
    "ExtractProgress",
    "ExtractResult",
    "FailedUrl",
    "FailingUrl",
    "FailureCounts",
    "ForeignFile",
    "GonePage",
    "GroupRoom",
    "Heading",
    "IdleScraper",
    "ImportResult",
    "IndexEntry",
    "LinkEdge",
    "LinkSource",
    "LostData",
    "MovedPage",
    "NewerWorkspace",
    "NoPage",
    "NoisyPage",
    "NotTrusted",
    "NothingToDo",
    "OlderWorkspace",
    "OrbwebError",
    "Page",
    "PageStream",
    "PageSummary",
    "ParkedFamily",
    "PathStep",
    "PipelineResult",
    "PlannedBase",
    "PlannedSitemap",
    "PlannedSkips",
    "PolicyVerdict",
    "ProjectRules",
    "ProjectSettings",
    "ProjectStatus",
    "ProxyChooser",
    "ProxyChooserError",
    "QueueStatus",
    "QueuedUrl",
    "RebuiltFile",
    "Record",
    "RecrawlPlan",
    "RecrawledBase",
    "RedirectedPage",
    "RefusedUrl",
    "RefusedUrls",
    "RemovedPage",
    "RenamedProject",
    "ReplayResult",
    "ResetWorkspace",
    "RunBase",
    "RunDiff",
    "RunName",
    "RunSummary",
    "ScraperIdle",
    "SearchHit",
    "ShellPages",
    "SkippedUrl",
    "Snapshot",
    "SpoolPosition",
    "SpoolStatus",
    "StoreError",
    "StoredFiles",
    "TooComplex",
    "UnextractedPage",
    "UnknownId",
    "UnknownProject",
    "UrlDetails",
    "UrlExplanation",
    "UrlSample",
    "UsageError",
    "Visit",
    "Workspace",
    "WorkspaceDamage",
    "WrittenReport",
    "__version__",
    "acrawl",
    "afetch",
    "crawl",
    "crawl_iter",
    "extract",
    "fetch",
    "open",
    "stream",
]

_HOMES = {
    "app": (
        *("AddedPage", "AsyncPageStream", "BaseResult", "ChangedPage", "ConfiguredWorkspace", "CrawlPlan"),
        *("CrawlResult", "CrawlSummary", "DamagedBody", "DeletedProject", "Deletion", "DoctorReport"),
        *("DocumentSummary", "EffectiveSetting", "ExtractResult", "FailedUrl", "FailingUrl", "FailureCounts"),
        *("GonePage", "GroupRoom", "ImportResult", "IndexEntry", "LinkEdge", "LinkSource", "LostData"),
        *("MovedPage", "NoisyPage", "Page", "PageStream", "PageSummary", "ParkedFamily", "PathStep"),
        *("PipelineResult", "PlannedBase", "PlannedSitemap", "PlannedSkips", "PolicyVerdict", "ProjectRules"),
        *("ProjectSettings", "ProjectStatus", "QueueStatus", "QueuedUrl", "RebuiltFile", "Record"),
        *("RecrawlPlan", "RecrawledBase", "RedirectedPage", "RefusedUrl", "RefusedUrls", "RemovedPage"),
        *("RenamedProject", "ReplayResult", "ResetWorkspace", "RunBase", "RunDiff", "RunName", "RunSummary"),
        *(
            "SearchHit",
            "ShellPages",
            "SkippedUrl",
            "SpoolPosition",
            "SpoolStatus",
            "StoredFiles",
            "UnextractedPage",
            "UrlDetails",
        ),
        *("UrlExplanation", "UrlSample", "Workspace", "WorkspaceDamage", "WrittenReport"),
    ),
    "errors": (
        *(
            "Busy",
            "ConfigError",
            "CorruptBody",
            "DiskFull",
            "ForeignFile",
            "IdleScraper",
            "NewerWorkspace",
            "NoPage",
            "NotTrusted",
        ),
        *("NothingToDo", "OlderWorkspace", "OrbwebError", "ProxyChooserError", "ScraperIdle", "StoreError"),
        *("TooComplex", "UnknownId", "UnknownProject", "UsageError"),
    ),
    "events": ("ExtractProgress", "Snapshot", "Visit"),
    "export": ("Exported",),
    "extraction": ("extract",),
    "fetching": ("ProxyChooser",),
    "model": ("Document", "Heading"),
    "parsing.elements": ("Element",),
    "store.documents": ("Captured",),
}


def crawl(
    urls: str | Sequence[str],
    *,
    workspace: str | PathLike[str] = "orbweb-data",
    project: str | None = None,
    on_progress: Callable[[Snapshot], None] | None = None,
    on_visit: Callable[[Visit], None] | None = None,
    on_page: Callable[[Page], None] | None = None,
    **options: Unpack[CrawlOptions],
) -> CrawlResult:
    """Crawl a site, or resume its paused run.

    `on_progress` is called several times a second, `on_visit` for each visit and `on_page` for each page when it
    is durable. An exception that they raise ends the crawl; the run can be resumed.
    """
    return open(workspace).crawl(
        urls, project=project, on_progress=on_progress, on_visit=on_visit, on_page=on_page, **options
    )


async def acrawl(
    urls: str | Sequence[str],
    *,
    workspace: str | PathLike[str] = "orbweb-data",
    project: str | None = None,
    on_progress: Callable[[Snapshot], None] | None = None,
    on_visit: Callable[[Visit], None] | None = None,
    on_page: Callable[[Page], Awaitable[None] | None] | None = None,
    **options: Unpack[CrawlOptions],
) -> CrawlResult:
    """As `crawl`, without blocking the event loop. Cancelling it stops the crawl; the run can be resumed."""
    return await open(workspace).acrawl(
        urls, project=project, on_progress=on_progress, on_visit=on_visit, on_page=on_page, **options
    )


def crawl_iter(
    urls: str | Sequence[str],
    *,
    workspace: str | PathLike[str] = "orbweb-data",
    project: str | None = None,
    cursor: str | None = None,
    after: str | None = None,
    on_progress: Callable[[Snapshot], None] | None = None,
    on_visit: Callable[[Visit], None] | None = None,
    **options: Unpack[CrawlOptions],
) -> PageStream:
    """Crawl a site, or resume its paused run, and iterate over its pages as they are committed.

    `cursor` is a name under which the workspace stores which pages were acknowledged: by `page.ack()`, or by
    requesting the next one. `after` is the `cursor` of the last page that the caller has processed. Leaving the
    loop stops the crawl.
    """
    return open(workspace).crawl_iter(
        urls,
        project=project,
        cursor=cursor,
        after=after,
        on_progress=on_progress,
        on_visit=on_visit,
        **options,
    )


def stream(
    urls: str | Sequence[str],
    *,
    workspace: str | PathLike[str] = "orbweb-data",
    project: str | None = None,
    cursor: str | None = None,
    after: str | None = None,
    on_progress: Callable[[Snapshot], None] | None = None,
    on_visit: Callable[[Visit], None] | None = None,
    **options: Unpack[CrawlOptions],
) -> AsyncPageStream:
    """As `crawl_iter`, for `async for`. Cancelling the task that waits for a page stops the crawl."""
    return open(workspace).stream(
        urls,
        project=project,
        cursor=cursor,
        after=after,
        on_progress=on_progress,
        on_visit=on_visit,
        **options,
    )


def fetch(url: str, *, workspace: str | PathLike[str] = "orbweb-data", **options: Unpack[CrawlOptions]) -> Page:
    """One page, requested as in a crawl; NoPage if there is none. Nothing is stored.

    The rate limits of the workspace apply, if it exists.
    """
    return open(workspace).fetch(url, **options)


async def afetch(
    url: str, *, workspace: str | PathLike[str] = "orbweb-data", **options: Unpack[CrawlOptions]
) -> Page:
    """As `fetch`, without blocking the event loop."""
    return await open(workspace).afetch(url, **options)


def open(workspace: str | PathLike[str] = "orbweb-data") -> Workspace:  # noqa: A001
    """A workspace. Its directory is created by the first crawl."""
    from pathlib import Path

    from orbweb.app import Workspace

    return Workspace(Path(workspace))


if not TYPE_CHECKING:

    def lazy_attributes(package, homes):
        """The `__getattr__` of a package whose names load their modules of orbweb when they are first used."""

        def load(name):
            from importlib import import_module

            home = next((home for home, names in homes.items() if name in names), None)
            if home is None:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            return getattr(import_module(f"orbweb.{home}"), name)

        return load

    __getattr__ = lazy_attributes(__name__, _HOMES)

    def __dir__():
        return __all__

    class CompiledModules:
        """Finds the modules that are compiled into the library of their package (hatch_build.py).

        The last of the finders, so no import that succeeds elsewhere gets here.
        """

        PACKAGES = frozenset({"orbweb.extraction", "orbweb.parsing.html"})
        LIBRARY = "_compiled"

        @classmethod
        def find_spec(cls, name, _path=None, _target=None):
            package, _, module = name.rpartition(".")
            if package not in cls.PACKAGES or module == cls.LIBRARY:
                return None
            from importlib import import_module
            from importlib.machinery import ExtensionFileLoader
            from importlib.util import spec_from_file_location

            library = import_module(f"{package}.{cls.LIBRARY}")
            if module not in library.MODULES.split():
                return None
            return spec_from_file_location(name, loader=ExtensionFileLoader(name, library.__file__))

    import sys

    sys.meta_path.append(CompiledModules)
