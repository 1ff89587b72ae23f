"""The tokens of markup without a tree, to run the tokenizer tests of html5lib. Used by tests only.

The tokenizer is the real one; only the handling of tokens is replaced.
"""

from orbweb.parsing.html.doctype import read as read_doctype

from orbweb.parsing.html.tokenizer cimport Parser
from orbweb.parsing.html.tree_builder cimport PLAIN, RAWTEXT, RCDATA, SCRIPT
from orbweb.parsing.html.tree cimport Tree

cdef dict _RAW = {"PLAINTEXT": PLAIN, "RAWTEXT": RAWTEXT, "RCDATA": RCDATA, "Script data": SCRIPT}
# A name that no end tag has, because it is not UTF-8.
cdef bytes _NO_NAME = b"\xff"


def tokens(bytes markup not None, str state="Data", str last=""):
    """The tokens of markup. `state` is the initial state of the tokenizer: "Data", "CDATA section" or that of the
    text of an element, whose name is `last`."""
    cdef Recorder recorder = Recorder.__new__(Recorder)
    cdef const char* at
    cdef const char* end
    if b"\r" in markup:
        markup = markup.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    at = markup
    end = at + len(markup)
    recorder.tree = Tree.__new__(Tree, "")
    recorder.tree.reserve(len(markup) + 1)
    recorder.found = []
    recorder.last = last.encode() or _NO_NAME
    if state == "CDATA section":
        at = recorder.read_cdata(at, end)
    elif state != "Data":
        recorder.raw = _RAW[state]
        at = recorder.read_raw(at, end)
    recorder.read_markup(at, end)
    return recorder.found


cdef class Recorder(Parser):
    """A parser that records tokens. No tag changes the state of the tokenizer."""

    cdef list found
    cdef bytes last

    cdef int start(self) except -1:
        cdef int node = self.element()
        token = ["StartTag", self.tree.tag_name(node), dict(self.tree.attributes_of(node))]
        if self.closes_itself:
            token.append(True)
        self.found.append(token)
        return 0

    cdef int end(self) except -1:
        self.found.append(["EndTag", self.tree.tag_name(self.element())])
        return 0

    cdef int end_raw(self, bint has_tag) except -1:
        return self.end() if has_tag else 0

    cdef int characters(self, int at, int end) except -1:
        text = self.tree.heap[at:end].decode("utf-8", "surrogatepass")
        if text:
            self.found.append(["Character", text])
        return 0

    cdef int raw_text(self, int at, int end) except -1:
        return self.characters(at, end)

    cdef bytes raw_name(self):
        return self.last

    cdef int comment(self, const char* start, const char* stop) except -1:
        self._flush()
        text = start[:stop - start].replace(b"\0", b"\xef\xbf\xbd")
        self.found.append(["Comment", text.decode("utf-8", "surrogatepass")])
        return 0

    cdef int doctype(self, const char* start, const char* stop, bint is_closed) except -1:
        text = start[:stop - start].decode("utf-8", "surrogatepass")
        found = read_doctype(text, is_closed=is_closed)
        self.found.append(["DOCTYPE", found.name, found.public, found.system, not found.is_broken])
        return 0
