"""The elements that are open while a page is read, the formatting that is in force, and where a new node goes.

Owns the stack of open elements and the list of active formatting elements of the HTML standard, with its scopes and
its adoption agency. Always: both are bounded, whatever a page does.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memcmp, memmove

from orbweb.dom.tree cimport (
    Attribute, ELEMENT, HTML, MATHML, NONE, Node, ROOT, TAG_P, TAG_TABLE, TAG_TEMPLATE, TEXT, TagSet, Tree, tags,
)

cdef enum:
    # Of a tree. Formatting that is never closed is repeated in each paragraph, so few bytes could make many.
    MAX_NODES = 6_000_000
    # Of equal formatting elements that are open, so many are kept.
    MAX_EQUAL = 3
    # Of formatting elements in all; those that were opened first are forgotten.
    MAX_FORMATTING = 200
    # Rounds of the adoption agency.
    MAX_ADOPTIONS = 8
    MAX_INNER_ADOPTIONS = 3

cdef TagSet IMPLIED = tags("dd dt li optgroup option p rb rp rt rtc")
cdef TagSet _SPECIAL = tags(
    "address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd"
    " details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header"
    " hgroup hr html iframe img input keygen li link listing main marquee menu meta nav noembed noframes noscript"
    " object ol p param plaintext pre script search section select source style summary table tbody td template"
    " textarea tfoot th thead title tr track ul wbr xmp"
)
cdef TagSet SCOPE = tags("applet caption html table td th marquee object select template")
cdef TagSet BUTTON_SCOPE = tags("applet caption html table td th marquee object select template button")
cdef TagSet TABLE_SCOPE = tags("html table template")
cdef TagSet _MATH_SCOPE = tags("mi mo mn ms mtext annotation-xml")
cdef TagSet _SVG_SCOPE = tags("foreignObject desc title")
cdef TagSet _FOSTERING = tags("table tbody tfoot thead tr")


cdef int add(Numbers* numbers, int number) except -1:
    cdef int* all
    if numbers.count == numbers.room:
        all = <int*> PyMem_Realloc(numbers.all, (2 * numbers.room + 64) * sizeof(int))
        if all == NULL:
            raise MemoryError()
        numbers.all, numbers.room = all, 2 * numbers.room + 64
    numbers.all[numbers.count] = number
    numbers.count += 1
    return 0


cdef void _remove(Numbers* numbers, int place) noexcept:
    numbers.count -= 1
    memmove(numbers.all + place, numbers.all + place + 1, (numbers.count - place) * sizeof(int))


cdef int _insert_at(Numbers* numbers, int place, int number) except -1:
    add(numbers, number)
    memmove(numbers.all + place + 1, numbers.all + place, (numbers.count - 1 - place) * sizeof(int))
    numbers.all[place] = number
    return 0


cdef int place_of(const Numbers* numbers, int number) noexcept:
    """Where a number is, from the end; NONE if it is not there."""
    cdef int place = numbers.count - 1
    while place >= 0 and numbers.all[place] != number:
        place -= 1
    return place


cdef inline bint _ends(const Node* node, const TagSet* scope) noexcept:
    """Whether a scope ends with an element: by its tag or, but for the scope of tables, where HTML begins in others."""
    if node.space == HTML:
        return scope.has[node.tag]
    return scope != &TABLE_SCOPE and (
        _MATH_SCOPE.has[node.tag] if node.space == MATHML else _SVG_SCOPE.has[node.tag]
    )


cdef class Stack:
    """The innermost part of a parser: its tree so far, what is open, and the tag that is read."""

    def __dealloc__(self):
        PyMem_Free(self.open.all)
        PyMem_Free(self.formatting.all)

    cdef int new(self, int kind) except -1:
        if self.tree.count >= MAX_NODES:
            raise MemoryError(f"more than {MAX_NODES:,} elements and texts")
        return self.tree.new_node(kind)

    cdef int put_at(self, int parent, int before, int node) except -1:
        if before != NONE:
            self.tree.insert_before(before, node)
        else:
            self.tree.link_last(parent, node)
        return 0

    cdef int push(self, int node) except -1:
        add(&self.open, node)
        self.opened[self.tree.nodes[node].tag] += 1
        return 0

    cdef int pop(self) except -1:
        """Close the innermost element. Returns it."""
        cdef int node
        if self.open.count < 1:
            return 0
        node = self.open.all[self.open.count - 1]
        self.open.count -= 1
        self.opened[self.tree.nodes[node].tag] -= 1
        return node

    cdef int close(self, int place) except -1:
        """Take an open element out of the middle of those that are open."""
        self.opened[self.tree.nodes[self.open.all[place]].tag] -= 1
        _remove(&self.open, place)
        return 0

    cdef int appropriate_place(self, int target, int* parent, int* before) except -1:
        """Where a new node goes: last in the current element, or before the table that it does not belong in."""
        cdef int place, template = NONE, table = NONE
        if target == NONE:
            target = self.open.all[self.open.count - 1] if self.open.count else ROOT
        parent[0], before[0] = target, NONE
        if not self.fosters or not _FOSTERING.has[self.tree.nodes[target].tag] or self.tree.nodes[target].space:
            return 0
        for place in range(self.open.count - 1, -1, -1):
            if template == NONE and self.is_open(place, TAG_TEMPLATE):
                template = place
            if self.is_open(place, TAG_TABLE):
                table = place
                break
        if template != NONE and (table == NONE or template > table):
            parent[0] = self.open.all[template]
        elif table == NONE:
            parent[0] = self.open.all[0]
        elif self.tree.nodes[self.open.all[table]].parent != NONE:
            before[0] = self.open.all[table]
            parent[0] = self.tree.nodes[before[0]].parent
        else:
            parent[0] = self.open.all[table - 1]
        return 0

    cdef int element(self) except -1:
        """A new element for the tag that was read."""
        cdef int node = self.new(ELEMENT)
        cdef Node* made = &self.tree.nodes[node]
        made.tag, made.name = self.tag, self.name
        made.at, made.size = self.attributes, self.attribute_count
        return node

    cdef int insert(self) except -1:
        """Put a new element for the tag that was read into the tree, and open it. Returns it."""
        cdef int node = self.element(), parent = NONE, before = NONE
        self.appropriate_place(NONE, &parent, &before)
        self.put_at(parent, before, node)
        self.push(node)
        return node

    cdef int insert_void(self) except -1:
        self.insert()
        return self.pop()

    cdef int insert_tag(self, int tag) except -1:
        """The same for a tag that was left out: it has no attributes."""
        self.tag, self.name, self.attribute_count = tag, NONE, 0
        return self.insert()

    cdef int implied(self, int tag) except -1:
        """`_insert_tag` without forgetting the tag that was read."""
        cdef int read = self.tag, name = self.name, count = self.attribute_count, node
        node = self.insert_tag(tag)
        self.tag, self.name, self.attribute_count = read, name, count
        return node

    cdef int put_text(self, int at, int size) except -1:
        """Put text where an element would be put, behind the text that is there already."""
        cdef int parent = NONE, before = NONE, last, node
        cdef Tree tree = self.tree
        if size <= 0:
            return 0
        self.appropriate_place(NONE, &parent, &before)
        if parent == ROOT:
            return 0
        last = tree.nodes[before].prev if before != NONE else tree.nodes[parent].last
        if last != NONE and tree.nodes[last].kind == TEXT and tree.nodes[last].space == HTML:
            if tree.nodes[last].at + tree.nodes[last].size != at:
                tree.reserve(tree.nodes[last].size + size)
                node = tree.put(tree.heap + tree.nodes[last].at, tree.nodes[last].size)
                tree.put(tree.heap + at, size)
                tree.nodes[last].at = node
            tree.nodes[last].size += size
            return 0
        node = self.new(TEXT)
        tree.nodes[node].at, tree.nodes[node].size = at, size
        return self.put_at(parent, before, node)

    cdef bint has_in(self, int tag, const TagSet* scope) noexcept:
        """Whether an element with this tag is open within a scope."""
        cdef int place
        cdef Node* node
        if not self.opened[tag]:
            return False
        for place in range(self.open.count - 1, -1, -1):
            node = &self.tree.nodes[self.open.all[place]]
            if node.tag == tag and node.space == HTML:
                return True
            if _ends(node, scope):
                return False
        return False

    cdef bint has_any_in(self, const TagSet* wanted, const TagSet* scope) noexcept:
        cdef int place
        cdef Node* node
        for place in range(self.open.count - 1, -1, -1):
            node = &self.tree.nodes[self.open.all[place]]
            if wanted.has[node.tag] and node.space == HTML:
                return True
            if _ends(node, scope):
                return False
        return False

    cdef int imply_ends(self, int tag, const TagSet* implied) except -1:
        """Close what may be closed without a tag, except for this tag."""
        while self.open.count and implied.has[self.current().tag] and self.current().space == HTML:
            if self.current().tag == tag:
                break
            self.pop()
        return 0

    cdef int pop_until(self, int tag) except -1:
        """Close all up to the innermost element with this tag, and it too."""
        while self.open.count:
            if self.is_open(self.open.count - 1, tag):
                self.pop()
                break
            self.pop()
        return 0

    cdef int pop_until_any(self, const TagSet* wanted) except -1:
        while self.open.count:
            if wanted.has[self.current().tag] and self.current().space == HTML:
                self.pop()
                break
            self.pop()
        return 0

    cdef int clear_back(self, const TagSet* context) except -1:
        while self.open.count and not (context.has[self.current().tag] and self.current().space == HTML):
            self.pop()
        return 0

    cdef int close_p(self) except -1:
        self.imply_ends(TAG_P, &IMPLIED)
        return self.pop_until(TAG_P)

    cdef int close_p_in_button(self) except -1:
        if self.has_in(TAG_P, &BUTTON_SCOPE):
            self.close_p()
        return 0

    cdef int mark(self) except -1:
        return add(&self.formatting, MARKER)

    cdef int clear_to_marker(self) except -1:
        while self.formatting.count:
            self.formatting.count -= 1
            if self.formatting.all[self.formatting.count] == MARKER:
                break
        return 0

    cdef int remember(self, int node) except -1:
        """Keep a formatting element, and no more than three equal ones."""
        cdef int place, equal = 0, oldest = NONE
        for place in range(self.formatting.count - 1, -1, -1):
            if self.formatting.all[place] == MARKER:
                break
            if self._are_equal(self.formatting.all[place], node):
                equal += 1
                oldest = place
        if equal >= MAX_EQUAL:
            _remove(&self.formatting, oldest)
        elif self.formatting.count >= MAX_FORMATTING and self.formatting.all[0] != MARKER:
            _remove(&self.formatting, 0)
        return add(&self.formatting, node)

    cdef bint _are_equal(self, int one, int other) noexcept:
        """Whether two elements have the same tag and the same attributes, in whatever order."""
        cdef Tree tree = self.tree
        cdef Node* left = &tree.nodes[one]
        cdef Node* right = &tree.nodes[other]
        cdef Attribute* mine
        cdef Attribute* theirs
        cdef int place, second
        if left.tag != right.tag or left.name != right.name or left.size != right.size:
            return False
        for place in range(left.at, left.at + left.size):
            mine = &tree.attributes[place]
            for second in range(right.at, right.at + right.size):
                theirs = &tree.attributes[second]
                if mine.name == theirs.name:
                    if mine.size == theirs.size and memcmp(tree.heap + mine.at, tree.heap + theirs.at, mine.size) == 0:
                        break
                    return False
            else:
                return False
        return True

    cdef int forget(self, int node) except -1:
        cdef int place = place_of(&self.formatting, node)
        if place != NONE:
            _remove(&self.formatting, place)
        return 0

    cdef int reconstruct(self) except -1:
        """Open again the formatting that is still in force."""
        cdef int place = self.formatting.count - 1, node
        if place < 0 or self.open.count >= MAX_DEPTH or self._is_settled(place):
            return 0
        while place > 0 and not self._is_settled(place - 1):
            place -= 1
        while place < self.formatting.count:
            node = self._insert_copy(self.formatting.all[place])
            self.formatting.all[place] = node
            place += 1
        return 0

    cdef bint _is_settled(self, int place) noexcept:
        cdef int node = self.formatting.all[place]
        return node == MARKER or place_of(&self.open, node) != NONE

    cdef int _copy(self, int node) except -1:
        """A new element with the tag and the attributes of another."""
        cdef Tree tree = self.tree
        cdef int made = self.new(ELEMENT), place
        tree.nodes[made].tag, tree.nodes[made].name = tree.nodes[node].tag, tree.nodes[node].name
        tree.nodes[made].at, tree.nodes[made].size = tree.attribute_count, tree.nodes[node].size
        for place in range(tree.nodes[node].at, tree.nodes[node].at + tree.nodes[node].size):
            tree.add_attribute(tree.attributes[place].name, tree.attributes[place].at, tree.attributes[place].size)
        return made

    cdef int _insert_copy(self, int node) except -1:
        cdef int made = self._copy(node), parent = NONE, before = NONE
        self.appropriate_place(NONE, &parent, &before)
        self.put_at(parent, before, made)
        self.push(made)
        return made

    cdef int find_formatting(self, int tag) noexcept:
        """The last formatting element with this tag behind the last marker; NONE if there is none."""
        cdef int place
        for place in range(self.formatting.count - 1, -1, -1):
            if self.formatting.all[place] == MARKER:
                return NONE
            if self.tree.nodes[self.formatting.all[place]].tag == tag:
                return self.formatting.all[place]
        return NONE

    cdef bint adopt(self, int tag) except -1:
        """The adoption agency: a formatting element is closed that blocks have been opened in. False: the tag
        is as any other."""
        cdef Tree tree = self.tree
        cdef int step, element, place, furthest, around, mark, node, last, inner, parent, before, made, at
        if (
            self.open.count
            and self.is_open(self.open.count - 1, tag)
            and place_of(&self.formatting, self.open.all[self.open.count - 1]) == NONE
        ):
            self.pop()
            return True
        for step in range(MAX_ADOPTIONS):
            element = self.find_formatting(tag)
            if element == NONE:
                return step > 0
            place = place_of(&self.open, element)
            if place == NONE:
                self.forget(element)
                return True
            if not self.is_in_scope(place):
                return True
            furthest = place + 1
            while furthest < self.open.count and not self.is_special(furthest):
                furthest += 1
            if furthest == self.open.count:
                while self.open.count > place:
                    self.pop()
                self.forget(element)
                return True
            around = self.open.all[place - 1]
            mark = place_of(&self.formatting, element)
            last = self.open.all[furthest]
            at = furthest
            inner = 0
            while True:
                inner += 1
                at -= 1
                node = self.open.all[at]
                if node == element:
                    break
                made = place_of(&self.formatting, node)
                if inner > MAX_INNER_ADOPTIONS and made != NONE:
                    _remove(&self.formatting, made)
                    if made < mark:
                        mark -= 1
                    made = NONE
                if made == NONE:
                    self.close(at)
                    furthest -= 1
                    continue
                node = self._copy(node)
                self.formatting.all[made] = node
                self.open.all[at] = node
                if last == self.open.all[furthest]:
                    mark = made + 1
                tree.append(node, last)
                last = node
            parent = before = NONE
            self._fostering_place(around, &parent, &before)
            tree.extract(last)
            if before == NONE:
                tree.append(parent, last)
            else:
                tree.insert_before(before, last)
            made = self._copy(element)
            tree.move_children(self.open.all[furthest], made)
            tree.append(self.open.all[furthest], made)
            place = place_of(&self.formatting, element)
            _remove(&self.formatting, place)
            if place < mark:
                mark -= 1
            _insert_at(&self.formatting, mark, made)
            place = place_of(&self.open, element)
            self.close(place)
            furthest -= 1
            _insert_at(&self.open, furthest + 1, made)
            self.opened[tree.nodes[made].tag] += 1
        return True

    cdef int _fostering_place(self, int target, int* parent, int* before) except -1:
        """Where the adoption agency puts a node into `target`: tables do not hold it."""
        cdef bint fosters = self.fosters
        self.fosters = True
        self.appropriate_place(target, parent, before)
        self.fosters = fosters
        return 0

    cdef bint is_in_scope(self, int place) noexcept:
        """Whether nothing that ends a scope is between the open element at this place and the current one."""
        cdef int at
        for at in range(self.open.count - 1, place, -1):
            if _ends(&self.tree.nodes[self.open.all[at]], &SCOPE):
                return False
        return True

    cdef bint is_special(self, int place) noexcept:
        cdef Node* node = &self.tree.nodes[self.open.all[place]]
        return _ends(node, &_SPECIAL)
