"""Pictures as a reader sees them, and links in the place of what plays or is embedded.

Never: keeps a picture that shows nothing, or a link that leads nowhere.
"""

from __future__ import annotations

import re

from turbohtml import Element, Text

FILMS = {"iframe": "embedded page", "video": "video", "audio": "audio", "embed": "embedded file"}
_LAZY = ("data-src", "data-original", "data-lazy-src", "data-srcset", "srcset")

no_target = re.compile(r"\s*(?:javascript|vbscript|data|about|file|blob):", re.IGNORECASE).match
"""What leads to nothing that can be fetched."""
_is_spacer = re.compile(
    r"(?:spacer|blank|pixel|transparent|1x1|clear)\.(?:gif|png)(?:\?.*)?$", re.IGNORECASE
).search


def shape(root: Element) -> int:
    """Pictures that load late get their source, signs become text, dots and spacers go. How many there were."""
    pictures = list(root.iter_elements("img"))
    for picture in pictures:
        source = picture.attr("src") or ""
        if not source or source.startswith("data:"):
            source = next((found for name in _LAZY if (found := _first_source(picture.attr(name)))), "")
            if source:
                picture.attrs["src"] = source
        if picture.has_class("emoji") and (sign := picture.attr("alt")):
            picture.replace_with(Text(sign))
        elif not source or source.startswith("data:") or _is_spacer(source) or _is_dot(picture):
            picture.decompose()
    return len(pictures)


def _first_source(value: str | None) -> str:
    words = value.split(None, 1) if value else []
    return words[0].rstrip(",") if words and not words[0].startswith("data:") else ""


def _is_dot(picture: Element) -> bool:
    return any(
        (picture.attr(name) or "").strip().removesuffix("px") in ("0", "1", "2") for name in ("width", "height")
    )


def films(root: Element) -> int:
    """What plays or embeds becomes a link to it. How many there were."""
    films = list(root.iter_elements(tuple(FILMS)))
    for film in films:
        source = film.attr("src")
        if source is None and (inner := film.select_one("source[src]")) is not None:
            source = inner.attr("src")
        if not source or no_target(source):
            film.decompose()
            continue
        link = Element("a", {"href": source})
        link.set_text(film.attr("title") or film.attr("aria-label") or FILMS[film.tag])
        film.replace_with(Element("div", children=(link,)))
    return len(films)
