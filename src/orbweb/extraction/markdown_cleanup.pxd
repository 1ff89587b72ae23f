# Cleanup of written Markdown.

from orbweb.extraction.buffer cimport Buffer

cdef bint close_gaps(Buffer out) except -1
cdef int bare_underscores(Buffer out) except -1
