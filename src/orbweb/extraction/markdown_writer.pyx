"""Writes a normalized element as Markdown.

A CommonMark parser with tables reads the output as the same blocks and words. Emphasis that markers cannot express
is written as HTML; a row of a table is one line; time is linear. A blank, a line break or an emphasis marker is
written only when it is known what follows it.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove

from orbweb.extraction.buffer cimport Buffer, borrowed, give_back
from orbweb.extraction.markdown_lines cimport (
    CELLS, CODE, EMPHASIS, FIRST_LINE, Lines, NEXT_LINE, NO_LINE, PUNCTUATION, all_blank, edges, hard_at,
    sign_of,
)
from orbweb.extraction.markdown_cleanup cimport bare_underscores, close_gaps
from orbweb.extraction.plain_text cimport BLOCKS, SKIPPED
from orbweb.parsing.html.characters cimport is_space
from orbweb.parsing.html.tree cimport (
    ATTR_ALT, ATTR_CLASS, ATTR_HREF, ATTR_SRC, ATTR_START, ATTR_TITLE, ATTR_VALUE, ELEMENT, NONE, Node, Span,
    TAG_A, TAG_BLOCKQUOTE, TAG_BR, TAG_CODE, TAG_DIV, TAG_H1, TAG_HR, TAG_IMG, TAG_LI, TAG_OL, TAG_P, TAG_PRE,
    TAG_Q, TAG_SUB, TAG_SUP, TAG_TABLE, TAG_TH, TAG_THEAD, TAG_TR, TAG_WBR, TEXT, TagSet, Tree, tags,
)
from orbweb.parsing.html.walk cimport beyond, following

cdef enum:
    MAX_LEVELS = 17
    # The deepest indentation by quotes and lists (two each); deeper elements stay at that depth.

    MAX_MARKS = 8
    # The most nested emphasis and links; deeper emphasis is not marked. Each is closed and reopened at every block
    # boundary, so formatting that a page never closes would be repeated in every paragraph.

cdef enum Sign:
    # The kind of a byte in running text.
    PLAIN, BLANK, ESCAPED, CONDITIONAL

cdef struct List:
    Py_ssize_t number, width
    bint ordered, loose, begun, in_run
    char sign

cdef unsigned char _signs[256]
# Bytes that may have to be escaped in a URL.
cdef bint _specials[256]


cdef int _prepare() except -1:
    cdef int byte
    for byte in range(256):
        _signs[byte] = PLAIN
        _specials[byte] = byte in b" ()<>&\\\n\t\r"
        if chr(byte) in " \t\n\f\r":
            _signs[byte] = BLANK
        elif chr(byte) in "\\`[]~*_":
            _signs[byte] = ESCAPED
        elif chr(byte) in "<&":
            _signs[byte] = CONDITIONAL
    return 0


_prepare()

cdef TagSet _HEADINGS = tags("h1 h2 h3 h4 h5 h6")
# Blocks other than plain paragraphs.
cdef TagSet _FRAMED = tags("blockquote pre hr ul ol menu table h1 h2 h3 h4 h5 h6")
# Blocks that would absorb a paragraph directly after them.
cdef TagSet _LAZY = tags("blockquote table ul ol menu")
cdef TagSet _LISTS = tags("ul ol menu")
cdef TagSet _PARTS = tags("thead tbody tfoot")
cdef TagSet _SCAFFOLD = tags("table thead tbody tfoot tr td th ul ol menu li")


cdef const char* _next_hard(const char* at, const char* end) noexcept:
    """The next non-ASCII blank, or the end."""
    while at < end and (<unsigned char> at[0] < 0x80 or not hard_at(at, end)):
        at += 1
    return at


cdef inline uint64_t _where(uint64_t part, uint64_t sign) noexcept:
    """The high bits of the bytes that equal a character, and possibly of some after it."""
    part ^= sign * 0x0101010101010101ULL
    return (part - 0x0101010101010101ULL) & ~part & 0x8080808080808080ULL


cdef inline const char* _after_plain(const char* at, const char* end) noexcept:
    """Skip words separated by single blanks without anything to escape, eight bytes at a time."""
    cdef uint64_t part, blank, low
    while end - at >= 8:
        memcpy(&part, at, 8)
        blank = _where(part, 0x20)
        low = part & 0x7F7F7F7F7F7F7F7FULL
        if (
            blank & (blank >> 8)
            or (part - 0x2020202020202020ULL) & ~part & 0x8080808080808080ULL
            or (low + 0x2525252525252525ULL) & ~(low + 0x1F1F1F1F1F1F1F1FULL) & ~part & 0x8080808080808080ULL
            or _where(part, 0x2A) | _where(part, 0x26) | _where(part, 0x3C) | _where(part, 0x7E)
        ):
            break
        at += 7 if blank >> 63 else 8
    return at


cdef bint _is_reference(const char* at, const char* end) noexcept:
    """Whether `&` begins a character reference."""
    cdef const char* start
    at += 1
    if at < end and at[0] == b"#":
        at += 1
        if at < end and (at[0] == b"x" or at[0] == b"X"):
            at += 1
    start = at
    while at < end and (b"0" <= at[0] <= b"9" or b"a" <= at[0] <= b"z" or b"A" <= at[0] <= b"Z"):
        at += 1
    return at > start and at < end and at[0] == b";"


cdef bint _is_markup(const char* at, const char* end) noexcept:
    """Whether `<` or `&` begins text that may be parsed as HTML."""
    if at[0] == b"&":
        return _is_reference(at, end)
    return at + 1 == end or not is_space(at[1])


cdef Py_ssize_t _longest_fence(const char* at, Py_ssize_t size) noexcept:
    """The length of the longest run of backticks."""
    cdef const char* end = at + size
    cdef const char* start
    cdef Py_ssize_t longest = 0
    while size:
        start = <const char*> memchr(at, b"`", end - at)
        if start == NULL:
            break
        at = start
        while at < end and at[0] == b"`":
            at += 1
        if at - start > longest:
            longest = at - start
        size = end - at
    return longest


cdef class Writer(Lines):
    """Writes an element recursively, from the outside in."""

    # Text.

    cdef int say(self, int node) except -1:
        """Write a text with collapsed white space and escaped Markdown."""
        cdef const char* at = self.heap + self.nodes[node].at
        cdef const char* end = at + self.nodes[node].size
        cdef const char* tail
        self.here = node
        if self.in_heading and not self.mark_count:
            tail = _next_hard(at, end)
        else:
            tail = self.hard_tail(node, at, end)
        while True:
            self.words(at, tail, end)
            at = tail
            if at == end:
                return 0
            if is_space(at[0]):
                self.space = True
                at += 1
            else:
                self.at = at
                self.before_visible()
                at += self.entity(at, end)
                self.filled = True
            tail = _next_hard(at, end)

    cdef int words(self, const char* at, const char* end, const char* last) except -1:
        """Write a part of a text up to `last`."""
        cdef const char* start
        cdef int sign
        while at < end:
            sign = _signs[<unsigned char> at[0]]
            if sign == BLANK:
                self.space = True
                at += 1
                continue
            self.at = at
            self.before_visible()
            if not self.filled:
                start = at
                at = self.begin_line(at, last)
                self.filled = True
                if at >= end:
                    break
                if at != start:
                    continue
            if self.numbered:
                if b"0" <= at[0] <= b"9":
                    self.out.sign(at[0])
                    at += 1
                    continue
                self.numbered = False
                if at[0] == b"." or at[0] == b")":
                    self.out.sign(b"\\")
            if sign == CONDITIONAL:
                if _is_markup(at, last):
                    self.out.sign(b"\\")
                self.out.sign(at[0])
                at += 1
            while True:
                start = at
                while at < end:
                    at = _after_plain(at, end)
                    if at == end:
                        break
                    if _signs[<unsigned char> at[0]] == PLAIN:
                        at += 1
                    elif at[0] == b" " and at + 1 < end and _signs[<unsigned char> at[1]] == PLAIN:
                        at += 2
                    else:
                        break
                if at > start:
                    self.literal(start, at - start)
                if at == end or _signs[<unsigned char> at[0]] != ESCAPED:
                    break
                self.out.sign(b"\\")
                self.out.sign(at[0])
                at += 1
        return 0

    cdef const char* hard_tail(self, int node, const char* start, const char* end) except NULL:
        """The start of the blanks that a parser would drop at the end of a line."""
        cdef const char* tail = end
        cdef const char* at
        cdef bint hard = False
        while tail > start:
            if is_space((tail - 1)[0]):
                tail -= 1
                continue
            if <unsigned char> (tail - 1)[0] < 0x80:
                break
            at = tail - 1
            while at > start and (<unsigned char> at[0] & 0xC0) == 0x80:
                at -= 1
            if hard_at(at, tail) != tail - at:
                break
            tail = at
            hard = True
        return tail if hard and not self.mark_count and self.ends_line(node) else end

    cdef bint is_last(self, int node) except -1:
        """As `ends_line`, for the current position; cached until something visible is written."""
        if self.followed == NONE:
            self.followed = not self.ends_line(node)
        return not self.followed

    cdef const char* begin_line(self, const char* at, const char* end) except NULL:
        """Escape the start of a line that would be parsed as a block. Returns the position after it."""
        cdef const char* start = at
        if b"0" <= at[0] <= b"9":
            while at < end and b"0" <= at[0] <= b"9":
                at += 1
            self.out.put(start, at - start)
            self.numbered = True
        elif at[0] == b"#" or at[0] == b">" or at[0] == b"-" or at[0] == b"+" or at[0] == b"=":
            self.out.sign(b"\\")
        elif <unsigned char> at[0] >= 0x80 and not self.mark_count:
            if hard_at(at, end):
                at += self.entity(at, end)
        return at

    # Inline elements.

    cdef int inline_children(self, int node) except -1:
        node = self.nodes[node].first
        while node != NONE:
            if self.nodes[node].kind == TEXT:
                self.say(node)
            else:
                self.inline_element(node)
            node = self.nodes[node].next
        return 0

    cdef int inline_element(self, int node) except -1:
        cdef int tag = self.nodes[node].tag
        if self.mark_count < MAX_MARKS and (EMPHASIS.has[tag] or tag == TAG_SUP or tag == TAG_SUB):
            self.push_mark(node, sign_of(tag))
            self.inline_children(node)
            self.mark_count -= 1
            if self.marks[self.mark_count].written:
                self.put(self.marks[self.mark_count].closing)
        elif tag == TAG_A:
            self.link(node)
        elif CODE.has[tag]:
            self.code_span(node)
        elif tag == TAG_IMG:
            self.image(node)
        elif tag == TAG_BR:
            if self.in_cell or self.in_heading:
                self.space = True
            elif self.is_html_break(node):
                if not self.is_last(node):
                    if self.owed:
                        self.open_run()
                    self.write_breaks()
                    self.put(b"<br>")
                    self.filled = True
            else:
                self.breaks += 1
                self.broken = True
        elif tag == TAG_Q:
            self.here = node
            self.before_visible()
            self.out.sign(b'"')
            self.inline_children(node)
            if self.breaks and self.ends_line(node):
                self.breaks = 0
            self.write_breaks()
            self.out.sign(b'"')
        elif SKIPPED.has[tag] or tag == TAG_WBR:
            return 0
        elif BLOCKS.has[tag]:
            if self.inline_only:
                self.flat_block(node)
            else:
                self.block(node)
                self.owed = NEXT_LINE
                self.followed = NONE
        else:
            if _SCAFFOLD.has[tag]:
                self.space = True
            self.inline_children(node)
        return 0

    cdef int flat_block(self, int node) except -1:
        """A block in inline context: only its words are written."""
        cdef int tag = self.nodes[node].tag
        cdef List state
        self.space = True
        if tag == TAG_PRE:
            self.code_span(node)
        elif self.in_cell and (_LISTS.has[tag] or tag == TAG_TABLE):
            state = List(self.number_of(node, ATTR_START, 1), 0, tag == TAG_OL, False, False, False, 0)
            self.flat_children(node, &state)
        else:
            self.inline_children(node)
        self.space = True
        return 0

    cdef int flat_children(self, int node, List* state) except -1:
        """The items of a list, or the cells of a table, inside a cell."""
        cdef int tag
        cdef List inner
        node = self.nodes[node].first
        while node != NONE:
            tag = self.nodes[node].tag
            if self.nodes[node].kind == TEXT:
                self.say(node)
            elif not _SCAFFOLD.has[tag]:
                self.inline_element(node)
            elif tag == TAG_LI:
                self.space = True
                self.here = node
                self.before_visible()
                if state.ordered:
                    state.number = self.number_of(node, ATTR_VALUE, state.number)
                    self.out.number(state.number)
                    self.put(b". ")
                    state.number += 1
                else:
                    self.put(b"\\* " if self.mark_count else b"* ")
                inner = List(1, 0, False, False, False, False, 0)
                self.flat_children(node, &inner)
            else:
                self.space = True
                if _LISTS.has[tag] or tag == TAG_TABLE:
                    inner = List(self.number_of(node, ATTR_START, 1), 0, tag == TAG_OL, False, False, False, 0)
                    self.flat_children(node, &inner)
                else:
                    self.flat_children(node, state)
            node = self.nodes[node].next
        return 0

    cdef int link(self, int node) except -1:
        cdef Span href = self.tree.attr(node, ATTR_HREF)
        cdef Span title = self.tree.attr(node, ATTR_TITLE)
        if href.start == NULL:
            return self.inline_children(node)
        if not title.size and self.says_exactly(node, href) and _is_autolink(href):
            self.here = node
            self.before_visible()
            self.out.sign(b"<")
            self.out.put(href.start, href.size)
            self.out.sign(b">")
            self.filled = True
            self.numbered = False
            return 0
        self.push_mark(node, b"[")
        self.inline_only += 1
        self.inline_children(node)
        self.inline_only -= 1
        if not self.marks[self.mark_count - 1].written:
            self.here = node
            self.before_visible()
        if self.breaks and self.ends_line(node):
            self.breaks = 0
        self.write_breaks()
        self.mark_count -= 1
        self.put(b"](")
        self.target(href)
        self.title(title)
        self.out.sign(b")")
        self.filled = True
        return 0

    cdef bint says_exactly(self, int top, Span text) except -1:
        cdef int node = top
        cdef Py_ssize_t said = 0
        while True:
            node = following(self.nodes, node, top)
            if node == NONE:
                return said == text.size
            if self.nodes[node].kind == TEXT:
                if self.nodes[node].size > text.size - said:
                    return False
                if memcmp(text.start + said, self.heap + self.nodes[node].at, self.nodes[node].size):
                    return False
                said += self.nodes[node].size

    cdef int image(self, int node) except -1:
        cdef Span alt = self.tree.attr(node, ATTR_ALT)
        cdef const char* at = alt.start
        cdef const char* end = at + alt.size
        self.here = node
        self.before_visible()
        self.put(b"![")
        while at < end:
            if at[0] == b"\n":
                self.put(b"&#10;")
            else:
                if _signs[<unsigned char> at[0]] == ESCAPED or (
                    _signs[<unsigned char> at[0]] == CONDITIONAL and _is_markup(at, end)
                ):
                    self.out.sign(b"\\")
                self.literal(at, 1)
            at += 1
        self.put(b"](")
        self.target(self.tree.attr(node, ATTR_SRC))
        self.title(self.tree.attr(node, ATTR_TITLE))
        self.out.sign(b")")
        self.filled = True
        self.numbered = False
        return 0

    cdef int target(self, Span url) except -1:
        """A URL, in angle brackets if it has blanks."""
        cdef const char* at = url.start
        cdef const char* end = at + url.size
        cdef const char* start = at
        cdef bint angled = not url.size or at[0] == b"<", unbalanced = False
        cdef Py_ssize_t depth = 0
        while at < end and not _specials[<unsigned char> at[0]]:
            at += 1
        if at == end and not angled:
            return self.literal(url.start, url.size)
        while at < end:
            if at[0] == b" ":
                angled = True
            elif at[0] == b"(":
                depth += 1
            elif at[0] == b")":
                if depth:
                    depth -= 1
                else:
                    unbalanced = True
            at += 1
        unbalanced = unbalanced or depth > 0
        if angled:
            self.out.sign(b"<")
        at = start
        while at < end:
            if _specials[<unsigned char> at[0]]:
                self.literal(start, at - start)
                start = at
                if at[0] == b"\n" or at[0] == b"\t" or at[0] == b"\r":
                    start += 1
                elif at[0] == b"&":
                    if _is_reference(at, end):
                        self.out.sign(b"\\")
                elif at[0] == b"<" or at[0] == b">":
                    if angled:
                        self.out.sign(b"\\")
                elif at[0] == b"\\" or (unbalanced and not angled and at[0] != b" "):
                    self.out.sign(b"\\")
            at += 1
        self.literal(start, at - start)
        if angled:
            self.out.sign(b">")
        return 0

    cdef int title(self, Span text) except -1:
        cdef Py_ssize_t place
        if not text.size:
            return 0
        self.put(b' "')
        for place in range(text.size):
            if text.start[place] == b"\n":
                self.put(b"&#10;")
                continue
            if text.start[place] == b'"' or text.start[place] == b"\\" or (
                text.start[place] == b"&" and _is_reference(text.start + place, text.start + text.size)
            ):
                self.out.sign(b"\\")
            self.literal(text.start + place, 1)
        return self.out.sign(b'"')

    # Code.

    cdef int collect(self, int top, bint lines) except -1:
        """Write the text of code into `spare`. Its blocks are separated by line breaks if `lines`, otherwise by
        blanks."""
        cdef int node = self.nodes[top].first
        cdef Buffer said = self.spare
        cdef bint parted = False
        cdef char parting = b"\n" if lines else b" "
        said.size = 0
        while node != NONE:
            if self.nodes[node].kind == TEXT:
                if self.nodes[node].size:
                    if parted and said.size and not is_space(said.data[said.size - 1]):
                        if not is_space(self.heap[self.nodes[node].at]):
                            said.sign(parting)
                    said.put(self.heap + self.nodes[node].at, self.nodes[node].size)
                    parted = False
            elif self.nodes[node].tag == TAG_BR:
                said.sign(parting)
                parted = False
            else:
                parted = parted or BLOCKS.has[self.nodes[node].tag]
                if self.nodes[node].first != NONE:
                    node = self.nodes[node].first
                    continue
            while self.nodes[node].next == NONE:
                node = self.nodes[node].parent
                if node == top:
                    return 0
                parted = parted or BLOCKS.has[self.nodes[node].tag]
            node = self.nodes[node].next
        return 0

    cdef int code_span(self, int node) except -1:
        cdef Py_ssize_t size, fence, place
        cdef char* said
        cdef bint padded
        self.collect(node, False)
        said, size = self.spare.data, self.spare.size
        if size and self.nodes[node].tag == TAG_PRE and said[size - 1] == b"\n":
            size -= 1
        if not size:
            return 0
        for place in range(size):
            if said[place] == b"\n" or said[place] == b"\r":
                said[place] = b" "
        self.here = node
        self.before_visible()
        self.filled = True
        self.numbered = False
        if self.out.size > self.begin and self.out.data[self.out.size - 1] == b"`":
            self.put(b"<code>")
            for place in range(size):
                if edges[<unsigned char> said[place]] == PUNCTUATION:
                    self.out.sign(b"\\")
                self.out.sign(said[place])
            return self.put(b"</code>")
        fence = _longest_fence(said, size) + 1
        padded = said[0] == b"`" or said[size - 1] == b"`"
        if said[0] == b" " and said[size - 1] == b" ":
            for place in range(size):
                padded = padded or said[place] != b" "
        self.out.times(b"`", fence)
        if padded:
            self.out.sign(b" ")
        self.literal(said, size)
        if padded:
            self.out.sign(b" ")
        return self.out.times(b"`", fence)

    cdef int code_block(self, int node) except -1:
        cdef int inner = self.nodes[node].first
        cdef Span language
        cdef Py_ssize_t fence
        cdef const char* at
        cdef const char* end
        cdef const char* stop
        language = _language(self.tree.attr(node, ATTR_CLASS))
        if inner != NONE and self.nodes[inner].tag == TAG_CODE and self.nodes[inner].next == NONE:
            if not language.size:
                language = _language(self.tree.attr(inner, ATTR_CLASS))
            node = inner
        self.collect(node, True)
        at = self.spare.data
        end = at + self.spare.size
        fence = _longest_fence(at, self.spare.size) + 1
        fence = fence if fence > 3 else 3
        if end > at and (end - 1)[0] == b"\n":
            end -= 1
        self.open_line(True)
        self.bare = False
        self.out.times(b"`", fence)
        self.out.put(language.start, language.size)
        if self.spare.size:
            self.new_line()
        while at < end:
            stop = <const char*> memchr(at, b"\n", end - at)
            if stop == NULL:
                self.out.put(at, end - at)
                break
            self.out.put(at, stop - at)
            self.new_line()
            at = stop + 1
        self.new_line()
        self.out.times(b"`", fence)
        self.filled = True
        return 0

    # Blocks.

    cdef int block_children(self, int node) except -1:
        cdef bint in_run = False
        node = self.nodes[node].first
        while node != NONE:
            self.block_child(node, &in_run)
            node = self.nodes[node].next
        return 0

    cdef int block_child(self, int child, bint* in_run) except -1:
        """The content of a block: blocks, or runs of inline elements, each of which is a paragraph."""
        cdef Node* found = &self.nodes[child]
        if found.kind == TEXT:
            if not in_run[0]:
                if all_blank(self.heap + found.at, found.size):
                    return 0
                self.open_run()
                in_run[0] = True
            return self.say(child)
        if SKIPPED.has[found.tag]:
            return 0
        if BLOCKS.has[found.tag]:
            in_run[0] = False
            return self.block(child)
        if not in_run[0]:
            if self.opens_run(child):
                self.open_run()
            else:
                self.owed = FIRST_LINE
        self.inline_element(child)
        in_run[0] = self.owed != FIRST_LINE
        return 0

    cdef bint opens_run(self, int top) except -1:
        """Whether a paragraph starts with an inline element, possibly an empty one, that contains no block."""
        cdef int node = self.nodes[top].first, tag
        if node != NONE and (self.nodes[node].kind == TEXT or self.nodes[node].tag == TAG_BR):
            return True
        node = top
        while node != NONE:
            tag = self.nodes[node].tag
            if self.nodes[node].kind == TEXT:
                if not all_blank(self.heap + self.nodes[node].at, self.nodes[node].size):
                    return True
            elif _FRAMED.has[tag]:
                return False
            elif tag == TAG_P or tag == TAG_DIV or SKIPPED.has[tag]:
                if not SKIPPED.has[tag] and self.fills(node):
                    return False
                node = beyond(self.nodes, node, top)
                continue
            elif self.shows_itself(node):
                return True
            node = following(self.nodes, node, top)
        return False

    cdef bint fills(self, int top) except -1:
        """Whether a block has any content, including a line break."""
        cdef int node = following(self.nodes, top, top)
        while node != NONE:
            if self.nodes[node].kind == TEXT:
                if not all_blank(self.heap + self.nodes[node].at, self.nodes[node].size):
                    return True
            elif self.nodes[node].tag == TAG_BR or _FRAMED.has[self.nodes[node].tag] or self.shows_itself(node):
                return True
            node = following(self.nodes, node, top)
        return False

    cdef int block(self, int node) except -1:
        cdef int tag = self.nodes[node].tag
        self.owed = NO_LINE
        self.followed = NONE
        self.breaks = 0
        if self.mark_count:
            self.close_marks()
        if _FRAMED.has[tag] and not _LISTS.has[tag]:
            self.after_list = False
        if _HEADINGS.has[tag]:
            self.heading(node)
        elif tag == TAG_HR:
            self.open_line(True)
            self.bare = False
            self.put(b"---")
            self.filled = True
        elif _LISTS.has[tag]:
            self.list_block(node)
        elif tag == TAG_PRE:
            self.code_block(node)
        elif tag == TAG_TABLE:
            self.table(node)
        elif tag == TAG_BLOCKQUOTE:
            self.quote(node)
        else:
            self.block_children(node)
        self.breaks = 0
        if self.mark_count:
            self.close_marks()
        return 0

    cdef int heading(self, int node) except -1:
        cdef Py_ssize_t begin, run
        self.open_line(True)
        self.bare = False
        self.out.times(b"#", self.nodes[node].tag - TAG_H1 + 1)
        self.out.sign(b" ")
        self.filled = self.at_start = True
        begin = self.out.size
        self.inline_only += 1
        self.in_heading = True
        self.inline_children(node)
        self.in_heading = False
        self.inline_only -= 1
        run = self.out.size
        while run > begin and self.out.data[run - 1] == b"#":
            run -= 1
        if run < self.out.size and (run == begin or self.out.data[run - 1] == b" "):
            self.out.data[run] = b"\\"
            self.out.sign(b"#")
        return 0

    cdef int quote(self, int node) except -1:
        cdef Py_ssize_t base = self.prefix.size, begin
        cdef bint tight = self.tight
        if self.started:
            if self.bare and self.emptied:
                self.drop_blanks()
            self.out.sign(b"\n")
            if not tight and not self.bare:
                self.write_bare_prefix()
                self.out.sign(b"\n")
        self.levels += 1
        if self.levels <= MAX_LEVELS:
            self.prefix.put(b"> ", 2)
        if self.started:
            self.write_prefix()
            self.loose_before = self.attached = self.at_start = True
        self.filled = self.space = self.tight = self.bare = self.unquoted = False
        self.owed = NO_LINE
        self.breaks = 0
        begin = self.out.size
        self.block_children(node)
        if not self.started:
            self.started = self.loose_before = True
            self.write_bare_prefix()
        elif self.out.size == begin:
            self.unquoted = True
        self.attached = False
        self.tight = tight
        self.levels -= 1
        self.prefix.size = base
        return 0

    # Lists.

    cdef Py_ssize_t number_of(self, int node, int name, Py_ssize_t other) except -1:
        """The number in an attribute, or a default."""
        cdef Span text = self.tree.attr(node, name)
        cdef Py_ssize_t place = 0, number = 0
        while place < text.size and is_space(text.start[place]):
            place += 1
        if place < text.size and text.start[place] == b"+":
            place += 1
        if place >= text.size or not (b"0" <= text.start[place] <= b"9"):
            return other
        while place < text.size and b"0" <= text.start[place] <= b"9":
            if number > 100_000_000_000_000_000:
                return other
            number = number * 10 + text.start[place] - 48
            place += 1
        return number

    cdef int list_block(self, int node) except -1:
        cdef List state = List(1, 2, False, False, False, False, b"-")
        cdef Py_ssize_t begin
        state.ordered = self.nodes[node].tag == TAG_OL
        state.loose = self.is_loose(node)
        if state.ordered:
            state.number = self.number_of(node, ATTR_START, 1)
            state.sign = b"."
        if self.after_list and self.list_end_prefix == self.prefix.size:
            if self.list_end_sign == state.sign:
                state.sign = b")" if state.ordered else b"*"
        begin = self.out.size
        self.list_children(node, &state)
        if self.out.size > begin:
            self.after_list = True
            self.list_end_prefix, self.list_end_sign = self.prefix.size, state.sign
        return 0

    cdef int list_children(self, int node, List* state) except -1:
        cdef int tag
        node = self.nodes[node].first
        while node != NONE:
            tag = self.nodes[node].tag
            if tag == TAG_LI:
                self.item(node, state)
            elif _LISTS.has[tag]:
                state.in_run = False
                self.indented(node, state, True)
            elif self.nodes[node].kind == ELEMENT and self.holds_items(node):
                self.list_children(node, state)
            elif state.begun:
                self.indented(node, state, not state.loose)
            else:
                self.block_child(node, &state.in_run)
            node = self.nodes[node].next
        return 0

    cdef int indented(self, int node, List* state, bint tight) except -1:
        """Content of a list outside of its items belongs to the item before."""
        cdef Py_ssize_t base = self.prefix.size
        cdef bint outer = self.tight
        self.indent(state.width)
        self.tight = tight
        self.block_child(node, &state.in_run)
        self.tight = outer
        self.levels -= 2
        self.prefix.size = base
        return 0

    cdef int indent(self, Py_ssize_t width) except -1:
        self.levels += 2
        if self.levels <= MAX_LEVELS:
            self.prefix.times(b" ", width)
        return 0

    cdef bint holds_items(self, int node) except -1:
        node = self.nodes[node].first
        while node != NONE:
            if self.nodes[node].tag == TAG_LI:
                return True
            node = self.nodes[node].next
        return False

    cdef int item(self, int node, List* state) except -1:
        cdef Py_ssize_t base = self.prefix.size, begin
        cdef bint tight = self.tight, attached = self.leads_inline(node)
        if self.mark_count:
            self.close_marks()
        if state.ordered:
            state.number = self.number_of(node, ATTR_VALUE, state.number)
        if not state.begun and self.filled and (not attached or (state.ordered and state.number != 1)):
            self.tight = False
            self.open_line(True)
            self.loose_before, self.tight = state.loose, tight
        else:
            self.open_line(state.loose)
        if state.ordered:
            state.width = self.out.number(state.number) + 2
            state.number += 1
        else:
            state.width = 2
        self.out.sign(state.sign)
        self.out.sign(b" ")
        self.filled = state.in_run = False
        state.begun = True
        self.indent(state.width)
        self.tight = not state.loose
        self.attached = attached
        self.bare = True
        self.broken = self.emptied = False
        begin = self.out.size
        self.block_children(node)
        if self.mark_count:
            self.close_marks()
        if self.broken and all_blank(self.out.data + begin, self.out.size - begin):
            self.out.size = begin
        self.breaks = 0
        self.attached = self.bare = False
        self.tight = tight
        self.levels -= 2
        self.prefix.size = base
        return 0

    cdef bint leads_inline(self, int top) except -1:
        """Whether an item starts with text on the line of its marker."""
        cdef int node = following(self.nodes, top, top), tag
        while node != NONE:
            tag = self.nodes[node].tag
            if self.nodes[node].kind == TEXT:
                if not all_blank(self.heap + self.nodes[node].at, self.nodes[node].size):
                    return True
            elif SKIPPED.has[tag]:
                node = beyond(self.nodes, node, top)
                continue
            elif _FRAMED.has[tag]:
                return _HEADINGS.has[tag]
            elif not BLOCKS.has[tag]:
                if self.shows_itself(node):
                    return True
            node = following(self.nodes, node, top)
        return False

    cdef bint is_loose(self, int node) except -1:
        """Whether an item of a list is more than one paragraph."""
        node = self.nodes[node].first
        while node != NONE:
            if self.nodes[node].tag == TAG_LI:
                if self.paragraphs(node) > 1:
                    return True
            elif self.nodes[node].kind == ELEMENT and not _LISTS.has[self.nodes[node].tag]:
                if self.holds_items(node) and self.is_loose(node):
                    return True
            node = self.nodes[node].next
        return False

    cdef int paragraphs(self, int top) except -1:
        """The number of paragraphs of an item, at most two. A block that would absorb the paragraph after it
        counts as one before it."""
        cdef int node = self.nodes[top].first, tag, found = 0
        cdef bint in_run = False, shown
        while node != NONE:
            tag = self.nodes[node].tag
            if self.nodes[node].kind == TEXT:
                if not in_run and not all_blank(self.heap + self.nodes[node].at, self.nodes[node].size):
                    in_run = True
                    found += 1
            elif BLOCKS.has[tag]:
                in_run = False
                if _LAZY.has[tag] and not found:
                    found = 1
                if not _FRAMED.has[tag] and self.nodes[node].first != NONE:
                    node = self.nodes[node].first
                    continue
            elif not SKIPPED.has[tag]:
                shown = self.shows_itself(node)
                if shown and not in_run:
                    in_run = True
                    found += 1
                if not shown and self.nodes[node].first != NONE:
                    node = self.nodes[node].first
                    continue
            if found > 1:
                return found
            while self.nodes[node].next == NONE:
                node = self.nodes[node].parent
                if node == top:
                    return found
                if BLOCKS.has[self.nodes[node].tag]:
                    in_run = False
            node = self.nodes[node].next
        return found

    # Tables.

    cdef int table(self, int node) except -1:
        cdef int row = NONE, columns = 0, cells, count = 0, first = NONE, _cell
        cdef bint headed
        while True:
            row = self.next_row(node, row)
            if row == NONE:
                break
            if first == NONE:
                first = row
            count += 1
            cells = self.cells_of(row)
            columns = cells if cells > columns else columns
        if not columns:
            return 0
        headed = self.nodes[self.nodes[first].parent].tag == TAG_THEAD or self.has_head(first)
        self.open_line(True)
        self.bare = False
        if headed:
            self.row(first, columns)
        else:
            self.out.sign(b"|")
            for _cell in range(columns):
                self.put(b"  |")
        self.new_line()
        self.out.sign(b"|")
        for _cell in range(columns):
            self.put(b" --- |")
        row = first if not headed else self.next_row(node, first)
        while row != NONE:
            self.new_line()
            self.row(row, columns)
            row = self.next_row(node, row)
        self.filled = True
        return 0

    cdef int next_row(self, int table, int row) except -2:
        """The row after another, or the first."""
        cdef int node = self.nodes[table].first if row == NONE else self.nodes[row].next
        cdef int around = table if row == NONE else self.nodes[row].parent
        while True:
            while node == NONE:
                if around == table:
                    return NONE
                node = self.nodes[around].next
                around = self.nodes[around].parent
            if self.nodes[node].tag == TAG_TR:
                return node
            if _PARTS.has[self.nodes[node].tag]:
                around = node
                node = self.nodes[node].first
            else:
                node = self.nodes[node].next

    cdef int cells_of(self, int row) except -1:
        cdef int count = 0
        row = self.nodes[row].first
        while row != NONE:
            count += CELLS.has[self.nodes[row].tag]
            row = self.nodes[row].next
        return count

    cdef bint has_head(self, int row) except -1:
        row = self.nodes[row].first
        while row != NONE:
            if self.nodes[row].tag == TAG_TH:
                return True
            row = self.nodes[row].next
        return False

    cdef int row(self, int row, int columns) except -1:
        self.out.sign(b"|")
        row = self.nodes[row].first
        while row != NONE:
            if CELLS.has[self.nodes[row].tag]:
                self.cell(row)
                columns -= 1
            row = self.nodes[row].next
        while columns > 0:
            self.put(b"  |")
            columns -= 1
        return 0

    cdef int cell(self, int node) except -1:
        cdef Py_ssize_t begin = self.begin, prefix = self.prefix_begin
        self.out.sign(b" ")
        self.begin, self.prefix_begin = self.out.size, self.prefix.size
        self.filled = self.at_start = self.in_cell = True
        self.space = self.numbered = False
        self.owed = NO_LINE
        self.breaks = 0
        self.inline_only += 1
        self.inline_children(node)
        if self.mark_count:
            self.close_marks()
        self.inline_only -= 1
        self.out.size = _one_line(self.out.data, self.begin, self.out.size)
        self.begin, self.prefix_begin = begin, prefix
        self.in_cell = self.space = False
        return self.put(b" |")


cdef Py_ssize_t _one_line(char* data, Py_ssize_t begin, Py_ssize_t end) noexcept:
    """Collapse the white space of a row. Returns its new end."""
    cdef Py_ssize_t place, size = begin
    cdef bint blank = False
    for place in range(begin, end):
        if data[place] == b" " or data[place] == b"\n":
            blank = size > begin
        else:
            if blank:
                data[size] = b" "
                size += 1
                blank = False
            data[size] = data[place]
            size += 1
    return size


cdef bint _is_autolink(Span href) noexcept:
    """Whether a URL can be an autolink: it has a scheme and no character that ends it."""
    cdef Py_ssize_t place
    cdef bint schemed = False, relative = False
    cdef unsigned char sign
    for place in range(href.size):
        sign = href.start[place]
        if sign <= b" " or sign == b"<" or sign == b">" or sign == 0x7F:
            return False
        if sign == b":":
            schemed = schemed or not relative
        elif sign == b"/" or sign == b"#" or sign == b"?":
            relative = True
    return schemed


cdef Span _language(Span classes) noexcept:
    """The language of code in a class attribute."""
    cdef Span found
    cdef const char* at = classes.start
    cdef const char* end = at + classes.size
    found.start, found.size = NULL, 0
    while at < end:
        while at < end and is_space(at[0]):
            at += 1
        found.start = at
        while at < end and not is_space(at[0]):
            at += 1
        found.size = at - found.start
        if found.size > 9 and memcmp(found.start, b"language-", 9) == 0:
            found.start, found.size = found.start + 9, found.size - 9
            return found
    found.start, found.size = NULL, 0
    return found


cdef Writer _written(Tree tree, int element):
    cdef Writer writer = Writer()
    cdef Buffer out = borrowed(tree.source_size)
    cdef Py_ssize_t begin = 0
    tree.at(element)
    writer.tree, writer.nodes, writer.heap, writer.top, writer.out = tree, tree.nodes, tree.heap, element, out
    writer.block(element)
    while out.size and is_space(out.data[out.size - 1]):
        out.size -= 1
    while begin < out.size and out.data[begin] == b"\n":
        begin += 1
    if begin:
        memmove(out.data, out.data + begin, out.size - begin)
        out.size -= begin
    return writer


cpdef str written(Tree tree, int element):
    cdef Writer writer = _written(tree, element)
    cdef str markdown = writer.out.decoded()
    give_back(writer.out)
    return markdown


cdef str finished(Tree tree, int element, bint underscores, bint* signs, bint* hard):
    cdef Writer writer = _written(tree, element)
    cdef str markdown
    if writer.out.size:
        signs[0], hard[0] = close_gaps(writer.out), writer.hard
        if underscores:
            bare_underscores(writer.out)
    markdown = writer.out.decoded()
    give_back(writer.out)
    return markdown
