# Lines of Markdown as they come to be.

from libc.string cimport strlen

from orbweb.extraction.buffer cimport Buffer
from orbweb.parsing.html.tree cimport Node, TagSet, Tree

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

cdef unsigned char edges[256]
# What a byte of ASCII is beside a sign of emphasis, one of Edge.
cdef TagSet CODE, EMPHASIS, CELLS

cdef int hard_at(const char* at, const char* end) noexcept
# Bytes of the blank that begins here and is not of ASCII; 0 if none does.
cdef bint all_blank(const char* at, Py_ssize_t size) noexcept
cdef const char* sign_of(int tag) noexcept
# The sign of an emphasis.


cdef class Lines:
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
    # How many elements are around in which blocks are words only; how deep lines are indented; whether
    # something follows on the line: NONE as long as that is not known.
    cdef Py_ssize_t begin, prefix_begin
    # Where the output and the prefix of a cell begin.
    cdef Py_ssize_t list_end_prefix
    cdef char list_end_sign
    # The indentation and the sign of the last list.

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
