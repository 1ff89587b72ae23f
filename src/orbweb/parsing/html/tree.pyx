"""The tree of a page: nodes are numbers, and their records are in plain arrays.

Node numbers from callers are checked before use; a node keeps its number as long as the tree lives; nothing
recurses.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy, strlen
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8

from orbweb.parsing.html.bounds cimport close_memory, open_memory
from orbweb.parsing.html.characters cimport lower, next_word

cdef extern from *:
    """
    #ifndef _GNU_SOURCE
    #define _GNU_SOURCE
    #endif
    #include <string.h>
    """
    void* memmem(const void* all, size_t all_size, const void* part, size_t part_size) noexcept

cdef enum:
    # The longest known tag or attribute name, in bytes.
    MAX_NAME = 64
    TABLE_SIZE = 1024

_TAGS = (
    "", "a", "abbr", "acronym", "address", "annotation", "area", "article", "aside",
    "audio", "b", "base", "bdi", "bdo", "big", "blockquote", "body", "br", "button",
    "canvas", "caption", "center", "cite", "clipboard-copy", "code", "col", "colgroup", "data",
    "datalist", "dd", "del", "details", "dfn", "dialog", "dir", "div", "dl", "dt", "em",
    "embed", "fieldset", "figcaption", "figure", "font", "footer", "form", "frame", "frameset",
    "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "i",
    "iframe", "img", "input", "ins", "kbd", "label", "legend", "li", "link", "listing",
    "main", "map", "mark", "math", "menu", "meta", "meter", "mjx-container", "nav", "nobr",
    "noembed", "noframes", "noscript", "object", "ol", "optgroup", "option", "output", "p",
    "param", "picture", "plaintext", "pre", "progress", "q", "rp", "rt", "ruby", "s", "samp",
    "script", "search", "section", "select", "slot", "small", "source", "span", "strike",
    "strong", "style", "sub", "summary", "sup", "svg", "table", "tbody", "td", "template",
    "textarea", "tfoot", "th", "thead", "time", "title", "tr", "track", "tt", "u", "ul",
    "var", "video", "wbr", "xmp",
    "annotation-xml", "applet", "basefont", "bgsound", "desc", "foreignObject", "image", "keygen",
    "malignmark", "marquee", "mglyph", "mi", "mn", "mo", "ms", "mtext", "rb", "rtc",
)
_ATTRIBUTES = (
    "", "alt", "alttext", "aria-hidden", "aria-label", "as", "checked", "class",
    "colspan", "content", "data", "datetime", "disabled", "display", "encoding", "height",
    "hidden", "href", "http-equiv", "id", "itemprop", "lang", "language", "name",
    "poster", "property", "pubdate", "rel", "reversed", "role", "rowspan",
    "shadowrootmode", "src", "srcset", "start", "style", "syntax", "title", "type",
    "value", "width",
)
if len(_TAGS) != TAG_END or len(_ATTRIBUTES) != ATTR_END:
    raise ImportError("the names of tags and attributes do not match their numbers")

cdef dict _tag_numbers = {name.encode(): number for number, name in enumerate(_TAGS) if name}
cdef dict _attribute_numbers = {name.encode(): number for number, name in enumerate(_ATTRIBUTES) if name}

cdef struct Known:
    const char* name
    int size, number

cdef struct Table:
    Known[TABLE_SIZE] entries


cdef inline unsigned int _slot(const char* name, Py_ssize_t size) noexcept:
    cdef unsigned int found = <unsigned int> size
    cdef Py_ssize_t place
    for place in range(size):
        found = found * 31 + <unsigned char> name[place]
    return (found ^ found >> 10) % TABLE_SIZE


cdef Table _table(dict numbers):
    """The same in plain memory. The names stay valid as long as the dictionary has them."""
    cdef Table table
    cdef unsigned int slot
    cdef bytes name
    for slot in range(<unsigned int> TABLE_SIZE):
        table.entries[slot].size = 0
    for name, number in numbers.items():
        slot = _slot(name, len(name))
        while table.entries[slot].size:
            slot = (slot + 1) % TABLE_SIZE
        table.entries[slot].name = name
        table.entries[slot].size = <int> len(name)
        table.entries[slot].number = number
    return table


cdef Table _tag_table = _table(_tag_numbers)
cdef Table _attribute_table = _table(_attribute_numbers)


cdef int _number(const Table* table, const char* name, Py_ssize_t size) noexcept:
    """The number of a name; 0 if it is not known."""
    cdef unsigned int slot
    if size > MAX_NAME:
        return 0
    slot = _slot(name, size)
    while table.entries[slot].size:
        if table.entries[slot].size == size and memcmp(table.entries[slot].name, name, size) == 0:
            return table.entries[slot].number
        slot = (slot + 1) % TABLE_SIZE
    return 0

cdef TagSet _EMPTY = tags(
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr"
)
cdef TagSet _RAW = tags("iframe noembed noframes plaintext script style xmp")
cdef TagSet _LINED = tags("listing pre textarea")


cdef TagSet tags(str names):
    cdef TagSet found
    cdef int number
    for number in range(256):
        found.has[number] = False
    for name in names.split():
        number = _tag_numbers[name.encode()]
        found.has[number] = True
    return found


cdef int known_tag(const char* name, Py_ssize_t size) noexcept:
    return _number(&_tag_table, name, size)


cdef int known_attribute(const char* name, Py_ssize_t size) noexcept:
    return _number(&_attribute_table, name, size)


# Text.


cdef int blank_at(const char* at, const char* end) noexcept:
    cdef unsigned char one = at[0], two, three
    if one < 0x80:
        return one == 0x20 or (0x09 <= one <= 0x0D) or (0x1C <= one <= 0x1F)
    if one == 0xC2:
        if end - at < 2:
            return 0
        two = at[1]
        return 2 if two == 0x85 or two == 0xA0 else 0
    if one < 0xE1 or one > 0xE3 or end - at < 3:
        return 0
    two, three = at[1], at[2]
    if one == 0xE2:
        if two == 0x80:
            return 3 if 0x80 <= three <= 0x8A or three == 0xA8 or three == 0xA9 or three == 0xAF else 0
        return 3 if two == 0x81 and three == 0x9F else 0
    if one == 0xE1:
        return 3 if two == 0x9A and three == 0x80 else 0
    return 3 if two == 0x80 and three == 0x80 else 0


cdef Span stripped(Span text) noexcept:
    cdef const char* start = text.start
    cdef const char* end = start + text.size
    cdef const char* last
    cdef int step
    if start == NULL:
        return text
    while start < end:
        step = blank_at(start, end)
        if not step:
            break
        start += step
    while end > start:
        last = end - 1
        while last > start and (<unsigned char> last[0] & 0xC0) == 0x80:
            last -= 1
        if not blank_at(last, end):
            break
        end = last
    text.start, text.size = start, end - start
    return text


cdef bint is_blank(Span text) noexcept:
    cdef const char* at = text.start
    cdef const char* end = at + text.size
    cdef int step
    if at == NULL:
        return True
    while at < end:
        step = blank_at(at, end)
        if not step:
            return False
        at += step
    return True


cdef Py_ssize_t characters(Span text) noexcept:
    """Count eight bytes at a time, without continuation bytes."""
    cdef const char* at = text.start
    cdef Py_ssize_t inner = 0, left = text.size
    cdef uint64_t part
    while left >= 8:
        memcpy(&part, at, 8)
        if part & 0x8080808080808080ULL:
            part = (part >> 7) & (~part >> 6) & 0x0101010101010101ULL
            inner += (part * 0x0101010101010101ULL) >> 56
        at += 8
        left -= 8
    while left:
        inner += (<unsigned char> at[0] & 0xC0) == 0x80
        at += 1
        left -= 1
    return text.size - inner


cdef str as_str(Span text):
    if text.start == NULL:
        return None
    return PyUnicode_DecodeUTF8(text.start, text.size, "surrogatepass")


cdef bint is_text(Span text, const char* other) noexcept:
    if text.start == NULL:
        return False
    return <Py_ssize_t> strlen(other) == text.size and memcmp(text.start, other, text.size) == 0


cdef bint begins(Span text, const char* other) noexcept:
    cdef Py_ssize_t size = strlen(other)
    return text.start != NULL and text.size >= size and memcmp(text.start, other, size) == 0


cdef bint ends(Span text, const char* other) noexcept:
    cdef Py_ssize_t size = strlen(other)
    return text.start != NULL and text.size >= size and memcmp(text.start + text.size - size, other, size) == 0


cdef bint contains(Span text, const char* other) noexcept:
    return text.start != NULL and memmem(text.start, text.size, other, strlen(other)) != NULL


cdef bint _is_there_in_any_case(const char* at, const char* other, Py_ssize_t size) noexcept:
    cdef Py_ssize_t place
    for place in range(size):
        if lower(at[place]) != other[place]:
            return False
    return True


cdef bint is_text_in_any_case(Span text, const char* other) noexcept:
    if text.start == NULL or text.size != <Py_ssize_t> strlen(other):
        return False
    return _is_there_in_any_case(text.start, other, text.size)


cdef bint contains_in_any_case(Span text, const char* other) noexcept:
    cdef Py_ssize_t size = strlen(other), place
    if text.start != NULL:
        for place in range(text.size - size + 1):
            if _is_there_in_any_case(text.start + place, other, size):
                return True
    return False


cdef bint has_word(Span text, const char* word) noexcept:
    cdef const char* at = text.start
    cdef const char* end = at + text.size
    cdef Py_ssize_t wanted = strlen(word), size
    if at == NULL:
        return False
    while True:
        size = next_word(&at, end)
        if not size or (size == wanted and memcmp(at, word, size) == 0):
            return size > 0
        at += size


cdef Span _span(const char* start, Py_ssize_t size) noexcept:
    cdef Span found
    found.start, found.size = start, size
    return found


# The tree.


cdef class Tree:
    """A page. Node numbers are valid only for their tree."""

    def __cinit__(self, str encoding=""):
        self.names = []
        self.name_numbers = {}
        self.encoding = encoding
        self.new_node(ELEMENT)

    def __dealloc__(self):
        free(self.nodes)
        free(self.attributes)
        free(self.heap)

    # Memory.

    cdef int reserve(self, Py_ssize_t size) except -1:
        """Reserve this many more bytes on the heap."""
        cdef Py_ssize_t wanted = self.heap_size + size
        cdef char* heap
        if wanted > 0x7FFFFFF0:
            raise MemoryError("a page of more than two gigabytes")
        if wanted > self.heap_room:
            wanted = wanted if wanted > 2 * self.heap_room else 2 * self.heap_room
            heap = <char*> realloc(self.heap, wanted)
            if heap == NULL:
                raise MemoryError()
            self.heap, self.heap_room = heap, wanted
        if self.heap_room:
            close_memory(self.heap + self.heap_size, self.heap_room - self.heap_size)
            open_memory(self.heap + self.heap_size, size)
        return 0

    cdef int put(self, const char* start, Py_ssize_t size) except -1:
        """Copy bytes to the heap. Returns their offset."""
        cdef int at = <int> self.heap_size
        self.reserve(size)
        if size:
            memcpy(self.heap + at, start, size)
        self.heap_size += size
        return at

    cdef int new_node(self, int kind) except -1:
        cdef Node* nodes
        cdef Node* node
        cdef int room
        if self.count == self.room:
            room = 2 * self.room if self.room else 1024
            nodes = <Node*> realloc(self.nodes, room * sizeof(Node))
            if nodes == NULL:
                raise MemoryError()
            self.nodes, self.room = nodes, room
            close_memory(nodes + self.count, (room - self.count) * sizeof(Node))
        node = &self.nodes[self.count]
        open_memory(node, sizeof(Node))
        node.parent = node.first = node.last = node.next = node.prev = NONE
        node.at = node.size = 0
        node.kind, node.tag, node.space, node.flags, node.name = kind, TAG_UNKNOWN, HTML, 0, NONE
        self.count += 1
        return self.count - 1

    cdef int add_attribute(self, int name, int at, int size) except -1:
        cdef Attribute* attributes
        cdef int room
        if self.attribute_count == self.attribute_room:
            room = 2 * self.attribute_room if self.attribute_room else 1024
            attributes = <Attribute*> realloc(self.attributes, room * sizeof(Attribute))
            if attributes == NULL:
                raise MemoryError()
            self.attributes, self.attribute_room = attributes, room
            close_memory(attributes + self.attribute_count, (room - self.attribute_count) * sizeof(Attribute))
        open_memory(self.attributes + self.attribute_count, sizeof(Attribute))
        self.attributes[self.attribute_count].name = name
        self.attributes[self.attribute_count].at = at
        self.attributes[self.attribute_count].size = size
        self.attribute_count += 1
        return 0

    cdef int page_name(self, str name) except -1:
        cdef object place = self.name_numbers.get(name)
        if place is None:
            place = self.name_numbers[name] = len(self.names)
            self.names.append(name)
        return place

    # Markup.

    def markup(self, int node=ROOT):
        """The current markup of a node."""
        cdef list parts = []
        cdef int at = node, inner
        while True:
            if self.is_text(at):
                inner = self.nodes[at].parent
                raw = inner != NONE and _RAW.has[self.nodes[inner].tag] and self.nodes[inner].space == HTML
                parts.append(as_str(self.data(at)) if raw else _escaped(as_str(self.data(at))))
            elif at != ROOT:
                parts.append(self._opening(at))
            if self.nodes[at].first != NONE:
                at = self.nodes[at].first
                continue
            while True:
                if self.nodes[at].kind == ELEMENT and at != ROOT and not self._is_empty(at):
                    parts.append(f"</{self.tag_name(at)}>")
                if at == node:
                    return "".join(parts)
                if self.nodes[at].next != NONE:
                    at = self.nodes[at].next
                    break
                at = self.nodes[at].parent

    cdef bint _is_empty(self, int node) noexcept:
        return _EMPTY.has[self.nodes[node].tag] and self.nodes[node].space == HTML

    cdef str _opening(self, int node):
        cdef list parts = [f"<{self.tag_name(node)}"]
        for name, value in self.attributes_of(node):
            value = _escaped(value).replace('"', "&quot;")
            parts.append(f' {name}="{value}"')
        parts.append(">")
        if _LINED.has[self.nodes[node].tag] and self.nodes[node].space == HTML:
            node = self.nodes[node].first
            if node != NONE and self.nodes[node].kind == TEXT and as_str(self.data(node)).startswith("\n"):
                parts.append("\n")
        return "".join(parts)

    # Reading.

    def find(self, str tag, int top=ROOT):
        """The first element with a known tag, for callers in Python; -1 if there is none."""
        return self.first_tagged(top, _tag_numbers[tag.encode()])

    def said(self, int node=ROOT):
        """All text in a node, for callers in Python."""
        return self.text(node)

    def outline(self):
        """All nodes in document order, for callers in Python: depth, namespace, name and attributes of an element;
        for a text, which has no namespace, its text and no attributes."""
        cdef list found = []
        cdef int node = ROOT, depth = 0
        while self.nodes[node].first != NONE or node != ROOT:
            if self.nodes[node].first != NONE:
                node = self.nodes[node].first
                depth += 1
            else:
                while node != ROOT and self.nodes[node].next == NONE:
                    node = self.nodes[node].parent
                    depth -= 1
                if node == ROOT:
                    break
                node = self.nodes[node].next
            if self.nodes[node].kind == TEXT:
                found.append((depth, None, as_str(self.data(node)), ()))
                continue
            space = ("", "svg", "math")[self.nodes[node].space]
            found.append((depth, space, self.tag_name(node), tuple(self.attributes_of(node))))
        return found

    def sizes(self):
        """The allocated nodes, attributes and bytes of text and values, used or not."""
        return self.count, self.attribute_count, self.heap_size

    cdef list attributes_of(self, int node):
        cdef list found = []
        cdef int place
        cdef Attribute* one
        for place in range(self.at(node).at, self.nodes[node].at + self.nodes[node].size):
            one = &self.attributes[place]
            name = _ATTRIBUTES[one.name] if one.name < ATTR_END else self.names[one.name - ATTR_END]
            found.append((name, as_str(_span(self.heap + one.at, one.size))))
        return found

    cdef str tag_name(self, int node):
        cdef Node* found = self.at(node)
        return self.names[found.name] if found.name != NONE else _TAGS[found.tag]

    cdef int following(self, int node, int top) except -2:
        cdef int inner = self.at(node).first
        return inner if inner != NONE else self.beyond(node, top)

    cdef int beyond(self, int node, int top) except -2:
        cdef Node* nodes = self.nodes
        self.at(node)
        while node != top and node != NONE:
            if nodes[node].next != NONE:
                return nodes[node].next
            node = nodes[node].parent
        return NONE

    cdef int next_tagged(self, int node, int top, const TagSet* wanted) except -2:
        while True:
            node = self.following(node, top)
            if node == NONE or wanted.has[self.nodes[node].tag]:
                return node

    cdef int first_tagged(self, int top, int tag) except -2:
        cdef int node = top
        while True:
            node = self.following(node, top)
            if node == NONE or self.nodes[node].tag == tag:
                return node

    cdef list all_tagged(self, int top, const TagSet* wanted):
        cdef list found = []
        cdef int node = top
        while True:
            node = self.next_tagged(node, top, wanted)
            if node == NONE:
                return found
            found.append(node)

    cdef bint is_inside(self, int node, int top) except -1:
        node = self.at(node).parent
        while node != NONE:
            if node == top:
                return True
            node = self.nodes[node].parent
        return False

    cdef int closest(self, int node, const TagSet* wanted) except -2:
        self.at(node)
        while node != NONE and not wanted.has[self.nodes[node].tag]:
            node = self.nodes[node].parent
        return node

    cdef Span data(self, int node) except *:
        cdef Node* found = self.at(node)
        if found.kind != TEXT:
            return _span(NULL, 0)
        return _span(self.heap + found.at, found.size)

    cdef Span attr(self, int node, int name) except *:
        cdef Node* found = self.at(node)
        cdef int place
        if found.kind == ELEMENT:
            for place in range(found.at, found.at + found.size):
                if self.attributes[place].name == name:
                    return _span(self.heap + self.attributes[place].at, self.attributes[place].size)
        return _span(NULL, 0)

    cdef Span attr_named(self, int node, str name) except *:
        cdef object number = _attribute_numbers.get(name.encode("utf-8", "surrogatepass"))
        if number is None:
            number = self.name_numbers.get(name)
            if number is None:
                return _span(NULL, 0)
            number += ATTR_END
        return self.attr(node, number)

    cdef bint has_class(self, int node, const char* name) except -1:
        return has_word(self.attr(node, ATTR_CLASS), name)

    cdef str attr_str(self, int node, int name):
        return as_str(self.attr(node, name))

    cdef int attr_count(self, int node) except -1:
        cdef Node* found = self.at(node)
        return found.size if found.kind == ELEMENT else 0

    cdef str text(self, int node):
        cdef Py_ssize_t size = 0
        cdef int inner = node
        cdef bytes whole
        cdef char* to
        if self.is_text(node):
            return as_str(self.data(node))
        while True:
            inner = self.following(inner, node)
            if inner == NONE:
                break
            if self.nodes[inner].kind == TEXT:
                size += self.nodes[inner].size
        whole = PyBytes_FromStringAndSize(NULL, size)
        to, inner = whole, node
        while True:
            inner = self.following(inner, node)
            if inner == NONE:
                break
            if self.nodes[inner].kind == TEXT:
                memcpy(to, self.heap + self.nodes[inner].at, self.nodes[inner].size)
                to += self.nodes[inner].size
        return PyUnicode_DecodeUTF8(whole, size, "surrogatepass")

    cdef Py_ssize_t text_length(self, int node) except -1:
        cdef Py_ssize_t length = 0
        cdef int inner = node
        if self.is_text(node):
            return characters(self.data(node))
        while True:
            inner = self.following(inner, node)
            if inner == NONE:
                return length
            if self.nodes[inner].kind == TEXT:
                length += characters(self.data(inner))

    cdef bint has_text(self, int node) except -1:
        return self.first_text(node) != NONE

    cdef int first_text(self, int node) except -2:
        cdef int inner = node
        if self.is_text(node):
            return NONE if is_blank(self.data(node)) else node
        while True:
            inner = self.following(inner, node)
            if inner == NONE:
                return NONE
            if self.nodes[inner].kind == TEXT and not is_blank(self.data(inner)):
                return inner

    # Changing.

    cdef int new_element(self, int tag) except -1:
        cdef int node = self.new_node(ELEMENT)
        self.nodes[node].tag = tag
        return node

    cdef int new_text(self, str data) except -1:
        cdef int node = self.new_node(TEXT)
        self.set_data(node, data)
        return node

    cdef int extract(self, int node) except -1:
        cdef Node* found = self.at(node)
        if found.parent != NONE:
            if found.prev != NONE:
                self.nodes[found.prev].next = found.next
            else:
                self.nodes[found.parent].first = found.next
            if found.next != NONE:
                self.nodes[found.next].prev = found.prev
            else:
                self.nodes[found.parent].last = found.prev
            found.parent = found.prev = found.next = NONE
        return node

    cdef void link_last(self, int parent, int node) noexcept:
        """Append a detached node to a parent, without checks."""
        cdef Node* found = &self.nodes[node]
        found.parent, found.prev = parent, self.nodes[parent].last
        if found.prev != NONE:
            self.nodes[found.prev].next = node
        else:
            self.nodes[parent].first = node
        self.nodes[parent].last = node

    cdef int _check(self, int parent, int node) except -1:
        """Raise if a node would be inserted into itself."""
        self.at(parent)
        if parent == node or (self.at(node).first != NONE and self.is_inside(parent, node)):
            raise ValueError("a node cannot be inserted into itself")
        return 0

    cdef int append(self, int parent, int node) except -1:
        self._check(parent, node)
        self.link_last(parent, self.extract(node))
        return node

    cdef int prepend(self, int parent, int node) except -1:
        self._check(parent, node)
        self.extract(node)
        if self.nodes[parent].first == NONE:
            self.link_last(parent, node)
            return node
        return self.link_before(self.nodes[parent].first, node)

    cdef int link_before(self, int reference, int node) noexcept:
        """Insert a detached node before another, without checks."""
        cdef Node* found = &self.nodes[node]
        cdef Node* after = &self.nodes[reference]
        found.parent, found.next, found.prev = after.parent, reference, after.prev
        if after.prev != NONE:
            self.nodes[after.prev].next = node
        else:
            self.nodes[after.parent].first = node
        after.prev = node
        return node

    cdef int insert_before(self, int reference, int node) except -1:
        if reference == node:
            return node
        if self.at(reference).parent == NONE:
            raise ValueError("a detached node has no siblings")
        self._check(reference, node)
        return self.link_before(reference, self.extract(node))

    cdef int insert_after(self, int reference, int node) except -1:
        cdef int after
        if reference == node:
            return node
        self._check(reference, node)
        self.extract(node)
        after = self.at(reference).next
        if after != NONE:
            return self.link_before(after, node)
        if self.nodes[reference].parent == NONE:
            raise ValueError("a detached node has no siblings")
        self.link_last(self.nodes[reference].parent, node)
        return node

    cdef int replace(self, int node, int other) except -1:
        if node != other:
            self.insert_before(node, other)
            self.extract(node)
        return other

    cdef int unwrap(self, int node) except -1:
        cdef int inner
        if self.at(node).parent == NONE:
            raise ValueError("a detached node cannot be unwrapped")
        while self.nodes[node].first != NONE:
            inner = self.extract(self.nodes[node].first)
            self.link_before(node, inner)
        return self.extract(node)

    cdef int wrap(self, int node, int tag) except -1:
        cdef int around = self.new_element(tag)
        if self.at(node).parent != NONE:
            self.insert_before(node, around)
        self.link_last(around, self.extract(node))
        return around

    cdef int wrap_children(self, int node, int tag) except -1:
        cdef int around = self.new_element(tag), inner
        self.at(node)
        self.nodes[around].first, self.nodes[around].last = self.nodes[node].first, self.nodes[node].last
        inner = self.nodes[around].first
        while inner != NONE:
            self.nodes[inner].parent = around
            inner = self.nodes[inner].next
        self.nodes[node].first = self.nodes[node].last = NONE
        self.link_last(node, around)
        return around

    cdef int move_children(self, int node, int other) except -1:
        cdef int inner
        self._check(other, node)
        while self.nodes[node].first != NONE:
            inner = self.extract(self.nodes[node].first)
            self.link_last(other, inner)
        return other

    cdef int strip_tags(self, int top, const TagSet* unwanted) except -1:
        cdef int node = self.following(top, top), after
        while node != NONE:
            after = self.following(node, top)
            if unwanted.has[self.nodes[node].tag]:
                self.unwrap(node)
            node = after
        return 0

    cdef int clear(self, int node) except -1:
        self.at(node)
        while self.nodes[node].first != NONE:
            self.extract(self.nodes[node].first)
        return node

    cdef int set_text(self, int node, str text) except -1:
        self.clear(node)
        if text:
            self.link_last(node, self.new_text(text))
        return node

    cdef int set_data(self, int node, str data) except -1:
        cdef bytes said = data.encode("utf-8", "surrogatepass")
        cdef int at = self.put(<const char*> said, len(said))
        self.at(node).at = at
        self.nodes[node].size = <int> len(said)
        return node

    cdef int set_tag(self, int node, int tag) except -1:
        self.at(node).tag = tag
        self.nodes[node].name = NONE
        return node

    cdef int set_attr(self, int node, int name, str value) except -1:
        cdef bytes said = value.encode("utf-8", "surrogatepass")
        cdef int at = self.put(<const char*> said, len(said)), place
        cdef Node* found = self.at(node)
        for place in range(found.at, found.at + found.size):
            if self.attributes[place].name == name:
                self.attributes[place].at, self.attributes[place].size = at, <int> len(said)
                return node
        self.move_attributes(node)
        self.add_attribute(name, at, <int> len(said))
        self.nodes[node].size += 1
        return node

    cdef int move_attributes(self, int node) except -1:
        """Move the attributes of an element to the end, so that one more can be added."""
        cdef int begin = self.nodes[node].at, size = self.nodes[node].size, place
        if begin + size == self.attribute_count and size:
            return 0
        self.nodes[node].at = self.attribute_count
        for place in range(begin, begin + size):
            self.add_attribute(
                self.attributes[place].name, self.attributes[place].at, self.attributes[place].size
            )
        return 0

    cdef int drop_attr(self, int node, int name) except -1:
        cdef Node* found = self.at(node)
        cdef int place, last = found.at + found.size - 1
        for place in range(found.at, last + 1):
            if self.attributes[place].name == name:
                while place < last:
                    self.attributes[place] = self.attributes[place + 1]
                    place += 1
                found.size -= 1
                break
        return node

    cdef int clear_attrs(self, int node) except -1:
        self.at(node).size = 0
        return node


cdef str _escaped(str text):
    return text.replace("&", "&amp;").replace("\xa0", "&nbsp;").replace("<", "&lt;").replace(">", "&gt;")
