"""The application: `Workspace` has every verb, and is what the command line and `import orbweb` call.

One module per verb holds its body. `build` is the only place that chooses concrete classes, `run` runs an engine.
Names load their modules when they are first used, because no command needs them all.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from orbweb.app.callbacks import AlsoOnHold, redacted
    from orbweb.app.failures import failures_csv
    from orbweb.app.options import (
        OPTIONS,
        CrawlOptions,
        Kind,
        Option,
        PolicyOptions,
        RecrawlOptions,
        ResumeOptions,
        RuleOptions,
        SettingsOptions,
        options_of,
    )
    from orbweb.app.pages import Page
    from orbweb.app.results.changes import (
        AddedPage,
        ChangedPage,
        FailingUrl,
        MovedPage,
        NoisyPage,
        RedirectedPage,
        RemovedPage,
        RunDiff,
    )
    from orbweb.app.results.crawls import BaseResult, CrawlResult, ExtractResult, PipelineResult, ShellPages
    from orbweb.app.results.files import (
        ConfiguredWorkspace,
        DamagedBody,
        DeletedProject,
        Deletion,
        DoctorReport,
        ImportResult,
        LostData,
        RebuiltFile,
        RenamedProject,
        ReplayResult,
        ResetWorkspace,
        UnextractedPage,
        WorkspaceDamage,
    )
    from orbweb.app.results.pages import (
        FailedUrl,
        FailureCounts,
        GonePage,
        IndexEntry,
        LinkSource,
        PageSummary,
        SearchHit,
    )
    from orbweb.app.results.plans import (
        CrawlPlan,
        PlannedBase,
        PlannedSitemap,
        PlannedSkips,
        RecrawledBase,
        RecrawlPlan,
        RefusedUrl,
        RefusedUrls,
        SkippedUrl,
        UrlSample,
    )
    from orbweb.app.results.record import Record, Report
    from orbweb.app.results.rules import EffectiveSetting, GroupRoom, PolicyVerdict, ProjectRules, ProjectSettings
    from orbweb.app.results.runs import (
        CrawlSummary,
        ParkedFamily,
        ProjectStatus,
        QueuedUrl,
        QueueStatus,
        RunBase,
        RunSummary,
        SpoolPosition,
        SpoolStatus,
    )
    from orbweb.app.results.urls import DocumentSummary, LinkEdge, PathStep, RunName, UrlDetails, UrlExplanation
    from orbweb.app.setting_sources import setting_text
    from orbweb.app.stream import AsyncPageStream, PageStream
    from orbweb.app.workspace import Workspace
    from orbweb.export import Exported
    from orbweb.store.runs import DISCOVERY

_HOMES = {
    "app.callbacks": ("AlsoOnHold", "redacted"),
    "app.options": (
        *("OPTIONS", "CrawlOptions", "Kind", "Option", "PolicyOptions", "RecrawlOptions", "ResumeOptions"),
        *("RuleOptions", "SettingsOptions", "options_of"),
    ),
    "app.failures": ("failures_csv",),
    "app.pages": ("Page",),
    "app.results.changes": (
        "AddedPage",
        "ChangedPage",
        "FailingUrl",
        "MovedPage",
        "NoisyPage",
        "RedirectedPage",
        "RemovedPage",
        "RunDiff",
    ),
    "app.results.crawls": (
        "BaseResult",
        "CrawlResult",
        "ExtractResult",
        "PipelineResult",
        "ShellPages",
    ),
    "app.results.files": (
        "ConfiguredWorkspace",
        "DamagedBody",
        "DeletedProject",
        "Deletion",
        "DoctorReport",
        "ImportResult",
        "LostData",
        "RebuiltFile",
        "RenamedProject",
        "ReplayResult",
        "ResetWorkspace",
        "UnextractedPage",
        "WorkspaceDamage",
    ),
    "app.results.pages": (
        "FailedUrl",
        "FailureCounts",
        "GonePage",
        "IndexEntry",
        "LinkSource",
        "PageSummary",
        "SearchHit",
    ),
    "app.results.plans": (
        "CrawlPlan",
        "PlannedBase",
        "PlannedSitemap",
        "PlannedSkips",
        "RecrawlPlan",
        "RecrawledBase",
        "RefusedUrl",
        "RefusedUrls",
        "SkippedUrl",
        "UrlSample",
    ),
    "app.results.record": (
        "Record",
        "Report",
    ),
    "app.results.rules": (
        "EffectiveSetting",
        "GroupRoom",
        "PolicyVerdict",
        "ProjectRules",
        "ProjectSettings",
    ),
    "app.results.runs": (
        "CrawlSummary",
        "ParkedFamily",
        "ProjectStatus",
        "QueueStatus",
        "QueuedUrl",
        "RunBase",
        "RunSummary",
        "SpoolPosition",
        "SpoolStatus",
    ),
    "app.results.urls": (
        "DocumentSummary",
        "LinkEdge",
        "PathStep",
        "RunName",
        "UrlDetails",
        "UrlExplanation",
    ),
    "app.setting_sources": ("setting_text",),
    "app.stream": ("AsyncPageStream", "PageStream"),
    "app.workspace": ("Workspace",),
    "export": ("Exported",),
    "store.runs": ("DISCOVERY",),
}

__all__ = [
    "DISCOVERY",
    "OPTIONS",
    "AddedPage",
    "AlsoOnHold",
    "AsyncPageStream",
    "BaseResult",
    "ChangedPage",
    "ConfiguredWorkspace",
    "CrawlOptions",
    "CrawlPlan",
    "CrawlResult",
    "CrawlSummary",
    "DamagedBody",
    "DeletedProject",
    "Deletion",
    "DoctorReport",
    "DocumentSummary",
    "EffectiveSetting",
    "Exported",
    "ExtractResult",
    "FailedUrl",
    "FailingUrl",
    "FailureCounts",
    "GonePage",
    "GroupRoom",
    "ImportResult",
    "IndexEntry",
    "Kind",
    "LinkEdge",
    "LinkSource",
    "LostData",
    "MovedPage",
    "NoisyPage",
    "Option",
    "Page",
    "PageStream",
    "PageSummary",
    "ParkedFamily",
    "PathStep",
    "PipelineResult",
    "PlannedBase",
    "PlannedSitemap",
    "PlannedSkips",
    "PolicyOptions",
    "PolicyVerdict",
    "ProjectRules",
    "ProjectSettings",
    "ProjectStatus",
    "QueueStatus",
    "QueuedUrl",
    "RebuiltFile",
    "Record",
    "RecrawlOptions",
    "RecrawlPlan",
    "RecrawledBase",
    "RedirectedPage",
    "RefusedUrl",
    "RefusedUrls",
    "RemovedPage",
    "RenamedProject",
    "ReplayResult",
    "Report",
    "ResetWorkspace",
    "ResumeOptions",
    "RuleOptions",
    "RunBase",
    "RunDiff",
    "RunName",
    "RunSummary",
    "SearchHit",
    "SettingsOptions",
    "ShellPages",
    "SkippedUrl",
    "SpoolPosition",
    "SpoolStatus",
    "UnextractedPage",
    "UrlDetails",
    "UrlExplanation",
    "UrlSample",
    "Workspace",
    "WorkspaceDamage",
    "failures_csv",
    "options_of",
    "redacted",
    "setting_text",
]

if not TYPE_CHECKING:
    from orbweb import lazy_attributes

    __getattr__ = lazy_attributes(__name__, _HOMES)
