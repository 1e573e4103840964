"""Two laws of all pages, asked of every address: no page names or counts what its viewer may not see, and each number
is the length of the list that it leads to.

A state of zed's is tried with each viewer. The addresses are those of the URLconf, so a new page is walked without
being named here. Where a law is broken on purpose, EXEMPT says why.
"""

from itertools import groupby
from operator import itemgetter

import pytest

from accounts.community.sanctions import Sanctions
from tests.support.apps import token_of
from tests.support.command_output import doctor
from tests.support.laws.site import MOD, STATES, TEXTS, ZED, LawfulSite
from tests.support.laws.walk import BOTH_FOLLOW, IN_COMMON, NEWS, addresses, names_zed, notices_in, numbers, people_in
from tests.support.stored_keys import everything
from tests.support.stores.seam import cases

VIEWERS = ("visitor", "zed", "fay", "sid", "mod")
EVERY = [(state, viewer) for state in STATES for viewer in VIEWERS]
SOME = [  # the viewers for whom a state is another one
    *(("normal", "fay"), ("sid blocks zed", "sid"), ("zed blocks sid", "sid"), ("sid mutes zed", "sid")),
    *(("hidden", "visitor"), ("hidden", "sid"), ("suspended", "visitor"), ("suspended", "fay"), ("deleted", "sid")),
]
BLOCKS = {"sid blocks zed", "zed blocks sid"}
OF_SID = {*BLOCKS, "sid mutes zed", "sid mutes zed's reposts"}
FEEDS = {"timeline_atom", "timeline_rss", "profile_atom", "profile_rss", "tag_atom", "sitemap_part"}


OWN_LISTS = {"hidden_people", "/api/v1/blocks", "/api/v1/mutes"}
BY_NAME = {"/api/v1/accounts/lookup", "/api/v1/accounts"}  # of apps, which ask for zed
OWN_STATUSES = (
    "/api/v1/statuses?id",
    *(f"/api/v1/statuses/{pid}" for pid, (uid, _) in enumerate(TEXTS, start=1) if uid == ZED),
)


def may_name(state, viewer, name, path):
    """Why a page may name zed; None when it may not."""
    own_page = path == "/@zed" or path.startswith(("/@zed/", f"/api/v1/accounts/{ZED}")) or name in BY_NAME
    own_page = own_page or (state not in BLOCKS and path.startswith(OWN_STATUSES))
    if name.startswith("moderation"):
        return "staff sees whom it decides about"
    if state in ("normal", "frozen", "sid mutes zed's reposts"):
        return "nothing hides zed"
    if state == "hidden" and viewer in ("zed", "fay"):
        return "followers see a hidden person"
    if state == "hidden" and (own_page or name in ("compose", "download")):
        return "everyone sees a hidden person on that person's own pages, which lead there, and in what they have kept"
    if state in OF_SID and viewer != "sid":
        return "what sid hides is hidden from sid alone"
    if state in OF_SID and name in {*FEEDS, *OWN_LISTS, "download"}:
        return "a feed is what a visitor sees; the others tell sid whom they hide, and what they have kept"
    if state == "sid mutes zed" and (own_page or name in ("compose", "followers", "following")):
        return "sid has asked for it, or can unfollow there"
    if state == "sid blocks zed" and own_page:
        return "the address names zed; the page says that sid blocks them, and leads to where sid can unblock"
    if state in BLOCKS and own_page and not name.startswith(("post", "quotes", "history", "likes", "reposts")):
        return "sid can unblock and report there"
    return None


def is_counted_otherwise(state, viewer):
    """Why a number may differ from its list; None when it may not."""
    if state in BLOCKS and viewer in ("sid", "zed"):
        return "a number is the same for everyone: whom one viewer does not see is counted"
    if state == "sid mutes zed" and viewer == "sid":
        return "as for a block"
    if state == "hidden" and viewer in ("zed", "fay"):
        return "a number counts whom everyone sees: followers of a hidden person see one more"
    return None


class Walk:
    """All pages for one viewer in one state. `broken`: where a law is."""

    def __init__(self, site, client, state, viewer):
        self.site, self.client, self.state, self.viewer = site, client, state, viewer
        self.pages, self.broken = {}, []

    def page(self, path):
        """The status and the text; each page once."""
        if path not in self.pages:
            answer = self.client.get(path)
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
            self.pages[path] = (answer.status_code, body.decode())
        return self.pages[path]

    def note(self, path, what):
        self.broken.append(f"{self.state}, {self.viewer}: {path} {what}")

    def go(self, every, posted_only):
        """`posted_only`: the views that answer no GET, as far as they are known."""
        news = None
        for name, path in every:
            if name in posted_only:
                continue
            status, page = self.page(path)
            if status == 405:
                posted_only.add(name)
                continue
            if news is None and (found := NEWS.search(page)):
                news = int(found[1] or 0)
            named = names_zed(page)
            if named and may_name(self.state, self.viewer, name, path) is None:
                self.note(path, f"names {named}")
            if is_counted_otherwise(self.state, self.viewer) is None:
                self.check_numbers(path, page)
        shown = notices_in(self.page("/notifications/")[1])
        if news is not None and news != shown:
            self.note("/notifications/", f"has {shown}, the number is {news}")

    def check_numbers(self, path, page):
        for target, number, count in numbers(page):
            status, listed = self.page(target)
            least, most = count(listed)
            if status != 200 or not least <= number <= most:
                self.note(path, f"says {number} of {target}, which has {least} ({status})")
        person = "/".join(path.split("/")[:2])
        for pattern, side in ((IN_COMMON, "followers"), (BOTH_FOLLOW, "following")):
            if found := pattern.search(page):
                here, mine = (people_in(self.page(f"{of}/{side}/")[1]) for of in (person, f"/@{self.viewer}"))
                if int(found[1]) != len(here & mine):
                    self.note(path, f"says {found[0]}: {here & mine}")


@pytest.fixture
def site(raw, store):
    return LawfulSite(raw, store)


def test_no_page_names_or_counts_what_its_viewer_may_not_see_and_each_number_is_the_length_of_its_list(site, browser):
    posted_only, broken = set(), []
    every = list(addresses([int(rid) for rid in site.raw.zrange("reports", 0, -1)]))
    for state, viewers in groupby(cases(EVERY, SOME), itemgetter(0)):
        site.restore()
        STATES[state](site.store)
        site.settle()
        for _, viewer in viewers:
            login = site.logins.get(viewer)
            client = browser(login)
            if login is not None:  # what a page says of a cookie, an app says of a token
                client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {token_of(login)}"
            walk = Walk(site, client, state, viewer)
            walk.go(every, posted_only)
            broken += walk.broken
    assert broken == [], "\n".join(broken)


# ---- What the numbers are before and after, whatever pages make of them.


def numbers_in(raw):
    """All numbers that pages show: those of posts, people and tags."""
    posts = {key: raw.hmget(key, "likes", "reposts", "replies", "quotes") for key in raw.keys("post:*")}
    sets = {key: raw.zcard(key) - raw.zcard(f"unseen:{key}") for key in [*raw.keys("follow*"), *raw.keys("tag:*")]}
    ranked = dict(raw.zrange("users_by_followers", 0, -1, withscores=True))
    return {
        "posts": {key: numbers for key, numbers in posts.items() if any(numbers)},
        "sets": {key: number for key, number in sets.items() if number},
        "ranked": ranked,
    }


def of_others(raw, numbers):
    """Without what is zed's: nobody sees it."""
    own = {f"post:{pid}" for pid, (uid, _) in enumerate(TEXTS, start=1) if uid == ZED}
    own |= {f"followers:{ZED}", f"following:{ZED}"}
    left = {name: {key: one for key, one in some.items() if key not in own} for name, some in numbers.items()}
    left["ranked"].pop(str(ZED), None)
    return left


def notices_of(raw):
    """The dates are left out: one that comes back has the date of its cause, which may be a second earlier."""
    return {key: set(raw.zrange(key, 0, -1)) for key in raw.keys("notices:*") if key != f"notices:{ZED}"}


def test_after_a_suspension_all_numbers_and_notices_are_those_after_a_deletion(site):
    left = {}
    for state in ("suspended", "deleted"):
        site.restore()
        STATES[state](site.store)
        site.settle()
        left[state] = of_others(site.raw, numbers_in(site.raw)), notices_of(site.raw)
    assert left["suspended"] == left["deleted"]


@pytest.mark.parametrize("state", ["hidden", "suspended"])
def test_when_a_sanction_is_lifted_all_is_as_it_was(site, state):
    before, notices = numbers_in(site.raw), notices_of(site.raw)
    STATES[state](site.store)
    site.settle()
    assert numbers_in(site.raw) != before
    assert notices_of(site.raw) != notices
    Sanctions(site.store).lift(ZED, MOD)
    site.settle()
    assert notices_of(site.raw) == notices
    of_sanctions = {f"user:{ZED}", f"acts:{ZED}", f"posts:{ZED}", "outbox", "attempts"}
    now, initial = everything(site.raw), site.initial
    changed = {key for key in {*now, *initial} - of_sanctions if now.get(key) != initial.get(key)}
    assert {key for key in changed if not key.startswith(("log:", "notices:"))} == set()


def test_doctor_finds_nothing_in_any_state(site, capsys):
    for state, begin in STATES.items():
        site.restore()
        begin(site.store)
        site.settle()
        assert (state, *doctor(capsys)[:2]) == (state, 0, {})


@pytest.mark.parametrize("state", ["hidden", "suspended"])
def test_doctor_mends_what_a_sanction_has_left(site, capsys, state):
    """No worker has done its part, neither when it was imposed nor when it was lifted."""
    before = numbers_in(site.raw)
    STATES[state](site.store)
    site.settle()
    right = numbers_in(site.raw), notices_of(site.raw)
    site.restore()
    site.raw.hset("user:5", mapping={"state": state, "state_until": "0"})
    _, errors, _ = doctor(capsys)
    assert {one.partition(":")[0] for one in errors if "counted wrong" in one} == {
        *("entries of following", "entries of followers", "entries of liked_by", "entries of reposted_by")
    }
    assert errors["posts that are missing from a listing, or expire while they have replies"] == 4
    assert errors["notices of people whom staff has hidden from their owner"] > 0
    doctor(capsys, "--fix")
    assert (numbers_in(site.raw), notices_of(site.raw)) == right
    site.raw.hset("user:5", "state", "")
    doctor(capsys, "--fix")
    assert numbers_in(site.raw) == before
    site.raw.zadd("unseen:liked_by:1", {77: 0})
    _, errors, _ = doctor(capsys, "--fix")
    assert errors == {"entries of unseen: that are not in the key of which they are": 1}
    assert numbers_in(site.raw) == before
