# The insertion modes of the HTML standard.

from orbweb.parsing.html.open_elements cimport Numbers, Stack
from orbweb.parsing.html.tree cimport Node, Span, TagSet

cdef enum Mode:
    INITIAL
    BEFORE_HTML
    BEFORE_HEAD
    IN_HEAD
    IN_HEAD_NOSCRIPT
    AFTER_HEAD
    IN_BODY
    IN_TEXT
    IN_TABLE
    IN_CAPTION
    IN_COLUMN_GROUP
    IN_TABLE_BODY
    IN_ROW
    IN_CELL
    IN_TEMPLATE
    AFTER_BODY
    IN_FRAMESET
    AFTER_FRAMESET
    AFTER_AFTER_BODY
    AFTER_AFTER_FRAMESET

cdef enum Raw:
    # How the text after a start tag is read: as markup, up to its end tag with or without character references, as
    # a script, or to the end of the page.
    NOT_RAW
    RCDATA
    RAWTEXT
    SCRIPT
    PLAIN


cdef class Modes(Stack):
    cdef int mode, mode_before_text, head, form
    # How the text after the current start tag is read.
    cdef int raw
    # Attributes of a second `<html>` or `<body>`: the elements, and the names of all attributes with the offsets
    # and sizes of new values, or None for those that the element has already.
    cdef dict added
    cdef Numbers template_modes
    cdef bint frameset_ok, is_quirky, skips_newline

    cdef int _create_html(self) except -1
    cdef int _create_head(self) except -1
    cdef int _create_body(self) except -1
    cdef int _insert_raw(self, int raw) except -1
    cdef int raw_text(self, int at, int end) except -1
    cdef int end_raw(self, bint has_tag) except -1
    cdef int finish(self) except -1
    cdef int characters(self, int at, int end) except -1
    cdef int _leading_spaces(self, int at, int end) except -1
    cdef int _only_spaces(self, int at, int end) except -1
    cdef int _body_characters(self, int at, int end) except -1
    cdef int _without_nuls(self, int* at, int end) except -1
    cdef int replace_nuls(self, int begin) except -1
    cdef int _table_characters(self, int at, int end) except -1
    cdef int _fostered_characters(self, int at, int end) except -1
    cdef int _foreign_characters(self, int at, int end) except -1
    cdef int start(self) except -1
    cdef int _close_too_deep(self, int formatting) except -1
    cdef bint _start_in(self, int mode) except -1
    cdef bint _start_at_edges(self, int mode) except -1
    cdef bint _start_in_head(self) except -1
    cdef bint _start_after_head(self) except -1
    cdef bint _start_in_template(self) except -1
    cdef bint _start_in_body(self) except -1
    cdef int _start_rarely_in_body(self) except -1
    cdef int _merge_attributes(self, int tag) except -1
    cdef int _add_attributes(self) except -1
    cdef int _fill_selected(self) except -1
    cdef int _copy_inner(self, int node, int to) except -1
    cdef int _start_frameset(self) except -1
    cdef int _start_link(self) except -1
    cdef int _start_item(self, const TagSet* alike) except -1
    cdef int _start_input(self) except -1
    cdef bint _is_hidden_input(self) except -1
    cdef Span _read_attribute(self, int name) except *
    cdef int _start_select(self) except -1
    cdef bint _start_in_table(self) except -1
    cdef bint _foster_start(self) except -1
    cdef bint _start_in_table_body(self) except -1
    cdef bint _end_section(self) except -1
    cdef bint _start_in_row(self) except -1
    cdef bint _end_row(self) except -1
    cdef bint _start_in_cell(self) except -1
    cdef int _close_cell(self) except -1
    cdef bint _end_caption(self) except -1
    cdef bint _start_in_column_group(self) except -1
    cdef bint _end_column_group(self) except -1
    cdef int _reset_mode(self) except -1
    cdef int end(self) except -1
    cdef bint _end_in(self, int mode) except -1
    cdef bint _end_at_edges(self, int mode) except -1
    cdef int _close_template(self) except -1
    cdef bint _end_in_body(self) except -1
    cdef int _end_form(self) except -1
    cdef int _end_any(self) except -1
    cdef bint _end_in_table(self) except -1
    cdef bint _end_in_table_body(self) except -1
    cdef bint _end_in_row(self) except -1
    cdef bint _end_in_cell(self) except -1
    cdef bint _end_in_caption(self) except -1
    cdef bint _is_math_text(self, const Node* node) noexcept
    cdef bint _is_html_point(self, const Node* node) noexcept
    cdef bint _means_html(self) except -1
    cdef bint _is_foreign_text(self) except -1
    cdef bint _is_foreign_start(self) except -1
    cdef bint _is_foreign_end(self) noexcept
    cdef bint _foreign_start(self) except -1
    cdef bint _is_old_font(self) except -1
    cdef int _leave_foreign(self) except -1
    cdef int _insert_foreign(self, int space) except -1
    cdef int _adjust_names(self, dict tag_names, dict attribute_names) except -1
    cdef bint _foreign_end(self) except -1
