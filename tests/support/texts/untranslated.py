"""Finds the words of a page that nobody can translate. A test catalog puts brackets around each text of the site.
Outside of them, a page may have no letters except names and code."""

import re
from html.parser import HTMLParser

from django.conf import settings
from django.conf.locale import LANG_INFO

LANGUAGE = "de"  # whose catalog the tests replace
# The names of languages: each in its own language, and as Django has it for the other languages.
NAMES = {
    "Retwis",
    "Atom",
    "RSS",
    *(name for code, own in settings.LANGUAGES for name in (own, LANG_INFO[code]["name"])),
}
LETTERS = re.compile(r"[^\W\d_]+")
ATTRIBUTES = {"title", "aria-label", "aria-description", "alt", "placeholder", "label"}
DATA_WITHOUT_TEXT = {"data-theme", "data-colour", "data-phrases"}
META_TEXTS = {"description", "og:title", "og:description"}
BUTTONS = {"submit", "button", "reset"}
WITHOUT_TEXT = {"script", "style"}
VOID = {"meta", "link", "img", "input", "br", "hr", "source", "wbr"}


class BracketCatalog:
    """A catalog that puts brackets around each text, translated yet or not."""

    def gettext(self, message):
        return f"⟦{message.rpartition(chr(4))[2]}⟧" if message else message

    def ngettext(self, one, many, number):
        return f"⟦{one if number == 1 else many}⟧"

    def plural(self, number):
        return int(number != 1)

    def to_language(self):
        return LANGUAGE


class Words(HTMLParser):
    """The words of a page outside of the brackets, each with its place: (tag or attribute, word)."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.bare, self._open, self._depth = [], [], 0
        self.feed(html)
        self.close()
        assert self._depth == 0

    def handle_starttag(self, tag, attrs):
        has = {name: value or "" for name, value in attrs}
        read = {
            name for name in has if name in ATTRIBUTES or (name.startswith("data-") and name not in DATA_WITHOUT_TEXT)
        }
        if tag == "input" and has.get("type") in BUTTONS:
            read.add("value")
        if tag == "meta" and META_TEXTS & {has.get("name"), has.get("property")}:
            read.add("content")
        for name in read if "" not in self._open[1:] else ():
            self._look(has[name], f"{tag} {name}", 0)
        if tag not in VOID:
            # text with a `lang` attribute is not translated, and code neither
            self._open.append("" if has.get("lang") or tag == "code" else tag)

    def handle_endtag(self, tag):
        if tag not in VOID and self._open:
            self._open.pop()

    def handle_data(self, data):
        if self._open and (self._open[-1] in WITHOUT_TEXT or "" in self._open[1:]):
            return
        self._depth = self._look(data, self._open[-1] if self._open else "", self._depth)

    def _look(self, text, where, depth):
        for piece in re.split("([⟦⟧])", text):
            depth += {"⟦": 1, "⟧": -1}.get(piece, 0)
            assert depth >= 0, (where, text)
            if not depth:
                self.bare += [(where, word) for word in LETTERS.findall(piece) if word not in NAMES]
        return depth
