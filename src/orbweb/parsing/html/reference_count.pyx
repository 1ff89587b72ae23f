"""An upper bound of the number of references in markup or a style sheet, from its bytes, before it is parsed.

The loop inspects every byte of every body, so it is written for vectorization. The bound holds in any encoding
that has ASCII as single bytes or in pairs.
"""

cdef extern from *:
    """
    #include <stddef.h>

    static int census_is_base(const unsigned char *text, const unsigned char *end, size_t step) {
        return text + 4 * step < end && (text[step] | 32) == 'b' && (text[2 * step] | 32) == 'a'
            && (text[3 * step] | 32) == 's' && (text[4 * step] | 32) == 'e';
    }

    /* clang has no such attribute; it vectorizes at -O2 already. */
    #if defined(__GNUC__) && !defined(__clang__)
    #define CENSUS_VECTORIZED __attribute__((optimize("O3")))
    #else
    #define CENSUS_VECTORIZED
    #endif

    /* At most 255 bytes, with two more behind them, so that counters of a byte each do. */
    CENSUS_VECTORIZED
    static int census_block(const unsigned char *text, int size, size_t *signs, size_t *others) {
        unsigned char sign = 0, other = 0, open = 0;
        for (int at = 0; at < size; at++) {
            sign += text[at] == '=';
            other += (text[at] == ',') | (text[at] == '(') | (text[at] == '@');
            open += (text[at] == '<') & (((text[at + 1] | 32) == 'b') | ((text[at + 2] | 32) == 'b'));
        }
        *signs += sign;
        *others += other;
        return open;
    }

    static void census_count(const unsigned char *text, size_t size, size_t *signs, size_t *others, int *has_base)
    {
        const unsigned char *end = text + size;
        *signs = *others = *has_base = 0;
        while (end - text > 2) {
            int block = end - text - 2 > 255 ? 255 : (int)(end - text - 2);
            int opened = census_block(text, block, signs, others);
            for (int at = 0; opened && !*has_base && at < block; at++)
                *has_base = text[at] == '<'
                    && (census_is_base(text + at, end, 1) || census_is_base(text + at, end, 2));
            text += block;
        }
        for (; text < end; text++) {
            *signs += *text == '=';
            *others += *text == ',' || *text == '(' || *text == '@';
        }
    }
    """
    void census_count(const unsigned char* text, size_t size, size_t* signs, size_t* others, int* has_base) nogil


def references(bytes body not None):
    """The most attributes, the most references besides one per attribute, and whether there may be a `<base>`."""
    cdef size_t signs, others
    cdef int has_base
    census_count(body, len(body), &signs, &others, &has_base)
    return signs, others, bool(has_base)
