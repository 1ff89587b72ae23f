# Characters that HTML names or numbers.

cdef const char* character(const char* at, const char* end, bint in_attribute, char* to, int* size) noexcept
# The character that is named from `&` on, in UTF-8 of at most 8 bytes. Returns what is behind the name; without one,
# `at`, and leaves `size` as it is.
