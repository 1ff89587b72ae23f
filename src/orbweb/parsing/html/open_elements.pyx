"""The stack of open elements and the list of active formatting elements of the HTML standard, with scopes and the
adoption agency algorithm.

Both are bounded, whatever a page does. So are the copies of formatting elements: once they are out of proportion
to the bytes of the page, formatting elements are treated like any other element.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memcmp, memcpy, memmove

from orbweb.parsing.html.bounds cimport close_memory, open_memory
from orbweb.parsing.html.tree cimport (
    Attribute, ELEMENT, HTML, MATHML, NONE, Node, ROOT, TAG_P, TAG_TABLE, TAG_TEMPLATE, TEXT, TagSet, Tree,
    tags,
)

cdef enum:
    # The most nodes of a tree.
    MAX_NODES = 6_000_000
    # The most equal active formatting elements.
    MAX_EQUAL = 3
    # The most active formatting elements; the oldest are dropped.
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
        close_memory(all + numbers.count, (numbers.room - numbers.count) * sizeof(int))
    open_memory(numbers.all + numbers.count, sizeof(int))
    numbers.all[numbers.count] = number
    numbers.count += 1
    return 0


cdef inline void _remove(Numbers* numbers, int place) noexcept:
    if place < numbers.count - 1:
        memmove(numbers.all + place, numbers.all + place + 1, (numbers.count - 1 - place) * sizeof(int))
    cut(numbers, numbers.count - 1)


cdef int _insert_at(Numbers* numbers, int place, int number) except -1:
    add(numbers, number)
    memmove(numbers.all + place + 1, numbers.all + place, (numbers.count - 1 - place) * sizeof(int))
    numbers.all[place] = number
    return 0


cdef int place_of(const Numbers* numbers, int number) noexcept:
    """The index of a number, searched from the end; NONE if it is missing."""
    cdef int place = numbers.count - 1
    while place >= 0 and numbers.all[place] != number:
        place -= 1
    return place


cdef inline bint _ends(const Node* node, const TagSet* scope) noexcept:
    """Whether an element ends a scope: by its tag or, except for table scope, as an integration point."""
    if node.space == HTML:
        return scope.has[node.tag]
    return scope != &TABLE_SCOPE and (
        _MATH_SCOPE.has[node.tag] if node.space == MATHML else _SVG_SCOPE.has[node.tag]
    )


cdef bint _has_value(Tree tree, const Attribute* one, const Attribute* other) noexcept:
    return one.size == other.size and memcmp(tree.heap + one.at, tree.heap + other.at, one.size) == 0


cdef class Stack:
    """The base of the parser: its tree, the open elements, and the current tag."""

    def __dealloc__(self):
        PyMem_Free(self.open.all)
        PyMem_Free(self.formatting.all)
        PyMem_Free(self.sums.all)

    cdef int new(self, int kind) except -1:
        if self.tree.count >= MAX_NODES:
            raise MemoryError(f"more than {MAX_NODES:,} elements and texts")
        return self.tree.new_node(kind)

    cdef int put_at(self, int parent, int before, int node) except -1:
        if before != NONE:
            self.tree.link_before(before, node)
        else:
            self.tree.link_last(parent, node)
        return 0

    cdef int push(self, int node) except -1:
        cdef Node* opened
        add(&self.open, node)
        opened = &self.tree.nodes[node]
        self.opened[opened.tag] += opened.space == HTML
        opened.flags |= IS_OPEN
        return 0

    cdef int pop(self) except -1:
        """Close the innermost element. Returns it."""
        cdef int node
        cdef Node* closed
        if self.open.count < 1:
            return 0
        node = self.open.all[self.open.count - 1]
        cut(&self.open, self.open.count - 1)
        closed = &self.tree.nodes[node]
        self.opened[closed.tag] -= closed.space == HTML
        closed.flags &= ~IS_OPEN
        return node

    cdef int close(self, int place) except -1:
        """Remove an element from the middle of the stack."""
        cdef Node* node = &self.tree.nodes[self.open.all[place]]
        self.opened[node.tag] -= node.space == HTML
        node.flags &= ~IS_OPEN
        _remove(&self.open, place)
        return 0

    cdef int appropriate_place(self, int target, int* parent, int* before) except -1:
        """The insertion point: last in the current element, or before a table by foster parenting."""
        cdef int place, template = NONE, table = NONE
        if target == NONE:
            target = self.open.all[self.open.count - 1] if self.open.count else ROOT
        parent[0], before[0] = target, NONE
        if not self.fosters or not _FOSTERING.has[self.tree.nodes[target].tag] or self.tree.nodes[target].space:
            return 0
        for place in range(self.open.count - 1, -1, -1):
            if self.is_open(place, TAG_TEMPLATE):
                template = place
                break
            if self.is_open(place, TAG_TABLE):
                table = place
                break
        if template != NONE:
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
        """Create an element for the current tag."""
        cdef int node = self.new(ELEMENT)
        cdef Node* made = &self.tree.nodes[node]
        made.tag, made.name = self.tag, self.name
        made.at, made.size = self.attributes, self.attribute_count
        return node

    cdef int insert(self) except -1:
        """Insert an element for the current tag, and push it. Returns it."""
        cdef int node = self.element(), parent = NONE, before = NONE
        self.appropriate_place(NONE, &parent, &before)
        self.put_at(parent, before, node)
        self.push(node)
        return node

    cdef int insert_void(self) except -1:
        self.insert()
        return self.pop()

    cdef int insert_tag(self, int tag) except -1:
        """The same for an implied tag, without attributes."""
        self.tag, self.name, self.attribute_count = tag, NONE, 0
        return self.insert()

    cdef int implied(self, int tag) except -1:
        """`_insert_tag` that keeps the current tag."""
        cdef int read = self.tag, name = self.name, count = self.attribute_count, node
        node = self.insert_tag(tag)
        self.tag, self.name, self.attribute_count = read, name, count
        return node

    cdef int put_text(self, int at, int size) except -1:
        """Insert text at the insertion point, appended to adjacent text."""
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
                return self._lengthen(last, at, size)
            tree.nodes[last].size += size
            return 0
        node = self.new(TEXT)
        tree.nodes[node].at, tree.nodes[node].size = at, size
        return self.put_at(parent, before, node)

    cdef int _lengthen(self, int text, int at, int size) except -1:
        """Append bytes of the heap to a text. A text that has to move gets twice the capacity it needs, so the
        cost of all moves is linear."""
        cdef Tree tree = self.tree
        cdef int held = tree.nodes[text].size, to
        cdef Py_ssize_t room
        if self.grown is None:
            self.grown = {}
        room = self.grown.get(text, 0)
        if <Py_ssize_t> held + size > room:
            room = 2 * (<Py_ssize_t> held + size)
            tree.reserve(room)
            to = <int> tree.heap_size
            memcpy(tree.heap + to, tree.heap + tree.nodes[text].at, held)
            tree.heap_size += room
            tree.nodes[text].at = to
            self.grown[text] = room
        memmove(tree.heap + tree.nodes[text].at + held, tree.heap + at, size)
        tree.nodes[text].size = held + size
        return 0

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
        """Close elements with implied end tags, except this tag."""
        while self.open.count and implied.has[self.current().tag] and self.current().space == HTML:
            if self.current().tag == tag:
                break
            self.pop()
        return 0

    cdef int pop_until(self, int tag) except -1:
        """Pop elements up to and including the innermost with this tag."""
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
        add(&self.sums, 0)
        return add(&self.formatting, MARKER)

    cdef int clear_to_marker(self) except -1:
        cdef int node
        while self.formatting.count:
            node = self.formatting.all[self.formatting.count - 1]
            self._unlist(self.formatting.count - 1)
            if node == MARKER:
                break
        return 0

    cdef int _list(self, int place, int node, int sum) except -1:
        self.tree.nodes[node].flags |= IS_LISTED
        _insert_at(&self.sums, place, sum)
        return _insert_at(&self.formatting, place, node)

    cdef int _replace(self, int place, int node) except -1:
        """Replace an active formatting element by its copy, which has the same attributes."""
        self.tree.nodes[self.formatting.all[place]].flags &= ~IS_LISTED
        self.tree.nodes[node].flags |= IS_LISTED
        self.formatting.all[place] = node
        return 0

    cdef int _unlist(self, int place) except -1:
        if self.formatting.all[place] != MARKER:
            self.tree.nodes[self.formatting.all[place]].flags &= ~IS_LISTED
        _remove(&self.formatting, place)
        _remove(&self.sums, place)
        return 0

    cdef int forget(self, int node) except -1:
        cdef int place = self._listed(node)
        if place != NONE:
            self._unlist(place)
        return 0

    cdef bint _is_exhausted(self) except -1:
        """Whether the limit of copies is reached. From then on no formatting element is active."""
        if self.copies_left >= 0:
            return False
        while self.formatting.count:
            self._unlist(self.formatting.count - 1)
        return True

    cdef int remember(self, int node) except -1:
        """Add an active formatting element, at most three equal ones."""
        cdef int place, equal = 0, oldest = NONE, first = NONE, seen = 0, sum = 0
        if self.copies_left < 0 and self._is_exhausted():
            return 0
        for place in range(self.formatting.count - 1, -1, -1):
            if self.formatting.all[place] == MARKER:
                break
            seen += 1
            first = place
            if self._are_equal(place, node, &sum):
                equal += 1
                oldest = place
        if equal >= MAX_EQUAL:
            self._unlist(oldest)
        elif seen >= MAX_FORMATTING:
            self._unlist(first)
        self.tree.nodes[node].flags |= IS_LISTED
        add(&self.sums, sum)
        return add(&self.formatting, node)

    cdef bint _are_equal(self, int place, int node, int* sum) except -1:
        """Whether two formatting elements have the same tag and the same attributes, in any order. Attributes are
        compared only if their hashes are equal, which a page cannot force, because Python's hashes are seeded
        randomly."""
        cdef int other = self.formatting.all[place]
        cdef Node* left = &self.tree.nodes[other]
        cdef Node* right = &self.tree.nodes[node]
        if left.tag != right.tag or left.size != right.size:
            return False
        if left.size == 0:
            return True
        if not sum[0]:
            sum[0] = self._sum(node)
        if not self.sums.all[place]:
            self.sums.all[place] = self._sum(other)
        return self.sums.all[place] == sum[0] and self._have_equal_attributes(other, node)

    cdef int _sum(self, int node) except -1:
        """A hash of attributes that does not depend on their order; never 0."""
        cdef Tree tree = self.tree
        cdef unsigned long long sum = 0, one
        cdef int place
        for place in range(tree.nodes[node].at, tree.nodes[node].at + tree.nodes[node].size):
            one = <unsigned long long> <Py_hash_t> hash(
                tree.heap[tree.attributes[place].at:tree.attributes[place].at + tree.attributes[place].size]
            )
            one = (one ^ <unsigned long long> tree.attributes[place].name) * 0x9E3779B97F4A7C15ULL
            sum += one ^ one >> 29
        return <int> (sum >> 33) | 1

    cdef bint _have_equal_attributes(self, int one, int other) except -1:
        """Compare pairwise while the order is the same, then by name."""
        cdef Tree tree = self.tree
        cdef Attribute* mine = &tree.attributes[tree.nodes[one].at]
        cdef Attribute* theirs = &tree.attributes[tree.nodes[other].at]
        cdef int count = tree.nodes[one].size, place = 0, second
        cdef dict places
        while place < count and mine[place].name == theirs[place].name:
            if not _has_value(tree, &mine[place], &theirs[place]):
                return False
            place += 1
        if place == count:
            return True
        places = {theirs[second].name: second for second in range(place, count)}
        for place in range(place, count):
            if mine[place].name not in places:
                return False
            second = places[mine[place].name]
            if not _has_value(tree, &mine[place], &theirs[second]):
                return False
        return True

    cdef int reconstruct(self) except -1:
        """Reconstruct the active formatting elements."""
        cdef int place = self.formatting.count - 1, node
        if place < 0 or self.open.count >= MAX_DEPTH or self._is_settled(place):
            return 0
        if self._is_exhausted():
            return 0
        while place > 0 and not self._is_settled(place - 1):
            place -= 1
        while place < self.formatting.count:
            node = self._insert_copy(self.formatting.all[place])
            self._replace(place, node)
            place += 1
        return 0

    cdef int _copy(self, int node) except -1:
        """Create an element with the tag and the attributes of another."""
        cdef Tree tree = self.tree
        cdef int made = self.new(ELEMENT), place
        self.copies_left -= 1 + tree.nodes[node].size
        tree.nodes[made].tag, tree.nodes[made].name = tree.nodes[node].tag, tree.nodes[node].name
        tree.nodes[made].space = tree.nodes[node].space
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
        """The last active formatting element with this tag after the last marker; NONE if there is none."""
        cdef int place
        for place in range(self.formatting.count - 1, -1, -1):
            if self.formatting.all[place] == MARKER:
                return NONE
            if self.tree.nodes[self.formatting.all[place]].tag == tag:
                return self.formatting.all[place]
        return NONE

    cdef bint adopt(self, int tag) except -1:
        """The adoption agency: closes a formatting element that contains open blocks. False: handle the tag like
        any other."""
        cdef Tree tree = self.tree
        cdef int _step, element, place, furthest, around, mark, node, last, inner, parent, before, made, at, sum
        if (
            self.open.count
            and self.is_open(self.open.count - 1, tag)
            and not self.current().flags & IS_LISTED
        ):
            self.pop()
            return True
        if self._is_exhausted():
            return False
        for _step in range(MAX_ADOPTIONS):
            element = self.find_formatting(tag)
            if element == NONE:
                return False
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
            mark = self._listed(element)
            last = self.open.all[furthest]
            at = furthest
            inner = 0
            while True:
                inner += 1
                at -= 1
                node = self.open.all[at]
                if node == element:
                    break
                made = self._listed(node)
                if inner > MAX_INNER_ADOPTIONS and made != NONE:
                    self._unlist(made)
                    if made < mark:
                        mark -= 1
                    made = NONE
                if made == NONE:
                    self.close(at)
                    furthest -= 1
                    continue
                node = self._copy(node)
                self._replace(made, node)
                tree.nodes[self.open.all[at]].flags &= ~IS_OPEN
                tree.nodes[node].flags |= IS_OPEN
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
            place = self._listed(element)
            sum = self.sums.all[place]
            self._unlist(place)
            if place < mark:
                mark -= 1
            self._list(mark, made, sum)
            place = place_of(&self.open, element)
            self.close(place)
            furthest -= 1
            _insert_at(&self.open, furthest + 1, made)
            self.opened[tree.nodes[made].tag] += 1
            tree.nodes[made].flags |= IS_OPEN
        return True

    cdef int _fostering_place(self, int target, int* parent, int* before) except -1:
        """Insert a node into `target` for the adoption agency, with foster parenting."""
        cdef bint fosters = self.fosters
        self.fosters = True
        self.appropriate_place(target, parent, before)
        self.fosters = fosters
        return 0

    cdef bint is_in_scope(self, int place) noexcept:
        """Whether no element that ends a scope is between the open element at this index and the current one."""
        cdef int at
        for at in range(self.open.count - 1, place, -1):
            if _ends(&self.tree.nodes[self.open.all[at]], &SCOPE):
                return False
        return True

    cdef bint is_special(self, int place) noexcept:
        cdef Node* node = &self.tree.nodes[self.open.all[place]]
        return _ends(node, &_SPECIAL)
