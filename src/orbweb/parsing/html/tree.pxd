# The tree of a page: nodes are numbers, and their records are in plain arrays.

cdef enum:
    TAG_UNKNOWN, TAG_A, TAG_ABBR, TAG_ACRONYM, TAG_ADDRESS, TAG_ANNOTATION, TAG_AREA, TAG_ARTICLE, TAG_ASIDE
    TAG_AUDIO, TAG_B, TAG_BASE, TAG_BDI, TAG_BDO, TAG_BIG, TAG_BLOCKQUOTE, TAG_BODY, TAG_BR, TAG_BUTTON
    TAG_CANVAS, TAG_CAPTION, TAG_CENTER, TAG_CITE, TAG_CLIPBOARD_COPY, TAG_CODE, TAG_COL, TAG_COLGROUP, TAG_DATA
    TAG_DATALIST, TAG_DD, TAG_DEL, TAG_DETAILS, TAG_DFN, TAG_DIALOG, TAG_DIR, TAG_DIV, TAG_DL, TAG_DT, TAG_EM
    TAG_EMBED, TAG_FIELDSET, TAG_FIGCAPTION, TAG_FIGURE, TAG_FONT, TAG_FOOTER, TAG_FORM, TAG_FRAME, TAG_FRAMESET
    TAG_H1, TAG_H2, TAG_H3, TAG_H4, TAG_H5, TAG_H6, TAG_HEAD, TAG_HEADER, TAG_HGROUP, TAG_HR, TAG_HTML, TAG_I
    TAG_IFRAME, TAG_IMG, TAG_INPUT, TAG_INS, TAG_KBD, TAG_LABEL, TAG_LEGEND, TAG_LI, TAG_LINK, TAG_LISTING
    TAG_MAIN, TAG_MAP, TAG_MARK, TAG_MATH, TAG_MENU, TAG_META, TAG_METER, TAG_MJX_CONTAINER, TAG_NAV, TAG_NOBR
    TAG_NOEMBED, TAG_NOFRAMES, TAG_NOSCRIPT, TAG_OBJECT, TAG_OL, TAG_OPTGROUP, TAG_OPTION, TAG_OUTPUT, TAG_P
    TAG_PARAM, TAG_PICTURE, TAG_PLAINTEXT, TAG_PRE, TAG_PROGRESS, TAG_Q, TAG_RP, TAG_RT, TAG_RUBY, TAG_S
    TAG_SAMP, TAG_SCRIPT, TAG_SEARCH, TAG_SECTION, TAG_SELECT, TAG_SLOT, TAG_SMALL, TAG_SOURCE, TAG_SPAN
    TAG_STRIKE, TAG_STRONG, TAG_STYLE, TAG_SUB, TAG_SUMMARY, TAG_SUP, TAG_SVG, TAG_TABLE, TAG_TBODY, TAG_TD
    TAG_TEMPLATE, TAG_TEXTAREA, TAG_TFOOT, TAG_TH, TAG_THEAD, TAG_TIME, TAG_TITLE, TAG_TR, TAG_TRACK, TAG_TT
    TAG_U, TAG_UL, TAG_VAR, TAG_VIDEO, TAG_WBR, TAG_XMP
    TAG_ANNOTATION_XML, TAG_APPLET, TAG_BASEFONT, TAG_BGSOUND, TAG_DESC, TAG_FOREIGN_OBJECT, TAG_IMAGE, TAG_KEYGEN
    TAG_MALIGNMARK, TAG_MARQUEE, TAG_MGLYPH, TAG_MI, TAG_MN, TAG_MO, TAG_MS, TAG_MTEXT, TAG_RB, TAG_RTC, TAG_END
cdef enum:
    ATTR_UNKNOWN, ATTR_ALT, ATTR_ALTTEXT, ATTR_ARIA_HIDDEN, ATTR_ARIA_LABEL, ATTR_AS, ATTR_CHECKED, ATTR_CLASS
    ATTR_COLSPAN, ATTR_CONTENT, ATTR_DATA, ATTR_DATETIME, ATTR_DISABLED, ATTR_DISPLAY, ATTR_ENCODING
    ATTR_HEIGHT, ATTR_HIDDEN, ATTR_HREF, ATTR_HTTP_EQUIV, ATTR_ID, ATTR_ITEMPROP, ATTR_LANG, ATTR_LANGUAGE
    ATTR_NAME, ATTR_POSTER, ATTR_PROPERTY, ATTR_PUBDATE, ATTR_REL, ATTR_REVERSED, ATTR_ROLE, ATTR_ROWSPAN
    ATTR_SHADOWROOTMODE, ATTR_SRC, ATTR_SRCSET, ATTR_START, ATTR_STYLE, ATTR_SYNTAX, ATTR_TITLE, ATTR_TYPE
    ATTR_VALUE, ATTR_WIDTH, ATTR_END

cdef enum:
    NONE = -1
    # No node.
    ROOT = 0
    # The node of the whole page, above `<html>`. It has no tag and no parent.

cdef enum Kind:
    ELEMENT
    TEXT

cdef enum Space:
    HTML
    SVG
    MATHML

cdef struct Node:
    int parent, first, last, next, prev
    int at, size
    # For a text its bytes in the heap, for an element its attributes.
    unsigned char kind
    unsigned char tag
    unsigned char space
    # For an element: HTML, SVG or MATHML.
    unsigned char flags
    # Flags of the parser: see `open_elements.pxd`.
    int name
    # For an element with an unknown tag: its index in the names of this page.

cdef struct Attribute:
    int name
    # An ATTR_ number, or ATTR_END plus an index into the names of this page.
    int at, size

cdef struct Span:
    const char* start
    Py_ssize_t size
    # Bytes of UTF-8. `start` is NULL for a missing value (an empty one is not NULL). Valid until the tree is
    # changed: new text may move the heap.

cdef struct TagSet:
    bint has[256]

cdef TagSet tags(str names)
# The set of tags in a text, separated by blanks. All must be known.

cdef int known_tag(const char* name, Py_ssize_t size) noexcept
cdef int known_attribute(const char* name, Py_ssize_t size) noexcept
# The number of a name; 0 if it is not known.

# Text.
cdef int blank_at(const char* at, const char* end) noexcept
# Bytes of the white space (as `str.isspace`) that begins here; 0 if none does.
cdef Span stripped(Span text) noexcept
# As `str.strip`.
cdef bint is_blank(Span text) noexcept
# Whether it is empty or only white space.
cdef Py_ssize_t characters(Span text) noexcept
# Code points.
cdef str as_str(Span text)
# None for a missing value.
cdef bint is_text(Span text, const char* other) noexcept
# Whether it is exactly these bytes; `other` ends in NUL. False for a missing value.
cdef bint begins(Span text, const char* other) noexcept
cdef bint ends(Span text, const char* other) noexcept
cdef bint contains(Span text, const char* other) noexcept
# As `str.startswith`, `str.endswith` and `in`; False for a missing value.
cdef bint is_text_in_any_case(Span text, const char* other) noexcept
cdef bint contains_in_any_case(Span text, const char* other) noexcept
# The same, ignoring the case of ASCII letters; `other` is in lower case.
cdef bint has_word(Span text, const char* word) noexcept
# Whether it contains this word, separated by ASCII white space, like a class in `class`.


cdef class Tree:
    # The arrays may be read directly if the index is known to be in bounds. A link of a node of this tree that is
    # not NONE is, because nodes are never removed: 0 <= number < count. Attributes of an element are those from
    # `at` to `at + size`, at most `attribute_count`; the bytes of a text or a value are those from `at` to `at +
    # size`, at most `heap_size`. New bytes are written after `heap_size`, after `reserve`. A build with
    # AddressSanitizer checks each read and each write (`bounds.pxd`).
    cdef Node* nodes
    cdef int count, room
    cdef Attribute* attributes
    cdef int attribute_count, attribute_room
    cdef char* heap
    cdef Py_ssize_t heap_size, heap_room
    cdef list names
    cdef dict name_numbers
    cdef readonly str encoding
    cdef readonly Py_ssize_t source_size
    # The number of bytes of UTF-8 that it was parsed from.

    # Reading. An invalid node number raises IndexError.
    cdef inline Node* at(self, int node) except NULL:
        if node < 0 or node >= self.count:
            raise IndexError(node)
        return &self.nodes[node]
    cdef inline int parent(self, int node) except -2:
        return self.at(node).parent
    cdef inline int first(self, int node) except -2:
        return self.at(node).first
    cdef inline int last(self, int node) except -2:
        return self.at(node).last
    cdef inline int next(self, int node) except -2:
        return self.at(node).next
    cdef inline int prev(self, int node) except -2:
        return self.at(node).prev
    cdef inline bint is_element(self, int node) except -1:
        return self.at(node).kind == ELEMENT
    cdef inline bint is_text(self, int node) except -1:
        return self.at(node).kind == TEXT
    cdef inline int tag(self, int node) except -1:
        # TAG_UNKNOWN for texts, the root and unknown tags.
        return self.at(node).tag

    cdef str tag_name(self, int node)
    # As written, in lower case for HTML; empty for texts and the root.
    cdef int following(self, int node, int top) except -2
    # The next node in document order below `top`; NONE after the last. Begin with `node == top`.
    cdef int beyond(self, int node, int top) except -2
    # As `following`, but skipping the descendants of `node`.
    cdef int next_tagged(self, int node, int top, const TagSet* wanted) except -2
    # The next element in document order below `top` with one of these tags; NONE after the last.
    cdef int first_tagged(self, int top, int tag) except -2
    # The first element below `top` with this tag; NONE if there is none.
    cdef list all_tagged(self, int top, const TagSet* wanted)
    # All elements below `top` with one of these tags, in document order, as a snapshot.
    cdef bint is_inside(self, int node, int top) except -1
    # Whether `node` is below `top`. Not so for `top` itself.
    cdef int closest(self, int node, const TagSet* wanted) except -2
    # The nearest element with one of these tags: `node` itself or an ancestor; NONE if there is none.

    cdef Span data(self, int node) except *
    # The text of a text node.
    cdef Span attr(self, int node, int name) except *
    # The value of an attribute by its ATTR_ number; missing if the element does not have it.
    cdef Span attr_named(self, int node, str name) except *
    # The same for any name.
    cdef bint has_class(self, int node, const char* name) except -1
    cdef str attr_str(self, int node, int name)
    # As `attr`; None if it is missing.
    cdef int attr_count(self, int node) except -1
    cdef list attributes_of(self, int node)
    # Names and values, in their order.

    cdef str text(self, int node)
    # All text in a node, in document order.
    cdef Py_ssize_t text_length(self, int node) except -1
    # The number of its code points, without building it.
    cdef int first_text(self, int node) except -2
    # The first text in a node, or itself, that is not blank; NONE if there is none.
    cdef bint has_text(self, int node) except -1
    # Whether there is any text that is not white space.

    # Changing. A removed node stays valid, without a parent, and can be inserted elsewhere.
    cdef int new_element(self, int tag) except -1
    cdef int new_text(self, str data) except -1
    cdef int extract(self, int node) except -1
    # Remove a node with its descendants. Returns it.
    cdef int append(self, int parent, int node) except -1
    # Move a node to the end of `parent`. Returns it, like all of the following.
    cdef int prepend(self, int parent, int node) except -1
    cdef int insert_before(self, int reference, int node) except -1
    cdef int insert_after(self, int reference, int node) except -1
    cdef int replace(self, int node, int other) except -1
    # Replace `node` by `other`. Returns `other`.
    cdef int unwrap(self, int node) except -1
    # Replace an element by its children.
    cdef int wrap(self, int node, int tag) except -1
    # Wrap a node in a new element. Returns the new one.
    cdef int wrap_children(self, int node, int tag) except -1
    # Wrap all children of an element in a new element. Returns the new one.
    cdef int strip_tags(self, int top, const TagSet* unwanted) except -1
    # Unwrap all elements below `top` with these tags.
    cdef int clear(self, int node) except -1
    # Remove all children of an element.
    cdef int set_text(self, int node, str text) except -1
    # Replace the children of an element by this text.
    cdef int set_data(self, int node, str data) except -1
    # Replace the text of a text node.
    cdef int set_tag(self, int node, int tag) except -1
    cdef int set_attr(self, int node, int name, str value) except -1
    cdef int drop_attr(self, int node, int name) except -1
    cdef int clear_attrs(self, int node) except -1

    # Building.
    cdef int reserve(self, Py_ssize_t size) except -1
    # Reserve this many more bytes on the heap.
    cdef int put(self, const char* start, Py_ssize_t size) except -1
    # Copy bytes to the heap. Returns their offset.
    cdef int new_node(self, int kind) except -1
    cdef int add_attribute(self, int name, int at, int size) except -1
    # Add an attribute; an element refers to its attributes by `at` and `size`.
    cdef int move_attributes(self, int node) except -1
    # Move the attributes of an element to the end, so that one more can be added.
    cdef int page_name(self, str name) except -1
    # The index of an unknown name in the names of this page.
    cdef void link_last(self, int parent, int node) noexcept
    # Append a detached node to a parent, without checks.
    cdef int link_before(self, int reference, int node) noexcept
    # Insert a detached node before an attached one, without checks.
    cdef int move_children(self, int node, int other) except -1
    # Move all children of an element to the end of another.

    cdef bint _is_empty(self, int node) noexcept
    cdef str _opening(self, int node)
    cdef int _check(self, int parent, int node) except -1
