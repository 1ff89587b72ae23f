"""The tree builder: the insertion modes of the HTML standard for texts, start tags, end tags, SVG and MathML.

The modes have the names of the standard. The customizable `<select>` has no modes of its own; a
`<selectedcontent>` gets a copy of the selected option at the end of the page.
"""

from cpython.mem cimport PyMem_Free
from libc.string cimport memchr

from orbweb.parsing.html.characters cimport is_space
from orbweb.parsing.html.open_elements cimport (
    BUTTON_SCOPE, IMPLIED, IS_HTML_POINT, MAX_DEPTH, SCOPE, Stack, TABLE_SCOPE, add, cut, place_of,
)
from orbweb.parsing.html.tree cimport (
    ATTR_DISABLED, ATTR_ENCODING, ATTR_END, ATTR_TYPE, HTML, MATHML, NONE, Node, ROOT, SVG, Span, TAG_A,
    TAG_ANNOTATION_XML, TAG_BASE, TAG_BODY, TAG_BR, TAG_BUTTON, TAG_CAPTION, TAG_COL, TAG_COLGROUP, TAG_DD,
    TAG_DT, TAG_FONT, TAG_FORM, TAG_FRAME, TAG_FRAMESET, TAG_HEAD, TAG_HR, TAG_HTML, TAG_IFRAME, TAG_IMAGE,
    TAG_IMG, TAG_INPUT, TAG_LI, TAG_LISTING, TAG_MALIGNMARK, TAG_MATH, TAG_MGLYPH, TAG_NOBR, TAG_NOEMBED,
    TAG_NOFRAMES, TAG_NOSCRIPT, TAG_OPTGROUP, TAG_OPTION, TAG_P, TAG_PLAINTEXT, TAG_PRE, TAG_RB, TAG_RP,
    TAG_RT, TAG_RTC, TAG_RUBY, TAG_SCRIPT, TAG_SELECT, TAG_STYLE, TAG_SVG, TAG_TABLE, TAG_TBODY, TAG_TEMPLATE,
    TAG_TEXTAREA, TAG_TITLE, TAG_TR, TAG_XMP, TEXT, TagSet, Tree, is_text_in_any_case, known_tag, tags,
)

cdef TagSet _LIST_SCOPE = tags("applet caption html table td th marquee object select template ol ul")
cdef TagSet _HEAD_ONLY = tags("base basefont bgsound link meta")
cdef TagSet _OF_HEAD = tags("base basefont bgsound link meta noframes script style template title")
cdef TagSet _BLOCKS = tags(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer header hgroup"
    " main menu nav ol p search section summary ul"
)
cdef TagSet _CLOSED_BLOCKS = tags(
    "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer header"
    " hgroup listing main menu nav ol pre search section select summary ul"
)
cdef TagSet _HEADINGS = tags("h1 h2 h3 h4 h5 h6")
cdef TagSet _FORMATTING = tags("b big code em font i s small strike strong tt u")
cdef TagSet _ALL_FORMATTING = tags("a b big code em font i nobr s small strike strong tt u")
cdef TagSet _HOLDERS = tags("applet marquee object")
cdef TagSet _VOID = tags("area br embed img keygen wbr")
cdef TagSet _VOID_SILENT = tags("param source track")
cdef TagSet _NOT_IN_BODY = tags("caption col colgroup frame head tbody td tfoot th thead tr")
cdef TagSet _IMPLIED_THOROUGHLY = tags(
    "caption colgroup dd dt li optgroup option p rb rp rt rtc tbody td tfoot th thead tr"
)
cdef TagSet _SVG_SCOPE = tags("foreignObject desc title")
cdef TagSet _MATH_TEXT = tags("mi mo mn ms mtext")
cdef TagSet _TABLE_TEXT = tags("table tbody template tfoot thead tr")
cdef TagSet _TABLE_CONTEXT = tags("table template html")
cdef TagSet _BODY_CONTEXT = tags("tbody tfoot thead template html")
cdef TagSet _ROW_CONTEXT = tags("tr template html")
cdef TagSet _SECTIONS = tags("tbody tfoot thead")
cdef TagSet _CELLS = tags("td th")
cdef TagSet _PARTS = tags("caption col colgroup tbody td tfoot th thead tr")
cdef TagSet _NOT_IN_TABLE = tags("body caption col colgroup html tbody td tfoot th thead tr")
cdef TagSet _NOT_IN_TABLE_BODY = tags("body caption col colgroup html td th tr")
cdef TagSet _NOT_IN_ROW = tags("body caption col colgroup html td th")
cdef TagSet _NOT_IN_CELL = tags("body caption col colgroup html")
cdef TagSet _AFTER_ROW = tags("caption col colgroup tbody tfoot thead tr")
cdef TagSet _AFTER_SECTION = tags("caption col colgroup tbody tfoot thead")
cdef TagSet _BREAKING_OUT = tags(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta"
    " nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
cdef TagSet _SELECT = tags("select")
cdef TagSet _OPTION = tags("option")
cdef TagSet _CHOICES = tags("option select")
cdef TagSet _LI = tags("li")
cdef TagSet _DD_DT = tags("dd dt")
cdef TagSet _PASSED = tags("address div p")

_SVG_TAGS = {
    name.lower(): name
    for name in (
        "altGlyph altGlyphDef altGlyphItem animateColor animateMotion animateTransform clipPath feBlend feColorMatrix"
        " feComponentTransfer feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight"
        " feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feImage feMerge feMergeNode feMorphology"
        " feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence foreignObject glyphRef"
        " linearGradient radialGradient textPath"
    ).split()
}
_SVG_ATTRIBUTES = {
    name.lower(): name
    for name in (
        "attributeName attributeType baseFrequency baseProfile calcMode clipPathUnits diffuseConstant edgeMode"
        " filterUnits glyphRef gradientTransform gradientUnits kernelMatrix kernelUnitLength keyPoints keySplines"
        " keyTimes lengthAdjust limitingConeAngle markerHeight markerUnits markerWidth maskContentUnits maskUnits"
        " numOctaves pathLength patternContentUnits patternTransform patternUnits pointsAtX pointsAtY pointsAtZ"
        " preserveAlpha preserveAspectRatio primitiveUnits refX refY repeatCount repeatDur requiredExtensions"
        " requiredFeatures specularConstant specularExponent spreadMethod startOffset stdDeviation stitchTiles"
        " surfaceScale systemLanguage tableValues targetX targetY textLength viewBox viewTarget xChannelSelector"
        " yChannelSelector zoomAndPan"
    ).split()
}


cdef class Modes(Stack):
    """Handles the tokens of a page by the insertion modes."""

    def __cinit__(self):
        self.mode = INITIAL
        self.head = self.form = NONE
        self.frameset_ok = True

    def __dealloc__(self):
        PyMem_Free(self.template_modes.all)

    cdef int _create_html(self) except -1:
        self.implied(TAG_HTML)
        self.mode = BEFORE_HEAD
        return 0

    cdef int _create_head(self) except -1:
        self.head = self.implied(TAG_HEAD)
        self.mode = IN_HEAD
        return 0

    cdef int _create_body(self) except -1:
        self.implied(TAG_BODY)
        self.mode = IN_BODY
        return 0

    cdef int _insert_raw(self, int raw) except -1:
        """An element with raw text."""
        self.insert()
        self.raw = raw
        self.mode_before_text = self.mode
        self.mode = IN_TEXT
        return 0

    cdef int raw_text(self, int at, int end) except -1:
        """Insert the text of such an element."""
        return self.put_text(at, end - at)

    cdef int end_raw(self, bint has_tag) except -1:
        """The end tag of such an element, or the end of the page."""
        self.pop()
        self.mode = self.mode_before_text
        return 0

    cdef int finish(self) except -1:
        """The end of the page: create missing `<html>`, `<head>` and `<body>`."""
        while self.opened[TAG_TEMPLATE]:
            self._close_template()
        if self.mode == INITIAL or self.mode == BEFORE_HTML:
            self._create_html()
        if self.mode == BEFORE_HEAD:
            self._create_head()
        if self.mode == IN_HEAD_NOSCRIPT:
            self.pop()
            self.mode = IN_HEAD
        if self.mode == IN_HEAD:
            self.pop()
            self.mode = AFTER_HEAD
        if self.mode == AFTER_HEAD:
            self._create_body()
        if self.added is not None:
            self._add_attributes()
        if "selectedcontent" in self.tree.name_numbers:
            self._fill_selected()
        return 0

    cdef int characters(self, int at, int end) except -1:
        """Insert text from the heap by the current mode."""
        cdef int mode
        if self._is_foreign_text():
            return self._foreign_characters(at, end)
        while at < end:
            mode = self.mode
            if mode == IN_BODY or mode == IN_CAPTION or mode == IN_CELL or mode == IN_TEMPLATE:
                return self._body_characters(at, end)
            if mode == IN_TABLE or mode == IN_TABLE_BODY or mode == IN_ROW:
                return self._table_characters(at, end)
            if mode == IN_FRAMESET or mode == AFTER_FRAMESET or mode == AFTER_AFTER_FRAMESET:
                return self._only_spaces(at, end)
            at = self._leading_spaces(at, end)
            if at == end:
                return 0
            if mode == INITIAL:
                self.is_quirky = True
                self.mode = BEFORE_HTML
            elif mode == BEFORE_HTML:
                self._create_html()
            elif mode == BEFORE_HEAD:
                self._create_head()
            elif mode == IN_HEAD:
                self.pop()
                self.mode = AFTER_HEAD
            elif mode == IN_HEAD_NOSCRIPT:
                self.pop()
                self.mode = IN_HEAD
            elif mode == AFTER_HEAD:
                self._create_body()
            elif mode == IN_COLUMN_GROUP:
                if self.current().tag != TAG_COLGROUP:
                    return self._only_spaces(at, end)
                self.pop()
                self.mode = IN_TABLE
            else:
                self.mode = IN_BODY
        return 0

    cdef int _leading_spaces(self, int at, int end) except -1:
        """Insert leading white space by the current mode, and return the start of the rest."""
        cdef int start = at
        while at < end and is_space(self.tree.heap[at]):
            at += 1
        if at > start:
            if self.mode == AFTER_BODY or self.mode == AFTER_AFTER_BODY:
                self._body_characters(start, at)
            elif self.mode != INITIAL and self.mode != BEFORE_HTML and self.mode != BEFORE_HEAD:
                self.put_text(start, at - start)
        return at

    cdef int _only_spaces(self, int at, int end) except -1:
        cdef bytes text = self.tree.heap[at:end]
        cdef bytes spaces = bytes([sign for sign in text if sign in b" \n\t\f\r"])
        if spaces:
            if self.mode == AFTER_AFTER_FRAMESET:
                self.reconstruct()
            self.put_text(self.tree.put(<const char*> spaces, len(spaces)), <int> len(spaces))
        return 0

    cdef int _body_characters(self, int at, int end) except -1:
        cdef int place
        if memchr(self.tree.heap + at, 0, end - at) != NULL:
            end = self._without_nuls(&at, end)
            if at == end:
                return 0
        self.reconstruct()
        if self.frameset_ok:
            for place in range(at, end):
                if not is_space(self.tree.heap[place]):
                    self.frameset_ok = False
                    break
        return self.put_text(at, end - at)

    cdef int _without_nuls(self, int* at, int end) except -1:
        """Remove NULs from text. Returns its end."""
        cdef bytes text = self.tree.heap[at[0]:end]
        text = text.replace(b"\0", b"")
        at[0] = self.tree.put(<const char*> text, len(text))
        return at[0] + <int> len(text)

    cdef int replace_nuls(self, int begin) except -1:
        """Replace each NUL of the heap from here on by a replacement character."""
        cdef bytes text = self.tree.heap[begin:self.tree.heap_size]
        text = text.replace(b"\0", b"\xef\xbf\xbd")
        self.tree.heap_size = begin
        self.tree.put(<const char*> text, len(text))
        return 0

    cdef int _table_characters(self, int at, int end) except -1:
        cdef int place
        if not _TABLE_TEXT.has[self.current().tag] or self.current().space != HTML:
            return self._fostered_characters(at, end)
        if memchr(self.tree.heap + at, 0, end - at) != NULL:
            end = self._without_nuls(&at, end)
        for place in range(at, end):
            if not is_space(self.tree.heap[place]):
                return self._fostered_characters(at, end)
        return self.put_text(at, end - at)

    cdef int _fostered_characters(self, int at, int end) except -1:
        self.fosters = True
        self._body_characters(at, end)
        self.fosters = False
        return 0

    cdef int _foreign_characters(self, int at, int end) except -1:
        cdef int place
        cdef bint is_replaced = False
        cdef bytes text = b""
        if memchr(self.tree.heap + at, 0, end - at) != NULL:
            is_replaced = True
            text = self.tree.heap[at:end]
        for place in range(at, end):
            if not is_space(self.tree.heap[place]) and self.tree.heap[place]:
                self.frameset_ok = False
                break
        if is_replaced:
            at = self.tree.put(text, len(text))
            self.replace_nuls(at)
            end = <int> self.tree.heap_size
        return self.put_text(at, end - at)

    cdef int start(self) except -1:
        """Handle the current start tag."""
        cdef bint again = True
        cdef int before = self.formatting.count
        self.skips_newline = False
        self.raw = NOT_RAW
        while again:
            again = self._foreign_start() if self._is_foreign_start() else self._start_in(self.mode)
        if self.open.count > MAX_DEPTH and self.mode != IN_TEXT:
            self._close_too_deep(before)
        return 0

    cdef int _close_too_deep(self, int formatting) except -1:
        """Close an element that is too deep at once, without adding active formatting elements."""
        if self.is_open(self.open.count - 1, TAG_TEMPLATE):
            return self._close_template()
        while self.open.count > MAX_DEPTH:
            self.pop()
        while self.formatting.count > formatting:
            self._unlist(self.formatting.count - 1)
        return self._reset_mode()

    cdef bint _start_in(self, int mode) except -1:
        """True if the tag must be reprocessed in another mode."""
        if mode == IN_BODY:
            return self._start_in_body()
        if mode == IN_TABLE:
            return self._start_in_table()
        if mode == IN_ROW:
            return self._start_in_row()
        if mode == IN_CELL:
            return self._start_in_cell()
        if mode == IN_TABLE_BODY:
            return self._start_in_table_body()
        if mode == IN_HEAD:
            return self._start_in_head()
        if mode == AFTER_HEAD:
            return self._start_after_head()
        if mode == IN_TEMPLATE:
            return self._start_in_template()
        if mode == IN_CAPTION:
            if not _PARTS.has[self.tag]:
                return self._start_in_body()
            return self._end_caption()
        if mode == IN_COLUMN_GROUP:
            return self._start_in_column_group()
        return self._start_at_edges(mode)

    cdef bint _start_at_edges(self, int mode) except -1:
        """Before and after the content of a page, and in framesets."""
        if mode == INITIAL:
            self.is_quirky = True
            self.mode = BEFORE_HTML
            return True
        if mode == BEFORE_HTML:
            if self.tag != TAG_HTML:
                self._create_html()
                return True
            self.insert()
            self.mode = BEFORE_HEAD
        elif mode == BEFORE_HEAD:
            if self.tag == TAG_HTML:
                return self._start_in_body()
            if self.tag != TAG_HEAD:
                self._create_head()
                return True
            self.head = self.insert()
            self.mode = IN_HEAD
        elif mode == IN_HEAD_NOSCRIPT:
            if self.tag == TAG_HTML:
                return self._start_in_body()
            if _HEAD_ONLY.has[self.tag] and self.tag != TAG_BASE or self.tag == TAG_NOFRAMES or self.tag == TAG_STYLE:
                return self._start_in_head()
            if self.tag == TAG_HEAD or self.tag == TAG_NOSCRIPT:
                return False
            self.pop()
            self.mode = IN_HEAD
            return True
        elif mode == IN_FRAMESET:
            if self.tag == TAG_HTML:
                return self._start_in_body()
            if self.tag == TAG_FRAMESET:
                self.insert()
            elif self.tag == TAG_FRAME:
                self.insert_void()
            elif self.tag == TAG_NOFRAMES:
                return self._start_in_head()
        elif mode == AFTER_FRAMESET or mode == AFTER_AFTER_FRAMESET:
            if self.tag == TAG_HTML:
                return self._start_in_body()
            if self.tag == TAG_NOFRAMES:
                return self._start_in_head()
        elif self.tag == TAG_HTML:
            return self._start_in_body()
        else:
            self.mode = IN_BODY
            return True
        return False

    cdef bint _start_in_head(self) except -1:
        if self.tag == TAG_HTML:
            return self._start_in_body()
        if _HEAD_ONLY.has[self.tag]:
            self.insert_void()
        elif self.tag == TAG_NOSCRIPT:
            self.insert()
            self.mode = IN_HEAD_NOSCRIPT
        elif self.tag == TAG_TEMPLATE:
            self.insert()
            self.mark()
            self.frameset_ok = False
            self.mode = IN_TEMPLATE
            add(&self.template_modes, IN_TEMPLATE)
        elif self.tag == TAG_TITLE:
            self._insert_raw(RCDATA)
        elif self.tag == TAG_SCRIPT:
            self._insert_raw(SCRIPT)
        elif _OF_HEAD.has[self.tag]:
            self._insert_raw(RAWTEXT)
        elif self.tag != TAG_HEAD:
            self.pop()
            self.mode = AFTER_HEAD
            return True
        return False

    cdef bint _start_after_head(self) except -1:
        if self.tag == TAG_HTML:
            return self._start_in_body()
        if self.tag == TAG_BODY:
            self.insert()
            self.frameset_ok = False
            self.mode = IN_BODY
        elif self.tag == TAG_FRAMESET:
            self.insert()
            self.mode = IN_FRAMESET
        elif _OF_HEAD.has[self.tag]:
            self.push(self.head)
            self._start_in_head()
            self.close(place_of(&self.open, self.head))
        elif self.tag != TAG_HEAD:
            self._create_body()
            return True
        return False

    cdef bint _start_in_template(self) except -1:
        cdef int mode
        if _OF_HEAD.has[self.tag]:
            return self._start_in_head()
        if self.tag == TAG_CAPTION or self.tag == TAG_COLGROUP or _SECTIONS.has[self.tag]:
            mode = IN_TABLE
        elif self.tag == TAG_COL:
            mode = IN_COLUMN_GROUP
        elif self.tag == TAG_TR:
            mode = IN_TABLE_BODY
        elif _CELLS.has[self.tag]:
            mode = IN_ROW
        else:
            mode = IN_BODY
        cut(&self.template_modes, self.template_modes.count - 1)
        add(&self.template_modes, mode)
        self.mode = mode
        return True

    cdef bint _start_in_body(self) except -1:
        cdef int tag = self.tag, node
        if _BLOCKS.has[tag]:
            self.close_p_in_button()
            self.insert()
        elif tag == TAG_A:
            self._start_link()
        elif tag == TAG_LI:
            self._start_item(&_LI)
        elif _FORMATTING.has[tag]:
            self.reconstruct()
            self.remember(self.insert())
        elif _VOID.has[tag] or tag == TAG_IMAGE:
            if tag == TAG_IMAGE:
                self.tag = TAG_IMG
            self.reconstruct()
            self.insert_void()
            self.frameset_ok = False
        elif _HEADINGS.has[tag]:
            self.close_p_in_button()
            if _HEADINGS.has[self.current().tag] and self.current().space == HTML:
                self.pop()
            self.insert()
        elif tag == TAG_DD or tag == TAG_DT:
            self._start_item(&_DD_DT)
        elif tag == TAG_TABLE:
            if not self.is_quirky:
                self.close_p_in_button()
            self.insert()
            self.frameset_ok = False
            self.mode = IN_TABLE
        elif tag == TAG_INPUT:
            self._start_input()
        elif tag == TAG_BUTTON:
            if self.has_in(TAG_BUTTON, &SCOPE):
                self.imply_ends(NONE, &IMPLIED)
                self.pop_until(TAG_BUTTON)
            self.reconstruct()
            self.insert()
            self.frameset_ok = False
        elif tag == TAG_PRE or tag == TAG_LISTING:
            self.close_p_in_button()
            self.insert()
            self.frameset_ok = False
            self.skips_newline = True
        elif tag == TAG_FORM:
            if self.form == NONE or self.opened[TAG_TEMPLATE]:
                self.close_p_in_button()
                node = self.insert()
                if not self.opened[TAG_TEMPLATE]:
                    self.form = node
        elif _OF_HEAD.has[tag]:
            return self._start_in_head()
        elif tag == TAG_HR:
            self.close_p_in_button()
            if self.has_in(TAG_SELECT, &SCOPE):
                self.imply_ends(NONE, &IMPLIED)
            self.insert_void()
            self.frameset_ok = False
        elif tag == TAG_TEXTAREA:
            self._insert_raw(RCDATA)
            self.skips_newline = True
            self.frameset_ok = False
        elif tag == TAG_XMP:
            self.close_p_in_button()
            self.reconstruct()
            self.frameset_ok = False
            self._insert_raw(RAWTEXT)
        elif tag == TAG_IFRAME:
            self.frameset_ok = False
            self._insert_raw(RAWTEXT)
        elif tag == TAG_NOEMBED:
            self._insert_raw(RAWTEXT)
        elif _VOID_SILENT.has[tag]:
            self.insert_void()
        else:
            self._start_rarely_in_body()
        return False

    cdef int _start_rarely_in_body(self) except -1:
        cdef int tag = self.tag
        if tag == TAG_HTML or tag == TAG_BODY:
            if not self.opened[TAG_TEMPLATE]:
                self._merge_attributes(tag)
        elif tag == TAG_FRAMESET:
            self._start_frameset()
        elif tag == TAG_NOBR:
            self.reconstruct()
            if self.has_in(TAG_NOBR, &SCOPE):
                if not self.adopt(TAG_NOBR):
                    self._end_any()
                self.reconstruct()
            self.remember(self.insert())
        elif _HOLDERS.has[tag]:
            self.reconstruct()
            self.insert()
            self.mark()
            self.frameset_ok = False
        elif tag == TAG_PLAINTEXT:
            self.close_p_in_button()
            self.insert()
            self.raw = PLAIN
        elif tag == TAG_SELECT:
            self._start_select()
        elif tag == TAG_OPTION or tag == TAG_OPTGROUP:
            if self.has_in(TAG_SELECT, &SCOPE):
                self.imply_ends(TAG_OPTGROUP if tag == TAG_OPTION else NONE, &IMPLIED)
            elif self.is_open(self.open.count - 1, TAG_OPTION):
                self.pop()
            self.reconstruct()
            self.insert()
        elif tag == TAG_RB or tag == TAG_RTC or tag == TAG_RP or tag == TAG_RT:
            if self.has_in(TAG_RUBY, &SCOPE):
                self.imply_ends(TAG_RTC if tag == TAG_RP or tag == TAG_RT else NONE, &IMPLIED)
            self.insert()
        elif tag == TAG_MATH or tag == TAG_SVG:
            self.reconstruct()
            self._insert_foreign(MATHML if tag == TAG_MATH else SVG)
        elif not _NOT_IN_BODY.has[tag]:
            self.reconstruct()
            self.insert()
        return 0

    cdef int _merge_attributes(self, int tag) except -1:
        """A second `<html>` or `<body>` adds missing attributes to the first, at the end of the page."""
        cdef Tree tree = self.tree
        cdef int node, place
        cdef dict found
        if tag == TAG_BODY:
            if self.open.count < 2 or not self.is_open(1, TAG_BODY):
                return 0
            self.frameset_ok = False
        if not self.attribute_count:
            return 0
        node = self.open.all[tag == TAG_BODY]
        if self.added is None:
            self.added = {}
        found = self.added.get(node)
        if found is None:
            found = self.added[node] = {
                tree.attributes[place].name: None
                for place in range(tree.nodes[node].at, tree.nodes[node].at + tree.nodes[node].size)
            }
        for place in range(self.attributes, self.attributes + self.attribute_count):
            if tree.attributes[place].name not in found:
                found[tree.attributes[place].name] = (tree.attributes[place].at, tree.attributes[place].size)
        return 0

    cdef int _add_attributes(self) except -1:
        """Add the attributes that `_merge_attributes` collected."""
        cdef Tree tree = self.tree
        cdef int node
        for node, found in self.added.items():
            tree.move_attributes(node)
            for name, value in found.items():
                if value is not None:
                    tree.add_attribute(name, value[0], value[1])
                    tree.nodes[node].size += 1
        return 0

    cdef int _fill_selected(self) except -1:
        """The first `<selectedcontent>` of a `<select>` outside of options gets a copy of the selected option: the
        last that is marked as selected, else the first that is not disabled."""
        cdef Tree tree = self.tree
        cdef dict shown = {}, marked = {}, first = {}
        cdef int node = tree.following(ROOT, ROOT), around, name = tree.name_numbers["selectedcontent"]
        while node != NONE:
            if tree.nodes[node].name == name:
                around = tree.closest(node, &_CHOICES)
                if around != NONE and tree.tag(around) == TAG_SELECT:
                    shown.setdefault(around, node)
            elif tree.tag(node) == TAG_OPTION:
                around = tree.closest(node, &_SELECT)
                if tree.attr_named(node, "selected").start != NULL:
                    marked[around] = node
                elif tree.attr(node, ATTR_DISABLED).start == NULL:
                    first.setdefault(around, node)
            node = tree.following(node, ROOT)
        for around, node in shown.items():
            option = marked.get(around, first.get(around))
            if option is not None and tree.attr_named(around, "multiple").start == NULL and self.copies_left >= 0:
                tree.clear(node)
                self._copy_inner(option, node)
        return 0

    cdef int _copy_inner(self, int node, int to) except -1:
        """Copy the descendants of a node into another node, which is not among them."""
        cdef Tree tree = self.tree
        cdef int inner = tree.first(node), made
        while inner != NONE and self.copies_left >= 0:
            if tree.is_text(inner):
                made = self.new(TEXT)
                tree.nodes[made].at, tree.nodes[made].size = tree.nodes[inner].at, tree.nodes[inner].size
                self.copies_left -= 1 + tree.nodes[inner].size
            else:
                made = self._copy(inner)
            tree.link_last(to, made)
            if tree.first(inner) != NONE:
                inner, to = tree.first(inner), made
                continue
            while inner != node and tree.next(inner) == NONE:
                inner, to = tree.parent(inner), tree.parent(to)
            if inner != node:
                inner = tree.next(inner)
            else:
                inner = NONE
        return 0

    cdef int _start_frameset(self) except -1:
        if self.open.count < 2 or not self.is_open(1, TAG_BODY) or not self.frameset_ok:
            return 0
        self.tree.extract(self.open.all[1])
        while self.open.count > 1:
            self.pop()
        self.insert()
        self.mode = IN_FRAMESET
        return 0

    cdef int _start_link(self) except -1:
        cdef int before = self.find_formatting(TAG_A), place
        if before != NONE:
            self.adopt(TAG_A)
            self.forget(before)
            place = place_of(&self.open, before)
            if place != NONE:
                self.close(place)
        self.reconstruct()
        return self.remember(self.insert())

    cdef int _start_item(self, const TagSet* alike) except -1:
        """A list item closes the one before it."""
        cdef int place
        cdef Node* node
        self.frameset_ok = False
        for place in range(self.open.count - 1, -1, -1):
            node = &self.tree.nodes[self.open.all[place]]
            if node.space == HTML and alike.has[node.tag]:
                self.imply_ends(node.tag, &IMPLIED)
                self.pop_until(node.tag)
                break
            if self.is_special(place) and not (node.space == HTML and _PASSED.has[node.tag]):
                break
        self.close_p_in_button()
        self.insert()
        return 0

    cdef int _start_input(self) except -1:
        if self.has_in(TAG_SELECT, &SCOPE):
            self.pop_until(TAG_SELECT)
        self.reconstruct()
        self.insert_void()
        if not self._is_hidden_input():
            self.frameset_ok = False
        return 0

    cdef bint _is_hidden_input(self) except -1:
        return is_text_in_any_case(self._read_attribute(ATTR_TYPE), b"hidden")

    cdef Span _read_attribute(self, int name) except *:
        """The value of an attribute of the current tag."""
        cdef Span found
        cdef int place
        found.start, found.size = NULL, 0
        for place in range(self.attributes, self.attributes + self.attribute_count):
            if self.tree.attributes[place].name == name:
                found.start = self.tree.heap + self.tree.attributes[place].at
                found.size = self.tree.attributes[place].size
        return found

    cdef int _start_select(self) except -1:
        if self.has_in(TAG_SELECT, &SCOPE):
            return self.pop_until(TAG_SELECT)
        self.reconstruct()
        self.insert()
        self.frameset_ok = False
        return 0

    cdef bint _start_in_table(self) except -1:
        cdef int tag = self.tag
        if tag == TAG_TR or _CELLS.has[tag]:
            self.clear_back(&_TABLE_CONTEXT)
            self.implied(TAG_TBODY)
            self.mode = IN_TABLE_BODY
            return True
        if _SECTIONS.has[tag]:
            self.clear_back(&_TABLE_CONTEXT)
            self.insert()
            self.mode = IN_TABLE_BODY
        elif tag == TAG_CAPTION:
            self.clear_back(&_TABLE_CONTEXT)
            self.mark()
            self.insert()
            self.mode = IN_CAPTION
        elif tag == TAG_COLGROUP:
            self.clear_back(&_TABLE_CONTEXT)
            self.insert()
            self.mode = IN_COLUMN_GROUP
        elif tag == TAG_COL:
            self.clear_back(&_TABLE_CONTEXT)
            self.implied(TAG_COLGROUP)
            self.mode = IN_COLUMN_GROUP
            return True
        elif tag == TAG_TABLE:
            if not self.has_in(TAG_TABLE, &TABLE_SCOPE):
                return False
            self.pop_until(TAG_TABLE)
            self._reset_mode()
            return True
        elif tag == TAG_STYLE or tag == TAG_SCRIPT or tag == TAG_TEMPLATE:
            return self._start_in_head()
        elif tag == TAG_INPUT and self._is_hidden_input():
            self.insert_void()
        elif tag == TAG_FORM:
            if self.form == NONE and not self.opened[TAG_TEMPLATE]:
                self.form = self.insert()
                self.pop()
        else:
            return self._foster_start()
        return False

    cdef bint _foster_start(self) except -1:
        cdef bint again
        self.fosters = True
        again = self._start_in_body()
        self.fosters = False
        return again

    cdef bint _start_in_table_body(self) except -1:
        if self.tag == TAG_TR:
            self.clear_back(&_BODY_CONTEXT)
            self.insert()
            self.mode = IN_ROW
            return False
        if _CELLS.has[self.tag]:
            self.clear_back(&_BODY_CONTEXT)
            self.implied(TAG_TR)
            self.mode = IN_ROW
            return True
        if not _AFTER_SECTION.has[self.tag]:
            return self._start_in_table()
        return self._end_section()

    cdef bint _end_section(self) except -1:
        if not self.has_any_in(&_SECTIONS, &TABLE_SCOPE):
            return False
        self.clear_back(&_BODY_CONTEXT)
        self.pop()
        self.mode = IN_TABLE
        return True

    cdef bint _start_in_row(self) except -1:
        if _CELLS.has[self.tag]:
            self.clear_back(&_ROW_CONTEXT)
            self.insert()
            self.mode = IN_CELL
            self.mark()
            return False
        if not _AFTER_ROW.has[self.tag]:
            return self._start_in_table()
        return self._end_row()

    cdef bint _end_row(self) except -1:
        if not self.has_in(TAG_TR, &TABLE_SCOPE):
            return False
        self.clear_back(&_ROW_CONTEXT)
        self.pop()
        self.mode = IN_TABLE_BODY
        return True

    cdef bint _start_in_cell(self) except -1:
        if not _PARTS.has[self.tag]:
            return self._start_in_body()
        if not self.has_any_in(&_CELLS, &TABLE_SCOPE):
            return False
        self._close_cell()
        return True

    cdef int _close_cell(self) except -1:
        self.imply_ends(NONE, &IMPLIED)
        self.pop_until_any(&_CELLS)
        self.clear_to_marker()
        self.mode = IN_ROW
        return 0

    cdef bint _end_caption(self) except -1:
        """True if a caption was open."""
        if not self.has_in(TAG_CAPTION, &TABLE_SCOPE):
            return False
        self.imply_ends(NONE, &IMPLIED)
        self.pop_until(TAG_CAPTION)
        self.clear_to_marker()
        self.mode = IN_TABLE
        return True

    cdef bint _start_in_column_group(self) except -1:
        if self.tag == TAG_HTML:
            return self._start_in_body()
        if self.tag == TAG_COL:
            self.insert_void()
            return False
        if self.tag == TAG_TEMPLATE:
            return self._start_in_head()
        return self._end_column_group()

    cdef bint _end_column_group(self) except -1:
        if not self.is_open(self.open.count - 1, TAG_COLGROUP):
            return False
        self.pop()
        self.mode = IN_TABLE
        return True

    cdef int _reset_mode(self) except -1:
        """Reset the insertion mode by the open elements."""
        cdef int place, tag
        for place in range(self.open.count - 1, -1, -1):
            if self.tree.nodes[self.open.all[place]].space != HTML:
                continue
            tag = self.tree.nodes[self.open.all[place]].tag
            if _CELLS.has[tag] and place > 0:
                self.mode = IN_CELL
            elif tag == TAG_TR:
                self.mode = IN_ROW
            elif _SECTIONS.has[tag]:
                self.mode = IN_TABLE_BODY
            elif tag == TAG_CAPTION:
                self.mode = IN_CAPTION
            elif tag == TAG_COLGROUP:
                self.mode = IN_COLUMN_GROUP
            elif tag == TAG_TABLE:
                self.mode = IN_TABLE
            elif tag == TAG_TEMPLATE:
                self.mode = self.template_modes.all[self.template_modes.count - 1]
            elif tag == TAG_HEAD and place > 0:
                self.mode = IN_HEAD
            elif tag == TAG_BODY:
                self.mode = IN_BODY
            elif tag == TAG_FRAMESET:
                self.mode = IN_FRAMESET
            elif tag == TAG_HTML:
                self.mode = BEFORE_HEAD if self.head == NONE else AFTER_HEAD
            else:
                continue
            return 0
        self.mode = IN_BODY
        return 0

    cdef int end(self) except -1:
        """Handle the current end tag."""
        cdef bint again = True
        self.skips_newline = False
        while again:
            again = self._foreign_end() if self._is_foreign_end() else self._end_in(self.mode)
        return 0

    cdef bint _end_in(self, int mode) except -1:
        """True if the tag must be reprocessed in another mode."""
        if mode == IN_BODY:
            return self._end_in_body()
        if mode == IN_TABLE:
            return self._end_in_table()
        if mode == IN_ROW:
            return self._end_in_row()
        if mode == IN_CELL:
            return self._end_in_cell()
        if mode == IN_TABLE_BODY:
            return self._end_in_table_body()
        if mode == IN_TEMPLATE:
            if self.tag == TAG_TEMPLATE:
                self._close_template()
            return False
        if mode == IN_CAPTION:
            return self._end_in_caption()
        if mode == IN_COLUMN_GROUP:
            if self.tag == TAG_COLGROUP:
                self._end_column_group()
                return False
            if self.tag == TAG_COL:
                return False
            if self.tag == TAG_TEMPLATE:
                self._close_template()
                return False
            return self._end_column_group()
        return self._end_at_edges(mode)

    cdef bint _end_at_edges(self, int mode) except -1:
        cdef int tag = self.tag
        cdef bint is_common = tag == TAG_HEAD or tag == TAG_BODY or tag == TAG_HTML or tag == TAG_BR
        if mode == INITIAL:
            self.is_quirky = True
            self.mode = BEFORE_HTML
            return True
        if mode == BEFORE_HTML:
            if is_common:
                self._create_html()
            return is_common
        if mode == BEFORE_HEAD:
            if is_common:
                self._create_head()
            return is_common
        if mode == IN_HEAD:
            if tag == TAG_TEMPLATE:
                self._close_template()
                return False
            if is_common:
                self.pop()
                self.mode = AFTER_HEAD
            return is_common and tag != TAG_HEAD
        if mode == IN_HEAD_NOSCRIPT:
            if tag == TAG_NOSCRIPT or tag == TAG_BR:
                self.pop()
                self.mode = IN_HEAD
            return tag == TAG_BR
        if mode == AFTER_HEAD:
            if tag == TAG_TEMPLATE:
                self._close_template()
            elif tag == TAG_BODY or tag == TAG_HTML or tag == TAG_BR:
                self._create_body()
                return True
            return False
        if mode == AFTER_BODY:
            self.mode = AFTER_AFTER_BODY if tag == TAG_HTML else IN_BODY
            return tag != TAG_HTML
        if mode == AFTER_AFTER_BODY:
            self.mode = IN_BODY
            return True
        if mode == IN_FRAMESET and tag == TAG_FRAMESET and self.open.count > 1:
            self.pop()
            if not self.is_open(self.open.count - 1, TAG_FRAMESET):
                self.mode = AFTER_FRAMESET
        elif mode == AFTER_FRAMESET and tag == TAG_HTML:
            self.mode = AFTER_AFTER_FRAMESET
        return False

    cdef int _close_template(self) except -1:
        if not self.opened[TAG_TEMPLATE]:
            return 0
        self.imply_ends(NONE, &_IMPLIED_THOROUGHLY)
        self.pop_until(TAG_TEMPLATE)
        self.clear_to_marker()
        if self.template_modes.count:
            cut(&self.template_modes, self.template_modes.count - 1)
        return self._reset_mode()

    cdef bint _end_in_body(self) except -1:
        cdef int tag = self.tag
        if _CLOSED_BLOCKS.has[tag]:
            if self.has_in(tag, &SCOPE):
                self.imply_ends(NONE, &IMPLIED)
                self.pop_until(tag)
        elif _ALL_FORMATTING.has[tag]:
            if not self.adopt(tag):
                self._end_any()
        elif tag == TAG_P:
            if not self.has_in(TAG_P, &BUTTON_SCOPE):
                self.attribute_count = 0
                self.insert()
            self.close_p()
        elif tag == TAG_LI:
            if self.has_in(TAG_LI, &_LIST_SCOPE):
                self.imply_ends(TAG_LI, &IMPLIED)
                self.pop_until(TAG_LI)
        elif tag == TAG_DD or tag == TAG_DT:
            if self.has_in(tag, &SCOPE):
                self.imply_ends(tag, &IMPLIED)
                self.pop_until(tag)
        elif _HEADINGS.has[tag]:
            if self.has_any_in(&_HEADINGS, &SCOPE):
                self.imply_ends(NONE, &IMPLIED)
                self.pop_until_any(&_HEADINGS)
        elif tag == TAG_BODY or tag == TAG_HTML:
            if self.has_in(TAG_BODY, &SCOPE):
                self.mode = AFTER_BODY
                return tag == TAG_HTML
        elif tag == TAG_FORM:
            self._end_form()
        elif _HOLDERS.has[tag]:
            if self.has_in(tag, &SCOPE):
                self.imply_ends(NONE, &IMPLIED)
                self.pop_until(tag)
                self.clear_to_marker()
        elif tag == TAG_BR:
            self.reconstruct()
            self.attribute_count = 0
            self.insert_void()
            self.frameset_ok = False
        elif tag == TAG_TEMPLATE:
            self._close_template()
        else:
            self._end_any()
        return False

    cdef int _end_form(self) except -1:
        cdef int form = self.form, place
        if self.opened[TAG_TEMPLATE]:
            if self.has_in(TAG_FORM, &SCOPE):
                self.imply_ends(NONE, &IMPLIED)
                self.pop_until(TAG_FORM)
            return 0
        self.form = NONE
        if form == NONE:
            return 0
        place = place_of(&self.open, form)
        if place == NONE or not self.is_in_scope(place):
            return 0
        self.imply_ends(NONE, &IMPLIED)
        place = place_of(&self.open, form)
        if place != NONE:
            self.close(place)
        return 0

    cdef int _end_any(self) except -1:
        """Close the element with this tag, unless a special element is in between."""
        cdef int place
        cdef Node* node
        for place in range(self.open.count - 1, -1, -1):
            node = &self.tree.nodes[self.open.all[place]]
            if node.space == HTML and node.tag == self.tag and node.name == self.name:
                self.imply_ends(self.tag if self.tag else NONE, &IMPLIED)
                while self.open.count > place:
                    self.pop()
                return 0
            if self.is_special(place):
                return 0
        return 0

    cdef bint _end_in_table(self) except -1:
        if self.tag == TAG_TABLE:
            if self.has_in(TAG_TABLE, &TABLE_SCOPE):
                self.pop_until(TAG_TABLE)
                self._reset_mode()
        elif self.tag == TAG_TEMPLATE:
            self._close_template()
        elif not _NOT_IN_TABLE.has[self.tag]:
            self.fosters = True
            self._end_in_body()
            self.fosters = False
        return False

    cdef bint _end_in_table_body(self) except -1:
        if _SECTIONS.has[self.tag]:
            if self.has_in(self.tag, &TABLE_SCOPE):
                self.clear_back(&_BODY_CONTEXT)
                self.pop()
                self.mode = IN_TABLE
            return False
        if self.tag == TAG_TABLE:
            return self._end_section()
        return False if _NOT_IN_TABLE_BODY.has[self.tag] else self._end_in_table()

    cdef bint _end_in_row(self) except -1:
        if self.tag == TAG_TR:
            self._end_row()
            return False
        if self.tag == TAG_TABLE:
            return self._end_row()
        if _SECTIONS.has[self.tag]:
            return self.has_in(self.tag, &TABLE_SCOPE) and self._end_row()
        return False if _NOT_IN_ROW.has[self.tag] else self._end_in_table()

    cdef bint _end_in_cell(self) except -1:
        cdef int tag = self.tag
        if _CELLS.has[tag]:
            if self.has_in(tag, &TABLE_SCOPE):
                self.imply_ends(NONE, &IMPLIED)
                self.pop_until(tag)
                self.clear_to_marker()
                self.mode = IN_ROW
            return False
        if _NOT_IN_CELL.has[tag]:
            return False
        if tag == TAG_TABLE or tag == TAG_TR or _SECTIONS.has[tag]:
            if not self.has_in(tag, &TABLE_SCOPE):
                return False
            self._close_cell()
            return True
        return self._end_in_body()

    cdef bint _end_in_caption(self) except -1:
        if self.tag == TAG_CAPTION:
            self._end_caption()
            return False
        if self.tag == TAG_TABLE:
            return self._end_caption()
        if _NOT_IN_CELL.has[self.tag] or _PARTS.has[self.tag]:
            return False
        return self._end_in_body()

    cdef bint _is_math_text(self, const Node* node) noexcept:
        return node.space == MATHML and _MATH_TEXT.has[node.tag]

    cdef bint _is_html_point(self, const Node* node) noexcept:
        """Whether a foreign element is an HTML integration point."""
        return node.flags & IS_HTML_POINT != 0

    cdef bint _means_html(self) except -1:
        """Whether the foreign element of the current tag is an integration point; adjusts its names."""
        cdef Span encoding = self._read_attribute(ATTR_ENCODING)
        return is_text_in_any_case(encoding, b"text/html") or is_text_in_any_case(
            encoding, b"application/xhtml+xml"
        )

    cdef bint _is_foreign_text(self) except -1:
        cdef Node* node
        if not self.open.count:
            return False
        node = self.current()
        return node.space != HTML and not self._is_math_text(node) and not self._is_html_point(node)

    cdef bint _is_foreign_start(self) except -1:
        cdef Node* node
        if not self.open.count:
            return False
        node = self.current()
        if node.space == HTML or self._is_html_point(node):
            return False
        if self._is_math_text(node) and self.tag != TAG_MGLYPH and self.tag != TAG_MALIGNMARK:
            return False
        return not (node.space == MATHML and node.tag == TAG_ANNOTATION_XML and self.tag == TAG_SVG)

    cdef bint _is_foreign_end(self) noexcept:
        return self.open.count > 0 and self.current().space != HTML

    cdef bint _foreign_start(self) except -1:
        cdef int space
        if _BREAKING_OUT.has[self.tag] or (self.tag == TAG_FONT and self._is_old_font()):
            self._leave_foreign()
            return self._start_in(self.mode)
        space = self.current().space
        self._insert_foreign(space)
        return False

    cdef bint _is_old_font(self) except -1:
        cdef int place, name
        for place in range(self.attributes, self.attributes + self.attribute_count):
            name = self.tree.attributes[place].name
            if name >= ATTR_END and self.tree.names[name - ATTR_END] in ("color", "face", "size"):
                return True
        return False

    cdef int _leave_foreign(self) except -1:
        while self.open.count and self.current().space != HTML:
            if self._is_math_text(self.current()) or self._is_html_point(self.current()):
                break
            self.pop()
        return 0

    cdef int _insert_foreign(self, int space) except -1:
        cdef int node, parent = NONE, before = NONE
        if space == SVG:
            self._adjust_names(_SVG_TAGS, _SVG_ATTRIBUTES)
        else:
            self._adjust_names({}, {"definitionurl": "definitionURL"})
        node = self.element()
        self.tree.nodes[node].space = space
        if _SVG_SCOPE.has[self.tag] if space == SVG else self.tag == TAG_ANNOTATION_XML and self._means_html():
            self.tree.nodes[node].flags |= IS_HTML_POINT
        self.appropriate_place(NONE, &parent, &before)
        self.put_at(parent, before, node)
        if not self.closes_itself:
            self.push(node)
        return 0

    cdef int _adjust_names(self, dict tag_names, dict attribute_names) except -1:
        """Restore the mixed case of names of foreign elements."""
        cdef int place, name
        if self.name != NONE and self.tree.names[self.name] in tag_names:
            proper = tag_names[self.tree.names[self.name]]
            written = proper.encode()
            self.tag = known_tag(written, len(written))
            self.name = NONE if self.tag else self.tree.page_name(proper)
        for place in range(self.attributes, self.attributes + self.attribute_count):
            name = self.tree.attributes[place].name
            if name >= ATTR_END and self.tree.names[name - ATTR_END] in attribute_names:
                proper = attribute_names[self.tree.names[name - ATTR_END]]
                self.tree.attributes[place].name = ATTR_END + self.tree.page_name(proper)
        return 0

    cdef bint _foreign_end(self) except -1:
        """An end tag closes the foreign element of its name, ignoring case; otherwise it is handled as HTML."""
        cdef int place = self.open.count - 1, tag = self.tag, name = NONE
        cdef Node* node
        if self.tag == TAG_BR or self.tag == TAG_P:
            self._leave_foreign()
            return self._end_in(self.mode)
        if self.name != NONE and self.tree.names[self.name] in _SVG_TAGS:
            proper = _SVG_TAGS[self.tree.names[self.name]].encode()
            tag = known_tag(proper, len(proper))
            name = NONE if tag else self.tree.page_name(proper.decode())
        while place > 0:
            node = &self.tree.nodes[self.open.all[place]]
            if node.space == HTML:
                return self._end_in(self.mode)
            if (
                (tag and node.tag == tag)
                or (self.name != NONE and node.name == self.name)
                or (name != NONE and node.name == name)
            ):
                while self.open.count > place:
                    self.pop()
                return False
            place -= 1
        return False
