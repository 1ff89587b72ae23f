# Line output of the Markdown writer.

from libc.string cimport strlen

from orbweb.extraction.buffer cimport Buffer
from orbweb.parsing.html.tree cimport Node, TagSet, Tree

cdef enum Edge:
    # The kind of character beside an emphasis marker.
    NOTHING, SPACE, PUNCTUATION, WORD, HARD

cdef enum Owed:
    # A pending line, started with the next visible character: of a paragraph, or after a block inside one.
    NO_LINE, FIRST_LINE, NEXT_LINE

cdef struct Mark:
    int node
    # Its element.
    const char* opening
    const char* closing
    bint written, kept
    # Whether its opening has been written, and whether it is HTML in this and all following blocks.
    int lined
    # Whether line breaks in it are written as HTML; NONE while unknown.

cdef unsigned char edges[256]
# The Edge of an ASCII byte beside an emphasis marker.
cdef TagSet CODE, EMPHASIS, CELLS

cdef int hard_at(const char* at, const char* end) noexcept
# The length of the non-ASCII blank at this position; 0 if there is none.
cdef bint all_blank(const char* at, Py_ssize_t size) noexcept
cdef const char* sign_of(int tag) noexcept
# The marker of an emphasis.


cdef class Lines:
    cdef Tree tree
    cdef Node* nodes
    cdef const char* heap
    cdef Buffer out, prefix, spare
    # The output; the prefix of each line; the text of a code span.
    cdef Mark* marks
    cdef int mark_count, mark_room
    # The enclosing emphasis and links, outermost first.
    cdef const char* at
    cdef int here, top
    # The next visible character, in the node `here`; everything is inside `top`.
    cdef bint started, filled, numbered, at_start
    # Whether there is a line; what the last one contains: anything, only digits, or nothing that a blank may
    # follow.
    cdef bint space
    cdef int owed, breaks
    # Pending output before the next visible character: a blank, a line (one of Owed), and line breaks.
    cdef bint loose_before, tight, attached, bare, emptied, unquoted
    # Whether the last block needs a blank line after it; whether none is written at all; whether the next block
    # continues the line, as at the start of an item; whether there is only the marker of an item, or empty lines;
    # whether there is only the marker of a quote.
    cdef bint in_cell, in_heading, after_list, broken, hard, alike
    # The context; whether nothing visible has been written since a list, and a break in an item; whether a blank
    # was written as an entity; whether emphasis ends together with the same emphasis inside it.
    cdef int inline_only, levels, followed
    # The number of enclosing elements in which blocks are inline; the indentation of lines; whether something
    # follows on the line, NONE while unknown.
    cdef Py_ssize_t begin, prefix_begin
    # The start of the output and of the prefix of a cell.
    cdef Py_ssize_t list_end_prefix
    cdef char list_end_sign
    # The indentation and the marker of the last list.

    cdef inline int put(self, const char* text) except -1:
        return self.out.put(text, strlen(text))

    cdef inline int write_prefix(self) except -1:
        return self.out.put(self.prefix.data + self.prefix_begin, self.prefix.size - self.prefix_begin)

    cdef int literal(self, const char* at, Py_ssize_t size) except -1
    cdef int entity(self, const char* at, const char* end) except -1
    cdef int write_bare_prefix(self) except -1
    cdef int open_line(self, bint loose) except -1
    cdef int drop_blanks(self) except -1
    cdef int open_run(self) except -1
    cdef int new_line(self) except -1
    cdef int before_visible(self) except -1
    cdef int write_breaks(self) except -1
    cdef int push_mark(self, int node, const char* sign) except -1
    cdef int close_marks(self) except -1
    cdef int open_marks(self) except -1
    cdef bint as_markup(self, int index, int first) except -1
    cdef bint follows_signs(self) except -1
    cdef bint follows_word(self, int node) except -1
    cdef bint is_emphasised(self, int index, bint struck) except -1
    cdef bint touches(self, int index, int first) except -1
    cdef bint is_followed(self, int node, bint nested, int edge) except -1
    cdef int edge_before(self) except -1
    cdef bint is_html_break(self, int node) except -1
    cdef bint html_breaks(self, Mark* mark) except -1
    cdef int edge_of(self, int node) except -1
    cdef int beginning(self, int index) except -1
    cdef int ending(self, Mark* mark, int* after) except -1
    cdef int meeting_of(self, int other, int element) except -1
    cdef bint ends_with_sign(self, int element, int inner, bint is_around) except -1
    cdef bint begins_visibly(self, int node) except -1
    cdef int next_edge(self, int node) except -1
    cdef bint ends_line(self, int node) except -1
    cdef bint shows(self, int top, bint blanks) except -1
    cdef bint shows_itself(self, int node) except -1
