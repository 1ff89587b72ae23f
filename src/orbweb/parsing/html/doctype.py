"""Doctypes, and which of them put browsers into quirks mode."""

from __future__ import annotations

from typing import NamedTuple

_QUIRKY = (
    "+//silmaril//dtd html pro v0r11 19970101//",
    "-//as//dtd html 3.0 aswedit + extensions//",
    "-//advasoft ltd//dtd html 3.0 aswedit + extensions//",
    "-//ietf//dtd html 2.0 level 1//",
    "-//ietf//dtd html 2.0 level 2//",
    "-//ietf//dtd html 2.0 strict level 1//",
    "-//ietf//dtd html 2.0 strict level 2//",
    "-//ietf//dtd html 2.0 strict//",
    "-//ietf//dtd html 2.0//",
    "-//ietf//dtd html 2.1e//",
    "-//ietf//dtd html 3.0//",
    "-//ietf//dtd html 3.2 final//",
    "-//ietf//dtd html 3.2//",
    "-//ietf//dtd html 3//",
    "-//ietf//dtd html level 0//",
    "-//ietf//dtd html level 1//",
    "-//ietf//dtd html level 2//",
    "-//ietf//dtd html level 3//",
    "-//ietf//dtd html strict level 0//",
    "-//ietf//dtd html strict level 1//",
    "-//ietf//dtd html strict level 2//",
    "-//ietf//dtd html strict level 3//",
    "-//ietf//dtd html strict//",
    "-//ietf//dtd html//",
    "-//metrius//dtd metrius presentational//",
    "-//microsoft//dtd internet explorer 2.0 html strict//",
    "-//microsoft//dtd internet explorer 2.0 html//",
    "-//microsoft//dtd internet explorer 2.0 tables//",
    "-//microsoft//dtd internet explorer 3.0 html strict//",
    "-//microsoft//dtd internet explorer 3.0 html//",
    "-//microsoft//dtd internet explorer 3.0 tables//",
    "-//netscape comm. corp.//dtd html//",
    "-//netscape comm. corp.//dtd strict html//",
    "-//o'reilly and associates//dtd html 2.0//",
    "-//o'reilly and associates//dtd html extended 1.0//",
    "-//o'reilly and associates//dtd html extended relaxed 1.0//",
    "-//sq//dtd html 2.0 hotmetal + extensions//",
    "-//softquad software//dtd hotmetal pro 6.0::19990601::extensions to html 4.0//",
    "-//softquad//dtd hotmetal pro 4.0::19971010::extensions to html 4.0//",
    "-//spyglass//dtd html 2.0 extended//",
    "-//sun microsystems corp.//dtd hotjava html//",
    "-//sun microsystems corp.//dtd hotjava strict html//",
    "-//w3c//dtd html 3 1995-03-24//",
    "-//w3c//dtd html 3.2 draft//",
    "-//w3c//dtd html 3.2 final//",
    "-//w3c//dtd html 3.2//",
    "-//w3c//dtd html 3.2s draft//",
    "-//w3c//dtd html 4.0 frameset//",
    "-//w3c//dtd html 4.0 transitional//",
    "-//w3c//dtd html experimental 19960712//",
    "-//w3c//dtd html experimental 970421//",
    "-//w3c//dtd w3 html//",
    "-//w3o//dtd w3 html 3.0//",
    "-//webtechs//dtd mozilla html 2.0//",
    "-//webtechs//dtd mozilla html//",
)
_QUIRKY_WHOLE = ("-//w3o//dtd w3 html strict 3.0//en//", "-/w3c/dtd html 4.0 transitional/en", "html")
_QUIRKY_WITHOUT_SYSTEM = ("-//w3c//dtd html 4.01 frameset//", "-//w3c//dtd html 4.01 transitional//")
_QUIRKY_SYSTEM = "http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd"


_SPACES = " \t\n\f"


class Doctype(NamedTuple):
    """A doctype by the HTML standard; missing parts are None."""

    name: str | None
    public: str | None = None
    system: str | None = None
    is_broken: bool = False
    """Whether its parse errors alone force quirks mode."""

    @property
    def is_quirky(self) -> bool:
        """Whether it puts the page into quirks mode."""
        public, system = (self.public or "").lower(), (self.system or "").lower()
        if self.is_broken or self.name != "html" or system == _QUIRKY_SYSTEM:
            return True
        if public in _QUIRKY_WHOLE or public.startswith(_QUIRKY):
            return True
        return self.system is None and public.startswith(_QUIRKY_WITHOUT_SYSTEM)


def read(text: str, *, is_closed: bool) -> Doctype:
    """Parse the text between the word `doctype` and the `>`, or the end of the page."""
    name, rest = _word(text.replace("\0", "\ufffd").lstrip(_SPACES))
    if not name:
        return Doctype(None, is_broken=True)
    if not rest:
        return Doctype(name, is_broken=not is_closed)
    keyword = rest[:6].lower()
    if keyword not in ("public", "system"):
        return Doctype(name, is_broken=True)
    public = system = None
    first, is_whole, rest = _quoted(rest[6:].lstrip(_SPACES))
    if keyword == "system":
        system = first
    else:
        public = first
        if is_whole and rest:
            system, is_whole, rest = _quoted(rest)
    is_broken = not is_whole or (not rest and not is_closed)
    return Doctype(name, public, system, is_broken)


def _word(text: str) -> tuple[str, str]:
    """The name at the start of a text, in lower case, and the rest after the following blanks."""
    size = next((place for place, sign in enumerate(text) if sign in _SPACES), len(text))
    name = "".join(sign.lower() if sign.isascii() else sign for sign in text[:size])
    return name, text[size:].lstrip(_SPACES)


def _quoted(text: str) -> tuple[str | None, bool, str]:
    """The quoted string at the start of a text, whether it is closed, and the rest."""
    if not text or text[0] not in "\"'":
        return None, False, text
    value, quote, rest = text[1:].partition(text[0])
    return value, bool(quote), rest.lstrip(_SPACES)
