# The heading of a page that matches its title.
from orbweb.parsing.html.tree cimport TagSet, Tree

cdef TagSet HEADINGS
# h1 to h6.

cpdef str letters(str text)
# The comparable form of a text: its letters and digits.
cdef list find(Tree tree, int body)
# The headings that match a part of the title and are not boilerplate, most likely first.
cpdef int drop(Tree tree, int element, str stated) except -1
# Remove the heading that repeats the title of the page from its content.
cdef int put(Tree tree, list headings, int element) except -1
# Move the most likely heading to the start of an element, unless it contains one of them, or is inside a heading.
