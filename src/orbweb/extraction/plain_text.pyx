"""Writes the main element as plain text: one line per block, code lines unchanged, no markup and no URLs.

Reads the same normalized element as the Markdown writer, so both have the same words. Words are separated by one
blank or a line break; the text depends on the words alone, not on any URL; time is linear.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove

from orbweb.extraction.buffer cimport Buffer, borrowed, give_back
from orbweb.parsing.html.tree cimport *

cdef enum Sign:
    # The kind of a byte: BLANK separates words; ODD may do so, or be part of a placeholder.
    PLAIN, BLANK, ODD

cdef unsigned char _signs[256]


cdef int _prepare() except -1:
    cdef int byte
    for byte in range(256):
        _signs[byte] = PLAIN
        if byte >= 128 or chr(byte).isspace():
            _signs[byte] = ODD
    for byte in b" \t\n\f\r":
        _signs[byte] = BLANK
    return 0


_prepare()

cdef TagSet BLOCKS = tags(
    "html body p div section article header footer nav aside main figure figcaption address blockquote pre hr"
    " h1 h2 h3 h4 h5 h6 ul ol li dl dt dd menu details summary table"
)
cdef TagSet SKIPPED = tags("script style head title rp template")
cdef TagSet _PARTS = tags("thead tbody tfoot")
cdef TagSet _CELLS = tags("td th")


cdef inline const char* _after_plain(const char* at, const char* end) noexcept:
    """Skip ASCII words separated by single blanks, eight bytes at a time."""
    cdef uint64_t part, blank
    while end - at >= 8:
        memcpy(&part, at, 8)
        blank = part ^ 0x2020202020202020ULL
        blank = (blank - 0x0101010101010101ULL) & ~blank & 0x8080808080808080ULL
        if (part | (part - 0x2020202020202020ULL)) & 0x8080808080808080ULL or blank & (blank >> 8):
            break
        at += 7 if blank >> 63 else 8
    return at


cdef class _TextWriter:
    """The lines so far, and the current one."""

    cdef Tree tree
    cdef Node* nodes
    cdef const char* heap
    cdef Buffer out
    cdef Py_ssize_t line
    # The start of the current line.
    cdef bint started, space, odd
    cdef int cells
    # The number of enclosing table cells; a cell is one line.

    cdef int end_line(self) except -1:
        self.space = False
        self.started = True
        if self.cells:
            self.odd = True
            return self.out.sign(b" ")
        if self.odd:
            self.out.size = self.line + _cleaned(self.out.data + self.line, self.out.size - self.line)
            self.odd = False
        if self.out.size > self.line:
            self.out.sign(b"\n")
            self.line = self.out.size
        return 0

    cdef int say(self, int node) except -1:
        cdef const char* at = self.heap + self.nodes[node].at
        cdef const char* end = at + self.nodes[node].size
        cdef const char* start
        cdef int seen
        while at < end:
            if _signs[<unsigned char> at[0]] == BLANK:
                self.space = True
                at += 1
                continue
            if self.space:
                self.space = False
                if self.out.size > self.line:
                    self.out.sign(b" ")
            start = at
            seen = 0
            while at < end:
                at = _after_plain(at, end)
                if at == end:
                    break
                if _signs[<unsigned char> at[0]] == PLAIN:
                    at += 1
                elif at[0] == b" ":
                    if at + 1 == end or _signs[<unsigned char> at[1]] == BLANK:
                        break
                    at += 1
                elif _signs[<unsigned char> at[0]] == ODD:
                    seen = ODD
                    at += 1
                else:
                    break
            self.out.put(start, at - start)
            if seen:
                self.odd = True
        return 0

    cdef int block(self, int top, bint cell) except -1:
        """Write the content of a block or cell."""
        cdef int node = self.nodes[top].first, tag, around
        cdef bint fresh = not cell
        cdef Node* found
        while node != NONE:
            found = &self.nodes[node]
            tag = found.tag
            if found.kind == TEXT:
                if fresh and not _all_blank(self.heap + found.at, found.size):
                    self.end_line()
                    fresh = False
                if not fresh:
                    self.say(node)
            elif SKIPPED.has[tag]:
                pass
            elif tag == TAG_PRE:
                self.code(node)
                fresh = True
            elif tag == TAG_TABLE:
                self.table(node)
                fresh = True
            elif tag == TAG_MENU:
                self.menu(node)
                fresh = True
            elif BLOCKS.has[tag]:
                if tag == TAG_BLOCKQUOTE and self.started:
                    self.end_line()
                fresh = True
                if found.first != NONE:
                    node = found.first
                    continue
            else:
                if fresh:
                    self.end_line()
                    fresh = False
                if tag == TAG_BR:
                    self.end_line()
                elif found.first != NONE:
                    node = found.first
                    continue
            while True:
                around = self.nodes[node].parent
                if BLOCKS.has[self.nodes[node].tag]:
                    fresh = not cell if around == top else BLOCKS.has[self.nodes[around].tag]
                if self.nodes[node].next != NONE:
                    node = self.nodes[node].next
                    break
                node = around
                if node == top:
                    return 0
        return 0

    cdef int code(self, int pre) except -1:
        """The lines of code."""
        cdef int node = pre
        cdef const char* at
        cdef const char* end
        cdef const char* stop
        self.end_line()
        while True:
            node = self.tree.following(node, pre)
            if node == NONE:
                return 0
            if self.nodes[node].kind != TEXT:
                continue
            at = self.heap + self.nodes[node].at
            end = at + self.nodes[node].size
            while at < end:
                stop = <const char*> memchr(at, b"\n", end - at)
                self.out.put(at, (end if stop == NULL else stop) - at)
                self.odd = True
                if stop == NULL:
                    break
                self.end_line()
                at = stop + 1

    cdef int menu(self, int menu) except -1:
        """The items of a list without other content."""
        cdef int node = self.nodes[menu].first
        while node != NONE:
            if self.nodes[node].tag == TAG_LI:
                self.end_line()
                self.block(node, False)
            elif self.nodes[node].tag == TAG_MENU:
                self.menu(node)
            node = self.nodes[node].next
        return 0

    cdef int table(self, int table) except -1:
        """Write each row as a line."""
        cdef int around = table, node = self.nodes[table].first
        while True:
            while node == NONE:
                if around == table:
                    return 0
                node = self.nodes[around].next
                around = self.nodes[around].parent
            if self.nodes[node].tag == TAG_TR:
                self.row(node)
            elif _PARTS.has[self.nodes[node].tag] and self.nodes[node].first != NONE:
                around, node = node, self.nodes[node].first
                continue
            node = self.nodes[node].next

    cdef int row(self, int row) except -1:
        cdef int cell = self.nodes[row].first
        self.end_line()
        while cell != NONE:
            if _CELLS.has[self.nodes[cell].tag]:
                if self.out.size > self.line:
                    self.out.sign(b" ")
                self.space = False
                self.odd = True
                self.cells += 1
                self.block(cell, True)
                self.cells -= 1
                self.space = False
            cell = self.nodes[cell].next
        return 0


cdef bint _all_blank(const char* at, Py_ssize_t size) noexcept:
    cdef Py_ssize_t place
    for place in range(size):
        if _signs[<unsigned char> at[place]] != BLANK:
            return False
    return True


cdef Py_ssize_t _cleaned(char* line, Py_ssize_t size) noexcept:
    """Collapse the white space of a line and remove placeholders. Returns its size."""
    cdef char* at = line
    cdef char* end = line + size
    cdef char* to = line
    cdef Py_ssize_t place
    cdef Span text
    while at < end and at[0] != b"\t" and <unsigned char> at[0] != 0xC2 and <unsigned char> at[0] != 0xEF:
        at += 1
    to = at
    while at < end:
        if <unsigned char> at[0] == 0xEF and end - at >= 3 and memcmp(at, b"\xef\xb7\x90", 3) == 0:
            at += 3
            if end - at >= 3 and memcmp(at, b"\xef\xb7", 2) == 0 and 0x91 <= <unsigned char> at[2] <= 0x9B:
                if <unsigned char> at[2] == 0x91:
                    to[0] = b" "
                    to += 1
                at += 3
        elif <unsigned char> at[0] == 0xC2 and end - at >= 2 and <unsigned char> at[1] == 0xA0:
            to[0] = b" "
            to += 1
            at += 2
        else:
            to[0] = b" " if at[0] == b"\t" else at[0]
            to += 1
            at += 1
    text.start, text.size = line, to - line
    text = stripped(text)
    if text.size and text.start != line:
        memmove(line, text.start, text.size)
    for place in range(text.size - 1):
        if line[place] == b" " and line[place + 1] == b" ":
            return _spaced(line, text.size)
    return text.size


cdef bint _has_escape(const char* at, Py_ssize_t size) noexcept:
    """Whether there is an underscore after a backslash."""
    cdef const char* end = at + size
    while size:
        at = <const char*> memchr(at, b"\\", end - at)
        if at == NULL or end - at < 2:
            break
        if at[1] == b"_":
            return True
        at += 1
    return False


cdef Py_ssize_t _spaced(char* line, Py_ssize_t size) noexcept:
    """Collapse white space between words."""
    cdef char* at = line
    cdef char* end = line + size
    cdef char* to = line
    cdef int step
    cdef bint blank = False
    while at < end:
        step = 0 if _signs[<unsigned char> at[0]] == PLAIN else blank_at(at, end)
        if step:
            blank = True
            at += step
            continue
        if blank:
            to[0] = b" "
            to += 1
            blank = False
        to[0] = at[0]
        to += 1
        at += 1
    return to - line


cpdef str plain(Tree tree, int element):
    """The text of a normalized element."""
    return said(tree, element, NULL)


cdef str said(Tree tree, int element, bint* escaped):
    cdef _TextWriter text = _TextWriter()
    cdef str found
    tree.at(element)
    text.tree, text.nodes, text.heap, text.out = tree, tree.nodes, tree.heap, borrowed(tree.source_size)
    text.block(element, False)
    text.end_line()
    if text.out.size:
        text.out.size -= 1
    if escaped != NULL:
        escaped[0] = _has_escape(text.out.data, text.out.size)
    found = text.out.decoded()
    give_back(text.out)
    return found


cpdef Py_ssize_t words(str text):
    """The number of words of a text of `plain`."""
    return text.count(" ") + text.count("\n") + 1 if text else 0
