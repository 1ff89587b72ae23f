# Signs of markup.

cdef inline bint is_space(char sign) noexcept:
    return sign == c" " or sign == c"\n" or sign == c"\t" or sign == c"\f" or sign == c"\r"


cdef inline bint is_letter(char sign) noexcept:
    return c"a" <= sign <= c"z" or c"A" <= sign <= c"Z"


cdef inline bint is_digit(char sign) noexcept:
    return c"0" <= sign <= c"9"


cdef inline char lower(char sign) noexcept:
    return sign + 32 if c"A" <= sign <= c"Z" else sign
