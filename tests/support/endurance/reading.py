"""What people of the soak look at."""

import json
from urllib.parse import quote_plus

OPEN_PAGES = ("/", "/timeline/", "/explore/", "/people/", "/about/", "/rules/", "/privacy/", "/search/", "/login/")
OWN_PAGES = ("/bookmarks/", "/likes/", "/tags/", "/compose/", "/settings/", "/settings/blocks/", "/settings/words/")
OWN_PAGES += ("/settings/sessions/", "/settings/recovery/", "/settings/notifications/", "/settings/invites/")
OWN_PAGES += ("/settings/appearance/", "/settings/password/", "/settings/delete/", "/settings/sessions/everywhere/")
OF_A_PERSON = ("", "replies/", "followers/", "following/", "atom/", "rss/", "report/")
OF_A_POST = ("", "quotes/", "likes/", "reposts/", "history/", "report/")
WITHOUT_A_VIEWER = ("/robots.txt", "/sitemap.xml", "/timeline/atom/", "/timeline/rss/", "/livez")
FORBIDDEN = ("/inspect/", "/inspect/user:1", "/moderation/", "/moderation/log/", "/nothing/")  # the inspector is off
TAGS = ("redis", "django", "python", "tea", "rain", "soup")
SEARCHES = ("writes", '"of tea"', "from:p0n1", "#redis", "rain OR soup", "writes -tea")


def home(me):
    """Home, then what an open home page asks from time to time."""
    page = me.get("/").page
    newest = max((int(pid) for _, pid in me.seen), default=1)
    assert me.is_in is not True or me.is_troubled or 'action="/post/"' in page
    for _ in range(2):
        me.get(f"/new/?after={newest}&known=")


def poll_notices(me):
    me.get("/notifications/number/?known=0")


def notifications(me):
    me.get(me.random.choice(["/notifications/", "/notifications/?only=mentions"]))


def open_page(me):
    path = me.random.choice(OPEN_PAGES)
    answer = me.get(path)
    assert answer.status in {200, 302}, (path, answer.status)


def own_page(me):
    path = me.random.choice(OWN_PAGES)
    answer = me.get(path)
    assert answer.status == 200 or me.is_troubled, (path, answer.status)


def person(me):
    me.get(f"/@{me.someone()}/{me.random.choice(OF_A_PERSON)}")


def thread(me):
    if post := me.some_post():
        me.get("/@{}/{}/".format(*post) + me.random.choice(OF_A_POST))


def older(me):
    """A list further down."""
    lists = ("/", "/timeline/", f"/@{me.someone()}/", "/tags/redis/")
    pids = [int(pid) for _, pid in me.seen]
    if pids:
        me.get(f"{me.random.choice(lists)}?before={me.random.choice(pids)}")


def tag(me):
    me.get(f"/tags/{me.random.choice(TAGS)}/" + me.random.choice(["", "", "atom/"]))


def search(me):
    me.get(f"/search/?q={quote_plus(me.random.choice(SEARCHES))}")


def complete(me):
    me.get("/complete/?q=" + me.random.choice(["@p", "%23re", "@p1"]))


def search_people(me):
    me.get(f"/people/?q={me.someone()[:2]}")


def machine_page(me):
    path = me.random.choice(WITHOUT_A_VIEWER)
    assert me.get(path).status == 200, path


def forbidden_page(me):
    """What this person may not see, or nobody."""
    if not me.is_staff:
        path = me.random.choice(FORBIDDEN)
        assert me.get(path).status == 404, path


def download(me):
    """It has what was acknowledged before."""
    tokens = list(me.account.texts)[-3:]
    answer = me.get("/settings/download/")
    if me.is_troubled or me.account.gone or me.account.edited or me.account.unsure:
        return
    assert answer.status == 200, answer.status
    lacking = [token for token in tokens if json.dumps(me.account.texts[token])[1:-1] not in answer.page]
    assert len(lacking) <= len(me.account.maybe), f"the download of {me.name} lacks {lacking}"


READING = {home: 20, poll_notices: 6, notifications: 5, open_page: 5, own_page: 8, person: 8, thread: 8, older: 4}
READING |= {tag: 3, search: 4, complete: 2, search_people: 1, machine_page: 1, forbidden_page: 1, download: 1}
