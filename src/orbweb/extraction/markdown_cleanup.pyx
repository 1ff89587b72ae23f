"""Cleanup of written Markdown: removes gap placeholders, and backslashes before underscores that need none.

Each works in place, in one pass.
"""

from libc.string cimport memchr, memcmp, memmove

from orbweb.extraction.buffer cimport Buffer


cdef bint close_gaps(Buffer out) except -1:
    """Remove the gaps: each is a paragraph, of which its line and the blank line before it are removed. Returns
    whether there are other placeholders."""
    cdef char* at = out.data
    cdef char* end = at + out.size
    cdef char* to = at
    cdef char* begin = at
    cdef char* sign = at
    cdef bint others = False
    while True:
        sign = <char*> memchr(sign, 0xEF, end - sign)
        if sign == NULL:
            break
        if end - sign >= 6 and memcmp(sign, b"\xef\xb7\x90\xef\xb7\x99", 6) == 0:
            memmove(to, at, sign - at)
            to = _without_line(begin, _without_line(begin, to + (sign - at)))
            begin = to
            at = sign = sign + 6
        else:
            others = others or (end - sign >= 3 and memcmp(sign, b"\xef\xb7\x90", 3) == 0)
            sign += 1
    if to != at:
        memmove(to, at, end - at)
    out.size = to + (end - at) - out.data
    return others


cdef char* _without_line(char* begin, char* end) noexcept:
    """The end of a text without its last line, if that is empty or only the prefix of a quote."""
    cdef char* line = end
    while line > begin and ((line - 1)[0] == b" " or (line - 1)[0] == b">"):
        line -= 1
    return line - 1 if line > begin and (line - 1)[0] == b"\n" else end


cdef int bare_underscores(Buffer out) except -1:
    """Remove the backslashes of underscores between letters."""
    cdef const char* at = out.data
    cdef const char* end = at + out.size
    cdef const char* found
    cdef char* to = out.data
    while True:
        found = _next_escape(at, end)
        if found == NULL:
            break
        memmove(to, at, found - at)
        to += found - at
        if not (_is_letter_before(out.data, to) and _is_letter(found + 2, end)):
            to[0] = b"\\"
            to += 1
        to[0] = b"_"
        to += 1
        at = found + 2
    memmove(to, at, end - at)
    out.size = to + (end - at) - out.data
    return 0


cdef const char* _next_escape(const char* at, const char* end) noexcept:
    """The next underscore after a backslash."""
    while True:
        at = <const char*> memchr(at, b"\\", end - at)
        if at == NULL or end - at < 2:
            return NULL
        if at[1] == b"_":
            return at
        at += 1


cdef bint _is_letter_before(const char* begin, const char* end) noexcept:
    cdef const char* at = end
    while at > begin:
        at -= 1
        if (<unsigned char> at[0] & 0xC0) != 0x80:
            return _is_letter(at, end)
    return False


cdef bint _is_letter(const char* at, const char* end) noexcept:
    """Whether a letter or digit of any script is at this position."""
    cdef int letter
    cdef unsigned char one
    if at >= end:
        return False
    one = at[0]
    if one < 0x80:
        return b"a" <= one <= b"z" or b"A" <= one <= b"Z" or b"0" <= one <= b"9"
    if one < 0xE0:
        letter = (one & 0x1F) << 6 | (<unsigned char> at[1] & 0x3F)
    else:
        letter = (one & 0x0F) << 6 | (<unsigned char> at[1] & 0x3F)
        letter = letter << 6 | (<unsigned char> at[2] & 0x3F)
        if one >= 0xF0:
            letter = (letter & 0x7FFF) << 6 | (<unsigned char> at[3] & 0x3F)
    return (<Py_UCS4> letter).isalnum()
