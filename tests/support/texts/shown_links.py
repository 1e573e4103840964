"""The links in the text of a post, as a browser parses them."""

import re
from html.parser import HTMLParser

from accounts.signing_in.html import Rendering
from accounts.signing_in.viewer import VISITOR
from accounts.users.entities import User
from retwis_site.rendering.fragments import NOTHING
from timeline.posts.entities import Post
from timeline.posts.html import cards

BODY = re.compile(r'<p class="body" dir="auto">(.*?)</p>', re.DOTALL)
LINKED = [
    ("see https://example.com/a?b=c&d=e#f", [("https://example.com/a?b=c&d=e#f", "https://example.com/a?b=c&d=e#f")]),
    ("HTTP://EXAMPLE.COM", [("HTTP://EXAMPLE.COM", "HTTP://EXAMPLE.COM")]),
    ("http://localhost:8000/", [("http://localhost:8000/", "http://localhost:8000/")]),
    ("redis.io, or example.org/x.", [("redis.io", "http://redis.io"), ("example.org/x", "http://example.org/x")]),
    ("(https://example.com/a_(b)).", [("https://example.com/a_(b)", "https://example.com/a_(b)")]),
    ("<https://example.com>", [("https://example.com", "https://example.com")]),
    ("https://bücher.example/日本", [("https://bücher.example/日本", "https://bücher.example/日本")]),
    ("https://xn--bcher-kva.example/", [("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/")]),
    ("https://example.com/@alice", [("https://example.com/@alice", "https://example.com/@alice")]),
    ("https://a.example/?q='x'\"y", [("https://a.example/?q='x'", "https://a.example/?q='x'")]),
    # An invisible character ends an address, so that the link shows its real target.
    ("https://example.com/\u202emoc.live", [("https://example.com/", "https://example.com/")]),
    ("https://exam\u200bple.com", [("https://exam", "https://exam"), ("ple.com", "http://ple.com")]),
    # A sentence goes on: an address ends before it.
    ("「https://a.com/x」，见a.com。", [("https://a.com/x", "https://a.com/x"), ("见a.com", "http://见a.com")]),
    ("看https://a.com/x！", [("https://a.com/x", "https://a.com/x")]),
    ("a.com：b.com？", [("a.com", "http://a.com"), ("b.com", "http://b.com")]),
    ("[a.com/(b](a.com/c)", [("a.com/", "http://a.com/"), ("a.com/c", "http://a.com/c")]),
    ("|https://a.com/x| `b.com/y`: x", [("https://a.com/x", "https://a.com/x"), ("b.com/y", "http://b.com/y")]),
    ("A full stop.https://a.com 👉https://b.com", [(f"https://{a}.com", f"https://{a}.com") for a in "ab"]),
    ("@alice", [("@alice", "/@alice/")]),
    ("Hello @Alice_2, (@bob): @carol's!", [("@Alice_2", "/@Alice_2/"), ("@bob", "/@bob/"), ("@carol", "/@carol/")]),
    ("@alice.", [("@alice", "/@alice/")]),
    ("@alice... @bob?", [("@alice", "/@alice/"), ("@bob", "/@bob/")]),
    ("👋@alice👋 \u2067@bob\u2069", [("@alice", "/@alice/"), ("@bob", "/@bob/")]),
    ("שלום @alice, 你好 @bob。", [("@alice", "/@alice/"), ("@bob", "/@bob/")]),
    ("@" + "a" * 30, [("@" + "a" * 30, "/@" + "a" * 30 + "/")]),
    ("#Redis, see #日本.", [("#Redis", "/tags/redis/"), ("#日本", "/tags/%E6%97%A5%E6%9C%AC/")]),
    ("@alice see redis.io", [("@alice", "/@alice/"), ("redis.io", "http://redis.io")]),
]


class Shown(HTMLParser):
    """A post's text as a browser parses it: the text, every tag, and the text and address of each link. The stylesheet
    hides the `rests` of long addresses."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.text, self.tags, self.links, self.rests = "", [], [], []
        self._in_rest = False
        post = Post(7, User(1, "Alice"), text, 1_700_000_000)
        html = cards([post], Rendering("en", NOTHING, VISITOR)).decode()
        [self.html] = BODY.findall(html)
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag, attrs):
        if (tag, attrs) == ("span", [("class", "rest")]):
            self._in_rest = True
            return
        self.tags.append((tag, dict(attrs)))
        self.links.append(["", dict(attrs).get("href")])

    def handle_endtag(self, tag):
        if self._in_rest:
            self._in_rest = False
            assert tag == "span"
            return
        self.tags.append((f"/{tag}", {}))

    def handle_data(self, data):
        self.text += data
        if self._in_rest:
            self.rests.append(data)
        if len(self.tags) % 2:
            self.links[-1][0] += data
