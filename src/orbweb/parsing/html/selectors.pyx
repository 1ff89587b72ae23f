"""CSS selectors on a tree.

Supported: types, `*`, classes, ids, attributes with `=`, `~=`, `^=`, `$=`, `*=` and `i`, `:is`, `:not`, `:has`,
`:last-child`, the combinators blank, `>`, `+` and `~`, and lists. Any other selector raises ValueError. A selector
is parsed once; the time to test an element does not depend on the size of the page, except for `:has`. Classes and
ids are case-sensitive on every page, also in quirks mode.
"""

import re

from libc.stdlib cimport free, realloc

from orbweb.parsing.html.characters cimport next_word
from orbweb.parsing.html.tree cimport (
    ATTR_CLASS, ATTR_END, ATTR_ID, ATTR_UNKNOWN, ELEMENT, NONE, ROOT, TAG_UNKNOWN, Attribute, Node, Span,
    Tree, known_attribute, known_tag,
)
from orbweb.parsing.html.walk cimport beyond, following

MAX_COMPILED = 4_096
"""The most cached selectors."""

MAX_BESIDE = 1_000
"""The most siblings that `~` searches."""

cdef enum:
    BESIDE = 1_000
    # Kinds of tests.
    HAS, EQUALS, BEGINS, ENDS, CONTAINS, WORD, IS, IS_NOT, LEADS, LAST
    # Results: neither this element nor an ancestor matches.
    NO = 0
    YES = 1
    NEVER = 2
    # A name that the tree does not have.
    ABSENT = -2

_KINDS = {None: HAS, "=": EQUALS, "^=": BEGINS, "$=": ENDS, "*=": CONTAINS, "~=": WORD}
_NESTING = {"is": IS, "not": IS_NOT, "has": LEADS}
_ANY_CASE = frozenset(
    """accept accept-charset align alink axis bgcolor charset checked clear codetype color compact declare defer
    dir direction disabled enctype face frame hreflang http-equiv lang language link media method multiple nohref
    noresize noshade nowrap readonly rel rev rules scope scrolling selected shape target text type valign valuetype
    vlink""".split()
)
"""Attributes with case-insensitive values in HTML."""

_NAME = r"-?(?:[a-zA-Z_]|[^\x00-\x7f])[\w-]*|--[\w-]*"
_TOKEN = re.compile(
    rf"""(?P<type>\*|{_NAME})
    |\.(?P<class>{_NAME})
    |\#(?P<id>[\w-]+)
    |\[\s*(?P<attribute>{_NAME})\s*
        (?:(?P<sign>[~^$*]?=)\s*
            (?:"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)'|(?P<plain>[\w-]+))\s*
            (?P<case>i)?\s*)?
     \]
    |:(?P<nesting>is|not|has)\(\s*
    |(?P<last>:last-child)(?![\w(-])""",
    re.VERBOSE | re.IGNORECASE,
)
_SIGN = re.compile(r"\s*(?:([>+~,])\s*|(\))|$)|\s+")
_LEADING = re.compile(r"([>+~]?)\s*")

cdef dict _compiled = {}


cdef Selector compiled(str selector):
    cdef Selector found = _compiled.get(selector)
    if found is None:
        if len(_compiled) >= MAX_COMPILED:
            _compiled.clear()
        found = _compiled[selector] = Selector(selector)
    return found


cdef list all_matching(Tree tree, int top, Selector selector):
    cdef list found = []
    cdef int node = top
    tree.at(top)
    selector._meet(tree)
    while True:
        node = _next_matching(tree, node, top, selector)
        if node == NONE:
            return found
        found.append(node)


cdef list outermost_matching(Tree tree, int top, Selector selector):
    cdef list found = []
    cdef int node
    tree.at(top)
    selector._meet(tree)
    node = following(tree.nodes, top, top)
    while node != NONE:
        if tree.nodes[node].kind == ELEMENT and _matches(tree, selector, node):
            found.append(node)
            node = beyond(tree.nodes, node, top)
        else:
            node = following(tree.nodes, node, top)
    return found


cdef int first_matching(Tree tree, int top, Selector selector) except -2:
    tree.at(top)
    selector._meet(tree)
    return _next_matching(tree, top, top, selector)


cdef bint matches(Tree tree, int node, Selector selector) except -1:
    if node == ROOT or not tree.is_element(node):
        return False
    selector._meet(tree)
    return _matches(tree, selector, node)


def select(Tree tree, str selector, int top=ROOT):
    """The elements below `top` that match, for callers in Python."""
    return all_matching(tree, top, compiled(selector))


def check(str selector):
    """ValueError for a selector that is not supported."""
    compiled(selector)


cdef class Selector:
    """A parsed list of selectors."""

    def __cinit__(self, str text):
        self.names, self.values = [], []
        self.text = text.strip()
        self.first = NONE

    def __init__(self, str text):
        self.first = self._list(False)
        if self._sign:
            self._refuse()
        self.numbers = <int*> realloc(NULL, max(1, len(self.names)) * sizeof(int))
        if self.numbers == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.steps)
        free(self.tests)
        free(self.numbers)

    cdef int _meet(self, Tree tree) except -1:
        """Look up the numbers of the names in a tree."""
        cdef int place
        for place, name in enumerate(self.names):
            self.numbers[place] = tree.name_numbers.get(name, ABSENT)
        return 0

    def _refuse(self):
        raise ValueError(f"not a known selector: {self.text!r} at {self._at}")

    cdef int _list(self, bint forward) except -2:
        """Parse a list up to its end. Returns its first step."""
        cdef int first = self._chain(forward), last = first, step
        while self._sign == ",":
            step = self._chain(forward)
            self.steps[last].other = step
            last = step
        return first

    cdef int _chain(self, bint forward) except -2:
        """Parse a selector and the combinator after it. Returns the step that is matched first."""
        cdef int step, before = NONE, first = NONE
        cdef str how = " "
        if forward:
            leading = _LEADING.match(self.text, self._at)
            how = leading[1] or how
            self._at = leading.end()
        while True:
            step = self._step()
            self.steps[step].how = ord(how)
            if not forward:
                self.steps[step].to = before
                first = step
            elif before == NONE:
                first = step
            else:
                self.steps[before].to = step
            before = step
            how = self._next_sign()
            if how in ("", ",", ")"):
                return first

    cdef str _next_sign(self):
        sign = _SIGN.match(self.text, self._at)
        if sign is None:
            self._refuse()
        self._at = sign.end()
        self._sign = sign[1] or sign[2] or (" " if sign[0] else "")
        return self._sign

    cdef int _step(self) except -2:
        """Parse a compound selector."""
        cdef int step = self.step_count, begin = self._at, test, inner
        cdef Step* steps = <Step*> realloc(self.steps, (step + 1) * sizeof(Step))
        if steps == NULL:
            raise MemoryError()
        self.steps, self.step_count = steps, step + 1
        steps[step].tag, steps[step].name, steps[step].marks = TAG_UNKNOWN, NONE, 0
        steps[step].test = steps[step].to = steps[step].other = NONE
        while (token := _TOKEN.match(self.text, self._at)) is not None:
            if token["type"] and self._at > begin:
                break
            self._at = token.end()
            kind = token.lastgroup
            if kind == "type":
                self._type(step, token[0].lower())
            elif kind == "class":
                self._attribute(step, WORD, "class", token["class"], False)
            elif kind == "id":
                self._attribute(step, EQUALS, "id", token["id"], False)
            elif kind == "last":
                self._test(step, LAST)
            elif kind == "nesting":
                test = self._test(step, _NESTING[token["nesting"].lower()])
                inner = self._list(self.tests[test].kind == LEADS)
                if self._sign != ")":
                    self._refuse()
                self.tests[test].inner = inner
            else:
                name = token["attribute"].lower()
                value = token["double"] or token["single"] or token["plain"] or ""
                any_case = token["case"] is not None or name in _ANY_CASE
                self._attribute(step, _KINDS[token["sign"]], name, value, any_case)
        if self._at == begin:
            self._refuse()
        return step

    cdef int _type(self, int step, str name) except -1:
        cdef bytes said = name.encode()
        self.steps[step].tag = known_tag(said, len(said))
        if self.steps[step].tag == TAG_UNKNOWN and name != "*":
            self.steps[step].name = self._name(name)
        return 0

    cdef int _test(self, int step, int kind) except -2:
        cdef int test = self.test_count
        cdef Test* tests = <Test*> realloc(self.tests, (test + 1) * sizeof(Test))
        if tests == NULL:
            raise MemoryError()
        self.tests, self.test_count = tests, test + 1
        tests[test].kind, tests[test].name, tests[test].inner = kind, NONE, NONE
        tests[test].value, tests[test].size, tests[test].any_case = NULL, 0, False
        tests[test].next = self.steps[step].test
        self.steps[step].test = test
        return test

    cdef int _attribute(self, int step, int kind, str name, str value, bint any_case) except -1:
        cdef int place = self._test(step, kind)
        cdef Test* test = &self.tests[place]
        cdef bytes written = name.encode(), said = value.encode().lower() if any_case else value.encode()
        self.values.append(said)
        test.value, test.size, test.any_case = said, len(said), any_case
        test.name = known_attribute(written, len(written))
        if test.name == ATTR_UNKNOWN:
            test.name = ATTR_END + self._name(name)
            return 0
        self.steps[step].marks |= _mark(test.name)
        if any_case or not test.size:
            return 0
        if kind == WORD and test.name == ATTR_CLASS:
            self.has_classes = True
        elif kind != EQUALS or test.name != ATTR_ID:
            return 0
        self.steps[step].marks |= _word_mark(test.value, test.size)
        return 0

    cdef int _name(self, str name) except -1:
        self.names.append(name)
        return len(self.names) - 1


cdef inline unsigned long long _mark(int name) noexcept:
    """The bit of a known attribute; others may share it."""
    return (<unsigned long long> 1) << (name & 31)


cdef inline unsigned long long _word_mark(const char* start, Py_ssize_t size) noexcept:
    """The bit of a non-empty class or id; many others share it."""
    cdef unsigned int ends = <unsigned char> start[0] + 5 * <unsigned char> start[size - 1]
    return (<unsigned long long> 1) << (32 + ((ends + 11 * <unsigned int> size) & 31))


cdef unsigned long long _marks(Tree tree, Selector selector, Node* node) noexcept:
    """The bits of the attributes of an element; a step that needs others cannot match."""
    cdef unsigned long long marks = 0
    cdef Attribute* attribute = tree.attributes + node.at
    cdef Attribute* last = attribute + node.size
    cdef const char* at
    cdef const char* end
    cdef const char* start
    cdef Py_ssize_t size
    while attribute < last:
        if attribute.name < ATTR_END:
            marks |= _mark(attribute.name)
            at = start = tree.heap + attribute.at
            end = at + attribute.size
            if attribute.name == ATTR_CLASS and selector.has_classes:
                size = next_word(&at, end)
                while size:
                    marks |= _word_mark(at, size)
                    at += size
                    size = next_word(&at, end)
            elif attribute.name == ATTR_ID and end > start:
                marks |= _word_mark(start, end - start)
        attribute += 1
    return marks


cdef int _next_matching(Tree tree, int node, int top, Selector selector) except -2:
    """The first match after a node in document order."""
    cdef Node* nodes = tree.nodes
    while True:
        if nodes[node].first != NONE:
            node = nodes[node].first
        else:
            while node != top and nodes[node].next == NONE:
                node = nodes[node].parent
            if node == top:
                return NONE
            node = nodes[node].next
        if nodes[node].kind == ELEMENT and _matches(tree, selector, node):
            return node


cdef inline bint _matches(Tree tree, Selector selector, int node) except -1:
    """Whether an element matches one of the selectors. Most are rejected by their tag or their marks."""
    cdef Node* found = &tree.nodes[node]
    cdef int place = selector.first
    cdef Step* step
    cdef unsigned long long marks = 0
    cdef bint is_read = False
    while place != NONE:
        step = &selector.steps[place]
        if step.tag == found.tag or step.tag == TAG_UNKNOWN:
            if step.marks and found.size and not is_read:
                marks, is_read = _marks(tree, selector, found), True
            if not step.marks & ~marks and _answer(tree, selector, place, node) == YES:
                return True
        place = step.other
    return False


cdef bint _is_any(Tree tree, Selector selector, int place, int node) except -1:
    while place != NONE:
        if _answer(tree, selector, place, node) == YES:
            return True
        place = selector.steps[place].other
    return False


cdef int _answer(Tree tree, Selector selector, int place, int node) except -1:
    """Whether an element matches a step, and its siblings and ancestors match the steps before."""
    cdef Step* step = &selector.steps[place]
    cdef int answer
    if not _is(tree, selector, step, node):
        return NO
    if step.to == NONE:
        return YES
    if step.how == b"+" or step.how == b"~":
        for _ in range(BESIDE if step.how == b"~" else 1):
            node = _beside(tree, node, False)
            answer = NO if node == NONE else _answer(tree, selector, step.to, node)
            if answer != NO or node == NONE:
                return answer
        return NO
    while True:
        node = tree.nodes[node].parent
        if node == NONE or node == ROOT:
            return NEVER
        answer = _answer(tree, selector, step.to, node)
        if answer != NO or step.how == b">":
            return answer


cdef bint _leads(Tree tree, Selector selector, int place, int top) except -1:
    """Whether a step and the following ones match from an element on, for `:has`."""
    cdef Step* step = &selector.steps[place]
    cdef bint inside = step.how == b" " or step.how == b">"
    cdef int node = tree.nodes[top].first if inside else _beside(tree, top, True)
    cdef int left = BESIDE if step.how == b"~" else 1
    while node != NONE and left:
        if tree.nodes[node].kind == ELEMENT and _is(tree, selector, step, node):
            if step.to == NONE or _leads(tree, selector, step.to, node):
                return True
        if step.how == b" ":
            node = tree.following(node, top)
        elif inside:
            node = tree.nodes[node].next
        else:
            node = _beside(tree, node, True)
            left -= 1
    return False


cdef int _beside(Tree tree, int node, bint after) noexcept:
    """The next or previous sibling element; NONE if there is none."""
    while True:
        node = tree.nodes[node].next if after else tree.nodes[node].prev
        if node == NONE or tree.nodes[node].kind == ELEMENT:
            return node


cdef bint _is(Tree tree, Selector selector, Step* step, int node) except -1:
    """Whether an element matches one step."""
    cdef Node* found = &tree.nodes[node]
    cdef Test* test
    cdef int place = step.test
    if step.tag != TAG_UNKNOWN:
        if found.tag != step.tag:
            return False
    elif step.name != NONE and found.name != selector.numbers[step.name]:
        return False
    while place != NONE:
        test = &selector.tests[place]
        if test.kind == IS or test.kind == IS_NOT:
            if _is_any(tree, selector, test.inner, node) == (test.kind == IS_NOT):
                return False
        elif test.kind == LEADS:
            if not _leads_any(tree, selector, test.inner, node):
                return False
        elif test.kind == LAST:
            if _beside(tree, node, True) != NONE:
                return False
        elif not _fits(tree, selector, test, found):
            return False
        place = test.next
    return True


cdef bint _leads_any(Tree tree, Selector selector, int place, int node) except -1:
    while place != NONE:
        if _leads(tree, selector, place, node):
            return True
        place = selector.steps[place].other
    return False


cdef bint _fits(Tree tree, Selector selector, Test* test, Node* node) noexcept:
    """Whether an element has an attribute whose value passes a test."""
    cdef int name = test.name, place
    cdef Span said
    if name >= ATTR_END:
        if selector.numbers[name - ATTR_END] == ABSENT:
            return False
        name = ATTR_END + selector.numbers[name - ATTR_END]
    for place in range(node.at, node.at + node.size):
        if tree.attributes[place].name == name:
            said.start, said.size = tree.heap + tree.attributes[place].at, tree.attributes[place].size
            return test.kind == HAS or _says(said, test)
    return False


cdef bint _says(Span said, Test* test) noexcept:
    cdef const char* at = said.start
    cdef const char* end = at + said.size
    cdef Py_ssize_t size
    if test.kind == EQUALS:
        return said.size == test.size and _is_at(at, test)
    if not test.size or said.size < test.size:
        return False
    if test.kind == BEGINS:
        return _is_at(at, test)
    if test.kind == ENDS:
        return _is_at(end - test.size, test)
    if test.kind == CONTAINS:
        while end - at >= test.size:
            if _is_at(at, test):
                return True
            at += 1
        return False
    while True:
        size = next_word(&at, end)
        if not size or (size == test.size and _is_at(at, test)):
            return size > 0
        at += size


cdef inline bint _is_at(const char* at, Test* test) noexcept:
    """Whether the value of a test is at this position; the caller checks the length."""
    cdef Py_ssize_t place
    cdef char sign
    for place in range(test.size):
        sign = at[place]
        if test.any_case and b"A" <= sign <= b"Z":
            sign += 32
        if sign != test.value[place]:
            return False
    return True
