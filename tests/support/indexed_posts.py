"""Posts that a search finds."""

import re

from timeline.search.index.writing import Indexing

ARTICLE = re.compile(r'<article class="post" id="post-(\d+)"')
MARK = re.compile(r"<mark>(.*?)</mark>")
OLDER = re.compile(r'<a class="button quiet wide" href="([^"]*)"')


def write_indexed(raw, store, uid, texts):
    """Write posts by `uid`, by pid their texts, and put them into the index. Post 7 is 7 seconds younger than post 0."""
    for pid, text in texts.items():
        raw.hset(f"post:{pid}", mapping={"user_id": uid, "time": 1_700_000_000 + pid, "body": text})
        raw.zadd(f"updates:{uid}", {pid: pid})
    raw.set("next_post_id", max([*texts, int(raw.get("next_post_id") or 0)]))
    Indexing(store).index(texts)


def found(page):
    """The ids of the posts of a page, in their order."""
    assert page.status_code == 200
    return [int(pid) for pid in ARTICLE.findall(page.content.decode())]


def marked(page):
    """The highlighted parts, as HTML."""
    return MARK.findall(page.content.decode())
