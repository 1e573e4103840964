"""Walks every address of the site that answers a GET, and reads there who is named and which numbers lead where."""

import itertools
import re

from django.conf import settings
from django.urls import URLPattern, get_resolver

from tests.support.laws.site import ANN, NAMES, TEXTS, ZED
from timeline.api.views import ENDPOINTS

# What stands in the addresses: for each kind of part, by its name in the URLconf.
PARTS = {
    "username": ("ann", "sid", "zed"),
    "pid": (1, 3, 4, 5, 9),
    "tag": ("shared", "onlyzed"),
    "rid": (),  # those of the site
    "at": (),  # no picture is blocked
    "digest": (),
    "section": ("people",),
    "name": ("sorted-sets",),  # the book names nobody of the site
    "code": ("none",),
    "token": ("none",),
    "key": ("users",),
    "number": (1,),
}
# What a page asks besides: each of these addresses is walked too.
QUERIES = {
    "search": ("?q=answer", "?q=quux", "?q=%23only", "?q=shared", "?q=from:zed"),
    "people": ("?q=qu", "?by=followers"),
    "complete": ("?q=@ze", "?q=%23on", "?q=%23sh"),
    "followers": ("?show=mutual", "?show=not-followed-back"),
    "following": ("?show=mutual", "?show=not-followed-back"),
    "notifications": ("?only=mentions",),
    "compose": ("?reply_to=3", "?quote=4"),
    "arrivals": ("?after=2",),
    "timeline": ("?before=5",),
}
# They say nothing of people.
IDLE = {
    "livez",
    "readyz",
    "security_txt",
    "robots",
    "book",
    "book_chapter",
    "book_picture",
    "inspect",
    "inspect_key",
    "media",
}


def addresses(rids):
    """Each address as (name of the view, path), posts below their authors alone."""
    authors = {pid: NAMES[uid - 1] for pid, (uid, _) in enumerate(TEXTS, start=1)}
    yield from addresses_of_apps()
    for pattern in get_resolver(settings.ROOT_URLCONF).url_patterns:
        assert isinstance(pattern, URLPattern), pattern
        view = pattern.name.removesuffix("_without_slash")
        if view in IDLE or "rest" in pattern.pattern.converters:
            continue
        names = list(pattern.pattern.converters)
        for values in itertools.product(*(rids if name == "rid" else PARTS[name] for name in names)):
            given = dict(zip(names, values, strict=True))
            if "pid" in given and given["username"] != authors[given["pid"]]:
                continue
            path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda part: str(given[part[1]]), str(pattern.pattern))  # noqa: B023
            yield view, path
            for query in QUERIES.get(view, ()):
                yield view, path + query


# What stands for `:id` in addresses of apps, by what stands before it.
IDS = {"accounts": (ANN, ZED), "statuses": (1, 3, 4, 5, 9)}


def addresses_of_apps():
    """The same of what apps ask."""
    for endpoint in ENDPOINTS:
        if endpoint.method == "GET" and endpoint.address.startswith("/api/"):
            for path in _filled(endpoint.address):
                yield endpoint.address, path + ASKED.get(path, "")


ASKED = {"/api/v2/search": "?q=quux", "/api/v1/accounts/search": "?q=quux", "/api/v1/accounts/lookup": "?acct=zed"}
ASKED |= {"/api/v1/accounts": f"?id[]={ZED}", "/api/v1/statuses": "?id[]=3&id[]=5"}
ASKED |= {f"/api/v1/accounts/{what}": f"?id[]={ANN}" for what in ("familiar_followers", "relationships")}


def _filled(address):
    before, _, after = address.partition("/:")
    if not after:
        return [address]
    name, slash, rest = after.partition("/")
    values = IDS.get(before.rpartition("/")[2], (1,)) if name == "id" else ("shared", "onlyzed")
    return [f"{before}/{value}{slash}{rest}" for value in values]


# ---- What a page says: whom it names, and its numbers with the lists that they lead to.

BODY_MENTION = re.compile(r'<a [^>]*href="/@zed/"[^>]*>@zed</a>')  # ann has typed it; without the link it says the same
# The same for apps, which also get the people whom a text mentions.
APP_MENTION = re.compile(
    r'<span class=\\"h-card\\" translate=\\"no\\"><a [^>]*>@<span>zed</span></a></span>|'
    r'\{"id":"5","username":"zed","acct":"zed","url":"[^"]*"\}'
)
NAMED = re.compile(r'/@zed[/"\\]|Zed Quux|zedsaid|>@zed<|data-text="@zed"|"acct":"zed"')
COUNTS = re.compile(
    r'<a href="(/@\w+/(?:\d+/)?(?:following|followers|likes|reposts|quotes|replies)/)"><strong>(\d+)</strong>'
)
PEOPLE = re.compile(
    r'<a class="name" href="(/@\w+/)">(?:(?!</li>).)*?<(?:p|span) class="note">(\d+) follower', re.DOTALL
)
TAGS = re.compile(r'<a href="(/tags/\w+/)"><bdi>#\w+</bdi></?[^>]*>?\s*<span class="note">(?:[^<]*· )?(\d+) post')
OPTIONS = re.compile(r'data-text="#(\w+)"(?:(?!</li>).)*?(\d+) post', re.DOTALL)
REPLIES = re.compile(r'class="reply" href="(/@\w+/\d+/)#reply"><span>Reply</span> (\d*)<')
REPOSTS = re.compile(r'href="(/@\w+/\d+/)repost-or-quote/"><span>Repost(?:ed)?</span> (\d*)<')
LIKES = re.compile(r'formaction="(/@\w+/\d+/)(?:un)?like/"[^>]*><span>Like</span> (\d*)<')
NEWS = re.compile(r'id="news" data-count="(\d*)"')
IN_COMMON = re.compile(r"have (\d+) followers? in common")
BOTH_FOLLOW = re.compile(r"You both follow (\d+) p")

ROW = re.compile(r'<a class="name" href="/@(\w+)/"')
POST = re.compile(r'<article class="post[^"]*" id="post-(\d+)"')
UNAVAILABLE = re.compile(r'<p class="unavailable"')
NOTICE = re.compile(
    r'<article class="post notice[^"]*">\s*<span class="faces">(.*?)</span></span>|<article class="post[^"]*" id='
)


def names_zed(page):
    """What of a page names zed; None when nothing does."""
    found = NAMED.search(APP_MENTION.sub("@zed", BODY_MENTION.sub("@zed", page)))
    return found and found[0]


def numbers(page):
    """Each number of a page with what it leads to: the address of a list, and how a list of its kind is counted."""
    for path, number in COUNTS.findall(page):
        yield path, int(number), posts_in if path.endswith(("quotes/", "replies/")) else rows_in
    for path, number in PEOPLE.findall(page):
        yield f"{path}followers/", int(number), rows_in
    for path, number in TAGS.findall(page):
        yield path, int(number), posts_in
    for tag, number in OPTIONS.findall(page):
        yield f"/tags/{tag}/", int(number), posts_in
    for path, number in REPLIES.findall(page):
        yield path, int(number or 0), replies_in(path)
    for path, number in REPOSTS.findall(page):
        yield f"{path}reposts/", int(number or 0), rows_in
    for path, number in LIKES.findall(page):
        yield f"{path}likes/", int(number or 0), rows_in


def rows_in(page):
    """The least and the greatest number that may lead to a list of people."""
    found = len(ROW.findall(page))
    return found, found


def posts_in(page):
    found = len(POST.findall(page))
    return found, found


def replies_in(path):
    """A reply that keeps its place in the thread, without its text, is one too."""

    def count(page):
        found = page.count(f'Replying to <a href="{path}"')
        return found, found + len(UNAVAILABLE.findall(page))

    return count


def people_in(page):
    return set(ROW.findall(page))


def notices_in(page):
    """How many notices a page shows: the people of each group, and the posts. No group of the site has more people than
    it names."""
    main = page.partition('<main id="main"')[2].partition("</main>")[0]
    return sum(max(faces.count('class="avatar'), 1) for faces in NOTICE.findall(main))
