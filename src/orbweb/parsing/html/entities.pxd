# Character references of HTML.

cdef const char* character(const char* at, const char* end, bint in_attribute, char* to, int* size) noexcept
# The character of the reference at `&`, in UTF-8 of at most 8 bytes. Returns the position after the reference; if
# there is none, `at`, and leaves `size` unchanged.
