"""The keys of the interface, in one list: for the page that shows them and for the dialog. The module `keys.js`
acts on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """A key, or a sequence of keys, and what it does."""

    keys: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class KeyGroup:
    """The keys of one kind of page."""

    name: str
    keys: tuple[Key, ...]


KEYS = (
    KeyGroup(
        "Everywhere",
        (
            Key(("?",), "all keys"),
            Key(("/",), "search"),
            Key(("n",), "new crawl"),
            Key(("j", "k"), "next, previous row"),
            Key(("Enter",), "open the row"),
            Key(("[", "]"), "previous, next page of a list"),
            Key(("f",), "filter"),
            Key(("e",), "export"),
            Key(("Esc",), "leave a field"),
        ),
    ),
    KeyGroup(
        "Go to",
        (
            Key(("g", "o"), "overview"),
            Key(("g", "l"), "live"),
            Key(("g", "p"), "pages"),
            Key(("g", "f"), "failed"),
            Key(("g", "q"), "queue"),
            Key(("g", "s"), "skipped"),
            Key(("g", "c"), "changes"),
            Key(("g", "m"), "map"),
            Key(("g", "t"), "settings"),
        ),
    ),
    KeyGroup(
        "On one kind of page",
        (
            Key(("p",), "live: pause or unpause"),
            Key(("s",), "live: stop"),
            Key(("r",), "failed: retry"),
            Key(("1", "7"), "page: tabs"),
            Key(("←", "→"), "page: previous, next run"),
            Key(("y",), "page: copy Markdown"),
            Key(("J", "K"), "changes: next, previous hunk"),
            Key(("x",), "changes: seen"),
        ),
    ),
)
