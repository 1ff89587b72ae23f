"""Documents that grow: what nests, what repeats and what it carries are drawn by a seed, and a size fills them.

Always: the same seed and size give the same bytes; the bytes of a shape are about as many as the size. The parts
are those that can multiply: nesting, formatting, lists, tables, links, headings, code, formulas, notes, metadata
and attributes. A number stands for `{n}`, another one each time, so that no two are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from random import Random

INLINE = (
    *("<b>", "<i>", "<em>", "<strong>", "<s>", "<del>", "<u>", "<font color={n}>", "<b id={n}>", "<i a{n}>"),
    *("<code>", "<kbd>", "<tt>", "<q>", "<sup>", "<sub>", "<small>", "<mark>", "<span>", "<span class=c{n}>"),
    *("<a href=x{n}>", "<a href=#f{n}>", "<a name=f{n}>", "<nobr>", "<ruby>x<rt>", "<abbr title=y{n}>"),
    *("<span style='font-weight:bold'>", "<span style='display:none'>", "<span class=math>", "<label>"),
)
BLOCKS = (
    *("<div>", "<p>", "<section>", "<article>", "<main>", "<center>", "<blockquote>", "<ul><li>", "<ol><li>"),
    *("<ol start=999999999><li>", "<dl><dt>x<dd>", "<dl><dt>", "<table><tr><td>", "<table><tr><th>x<td>"),
    *("<table><caption>", "<details><summary>", "<details><summary>x</summary>", "<figure><figcaption>"),
    *("<h1>", "<h2><div>", "<h3 id=h{n}>", "<pre>", "<pre><code class=language-x{n}>", "<div class=note>"),
    *("<div class=highlight><pre>", "<fieldset><legend>", "<aside>", "<nav>", "<header>", "<form>", "<button>"),
    *("<div role=table><div role=row><div role=cell>", "<div style='white-space:pre'>", "<div hidden>"),
    *("<div class=admonition><p class=admonition-title>x</p>", "<li>", "<dd>", "<svg><g>", "<math><mrow>"),
    *("<math><msup><mi>x</mi>", "<div class=MathJax>", "<object>", "<select><option>", "<template>", "<menu>"),
    *("<div class='c{n} d{n}'>", "<div id=i{n}>", "<td>", "<tr><td>", "<tbody><tr><td>", "<body a{n}=1>"),
)
UNITS = (
    *(
        "x",
        "x ",
        "x\n",
        "words of a sentence, ",
        "*_`[<&\\",
        "> - 1. # ",
        "&amp;",
        "&nbsp;",
        "|",
        "`",
        "\\",
        "$x$",
    ),
    *("<br>", "<hr>", "<p>x", "<p>", "</p>", "<li>x", "<td>x", "<tr><td>x", "<tr><td>x<td>y", "<th>x", "<dd>x"),
    *(
        "<dt>x",
        "<h2>x</h2>",
        "<h2 id=h{n}>x</h2>",
        "<a href=x{n}>y</a>",
        "<a href=x>y</a>",
        "<a href='#f{n}'>1</a>",
    ),
    *("<img src=x{n} alt=y>", "<img src=x alt='y{n}'>", "<img src='data:image/png;base64,AAAA'>", "<b>x</b>"),
    *("<b>x</b>y", "x<i>y</i>", "<code>x</code>", "<code>`{n}</code>", "<pre>x\ny</pre>", "<pre>`````</pre>"),
    *("<math><mi>x</mi></math>", "<math><annotation encoding='application/x-tex'>x</annotation></math>"),
    *(
        "<td colspan=1000 rowspan=1000>x",
        "<tr><td rowspan=65534>x",
        "<td colspan=9>x",
        "<sup><a href='#f'>1</a></sup>",
    ),
    *("<li id=f{n}>x<a href='#r{n}'>^</a>", "<input value=y{n}>", "<option>x", "<script>x</script>", "<!--x-->"),
    *("</b>", "</i>", "</a>", "</div>", "</table>", "</h1>", "</li>", "</blockquote>", "</font>", "</template>"),
    *("<b>", "<a href=x{n}>", "<font size={n}>", "<div>", "<ul>", "<table>", "<html a{n}=1>", "<body b{n}=1>"),
    *(
        "<blockquote>x</blockquote>",
        "<ul><li>x</ul>",
        "<div class=c{n}>x</div>",
        "<div style=display:none>x</div>",
    ),
    *(
        "<meta name=author content=y{n}>",
        "<meta property=og:title content=y{n}>",
        "<link rel=canonical href=x{n}>",
    ),
    *('<script type=application/ld+json>{{"author":"y{n}"}}</script>', "<time datetime=2020>x</time>", "<p>x{n}"),
    *(
        "<base href=x{n}/>",
        "<title>y{n}</title>",
        "<style>a{{b:url(x{n})}}</style>",
        "<link rel=stylesheet href=x{n}>",
    ),
)
DEPTHS = (0, 1, 8, 60, 400, 1_000)
HEADS = ("", "", "", "<base href='/{long}/'>", "<title>{long}</title>", "<meta name=description content='{long}'>")
LONG = "l" * 1_500
NESTED = 4_000
"""Characters of what nests before the unit is repeated."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a page is made of: it begins, nests each of some parts so many times, and repeats a unit to its end."""

    head: str
    nested: tuple[tuple[str, int], ...]
    unit: str
    ending: str

    def page(self, size: int) -> str:
        """The page of about this many characters: what nests first is the same whatever the size."""
        numbers = count()
        parts, room = [self.head], NESTED
        for part, depth in self.nested:
            times = min(depth, room // len(part))
            parts.extend(_numbered(part, numbers) for _ in range(times))
            room -= times * len(part)
        used = sum(map(len, parts)) + len(self.ending)
        while used < size or len(parts) == 1:
            parts.append(_numbered(self.unit, numbers))
            used += len(parts[-1])
        return "".join((*parts, self.ending))


def shape(seed: int) -> Shape:
    """The shape that a seed draws."""
    drawn = Random(seed)
    nested = [(drawn.choice(BLOCKS + INLINE), drawn.choice(DEPTHS)) for _ in range(drawn.choice((0, 1, 1, 2, 3)))]
    unit = "".join(drawn.choice(UNITS + BLOCKS + INLINE) for _ in range(drawn.choice((1, 1, 2, 2, 3, 4))))
    head = drawn.choice(HEADS).replace("{long}", LONG) + drawn.choice(("", "", "<main>", "<table>"))
    return Shape(head, tuple(nested), unit, drawn.choice(("", "", "x", "</b>x", "</table>")))


def _numbered(part: str, numbers: count[int]) -> str:
    return part.format(n=next(numbers)) if "{" in part else part


SITEMAP = (
    *(
        "<url>",
        "</url>",
        "<loc>",
        "</loc>",
        "<loc>http://h/{n}</loc>",
        "<url><loc>http://h/{n}</loc></url>",
        "x",
        " ",
    ),
    *(
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<!",
        "[",
        "]",
        ">",
        "<",
        "&amp;",
        "&#{n};",
        "&",
        '"',
        "'",
        "<a b='",
        '<a b="',
    ),
    *(
        "<lastmod>2020</lastmod>",
        "<image:loc>x</image:loc>",
        "<urlset>",
        "</urlset>",
        "<?x",
        "?>",
        "http://h/{n}\n",
        "\n",
    ),
    *(
        "<item><link>http://h/{n}</link>",
        "<entry><link href='http://h/{n}'/>",
        "<url><loc><![CDATA[http://h/{n}]]></loc>",
    ),
)
SITEMAP_ROOTS = (
    "<urlset>",
    "<sitemapindex>",
    "<rss><channel>",
    "<feed>",
    "",
    "<?xml version='1.0'?><!DOCTYPE x [",
)
CSS = (
    *(
        "url(x{n})",
        "url('x{n}')",
        "url(",
        "url('",
        "src(",
        "image-set(",
        "-webkit-image-set('x{n}'",
        "@import 'x{n}';",
    ),
    *(
        "@import url(",
        "@font-face {{",
        "src: url(f{n})",
        "/*",
        "*/",
        "/",
        "*",
        "{{",
        "}}",
        "(",
        ")",
        ";",
        "'",
        '"',
        "\\",
    ),
    *(
        "\\75rl(",
        "\\",
        "\n",
        "\\\n",
        "a",
        "#a",
        "@",
        "@a",
        "@namespace url(x{n})",
        "-",
        "u",
        "U+",
        "<!--",
        "-->",
        "!",
        " ",
    ),
)
ROBOTS = (
    *(
        "Disallow: /*a{n}\n",
        "Disallow: /*ab*ba*{n}$\n",
        "Allow: /{n}*\n",
        "Disallow: /a{n}\n",
        "User-agent: b{n}\n",
        "*",
    ),
    *(
        "Disallow: /*",
        "a*",
        "ab",
        "{n}",
        "$",
        "\n",
        "#",
        "%61",
        "%",
        "Sitemap: /{n}\n",
        "Crawl-delay: {n}\n",
        ":",
        " ",
        "\r",
    ),
    *("Disallow: /" + "*ab" * 40 + "{n}\n", "Disallow: /*" + "ab" * 30 + "x{n}\n", "Allow: /ab*{n}/index.html\n"),
)


def sitemap(seed: int, size: int) -> str:
    """A sitemap, or what may be taken for one."""
    return _repeated(SITEMAP_ROOTS, SITEMAP, seed, size)


def css(seed: int, size: int) -> str:
    """A style sheet."""
    return _repeated(("", "@font-face {{", "image-set(", "url("), CSS, seed, size)


def robots(seed: int, size: int) -> str:
    """A robots.txt."""
    return _repeated(("User-agent: *\n", "User-agent: *\nDisallow: /*"), ROBOTS, seed, size)


def _repeated(beginnings: tuple[str, ...], parts: tuple[str, ...], seed: int, size: int) -> str:
    """A beginning, then some parts one after the other, again and again: first one of them alone, then a few."""
    drawn = Random(seed)
    first = drawn.choice(parts) * drawn.choice((0, 0, 1))
    unit = "".join(drawn.choice(parts) for _ in range(drawn.choice((1, 1, 2, 3, 5))))
    numbers = count()
    text = [drawn.choice(beginnings).format(n=0)]
    used = len(text[0])
    for part, end in ((first, size // 2 if first else 0), (unit, size)):
        while used < end:
            text.append(part.format(n=next(numbers)))
            used += len(text[-1])
    return "".join(text)
