# Character classes of markup.

cdef inline bint is_space(char sign) noexcept:
    return sign == c" " or sign == c"\n" or sign == c"\t" or sign == c"\f" or sign == c"\r"


cdef inline Py_ssize_t next_word(const char** at, const char* end) noexcept:
    # Skip white space to the next word. Returns its length; 0 if there is none.
    cdef const char* behind
    while at[0] < end and is_space(at[0][0]):
        at[0] += 1
    behind = at[0]
    while behind < end and not is_space(behind[0]):
        behind += 1
    return behind - at[0]


cdef inline bint is_letter(char sign) noexcept:
    return c"a" <= sign <= c"z" or c"A" <= sign <= c"Z"


cdef inline bint is_digit(char sign) noexcept:
    return c"0" <= sign <= c"9"


cdef inline char lower(char sign) noexcept:
    return sign + 32 if c"A" <= sign <= c"Z" else sign
