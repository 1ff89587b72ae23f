# The HTML tokenizer and parser.

from orbweb.parsing.html.tree_builder cimport Modes
from orbweb.parsing.html.tree cimport Tree

cpdef bint is_utf8(bytes text)
# Whether it is valid UTF-8, without surrogates.
cpdef Tree parsed(bytes markup, str encoding)
# The tree of a page in UTF-8, in which surrogates are accepted; `encoding` is only stored.


cdef class Parser(Modes):
    # Reads markup between two pointers into one bytes object, which lives as long as it is read: `at` is never
    # after `end`, and every byte that is read is before `end`, by a test of `end - at` or a search that ends
    # there.

    # The names of the attributes of a tag that has many, and the first of them.
    cdef set many
    cdef int many_of
    # The start on the heap of text that is not in the tree yet; NONE if there is none.
    cdef int run

    cdef int read(self, const char* at, const char* end) except -1
    cdef int read_markup(self, const char* at, const char* end) except -1
    cdef const char* read_raw(self, const char* at, const char* end) except NULL
    cdef const char* read_cdata(self, const char* at, const char* end) except NULL

    # Tokens, besides those of the tree builder: `start`, `end`, `characters`, `raw_text` and `end_raw`.
    cdef int comment(self, const char* start, const char* stop) except -1
    cdef int doctype(self, const char* start, const char* stop, bint is_closed) except -1
    cdef bytes raw_name(self)

    cdef int _text(self, const char* at, const char* end) except -1
    cdef int _decoded(self, const char* at, const char* end, bint in_attribute) except -1
    cdef const char* _start_tag(self, const char* at, const char* end) except NULL
    cdef const char* _end_tag(self, const char* at, const char* end) except NULL
    cdef inline void _drop_attributes(self) noexcept:
        """End tags have no attributes."""
        self.tree.attribute_count = self.attributes
        self.attribute_count = 0

    cdef const char* _tag(self, const char* at, const char* end) except? NULL
    cdef const char* _attribute(self, const char* at, const char* end) except? NULL
    cdef int _value(self, const char* start, const char* end) except -1
    cdef bint _has_attribute(self, int number) except -1
    cdef const char* _declaration(self, const char* at, const char* end) except NULL
    cdef const char* _comment(self, const char* at, const char* end) except NULL
    cdef const char* _comment_until(self, const char* at, const char* end) except NULL
    cdef const char* _doctype(self, const char* at, const char* end) except NULL
    cdef int _raw_text(self, const char* at, const char* stop, int raw) except -1
    cdef int _flush(self) except -1
