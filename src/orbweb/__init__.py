"""orbweb: a crawler that resumes exactly and explains every decision.

`import orbweb` loads only this file; a name loads its module when it is first used. The verbs are methods of
`Workspace`.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import Unpack

    from orbweb.app import BaseResult, CrawlOptions, CrawlResult, ExtractResult, PipelineResult, Workspace
    from orbweb.errors import (
        Busy,
        ConfigError,
        CorruptBody,
        DiskFull,
        ForeignFile,
        NewerWorkspace,
        NothingToDo,
        NotTrusted,
        OlderWorkspace,
        OrbwebError,
        ScraperIdle,
        StoreError,
        TooComplex,
        UnknownProject,
        UsageError,
    )
    from orbweb.events import ExtractProgress, Snapshot
    from orbweb.export import Exported
    from orbweb.extraction import extract
    from orbweb.model import Document, Heading
    from orbweb.store.documents import Captured

__version__ = "0.1.0"

__all__ = [
    "BaseResult",
    "Busy",
    "Captured",
    "ConfigError",
    "CorruptBody",
    "CrawlResult",
    "DiskFull",
    "Document",
    "Exported",
    "ExtractProgress",
    "ExtractResult",
    "ForeignFile",
    "Heading",
    "NewerWorkspace",
    "NotTrusted",
    "NothingToDo",
    "OlderWorkspace",
    "OrbwebError",
    "PipelineResult",
    "ScraperIdle",
    "Snapshot",
    "StoreError",
    "TooComplex",
    "UnknownProject",
    "UsageError",
    "Workspace",
    "__version__",
    "crawl",
    "extract",
    "open",
]

_HOMES = {
    "app": ("BaseResult", "CrawlResult", "ExtractResult", "PipelineResult", "Workspace"),
    "errors": (
        *("Busy", "ConfigError", "CorruptBody", "DiskFull", "ForeignFile", "NewerWorkspace", "NotTrusted"),
        *("NothingToDo", "OlderWorkspace", "OrbwebError", "ScraperIdle", "StoreError", "TooComplex"),
        *("UnknownProject", "UsageError"),
    ),
    "events": ("ExtractProgress", "Snapshot"),
    "export": ("Exported",),
    "extraction": ("extract",),
    "model": ("Document", "Heading"),
    "store.documents": ("Captured",),
}


def crawl(
    urls: str | Sequence[str],
    *,
    workspace: str | PathLike[str] = "orbweb-data",
    project: str | None = None,
    on_progress: Callable[[Snapshot], None] | None = None,
    **options: Unpack[CrawlOptions],
) -> CrawlResult:
    """Crawl a site, or resume its paused run.

    `on_progress` is called several times a second. An exception that it raises ends the crawl; the run can be
    resumed.
    """
    return open(workspace).crawl(urls, project=project, on_progress=on_progress, **options)


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
