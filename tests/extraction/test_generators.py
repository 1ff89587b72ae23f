"""Pages as generators frame them, in small and by hand: the content is whole and the frame is gone."""

from __future__ import annotations

import pytest

from orbweb.extraction import extract

CODE = '<pre><code class="language-python">lamp = Lamp("tin")\n\nlamp.light()</code></pre>'
BODY = (
    "<p>The lamp must be trimmed before the oil runs low, and the wick turned down when it smokes.</p>"
    f"<h2>Wicks</h2>{CODE}<table><thead><tr><th>Wick</th><th>Oil</th></tr></thead>"
    "<tbody><tr><td>flat</td><td>lamp oil</td></tr></tbody></table>"
    "<ul><li>Trim<ul><li>with care</li></ul></li></ul>"
)
PAGE = f"<h1>Lamps</h1>{BODY}"
MARKDOWN = (
    "The lamp must be trimmed before the oil runs low, and the wick turned down when it smokes.\n\n"
    '## Wicks\n\n```python\nlamp = Lamp("tin")\n\nlamp.light()\n```\n\n'
    "| Wick | Oil |\n| --- | --- |\n| flat | lamp oil |\n\n- Trim\n  - with care"
)
NAV = '<ul><li><a href="a">NAV</a></li><li><a href="b">NAV</a></li></ul>'


@pytest.mark.parametrize(
    ("name", "stated", "body"),
    [
        (
            "gi-docgen",
            "",
            f'<div id="body-wrapper"><nav class="sidebar devhelp-hidden">{NAV}</nav><section id="main" '
            'class="content"><header><h1>Lamps<a class="srclink">NAV</a></h1></header><section>'
            f'<h4 style="display:flex"></h4>{BODY}</section></section><div id="toc" class="toc">{NAV}</div>'
            '<section id="search" class="content hidden">NAV</section></div>',
        ),
        (
            "gtk-doc",
            "Libxml2 devhelp stylesheet",
            f'<table class="navigation"><tr><td>NAV</td></tr></table>{PAGE}',
        ),
        (
            "rdoc",
            "",
            f'</head><body id="top" role="document" class="class"><nav><div id="project-navigation">{NAV}</div>'
            f'</nav><main role="main"><h1 id="label-L">Lamps<span><a href="#l">NAV</a></span></h1>{BODY}'
            '<div class="method-heading"><span class="method-click-advice">NAV</span></div></main>'
            '<footer id="validator-badges">NAV</footer>',
        ),
        (
            "yard",
            "",
            '<div class="nav_wrap"><iframe id="nav"></iframe><div id="resizer"></div></div><div id="main">'
            f'<div id="header"><div id="menu">NAV</div></div><div id="content">{PAGE}<small><a href="#" '
            'class="summary_toggle">NAV</a></small></div><div id="footer">NAV</div></div>',
        ),
        (
            "crystal",
            "Crystal Docs 1.6.0",
            f'<div class="sidebar"><h1 class="project-name">NAV</h1><div class="types-list">{NAV * 40}</div></div>'
            f'<div class="main-content">{PAGE}</div>',
        ),
        (
            "nimdoc",
            "",
            '<div class="document" id="documentId"><div class="container"><h1 class="title">Lamps</h1>'
            f'<div class="row"><div class="three columns">{NAV}</div><a class="link-seesrc">NAV</a>'
            f'<div class="nine columns" id="content"><div id="tocRoot"></div>{BODY}<a class="link-seesrc">NAV</a>'
            '</div></div><div class="footer">NAV</div></div></div>',
        ),
        (
            "scaladoc",
            "",
            '<div id="definition"><a href="c.html"><div class="big-circle">NAV</div></a><h1>Lamps</h1>'
            '<h3><span class="morelinks">NAV</span></h3><span class="permalink">NAV</span></div>'
            f'<div id="mbrsel">{NAV}</div><div id="template">{BODY}<div id="inheritedMembers"><h3>NAV</h3></div>'
            '</div><div id="footer">NAV</div>',
        ),
        (
            "scaladoc",
            "",
            f'<div id="search">NAV</div><div id="content-scroll-container"><div id="content-container">'
            f'<div id="packages">{NAV}</div><div id="content">{PAGE}</div></div></div>',
        ),
        (
            "qdoc",
            "",
            f'<div class="header" id="qtdocheader">{NAV}</div><div class="content"><div class="content '
            f'mainContent"><div class="sidebar"><div class="toc">{NAV}</div></div>{PAGE}</div></div>'
            '<div class="footer">NAV</div>',
        ),
        (
            "haddock",
            "",
            '<div id="package-header">NAV</div><div id="content"><div id="module-header"><p class="caption">Lamps'
            f'</p></div><div id="synopsis">NAV</div>{BODY}</div>',
        ),
        (
            "sphinx",
            "",
            '<script id="documentation_options" src="o.js"></script><div id="hd"><h1>NAV</h1></div><div id="bd">'
            f'<div class="yui-g"><div class="section" id="s"><h1>Lamps<a class="headerlink" href="#s">¶</a></h1>'
            f'{BODY}</div></div></div><div id="sidebar">{NAV}</div>',
        ),
        (
            "sphinx",
            "",
            f'<div class="header"><h1>NAV</h1></div><div class="topnav">{NAV}</div><div class="content">'
            f'<section id="s"><h1>Lamps<a class="headerlink" href="#s">¶</a></h1>{BODY}'
            '<a class="reference internal" href="m"><span class="viewcode-link">NAV</span></a></section></div>',
        ),
        (
            "mkdocs-material",
            "",
            f'<div class="navbar">{NAV}</div><div class="col-md-9" role="main">{PAGE}</div>'
            '<div class="modal" id="mkdocs_search_modal"><h4>NAV</h4></div>',
        ),
        (
            "odoc",
            "odoc 2.1.0",
            f'<nav class="odoc-nav">{NAV}</nav><header class="odoc-preamble"><h1>Lamps</h1></header>'
            f'<div class="odoc-content"><a class="source_link">NAV</a>{BODY}</div>',
        ),
        (
            "ocamldoc",
            "",
            f'<div class="navbar">NAV</div><h1>Lamps</h1><div class="info-desc">{BODY}</div>',
        ),
        (
            "ldoc",
            "",
            '<div id="container"><div id="product"><div id="product_logo"></div></div><div id="main">'
            f'<div id="navigation"><h1>NAV</h1>{NAV}</div><div id="content">{PAGE}</div></div></div>',
        ),
        (
            "scribble",
            "",
            f'<div class="tocset">{NAV}</div><div class="maincolumn"><div class="main"><div class="navsettop">'
            f'{NAV}</div>{PAGE}<div class="navsetbottom">NAV</div></div></div>',
        ),
        ("gapdoc", "GAPDoc2HTML", f'<div class="chlinktop">NAV</div>{PAGE}<p class="foot">NAV</p>'),
        (
            "jsdoc",
            "",
            f'<div id="main"><h1 class="page-title">Lamps</h1><section><header></header><article>{BODY}</article>'
            f"</section></div><nav><h2>NAV</h2>{NAV}</nav><footer>NAV</footer>",
        ),
        (
            "jsdoc",
            "",
            f'<div id="main"><div id="sidebarNav">{NAV}</div><div class="core" id="main-content-wrapper">'
            '<div class="content"><header class="page-title"><h1>Lamps</h1></header><section><article>'
            f'<a class="href-link" href="#x">NAV</a>{BODY}</article></section></div></div></div>',
        ),
        (
            "esdoc",
            "",
            f'</head><body class="layout-container"><header>NAV</header><nav class="navigation">{NAV}</nav>'
            f'<div class="content" data-ice="content"><h1>Lamps</h1>'
            f'<span data-ice="source">NAV</span>{BODY}</div>',
        ),
        (
            "documentation.js",
            "",
            f'</head><body class="documentation"><div id="split-left">{NAV}</div>'
            f'<div id="split-right">{PAGE}</div>',
        ),
        (
            "dokka",
            "",
            f'<div id="leftColumn">{NAV}</div><div id="main"><div class="main-content" id="content" pageIds="x">'
            '<div class="breadcrumbs">NAV</div><div class="cover"><h1 class="cover"><span>La</span><wbr>'
            f'<span>mps</span></h1></div>{BODY}<span class="anchor-wrapper"><span>NAV</span></span></div></div>',
        ),
        (
            "dartdoc",
            "",
            f'<header>NAV</header><main><div id="dartdoc-main-content" class="main-content">{PAGE}</div>'
            f'<div id="dartdoc-sidebar-left">{NAV}</div></main>',
        ),
        (
            "jazzy",
            "",
            f'<a class="dashAnchor" name="x"></a><p id="breadcrumbs">NAV</p><nav class="sidebar">{NAV}</nav>'
            f'<article class="main-content"><section>{PAGE}<a class="slightly-smaller">NAV</a></section>'
            '<section id="footer">NAV</section></article>',
        ),
        (
            "documenter",
            "",
            f'<div id="documenter"><nav class="docs-sidebar">{NAV}</nav><article class="content" '
            f'id="documenter-page">{PAGE}<a class="docs-sourcelink">NAV</a></article>'
            '<nav class="docs-footer">NAV</nav></div>',
        ),
        (
            "naturaldocs",
            "",
            f"<div id=Content><div class=CTopic>{PAGE}</div></div><div id=Menu>{NAV}</div>"
            "<div class=CToolTip>NAV</div>",
        ),
        (
            "epydoc",
            "",
            f'<table class="navbar"><tr><th>NAV</th></tr></table><h1 class="epydoc">Lamps</h1>'
            f'<span class="codelink">NAV</span>{BODY}',
        ),
        (
            "doctum",
            "",
            f'<div id="left-column"><div id="api-tree">{NAV}</div></div><div id="right-column"><nav>NAV</nav>'
            f'<div id="page-content">{PAGE}</div><div id="footer">NAV</div></div>',
        ),
        (
            "apigen",
            "",
            f'<div id="left">{NAV}</div><div id="right"><div id="rightInner"><div id="navigation">{NAV}</div>'
            f'<div id="content" class="class">{PAGE}</div></div></div>',
        ),
        (
            "pandoc",
            "pandoc",
            f'<header id="title-block-header"><h1>Lamps</h1></header><nav id="TOC">{NAV}</nav>{BODY}',
        ),
        (
            "latexml",
            "",
            f'<nav class="ltx_page_navbar">{NAV}</nav><div class="ltx_page_main"><header>NAV'
            f'</header><div class="ltx_page_content"><article class="ltx_document">{PAGE}</article></div></div>',
        ),
        ("tex4ht", "TeX4ht (https://example.org/)", f'<div class="crosslinks">NAV</div>{PAGE}'),
        ("linuxdoc", "LinuxDoc-Tools 1.0.9", f'<a href="b.html">NAV</a><hr>{PAGE}<hr><a href="c.html">NAV</a>'),
        (
            "ikiwiki",
            "",
            '<div class="pageheader"><span class="parentlinks">NAV</span><span class="title">Lamps</span></div>'
            f'<div id="pagebody"><div id="content" role="main">{BODY}</div></div><div id="footer">NAV</div>',
        ),
        (
            "javadoc",
            "",
            f'<div class="topNav">{NAV}<ul class="subNavList"><li>NAV</li></ul></div>{PAGE}',
        ),
        (
            "scaladoc",
            "",
            f'<div id="leftColumn">{NAV}</div><div id="main"><div id="scaladoc-searchBar">NAV</div><main '
            f'id="main-content"><div class="breadcrumbs">NAV</div><div id="content">{PAGE}</div></main></div>',
        ),
        (
            "codox",
            "",
            f'<div id="header"><h2>NAV</h2></div><div class="sidebar primary">{NAV}</div>'
            f'<div class="namespace-docs" id="content"><h1 class="anchor">Lamps</h1>{BODY}'
            '<div class="src-link">NAV</div></div>',
        ),
        (
            "docco",
            "",
            f'<div id="container"><ul class="sections"><li><div class="annotation">'
            f'<h1>Lamps</h1></div></li><li><div class="annotation"><div class="sswrap"><a class="ss">NAV</a></div>'
            f'</div><div class="content">{BODY}</div></li></ul></div>',
        ),
        (
            "fumadocs",
            "",
            f'<aside id="nd-sidebar">{NAV}</aside><article id="nd-page"><div>NAV</div><h1>Lamps</h1>'
            f'<div class="prose">{BODY}</div><div><a href="x">NAV</a></div></article><div id="nd-toc">{NAV}</div>',
        ),
        (
            "rspress",
            "",
            f'<div class="rspress-sidebar">{NAV}</div><div class="rspress-doc">{PAGE}</div>'
            '<div class="rspress-doc-footer">NAV</div>',
        ),
        (
            "org",
            "Org Mode",
            f'<div id="org-div-home-and-up">NAV</div><div id="content"><h1 class="title">Lamps</h1>'
            f'<div id="table-of-contents"><h2>NAV</h2>{NAV}</div>{BODY}</div><div id="postamble">NAV</div>',
        ),
        ("groff", "groff -Thtml, see www.gnu.org", PAGE),
        (
            "xwiki",
            "",
            f'<div id="hierarchy">{NAV}</div><div id="document-title"><h1>Lamps</h1></div>'
            f'<div id="xwikicontent">{BODY}</div><div id="xdocAuthors">NAV</div>',
        ),
        (
            "foswiki",
            "",
            f'<div id="patternSideBar">{NAV}</div><div class="foswikiTopic"><div class="foswikiToc">{NAV}</div>'
            f'{PAGE}</div><div class="patternInfo">NAV</div>',
        ),
        (
            "redmine",
            "",
            f'<div id="sidebar">{NAV}</div><div id="content"><div class="contextual">NAV</div>'
            f'<div class="wiki wiki-page"><h1>Lamps<a class="wiki-anchor">NAV</a></h1>{BODY}</div></div>',
        ),
        (
            "doxygen",
            "",
            f'<div id="top"><div id="titlearea">NAV</div><div class="tabs">{NAV}</div></div><div class="header">'
            '<div class="summary">NAV</div><div class="headertitle"><div class="title">Lamps'
            f'<div class="ingroups">NAV</div></div></div></div>'
            f'{BODY}<div class="memproto"></div><address class="footer">NAV</address>',
        ),
        (
            "valadoc",
            "",
            f'<div class="site_header">NAV</div><div class="site_body"><div class="site_navigation">{NAV}</div>'
            f'<div class="site_content">{PAGE}</div></div><div class="site_footer">NAV</div>',
        ),
        ("hevea", "hevea 2.34", f'{PAGE}<blockquote class="quote">NAV</blockquote>'),
        (
            "qdoc",
            "",
            f'<div class="wrapper"><div class="sidebar">{NAV}</div><h1 class="title">Lamps</h1>{BODY}'
            '<table class="alignedsummary"></table></div><footer>NAV</footer>',
        ),
        (
            "docbook",
            "DocBook XSL Stylesheets",
            f'<table><tr><td>NAV</td></tr></table><hr><div class="spirit-nav">NAV</div>{PAGE}',
        ),
        (
            "ford",
            "",
            f'<nav class="navbar">{NAV}<input id="tipue_search_input"></nav><div class="container">'
            f'<div class="row"><h1>Lamps</h1></div><div class="row"><div id="sidebar">{NAV}</div>'
            f'<div class="col-md-9" id="text">{BODY}</div></div></div>',
        ),
        (
            "nbconvert",
            "",
            '</head><body class="jp-Notebook"><main><div class="jp-InputPrompt">NAV</div>' + PAGE + "</main>",
        ),
        (
            "just-the-docs",
            "Jekyll v4.3.2",
            f'<div class="main-content-wrap"><nav class="breadcrumb-nav">{NAV}</nav><div id="main-content" '
            f'class="main-content"><main>{PAGE}</main><hr><footer><p><a href="#top" id="back-to-top">NAV</a></p>'
            "</footer></div></div>",
        ),
        (
            "exdoc",
            "ExDoc v0.31.1",
            f'<main><div id="content">{PAGE}<footer class="footer">NAV</footer></div></main>',
        ),
        (
            "readme",
            "",
            '<article class="rm-Article"><header id="content-head"><h1>Lamps</h1><a class="suggestEdits">NAV</a>'
            f'</header><div class="rm-Markdown">{BODY}</div></article>',
        ),
        (
            "gitbook",
            "GitBook (1)",
            f"<main><header><nav><ol><li>NAV</li></ol></nav><h1>Lamps</h1></header><div>{BODY}</div></main>",
        ),
        (
            "nextra",
            "",
            f'<article class="nextra-content"><main>{PAGE}<div class="mt-12">NAV <time>NAV</time></div>'
            '<div class="mb-8 print:hidden"><a href="n">NAV</a></div></main></article>',
        ),
        (
            "notion",
            "",
            '<article class="page"><header><h1 class="page-title">Lamps</h1></header><div class="page-body">'
            f"{BODY}</div></article>",
        ),
        (
            "confluence",
            "",
            f'<h1 id="title-text"><span>Lamps</span></h1><div id="main-content" class="wiki-content">{BODY}</div>',
        ),
        (
            "pdoc",
            "pdoc3 0.11",
            f'<main><article id="content">{PAGE}<details class="source"><summary>NAV</summary></details></article>'
            f'<nav id="sidebar">{NAV}</nav></main>',
        ),
    ],
)
def test_the_content_of_a_page_is_whole(name: str, stated: str, body: str) -> None:
    meta = f'<meta name="generator" content="{stated}">' if stated else ""
    document = extract(f"<!doctype html><html><head><title>Lamps</title>{meta}{body}", "https://example.org/docs/")
    assert document.generator == name
    assert document.markdown == f"# Lamps\n\n{MARKDOWN}"


def test_footnotes_that_stand_behind_the_content_belong_to_it() -> None:
    page = (
        '<head><meta name="generator" content="Asciidoctor 2.0.20"></head><body><div id="header"><h1>Lamps</h1>'
        f'<div id="toc">{NAV}</div></div><div id="content">{BODY}</div><div id="footnotes"><hr>'
        '<div class="footnote" id="f"><a href="#r">1</a>. Of tin.</div></div><div id="footer">NAV</div>'
    )
    document = extract(page, "https://example.org/docs/")
    assert document.markdown == f"# Lamps\n\n{MARKDOWN}\n\n---\n\n[1](https://example.org/docs/#r). Of tin."


SHOWN = {
    "a ticked and an open task": (
        '<p>x</p><ul><li><input type="checkbox" disabled checked> Trim<ul><li><label>'
        '<input type="checkbox" disabled><span></span></label> Light</li></ul></li></ul>',
        "x\n\n- [x] Trim\n  - [ ] Light",
    ),
    "pandoc: a task": (
        '<p>x</p><ul class="task-list"><li><label><input type="checkbox" checked="">Trim</label></li></ul>',
        "x\n\n- [x] Trim",
    ),
    "kramdown: a formula in a script": (
        '<p>x <script type="math/tex">a_1 < b</script></p>',
        "x $a_1 < b$",
    ),
    "mediawiki: a formula behind a picture": (
        '<p>x <span class="mwe-math-element"><span style="display: none;"><math alttext="{\\displaystyle y^{2}}">'
        '<mi>y</mi></math></span><img aria-hidden="true" src="y.svg" alt="{\\displaystyle y^{2}}"></span></p>',
        "x $y^{2}$",
    ),
    "pkgsite: code in a field": (
        "<p>x</p><textarea>package main\n\nfunc main() {}\n</textarea>",
        "x\n\n```\npackage main\n\nfunc main() {}\n```",
    ),
    "starlight: the title of a note that listeners are told otherwise": (
        '<aside aria-label="Tip"><p aria-hidden="true"><svg></svg>Tip</p><p>Trim it.</p></aside>',
        "Tip\n\nTrim it.",
    ),
}


@pytest.mark.parametrize(("markup", "written"), SHOWN.values(), ids=SHOWN.keys())
def test_what_a_reader_sees_is_content_though_its_tag_hides_it(markup: str, written: str) -> None:
    page = f'<body><div id="content"><main class="pdoc"><h1>Lamps</h1>{BODY}{markup}</main></div>'
    document = extract(
        f'<head><meta name="generator" content="pdoc 14"></head>{page}', "https://example.org/docs/"
    )
    assert document.markdown == f"# Lamps\n\n{MARKDOWN}\n\n{written}"


@pytest.mark.parametrize("between", ["", "<div>" * 150])
def test_a_title_that_is_around_the_content_stays_there(between: str) -> None:
    said = (
        f'<h1 id="firstHeading">Lamps{between}<div id="mw-content-text" class="mw-parser-output">{BODY}</div></h1>'
    )
    document = extract(f"<body>{said}", "https://example.org/wiki/Lamps")
    assert document.markdown == MARKDOWN


def test_a_title_that_the_content_has_is_not_put_before_it() -> None:
    heading = '<h1 id="firstHeading">Lamps</h1>'
    said = '<div id="mw-content-text"><div class="mw-parser-output"><h1>Lamps</h1>'
    document = extract(f"<body>{heading}{said}{BODY}</div></div>", "https://example.org/wiki/Lamps")
    assert document.markdown == f"# Lamps\n\n{MARKDOWN}"


def test_a_title_is_put_before_a_content_that_has_other_headings_of_its_level() -> None:
    said = f'<div id="mw-content-text"><div class="mw-parser-output">{BODY}<h1>Oil</h1></div></div>'
    document = extract(f'<body><h1 id="firstHeading">Lamps</h1>{said}', "https://example.org/wiki/Lamps")
    assert document.markdown == f"# Lamps\n\n{MARKDOWN}\n\n# Oil"


@pytest.mark.parametrize(
    "body",
    [
        f'<nav>{NAV}</nav><main id="main"><h1 class="page-title">Lamps</h1><div class="entry">{BODY}</div></main>',
        f'<nav>{NAV}</nav><div class="info-desc">{PAGE}</div>',
        f'<nav>{NAV}</nav><div class="main-content">{PAGE}</div>',
        f'<nav>{NAV}</nav><div class="text">{PAGE}<a class="headerlink" href="#x">¶</a></div>',
    ],
)
def test_a_name_that_others_use_too_is_no_mark_alone(body: str) -> None:
    assert extract(f"<body>{body}", "https://example.org/").generator == ""
