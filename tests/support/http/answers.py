"""What must hold of every answer: no failure, no element of somebody else's making, no way that leads elsewhere."""

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from accounts.users import avatars
from retwis_site.http.flash_messages import FlashStorage
from retwis_site.http.language import COOKIE as LANGUAGE
from retwis_site.http.security_headers import POLICY
from retwis_site.rendering.theme import THEME_COOKIE
from tests.support.http.hostile_values import MARK
from timeline.posts.drafts import COOKIE as DRAFT
from timeline.timelines.unread import COOKIE as SINCE

UNESCAPED = re.compile(rf"<{MARK}|{MARK}=b>|c\"{MARK}|{MARK}'d|d&e", re.IGNORECASE)
ACTIVE = {"script", "svg", "iframe", "object", "embed", "base", "style", "math", "template"}
OUR_SCRIPTS = {"/static/htmx.min.js", "/static/retwis.js"}
ADDRESSES = {"href", "src", "action", "formaction", "data", "poster"}
LINK_RELATION = "nofollow ugc noopener"
FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def _our_drawings():
    """The icons as our templates have them and every avatar, to the last character."""
    templates = [path.read_text() for path in (Path(settings.BASE_DIR) / "templates").rglob("*.html")]
    icons = {drawing for text in templates for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL)}
    colours = dict.fromkeys("012", f"(?:{'|'.join(avatars.THREADS)})")
    shapes = [re.sub(r"\\{(\d)\\}", lambda found: colours[found[1]], re.escape(shape)) for shape in avatars.SHAPES]
    ground = f"(?P<ground>{'|'.join(avatars.GROUNDS)})"
    head = re.escape(avatars.HEAD.format("GROUND")).replace("GROUND", ground, 1).replace("GROUND", "(?P=ground)")
    avatar = f"{head}(?:{'|'.join(shapes)})</svg>"
    return re.compile("|".join([avatar, *map(re.escape, icons)]))


OUR_DRAWINGS = _our_drawings()


class Page(HTMLParser):
    """What a browser makes of a page; `foreign` is what our templates did not put there."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.foreign, self.links, self._texts = [], [], []
        self._is_in_post = False
        self.feed(OUR_DRAWINGS.sub("<i></i>", html))
        self.close()

    def texts(self, element):
        """What stands in the page's `p.body`, or `textarea.body`."""
        return [text for known, text in self._texts if known == element]

    def handle_starttag(self, tag, attrs):
        has = {name: value or "" for name, value in attrs}
        suspects = [name for name in has if name.startswith("on") or name == "style" or MARK in name]
        away = not (self._is_in_post and is_typed_link(tag, has)) and not is_canonical(tag, has)
        suspects += [name for name in ADDRESSES & has.keys() if away and not leads_home(has[name])]
        active = tag in ACTIVE and not is_ours(tag, has)
        if active or MARK in tag or suspects or (has.get("type") == "password" and has.get("value")):
            self.foreign.append((tag, attrs))
        self.links.append(has.get("href"))
        if self._is_in_post and tag == "a":
            return  # its text is the post's
        self._is_in_post = (tag, has.get("class")) in {("p", "body"), ("p", "bio")}
        self._texts.append((f"{tag}.{has.get('class') or has.get('name')}", ""))

    def handle_endtag(self, tag):
        if self._is_in_post and tag == "a":
            return
        self._is_in_post = False
        self._texts.append(("", ""))

    def handle_data(self, data):
        if self._texts:
            element, text = self._texts[-1]
            self._texts[-1] = (element, text + data)


def is_ours(tag, has):
    """Our own scripts, which every page loads from its own file, and nothing else of that kind."""
    return tag == "script" and set(has) == {"src", "defer"} and has["src"] in OUR_SCRIPTS


def is_typed_link(tag, has):
    """A link that its author typed: the one thing that leads elsewhere. It may stand in a post's text alone."""
    leads_to = urlsplit(has.get("href", "")).scheme
    return tag == "a" and set(has) == {"href", "rel"} and has["rel"] == LINK_RELATION and leads_to in {"http", "https"}


def is_canonical(tag, has):
    """Where a post stands, for search engines: a whole address of ours."""
    return tag == "link" and has.get("rel") == "canonical" and _is_this_site(has.get("href", ""), {"http", "https"})


def leads_home(address):
    """Whether a browser that follows an address stays with us. To it, a backslash is a slash, and tabs are nothing."""
    seen = re.sub(r"[\t\r\n]", "", address.strip("".join(map(chr, range(33))))).replace("\\", "/")
    if seen.startswith(("?", "#")) or seen == "":
        return True
    return seen.startswith("/") and not seen.startswith("//")


def foreign(html):
    """What stands in a page that must not; nothing if all is well."""
    return Page(html).foreign or UNESCAPED.findall(html)


@dataclass(frozen=True)
class Answer:
    """What the application said."""

    status: int
    headers: list
    body: bytes

    def all(self, name):
        """A header's values; its name in lower case."""
        return [value for known, value in self.headers if known.lower() == name]

    @property
    def html(self):
        """The page; empty when it is none."""
        return self.body.decode() if self.all("content-type")[:1] == ["text/html; charset=utf-8"] else ""

    @property
    def cookies(self):
        """By name; what is deleted is None."""
        found = {}
        for line in self.all("set-cookie"):
            name, _, value = line.partition(";")[0].strip().partition("=")
            found[name] = None if "max-age=0" in line.lower() else value
        return found


def check(answer):
    """What must hold of every answer, whatever was asked."""
    assert answer.status < 500, answer
    for name, value in answer.headers:
        assert FIELD_NAME.fullmatch(name), name
        assert FIELD_VALUE.fullmatch(value), (name, value)
    for location in answer.all("location"):
        assert leads_home(location) or _is_this_site(location), location
    ours = {
        settings.AUTH_COOKIE,
        settings.CSRF_COOKIE_NAME,
        FlashStorage.cookie_name,
        THEME_COOKIE,
        LANGUAGE,
        DRAFT,
        SINCE,
    }
    strange = answer.cookies.keys() - ours
    assert not strange, strange
    if any("application/" in kind and "xml" in kind for kind in answer.all("content-type")):
        assert not answer.body or ET.fromstring(answer.body) is not None  # noqa: S314  made by us
    if any("html" in kind for kind in answer.all("content-type")):
        assert answer.html or not answer.body, answer
        assert answer.all("content-security-policy") == [POLICY], answer
        assert not foreign(answer.html), foreign(answer.html)


def _is_this_site(address, schemes=frozenset({"https"})):
    """For the way from HTTP to HTTPS, which is a whole address. A host's last dot says nothing."""
    parts = urlsplit(address)
    return parts.scheme in schemes and (parts.hostname or "").removesuffix(".") in settings.ALLOWED_HOSTS
