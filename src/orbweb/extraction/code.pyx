"""Code blocks of a DOM: each becomes one `<pre class="language-x">` with its exact text and no markup.

Recognizes code that is not marked as such in HTML (editors, listings in tables, generators that write one element
per line), removes line numbers and copy buttons, and finds the declared language, which is never guessed from the
code. Text and line breaks are those that a browser shows.
"""

import re
from functools import lru_cache

from libc.string cimport memchr, memcpy

from orbweb.extraction.languages import KNOWN, NO_LANGUAGE, TONGUES

from orbweb.extraction.element_census cimport INSIDE, LINE, NUMBERS, TABULAR, ElementCensus, Words, has_seen
from orbweb.parsing.html.walk cimport beyond, following
from orbweb.parsing.html.tree cimport (
    ATTR_ARIA_LABEL, ATTR_CLASS, ATTR_END, ATTR_LANG, ATTR_LANGUAGE, ATTR_STYLE, ATTR_SYNTAX, ATTR_TITLE,
    NONE, ROOT, TAG_BR, TAG_BUTTON, TAG_CLIPBOARD_COPY, TAG_CODE, TAG_DIV, TAG_MJX_CONTAINER, TAG_P, TAG_PRE,
    TAG_SAMP, TAG_SPAN, TAG_SVG, TAG_TABLE, TAG_TD, TAG_TEXTAREA, TAG_TH, TAG_TT, TAG_UNKNOWN, TEXT, Span,
    TagSet, Tree, as_str, contains, is_blank, stripped, tags,
)

cdef frozenset NUMBERS_CLASSES = frozenset(
    (
        *("linenos", "lineno", "linenodiv", "linenumbers", "linenumber", "line-number", "line-numbers-rows"),
        *("line-numbers-wrapper", "source-line-no", "sourceLineNo", "src-line-numbers", "rouge-gutter", "lnt"),
        *("hljs-ln-numbers", "blob-num", "LineNr", "CodeMirror-linenumber", "CodeMirror-gutter-wrapper"),
        *("py-lineno", "ltx_tag_listingline", "ltx_listing_data", "linenr"),
        *(
            "gutter-line",
            "cm-gutters",
            "react-syntax-highlighter-line-number",
            "zeroclipboard-container",
            "copybtn",
        ),
    )
)
# Classes of line numbers and buttons, only inside a listing.
cdef frozenset INSIDE_CLASSES = frozenset(
    (
        *("ln", "gutter", "line-numbers", "copy", "copy-btn", "copy-button", "toolbar", "code-header"),
        *("code-lang", "code-block-header", "lang-label"),
    )
)
# Listings that are not preformatted, so they use non-breaking spaces for blanks.
cdef frozenset SPACED_CLASSES = frozenset(("RktBlk", "ltx_lstlisting"))
# A listing as a table, with the code in one cell and the line numbers in another.
cdef str TABULAR_CLASS = "syntaxhighlighter"
cdef frozenset LISTING_CLASSES = SPACED_CLASSES | {
    *("CodeMirror-code", "cm-content", "view-lines", "ace_text-layer"),
    *("fragment", "js-file-line-container"),
}
cdef frozenset LINE_CLASSES = frozenset(
    (
        *("line", "token-line", "code-line", "CodeMirror-line", "view-line", "cm-line", "ace_line", "ec-line"),
        *("code__line", "react-code-text", "blob-code"),
    )
)

cdef enum:
    ANCESTORS = 4
    # How many ancestors of a block may declare its language.
    NEAR = 2
    # From this distance on, only a known language counts.
    STATING = 7
    # The attributes that declare a language.
    CELLS = 64
    # The most cells in a row of a listing in a table.

cdef TagSet _BREAKING = tags("br div li tr p button svg")
cdef TagSet _LINES = tags("div li tr p")
cdef TagSet _BUTTONS = tags("button clipboard-copy")
cdef TagSet _OLD = tags("xmp listing textarea tt")
cdef TagSet _PRE = tags("pre")
cdef TagSet _TR = tags("tr")
cdef TagSet _TELLING = tags("code pre")
cdef TagSet _LISTED = tags("div table tbody")
cdef TagSet _SPACES = tags("span code")
cdef TagSet _PARAGRAPHS = tags("p div blockquote dd")
cdef TagSet _AROUND = tags("div code figure")
cdef TagSet _CELLS = tags("td th pre")
cdef TagSet _SECTIONS = tags("body main article section html td li")
cdef frozenset _MARKS_CODE = frozenset(
    (
        *("sourcecode", "hljs", "makeup", "code", "highlight", "playground", "prettyprint", "src", "codehilite"),
        *("programlisting", "example", "listing", TABULAR_CLASS),
    )
)

cdef object _copies = re.compile(r"copy|clipboard|kopier|copier|copiar", re.IGNORECASE).search
cdef object _named = re.compile(r"(?:(?:brush|lang)\s*:\s*|\bhighlight hl-)([\w+#.-]+)", re.IGNORECASE).search
cdef object _prefixed = re.compile(
    r"(?:(?:language|lang|highlight-source|highlight-text|highlight|src|mw-highlight-lang|ltx_lst_language|"
    r"syntax|brush|user)[-_]|sh_)"
    r"(.+)",
    re.IGNORECASE,
).fullmatch
cdef object _writable = re.compile(r"[a-z0-9][a-z0-9+#._/-]{0,39}").fullmatch
cdef object _locale = re.compile(r"([a-z]{2})(?:[-_][a-z]{2,4})?").fullmatch

cdef struct Stating:
    int names[STATING]
    # The attributes that declare a language, most reliable first; NONE for those that do not occur.
    int parameters
    # The attribute of SyntaxHighlighter, with the syntax of a class.


cdef int shape(Tree tree, int root, ElementCensus found) except -1:
    cdef int node, place
    cdef bint made
    cdef Stating stating
    if found.words.meant & NUMBERS:
        _numbers(tree, root, found)
    if found.seen.has[TAG_BUTTON] or found.seen.has[TAG_CLIPBOARD_COPY]:
        for place in range(found.count):
            if _BUTTONS.has[tree.tag(found.noted[place])]:
                _button(tree, found.noted[place])
    made = _listings(tree, root, found)
    made = _unusual(tree, found) or made
    if made or found.seen.has[TAG_PRE]:
        stating = _stating(tree)
        for node in outermost(tree, root, &_PRE) if made else _noted_blocks(tree, root, found):
            if tree.is_inside(node, root):
                if found.words.meant & INSIDE:
                    _drop_inside(tree, node, found.words)
                _block(tree, node, found.words, &stating)
    return 0


cdef list _noted_blocks(Tree tree, int root, ElementCensus found):
    """The code blocks by tag, without nested ones."""
    cdef list blocks = []
    cdef int place, node, last = NONE
    for place in range(found.count):
        node = found.noted[place]
        if tree.tag(node) != TAG_PRE or not tree.is_inside(node, root):
            continue
        if last == NONE or not tree.is_inside(node, last):
            blocks.append(node)
            last = node
    return blocks


cdef list outermost(Tree tree, int root, const TagSet* wanted):
    cdef list found = []
    cdef int node
    tree.at(root)
    node = following(tree.nodes, root, root)
    while node != NONE:
        if wanted.has[tree.nodes[node].tag]:
            found.append(node)
            node = beyond(tree.nodes, node, root)
        else:
            node = following(tree.nodes, node, root)
    return found


cdef bint _listings(Tree tree, int root, ElementCensus found) except -1:
    """Convert code blocks by class; whether there were any."""
    cdef int node
    for node in found.listings or ():
        _as_pre(tree, node)
    if found.words.meant & TABULAR:
        _tabular(tree, root)
    for node in found.spaced or ():
        if tree.is_inside(node, root):
            _space(tree, node)
    return bool(found.listings) or found.words.meant & TABULAR


cdef int _tabular(Tree tree, int root) except -1:
    """The listings of SyntaxHighlighter: `.syntaxhighlighter .gutter` is removed, `td.code > .container` is the
    code."""
    cdef int node = tree.following(root, root), cell
    while node != NONE:
        if tree.has_class(node, b"gutter") and _is_in_tabular(tree, node):
            cell = node
            node = tree.beyond(node, root)
            tree.extract(cell)
            continue
        node = tree.following(node, root)
    node = tree.following(root, root)
    while node != NONE:
        cell = tree.parent(node)
        if tree.has_class(node, b"container") and tree.tag(cell) == TAG_TD and tree.has_class(cell, b"code"):
            if _is_in_tabular(tree, cell):
                _as_pre(tree, node)
                _space(tree, node)
        node = tree.following(node, root)
    return 0


cdef bint _is_in_tabular(Tree tree, int node) except -1:
    while True:
        node = tree.parent(node)
        if node == NONE:
            return False
        if tree.has_class(node, b"syntaxhighlighter"):
            return True


cdef int _numbers(Tree tree, int root, ElementCensus found) except -1:
    """Remove line numbers, but not a block whose class only says that it has some."""
    cdef int node
    cdef list names
    for node in found.numbers:
        if tree.tag(node) == TAG_PRE and not _is_number(tree.text(node)):
            names = tree.attr_str(node, ATTR_CLASS).split()
            tree.set_attr(node, ATTR_CLASS, " ".join([name for name in names if name not in NUMBERS_CLASSES]))
    for node in found.numbers:
        if found.words.of(tree.attr(node, ATTR_CLASS)) & NUMBERS:
            tree.extract(node)
    return 0


cdef int _button(Tree tree, int button) except -1:
    """Remove copy buttons, recognized by their labels."""
    cdef int name
    cdef str words
    if tree.tag(button) == TAG_CLIPBOARD_COPY:
        return tree.extract(button)
    for name in (ATTR_CLASS, ATTR_ARIA_LABEL, ATTR_TITLE):
        words = tree.attr_str(button, name)
        if words and _copies(words):
            return tree.extract(button)
    words = as_str(tree.attr_named(button, "data-clipboard-target"))
    if (words and _copies(words)) or _copies(tree.text(button)):
        tree.extract(button)
    return 0


cdef int _as_pre(Tree tree, int listing) except -1:
    if _LISTED.has[tree.tag(listing)]:
        tree.set_tag(listing, TAG_PRE)
    return 0


cdef int _space(Tree tree, int listing) except -1:
    cdef int space = tree.next_tagged(listing, listing, &_SPACES)
    cdef str text
    while space != NONE:
        if not tree.has_text(space):
            text = tree.text(space)
            if text:
                tree.set_text(space, text.replace("\xa0", " "))
        space = tree.next_tagged(space, listing, &_SPACES)
    return 0


cdef bint _unusual(Tree tree, ElementCensus found) except -1:
    """Convert old and rare forms of code blocks: `<xmp>`, a form field, inline code with line breaks. Whether
    there were any."""
    cdef int node, place, tag, said = NONE, empty = NONE
    cdef bint made = False
    cdef set broken = set()
    if has_seen(found, &_OLD):
        for place in range(found.count):
            node = found.noted[place]
            if tree.tag(node) == TAG_TT:
                if empty != NONE and tree.is_inside(node, empty):
                    tree.set_tag(node, TAG_SPAN)
                    continue
                said = _teletype(tree, node, said)
                empty = NONE if said != NONE else node
            elif _OLD.has[tree.tag(node)]:
                if tree.tag(node) != TAG_TEXTAREA or "\n" in tree.text(node).strip():
                    tree.set_tag(node, TAG_PRE)
                    made = True
    if found.seen.has[TAG_BR]:
        for place in range(found.count):
            node = tree.parent(found.noted[place])
            if tree.tag(found.noted[place]) == TAG_BR and node != NONE:
                tag = tree.tag(node)
                if (tag == TAG_CODE or tag == TAG_SAMP) and node not in broken:
                    broken.add(node)
                    made = _break_out(tree, node) or made
    return made


cdef int _teletype(Tree tree, int found, int said) except -2:
    """Inline code, or only a wide blank. Takes and returns the first text of the element before (NONE if it had
    none): nested elements have the same one, so it is not searched for again."""
    if said == NONE or not tree.is_inside(said, found):
        said = tree.first_text(found)
    if said != NONE:
        tree.set_tag(found, TAG_CODE)
        return said
    tree.set_tag(found, TAG_SPAN)
    if tree.text_length(found):
        tree.set_text(found, " ")
    return NONE


cdef bint _break_out(Tree tree, int code) except -1:
    """Inline code with line breaks that is the only content of its paragraph is a code block; whether it was."""
    cdef int paragraph = tree.parent(code)
    if paragraph == NONE or not _PARAGRAPHS.has[tree.tag(paragraph)] or not _is_alone(tree, code):
        return False
    if tree.tag(paragraph) == TAG_P:
        tree.set_tag(paragraph, TAG_DIV)
    tree.set_tag(code, TAG_PRE)
    return True


cdef bint _is_alone(Tree tree, int node) except -1:
    """Whether a node has only white space as siblings."""
    cdef int around = tree.parent(node), sibling
    sibling = tree.first(around) if around != NONE else NONE
    while sibling != NONE:
        if sibling != node and (tree.is_element(sibling) or not is_blank(tree.data(sibling))):
            return False
        sibling = tree.next(sibling)
    return True


cdef int _number_cells(Tree tree, int pre) except -1:
    """Remove the first cells of rows if they are consecutive numbers."""
    cdef list firsts = [], numbers = []
    cdef int row, cell, first, count
    for row in tree.all_tagged(pre, &_TR):
        cell, first, count = tree.first(row), NONE, 0
        while cell != NONE:
            if tree.is_element(cell):
                first = cell if first == NONE else first
                count += 1
            cell = tree.next(cell)
        said = tree.text(first).strip() if count > 1 else ""
        if not said.isdecimal() or (numbers and int(said[:9]) != numbers[0] + len(numbers)):
            return 0
        firsts.append(first)
        numbers.append(int(said[:9]))
    for first in firsts:
        tree.extract(first)
    return 0


cdef int _drop_inside(Tree tree, int pre, Words words) except -1:
    """Remove line numbers and buttons from a block."""
    cdef int node = tree.following(pre, pre), after
    while node != NONE:
        if words.of(tree.attr(node, ATTR_CLASS)) & INSIDE:
            after = tree.beyond(node, pre)
            tree.extract(node)
        else:
            after = tree.following(node, pre)
        node = after
    return 0


cdef struct Inner:
    # The tags inside a block.
    bint tells, table, breaks, lines


cdef Inner _inner(Tree tree, int pre) noexcept:
    cdef Inner found
    cdef int node = pre, tag
    found.tells = found.table = found.breaks = found.lines = False
    while True:
        node = following(tree.nodes, node, pre)
        if node == NONE:
            return found
        tag = tree.nodes[node].tag
        if tree.nodes[node].kind == TEXT:
            if not found.lines and tree.nodes[node].size:
                found.lines = memchr(tree.heap + tree.nodes[node].at, b"\n", tree.nodes[node].size) != NULL
        elif _BREAKING.has[tag]:
            found.breaks = True
        elif tag == TAG_CODE or tag == TAG_PRE:
            found.tells = True
        elif tag == TAG_TABLE:
            found.table = True


cdef int _block(Tree tree, int pre, Words words, const Stating* stating) except -1:
    cdef Inner inner = _inner(tree, pre)
    cdef str language = _language(tree, pre, stating, inner.tells)
    cdef int text, around
    if inner.table:
        _number_cells(tree, pre)
    if inner.breaks:
        _break_lines(tree, pre)
    if inner.breaks or words.meant & LINE or not inner.lines:
        for around in _line_elements(tree, pre, words):
            _end_line(tree, around)
    text = _put_text(tree, pre)
    if text == NONE:
        tree.extract(pre)
        return 0
    tree.clear(pre)
    tree.link_last(pre, text)
    tree.clear_attrs(pre)
    if _leave_table(tree, pre):
        language = language or _language(tree, pre, stating, False)
    if language:
        tree.set_attr(pre, ATTR_CLASS, f"language-{language}")
        _drop_label(tree, pre)
    around = tree.parent(pre)
    if around != NONE and _is_custom(tree, around):
        tree.set_tag(around, TAG_DIV)
    return 0


cdef bint _is_custom(Tree tree, int node) except -1:
    cdef int tag = tree.tag(node)
    if tag == TAG_UNKNOWN:
        return "-" in tree.tag_name(node)
    return tag == TAG_MJX_CONTAINER or tag == TAG_CLIPBOARD_COPY


cdef int _drop_label(Tree tree, int pre) except -1:
    """Move the language that is displayed above a block to the block."""
    cdef int label = tree.prev(pre)
    if label == NONE or (tree.tag(label) != TAG_SPAN and tree.tag(label) != TAG_DIV):
        return 0
    if contains(tree.attr(label, ATTR_CLASS), b"lang") and tree.text(label).strip().lower() in KNOWN:
        tree.extract(label)
    return 0


cdef int _break_lines(Tree tree, int pre) except -1:
    """Replace `<br>` by line breaks, and remove elements without text."""
    cdef int node = tree.next_tagged(pre, pre, &_BREAKING), after
    while node != NONE:
        after = tree.next_tagged(node, pre, &_BREAKING)
        if tree.tag(node) == TAG_BR:
            tree.replace(node, tree.new_text("\n"))
        elif tree.tag(node) == TAG_BUTTON or tree.tag(node) == TAG_SVG:
            after = _beyond_tagged(tree, node, pre)
            tree.extract(node)
        node = after
    return 0


cdef int _beyond_tagged(Tree tree, int node, int pre) except -2:
    node = tree.beyond(node, pre)
    if node == NONE or _BREAKING.has[tree.tag(node)]:
        return node
    return tree.next_tagged(node, pre, &_BREAKING)


cdef int _put_text(Tree tree, int pre) except -2:
    """All text of a block, without leading blank lines and trailing white space, as a new node."""
    cdef Py_ssize_t size = 0
    cdef int node = pre, text
    cdef char* to
    cdef Span all_text, end
    while node != NONE:
        if tree.nodes[node].kind == TEXT:
            size += tree.nodes[node].size
        node = following(tree.nodes, node, pre)
    tree.reserve(size)
    to = tree.heap + tree.heap_size
    node = pre
    while node != NONE:
        if tree.nodes[node].kind == TEXT:
            memcpy(to, tree.heap + tree.nodes[node].at, tree.nodes[node].size)
            to += tree.nodes[node].size
        node = following(tree.nodes, node, pre)
    all_text.start, all_text.size = tree.heap + tree.heap_size, size
    if size and memchr(all_text.start, b"\r", size) != NULL:
        said = as_str(all_text).replace("\r\n", "\n").replace("\r", "\n").rstrip().lstrip("\n")
        return tree.new_text(said) if said else NONE
    end = stripped(all_text)
    if not end.size:
        return NONE
    all_text.size = end.start + end.size - all_text.start
    while all_text.start[0] == b"\n":
        all_text.start, all_text.size = all_text.start + 1, all_text.size - 1
    text = tree.new_node(TEXT)
    tree.nodes[text].at = <int> (all_text.start - tree.heap)
    tree.nodes[text].size = <int> all_text.size
    tree.heap_size += size
    return text


cdef bint _is_line(Tree tree, int node, Words words) except -1:
    cdef Span style
    if not tree.is_element(node):
        return False
    if _LINES.has[tree.tag(node)]:
        return True
    style = tree.attr(node, ATTR_STYLE)
    if contains(style, b"display:block") or contains(style, b"display: block"):
        return True
    return words.meant & LINE and words.of(tree.attr(node, ATTR_CLASS)) & LINE


cdef list _line_elements(Tree tree, int pre, Words words):
    """Add line breaks after the innermost elements that are one line each, if the source has none."""
    cdef list found = []
    cdef int node = tree.following(pre, pre), last = NONE
    while node != NONE:
        if _is_line(tree, node, words):
            if last != NONE and not tree.is_inside(node, last):
                found.append(last)
            last = node
        node = tree.following(node, pre)
    if last != NONE:
        found.append(last)
        return found
    node = tree.first(pre)
    if node == NONE or tree.next(node) == NONE:
        return found
    while node != NONE:
        if tree.is_element(node):
            if tree.tag(node) != TAG_CODE:
                return []
            found.append(node)
        elif not is_blank(tree.data(node)):
            return []
        node = tree.next(node)
    return found


cdef int _end_line(Tree tree, int line) except -1:
    cdef int before = tree.prev(line), after = _following(tree, line)
    cdef Span said
    if before != NONE and tree.is_text(before):
        said = tree.data(before)
        if not is_blank(said) and said.start[said.size - 1] != b"\n":
            tree.insert_before(line, tree.new_text("\n"))
    if _ends_in_break(tree, line):
        return 0
    if after != NONE and tree.is_text(after):
        said = tree.data(after)
        if said.size and (said.start[0] == b"\n" or said.start[0] == b"\r"):
            return 0
    return tree.append(line, tree.new_text("\n"))


cdef bint _ends_in_break(Tree tree, int line) except -1:
    cdef int node = line
    cdef char last = 0
    while node != NONE:
        if tree.nodes[node].kind == TEXT and tree.nodes[node].size:
            last = tree.heap[tree.nodes[node].at + tree.nodes[node].size - 1]
        node = following(tree.nodes, node, line)
    return last == b"\n"


cdef int _following(Tree tree, int line) except -2:
    """The node after a line, also if the line is the last of a group."""
    cdef int last = line, above
    for _ in range(ANCESTORS):
        above = tree.parent(last)
        if tree.next(last) != NONE or above == NONE or above == ROOT or tree.tag(above) == TAG_PRE:
            break
        last = above
    return tree.next(last)


cdef bint _leave_table(Tree tree, int pre) except -1:
    """A table with only line numbers beside the code is a code block, also with a file name above it; whether it
    was one."""
    cdef int inside = pre, cell = tree.parent(pre), row, table, child, count = 0
    cdef list labels = []
    while cell != NONE and _AROUND.has[tree.tag(cell)] and _is_alone(tree, inside):
        inside, cell = cell, tree.parent(cell)
    if cell == NONE or tree.tag(cell) != TAG_TD or not _is_alone(tree, inside):
        return False
    row = tree.parent(cell)
    table = tree.parent(row) if row != NONE and row != ROOT else NONE
    table = tree.parent(table) if table != NONE and table != ROOT else NONE
    if table == NONE or tree.tag(table) != TAG_TABLE or tree.parent(table) == NONE:
        return False
    child = tree.first(row)
    while child != NONE:
        count += 1
        if count > CELLS or (child != cell and not _is_number(tree.text(child))):
            return False
        child = tree.next(child)
    for forward in (False, True):
        child = tree.next(row) if forward else tree.prev(row)
        while child != NONE:
            if not _is_label(tree, child):
                return False
            labels.append(tree.text(child).strip())
            child = tree.next(child) if forward else tree.prev(child)
    if not _is_last_block(tree, pre, row, table):
        return False
    for label in filter(None, labels):
        tree.insert_before(table, tree.set_text(tree.new_element(TAG_DIV), label))
    tree.replace(table, pre)
    return True


cdef bint _is_last_block(Tree tree, int pre, int row, int table) except -1:
    """Whether no other code block is in the same row or table."""
    cdef int node = tree.next_tagged(table, table, &_PRE)
    cdef bint is_after = False
    while node != NONE:
        if node == pre:
            is_after = True
        elif is_after or not tree.is_inside(node, row):
            return False
        node = tree.next_tagged(node, table, &_PRE)
    return True


cdef bint _is_label(Tree tree, int sibling) except -1:
    """Whether the row of a listing has no siblings, or only a row with a file name."""
    cdef int cell
    if not tree.is_element(sibling):
        return is_blank(tree.data(sibling))
    cell = tree.next_tagged(sibling, sibling, &_CELLS)
    return cell != NONE and tree.tag(cell) == TAG_TH and tree.next_tagged(cell, sibling, &_CELLS) == NONE


cdef bint _is_number(str text) except -1:
    return all([word.isdecimal() for word in text.split()])


cdef Stating _stating(Tree tree):
    """The attributes that declare a language, by their numbers on this page."""
    cdef Stating found
    found.names[0] = _number_of(tree, "data-lang")
    found.names[1] = _number_of(tree, "data-language")
    found.names[2] = ATTR_SYNTAX
    found.names[3] = _number_of(tree, "data-enlighter-language")
    found.names[4] = _number_of(tree, "data-code-language")
    found.names[5] = ATTR_LANGUAGE
    found.names[6] = ATTR_LANG
    found.parameters = _number_of(tree, "data-syntaxhighlighter-params")
    return found


cdef int _number_of(Tree tree, str name) except -2:
    cdef object number = tree.name_numbers.get(name)
    return NONE if number is None else ATTR_END + <int> number


cdef str _language(Tree tree, int pre, const Stating* stating, bint tells):
    """The language declared by the block, the code in it (if it `tells`) or its ancestors; empty if there is
    none."""
    cdef int node = tree.next_tagged(pre, pre, &_TELLING) if tells else NONE, distance
    cdef str found
    while node != NONE:
        found = _stated(tree, node, stating, True, False)
        if found:
            return found
        node = tree.next_tagged(node, pre, &_TELLING)
    found = _stated(tree, pre, stating, True, False)
    if found:
        return found
    node = tree.first(pre)
    if node != NONE and tree.tag(node) == TAG_DIV:
        found = _stated(tree, node, stating, False, False)
        if found:
            return found
    node = tree.parent(pre)
    for distance in range(1, ANCESTORS + 1):
        if node == NONE or node == ROOT or (_SECTIONS.has[tree.tag(node)] and distance > 1):
            break
        found = _stated(tree, node, stating, False, distance > NEAR)
        if found:
            return found
        node = tree.parent(node)
    return ""


cdef str _stated(Tree tree, int node, const Stating* stating, bint own, bint known):
    cdef Span words = tree.attr(node, ATTR_CLASS), value
    cdef int place
    cdef str found
    if tree.attr_count(node) > (words.start != NULL):
        for place in range(STATING):
            if stating.names[place] == NONE:
                continue
            value = tree.attr(node, stating.names[place])
            if value.size:
                found = _plain_name(as_str(value))
                if found and (found in KNOWN or (stating.names[place] != ATTR_LANG and not known)):
                    return found
        if stating.parameters != NONE:
            value = tree.attr(node, stating.parameters)
            words = value if value.size else words
    found = _of_class(as_str(words), own) if words.size else ""
    return found if not known or found in KNOWN else ""


@lru_cache(maxsize=2048)
def _of_class(str words, bint own):
    """The language in a class attribute. A bare name counts if the element is code by its tag or classes."""
    if named := _named(words):
        return _plain_name(named[1])
    names = words.split()[:20]
    for name in names:
        if (match := _prefixed(name)) and (found := _plain_name(match[1])):
            return found
    bare = [name.lower() for name in names]
    if own or not _MARKS_CODE.isdisjoint(bare):
        for name in bare:
            if name in KNOWN and (len(name) > 1 or name in "cr"):
                return name
    return ""


cdef str _plain_name(str value):
    """A language as written after a fence; empty if it is not one, or is a natural language such as `en-gb`."""
    name = value.strip().lower().removesuffix("-basic")
    if name.startswith(("language-", "lang-")):
        name = name.partition("-")[2]
    if name in KNOWN:
        return name
    spoken = _locale(name)
    if spoken is not None and (name != spoken[1] or name in TONGUES):
        return ""
    return name if _writable(name) and name not in NO_LANGUAGE else ""
