"""Checks of every answer: no failure, no element that the templates did not make, no link to another site."""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urlsplit

from django.conf import settings

from accounts.signing_in.factors import CONFIRMED_COOKIE, PENDING_COOKIE
from accounts.signing_in.guards import ENDED_COOKIE
from accounts.signing_in.middleware import POSTS_CHANGED as CHANGED, SITE_CHANGED
from retwis_site.http.cookies import FlashStorage
from retwis_site.http.language import COOKIE as LANGUAGE
from retwis_site.http.security_headers import POLICY
from retwis_site.rendering.pages import SHORTCUTS_COOKIE, THEME_COOKIE
from tests.support.http.hostile_values import MARK
from timeline.posts.composer import DRAFT_COOKIE as DRAFT
from timeline.timelines.html import LAST_READ_COOKIE as SINCE

UNESCAPED = re.compile(rf"<{MARK}|{MARK}=b>|c\"{MARK}|{MARK}'d|d&e", re.IGNORECASE)
ACTIVE = {"script", "svg", "iframe", "object", "embed", "base", "style", "math", "template"}
OWN_SCRIPTS = {"/static/retwis.js", "/static/members.js", "/static/passkeys.js"}
ADDRESSES = {"href", "src", "action", "formaction", "data", "poster"}
LINK_RELATION = "nofollow ugc noopener"
FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def _own_drawings():
    """A pattern for exactly the drawings of the templates."""
    templates = [path.read_text() for path in (settings.BASE_DIR / "templates").rglob("*.html")]
    drawings = {drawing for text in templates for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL)}
    code = r'<svg class="qr"[^<>]*>(<path [^<>]*/>)*</svg>'  # segno draws it
    return re.compile("|".join([code, *map(re.escape, drawings)]))


OWN_DRAWINGS = _own_drawings()


class Page(HTMLParser):
    """A page as a browser parses it. `foreign`: the elements that the templates did not make."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.foreign, self.links, self._texts = [], [], []
        self._is_in_post = False
        self.feed(OWN_DRAWINGS.sub("<i></i>", html))
        self.close()

    def texts(self, element):
        """The texts of all such elements, by tag and class or name: `p.body`, `textarea.body`."""
        return [text for known, text in self._texts if known == element]

    def handle_starttag(self, tag, attrs):
        has = {name: value or "" for name, value in attrs}
        suspects = [name for name in has if name.startswith("on") or name == "style" or MARK in name]
        away = not (self._is_in_post and is_typed_link(tag, has)) and not is_canonical(tag, has)
        away = away and not is_for_authenticator(tag, has)
        suspects += [name for name in ADDRESSES & has.keys() if away and not stays_on_site(has[name])]
        active = tag in ACTIVE and not is_own_script(tag, has)
        if active or MARK in tag or suspects or (has.get("type") == "password" and has.get("value")):
            self.foreign.append((tag, attrs))
        self.links.append(has.get("href"))
        if self._is_in_post and tag in {"a", "span"}:
            return  # its text belongs to the post
        if self._is_in_post and tag == "br":
            self.handle_data("\n")
            return
        self._is_in_post = (tag, has.get("class")) in {("p", "body"), ("p", "bio")}
        self._texts.append((f"{tag}.{has.get('class') or has.get('name')}", ""))

    def handle_endtag(self, tag):
        if self._is_in_post and tag in {"a", "span"}:
            return
        self._is_in_post = False
        self._texts.append(("", ""))

    def handle_data(self, data):
        if self._texts:
            element, text = self._texts[-1]
            self._texts[-1] = (element, text + data)


def is_own_script(tag, has):
    """Whether it is one of the site's two script elements."""
    return tag == "script" and set(has) == {"src", "defer"} and has["src"] in OWN_SCRIPTS


def is_typed_link(tag, has):
    """Whether it is a link that an author typed. Only the text of a post or a bio may have one."""
    scheme = urlsplit(has.get("href", "")).scheme
    return (
        tag == "a"
        and set(has) == {"href", "rel", "dir"}
        and has["rel"] == LINK_RELATION
        and scheme in {"http", "https"}
    )


def is_canonical(tag, has):
    """Whether it is a post's canonical link, for search engines: a whole address of this site."""
    return tag == "link" and has.get("rel") == "canonical" and _is_this_site(has.get("href", ""), {"http", "https"})


def is_for_authenticator(tag, has):
    """Whether it is the link with which an authenticator app adds the site."""
    return tag == "a" and has.get("class") == "button quiet" and has.get("href", "").startswith("otpauth://totp/")


def stays_on_site(address):
    """Whether the address leads to this site. A browser reads a backslash as a slash and ignores tabs."""
    seen = re.sub(r"[\t\r\n]", "", address.strip("".join(map(chr, range(33))))).replace("\\", "/")
    if seen.startswith(("?", "#")) or seen == "":
        return True
    return seen.startswith("/") and not seen.startswith("//")


def foreign(html):
    """The foreign elements or the unescaped texts of a page; empty when there are none."""
    return Page(html).foreign or UNESCAPED.findall(html)


@dataclass(frozen=True)
class Answer:
    """A response of the application."""

    status: int
    headers: list
    body: bytes

    def all(self, name):
        """The values of a header; `name` is in lower case."""
        return [value for known, value in self.headers if known.lower() == name]

    @property
    def html(self):
        """The page; empty when the answer is not HTML."""
        return self.body.decode() if self.all("content-type")[:1] == ["text/html; charset=utf-8"] else ""

    @property
    def cookies(self):
        """The cookies that it sets, by name; None for a cookie that it deletes."""
        found = {}
        for line in self.all("set-cookie"):
            name, _, value = line.partition(";")[0].strip().partition("=")
            found[name] = None if "max-age=0" in line.lower() else value
        return found


def check_answer(answer):
    """Assert what must hold of the answer to any request."""
    assert answer.status < 500, answer
    for name, value in answer.headers:
        assert FIELD_NAME.fullmatch(name), name
        assert FIELD_VALUE.fullmatch(value), (name, value)
    for location in answer.all("location"):
        assert stays_on_site(location) or _is_this_site(location), location
    known = {
        settings.AUTH_COOKIE,
        settings.CSRF_COOKIE_NAME,
        FlashStorage.cookie_name,
        THEME_COOKIE,
        SHORTCUTS_COOKIE,
        LANGUAGE,
        DRAFT,
        SINCE,
        CHANGED,
        SITE_CHANGED,
        ENDED_COOKIE,
        PENDING_COOKIE,
        CONFIRMED_COOKIE,
    }
    unknown = answer.cookies.keys() - known
    assert not unknown, unknown
    if any("application/" in kind and "xml" in kind for kind in answer.all("content-type")):
        assert not answer.body or ET.fromstring(answer.body) is not None  # noqa: S314  made by us
    if any("html" in kind for kind in answer.all("content-type")):
        assert answer.html or not answer.body, answer
        assert answer.all("content-security-policy") == [POLICY], answer
        assert not foreign(answer.html), foreign(answer.html)


def _is_this_site(address, schemes=frozenset({"https"})):
    """Whether a whole address is on this site, as in a redirect to HTTPS. A dot at the end of the host is ignored."""
    parts = urlsplit(address)
    return parts.scheme in schemes and (parts.hostname or "").removesuffix(".") in settings.ALLOWED_HOSTS
