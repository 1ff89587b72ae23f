"""The application: `Workspace` has every verb, and is what the command line and `import orbweb` call.

One module per verb holds its body. `build` is the only place that chooses concrete classes, `run` runs an engine.
Names load their modules when they are first used, because no command needs them all.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from orbweb.app.callbacks import redacted
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
    from orbweb.app.results.crawls import BaseResult, CrawlResult, ExtractResult, PipelineResult
    from orbweb.app.results.files import Deletion
    from orbweb.app.results.plans import RecrawlPlan
    from orbweb.app.results.record import Record, Report
    from orbweb.app.results.urls import UrlDetails
    from orbweb.app.setting_sources import setting_text
    from orbweb.app.stream import AsyncPageStream, PageStream
    from orbweb.app.workspace import Workspace
    from orbweb.export import Exported

_HOMES = {
    "app.callbacks": ("redacted",),
    "app.options": (
        *("OPTIONS", "CrawlOptions", "Kind", "Option", "PolicyOptions", "RecrawlOptions", "ResumeOptions"),
        *("RuleOptions", "SettingsOptions", "options_of"),
    ),
    "app.failures": ("failures_csv",),
    "app.pages": ("Page",),
    "app.results.crawls": ("BaseResult", "CrawlResult", "ExtractResult", "PipelineResult"),
    "app.results.files": ("Deletion",),
    "app.results.plans": ("RecrawlPlan",),
    "app.results.record": ("Record", "Report"),
    "app.results.urls": ("UrlDetails",),
    "app.setting_sources": ("setting_text",),
    "app.stream": ("AsyncPageStream", "PageStream"),
    "app.workspace": ("Workspace",),
    "export": ("Exported",),
}

__all__ = [
    "OPTIONS",
    "AsyncPageStream",
    "BaseResult",
    "CrawlOptions",
    "CrawlResult",
    "Deletion",
    "Exported",
    "ExtractResult",
    "Kind",
    "Option",
    "Page",
    "PageStream",
    "PipelineResult",
    "PolicyOptions",
    "Record",
    "RecrawlOptions",
    "RecrawlPlan",
    "Report",
    "ResumeOptions",
    "RuleOptions",
    "SettingsOptions",
    "UrlDetails",
    "Workspace",
    "failures_csv",
    "options_of",
    "redacted",
    "setting_text",
]

if not TYPE_CHECKING:
    from orbweb import lazy_attributes

    __getattr__ = lazy_attributes(__name__, _HOMES)
