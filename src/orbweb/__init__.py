"""orbweb: a crawler that never loses its place and tells why it did what it did.

Owns the names a program imports. Always holds: `import orbweb` loads nothing more of it than this file; a name
loads its module when it is first asked for. What the names do is told in `orbweb.library`.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from orbweb.errors import (
        Busy,
        ConfigError,
        CorruptBody,
        DiskFull,
        NewerWorkspace,
        NothingToDo,
        OlderWorkspace,
        OrbwebError,
        StoreError,
        TooComplex,
        UnknownProject,
        UsageError,
    )
    from orbweb.events import Reading, Snapshot
    from orbweb.extraction import extract
    from orbweb.library import BaseResult, CrawlResult, Exported, ExtractResult, Workspace, crawl, open  # noqa: A004
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
    "ExtractResult",
    "ForeignFile",
    "Heading",
    "NewerWorkspace",
    "NotTrusted",
    "NothingToDo",
    "OlderWorkspace",
    "OrbwebError",
    "Reading",
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
    "errors": (
        *("Busy", "ConfigError", "CorruptBody", "DiskFull", "ForeignFile", "NewerWorkspace", "NotTrusted"),
        *("NothingToDo", "OlderWorkspace", "OrbwebError", "StoreError", "TooComplex", "UnknownProject"),
        "UsageError",
    ),
    "library": ("BaseResult", "CrawlResult", "Exported", "ExtractResult", "Workspace", "crawl", "open"),
    "events": ("Reading", "Snapshot"),
    "model": ("Document", "Heading"),
    "extraction": ("extract",),
    "store.documents": ("Captured",),
}


if not TYPE_CHECKING:

    def late(package, homes):
        """The `__getattr__` of a package whose names load their modules when they are first asked for."""

        def ask(name):
            from importlib import import_module

            home = next((home for home, names in homes.items() if name in names), None)
            if home is None:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            return getattr(import_module(f"{package}.{home}"), name)

        return ask

    __getattr__ = late(__name__, _HOMES)

    def __dir__():
        return __all__
