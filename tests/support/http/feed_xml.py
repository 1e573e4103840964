"""The feeds of the site, and functions that parse feeds and sitemaps."""

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

FEEDS = ["/@Alice/atom/", "/@Alice/rss/", "/timeline/atom/", "/timeline/rss/"]
NAMES = {
    "atom": "http://www.w3.org/2005/Atom",
    "dc": "http://purl.org/dc/elements/1.1/",
    "thr": "http://purl.org/syndication/thread/1.0",
    "map": "http://www.sitemaps.org/schemas/sitemap/0.9",
}


def root(response):
    """The document's root element. Raises ParseError for a document that is not well-formed."""
    return ET.fromstring(response.content)  # noqa: S314  made by us


def all_of(element, path):
    return element.findall(path, NAMES)


def one(element, path):
    """The only element at this path; it fails when there is none or more than one."""
    [found] = all_of(element, path)
    return found


def text(element, path):
    return one(element, path).text


def texts(element, path):
    return [found.text for found in all_of(element, path)]


class Html(HTMLParser):
    """The text and the elements of an item's HTML, as a feed reader parses it."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.words, self.elements = "", []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words += data
