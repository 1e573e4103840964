"""The forms of a page, as a browser sends them: each button of each form is a way to send it."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

TYPED = 'Grüße an "alle" & jeden <3'
TEXTS = {"text", "search", "url", "email", "number"}


@dataclass
class Form:
    """`fields` as (name, value), with every box ticked and the last of every choice chosen. `texts`: the names of those
    into which a person types; `secrets`: of those whose text a browser hides; `buttons`: (address, name, value)."""

    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    secrets: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    buttons: list[tuple[str, str, str]] = field(default_factory=list)

    def sent(self):
        """(address, fields) for each of its buttons, with TYPED in each text."""
        typed = [(name, TYPED if name in self.texts | self.secrets else value) for name, value in self.fields]
        for address, name, value in self.buttons or [("", "", "")]:
            yield address or self.action, [*typed, *([(name, value)] if name else [])]


class Forms(HTMLParser):
    """`Forms(html, path).found`: the forms of the page at this path that are sent with POST."""

    def __init__(self, html, path):
        super().__init__()
        self._path, self._open, self._select, self._is_text = path, None, "", False
        self._all, self._by_id = [], {}
        self.feed(html)
        self.found = [one for one in self._all if one.method == "post"]

    def handle_starttag(self, tag, attrs):
        has = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = self._by_id[has.get("id")] = Form(has.get("action") or self._path, has.get("method", "get"))
            self._all.append(self._open)
        form = self._by_id[has["form"]] if "form" in has else self._open
        if form is None or tag not in {"button", "textarea", "select", "option", "input"}:
            return
        name, kind = has.get("name", ""), has.get("type", "submit" if tag == "button" else "text")
        if tag == "button":
            form.buttons += [(has.get("formaction", ""), name, has.get("value", ""))] if kind == "submit" else []
        elif tag == "textarea":
            self._is_text = bool(name)
            self._typed(form.texts, name, "")
        elif tag == "select":
            self._select = name
        elif tag == "option" or kind == "radio":
            self._choose(form, name or self._select, has.get("value", ""))
        elif kind == "file":
            form.files.add(name)
        elif kind in TEXTS or kind == "password":
            self._typed(form.secrets if kind == "password" else form.texts, name, has.get("value", ""))
        elif name:
            form.fields.append((name, has.get("value", "on")))

    def handle_data(self, data):
        if self._is_text:
            name, text = self._open.fields.pop()
            self._open.fields.append((name, (text + data).removeprefix("\n")))

    def handle_endtag(self, tag):
        self._is_text = False
        if tag == "form":
            self._open = None

    def _typed(self, kind, name, value):
        if name:
            kind.add(name)
            self._open.fields.append((name, value))

    def _choose(self, form, name, value):
        form.fields[:] = [*(one for one in form.fields if one[0] != name), (name, value)]
