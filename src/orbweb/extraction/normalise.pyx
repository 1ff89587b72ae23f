"""Normalizes the DOM of a main element, from which Markdown and text are written: permalinks, admonitions,
formulas, lazy images, media.

Words are kept in order; time is linear in the number of nodes for any real page. Nothing outside of the element is
used, except for the language of a code block and the base URL.
"""

import re
from urllib.parse import urlsplit

from libc.string cimport memchr

from orbweb.extraction import placeholders

from orbweb.extraction cimport code
from orbweb.extraction cimport math
from orbweb.extraction cimport lists
from orbweb.extraction cimport admonitions
from orbweb.extraction cimport images
from orbweb.extraction cimport link_targets
from orbweb.extraction cimport tables
from orbweb.extraction.gaps cimport new_gap
from orbweb.extraction.element_census cimport (
    DROPPED, FORMULA, INSIDE, LINE, LISTING, NOTE, NUMBERS, PERMALINK, SPACED, TABULAR, ElementCensus, Words,
    any_tagged, has_seen, survey, words_of,
)
from orbweb.extraction.titles cimport HEADINGS
from orbweb.parsing.html.walk cimport following
from orbweb.parsing.html.tree cimport (
    ATTR_HREF, ATTR_ID, ATTR_ROLE, ATTR_STYLE, ATTR_TITLE, NONE, ROOT, Span, TAG_A, TAG_BASE, TAG_BODY,
    TAG_BR, TAG_CODE, TAG_DIV, TAG_DL, TAG_HEAD, TAG_HR, TAG_HTML, TAG_IMG, TAG_LABEL, TAG_OL, TAG_PRE,
    TAG_SPAN, TAG_SUB, TAG_SUMMARY, TAG_SUP, TAG_TABLE, TEXT, TagSet, Tree, as_str, begins, contains,
    is_blank, is_text, tags,
)

MAX_RESOLVED = 3_500_000
"""The most characters, besides the length of the page, that the base URL may add to all references; further ones
stay relative. It is less than the limit of the output."""
MAX_BASE = 4_000

cdef enum:
    CARD_DEPTH = 4
    # The most elements between a heading and an enclosing link.
    SHORT = 5
    SCHEME = 16
    # In characters: the longest permalink symbol, and the longest scheme.
    CODE_DEPTH = 3
    # The most elements between a link and an enclosing code span.

cdef TagSet _DROPPED_TAGS = tags("script style template link meta rp svg")
cdef TagSet _CODE = tags("code samp kbd")
cdef TagSet _PARAGRAPHS = tags("p div body li dd blockquote center article section main")
cdef TagSet _INLINE = tags("code samp kbd span em i b strong var font u sup sub")
cdef TagSet _SEEN = tags("img picture video iframe")
cdef TagSet _SEEN_OR_CODE = tags("img picture video iframe code samp kbd")
cdef TagSet _CARDS = tags("h1 h2 h3 h4 h5 h6 p")
cdef TagSet _A = tags("a")
cdef TagSet _PRE = tags("pre")
cdef TagSet _LISTED = tags("code div font kbd p samp section span")

cdef str _OPEN_SUP = placeholders.RAISED["sup"][0]
cdef str _CLOSE_SUP = placeholders.RAISED["sup"][1]
cdef str _OPEN_SUB = placeholders.RAISED["sub"][0]
cdef str _CLOSE_SUB = placeholders.RAISED["sub"][1]
cdef frozenset _SIGNS = frozenset(
    ("¶", "#", "§", "\uf0c1", "🔗", "⚓", "◆", "◊", "∞", "†", "[#]", "[¶]", "★")
)
cdef str _BLANK = " \t\r\n\f\v\xa0\u200b\u200c\u2060\ufeff\u00ad\ufe0e\ufe0f"
cdef dict _UNSEEN = dict.fromkeys(map(ord, _BLANK))
# Texts of permalinks, if there is other text beside them.
cdef object _is_permalink = re.compile(
    r"(?:permalink|permanent link|direct link|anchor|link|copy link|heading self-link)(?: (?:to|for) .*)?",
    re.IGNORECASE,
).fullmatch
cdef object _keeps_blanks = re.compile(r"white-space\s*:\s*pre", re.IGNORECASE).search
cdef object _is_monospaced = re.compile(r"mono|courier|consolas|menlo", re.IGNORECASE).search


cdef dict _meanings():
    """The meanings of classes. `permalink` is that of a symbol that links to its section, or of the heading text
    itself."""
    cdef dict found = {}
    for meant, names in (
        (DROPPED, ("headerlink", "mw-editsection", "anchorjs-link", "MathJax_Preview", "katex-html", "MJX-TEX")),
        (DROPPED, math.TYPESET),
        (PERMALINK, ("permalink",)),
        (FORMULA, math.CLASSES),
        (NUMBERS, code.NUMBERS_CLASSES),
        (LISTING, code.LISTING_CLASSES),
        (SPACED, code.SPACED_CLASSES),
        (INSIDE, code.INSIDE_CLASSES),
        (LINE, code.LINE_CLASSES),
        (TABULAR, (code.TABULAR_CLASS,)),
        (NOTE, admonitions.MARKS),
    ):
        for name in names:
            found[name] = found.get(name, 0) | meant
    return found


cdef dict _MEANINGS = _meanings()


cdef int shape(Tree tree, int root, str base, frozenset classes) except -1:
    cdef Words words = words_of(classes, _MEANINGS)
    cdef ElementCensus found = survey(tree, root, words)
    cdef bint grids = tables.GRID in classes
    cdef int referring = 0
    if found.telling:
        _read_attributes(tree, found.telling)
        found = survey(tree, root, words)
    _drop(tree, root, found)
    if found.seen.has[TAG_BR]:
        _paragraphs(tree, found)
    if found.seen.has[TAG_LABEL]:
        _labels(tree, found)
    code.shape(tree, root, found)
    found.keep(tree, root)
    if found.seen.has[TAG_A]:
        referring = _links(tree, found)
    if has_seen(found, &HEADINGS):
        _headings(tree, root, found)
    if found.notes:
        admonitions.shape(tree, root, found.notes)
    if found.seen.has[TAG_TABLE] or grids:
        tables.shape(tree, root, grids)
    if found.seen.has[TAG_DL] or found.seen.has[TAG_OL]:
        lists.shape(tree, found)
    if found.seen.has[TAG_SUMMARY] or found.seen.has[TAG_HR]:
        _details(tree, found)
    if found.seen.has[TAG_SUP] or found.seen.has[TAG_SUB]:
        _raised(tree, found)
    if found.seen.has[TAG_IMG] or has_seen(found, &images.FILMS):
        referring += images.shape(tree, found) + images.films(tree, found)
    if referring and len(base) * referring <= MAX_RESOLVED + tree.source_size:
        link_targets.resolve(tree, found, base)
    return 0


cdef int _drop(Tree tree, int root, ElementCensus found) except -1:
    """Remove invisible content, formulas first, because some are inside of it."""
    cdef int node, place
    if found.formulas or found.sources:
        math.shape(tree, root, (found.formulas or []) + found.sources)
    if has_seen(found, &_DROPPED_TAGS):
        for place in range(found.count):
            if _DROPPED_TAGS.has[tree.tag(found.noted[place])]:
                tree.extract(found.noted[place])
    for node in found.dropped or ():
        tree.extract(node)
    if found.permalinks:
        _drop_permalinks(tree, root, found.permalinks)
    return 0


cdef int _drop_permalinks(Tree tree, int root, list permalinks) except -1:
    cdef dict sizes = {}
    cdef int node, around
    cdef str said
    for node in permalinks:
        if not tree.is_inside(node, root):
            continue
        said = tree.text(node)
        around = tree.parent(node)
        if any([sign.isalnum() for sign in said]):
            if _is_permalink(said.strip(_BLANK)) is None:
                continue
            if around not in sizes:
                sizes[around] = _size(tree.text(around))
            if sizes[around] == _size(said):
                continue
        while around != NONE:
            if around in sizes:
                sizes[around] -= _size(said)
            around = tree.parent(around)
        tree.extract(node)
    return 0


cdef Py_ssize_t _size(str text) except -1:
    """The number of visible characters. If one text contains the other, the numbers are equal only if the texts
    are."""
    return len(text.translate(_UNSEEN))


cpdef str base_of(Tree tree, str url):
    cdef int html = tree.first(ROOT), part, base
    cdef str stated
    while html != NONE and tree.tag(html) != TAG_HTML:
        html = tree.next(html)
    part = tree.first(html) if html != NONE else NONE
    while part != NONE:
        if tree.tag(part) == TAG_HEAD or tree.tag(part) == TAG_BODY:
            base = tree.first(part)
            while base != NONE:
                if tree.tag(base) == TAG_BASE and tree.attr(base, ATTR_HREF).start != NULL:
                    stated = tree.attr_str(base, ATTR_HREF)
                    return _based(stated, url) if len(stated) <= MAX_BASE else url
                base = tree.next(base)
        part = tree.next(part)
    return url


cdef str _based(str stated, str url):
    cdef str joined = link_targets.joined(stated, url)
    try:
        return joined if urlsplit(joined).scheme in ("http", "https") else url
    except ValueError:
        return url


cdef int _paragraphs(Tree tree, ElementCensus found) except -1:
    """Two consecutive line breaks separate paragraphs."""
    cdef int first, second, after, place
    for place in range(found.count):
        first = found.noted[place]
        if tree.tag(first) != TAG_BR or tree.parent(first) == NONE:
            continue
        second = _break_from(tree, tree.next(first)) if _PARAGRAPHS.has[tree.tag(tree.parent(first))] else NONE
        if second == NONE:
            continue
        while second != NONE:
            after = tree.next(second)
            tree.extract(second)
            second = _break_from(tree, after)
        tree.replace(first, tree.new_element(TAG_DIV))
    return 0


cdef int _break_from(Tree tree, int node) except -2:
    """The line break at this node, or after it with only white space between."""
    while node != NONE and tree.is_text(node) and is_blank(tree.data(node)):
        node = tree.next(node)
    return node if node != NONE and tree.tag(node) == TAG_BR else NONE


cdef int _read_attributes(Tree tree, list telling) except -1:
    """Convert elements whose role or style differs from their tag."""
    cdef int found
    cdef str style
    for found in telling:
        if is_text(tree.attr(found, ATTR_ROLE), b"table"):
            tables.from_roles(tree, found)
        style = tree.attr_str(found, ATTR_STYLE)
        if style is not None and _keeps_blanks(style):
            _unstyle(tree, found, style)
    return 0


cdef int _unstyle(Tree tree, int found, str style) except -1:
    """Preformatted text by style is code only if it also looks like code; otherwise its line breaks are kept."""
    cdef bint has_lines = _has_lines(tree, found)
    cdef int node
    cdef list texts = []
    if tree.closest(found, &_PRE) != NONE:
        return 0
    tree.drop_attr(found, ATTR_STYLE)
    if (_CODE.has[tree.tag(found)] and has_lines) or _is_monospaced(style):
        if _LISTED.has[tree.tag(found)]:
            tree.set_tag(found, TAG_PRE if has_lines else TAG_CODE)
        return 0
    if has_lines:
        node = tree.following(found, found)
        while node != NONE:
            if tree.is_text(node) and contains(tree.data(node), b"\n"):
                texts.append(node)
            node = tree.following(node, found)
        for node in texts:
            _part_lines(tree, node)
    return 0


cdef bint _has_lines(Tree tree, int found) except -1:
    cdef int node = found
    while node != NONE:
        if tree.is_text(node) and contains(tree.data(node), b"\n"):
            return True
        node = tree.following(node, found)
    return False


cdef int _part_lines(Tree tree, int text) except -1:
    """Line breaks become `<br>`, except at the end of a block."""
    cdef str said = as_str(tree.data(text))
    cdef list lines
    if tree.prev(text) == NONE:
        said = said.lstrip()
    if tree.next(text) == NONE:
        said = said.rstrip()
    if said.strip() and tree.closest(tree.parent(text), &_PRE) == NONE:
        lines = said.split("\n")
        said = lines.pop()
        for line in lines:
            tree.insert_before(text, tree.new_text(line))
            tree.insert_before(text, tree.new_element(TAG_BR))
        tree.set_data(text, said)
    return 0


cdef int _labels(Tree tree, ElementCensus found) except -1:
    """Separate the adjacent labels of tabs."""
    cdef int label, after, place
    for place in range(found.count):
        label = found.noted[place]
        if tree.tag(label) == TAG_LABEL:
            after = tree.next(label)
            if after != NONE and tree.tag(after) == TAG_LABEL:
                tree.insert_after(label, tree.new_text(" "))
    return 0


cdef int _links(Tree tree, ElementCensus found) except -1:
    """Replace links without a target by their text, and remove empty ones. Returns the number of links."""
    cdef int link, place, count = 0
    cdef Span href
    for place in range(found.count):
        link = found.noted[place]
        if tree.tag(link) != TAG_A:
            continue
        count += 1
        if tree.attr(link, ATTR_HREF).start == NULL:
            continue
        if _may_say_nothing(tree, link) and _says_nothing(tree, link):
            tree.extract(link)
            continue
        href = tree.attr(link, ATTR_HREF)
        if not href.size or _leads_nowhere(href):
            tree.unwrap(link)
        else:
            if _may_be_blank(href.start[0]) or _may_be_blank(href.start[href.size - 1]):
                _strip_href(tree, link)
            tree.drop_attr(link, ATTR_TITLE)
    for place in range(found.count):
        link = found.noted[place]
        if tree.tag(link) == TAG_A and tree.attr(link, ATTR_HREF).start != NULL:
            _out_of_code(tree, link)
    return count


cdef inline bint _may_be_blank(unsigned char sign) noexcept:
    return sign <= 0x20 or sign >= 0x80


cdef bint _leads_nowhere(Span href) except -1:
    cdef str said
    if memchr(href.start, b":", href.size if href.size < 4 * SCHEME else 4 * SCHEME) == NULL:
        return False
    if begins(href, b"http:") or begins(href, b"https:"):
        return False
    said = as_str(href)
    return ":" in said[:SCHEME] and images.leads_nowhere(said)


cdef int _strip_href(Tree tree, int link) except -1:
    cdef str href = tree.attr_str(link, ATTR_HREF)
    if href[0] in _BLANK or href[len(href) - 1] in _BLANK:
        tree.set_attr(link, ATTR_HREF, href.strip())
    return 0


cdef bint _may_say_nothing(Tree tree, int link) except -1:
    """Whether a link has only a few characters or white space, and no ASCII letter or digit."""
    cdef Py_ssize_t count = 0, place
    cdef bint is_empty = True
    cdef int node = link
    cdef Span said
    cdef unsigned char sign
    while node != NONE:
        if tree.nodes[node].kind == TEXT:
            said = tree.data(node)
            for place in range(said.size):
                sign = said.start[place]
                if b"a" <= sign <= b"z" or b"A" <= sign <= b"Z" or b"0" <= sign <= b"9":
                    return False
                count += (sign & 0xC0) != 0x80
            is_empty = is_empty and is_blank(said)
            if count >= SHORT and not is_empty:
                return False
        node = following(tree.nodes, node, link)
    return True


cdef bint _says_nothing(Tree tree, int link) except -1:
    cdef str text = tree.text(link).strip(_BLANK)
    if not text:
        return not any_tagged(tree, link, &_SEEN)
    return text in _SIGNS and text != "#" and contains(tree.attr(link, ATTR_HREF), b"#")


cdef int _out_of_code(Tree tree, int link) except -1:
    """A code span cannot contain links, so it is moved inside the link."""
    cdef int around = link
    for _ in range(CODE_DEPTH):
        around = tree.parent(around)
        if around == NONE or not _INLINE.has[tree.tag(around)]:
            return 0
        if _CODE.has[tree.tag(around)]:
            if not any_tagged(tree, link, &_SEEN_OR_CODE):
                tree.wrap_children(link, TAG_CODE)
            tree.set_tag(around, TAG_SPAN)
            return 0
    return 0


cdef int _headings(Tree tree, int root, ElementCensus found) except -1:
    cdef int heading, place, last = NONE
    for place in range(found.count):
        heading = found.noted[place]
        if not HEADINGS.has[tree.tag(heading)] or not tree.is_inside(heading, root):
            continue
        if last != NONE and tree.is_inside(heading, last):
            continue
        last = heading
        _out_of_link(tree, heading, found)
        if any_tagged(tree, heading, &_A):
            _heading_with_links(tree, heading)
        elif not _says_something(tree, heading):
            _drop_empty(tree, heading, tree.text(heading).strip(_BLANK))
    return 0


cdef bint _says_something(Tree tree, int heading) except -1:
    """Whether there certainly is visible text: an ASCII character."""
    cdef int node = heading
    cdef Py_ssize_t place
    cdef Span said
    while node != NONE:
        if tree.nodes[node].kind == TEXT:
            said = tree.data(node)
            for place in range(said.size):
                if 0x20 < said.start[place] < 0x7F:
                    return True
        node = following(tree.nodes, node, heading)
    return False


cdef int _heading_with_links(Tree tree, int heading) except -1:
    cdef Py_ssize_t size = -1
    cdef int link = NONE
    cdef str said
    for link in tree.all_tagged(heading, &_A):
        if not tree.is_inside(link, heading):
            continue
        said = tree.text(link).strip(_BLANK)
        if said not in _SIGNS:
            if not _is_fragment(tree.attr(link, ATTR_HREF)) or _is_permalink(said) is None:
                continue
            if size < 0:
                size = _size(tree.text(heading))
            if size == _size(said):
                continue
        if size >= 0:
            size -= _size(said)
        tree.extract(link)
    said = tree.text(heading).strip(_BLANK)
    if _drop_empty(tree, heading, said):
        return 0
    if tree.is_inside(link, heading) and tree.text(link).strip(_BLANK) == said and _is_own(tree, link, heading):
        tree.unwrap(link)
    return 0


cdef bint _is_fragment(Span href) noexcept:
    return href.size == 0 or contains(href, b"#")


cdef bint _drop_empty(Tree tree, int heading, str said) except -1:
    """Remove a heading without text and images; whether it was removed."""
    if said or any_tagged(tree, heading, &_SEEN):
        return False
    tree.extract(heading)
    return True


cdef int _out_of_link(Tree tree, int heading, ElementCensus found) except -1:
    """A link cannot contain headings, so it is moved inside the heading and the paragraphs beside it."""
    cdef int link = tree.parent(heading), block, inner
    cdef str href
    for _ in range(CARD_DEPTH):
        if link == NONE or tree.tag(link) == TAG_A:
            break
        link = tree.parent(link)
    if link == NONE or tree.tag(link) != TAG_A:
        return 0
    href = tree.attr_str(link, ATTR_HREF)
    if href is None:
        return 0
    for block in tree.all_tagged(link, &_CARDS):
        if tree.text(block).strip(_BLANK) and not any_tagged(tree, block, &HEADINGS):
            inner = tree.wrap_children(block, TAG_A)
            tree.set_attr(inner, ATTR_HREF, href)
            found.note(inner)
    if tree.parent(link) != NONE:
        tree.unwrap(link)
    return 0


cdef bint _is_own(Tree tree, int link, int heading) except -1:
    """Whether a link leads to the heading that contains it."""
    cdef int above = tree.parent(heading)
    cdef str target = tree.attr_str(link, ATTR_HREF)
    if not target or not target.startswith("#"):
        return False
    return target[1:] in (
        tree.attr_str(heading, ATTR_ID),
        tree.attr_str(link, ATTR_ID),
        tree.attr_str(above, ATTR_ID) if above != NONE else None,
    )


cdef int _details(Tree tree, ElementCensus found) except -1:
    cdef int node, place
    for place in range(found.count):
        node = found.noted[place]
        if tree.tag(node) == TAG_SUMMARY:
            admonitions.embolden(tree, node)
        elif tree.tag(node) == TAG_HR and tree.parent(node) != NONE:
            tree.insert_before(node, new_gap(tree))
    return 0


cdef int _raised(Tree tree, ElementCensus found) except -1:
    """Keep superscripts and subscripts distinct from their base, except inside code."""
    cdef int node, around, place
    cdef bint is_sup
    for place in range(found.count):
        node = found.noted[place]
        if tree.tag(node) != TAG_SUP and tree.tag(node) != TAG_SUB:
            continue
        around = tree.parent(node)
        for _ in range(CODE_DEPTH):
            if around == NONE or _CODE.has[tree.tag(around)]:
                break
            around = tree.parent(around)
        if around == NONE or not _CODE.has[tree.tag(around)]:
            is_sup = tree.tag(node) == TAG_SUP
            tree.prepend(node, tree.new_text(_OPEN_SUP if is_sup else _OPEN_SUB))
            tree.append(node, tree.new_text(_CLOSE_SUP if is_sup else _CLOSE_SUB))
    return 0
