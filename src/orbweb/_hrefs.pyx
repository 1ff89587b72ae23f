"""Fast path of URL resolution: the targets of hrefs that are already in canonical form, without the URL parser.

Its results are always those that the parser and the rules of keys would give; every other href goes to the parser.
Targets are cached per directory, up to a limit.
"""

from cpython.tuple cimport PyTuple_GetItem
from cpython.unicode cimport PyUnicode_1BYTE_DATA, PyUnicode_1BYTE_KIND, PyUnicode_KIND

from orbweb.model import Link

MAX_LENGTH = 256
"""The longest href and the longest directory that are cached, in characters."""

cdef enum:
    LENGTH = 256
    # Where a character is allowed without an escape.
    IN_PATH = 1
    FIRST = 2
    IN_HOST = 4
    IN_SCHEME = 8
    IN_QUERY = 16

cdef unsigned char[256] _may_be


def _allow(str letters, int what):
    for letter in letters:
        _may_be[ord(letter)] |= what


cdef str _SMALL = "abcdefghijklmnopqrstuvwxyz"
cdef str _ALPHANUMERIC = f"{_SMALL}{_SMALL.upper()}0123456789"
_allow(f"{_ALPHANUMERIC}-._~!$&'()*+,;=:@%", IN_PATH)
_allow(f"{_ALPHANUMERIC}-_~", FIRST)
_allow(f"{_SMALL}0123456789-", IN_HOST)
_allow(f"{_ALPHANUMERIC}+.-", IN_SCHEME)
_allow("".join([chr(code) for code in range(0x21, 0x7F) if chr(code) not in "\"#<>'"]), IN_QUERY)

cdef object _ASK = object()
cdef object _new = tuple.__new__


cdef class Memo:
    """The targets of hrefs, by directory. Emptied when it has `entries` targets.

    `made` builds a target from a key and a URL, `judged` from a URL as the parser writes it, without fragment and
    user name.
    """

    cdef readonly dict directories
    cdef object made, judged
    cdef Py_ssize_t entries, used

    def __init__(self, made, judged, Py_ssize_t entries):
        self.directories = {}
        self.made, self.judged, self.entries = made, judged, entries

    cdef bint is_full(self):
        """Count one more entry; if the cache is full, empty it first."""
        self.used += 1
        if self.used <= self.entries:
            return False
        self.directories.clear()
        self.used = 1
        return True

    def enter(self, own, str prefix not None):
        """Add a directory, with its own target and the key prefix of its entries."""
        cdef HrefDirectory found = HrefDirectory(self, own, prefix)
        if len(found.url) <= LENGTH:
            self.is_full()
            self.directories[found.url] = found
        return found


cdef class HrefDirectory:
    """A directory's own target, the key prefix of its entries, and the hrefs seen there."""

    cdef readonly object own
    cdef readonly str prefix
    cdef readonly dict known
    cdef Memo memo
    cdef str url
    cdef Py_ssize_t root
    cdef bint is_long, is_settled, has_settled_root

    def __init__(self, Memo memo not None, own, str prefix not None):
        self.memo, self.own, self.prefix, self.known = memo, own, prefix, {}
        self.url = own.url
        self.root = self.url.index("/", self.url.index("//") + 2) + 1
        self.is_long = len(self.url) > LENGTH
        self.is_settled = self.url == prefix
        self.has_settled_root = prefix.startswith(self.url[: self.root])

    def is_plain(self, str href not None):
        """Whether an href is in canonical form; if so, its target is cached from now on."""
        return self.told(href) is not _ASK

    cdef object told(self, str href):
        """The target of an href in canonical form; it is cached."""
        found = _plain(self, href) if len(href) <= LENGTH else _ASK
        if found is not _ASK:
            self.learn(href, found)
        return found

    cpdef object learn(self, str href, found):
        """Cache the target of an href, and return it."""
        if self.memo.is_full():
            self.known.clear()
        self.known[href] = found
        return found


def links(dict kinds not None, set refused not None, HrefDirectory here not None, resolve, str own, Py_ssize_t room):
    """The targets of hrefs of these kinds in a directory, each key once, without the page itself; and whether all
    were within the limit. `resolve` returns the target of an href that is not cached."""
    cdef dict found = {}, known = here.known
    cdef str href, key, url
    cdef bint nofollow
    for href, kind in kinds.items():
        target = known.get(href, _ASK)
        if target is _ASK:
            target = here.told(href)
            if target is _ASK:
                target = resolve(href)
        if target is None:
            continue
        key, url = <str> PyTuple_GetItem(target, 0), <str> PyTuple_GetItem(target, 1)
        nofollow = href in refused
        before = found.get(key)
        if before is None:
            room -= len(url)
            if room < 0:
                break
            found[key] = _new(Link, (key, url, kind, nofollow))
        elif not nofollow and before.nofollow:
            found[key] = before._replace(nofollow=False)
    found.pop(own, None)
    return tuple(found.values()), room >= 0


cdef object _plain(HrefDirectory here, str href):
    """The target of an href, if that can be determined without parsing it."""
    cdef const unsigned char* text
    cdef Py_ssize_t size = len(href), at = 0, up
    if not size or PyUnicode_KIND(href) != PyUnicode_1BYTE_KIND:
        return _ASK
    text = <const unsigned char*> PyUnicode_1BYTE_DATA(href)
    if text[0] == b"/":
        if size > 1 and text[1] == b"/":
            return _with_host(here.memo, here.url[: 5 + (here.url[4] == "s")] + href)
        if here.is_long or not here.has_settled_root:
            return _ASK
        return _in_directory(here, here.root, text, 1, size, href)
    at = _scheme(text, size)
    if at:
        if (at == 4 or at == 5) and href[:at].lower() in ("http", "https"):
            return _with_host(here.memo, href)
        return None
    if here.is_long:
        return _ASK
    if text[0] != b".":
        return _in_directory(here, 0, text, 0, size, href)
    if not here.is_settled:
        return _ASK
    up = len(here.url)
    while size - at >= 3 and text[at] == b"." and text[at + 1] == b"." and text[at + 2] == b"/":
        at += 3
        if up > here.root:
            up = here.url.rindex("/", 0, up - 1) + 1
    return _in_directory(here, up, text, at, size, href) if at else _ASK


cdef Py_ssize_t _scheme(const unsigned char* text, Py_ssize_t size) noexcept:
    """The length of the scheme at the start of a text; 0 if there is none."""
    cdef Py_ssize_t at = 0
    if b"a" <= text[0] <= b"z" or b"A" <= text[0] <= b"Z":
        while at < size and _may_be[text[at]] & IN_SCHEME:
            at += 1
        if at < size and text[at] == b":":
            return at
    return 0


cdef object _in_directory(
    HrefDirectory here, Py_ssize_t up, const unsigned char* text, Py_ssize_t at, Py_ssize_t size, str href
):
    """The target of the rest of an href in the directory itself, or in a parent whose URL ends at `up`."""
    cdef str rest, url, key
    cdef int shape = _shape(text, at, size, up == 0)
    if shape == NO:
        return _ASK
    rest = href[at:] if at else href
    url = (here.url[:up] if up else here.url) + rest
    if shape == TO_JUDGE:
        return here.memo.judged(url)
    key = url if up or here.is_settled else here.prefix + rest
    if key.endswith("/") and len(url) > here.root:
        key = key[: len(key) - 1]
    return _new(here.memo.made, (key, url))


cdef object _with_host(Memo memo, str href):
    """The target of an href that begins with a scheme and a host."""
    cdef const unsigned char* text = <const unsigned char*> PyUnicode_1BYTE_DATA(href)
    cdef Py_ssize_t size = len(href), at
    cdef int shape
    cdef str key
    at = _host_end(text, size)
    if not at:
        return _ASK
    if at == size:
        href += "/"
        return _new(memo.made, (href, href))
    shape = _shape(text, at + 1, size, False)
    if shape == NO:
        return _ASK
    if shape == TO_JUDGE:
        return memo.judged(href)
    key = href[: size - 1] if text[size - 1] == b"/" and size > at + 1 else href
    return _new(memo.made, (key, href))


cdef Py_ssize_t _host_end(const unsigned char* text, Py_ssize_t size) noexcept:
    """The end of a plain host name after `http://` or `https://`; 0 if there is none."""
    cdef Py_ssize_t at = 4, label
    if size < 8 or text[0] != b"h" or text[1] != b"t" or text[2] != b"t" or text[3] != b"p":
        return 0
    if text[4] == b"s":
        at = 5
    if text[at] != b":" or text[at + 1] != b"/" or text[at + 2] != b"/":
        return 0
    at += 3
    while True:
        label = at
        while at < size and _may_be[text[at]] & IN_HOST:
            at += 1
        if at == label or text[label] == b"-":
            return 0
        if at - label >= 4 and text[label] == b"x" and text[label + 1] == b"n" and text[label + 2] == b"-":
            return 0
        if at == size or text[at] == b"/":
            return 0 if b"0" <= text[label] <= b"9" else at
        if text[at] != b".":
            return 0
        at += 1


cdef enum:
    NO
    PLAIN
    TO_JUDGE


cdef int _shape(const unsigned char* text, Py_ssize_t at, Py_ssize_t size, bint is_first) noexcept:
    """Whether the rest of an href, a path and an optional query, is spelled as by the parser, and its path as in a
    key. With `is_first` it is a whole href."""
    cdef int shape = PLAIN
    cdef bint begins = True
    cdef unsigned char sign
    if is_first and not (_may_be[text[at]] & FIRST):
        return NO
    while at < size:
        sign = text[at]
        if sign == b"/":
            if begins:
                return NO
            begins = True
            is_first = False
        elif sign == b"?":
            shape = TO_JUDGE
            for at in range(at + 1, size):
                if not (_may_be[text[at]] & IN_QUERY):
                    return NO
            return shape
        elif not (_may_be[sign] & IN_PATH) or (begins and (sign == b"." or sign == b"%")):
            return NO
        elif sign == b"%":
            shape = TO_JUDGE
            begins = False
        elif sign == b":" and is_first:
            return NO
        else:
            begins = False
        at += 1
    return shape
