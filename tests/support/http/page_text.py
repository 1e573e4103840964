"""What tests read from a page: its text, the users that it lists, and its meta tags."""

import html
import re
from urllib.parse import unquote, urljoin

TAG = re.compile(r"<[^>]+>")
BLOCK = re.compile(r"</?(?:p|div|ul|ol|li|h[1-6]|section|form|nav|aside|header|footer)\b[^>]*>")  # on lines of its own
NAME_LINK = re.compile(r'<a class="name" href="/@([^"]+)/"')
POST = re.compile(r'id="post-(\d+)"')
META = re.compile(r'<meta (?:property|name)="([^"]+)" content="([^"]*)">')
MARK = re.compile(r"<mark>(.*?)</mark>")
CANONICAL = re.compile(r'<link rel="canonical" href="([^"]*)">')
OLDER = re.compile(r'href="([^"]*)" rel="next"')


def page_of(response, status=200):
    """The HTML of a page, which has this status."""
    assert response.status_code == status, response.status_code
    return response.content.decode()


def text_of(response):
    """The text without tags, with single spaces."""
    return " ".join(TAG.sub("", BLOCK.sub(" ", response.content.decode())).split())


def names(response):
    """The usernames that the page lists, in its order."""
    return [html.unescape(unquote(name)) for name in NAME_LINK.findall(response.content.decode())]


def post_ids(response):
    """The ids of the posts on the page, in its order, also of those that have only their place there."""
    return [int(pid) for pid in POST.findall(response.content.decode())]


def with_older(client, address):
    """The page at this address and all older ones, each as the link on the one before leads to it."""
    seen = set()
    while address:
        assert address not in seen, f"{address} leads to itself"
        seen.add(address)
        page = client.get(address)
        yield page
        older = OLDER.search(page.content.decode())
        address = older and urljoin(address, html.unescape(older[1]))


def meta_tags(page):
    """The content of each meta tag of the HTML, by its property or name."""
    return {name: html.unescape(content) for name, content in META.findall(page)}


def marked(response):
    """The highlighted parts of a page, as HTML."""
    return MARK.findall(response.content.decode())
