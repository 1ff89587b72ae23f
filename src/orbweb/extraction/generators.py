"""Known page generators: how they are recognized, where their main content is, and what in it is boilerplate.

This module is long because it is one table. A generator is recognized by its name in `<meta name=generator>` or by
class and id names that it writes on every page, never by a host or URL. The first generator of the table that
matches and whose content exists decides (see `generator_match`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Generator:
    """The pages of one generator.

    `marks` are `.class` on the frame of a page, `tag.class`, `#id`, or the start of the content of `<meta
    name=generator>`; one is enough. The main content is all `parts` in document order or, if there are none, the
    first of `main` that exists. `drop` is removed from it; `title` is moved before it if it is outside, and made a
    heading if it is not one.
    """

    name: str
    marks: tuple[str, ...]
    main: tuple[str, ...] = ()
    parts: str = ""
    title: str = ""
    drop: str = ""


TABLE = (
    Generator(
        "discourse",
        ("discourse",),
        parts="h1[itemprop=headline], h1 > a[href*='/t/'], .crawler-post .creator, .crawler-post time.post-time, "
        ".crawler-post .post, .topic-body .cooked, .topic-body .names",
        drop=".crawler-linkback-list, .quote-controls, .lightbox .meta",
    ),
    Generator(
        "stackexchange",
        (".js-post-body", ".s-prose"),
        parts="#question .js-post-body, .answer .js-post-body",
        title="#question-header h1",
        drop=".js-post-notice, .post-notice",
    ),
    Generator(
        "xenforo",
        (".message-body", ".message-userContent", ".messageContent", ".MessageCard__container"),
        parts=".message-name, .message-attribution-main time, .message-body, .messageText, "
        ".message .username.author",
        title="h1.p-title-value, .titleBar h1",
        drop=".message-signature, .message-lastEdit, .bbCodeBlock-expandLink, .js-selectToQuoteEnd, "
        ".reactionsBar, "
        ".bbCodeBlock-shrinkLink, .attribution .AttributionLink",
    ),
    Generator(
        "vbulletin",
        ("vbulletin", "#posts", "#postlist"),
        parts="[id^=post_message_], .postbody .content .postcontent, a.bigusername, .username_container .username",
        drop=".signature",
    ),
    Generator(
        "phpbb",
        (".postbody", ".postprofile"),
        parts=".postbody .author, .postbody .content, .viewtopic_item .content, .postbody .postText",
        title="h2.topic-title, #page-body > h2",
        drop=".signature, .notice",
    ),
    Generator(
        "invision",
        (".ipsComment", ".ipsEntry", ".cPost"),
        parts=".cAuthorPane_author, .ipsEntry__author, [data-role=commentContent]",
        title="h1.ipsType_pageTitle, .ipsPageHeader h1",
        drop=".ipsComment_meta, .ipsQuote_citation, [data-role=memberSignature]",
    ),
    Generator(
        "nodebb",
        (".posts-container", ".topic-owner-post", ".posts-list"),
        parts="[component='post/content']",
        title="[component='topic/title']",
    ),
    Generator(
        "smf",
        ("#forumposts",),
        parts="#forumposts .poster h4 a, #forumposts .post .inner, #forumposts .inner",
        drop=".signature",
    ),
    Generator(
        "bbpress",
        (".bbpress", ".bbp-reply-content", "#bbpress-forums"),
        parts=".bbp-author-name, .bbp-topic-content, .bbp-reply-content",
    ),
    Generator("mybb", (".post_body",), parts=".author_information .largetext, .post_body"),
    Generator("khoros", (".lia-message-body-content",), parts=".lia-message-subject, .lia-message-body-content"),
    Generator("flarum", (".Post-body",), parts=".Post-header h3, .Post-body"),
    Generator("vanilla", (".userContent", ".vanilla"), parts=".MessageList .Author, .Message.userContent"),
    Generator("lobsters", (".comments_subtree",), parts=".story_text, .comment_text", title=".story .link a"),
    Generator("hackernews", ("#hnmain",), parts=".toptext, .comment .commtext", title=".titleline > a"),
    Generator(
        "github-discussion",
        (".js-discussion",),
        main=(".js-discussion",),
        title=".gh-header-title, bdi.js-issue-title",
    ),
    Generator(
        "docusaurus",
        ("docusaurus", ".theme-doc-markdown", "#__docusaurus", ".docMainWrapper"),
        main=(".theme-doc-markdown", "article .markdown", ".mainContainer .post article", "main article", "main"),
        title="main article header h1, .mainContainer .postHeader h1",
        drop=".theme-doc-breadcrumbs, .theme-doc-footer, .pagination-nav, .theme-doc-toc-mobile, "
        ".theme-edit-this-page, "
        ".theme-doc-version-badge, .docs-prevnext, .edit-page-link",
    ),
    Generator(
        "mkdocs-material",
        (".md-content", "mkdocs", "zensical", "#mkdocs_search_modal", "#mkdocs_keyboard_modal"),
        main=("article.md-content__inner", ".md-content article", ".md-content", "[role=main]"),
        drop=".md-content__button, .md-source-file, .md-source-date, .md-feedback, .md-tags, form.md-feedback",
    ),
    Generator(
        "sphinx",
        (
            "#furo-main-content",
            ".bd-article",
            ".rst-content",
            ".sphinxsidebar",
            ".documentwrapper",
            ".bodywrapper",
            ".sphinxsidebarwrapper",
            ".wy-nav-content",
            "#documentation_options",
            "sphinx",
        ),
        main=(
            "#furo-main-content",
            "article.bd-article",
            ".rst-content [itemprop=articleBody]",
            ".rst-content .document [role=main]",
            ".rst-content .document",
            "div.body[role=main]",
            "div.body",
            "[role=main]",
            ":has(> .section > h1 > .headerlink)",
            ":has(> h1 + .highlight)",
        ),
        drop=".rst-footer-buttons, .wy-breadcrumbs, .prev-next-area, .bd-header-article, .prev-next-footer, "
        ".wy-breadcrumbs-aside, .rst-versions, #jb-print-toc, .related-pages, .content-icon-container, "
        ".breadcrumbs, a:has(> .viewcode-link), .viewcode-back",
    ),
    Generator(
        "mdbook",
        ("#menu-bar", "#mdbook-menu-bar", ".sidebar-scrollbox", ".nav-chapters"),
        main=("#content main", "#mdbook-content main"),
        drop=".nav-wrapper, .nav-wide-wrapper, .buttons",
    ),
    Generator(
        "rustdoc",
        ("rustdoc",),
        main=("#main-content", "main .content", "#main", "main"),
        drop="#toggle-all-docs, #copy-path, rustdoc-search, rustdoc-toolbar, .rustdoc-breadcrumbs, "
        "a.anchor, a.doc-anchor, "
        ".out-of-band, #render-detail, .tooltip, summary.hideme",
    ),
    Generator(
        "javadoc",
        (
            "javadoc",
            ".aboutLanguage",
            "p.legalCopy",
            "ul.subNavList",
            "li.navBarCell1Rev",
            ".classUseContainer",
            ".class-declaration-page",
        ),
        main=("main", "body"),
        drop=".topNav, .bottomNav, .subNav, .fixedNav, .navPadding, .legalCopy, .skipNav, .skip-nav, .sub-nav, "
        "header[role=banner], nav, footer",
    ),
    Generator(
        "gtk-doc",
        ("gtk-doc", "libxml2 devhelp"),
        main=("body",),
        drop="table.navigation, .navigation, .footer, .shortcuts",
    ),
    Generator(
        "docbook",
        ("docbook", ".navheader", ".navfooter", ".NAVHEADER", ".NAVFOOTER", ".docnav"),
        main=("#docContent", ":has(> .navfooter)", ":has(> .NAVFOOTER)", ":has(> .navheader)", "body"),
        drop=".navheader, .navfooter, .NAVHEADER, .NAVFOOTER, .docnav, table.nav, "
        "#docComments, table:has(+ hr + .spirit-nav), hr:has(+ .spirit-nav), .spirit-nav",
    ),
    Generator(
        "antora",
        ("antora", ".nav-panel-explore", ".nav-panel-menu"),
        main=("article.doc",),
        drop="nav.pagination, .breadcrumbs, .edit-this-page, .toc.sidebar, aside.toc",
    ),
    Generator(
        "asciidoctor",
        ("asciidoctor",),
        main=("article.doc", "#content", "body"),
        parts="#content:has(+ #footnotes), #content + #footnotes",
        title="#header > h1",
        drop="#footer, #toc",
    ),
    Generator("asciidoc", ("asciidoc",), main=("body",), drop="#footer, #toc"),
    Generator(
        "gi-docgen",
        ("gi-docgen", "#body-wrapper", "#btn-to-top"),
        main=("#body-wrapper > #main.content",),
        drop=".anchor, .srclink, .source-link",
    ),
    Generator(
        "doxygen",
        ("doxygen", ".memproto", ".memberdecls"),
        main=("#doc-content", "body"),
        title=".headertitle .title",
        drop="#top, #nav-path, .navpath, #titlearea, #main-nav, #side-nav, #MSearchSelectWindow, "
        "#MSearchResultsWindow, "
        ".footer, address.footer, #nav-sync, .ingroups, .ttc, .header .summary, .permalink",
    ),
    Generator(
        "vitepress",
        ("vitepress", ".VPDoc", ".vp-doc"),
        main=("main .vp-doc", ".vp-doc", "main"),
        drop=".VPDocFooter, .VPDocAsideOutline, .copy, span.lang, .line-numbers-wrapper",
    ),
    Generator(
        "vuepress",
        ("vuepress", ".theme-default-content", ".vp-page"),
        main=(".theme-default-content", "[vp-content]", ".vp-page", "main"),
        drop=".page-nav, .page-edit, .page-meta, .line-numbers-wrapper, .line-numbers, .vp-page-nav, "
        ".vp-page-meta",
    ),
    Generator(
        "gitbook",
        ("gitbook", "honkit", "bookdown", ".markdown-section"),
        main=(".markdown-section", ".page-inner section.normal", "main"),
        title="main header h1",
        drop="nav, .navigation, .page-footer, .page-toc",
    ),
    Generator(
        "readme",
        (".rm-Markdown", ".rm-Article", ".rm-Guides"),
        main=("article.rm-Article", ".rm-Article", ".rm-Markdown"),
        drop=".rm-Pagination, .UpdatedAt, .rm-ThumbsFooter, .PageThumbs, .rm-Sidebar, .rm-ContentToc, "
        ".content-toc, .content-body-footer, .suggestEdits",
    ),
    Generator(
        "docsy",
        (".td-content", ".td-main"),
        main=(".td-content",),
        drop=".feedback--question, .feedback--title, .feedback--response, #pre-footer, .td-page-meta, "
        ".td-page-meta__lastmod, .td-toc, .td-heading-self-link",
    ),
    Generator(
        "hugo-book",
        (".book-page", ".book-article"),
        main=("article.book-article", ".book-page article", ".book-page"),
    ),
    Generator(
        "geekdoc",
        (".gdoc-page", ".gdoc-markdown"),
        main=("article.gdoc-markdown", ".gdoc-page article"),
        drop=".gdoc-page__anchor, .gdoc-page__footer",
    ),
    Generator(
        "relearn",
        ("#R-body-inner", "#body-inner"),
        main=("#R-body-inner", "#body-inner"),
        drop=".anchor, #top-bar, footer.footline, .headline",
    ),
    Generator(
        "just-the-docs",
        ("#main-content-wrap", ".main-content-wrap"),
        main=("#main-content-wrap main", ".main-content-wrap .main-content", "#main-content.main-content"),
        drop=".anchor-heading, .breadcrumb-nav, .main-content > footer, .main-content > hr:has(+ footer)",
    ),
    Generator(
        "minimal-mistakes",
        (".page__inner-wrap",),
        main=(".page__inner-wrap",),
        drop=".toc, .page__share, .pagination, .page__meta, .page__footer, .page__related, .page__taxonomy",
    ),
    Generator(
        "starlight",
        ("starlight", ".sl-markdown-content"),
        main=("main",),
        drop="footer, .pagination-links, mobile-starlight-toc, .sl-anchor-link, starlight-toc, .copy",
    ),
    Generator(
        "fumadocs",
        ("#nd-page",),
        parts="#nd-page h1, #nd-page > p, #nd-page > article > p, #nd-page .prose",
    ),
    Generator("rspress", (".rspress-doc",), main=(".rspress-doc",), drop=".header-anchor"),
    Generator(
        "nextra",
        (".nextra-content", ".nextra-body", ".nextra-toc"),
        main=("article main", "main article", "main", "article"),
        drop=".nextra-breadcrumb, .nextra-toc, .subheading-anchor, main > div:has(> time), "
        "main > div[class*='print:']",
    ),
    Generator(
        "mintlify",
        ("mintlify", ".mdx-content"),
        main=("#content-area", ".mdx-content"),
        drop="#pagination, .feedback-toolbar, #breadcrumb, #footer, .eyebrow, #page-context-menu",
    ),
    Generator(
        "exdoc",
        ("exdoc",),
        main=("#content", ".content-inner", "main"),
        drop=".bottom-actions, .hover-link, .icon-action, .detail-link, .settings, .top-search, .view-source, "
        "footer.footer",
    ),
    Generator(
        "typedoc",
        ("typedoc", ".tsd-page-title", ".col-content"),
        main=(".col-content",),
        drop=".tsd-breadcrumb, .tsd-navigation, .tsd-anchor-icon, .tsd-generator, .col-menu",
    ),
    Generator(
        "jsdoc",
        ("h1.page-title", "header.page-title"),
        main=(
            "div#main:has(> .page-title ~ section > article)",
            "#main-content-wrapper > .content:has(> .page-title)",
        ),
        drop=".href-link, .signature-attributes",
    ),
    Generator("esdoc", (".layout-container",), main=(".content[data-ice=content]",), drop="span[data-ice=source]"),
    Generator("documentation.js", ("#split-right",), main=(".documentation #split-right",)),
    Generator(
        "dokka",
        (".main-content",),
        main=("#main > .main-content[pageids]",),
        drop=".breadcrumbs, .tabs-section, .filter-section, .top-right-position, .anchor-wrapper, "
        ".copy-popup-wrapper, .anchor-icon, .floating-right",
    ),
    Generator(
        "dartdoc",
        ("made with love by dartdoc", "#dartdoc-main-content", "#dartdoc-sidebar-left"),
        main=("#dartdoc-main-content", "main > .main-content"),
        drop=".anchor-link, .hash-link",
    ),
    Generator(
        "jazzy",
        ("a.dashAnchor", ".task-group-section"),
        main=("article.main-content", ".article-wrapper > article"),
        drop="#footer, .footer, #breadcrumbs, .slightly-smaller, .language > .aside-title",
    ),
    Generator(
        "documenter",
        ("#documenter-page",),
        main=("#documenter-page",),
        drop=".docs-heading-anchor-permalink, .docs-sourcelink, .docstring-article-toggle-button",
    ),
    Generator(
        "naturaldocs",
        (".CTopic",),
        main=("#Content", "body"),
        drop="#Menu, #Footer, .CToolTip, #MSearchResultsWindow",
    ),
    Generator(
        "epydoc",
        ("h1.epydoc",),
        main=("body",),
        drop=".navbar, .breadcrumbs, .options, .codelink, td.footer",
    ),
    Generator(
        "doctum",
        ("#api-tree",),
        main=("#right-column > #page-content",),
        drop=".namespace-breadcrumbs, .location",
    ),
    Generator("apigen", ("#rightInner",), main=("#rightInner > #content",), drop=".anchor"),
    Generator("pandoc", ("pandoc",), main=("body:has(> #title-block-header)",), drop="#TOC"),
    Generator("ford", ("#tipue_search_input",), main=("#text",), title=".container > .row > h1"),
    Generator("valadoc", (".site_content",), main=(".site_body > .site_content",), drop=".main_hr"),
    Generator(
        "crystal",
        ("crystal docs",),
        main=(".main-content",),
        drop=".anchor, .method-permalink, .view-source, .tooltip > span",
    ),
    Generator(
        "rdoc",
        ("#project-navigation", "#class-metadata", "#validator-badges", "#home-metadata"),
        main=("#top > main", "#metadata + #documentation"),
        drop=".method-click-advice, .method-controls, [id^=label-] > span:has(> a)",
    ),
    Generator(
        "yard",
        (".nav_wrap", "#search_frame"),
        main=(".nav_wrap + #main > #content", "#search_frame ~ #content"),
        drop=".summary_toggle, .inheritanceTree, .showSource, .toggleSource, .toggleDefines, .source_code .lines",
    ),
    Generator(
        "odoc",
        ("odoc", ".odoc"),
        main=("body",),
        drop="nav, .odoc-nav, .odoc-toc, .odoc-tocs, .odoc-search, .anchor, .source_link",
    ),
    Generator(
        "ocamldoc",
        (".info-desc", ".indextable"),
        main=("body:has(> .navbar + h1)",),
        drop=".navbar",
    ),
    Generator(
        "ldoc",
        ("#product_logo", "#product_description"),
        main=("#main > #content",),
    ),
    Generator(
        "scribble",
        (".tocset", ".maincolumn"),
        main=(".maincolumn > .main",),
        drop=".navsettop, .navsetbottom",
    ),
    Generator(
        "gapdoc",
        ("gapdoc2html",),
        main=("body",),
        drop=".ChapSects, .chlinktop, .chlinkbot, .chlinkprevnexttop, .chlinkprevnextbot, #mathjaxlink, .foot",
    ),
    Generator(
        "nimdoc",
        ("#documentId",),
        main=("#documentId #content", "#documentId > .container"),
        title="#documentId h1.title",
        drop=".three.columns, .link-seesrc, .footer",
    ),
    Generator(
        "scaladoc",
        ("#mbrsel", "#content-scroll-container"),
        main=("#content-container > #content", "body"),
        drop="#mbrsel, #definition > a, .big-circle, .permalink, .morelinks, #inheritedMembers, #groupedMembers, "
        "#tooltip, #footer",
    ),
    Generator(
        "scaladoc",
        ("#scaladoc-searchBar", ".documentableList"),
        main=("main > #content", "#main #content"),
        drop=".documentableFilter, .documentableAnchor, .breadcrumbs",
    ),
    Generator("codox", (".namespace-docs", ".namespace-index"), main=("#content",), drop=".src-link"),
    Generator(
        "docco",
        ("a.ss", "a.pilcrow"),
        parts="ul.sections > li > .annotation, ul.sections > li > .content",
        drop=".sswrap, .pilwrap",
    ),
    Generator(
        "qdoc",
        ("#qtdocheader", ".alignedsummary"),
        main=(".mainContent", ":has(> h1.title)"),
        drop=".sidebar, .naviNextPrevious",
    ),
    Generator(
        "haddock",
        ("#package-header",),
        main=("#content",),
        title="#module-header > .caption",
        drop="#synopsis, .selflink, .link",
    ),
    Generator(
        "texinfo",
        ("texi2any", "makeinfo", "texi2html"),
        main=("body",),
        drop=".header, .nav-panel, table.header, .element-footer, "
        "table[cellpadding='1'][cellspacing='1'][border='0']",
    ),
    Generator("mandoc", (".manual-text", "mandoc"), main=(".manual-text", "main", "body")),
    Generator(
        "pkgsite",
        (".Documentation-content", ".go-Main-article"),
        main=(".go-Main-article", "main article", ".Documentation"),
        drop=".UnitMeta, .Documentation-toc, .UnitHeader-breadcrumbs, .Documentation-idLink",
    ),
    Generator("redoc", (".api-content",), main=(".api-content",)),
    Generator(
        "phpdocumentor",
        (".phpdocumentor-content", ".phpdocumentor"),
        main=(".phpdocumentor-content",),
        drop=".phpdocumentor-breadcrumbs, .phpdocumentor-element-link, aside",
    ),
    Generator(
        "docfx",
        ("docfx",),
        main=("article#_content", "article[data-uid]", "article"),
        drop=".contribution, .actionbar, .next-article",
    ),
    Generator(
        "confluence",
        (".wiki-content", "#main-content.wiki-content"),
        main=("#main-content", ".wiki-content"),
        title="#title-text",
        drop=".page-metadata, #likes-and-labels-container",
    ),
    Generator(
        "mediawiki",
        ("mediawiki", ".mw-parser-output"),
        main=("#mw-content-text", "#bodyContent", ".mw-parser-output"),
        title="#firstHeading",
        drop=".mw-editsection, #toc, .toc, .navbox, .vertical-navbox, .metadata, .mw-jump-link, .catlinks, "
        ".printfooter, .noprint, "
        ".sistersitebox, .authority-control, .mw-cite-backlink, .ambox, .hatnote, "
        ".navigation-not-searchable, .mw-indicators",
    ),
    Generator(
        "dokuwiki",
        ("dokuwiki",),
        main=("#dokuwiki__content .page", ".dokuwiki .page", ".page"),
        drop="#dw__toc, .docInfo, .secedit, .editbutton_section",
    ),
    Generator("xwiki", ("#xwikicontent",), main=("#xwikicontent",), title="#document-title h1"),
    Generator(
        "foswiki",
        (".foswikiTopic", ".twikiTopic", ".patternTopic"),
        main=(".foswikiTopic", ".twikiTopic", ".patternTopic"),
        drop=".foswikiToc, .twikiToc",
    ),
    Generator("redmine", (".wiki-page",), main=(".wiki.wiki-page",), drop=".contextual, .wiki-anchor"),
    Generator(
        "pkgdown",
        (".template-reference-topic", ".template-article", ".template-home", "pkgdown"),
        main=("main#main", ".contents.col-md-9", "main"),
    ),
    Generator(
        "quarto",
        ("quarto",),
        main=("#quarto-document-content", "main"),
        drop="#quarto-margin-sidebar, .quarto-title-meta, .page-navigation, #TOC, .toc-actions",
    ),
    Generator(
        "pdoc",
        ("pdoc",),
        main=("main.pdoc", "article#content", "main"),
        drop=".view-source-button, .pdoc-button, .source > summary",
    ),
    Generator("bikeshed", ("bikeshed", "respec"), main=("main", "body"), drop="#toc, nav, #back-to-top, .head dl"),
    Generator(
        "latexml",
        (".ltx_page_main", ".ltx_document"),
        main=("article.ltx_document", ".ltx_page_content"),
        drop=".ltx_TOC, .ltx_page_navbar",
    ),
    Generator(
        "org",
        ("org mode", "org-mode", "#org-div-home-and-up"),
        main=("#content", "body"),
        title="h1.title",
        drop="#preamble, #postamble, #table-of-contents, #org-div-home-and-up",
    ),
    Generator("hevea", ("hevea",), main=("body",), drop="body > .quote:last-child"),
    Generator("groff", ("groff -thtml",), main=("body",)),
    Generator("tex4ht", ("tex4ht",), main=("body",), drop=".crosslinks"),
    Generator("linuxdoc", ("linuxdoc-tools", "sgml-tools"), main=("body",), drop="body > a[href], body > hr"),
    Generator("ikiwiki", ("#pagebody",), main=("#pagebody > #content",), title=".pageheader .title"),
    Generator("latex2html", ("latex2html",), main=("body",), drop=".navigation"),
    Generator("maven", ("apache maven", "maven"), main=("#bodyColumn", "#contentBox", "main"), drop=".breadcrumb"),
    Generator(
        "slate",
        (".tocify-wrapper", "#toc.toc-list-h1"),
        main=(".page-wrapper .content", ".content"),
        drop=".lang-selector, .dark-box",
    ),
    Generator(
        "notion",
        (".page-body", ".notion-page-content"),
        main=("article.page > .page-body", ".notion-page-content"),
        title="h1.page-title",
    ),
    Generator(
        "nbconvert",
        (".jp-Notebook", "#notebook-container"),
        main=("body.jp-Notebook", ".jp-Notebook", "#notebook-container"),
        drop=".jp-InputPrompt, .jp-OutputPrompt, .prompt",
    ),
    Generator(
        "github",
        ("#wiki-body", "#readme"),
        main=("#wiki-body .markdown-body", "#readme article", "#readme .markdown-body"),
    ),
    Generator(
        "sphinx",
        ("a.headerlink",),
        main=(":has(> section > h1 > .headerlink)", ":has(> .section > h1 > .headerlink)"),
        drop="a:has(> .viewcode-link), .viewcode-back",
    ),
)
