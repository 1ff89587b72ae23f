# The tree of a page: nodes are numbers, and what is known of them stands side by side in plain memory.

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
    # Of a text its bytes in the heap, of an element its attributes.
    unsigned char kind
    unsigned char tag
    unsigned char space
    # Of an element: HTML, SVG or MATHML.
    unsigned char flags
    # What the parser knows of an element while it reads: see `stack.pxd`.
    int name
    # Of an element whose tag is unknown: its place among the names of this page.

cdef struct Attribute:
    int name
    # An ATTR_ number, or ATTR_END and more for a place among the names of this page.
    int at, size

cdef struct Span:
    const char* start
    Py_ssize_t size
    # Bytes of UTF-8. `start` is NULL where there is nothing, not even an empty value. It is good until the tree
    # is changed: new text may move the heap.

cdef struct TagSet:
    bint has[256]

cdef TagSet tags(str names)
# The set of tags named in a text, parted by blanks. All must be known.

cdef int known_tag(const char* name, Py_ssize_t size) noexcept
cdef int known_attribute(const char* name, Py_ssize_t size) noexcept
# The number of a name; 0 if it is not known.

# Text.
cdef int blank_at(const char* at, const char* end) noexcept
# Bytes of the white space (as `str.isspace`) that begins here; 0 if none does.
cdef Span stripped(Span text) noexcept
# As `str.strip`.
cdef bint is_blank(Span text) noexcept
# Whether there is nothing but white space, or nothing.
cdef Py_ssize_t characters(Span text) noexcept
# Code points.
cdef str as_str(Span text)
# None where the span is nothing.
cdef bint is_text(Span text, const char* other) noexcept
# Whether it is these bytes exactly; `other` ends in NUL. False for nothing.
cdef bint begins(Span text, const char* other) noexcept
cdef bint ends(Span text, const char* other) noexcept
cdef bint contains(Span text, const char* other) noexcept
# As `str.startswith`, `str.endswith` and `in`; False for nothing.
cdef bint is_text_in_any_case(Span text, const char* other) noexcept
cdef bint contains_in_any_case(Span text, const char* other) noexcept
# The same whatever the case of ASCII letters; `other` is in lower case.
cdef bint has_word(Span text, const char* word) noexcept
# Whether this word is among the words of it, parted by ASCII white space, as a class is in `class`.


cdef class Tree:
    # The arrays may be read directly where the number is known to be in bounds. That is so of a number that a node of
    # this tree has as its link and that is not NONE, since nodes are never removed: 0 <= number < count. Attributes of
    # an element are those from `at` to `at + size`, which is not beyond `attribute_count`; the bytes of a text or a
    # value are those from `at` to `at + size`, which is not beyond `heap_size`. New bytes are written behind
    # `heap_size` after `reserve`. A build with AddressSanitizer checks each read and each write (`bounds.pxd`).
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
    # Bytes of UTF-8 that it was parsed from.

    # Looking. A node that is no number of this tree raises IndexError.
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
        # TAG_UNKNOWN for texts, the root and tags that are not known.
        return self.at(node).tag

    cdef str tag_name(self, int node)
    # As it is written, in lower case for HTML; empty for texts and the root.
    cdef int following(self, int node, int top) except -2
    # The next node in document order below `top`; NONE after the last. Begin with `node == top`.
    cdef int beyond(self, int node, int top) except -2
    # As `following`, but passing over all that is inside `node`.
    cdef int next_tagged(self, int node, int top, const TagSet* wanted) except -2
    # The next element in document order below `top` with one of these tags; NONE after the last.
    cdef int first_tagged(self, int top, int tag) except -2
    # The first element below `top` with this tag; NONE if there is none.
    cdef list all_tagged(self, int top, const TagSet* wanted)
    # All elements below `top` with one of these tags, in document order, as they are now.
    cdef bint is_inside(self, int node, int top) except -1
    # Whether `node` is below `top`. Not so for `top` itself.
    cdef int closest(self, int node, const TagSet* wanted) except -2
    # The nearest element with one of these tags: `node` itself or one around it; NONE if there is none.

    cdef Span data(self, int node) except *
    # What a text node says.
    cdef Span attr(self, int node, int name) except *
    # The value of an attribute with an ATTR_ number; nothing where an element does not have it.
    cdef Span attr_named(self, int node, str name) except *
    # The same for any name.
    cdef bint has_class(self, int node, const char* name) except -1
    cdef str attr_str(self, int node, int name)
    # As `attr`; None where it is not there.
    cdef int attr_count(self, int node) except -1
    cdef list attributes_of(self, int node)
    # Names and values, in their order.

    cdef str text(self, int node)
    # All text in a node, in document order.
    cdef Py_ssize_t text_length(self, int node) except -1
    # Its code points, without making it.
    cdef int first_text(self, int node) except -2
    # The first text in a node, or itself, that is not blank; NONE if there is none.
    cdef bint has_text(self, int node) except -1
    # Whether there is any that is not white space.

    # Changing. What was taken out stays a valid node, with no parent, and can be put elsewhere.
    cdef int new_element(self, int tag) except -1
    cdef int new_text(self, str data) except -1
    cdef int extract(self, int node) except -1
    # Take a node with all that is in it out. Returns it.
    cdef int append(self, int parent, int node) except -1
    # Put a node last in `parent`, out of where it was. Returns it, as all of the following.
    cdef int prepend(self, int parent, int node) except -1
    cdef int insert_before(self, int reference, int node) except -1
    cdef int insert_after(self, int reference, int node) except -1
    cdef int replace(self, int node, int other) except -1
    # Put `other` in the place of `node`. Returns `other`.
    cdef int unwrap(self, int node) except -1
    # Let what is in an element stand in its place.
    cdef int wrap(self, int node, int tag) except -1
    # Put a new element around a node. Returns the new one.
    cdef int wrap_children(self, int node, int tag) except -1
    # Put a new element around all that is in an element. Returns the new one.
    cdef int strip_tags(self, int top, const TagSet* unwanted) except -1
    # Unwrap all elements below `top` with these tags.
    cdef int clear(self, int node) except -1
    # Take out all that is in an element.
    cdef int set_text(self, int node, str text) except -1
    # Let an element hold this text and nothing else.
    cdef int set_data(self, int node, str data) except -1
    # Let a text node say this.
    cdef int set_tag(self, int node, int tag) except -1
    cdef int set_attr(self, int node, int name, str value) except -1
    cdef int drop_attr(self, int node, int name) except -1
    cdef int clear_attrs(self, int node) except -1

    # Building.
    cdef int reserve(self, Py_ssize_t size) except -1
    # Room for so many more bytes on the heap.
    cdef int put(self, const char* start, Py_ssize_t size) except -1
    # Copy bytes to the heap. Returns where they are.
    cdef int new_node(self, int kind) except -1
    cdef int add_attribute(self, int name, int at, int size) except -1
    # The next attribute; an element names those that were added for it by `at` and `size`.
    cdef int move_attributes(self, int node) except -1
    # Let the attributes of an element be the last, so that one more has room.
    cdef int page_name(self, str name) except -1
    # The place of a name among those of this page that are not known.
    cdef void link_last(self, int parent, int node) noexcept
    # Put a node that is nowhere last in a parent; both are known to be numbers of this tree.
    cdef int link_before(self, int reference, int node) noexcept
    # Put a node that is nowhere before another that stands somewhere; both are known to be numbers of this tree.
    cdef int move_children(self, int node, int other) except -1
    # Put all that is in an element last into another.

    cdef bint _is_empty(self, int node) noexcept
    cdef str _opening(self, int node)
    cdef int _check(self, int parent, int node) except -1
