"""The HTML tokenizer of a whole document without scripts; the tree builder handles its tokens.

Any bytes give a tree, by the rules of the HTML standard. Time is linear in the bytes for any real page, and what a
hostile page can multiply is limited. Parse errors are not reported, and comments are not stored; a comment only
separates the texts around it.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcmp, memcpy

from orbweb.parsing.html.doctype import read as read_doctype

from orbweb.parsing.html.entities cimport character
from orbweb.parsing.html.tree_builder cimport (AFTER_BODY, BEFORE_HTML, INITIAL, Modes, NOT_RAW, PLAIN, RCDATA, SCRIPT)
from orbweb.parsing.html.characters cimport is_letter, is_space, lower
from orbweb.parsing.html.open_elements cimport MAX_DEPTH as DEEPEST
from orbweb.parsing.html.tree cimport (
    ATTR_END, Attribute, HTML, NONE, SVG, TAG_UNKNOWN, TEXT, Tree, known_attribute, known_tag,
)

MAX_DEPTH = DEEPEST
"""The maximum depth of elements. Deeper elements become siblings, because no real page is that deep."""

cdef enum:
    # Up to this many attributes, duplicates are found by a linear search.
    FEW_ATTRIBUTES = 32
    MAX_LOWERED = 64
    # Copies of elements and attributes that any page may have, and the bytes of a page that allow one more.
    FREE_COPIES = 20_000
    BYTES_A_COPY = 2


cpdef bint is_utf8(bytes text):
    cdef const unsigned char* at = text
    cdef const unsigned char* end = at + len(text)
    cdef unsigned char one
    cdef uint64_t eight
    while at < end:
        if at[0] < 0x80:
            if end - at >= 8:
                memcpy(&eight, at, 8)
                if not eight & 0x8080808080808080U:
                    at += 8
                    continue
            at += 1
            continue
        one = at[0]
        if 0xC2 <= one <= 0xDF:
            if end - at < 2 or not _is_inner(at[1]):
                return False
            at += 2
        elif one & 0xF0 == 0xE0:
            if end - at < 3 or not _is_inner(at[1]) or not _is_inner(at[2]):
                return False
            if (one == 0xE0 and at[1] < 0xA0) or (one == 0xED and at[1] > 0x9F):
                return False
            at += 3
        elif 0xF0 <= one <= 0xF4:
            if end - at < 4 or not _is_inner(at[1]) or not _is_inner(at[2]) or not _is_inner(at[3]):
                return False
            if (one == 0xF0 and at[1] < 0x90) or (one == 0xF4 and at[1] > 0x8F):
                return False
            at += 4
        else:
            return False
    return True


cdef inline bint _is_inner(unsigned char sign) noexcept:
    """Whether a byte is a continuation byte of UTF-8."""
    return sign & 0xC0 == 0x80


cpdef Tree parsed(bytes markup, str encoding):
    cdef Parser parser = Parser.__new__(Parser)
    if b"\r" in markup:
        markup = markup.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    parser.tree = Tree.__new__(Tree, encoding)
    parser.tree.source_size = len(markup)
    parser.tree.reserve(len(markup) + len(markup) // 8)
    parser.copies_left = FREE_COPIES + len(markup) // BYTES_A_COPY
    parser.read(markup, <const char*> markup + len(markup))
    return parser.tree


cdef class Parser(Modes):
    """The parser of one page: reads tokens and passes them to the tree builder."""

    def __cinit__(self):
        self.run = self.many_of = NONE

    cdef int read(self, const char* at, const char* end) except -1:
        """Read all tokens, and complete the tree."""
        if end - at >= 3 and memcmp(at, b"\xef\xbb\xbf", 3) == 0:
            at += 3
        self.read_markup(at, end)
        return self.finish()

    cdef int read_markup(self, const char* at, const char* end) except -1:
        cdef const char* sign
        while at < end:
            sign = <const char*> memchr(at, c"<", end - at)
            if sign == NULL:
                sign = end
            if sign > at:
                self._text(at, sign)
                at = sign
            if end - at < 2:
                if at < end:
                    self._text(at, end)
                break
            if is_letter(at[1]):
                at = self._start_tag(at + 1, end)
            elif at[1] == c"/":
                at = self._end_tag(at, end)
            elif at[1] == c"!":
                at = self._declaration(at + 2, end)
            elif at[1] == c"?":
                at = self._comment_until(at + 1, end)
            else:
                self._text(at, at + 1)
                at += 1
        return self._flush()

    cdef int _text(self, const char* at, const char* end) except -1:
        """Text with character references."""
        cdef int begin = self._decoded(at, end, False)
        if self.skips_newline:
            self.skips_newline = False
            begin += self.tree.heap[begin] == c"\n"
            if begin == self.tree.heap_size:
                return 0
        if self.run == NONE:
            self.run = begin
        return 0

    cdef int _decoded(self, const char* at, const char* end, bint in_attribute) except -1:
        """Copy text to the heap with its character references replaced. Returns its start there."""
        cdef Tree tree = self.tree
        cdef int begin = <int> tree.heap_size
        cdef const char* sign
        cdef char* to
        cdef int size
        tree.reserve(2 * (end - at) + 16)
        to = tree.heap + begin
        while at < end:
            sign = <const char*> memchr(at, c"&", end - at)
            if sign == NULL:
                sign = end
            memcpy(to, at, sign - at)
            to += sign - at
            at = sign
            if at == end:
                break
            size = 0
            if end - at >= 3:
                at = character(at, end, in_attribute, to, &size)
            if not size:
                to[0] = c"&"
                size = 1
                at += 1
            to += size
        tree.heap_size = to - tree.heap
        return begin

    cdef const char* _start_tag(self, const char* at, const char* end) except NULL:
        """A start tag from its name on. Returns the position after it; an unterminated one is dropped."""
        at = self._tag(at, end)
        if at == NULL:
            return end
        self.start()
        if self.raw != NOT_RAW:
            return self.read_raw(at, end)
        return at

    cdef const char* _end_tag(self, const char* at, const char* end) except NULL:
        if end - at < 3:
            self._text(at, end)
            return end
        if not is_letter(at[2]):
            return at + 3 if at[2] == c">" else self._comment_until(at + 2, end)
        at = self._tag(at + 2, end)
        if at == NULL:
            return end
        self._drop_attributes()
        self.end()
        return at

    cdef const char* _tag(self, const char* at, const char* end) except? NULL:
        """Name and attributes of a tag. Returns the position after it; NULL if it is unterminated.

        Text read before is complete then, and is inserted before the heap is used for values.
        """
        cdef const char* start = at
        cdef char[MAX_LOWERED] lowered
        cdef int size
        self._flush()
        while at < end and not is_space(at[0]) and at[0] != c">" and at[0] != c"/":
            at += 1
        self.name = NONE
        self.tag = TAG_UNKNOWN
        if at - start < MAX_LOWERED:
            for size in range(<int> (at - start)):
                lowered[size] = lower(start[size])
            self.tag = known_tag(lowered, at - start)
        if not self.tag:
            self.name = self.tree.page_name(_name(start, at))
        self.closes_itself = False
        self.attributes = self.tree.attribute_count
        while True:
            while at < end and (is_space(at[0]) or at[0] == c"/"):
                if at[0] == c"/" and at + 1 < end and at[1] == c">":
                    self.closes_itself = True
                at += 1
            if at == end:
                return NULL
            if at[0] == c">":
                break
            self.closes_itself = False
            at = self._attribute(at, end)
            if at == NULL:
                return NULL
        self.attribute_count = self.tree.attribute_count - self.attributes
        return at + 1

    cdef const char* _attribute(self, const char* at, const char* end) except? NULL:
        """An attribute. Returns the position after it; NULL if the page ends in it."""
        cdef const char* start = at
        cdef char[MAX_LOWERED] lowered
        cdef int number = 0, value, size
        cdef char quote
        at += 1
        while at < end and not is_space(at[0]) and at[0] != c">" and at[0] != c"/" and at[0] != c"=":
            at += 1
        if at - start < MAX_LOWERED:
            for size in range(<int> (at - start)):
                lowered[size] = lower(start[size])
            number = known_attribute(lowered, at - start)
        if not number:
            number = ATTR_END + self.tree.page_name(_name(start, at))
        value = <int> self.tree.heap_size
        while at < end and is_space(at[0]):
            at += 1
        if at < end and at[0] == c"=":
            at += 1
            while at < end and is_space(at[0]):
                at += 1
            if at == end:
                return NULL
            quote = at[0]
            start = at
            if quote == c'"' or quote == c"'":
                start = at + 1
                at = <const char*> memchr(start, quote, end - start)
                if at == NULL:
                    return NULL
                self._value(start, at)
                at += 1
            else:
                while at < end and not is_space(at[0]) and at[0] != c">":
                    at += 1
                self._value(start, at)
        if at == end:
            return NULL
        if not self._has_attribute(number):
            self.tree.add_attribute(number, value, <int> (self.tree.heap_size - value))
        return at

    cdef int _value(self, const char* start, const char* end) except -1:
        cdef int begin = self._decoded(start, end, True)
        if memchr(start, 0, end - start) != NULL:
            self.replace_nuls(begin)
        return 0

    cdef bint _has_attribute(self, int number) except -1:
        """Whether the tag has the attribute already."""
        cdef int place, count = self.tree.attribute_count
        cdef Attribute* all = self.tree.attributes
        if count - self.attributes <= FEW_ATTRIBUTES:
            for place in range(self.attributes, count):
                if all[place].name == number:
                    return True
            return False
        if self.many_of != self.attributes:
            self.many_of = self.attributes
            self.many = {all[place].name for place in range(self.attributes, count)}
        if number in self.many:
            return True
        self.many.add(number)
        return False

    cdef const char* _declaration(self, const char* at, const char* end) except NULL:
        """Markup that begins with `<!`."""
        if end - at >= 2 and at[0] == c"-" and at[1] == c"-":
            return self._comment(at + 2, end)
        if end - at >= 7 and _is_word(at, b"doctype"):
            return self._doctype(at + 7, end)
        if end - at >= 7 and memcmp(at, b"[CDATA[", 7) == 0 and self.open.count and self.current().space != HTML:
            return self.read_cdata(at + 7, end)
        return self._comment_until(at, end)

    cdef const char* _comment(self, const char* at, const char* end) except NULL:
        """A comment after its opening. It ends with `-->` or `--!>`, or at once with `>` or `->`."""
        cdef const char* start = at
        if at < end and at[0] == c">":
            self.comment(at, at)
            return at + 1
        if end - at >= 2 and at[0] == c"-" and at[1] == c">":
            self.comment(at, at)
            return at + 2
        while True:
            at = <const char*> memchr(at, c"-", end - at)
            if at == NULL or end - at < 3:
                self.comment(start, _before_dashes(start, end))
                return end
            if at[1] == c"-":
                if at[2] == c">":
                    self.comment(start, at)
                    return at + 3
                if at[2] == c"!" and end - at >= 4 and at[3] == c">":
                    self.comment(start, at)
                    return at + 4
            at += 1

    cdef const char* _comment_until(self, const char* at, const char* end) except NULL:
        """A bogus comment, up to the next `>`."""
        cdef const char* stop = <const char*> memchr(at, c">", end - at)
        self.comment(at, end if stop == NULL else stop)
        return end if stop == NULL else stop + 1

    cdef const char* read_cdata(self, const char* at, const char* end) except NULL:
        cdef const char* start = at
        cdef int begin
        while True:
            at = <const char*> memchr(at, c"]", end - at)
            if at == NULL or end - at < 3:
                at = end
                break
            if at[1] == c"]" and at[2] == c">":
                break
            at += 1
        if at > start:
            begin = self.tree.put(start, at - start)
            if self.run == NONE:
                self.run = begin
        return at + 3 if at < end else end

    cdef int comment(self, const char* start, const char* stop) except -1:
        """A comment: the text after it is a separate node."""
        cdef int last
        self._flush()
        self.skips_newline = False
        if self.open.count:
            last = self.current().last
            if self.mode == AFTER_BODY:
                last = self.tree.last(self.open.all[0])
            if last != NONE and self.tree.nodes[last].kind == TEXT:
                self.tree.nodes[last].space = SVG
        return 0

    cdef const char* _doctype(self, const char* at, const char* end) except NULL:
        """A doctype after the word. A `>` within quotes ends it too."""
        cdef const char* stop = <const char*> memchr(at, c">", end - at)
        cdef bint is_closed = stop != NULL
        if not is_closed:
            stop = end
        self._flush()
        self.skips_newline = False
        self.doctype(at, stop, is_closed)
        return stop + is_closed

    cdef int doctype(self, const char* start, const char* stop, bint is_closed) except -1:
        """Only quirks mode matters."""
        if self.mode == INITIAL:
            found = read_doctype(start[:stop - start].decode("utf-8", "replace"), is_closed=is_closed)
            self.is_quirky = found.is_quirky
            self.mode = BEFORE_HTML
        return 0

    cdef const char* read_raw(self, const char* at, const char* end) except NULL:
        """The raw text of an element up to and including its end tag."""
        cdef int raw = self.raw
        cdef bytes name = self.raw_name()
        cdef const char* stop = end if raw == PLAIN else _behind_raw(at, end, name, len(name), raw == SCRIPT)
        self.raw = NOT_RAW
        self._raw_text(at, stop, raw)
        if raw == PLAIN:
            return end
        at = end
        if stop != end:
            at = self._tag(stop + 2, end)
            self._drop_attributes()
        self.end_raw(stop != end and at != NULL)
        return end if at == NULL else at

    cdef bytes raw_name(self):
        """The name of the end tag that ends raw text."""
        return self.tree.tag_name(self.open.all[self.open.count - 1]).encode()

    cdef int _raw_text(self, const char* at, const char* stop, int raw) except -1:
        cdef bint skips_newline = self.skips_newline
        cdef int begin
        self.skips_newline = False
        if at == stop:
            return 0
        if raw == RCDATA:
            begin = self._decoded(at, stop, False)
        else:
            begin = self.tree.put(at, stop - at)
        if memchr(at, 0, stop - at) != NULL:
            self.replace_nuls(begin)
        if skips_newline:
            begin += self.tree.heap[begin] == c"\n"
        if raw == PLAIN:
            return self.characters(begin, <int> self.tree.heap_size)
        return self.raw_text(begin, <int> self.tree.heap_size)

    cdef int _flush(self) except -1:
        """Insert the pending text."""
        cdef int begin = self.run
        if begin != NONE:
            self.run = NONE
            self.characters(begin, <int> self.tree.heap_size)
        return 0


# Pieces of markup.


cdef str _name(const char* start, const char* end):
    """A name in lower case."""
    cdef char[MAX_LOWERED] small
    cdef Py_ssize_t size = end - start, place
    cdef bytes name
    if size <= MAX_LOWERED and memchr(start, 0, size) == NULL:
        for place in range(size):
            small[place] = lower(start[place])
        return PyUnicode_DecodeUTF8(small, size, "surrogatepass")
    name = start[:size].lower()
    if b"\0" in name:
        name = name.replace(b"\0", b"\xef\xbf\xbd")
    return PyUnicode_DecodeUTF8(name, len(name), "surrogatepass")


cdef bint _is_word(const char* at, const char* word) noexcept:
    """Whether a word (in lower case) is at this position, ignoring case."""
    while word[0]:
        if lower(at[0]) != word[0]:
            return False
        at += 1
        word += 1
    return True


cdef const char* _before_dashes(const char* start, const char* end) noexcept:
    """The end of a comment that the page ends in, without a partial terminator."""
    if end - start >= 3 and memcmp(end - 3, b"--!", 3) == 0:
        return end - 3
    if end - start >= 2 and memcmp(end - 2, b"--", 2) == 0:
        return end - 2
    return end - 1 if end > start and (end - 1)[0] == c"-" else end


cdef const char* _behind_raw(
    const char* at, const char* end, const char* name, Py_ssize_t size, bint is_script
) noexcept:
    """The start of the end tag of an element with raw text; the end if there is none."""
    cdef int escaped = 0
    while True:
        at = <const char*> memchr(at, c"<", end - at)
        if at == NULL or end - at < 2:
            return end
        if is_script and escaped == 0 and end - at >= 4 and memcmp(at, b"<!--", 4) == 0:
            escaped = 1
            if _ends_escape(at + 2, end):
                escaped = 0
        if at[1] == c"/" and end - at > size + 2 and _is_word(at + 2, name):
            if is_space(at[size + 2]) or at[size + 2] == c">" or at[size + 2] == c"/":
                if escaped != 2:
                    return at
                escaped = 1
        elif escaped == 1 and end - at > 7 and _is_word(at + 1, b"script"):
            if is_space(at[7]) or at[7] == c">" or at[7] == c"/":
                escaped = 2
        if escaped and _ends_escape(at + 1, end):
            escaped = 0
        at += 1


cdef bint _ends_escape(const char* at, const char* end) noexcept:
    """Whether `-->` comes before the next `<`."""
    cdef const char* next = <const char*> memchr(at, c"<", end - at)
    if next == NULL:
        next = end
    while next - at >= 3:
        at = <const char*> memchr(at, c"-", next - at)
        if at == NULL or next - at < 3:
            return False
        if at[1] == c"-" and at[2] == c">":
            return True
        at += 1
    return False
