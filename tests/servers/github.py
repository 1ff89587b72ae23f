"""A small site that is built like github.com: topics, repositories with files, issues and pull requests, and on
every page the frame of links that nobody should follow."""

from __future__ import annotations

from dataclasses import dataclass, field

from servers.site import NOT_FOUND, Answer, Request, html, redirect, text

ROBOTS = "User-agent: *\nDisallow: /*/*/wiki/Private\n"
FRAME = (
    "/", "/login?return_to=%2F", "/signup", "/search?q=x", "/features/actions", "/pricing", "/settings/profile",
    "/notifications", "/marketplace", "/sponsors/ann", "https://gist.github.com/ann/1", "https://docs.github.com/en",
    "https://raw.githubusercontent.com/ann/lib/main/README.md", "https://github.com.evil.test/ann/lib",
    "http://github.com/ann/lib",
)  # fmt: skip
PARTS = (
    "tree/main", "commits/main", "actions", "stargazers", "network/members", "branches", "tags", "labels/bug",
    "issues/new", "pull/1/files", "raw/main/README.md", "blame/main/README.md", "archive/main.zip", "settings",
)  # fmt: skip
ISSUES = 9
FILES = ("README.md", "src/main.py", "docs/guide.md", "logo.png")


@dataclass(frozen=True)
class GitHubSite:
    """`repositories` in the order in which the topic lists them; one of them has moved."""

    repositories: tuple[str, ...] = ("ann/lib", "bob/tool")
    delay_s: float = 0.0
    pages: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pages = self.pages
        pages["/topics"] = ["/topics/crawler", "/topics/crawler?o=desc"]
        listed = [f"/{name}" for name in self.repositories]
        pages["/topics/crawler"] = [*listed, "/old/name", f"{listed[0].upper()}/issues/1", "/ann"]
        for name in listed:
            pages[name] = [
                *(f"{name}/blob/main/{file}" for file in FILES),
                *(f"{name}/{part}" for part in PARTS),
                f"{name}/issues",
                f"{name}/pulls?q=is%3Aopen",
                f"{name}/releases",
                f"{name}/wiki",
                f"{name}.git",
            ]
            pages.update({f"{name}/blob/main/{file}": [] for file in FILES})
            pages[f"{name}/issues"] = [f"{name}/issues/{number}?tab=x" for number in range(1, ISSUES + 1)]
            pages.update({f"{name}/issues/{number}": [name] for number in range(1, ISSUES + 1)})
            pages[f"{name}/pulls"] = [f"{name}/pull/1", f"{name}/pull/1.diff"]
            pages[f"{name}/pull/1"] = [f"{name}/pull/1/commits"]
            pages[f"{name}/releases"] = [f"{name}/releases/tag/v1", f"{name}/releases/download/v1/a.zip"]
            pages[f"{name}/releases/tag/v1"] = []
            pages[f"{name}/wiki"] = [f"{name}/wiki/Private", f"{name}/wiki/_history"]

    def answer(self, request: Request) -> Answer:
        path = request.path
        if path == "/robots.txt":
            return text(ROBOTS)
        if path == "/old/name":
            return redirect(f"/{self.repositories[-1]}")
        if path not in self.pages:
            return NOT_FOUND
        links = "".join(f'<li><a href="{link}">{link}</a></li>' for link in (*FRAME, *self.pages[path]))
        return html(
            f"<title>{path}</title><main><p>This is {path}.</p></main><ul>{links}</ul>", delay_s=self.delay_s
        )

    def expected(self) -> dict[str, str]:
        """Each path that may be asked for, with its page type: a repository has five issues by its cap."""
        found = {"/topics": "topic", "/topics/crawler": "topic", "/old/name": "repo_root"}
        for number, repository in enumerate(self.repositories):
            name = f"/{repository}"
            found[name] = "repo_root"
            found |= {f"{name}/blob/main/{file}": "blob" for file in FILES if not file.endswith(".png")}
            found[f"{name}/issues"] = "issues"
            # The first repository's cap has been used once already, by the issue that the topic links to.
            found |= {f"{name}/issues/{issue}": "issues" for issue in range(1, 4 + (number > 0))}
            found |= {f"{name}/pulls": "pull", f"{name}/pull/1": "pull"}
            found |= {
                f"{name}/releases": "releases",
                f"{name}/releases/tag/v1": "releases",
                f"{name}/wiki": "wiki",
            }
        found[f"/{self.repositories[0].upper()}/issues/1"] = "issues"
        return found
