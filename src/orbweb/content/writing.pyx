"""An element that has its shape is written as Markdown.

Owns how each element is written and what of a text is escaped. Always: what is written reads back, by a
CommonMark reader with tables, as the same blocks and words: emphasis that its signs cannot mark there is written
as HTML; a row of a table is one line; time is linear. Never: writes a blank, a line break or a sign of emphasis
before it is known what follows it.
"""

from unicodedata import category

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdlib cimport free, realloc
from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove, strcmp, strlen

from orbweb.content.buffer cimport Buffer, borrowed, give_back
from orbweb.content.text cimport BLOCKS, SKIPPED
from orbweb.dom.walk cimport beyond, following
from orbweb.dom.tree cimport *

cdef enum:
    MAX_LEVELS = 17
    # What lists, at two each, and quotes indent at most; what is deeper stands at that depth.

cdef enum Sign:
    # What a byte is in running text.
    PLAIN, BLANK, ESCAPED, CONDITIONAL

cdef enum Edge:
    # What stands beside the sign of emphasis.
    NOTHING, SPACE, PUNCTUATION, WORD, HARD

cdef enum Owed:
    # A line that is begun with the next visible sign: of a paragraph, or after a block that stood in one.
    NO_LINE, FIRST_LINE, NEXT_LINE

cdef struct Mark:
    int node
    # The element that it stands for.
    const char* opening
    const char* closing
    bint written, kept
    # Whether its opening has been written, and whether it is HTML in all blocks after the one where it became so.
    int lined
    # Whether breaks in it are written as HTML; NONE as long as that is not known.

cdef struct List:
    Py_ssize_t number, width
    bint ordered, loose, begun, in_run
    char sign

cdef unsigned char _signs[256]
cdef unsigned char _edges[256]
# What may have to be escaped in a URL.
cdef bint _specials[256]


cdef int _prepare() except -1:
    cdef int byte
    for byte in range(256):
        _signs[byte] = PLAIN
        _edges[byte] = WORD
        _specials[byte] = byte in b" ()<>&\\\n\t\r"
        if byte < 128:
            letter = chr(byte)
            if letter in " \t\n\f\r":
                _signs[byte], _edges[byte] = BLANK, SPACE
            elif letter in "\\`[]~*_":
                _signs[byte] = ESCAPED
            elif letter in "<&":
                _signs[byte] = CONDITIONAL
            if letter in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~":
                _edges[byte] = PUNCTUATION
    return 0


_prepare()

cdef TagSet _HEADINGS = tags("h1 h2 h3 h4 h5 h6")
# Blocks that are more than paragraphs one after the other.
cdef TagSet _FRAMED = tags("blockquote pre hr ul ol menu table h1 h2 h3 h4 h5 h6")
# Blocks that a paragraph right after them would belong to.
cdef TagSet _LAZY = tags("blockquote table ul ol menu")
cdef TagSet _LISTS = tags("ul ol menu")
cdef TagSet _CODE = tags("code kbd samp")
cdef TagSet _EMPHASIS = tags("strong b em i del s strike")
cdef TagSet _STRUCK = tags("del s strike")
cdef TagSet _PARTS = tags("thead tbody tfoot")
cdef TagSet _CELLS = tags("td th")
cdef TagSet _SCAFFOLD = tags("table thead tbody tfoot tr td th ul ol menu li")


cdef inline bint _is_blank(char sign) noexcept:
    return _signs[<unsigned char> sign] == BLANK


cdef int _last_edge(const char* start, const char* end) except -1:
    """What a text ends with."""
    cdef const char* at = end - 1
    if <unsigned char> at[0] < 0x80:
        return _edges[<unsigned char> at[0]]
    while at > start and (<unsigned char> at[0] & 0xC0) == 0x80:
        at -= 1
    return _edge_at(at, end)


cdef int _edge_at(const char* at, const char* end) except -1:
    """What a character that is not of ASCII is beside a sign of emphasis."""
    cdef str sign
    if _hard_at(at, end):
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


cdef int _hard_at(const char* at, const char* end) noexcept:
    """Bytes of the blank that begins here and is not of ASCII; 0 if none does."""
    cdef int size
    if <unsigned char> at[0] < 0x80:
        return 0
    size = blank_at(at, end)
    return 0 if size == 2 and <unsigned char> at[1] == 0x85 else size


cdef const char* _next_hard(const char* at, const char* end) noexcept:
    """The next blank that is not of ASCII, or the end."""
    while at < end and (<unsigned char> at[0] < 0x80 or not _hard_at(at, end)):
        at += 1
    return at


cdef inline uint64_t _where(uint64_t part, uint64_t sign) noexcept:
    """The high bits of the bytes that are a sign, and perhaps of some after it."""
    part ^= sign * 0x0101010101010101ULL
    return (part - 0x0101010101010101ULL) & ~part & 0x8080808080808080ULL


cdef inline const char* _after_plain(const char* at, const char* end) noexcept:
    """Pass over words that are parted by single blanks and hold nothing to escape, eight bytes at a time."""
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
    """Whether `&` begins what a reader takes for a character."""
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
    """Whether `<` or `&` begins what may be read as HTML."""
    if at[0] == b"&":
        return _is_reference(at, end)
    return at + 1 == end or not _is_blank(at[1])


cdef Py_ssize_t _longest_fence(const char* at, Py_ssize_t size) noexcept:
    """How many backticks stand in a row at most."""
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


cdef class Writer:
    """What has been written so far, and what is owed before the next visible sign."""

    cdef Tree tree
    cdef Node* nodes
    cdef const char* heap
    cdef Buffer out, prefix, spare
    # What is written; what each line begins with; what a code span says.
    cdef Mark* marks
    cdef int mark_count, mark_room
    # The emphasis and the links around, from the outside in.
    cdef const char* at
    cdef int here, top
    # The visible sign that is about to be written, in the node `here`; all is inside `top`.
    cdef bint started, filled, numbered, at_start
    # Whether there is a line; what is on the last: anything, only digits, or nothing that a blank may follow.
    cdef bint space
    cdef int owed, breaks
    # What is owed before the next visible sign: a blank, a line (one of Owed), and line breaks.
    cdef bint loose_before, tight, attached, bare, emptied, unquoted
    # Whether the last block wants a blank line behind it; whether none is written at all; whether the next block
    # goes on with the line, as at the beginning of an item; whether there is but the sign of an item, or lines
    # that are empty; whether there is but the sign of a quote.
    cdef bint in_cell, in_heading, after_list, broken, hard, alike
    # Where this is; whether nothing visible has been written since a list, and a break in an item; whether a blank
    # was written as a number; whether emphasis ends where the same emphasis inside it does.
    cdef int inline_only, levels, followed
    # How many elements are around in which blocks are words only; how deep lines are indented; whether all
    # emphasis is HTML, and whether something follows on the line: NONE as long as that is not known.
    cdef Py_ssize_t begin, prefix_begin
    # Where the output and the prefix of a cell begin.
    cdef Py_ssize_t list_end_prefix
    cdef char list_end_sign
    # The indentation and the sign of the last list.

    def __cinit__(self):
        self.prefix, self.spare = Buffer(), Buffer()
        self.followed = NONE

    def __dealloc__(self):
        free(self.marks)

    # Signs.

    cdef inline int put(self, const char* text) except -1:
        return self.out.put(text, strlen(text))

    cdef int literal(self, const char* at, Py_ssize_t size) except -1:
        """Bytes as they are; only a bar would end the cell that they stand in."""
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
        """A blank that a reader would drop where it stands. Returns its bytes."""
        cdef int size = _hard_at(at, end), number = <unsigned char> at[0]
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

    cdef inline int write_prefix(self) except -1:
        return self.out.put(self.prefix.data + self.prefix_begin, self.prefix.size - self.prefix_begin)

    cdef int write_bare_prefix(self) except -1:
        """The prefix of an empty line."""
        cdef Py_ssize_t size = self.prefix.size
        while size > self.prefix_begin and self.prefix.data[size - 1] == b" ":
            size -= 1
        return self.out.put(self.prefix.data + self.prefix_begin, size - self.prefix_begin)

    cdef int open_line(self, bint loose) except -1:
        """Begin the line of a block. A blank line parts it from the block before if one of them wants that."""
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
        """Begin the line of a paragraph. Breaks before its first word stay."""
        cdef int breaks = self.breaks
        self.open_line(not self.tight)
        self.breaks = breaks
        return 0

    cdef int new_line(self) except -1:
        """Go on with a block on its next line."""
        self.out.sign(b"\n")
        self.write_prefix()
        self.filled = self.space = self.numbered = False
        self.at_start = True
        return 0

    cdef int before_visible(self) except -1:
        """Write what is owed: a line, breaks or a blank, and the signs of emphasis around what follows."""
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
        """End all emphasis before the end of a block; it goes on in the next."""
        cdef int index
        for index in range(self.mark_count - 1, -1, -1):
            if self.marks[index].written:
                self.put(self.marks[index].closing)
                self.marks[index].written = False
                self.marks[index].kept = self.marks[index].opening[0] == b"<"
                if not self.marks[index].kept:
                    self.marks[index].opening = self.marks[index].closing = _sign_of(
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
            if _EMPHASIS.has[self.nodes[mark.node].tag]:
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
        """Whether a reader would not take the signs of this emphasis for that."""
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
        """Whether stars or underscores stand before this, and punctuation before them."""
        cdef Py_ssize_t size = self.out.size
        while size > self.begin and (self.out.data[size - 1] == b"*" or self.out.data[size - 1] == b"_"):
            size -= 1
        if size == self.out.size or size == self.begin:
            return False
        return _edges[<unsigned char> self.out.data[size - 1]] == PUNCTUATION

    cdef bint follows_word(self, int node) except -1:
        """Whether an element begins right behind a letter."""
        cdef int before = self.nodes[node].prev, inner = self.nodes[node].first
        cdef const char* end
        if before == NONE or self.nodes[before].kind != TEXT or not self.nodes[before].size:
            return False
        if inner != NONE and self.nodes[inner].kind == TEXT and self.nodes[inner].size:
            if _is_blank(self.heap[self.nodes[inner].at]):
                return False
        end = self.heap + self.nodes[before].at + self.nodes[before].size
        return _edges[<unsigned char> (end - 1)[0]] == WORD

    cdef bint is_emphasised(self, int index, bint struck) except -1:
        """Whether there is emphasis of this kind around it that has been written."""
        while index:
            index -= 1
            if _EMPHASIS.has[self.nodes[self.marks[index].node].tag]:
                return self.marks[index].opening[0] == _sign_of(TAG_DEL if struck else TAG_EM)[0]
        return False

    cdef bint touches(self, int index, int first) except -1:
        """Whether the sign would be read together with the one before it."""
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
            other = _sign_of(self.nodes[self.marks[index - 1].node].tag)
        return other[0] == sign[0] and not (other[1] == 0 and sign[1] != 0)

    cdef bint is_followed(self, int node, bint nested, int edge) except -1:
        """Whether a blank, a sign or the end of the line surely follows."""
        cdef int after = self.nodes[node].next, around = self.nodes[node].parent
        if edge == SPACE:
            return True
        if after == NONE:
            if nested and _EMPHASIS.has[self.nodes[around].tag]:
                return True
            return BLOCKS.has[self.nodes[around].tag] and edge == NOTHING and not self.in_cell
        if self.nodes[after].kind != TEXT or not self.nodes[after].size:
            return False
        edge = _edges[<unsigned char> self.heap[self.nodes[after].at]]
        return edge == SPACE or edge == PUNCTUATION

    cdef int edge_before(self) except -1:
        """What the sign of emphasis would stand behind."""
        cdef Py_ssize_t size = self.out.size
        cdef int edge
        cdef const char* at
        if size == self.begin:
            return SPACE
        at = self.out.data + size - 1
        if <unsigned char> at[0] < 0x80:
            return _edges[<unsigned char> at[0]]
        while at > self.out.data and (<unsigned char> at[0] & 0xC0) == 0x80:
            at -= 1
        edge = _edge_at(at, self.out.data + size)
        return SPACE if edge == HARD else edge

    cdef bint is_html_break(self, int node) except -1:
        cdef Mark* mark
        if not self.mark_count:
            return False
        mark = &self.marks[self.mark_count - 1]
        if mark.node != self.nodes[node].parent or not _EMPHASIS.has[self.nodes[mark.node].tag]:
            return False
        return self.html_breaks(mark)

    cdef bint html_breaks(self, Mark* mark) except -1:
        """Whether the breaks in emphasis are written as HTML: there are two, or it is itself."""
        cdef int found = 0, node = self.nodes[mark.node].first
        if mark.lined == NONE:
            while node != NONE and found < 2:
                found += self.nodes[node].tag == TAG_BR
                node = self.nodes[node].next
            mark.lined = found > 1
        return mark.lined

    cdef int edge_of(self, int node) except -1:
        """What an inline element that is no emphasis begins or ends with; NOTHING if it has to be looked into."""
        cdef int tag = self.nodes[node].tag
        if _CODE.has[tag] or tag == TAG_IMG or tag == TAG_Q:
            return PUNCTUATION
        if tag == TAG_A and self.tree.attr(node, ATTR_HREF).start != NULL:
            return PUNCTUATION
        return NOTHING

    cdef int beginning(self, int index) except -1:
        """What the sign of a mark that is about to be written stands before."""
        cdef const char* end
        cdef int tag
        while index + 1 < self.mark_count:
            tag = self.nodes[self.marks[index].node].tag
            index += 1
            if self.marks[index].opening[0] == b"[":
                return PUNCTUATION
            if _EMPHASIS.has[self.nodes[self.marks[index].node].tag]:
                if _differs(tag, self.nodes[self.marks[index].node].tag):
                    return PUNCTUATION
        if self.nodes[self.here].kind != TEXT:
            return PUNCTUATION
        if <unsigned char> self.at[0] < 0x80:
            return _edges[<unsigned char> self.at[0]]
        end = self.heap + self.nodes[self.here].at + self.nodes[self.here].size
        return _edge_at(self.at, end)

    cdef int ending(self, Mark* mark, int* after) except -1:
        """What the last sign of emphasis in this block will stand behind, and what will follow it."""
        cdef int element = mark.node, top = self.here, node = self.here, last = self.here
        cdef int edge = PUNCTUATION, line_break = NONE, tag
        cdef bint bounded, blank = False
        cdef const char* start
        cdef const char* end
        self.alike = False
        if not self.tree.is_inside(top, element):
            return PUNCTUATION
        while top != element and not (BLOCKS.has[self.nodes[top].tag] and not self.inline_only):
            top = self.nodes[top].parent
        bounded = top != element
        while node != NONE:
            tag = self.nodes[node].tag
            if self.nodes[node].kind == TEXT:
                start = self.heap + self.nodes[node].at
                end = start + self.nodes[node].size
                blank = blank or (end > start and _is_blank((end - 1)[0]))
                while end > start and _is_blank((end - 1)[0]):
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
        while last != element:
            last = self.nodes[last].parent
            if last != element and self.ends_with_sign(element, last):
                return PUNCTUATION
        return edge

    cdef bint ends_with_sign(self, int element, int inner) except -1:
        """Whether something inside emphasis ends with a sign that is not read together with that of it. If it is
        the same sign, so that it would be, this is noted."""
        cdef int tag = self.nodes[inner].tag
        cdef const char* sign
        if tag == TAG_Q:
            return True
        if tag == TAG_A:
            return self.tree.attr(inner, ATTR_HREF).start != NULL
        if not _EMPHASIS.has[tag]:
            return False
        sign = _sign_of(self.nodes[element].tag)
        if _sign_of(tag)[0] != sign[0]:
            return True
        if self.tree.is_inside(self.here, inner) or inner == self.here:
            return _differs(self.nodes[element].tag, tag)
        if strcmp(_sign_of(tag), sign) == 0 and not self.follows_word(inner):
            self.alike = True
        return False

    cdef bint begins_visibly(self, int node) except -1:
        """Whether emphasis begins with its sign, not with a blank."""
        cdef int inner = self.nodes[node].first
        if inner != NONE and self.nodes[inner].kind == TEXT and self.nodes[inner].size:
            if _is_blank(self.heap[self.nodes[inner].at]):
                return False
        return self.shows(node, False)

    cdef int next_edge(self, int node) except -1:
        """What follows an inline element on its line; NOTHING at the end of the line."""
        cdef int edge
        cdef const char* at
        while True:
            while self.nodes[node].next == NONE:
                node = self.nodes[node].parent
                if node == NONE or node == self.top or BLOCKS.has[self.nodes[node].tag]:
                    return NOTHING
                if _CELLS.has[self.nodes[node].tag]:
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
                            return _edges[<unsigned char> at[0]]
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
                if _EMPHASIS.has[self.nodes[node].tag] and self.begins_visibly(node):
                    return PUNCTUATION
                edge = self.edge_of(node)
                if edge:
                    return edge
                if self.nodes[node].first == NONE:
                    break
                node = self.nodes[node].first

    # Text.

    cdef int say(self, int node) except -1:
        """A text, its blanks as one, what looks like Markdown escaped."""
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
            if _is_blank(at[0]):
                self.space = True
                at += 1
            else:
                self.at = at
                self.before_visible()
                at += self.entity(at, end)
                self.filled = True
            tail = _next_hard(at, end)

    cdef int words(self, const char* at, const char* end, const char* last) except -1:
        """A part of a text that goes on to `last`."""
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
        """Where the blanks begin that a reader would drop at the end of a line."""
        cdef const char* tail = end
        cdef const char* at
        cdef bint hard = False
        while tail > start:
            if _is_blank((tail - 1)[0]):
                tail -= 1
                continue
            if <unsigned char> (tail - 1)[0] < 0x80:
                break
            at = tail - 1
            while at > start and (<unsigned char> at[0] & 0xC0) == 0x80:
                at -= 1
            if _hard_at(at, tail) != tail - at:
                break
            tail = at
            hard = True
        return tail if hard and not self.mark_count and self.ends_line(node) else end

    cdef bint is_last(self, int node) except -1:
        """As `ends_line`, for what is being written: the same until something visible is."""
        if self.followed == NONE:
            self.followed = not self.ends_line(node)
        return not self.followed

    cdef bint ends_line(self, int node) except -1:
        """Whether nothing follows on a line but the signs of emphasis."""
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
                    if not _all_blank(self.heap + self.nodes[node].at, self.nodes[node].size):
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

    cdef const char* begin_line(self, const char* at, const char* end) except NULL:
        """What at the beginning of a line would be read as that of a block. Returns what is behind it."""
        cdef const char* start = at
        if b"0" <= at[0] <= b"9":
            while at < end and b"0" <= at[0] <= b"9":
                at += 1
            self.out.put(start, at - start)
            self.numbered = True
        elif at[0] == b"#" or at[0] == b">" or at[0] == b"-" or at[0] == b"+" or at[0] == b"=":
            self.out.sign(b"\\")
        elif <unsigned char> at[0] >= 0x80 and not self.mark_count:
            if _hard_at(at, end):
                at += self.entity(at, end)
        return at

    cdef bint shows(self, int top, bint blanks) except -1:
        """Whether an inline element writes anything, be it a blank if `blanks`."""
        cdef int node = top
        while node != NONE:
            if self.nodes[node].kind == TEXT:
                if self.nodes[node].size and (
                    blanks or not _all_blank(self.heap + self.nodes[node].at, self.nodes[node].size)
                ):
                    return True
            elif SKIPPED.has[self.nodes[node].tag]:
                node = beyond(self.nodes, node, top)
                continue
            elif self.nodes[node].tag == TAG_IMG or self.nodes[node].tag == TAG_Q:
                return True
            elif self.nodes[node].tag == TAG_A and self.tree.attr(node, ATTR_HREF).start != NULL:
                return True
            elif _CODE.has[self.nodes[node].tag]:
                blanks = True
            node = following(self.nodes, node, top)
        return False

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
        if _EMPHASIS.has[tag] or tag == TAG_SUP or tag == TAG_SUB:
            self.push_mark(node, _sign_of(tag))
            self.inline_children(node)
            self.mark_count -= 1
            if self.marks[self.mark_count].written:
                self.put(self.marks[self.mark_count].closing)
        elif tag == TAG_A:
            self.link(node)
        elif _CODE.has[tag]:
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
        """A block where there is room for its words only."""
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
        """A URL, in angle brackets where it has blanks."""
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
        """Put what code says into `spare`. Its blocks are parted by line breaks if `lines`, or blanks."""
        cdef int node = self.nodes[top].first
        cdef Buffer said = self.spare
        cdef bint parted = False
        cdef char parting = b"\n" if lines else b" "
        said.size = 0
        while node != NONE:
            if self.nodes[node].kind == TEXT:
                if self.nodes[node].size:
                    if parted and said.size and not _is_blank(said.data[said.size - 1]):
                        if not _is_blank(self.heap[self.nodes[node].at]):
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
                if _edges[<unsigned char> said[place]] == PUNCTUATION:
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
        """What stands in a block: blocks, or runs of inline elements that are each a paragraph."""
        cdef Node* found = &self.nodes[child]
        if found.kind == TEXT:
            if not in_run[0]:
                if _all_blank(self.heap + found.at, found.size):
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
        """Whether a paragraph begins with an inline element, though it may say nothing; not with a block in it."""
        cdef int node = self.nodes[top].first, tag
        if node != NONE and (self.nodes[node].kind == TEXT or self.nodes[node].tag == TAG_BR):
            return True
        node = top
        while node != NONE:
            tag = self.nodes[node].tag
            if self.nodes[node].kind == TEXT:
                if not _all_blank(self.heap + self.nodes[node].at, self.nodes[node].size):
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
        """Whether there is anything in a block, be it a break."""
        cdef int node = following(self.nodes, top, top)
        while node != NONE:
            if self.nodes[node].kind == TEXT:
                if not _all_blank(self.heap + self.nodes[node].at, self.nodes[node].size):
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
        """The number that an attribute says, or another if it says none."""
        cdef Span text = self.tree.attr(node, name)
        cdef Py_ssize_t place = 0, number = 0
        while place < text.size and _is_blank(text.start[place]):
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
        """What stands in a list but in none of its items belongs to the item before."""
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
        if self.broken and _all_blank(self.out.data + begin, self.out.size - begin):
            self.out.size = begin
        self.breaks = 0
        self.attached = self.bare = False
        self.tight = tight
        self.levels -= 2
        self.prefix.size = base
        return 0

    cdef bint leads_inline(self, int top) except -1:
        """Whether an item begins with words that stand on the line of its sign."""
        cdef int node = following(self.nodes, top, top), tag
        while node != NONE:
            tag = self.nodes[node].tag
            if self.nodes[node].kind == TEXT:
                if not _all_blank(self.heap + self.nodes[node].at, self.nodes[node].size):
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

    cdef bint shows_itself(self, int node) except -1:
        """Whether an inline element writes something besides its text."""
        cdef int tag = self.nodes[node].tag
        if tag == TAG_IMG or tag == TAG_Q:
            return True
        if tag == TAG_A:
            return self.tree.attr(node, ATTR_HREF).start != NULL
        return _CODE.has[tag] and self.shows(node, True)

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
        """The paragraphs of an item, counted to two. A block that a paragraph after it would belong to is as one
        before it."""
        cdef int node = self.nodes[top].first, tag, found = 0
        cdef bint in_run = False, shown
        while node != NONE:
            tag = self.nodes[node].tag
            if self.nodes[node].kind == TEXT:
                if not in_run and not _all_blank(self.heap + self.nodes[node].at, self.nodes[node].size):
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
            count += _CELLS.has[self.nodes[row].tag]
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
            if _CELLS.has[self.nodes[row].tag]:
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
    """Let all blanks in a row be one. Returns where it ends then."""
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


cdef bint _all_blank(const char* at, Py_ssize_t size) noexcept:
    cdef Py_ssize_t place
    for place in range(size):
        if not _is_blank(at[place]):
            return False
    return True


cdef const char* _sign_of(int tag) noexcept:
    if tag == TAG_STRONG or tag == TAG_B:
        return b"**"
    if tag == TAG_EM or tag == TAG_I:
        return b"*"
    return b"~~" if _STRUCK.has[tag] else b""


cdef bint _differs(int around, int tag) noexcept:
    """Whether emphasis that begins where other does has another sign."""
    cdef const char* outer = _sign_of(around)
    cdef const char* inner = _sign_of(tag)
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


cdef bint _is_autolink(Span href) noexcept:
    """Whether a URL can stand in angle brackets: it has a scheme and nothing that ends it there."""
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
    """What a class says of the language of code."""
    cdef Span found
    cdef const char* at = classes.start
    cdef const char* end = at + classes.size
    found.start, found.size = NULL, 0
    while at < end:
        while at < end and _is_blank(at[0]):
            at += 1
        found.start = at
        while at < end and not _is_blank(at[0]):
            at += 1
        found.size = at - found.start
        if found.size > 9 and memcmp(found.start, b"language-", 9) == 0:
            found.start, found.size = found.start + 9, found.size - 9
            return found
    found.start, found.size = NULL, 0
    return found


cdef bint _close_gaps(Buffer out) except -1:
    """Without the gaps: each is a paragraph, of which its line and the blank line before it go. Returns whether
    there are other signs."""
    cdef char* at = out.data
    cdef char* end = at + out.size
    cdef char* to = at
    cdef char* begin = at
    cdef char* sign = at
    cdef bint others = False
    while True:
        sign = <char*> memchr(sign, 0xEF, end - sign)
        if sign == NULL:
            break
        if end - sign >= 6 and memcmp(sign, b"\xef\xb7\x90\xef\xb7\x99", 6) == 0:
            memmove(to, at, sign - at)
            to = _without_line(begin, _without_line(begin, to + (sign - at)))
            begin = to
            at = sign = sign + 6
        else:
            others = others or (end - sign >= 3 and memcmp(sign, b"\xef\xb7\x90", 3) == 0)
            sign += 1
    if to != at:
        memmove(to, at, end - at)
    out.size = to + (end - at) - out.data
    return others


cdef char* _without_line(char* begin, char* end) noexcept:
    """Where a text ends without its last line if that is empty, be it in a quote."""
    cdef char* line = end
    while line > begin and ((line - 1)[0] == b" " or (line - 1)[0] == b">"):
        line -= 1
    return line - 1 if line > begin and (line - 1)[0] == b"\n" else end


cdef int _bare_underscores(Buffer out) except -1:
    """Without the backslashes of underscores that stand between letters."""
    cdef const char* at = out.data
    cdef const char* end = at + out.size
    cdef const char* found
    cdef char* to = out.data
    while True:
        found = _next_escape(at, end)
        if found == NULL:
            break
        memmove(to, at, found - at)
        to += found - at
        if not (_is_letter_before(out.data, to) and _is_letter(found + 2, end)):
            to[0] = b"\\"
            to += 1
        to[0] = b"_"
        to += 1
        at = found + 2
    memmove(to, at, end - at)
    out.size = to + (end - at) - out.data
    return 0


cdef const char* _next_escape(const char* at, const char* end) noexcept:
    """The next underscore behind a backslash."""
    while True:
        at = <const char*> memchr(at, b"\\", end - at)
        if at == NULL or end - at < 2:
            return NULL
        if at[1] == b"_":
            return at
        at += 1


cdef bint _is_letter_before(const char* begin, const char* end) noexcept:
    cdef const char* at = end
    while at > begin:
        at -= 1
        if (<unsigned char> at[0] & 0xC0) != 0x80:
            return _is_letter(at, end)
    return False


cdef bint _is_letter(const char* at, const char* end) noexcept:
    """Whether a letter or digit of any script begins here."""
    cdef int letter
    cdef unsigned char one
    if at >= end:
        return False
    one = at[0]
    if one < 0x80:
        return b"a" <= one <= b"z" or b"A" <= one <= b"Z" or b"0" <= one <= b"9"
    if one < 0xE0:
        letter = (one & 0x1F) << 6 | (<unsigned char> at[1] & 0x3F)
    else:
        letter = (one & 0x0F) << 6 | (<unsigned char> at[1] & 0x3F)
        letter = letter << 6 | (<unsigned char> at[2] & 0x3F)
        if one >= 0xF0:
            letter = (letter & 0x7FFF) << 6 | (<unsigned char> at[3] & 0x3F)
    return (<Py_UCS4> letter).isalnum()


cdef Writer _written(Tree tree, int element):
    cdef Writer writer = Writer()
    cdef Buffer out = borrowed()
    cdef Py_ssize_t begin = 0
    tree.at(element)
    writer.tree, writer.nodes, writer.heap, writer.top, writer.out = tree, tree.nodes, tree.heap, element, out
    writer.block(element)
    while out.size and _is_blank(out.data[out.size - 1]):
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
        signs[0], hard[0] = _close_gaps(writer.out), writer.hard
        if underscores:
            _bare_underscores(writer.out)
    markdown = writer.out.decoded()
    give_back(writer.out)
    return markdown
