"""Line output of the Markdown writer: prefixes, pending whitespace, and emphasis.

Decides by the rules of CommonMark about adjacent characters whether emphasis markers are recognized; if not,
emphasis is written as HTML. Nothing is written before it is known that something visible follows.
"""

from unicodedata import category

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, strcmp

from orbweb.extraction.buffer cimport Buffer
from orbweb.extraction.plain_text cimport BLOCKS, SKIPPED
from orbweb.parsing.html.characters cimport is_space
from orbweb.parsing.html.tree cimport (
    ATTR_HREF, NONE, TAG_A, TAG_B, TAG_BR, TAG_DEL, TAG_EM, TAG_I, TAG_IMG, TAG_Q, TAG_S, TAG_STRONG,
    TAG_TABLE, TEXT, TagSet, blank_at, tags,
)
from orbweb.parsing.html.walk cimport beyond, following

cdef unsigned char edges[256]


cdef int _prepare() except -1:
    cdef int byte
    for byte in range(256):
        edges[byte] = WORD
        if chr(byte) in " \t\n\f\r":
            edges[byte] = SPACE
        elif chr(byte) in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~":
            edges[byte] = PUNCTUATION
    return 0


_prepare()

cdef TagSet CODE = tags("code kbd samp")
cdef TagSet EMPHASIS = tags("strong b em i del s strike")
cdef TagSet _STRUCK = tags("del s strike")
cdef TagSet CELLS = tags("td th")


cdef int _last_edge(const char* start, const char* end) except -1:
    """The kind of the last character of a text."""
    cdef const char* at = end - 1
    if <unsigned char> at[0] < 0x80:
        return edges[<unsigned char> at[0]]
    while at > start and (<unsigned char> at[0] & 0xC0) == 0x80:
        at -= 1
    return _edge_at(at, end)


cdef int _edge_at(const char* at, const char* end) except -1:
    """The Edge of a non-ASCII character beside an emphasis marker."""
    cdef str sign
    if hard_at(at, end):
        return HARD
    sign = _first_sign(at, end)
    if sign.isalnum():
        return WORD
    return PUNCTUATION if category(sign)[0] in "PS" else WORD


cdef str _first_sign(const char* at, const char* end):
    cdef const char* stop = at + 1
    while stop < end and (<unsigned char> stop[0] & 0xC0) == 0x80:
        stop += 1
    return PyUnicode_DecodeUTF8(at, stop - at, "surrogatepass")


cdef int hard_at(const char* at, const char* end) noexcept:
    """The length of the non-ASCII blank at this position; 0 if there is none."""
    cdef int size
    if <unsigned char> at[0] < 0x80:
        return 0
    size = blank_at(at, end)
    return 0 if size == 2 and <unsigned char> at[1] == 0x85 else size


cdef bint all_blank(const char* at, Py_ssize_t size) noexcept:
    cdef Py_ssize_t place
    for place in range(size):
        if not is_space(at[place]):
            return False
    return True


cdef const char* sign_of(int tag) noexcept:
    if tag == TAG_STRONG or tag == TAG_B:
        return b"**"
    if tag == TAG_EM or tag == TAG_I:
        return b"*"
    return b"~~" if _STRUCK.has[tag] else b""


cdef bint _differs(int around, int tag) noexcept:
    """Whether emphasis that starts together with another has a different marker."""
    cdef const char* outer = sign_of(around)
    cdef const char* inner = sign_of(tag)
    return outer[0] != inner[0] or not (outer[1] == 0 and inner[1] != 0)


cdef int _as_html(Mark* mark, int tag) noexcept:
    if tag == TAG_STRONG or tag == TAG_B:
        mark.opening, mark.closing = b"<strong>", b"</strong>"
    elif tag == TAG_EM or tag == TAG_I:
        mark.opening, mark.closing = b"<em>", b"</em>"
    elif tag == TAG_DEL:
        mark.opening, mark.closing = b"<del>", b"</del>"
    elif tag == TAG_S:
        mark.opening, mark.closing = b"<s>", b"</s>"
    else:
        mark.opening, mark.closing = b"<strike>", b"</strike>"
    return 0


cdef class Lines:
    """The output so far, and pending output before the next visible character."""

    def __cinit__(self):
        self.prefix, self.spare = Buffer(), Buffer()
        self.followed = NONE

    def __dealloc__(self):
        free(self.marks)

    # Characters.

    cdef int literal(self, const char* at, Py_ssize_t size) except -1:
        """Write bytes unchanged, except that a bar is escaped in a table cell."""
        cdef const char* end = at + size
        cdef const char* bar
        if not self.in_cell:
            return self.out.put(at, size)
        while at < end:
            bar = <const char*> memchr(at, b"|", end - at)
            if bar == NULL:
                break
            self.out.put(at, bar - at)
            self.put(b"\\|")
            at = bar + 1
        return self.out.put(at, end - at)

    cdef int entity(self, const char* at, const char* end) except -1:
        """Write a blank that a parser would drop as an entity. Returns its length."""
        cdef int size = hard_at(at, end), number = <unsigned char> at[0]
        if size == 2:
            number = (number & 0x1F) << 6 | (<unsigned char> at[1] & 0x3F)
        else:
            number = (number & 0x0F) << 12 | (<unsigned char> at[1] & 0x3F) << 6 | (<unsigned char> at[2] & 0x3F)
        self.put(b"&#")
        self.out.number(number)
        self.out.sign(b";")
        self.hard = self.hard or number == 0xA0
        return size

    # Lines.

    cdef int write_bare_prefix(self) except -1:
        """The prefix of an empty line."""
        cdef Py_ssize_t size = self.prefix.size
        while size > self.prefix_begin and self.prefix.data[size - 1] == b" ":
            size -= 1
        return self.out.put(self.prefix.data + self.prefix_begin, size - self.prefix_begin)

    cdef int open_line(self, bint loose) except -1:
        """Start the line of a block, after a blank line if it or the block before needs one."""
        if not self.started:
            self.started = True
            self.write_prefix()
        elif self.attached:
            self.attached = self.bare = False
        else:
            if self.unquoted or (self.bare and self.emptied):
                self.drop_blanks()
            self.emptied = self.bare
            self.out.sign(b"\n")
            if (self.loose_before or loose) and not self.tight and not self.bare:
                self.write_bare_prefix()
                self.out.sign(b"\n")
            self.write_prefix()
            self.filled = False
        self.loose_before = loose
        self.unquoted = self.space = self.numbered = False
        self.at_start = True
        self.owed = NO_LINE
        self.breaks = 0
        return 0

    cdef int drop_blanks(self) except -1:
        while self.out.size and self.out.data[self.out.size - 1] == b" ":
            self.out.size -= 1
        return 0

    cdef int open_run(self) except -1:
        """Start the line of a paragraph. Breaks before its first word are kept."""
        cdef int breaks = self.breaks
        self.open_line(not self.tight)
        self.breaks = breaks
        return 0

    cdef int new_line(self) except -1:
        """Continue a block on its next line."""
        self.out.sign(b"\n")
        self.write_prefix()
        self.filled = self.space = self.numbered = False
        self.at_start = True
        return 0

    cdef int before_visible(self) except -1:
        """Write pending output: a line, breaks or a blank, and the markers of emphasis around what follows."""
        if self.owed:
            self.open_run()
        if self.breaks:
            self.write_breaks()
        elif self.space:
            self.space = False
            if not self.at_start:
                self.numbered = False
                self.out.sign(b" ")
        self.at_start = self.after_list = self.bare = False
        self.followed = NONE
        if self.mark_count and not self.marks[self.mark_count - 1].written:
            self.open_marks()
        return 0

    cdef int write_breaks(self) except -1:
        while self.breaks:
            self.breaks -= 1
            self.put(b"  " if self.filled else b"\\")
            self.new_line()
        return 0

    # Emphasis.

    cdef int push_mark(self, int node, const char* sign) except -1:
        cdef Mark* marks
        cdef int room
        if self.mark_count == self.mark_room:
            room = 2 * self.mark_room + 16
            marks = <Mark*> realloc(self.marks, room * sizeof(Mark))
            if marks == NULL:
                raise MemoryError()
            self.marks, self.mark_room = marks, room
        self.marks[self.mark_count] = Mark(node, sign, sign, False, False, NONE)
        self.mark_count += 1
        return 0

    cdef int close_marks(self) except -1:
        """Close all emphasis at the end of a block; it is opened again in the next."""
        cdef int index
        for index in range(self.mark_count - 1, -1, -1):
            if self.marks[index].written:
                self.put(self.marks[index].closing)
                self.marks[index].written = False
                self.marks[index].kept = self.marks[index].opening[0] == b"<"
                if not self.marks[index].kept:
                    self.marks[index].opening = self.marks[index].closing = sign_of(
                        self.nodes[self.marks[index].node].tag
                    )
        return 0

    cdef int open_marks(self) except -1:
        cdef int first = self.mark_count, index
        cdef Mark* mark
        while first and not self.marks[first - 1].written:
            first -= 1
        for index in range(first, self.mark_count):
            mark = &self.marks[index]
            if EMPHASIS.has[self.nodes[mark.node].tag]:
                if not mark.kept and self.as_markup(index, first):
                    _as_html(mark, self.nodes[mark.node].tag)
            elif mark.opening[0] == b"[" and self.out.size > self.begin:
                if self.out.data[self.out.size - 1] == b"!":
                    self.out.data[self.out.size - 1] = b"\\"
                    self.out.sign(b"!")
            self.put(mark.opening)
            mark.written = True
        self.filled = True
        self.numbered = False
        return 0

    cdef bint as_markup(self, int index, int first) except -1:
        """Whether a parser would not recognize the markers of this emphasis."""
        cdef Mark* mark = &self.marks[index]
        cdef int node = mark.node, before, after = NOTHING, begins, ends
        cdef bint struck = _STRUCK.has[self.nodes[node].tag]
        begins, ends = self.beginning(index), self.ending(mark, &after)
        if begins == HARD or ends == HARD:
            return True
        before = self.edge_before() if index == first else PUNCTUATION
        if struck and self.follows_signs():
            return True
        if self.touches(index, first):
            if struck or not self.is_followed(node, index > first, after):
                return True
            mark.opening = mark.closing = b"_" if mark.opening[1] == 0 else b"__"
            return False
        if struck and index > first and _STRUCK.has[self.nodes[self.marks[index - 1].node].tag]:
            return True
        if struck and index + 1 < self.mark_count and _STRUCK.has[self.nodes[self.marks[index + 1].node].tag]:
            return True
        if self.alike:
            return True
        if before == WORD and (begins == PUNCTUATION or self.is_emphasised(index, struck)):
            return True
        if begins == PUNCTUATION and before == PUNCTUATION:
            if index > first and _STRUCK.has[self.nodes[self.marks[index - 1].node].tag]:
                return True
            if index == first and not struck and self.is_emphasised(index, False):
                return True
        return ends == PUNCTUATION and after == WORD

    cdef bint follows_signs(self) except -1:
        """Whether stars or underscores precede this, and punctuation precedes them."""
        cdef Py_ssize_t size = self.out.size
        while size > self.begin and (self.out.data[size - 1] == b"*" or self.out.data[size - 1] == b"_"):
            size -= 1
        if size == self.out.size or size == self.begin:
            return False
        return edges[<unsigned char> self.out.data[size - 1]] == PUNCTUATION

    cdef bint follows_word(self, int node) except -1:
        """Whether an element starts directly after a letter."""
        cdef int before = self.nodes[node].prev, inner = self.nodes[node].first
        cdef const char* end
        if before == NONE or self.nodes[before].kind != TEXT or not self.nodes[before].size:
            return False
        if inner != NONE and self.nodes[inner].kind == TEXT and self.nodes[inner].size:
            if is_space(self.heap[self.nodes[inner].at]):
                return False
        end = self.heap + self.nodes[before].at + self.nodes[before].size
        return edges[<unsigned char> (end - 1)[0]] == WORD

    cdef bint is_emphasised(self, int index, bint struck) except -1:
        """Whether emphasis of this kind is open around it."""
        while index:
            index -= 1
            if EMPHASIS.has[self.nodes[self.marks[index].node].tag]:
                return self.marks[index].opening[0] == sign_of(TAG_DEL if struck else TAG_EM)[0]
        return False

    cdef bint touches(self, int index, int first) except -1:
        """Whether the marker would be merged with the one before."""
        cdef const char* sign = self.marks[index].opening
        cdef const char* other
        cdef Py_ssize_t size = self.out.size
        if index == first:
            if size == self.begin or self.out.data[size - 1] != sign[0]:
                return False
            return size == self.begin + 1 or self.out.data[size - 2] != b"\\"
        if self.marks[index - 1].kept:
            return False
        other = self.marks[index - 1].opening
        if other[0] == b"<":
            other = sign_of(self.nodes[self.marks[index - 1].node].tag)
        return other[0] == sign[0] and not (other[1] == 0 and sign[1] != 0)

    cdef bint is_followed(self, int node, bint nested, int edge) except -1:
        """Whether a blank, punctuation or the end of the line certainly follows."""
        cdef int after = self.nodes[node].next, around = self.nodes[node].parent
        if edge == SPACE:
            return True
        if after == NONE:
            if nested and EMPHASIS.has[self.nodes[around].tag]:
                return True
            return BLOCKS.has[self.nodes[around].tag] and edge == NOTHING and not self.in_cell
        if self.nodes[after].kind != TEXT or not self.nodes[after].size:
            return False
        edge = edges[<unsigned char> self.heap[self.nodes[after].at]]
        return edge == SPACE or edge == PUNCTUATION

    cdef int edge_before(self) except -1:
        """The Edge before the marker of emphasis."""
        cdef Py_ssize_t size = self.out.size
        cdef int edge
        cdef const char* at
        if size == self.begin:
            return SPACE
        at = self.out.data + size - 1
        if <unsigned char> at[0] < 0x80:
            return edges[<unsigned char> at[0]]
        while at > self.out.data and (<unsigned char> at[0] & 0xC0) == 0x80:
            at -= 1
        edge = _edge_at(at, self.out.data + size)
        return SPACE if edge == HARD else edge

    cdef bint is_html_break(self, int node) except -1:
        cdef Mark* mark
        if not self.mark_count:
            return False
        mark = &self.marks[self.mark_count - 1]
        if mark.node != self.nodes[node].parent or not EMPHASIS.has[self.nodes[mark.node].tag]:
            return False
        return self.html_breaks(mark)

    cdef bint html_breaks(self, Mark* mark) except -1:
        """Whether the line breaks in emphasis are written as HTML: there are two, or it is HTML itself."""
        cdef int found = 0, node = self.nodes[mark.node].first
        if mark.lined == NONE:
            while node != NONE and found < 2:
                found += self.nodes[node].tag == TAG_BR
                node = self.nodes[node].next
            mark.lined = found > 1
        return mark.lined

    cdef int edge_of(self, int node) except -1:
        """The Edge at the start or end of an inline element that is not emphasis; NOTHING if its content must be
        inspected."""
        cdef int tag = self.nodes[node].tag
        if CODE.has[tag] or tag == TAG_IMG or tag == TAG_Q:
            return PUNCTUATION
        if tag == TAG_A and self.tree.attr(node, ATTR_HREF).start != NULL:
            return PUNCTUATION
        return NOTHING

    cdef int beginning(self, int index) except -1:
        """The Edge after a marker that is about to be written."""
        cdef const char* end
        cdef int tag
        while index + 1 < self.mark_count:
            tag = self.nodes[self.marks[index].node].tag
            index += 1
            if self.marks[index].opening[0] == b"[":
                return PUNCTUATION
            if EMPHASIS.has[self.nodes[self.marks[index].node].tag]:
                if _differs(tag, self.nodes[self.marks[index].node].tag):
                    return PUNCTUATION
        if self.nodes[self.here].kind != TEXT:
            return PUNCTUATION
        if <unsigned char> self.at[0] < 0x80:
            return edges[<unsigned char> self.at[0]]
        end = self.heap + self.nodes[self.here].at + self.nodes[self.here].size
        return _edge_at(self.at, end)

    cdef int ending(self, Mark* mark, int* after) except -1:
        """The Edges before and after the last marker of emphasis in this block."""
        cdef int element = mark.node, top = self.here, node = self.here, last = self.here
        cdef int edge = PUNCTUATION, line_break = NONE, tag, meeting
        cdef bint bounded, blank = False, is_around
        cdef const char* start
        cdef const char* end
        self.alike = False
        if top == element:
            return PUNCTUATION
        while top != element and not (BLOCKS.has[self.nodes[top].tag] and not self.inline_only):
            top = self.nodes[top].parent
        bounded = top != element
        while node != NONE:
            tag = self.nodes[node].tag
            if self.nodes[node].kind == TEXT:
                start = self.heap + self.nodes[node].at
                end = start + self.nodes[node].size
                blank = blank or (end > start and is_space((end - 1)[0]))
                while end > start and is_space((end - 1)[0]):
                    end -= 1
                if end > start:
                    blank = end < start + self.nodes[node].size
                    last, edge, line_break = node, _last_edge(start, end), NONE
            elif SKIPPED.has[tag]:
                node = beyond(self.nodes, node, top)
                continue
            elif BLOCKS.has[tag] and not self.inline_only:
                bounded = True
                break
            elif tag == TAG_BR:
                if self.nodes[node].parent == element and self.html_breaks(mark):
                    line_break = node
                else:
                    blank = True
            elif self.shows_itself(node):
                last, edge, blank, line_break = node, PUNCTUATION, False, NONE
                node = beyond(self.nodes, node, top)
                continue
            node = following(self.nodes, node, top)
        if line_break != NONE:
            blank = bounded or self.ends_line(line_break)
            if not blank:
                last, edge = line_break, PUNCTUATION
        after[0] = SPACE if blank else NOTHING if bounded else self.next_edge(element)
        meeting = self.meeting_of(last, element)
        is_around = last == meeting
        while last != element:
            last = self.nodes[last].parent
            is_around = is_around or last == meeting
            if last != element and self.ends_with_sign(element, last, is_around):
                return PUNCTUATION
        return edge

    cdef int meeting_of(self, int other, int element) except -1:
        """The lowest common ancestor of `here` and another node inside an element."""
        cdef int here = self.here, node, depth = 0, others = 0
        node = here
        while node != element:
            node, depth = self.nodes[node].parent, depth + 1
        node = other
        while node != element:
            node, others = self.nodes[node].parent, others + 1
        while here != other:
            if depth >= others:
                here, depth = self.nodes[here].parent, depth - 1
            else:
                other, others = self.nodes[other].parent, others - 1
        return here

    cdef bint ends_with_sign(self, int element, int inner, bint is_around) except -1:
        """Whether something inside emphasis ends with a marker that is not merged with its own; `is_around`: it
        contains what is about to be written. If it is the same marker, which would be merged, this is recorded."""
        cdef int tag = self.nodes[inner].tag
        cdef const char* sign
        if tag == TAG_Q:
            return True
        if tag == TAG_A:
            return self.tree.attr(inner, ATTR_HREF).start != NULL
        if not EMPHASIS.has[tag]:
            return False
        sign = sign_of(self.nodes[element].tag)
        if sign_of(tag)[0] != sign[0]:
            return True
        if is_around:
            return _differs(self.nodes[element].tag, tag)
        if strcmp(sign_of(tag), sign) == 0 and not self.follows_word(inner):
            self.alike = True
        return False

    cdef bint begins_visibly(self, int node) except -1:
        """Whether emphasis starts with its marker, not with a blank."""
        cdef int inner = self.nodes[node].first
        if inner != NONE and self.nodes[inner].kind == TEXT and self.nodes[inner].size:
            if is_space(self.heap[self.nodes[inner].at]):
                return False
        return self.shows(node, False)

    cdef int next_edge(self, int node) except -1:
        """The Edge after an inline element on its line; NOTHING at the end of the line."""
        cdef int edge
        cdef const char* at
        while True:
            while self.nodes[node].next == NONE:
                node = self.nodes[node].parent
                if node == NONE or node == self.top or BLOCKS.has[self.nodes[node].tag]:
                    return NOTHING
                if CELLS.has[self.nodes[node].tag]:
                    return NOTHING
                if self.nodes[node].tag != TAG_Q:
                    edge = self.edge_of(node)
                    if edge:
                        return edge
            node = self.nodes[node].next
            while True:
                if self.nodes[node].kind == TEXT:
                    if self.nodes[node].size:
                        at = self.heap + self.nodes[node].at
                        if <unsigned char> at[0] < 0x80:
                            return edges[<unsigned char> at[0]]
                        edge = _edge_at(at, at + self.nodes[node].size)
                        return SPACE if edge == HARD else edge
                    break
                if SKIPPED.has[self.nodes[node].tag]:
                    break
                if self.nodes[node].tag == TAG_BR:
                    return SPACE
                if self.nodes[node].tag == TAG_IMG or self.nodes[node].tag == TAG_Q:
                    return WORD
                if BLOCKS.has[self.nodes[node].tag]:
                    return NOTHING
                if EMPHASIS.has[self.nodes[node].tag] and self.begins_visibly(node):
                    return PUNCTUATION
                edge = self.edge_of(node)
                if edge:
                    return edge
                if self.nodes[node].first == NONE:
                    break
                node = self.nodes[node].first

    cdef bint ends_line(self, int node) except -1:
        """Whether only markers of emphasis follow on a line."""
        cdef int depth = 0, tag
        while True:
            while self.nodes[node].next == NONE:
                node = self.nodes[node].parent
                if depth:
                    depth -= 1
                    continue
                if node == NONE or node == self.top:
                    return True
                tag = self.nodes[node].tag
                if tag == TAG_TABLE or (BLOCKS.has[tag] and not self.inline_only):
                    return True
                if tag == TAG_A and self.tree.attr(node, ATTR_HREF).start != NULL:
                    return False
            node = self.nodes[node].next
            while True:
                if self.nodes[node].kind == TEXT:
                    if not all_blank(self.heap + self.nodes[node].at, self.nodes[node].size):
                        return False
                    break
                if BLOCKS.has[self.nodes[node].tag] and not self.inline_only:
                    return True
                if self.shows_itself(node):
                    return False
                if SKIPPED.has[self.nodes[node].tag] or self.nodes[node].first == NONE:
                    break
                node = self.nodes[node].first
                depth += 1

    cdef bint shows(self, int top, bint blanks) except -1:
        """Whether an inline element writes anything; with `blanks`, a blank counts."""
        cdef int node = top
        while node != NONE:
            if self.nodes[node].kind == TEXT:
                if self.nodes[node].size and (
                    blanks or not all_blank(self.heap + self.nodes[node].at, self.nodes[node].size)
                ):
                    return True
            elif SKIPPED.has[self.nodes[node].tag]:
                node = beyond(self.nodes, node, top)
                continue
            elif self.nodes[node].tag == TAG_IMG or self.nodes[node].tag == TAG_Q:
                return True
            elif self.nodes[node].tag == TAG_A and self.tree.attr(node, ATTR_HREF).start != NULL:
                return True
            elif CODE.has[self.nodes[node].tag]:
                blanks = True
            node = following(self.nodes, node, top)
        return False

    cdef bint shows_itself(self, int node) except -1:
        """Whether an inline element writes anything besides its text."""
        cdef int tag = self.nodes[node].tag
        if tag == TAG_IMG or tag == TAG_Q:
            return True
        if tag == TAG_A:
            return self.tree.attr(node, ATTR_HREF).start != NULL
        return CODE.has[tag] and self.shows(node, True)
