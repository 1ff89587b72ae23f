"""Hooks of MkDocs: the site is made of the same files that a code host shows.

The navigation is read from the README of each directory, so a page is listed once. Links to other files of the
repository (tests, sources, the changelog) lead to pages made of them. `make site-docs` supplies the scripts, not a
CDN.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import navigation
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from navigation import LINK, ROOT, SOURCE

SCRIPTS = ROOT / ".venv/site/scripts"
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
SEARCH_BOOST = {"how-to": 2, "recipes": 2, "decisions": 0.5, SOURCE: 0.5}
LANGUAGES = {".py": "python", ".toml": "toml", ".sql": "sql", ".yaml": "yaml", ".yml": "yaml"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.mdx_configs["toc"]["slugify"] = navigation.slug
    config.nav = navigation.nav()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the other files of the repository that pages link to, and what these link to."""
    waiting = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    seen = set(waiting)
    for path in waiting:
        for target in _targets(path):
            if target not in seen and _page_uri(target).startswith(SOURCE) and (ROOT / target).exists():
                seen.add(target)
                waiting.append(target)
                files.append(_made(target, config))
    for script in sorted(SCRIPTS.glob("*.js")):
        files.append(File.generated(config, f"assets/{script.name}", abs_src_path=str(script)))
    return files


def _targets(path: str) -> Iterator[str]:
    if (ROOT / path).is_dir():
        yield from _files(path)
    if not path.endswith(".md"):
        return
    text = FENCE.sub("", (ROOT / path).read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        yield _resolved(path, target)


def _files(directory: str) -> list[str]:
    return sorted(f"{directory}/{each.name}" for each in (ROOT / directory).iterdir() if each.is_file())


def _resolved(path: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _made(path: str, config: MkDocsConfig) -> File:
    """A page for a file or directory of the repository: Markdown as it is, anything else as a listing."""
    if (ROOT / path).is_dir():
        names = [each.rpartition("/")[2] for each in _files(path)]
        listing = f"# {path}\n\n" + "\n".join(f"- [{name}]({name}.md)" for name in names)
        return File.generated(config, _page_uri(path), content=listing, inclusion=InclusionLevel.NOT_IN_NAV)
    if path.endswith(".md"):
        return File.generated(config, f"{SOURCE}/{path}", content=(ROOT / path).read_text(encoding="utf-8"))
    if path.endswith(".svg"):
        return File.generated(config, f"{SOURCE}/{path}", abs_src_path=str(ROOT / path))
    text = (ROOT / path).read_text(encoding="utf-8")
    language = LANGUAGES.get(Path(path).suffix, "text")
    listing = f"---\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n# {path}\n\n~~~~~{language}\n{text}\n~~~~~\n"
    return File.generated(config, _page_uri(path), content=listing, inclusion=InclusionLevel.NOT_IN_NAV)


def _page_uri(path: str) -> str:
    """Where the site has a file or directory of the repository."""
    if (ROOT / path / "README.md").is_file():
        return _page_uri(f"{path}/README.md")
    if (ROOT / path).is_dir():
        return f"{SOURCE}/{path}/README.md"
    shown_as_it_is = path.endswith((".md", ".svg"))
    if path.startswith("docs/") and shown_as_it_is:
        return path.removeprefix("docs/")
    return f"{SOURCE}/{path}" if shown_as_it_is else f"{SOURCE}/{path}.md"


def on_page_markdown(markdown: str, page: Page, files: Files, **_: object) -> str:
    """Let links to and from other files of the repository lead to the pages made of them."""
    uri = page.file.src_uri
    page.meta.setdefault("search", {"boost": SEARCH_BOOST.get(uri.partition("/")[0], 1)})
    if uri.startswith(f"{SOURCE}/") and not (ROOT / uri.removeprefix(f"{SOURCE}/")).is_file():
        return markdown
    path = uri.removeprefix(f"{SOURCE}/") if uri.startswith(f"{SOURCE}/") else f"docs/{uri}"

    def moved(match: re.Match[str]) -> str:
        target = _page_uri(_resolved(path, match[1]))
        return posixpath.relpath(target, posixpath.dirname(uri)) if files.get_file_from_path(target) else match[1]

    parts = re.split(r"(^```.*?^```\s*$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(moved, part) for part in parts)


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Load the library for diagrams where there is one, before the theme looks for it and asks a CDN."""
    if 'class="mermaid"' not in output:
        return output
    script = posixpath.relpath("assets/mermaid.min.js", posixpath.dirname(page.url) or ".")
    return output.replace("</head>", f'<script src="{script}"></script>\n</head>', 1)
