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
        UnknownProject,
        UsageError,
    )
    from orbweb.events import Snapshot
    from orbweb.library import BaseResult, CrawlResult, Exported, Workspace, crawl, open  # noqa: A004

__version__ = "0.1.0"

__all__ = [
    "BaseResult",
    "Busy",
    "ConfigError",
    "CorruptBody",
    "CrawlResult",
    "DiskFull",
    "Exported",
    "NewerWorkspace",
    "NothingToDo",
    "OlderWorkspace",
    "OrbwebError",
    "Snapshot",
    "StoreError",
    "UnknownProject",
    "UsageError",
    "Workspace",
    "__version__",
    "crawl",
    "open",
]

_IN_LIBRARY = ("BaseResult", "CrawlResult", "Exported", "Workspace", "crawl", "open")


if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module 'orbweb' has no attribute {name!r}")
        from importlib import import_module

        home = "library" if name in _IN_LIBRARY else "events" if name == "Snapshot" else "errors"
        return getattr(import_module(f"orbweb.{home}"), name)
