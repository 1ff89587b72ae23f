# The heading of a page that says what its title says.
from orbweb.parsing.html.tree cimport TagSet, Tree

cdef TagSet HEADINGS
# h1 to h6.

cpdef str letters(str text)
# What must agree where two texts say the same.
cdef list find(Tree tree, int body)
# The headings that say a part of the title and are no chrome, the likeliest first.
cdef int put(Tree tree, list headings, int element) except -1
# Let an element begin with the likeliest heading, unless one of them is in there, or it is in a heading.
