"""The pages of staff: reports are decided, appeals are answered, and for all others they do not exist."""

import re
import time

import pytest
import redis
from django.utils.datastructures import MultiValueDict

from accounts.community.acts import Roles, StaffNotes
from accounts.community.log import Log
from accounts.community.sanctions import Appeal, Sanctions
from accounts.signing_in.middleware import POSTS_CHANGED
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import Role, State
from accounts.users.repository import Users
from retwis_site.jobs.worker import drain
from retwis_site.rendering.dates import day
from tests.support.command_output import doctor_findings
from tests.support.http.page_text import page_of
from tests.support.people import LONG_AGO, log_in, register
from tests.support.protocols.reports import ALICE, BOB, CAROL, make_moderator, report
from tests.support.stored_keys import publish
from tests.support.stored_posts import write_posts
from tests.support.stores.seam import broken_store
from timeline.moderation.reports import Action, Reports
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import BlockedPeople, Mutes


@pytest.fixture
def site(store, raw, alice, bob, carol):
    """carol is a moderator; alice has reported bob's post."""
    publish(raw, store, bob, "Buy!")
    make_moderator(store, CAROL)
    return report(store, ALICE, BOB, 1)


@pytest.fixture
def staff(browser, site, carol):
    """The browser of carol."""
    return browser(carol)


def test_a_picture_that_is_gone_meanwhile_leaves_the_initials_that_everyone_sees(staff, store):
    Users(store).choose(BOB, "colour", "pink")
    initials = re.compile('"(avatar [^"]+)" aria-hidden="true">B<')
    [seen] = set(initials.findall(page_of(staff.get("/@bob/"))))
    form = {"act": "remove_picture", "digest": "a" * 40, "reason": "Ads"}
    assert initials.findall(page_of(staff.post("/moderation/people/bob/", form), 422)) == [seen]


def test_a_report_is_decided_and_the_reporter_reads_it(staff, browser, site, alice, bob, store):
    assert "A post by @bob" in staff.get("/moderation/").content.decode()
    address = f"/moderation/reports/{site.rid}/"
    assert "Buy!" in staff.get(address).content.decode()
    assert staff.post(address, {"action": "frozen", "days": "7"}).status_code == 422
    assert staff.post(address, {"action": "frozen", "days": "7", "reason": "Ads"})["Location"] == "/moderation/"
    page = page_of(staff.post(address, {"action": "dismissed", "reason": "No", "imposed": ""}), 422)
    assert "This report has been decided already." in page
    assert "The moderators have acted" in browser(alice).get("/notifications/").content.decode()
    Sanctions(store).appeal(BOB, "It was no ad")
    assert "It was no ad" in staff.get("/moderation/").content.decode()
    staff.post("/moderation/people/bob/", {"act": "grant", "reason": "Right"})
    assert Sanctions(store).of(BOB) is None
    assert "Appeal granted" in staff.get("/moderation/log/").content.decode()


def test_the_queue_says_what_was_reported_by_whom_when_and_how_often(staff, carol, store, raw, bob):
    publish(raw, store, bob, "Buy <more>!")
    report(store, CAROL, BOB, 1, body="Buy!")
    report(store, ALICE, BOB, 2, body="Buy <more>!", note="Again")
    page = staff.get("/moderation/").content.decode()
    [newer, older] = re.findall(r'<li class="sheet"><p><a href="/moderation/reports/.*?</li>', page, re.S)
    assert re.search(r"Buy &lt;more&gt;!.*spam or fraud: .*Again.*Reported by @Alice ·\s+1 report ", newer, re.S)
    assert re.search(
        r"Buy!.*Reported by @carol, @Alice · 2 reports · <time datetime=.*20\d\d, \d\d:\d\d UTC", older, re.S
    )
    assert 'href="/@bob/2/">See it in its thread' in newer


def test_what_is_reported_of_a_person_stands_under_one_heading_with_one_link_to_decide_all(staff, carol, store, raw):
    dora = register(store, "dora")
    for whom, pid in ((dora.user.uid, None), (BOB, None), (ALICE, None), (BOB, 1)):
        last = report(store, CAROL if whom != ALICE else BOB, whom, pid)
    page = page_of(staff.get("/moderation/"))
    order = re.findall(r"<h2>.*?</h2>|Decide all.*?together|(?<=\d/\">)(?:<bdi>|A post by)[^<]*", page)
    bob = ["<h2><bdi>@bob</bdi></h2>", "Decide all 3 reports about @bob together", "A post by @bob", "<bdi>@bob"]
    assert order == [*bob, "<bdi>@Alice", "<bdi>@dora"]
    assert f'href="/moderation/reports/{last.rid}/?all=1"' in page


def test_a_report_whose_post_the_author_had_deleted_names_no_deletion_by_staff(staff, site, bob, store, raw):
    Posts(store).delete(BOB, 1)
    Reports(store).decide(site, CAROL, [Action.DELETE], "Ads")
    pages = [f"/moderation/reports/{site.rid}/", "/moderation/people/bob/1/"]
    for page in (staff.get(address).content.decode() for address in pages):
        assert "This post was deleted by its author." in page
        assert "Post deleted" not in page


def test_an_appeal_and_a_reason_keep_their_lines(staff, browser, bob, carol, store):
    Sanctions(store).impose(BOB, State.FROZEN, "Ads\nagain", 0, CAROL)
    Sanctions(store).appeal(BOB, "It was\nno <ad>")
    for address in ("/moderation/", "/moderation/people/bob/"):
        assert "It was<br>no &lt;ad&gt;" in staff.get(address).content.decode()
    for member, address in ((carol, "/moderation/people/bob/"), (carol, "/moderation/log/"), (bob, "/appeal/")):
        assert "Ads<br>again" in browser(member).get(address).content.decode()


def test_the_page_of_a_person_says_that_their_appeal_was_refused_and_why(staff, bob, store):
    Sanctions(store).impose(BOB, State.FROZEN, "Ads", 0, CAROL)
    Sanctions(store).appeal(BOB, "It was no ad")
    assert "Appeal refused" not in page_of(staff.get("/moderation/people/bob/"))
    Sanctions(store).decide_appeal(BOB, False, CAROL, "It was <one>")
    form = page_of(staff.get("/moderation/people/bob/")).partition("Lift sanction")[0]
    assert '<p class="note">Appeal refused</p><p dir="auto">It was &lt;one&gt;</p>' in form


def test_staff_neither_sees_nor_decides_reports_about_themself(staff, browser, bob, carol, store, raw):
    StaffNotes(store).add(CAROL, ALICE, "She knows the reporter")
    publish(raw, store, carol, "I am staff")
    about_her, about_post = report(store, BOB, CAROL, note="My secret"), report(store, ALICE, CAROL, 2)
    queue = page_of(staff.get("/moderation/"))
    assert "2 reports about you, which someone else decides" in queue
    assert "A post by @bob" in queue
    for secret in ("My secret", "@carol", str(about_her.rid), str(about_post.rid)):
        assert secret not in queue.partition("<main")[2]
    for address in (
        f"/moderation/reports/{about_her.rid}/",
        "/moderation/people/carol/",
        "/moderation/people/carol/2/",
    ):
        for answer in (staff.get(address), staff.post(address, {"action": "dismissed", "reason": "No", "act": "note"})):
            assert (answer.status_code, answer["Location"]) == (302, "/moderation/")
        assert "You cannot decide about yourself" in page_of(staff.get("/moderation/"))
    assert Reports(store).read(about_her.rid).decision is None
    others = browser(register(store, "dora"))
    make_moderator(store, 4)
    assert "Reported by @bob" in page_of(others.get("/moderation/"))


def test_the_only_admin_decides_about_themself_without_reading_who_has_reported_them(staff, store):
    one = report(store, BOB, CAROL, note="My secret")
    Roles(store).give(CAROL, Role.ADMIN)
    address = f"/moderation/reports/{one.rid}/"
    for page in (page_of(staff.get("/moderation/")), page_of(staff.get(address))):
        assert "My secret" in page
        assert "Reported by @bob" not in page
    assert staff.post(address, {"action": "dismissed", "reason": "No"})["Location"] == "/moderation/"
    assert Reports(store).read(one.rid).action is Action.DISMISS


def test_a_later_report_hides_nothing_that_others_have_said_of_the_same(staff, bob, store, raw):
    said = {"reason": "illegal", "note": "My address", "body": "Oak"}
    for number in range(2):
        report(store, register(store, f"person{number}").user.uid, BOB, 1, **said)
    last = report(store, CAROL, BOB, 1)
    report(store, CAROL, BOB, note="Of the person")
    queue = " ".join(page_of(staff.get("/moderation/")).split())
    assert "It is spam or fraud · It is against the law" in queue
    address = f"/moderation/reports/{last.rid}/"
    page = staff.get(address).content.decode()
    assert re.findall(r'<a href="/moderation/reports/\d+/">(.*?)</a>: <q dir="auto">(.*?)</q>', page) == [
        ("It is against the law", "My address")
    ]
    assert '<p class="reported" dir="auto">Oak</p>' in page
    staff.post(address, {"action": "warned", "reason": "Ads"})
    report(store, ALICE, BOB, 1, note="Later")
    page = staff.get(address).content.decode()
    assert "My address" in page
    assert "Later" not in page


def test_a_post_that_very_many_have_reported_hides_no_other_report(staff, site, store, raw, bob):
    publish(raw, store, bob, "Buy more!")
    for number in range(60):
        last = report(store, register(store, f"person{number}").user.uid, BOB, 2)
    assert "Decide all 61 reports about @bob together" in staff.get("/moderation/").content.decode()
    page = staff.get(f"/moderation/reports/{last.rid}/?all=1").content.decode()
    assert re.findall(r'name="also" value="(\d+)" checked', page) == ["1"]
    assert '<a href="/moderation/people/bob/1/">1 report</a>' in staff.get("/@bob/1/more/").content.decode()
    assert f"/moderation/reports/{site.rid}/" in staff.get("/moderation/people/bob/1/").content.decode()
    assert '<a href="/moderation/people/bob/#reports">61 reports</a>' in staff.get("/@bob/more/").content.decode()
    assert staff.get("/moderation/people/bob/").content.decode().count('<a href="/moderation/reports/') == 61


def test_one_form_decides_all_reports_about_a_person_deletes_and_tells(staff, browser, alice, bob, store, raw):
    publish(raw, store, bob, "Buy more!")
    report(store, CAROL, BOB)
    last = report(store, ALICE, BOB, 2, body="Buy more!")
    address = f"/moderation/reports/{last.rid}/"
    assert re.findall(r'name="also" value="(\d+)" checked', staff.get(f"{address}?all=1").content.decode()) == [
        "0",
        "1",
    ]
    assert "checked" not in staff.get(address).content.decode()
    form = {"action": "frozen", "days": "7", "delete": "on", "also": ["1", "0", "99"]}
    assert re.findall(r'name="also" value="(\d+)" checked', page_of(staff.post(address, form), 422)) == ["0", "1"]
    staff.post(address, {**form, "reason": "Ads", "told": "Well seen, thank you."})
    assert staff.cookies[POSTS_CHANGED].value == "2-1"  # each worker reads them anew
    assert raw.zcard("reports") == 0
    assert [raw.hexists(f"post:{pid}", "deleted") for pid in (1, 2)] == [True, True]
    assert Sanctions(store).of(BOB).state is State.FROZEN
    told = browser(alice).get("/notifications/").content.decode()
    assert "The moderators have acted. Thank you." in told
    assert "Well seen, thank you." in told
    told = browser(bob).get("/notifications/").content.decode()
    assert "The moderators have deleted 2 posts of yours." in told
    assert "The moderators have decided about your account." in told
    assert "Well seen" not in told
    decided = staff.get(address).content.decode()
    assert "Post deleted, Account frozen" in decided
    assert "Well seen" in decided


def test_the_former_name_of_a_deletion_still_deletes(staff, browser, site, bob, store, raw):
    staff.post(f"/moderation/reports/{site.rid}/", {"action": "post_deleted", "reason": "Ads"})
    assert raw.hexists("post:1", "deleted")
    assert Reports(store).read(site.rid).actions == (Action.DELETE,)
    assert "The moderators have deleted a post of yours." in browser(bob).get("/notifications/").content.decode()


def test_a_post_that_its_author_has_deleted_is_not_offered_to_be_deleted(staff, site, bob, store, raw):
    """The author would be told of a deletion that never was."""
    address = f"/moderation/reports/{site.rid}/"
    assert 'name="delete"' in staff.get(address).content.decode()
    Posts(store).delete(BOB, 1)
    for page in (staff.get("/moderation/").content.decode(), staff.get(address).content.decode()):
        assert "The post is deleted." in page
        assert "See it in its thread" not in page
    assert 'name="delete"' not in page
    assert 'value="warned"' in page
    report(store, CAROL, BOB)
    assert 'name="delete"' not in staff.get(address).content.decode()  # of what else is reported, nothing is a post
    publish(raw, store, bob, "Buy more!")
    report(store, CAROL, BOB, 2)
    assert 'name="delete"' in staff.get(address).content.decode()
    Posts(store).delete(BOB, 2)
    assert 'name="delete"' not in staff.get(address).content.decode()


@pytest.mark.parametrize("action", ["dismissed", "warned"])
def test_a_page_that_was_open_while_the_author_deleted_the_post_deletes_nothing(
    staff, browser, site, bob, store, raw, action
):
    address = f"/moderation/reports/{site.rid}/"
    Posts(store).delete(BOB, 1)
    form = {"action": action, "delete": "on", "reason": "Ads", "imposed": ""}
    assert "The post is deleted." in page_of(staff.post(address, form), 422)
    assert Reports(store).read(site.rid).decision is None
    assert "The moderators" not in browser(bob).get("/notifications/").content.decode()
    publish(raw, store, bob, "Buy more!")
    report(store, CAROL, BOB, 2)
    assert staff.post(address, {**form, "also": "2"}).status_code == 302
    assert raw.hget("post:2", "deleted").endswith(":staff")
    assert [act.post for act in Log(store).about(BOB) if act.what == "report:post_deleted"] == [2]


def test_a_text_that_is_the_same_stands_once(staff, site, store):
    address = f"/moderation/reports/{site.rid}/"
    page = staff.get(address).content.decode()
    assert (page.count("Buy!"), "As it is now" in page) == (1, False)
    Posts(store).edit(BOB, 1, "Hello!")
    page = staff.get(address).content.decode()
    assert (page.count("Buy!"), page.count("Hello!"), "As it is now" in page) == (1, 1, True)


def test_only_staff_has_the_link_to_moderation(staff, browser, alice):
    link = 'href="/moderation/"'
    assert link in staff.get("/").content.decode()
    assert link not in browser(alice).get("/").content.decode()


def test_staff_finds_a_person_also_a_suspended_one(staff, store, raw):
    Sanctions(store).impose(BOB, State.SUSPENDED, "Ads")
    assert staff.get("/moderation/people/?q=@bob")["Location"] == "/moderation/people/bob/"
    assert '"/moderation/people/Alice/"' in staff.get("/moderation/people/?q=ali").content.decode()
    assert "No one has this name" in staff.get("/moderation/people/?q=mallory").content.decode()
    raw.hset("user:2", "name", "Best <prices>")  # what a search finds, and a report may be about
    assert "<bdi>Best &lt;prices&gt;</bdi>" in staff.get("/moderation/people/bob/").content.decode()
    assert "Account suspended" in staff.get("/moderation/people/bob/").content.decode()


def test_a_block_or_a_mute_hides_nobody_from_the_search_of_staff(staff, store):
    BlockedPeople(store).block(BOB, CAROL)
    Mutes(store).mute(CAROL, ALICE)
    for query, name in (("bo", "bob"), ("ali", "Alice")):
        page = staff.get(f"/moderation/people/?q={query}").content.decode()
        assert f'"/moderation/people/{name}/"' in page


def test_the_profile_of_a_suspended_person_or_of_one_who_blocks_them_leads_staff_to_its_page(
    staff, browser, alice, store
):
    BlockedPeople(store).block(BOB, CAROL)
    BlockedPeople(store).block(BOB, ALICE)
    own = "/moderation/people/bob/"
    assert staff.get("/@bob/")["Location"] == staff.get("/@bob/replies/")["Location"] == own
    assert "Buy!" in staff.get(own).content.decode()
    assert '<h1><a href="/@bob/"><bdi>@bob</bdi></a></h1>' in staff.get(own).content.decode()
    assert browser(alice).get("/@bob/").status_code == 403
    Sanctions(store).impose(BOB, State.SUSPENDED, "Ads")
    assert staff.get("/@bob/")["Location"] == own
    assert "<h1><bdi>@bob</bdi></h1>" in staff.get(own).content.decode()
    assert browser(alice).get("/@bob/").status_code == browser().get("/@bob/").status_code == 410


def test_staff_reads_what_a_post_of_a_suspended_person_replies_to(staff, browser, alice, bob, store, raw):
    publish(raw, store, alice, "What is it?")
    Posts(store).publish(BOB, NewPost("It is an ad", reply_to=2), "t9")
    own = "/moderation/people/bob/3/"
    assert "See it in its thread" in staff.get(own).content.decode()
    Sanctions(store).impose(BOB, State.SUSPENDED, "Ads")
    assert browser(alice).get("/@bob/3/").status_code == browser().get("/@bob/3/").status_code == 410
    assert staff.get("/@bob/3/")["Location"] == own
    page = staff.get(own).content.decode()
    assert "It is an ad" in page
    assert re.search(r'Replying to <a href="/@[Aa]lice/2/">', page)
    assert "See it in its thread" not in page


def test_the_page_of_a_person_has_posts_sessions_and_invitations_also_of_a_suspended_one(staff, store, raw):
    raw.hset("user:2", "invited_by", 1)
    raw.hset("user:3", "invited_by", 2)
    raw.zadd("users_by_time", {"bob": LONG_AGO})
    raw.hset("user:2", "facts", '[["Shop", "https://ads.example/"]]')
    log_in(store, "bob")
    write_posts(raw, 2, range(2, 13))
    Sanctions(store).impose(BOB, State.SUSPENDED, "Ads")
    page = staff.get("/moderation/people/bob/").content.decode()
    assert "1 session<" in page
    assert re.search(r"Joined 14 Nov[a-z]* 2023", page)
    assert '<dd dir="auto"><a href="https://ads.example/" rel="nofollow me">https://ads.example/</a></dd>' in page
    assert 'invited by <a href="/moderation/people/Alice/">@Alice</a>' in page
    assert 'Invited recently: <a href="/moderation/people/carol/">' in page
    assert re.findall(r'href="/moderation/people/bob/(\d+)/"', page) == [str(pid) for pid in range(12, 2, -1)]
    assert 'href="?before=3"' in page
    older = staff.get("/moderation/people/bob/?before=3").content.decode()
    assert re.findall(r'href="/moderation/people/bob/(\d+)/"', older) == ["2", "1"]
    assert "Buy!" in older
    raw.hset("user:2", "invited_by", 0)
    assert "invited by the people who run this site" in staff.get("/moderation/people/bob/").content.decode()


def test_the_number_of_a_persons_posts_is_that_of_the_profile_without_reposts(staff, store, raw, alice):
    publish(raw, store, alice, "Hello!")
    Reposts(store).repost(BOB, 2, ALICE)
    assert "1 post ·" in staff.get("/moderation/people/bob/").content.decode()


def test_older_appeals_have_a_page_and_none_of_one_second_is_left_out(staff, store, raw):
    people = [register(store, f"person{number}").user for number in range(30)]
    for number, user in enumerate(people):
        act = f"{number:012x}"
        appeal = Appeal(act, f"appeal <{number}>", 1010 if 8 <= number <= 12 else 1000 + number, user.uid)
        raw.hset(f"user:{user.uid}", mapping={"state": "frozen", "state_act": act, "appeal": appeal.stored()})
        raw.zadd("appeals", {appeal.member: appeal.at})
    first = staff.get("/moderation/").content.decode()
    [address] = re.findall(r'href="(\?appealed_before=\d+)"', first)
    second = staff.get(f"/moderation/{address}").content.decode()
    texts = [re.findall(r"appeal &lt;(\d+)&gt;", page) for page in (first, second)]
    assert [sorted(map(int, page)) for page in texts] == [[*range(8, 30)], [*range(8)]]
    assert "appealed_before" not in second
    raw.zremrangebyscore("appeals", "-inf", 1009)
    assert "appealed_before" not in staff.get("/moderation/").content.decode()
    assert "A post by" not in second


def test_the_queue_leads_over_its_reports_to_the_appeals_below_them(staff, site, store):
    Sanctions(store).impose(BOB, State.FROZEN, "spam")
    Sanctions(store).appeal(BOB, "It was a quotation.")
    page = staff.get("/moderation/").content.decode()
    tab = '<a href="/moderation/#appeals">Appeals (1)</a>'
    assert page.index("Reports (1)") < page.index(tab) < page.index("A post by @bob") < page.index('id="appeals"')
    Reports(store).decide(site, CAROL, [Action.DISMISS], "No")
    page = staff.get("/moderation/people/").content.decode()
    assert tab in page
    assert "Reports (" not in page
    Sanctions(store).decide_appeal(BOB, True, CAROL, "Right")
    assert "#appeals" not in staff.get("/moderation/").content.decode()


def test_staff_imposes_and_lifts_a_sanction_without_a_report(staff, store, raw):
    address = "/moderation/people/bob/"
    assert staff.post(address, {"act": "sanction", "action": "hidden", "days": "1"}).status_code == 422
    assert raw.hget("user:2", "state") is None
    staff.post(address, {"act": "sanction", "action": "hidden", "days": "1", "reason": "Ads"})
    assert raw.hget("user:2", "state") == "hidden"
    assert int(raw.hget("user:2", "state_until")) > 0
    assert "It ends on " in staff.get(address).content.decode()
    staff.post(address, {"act": "lift", "reason": "Enough"})
    assert Sanctions(store).of(BOB) is None
    page = staff.get(address).content.decode()
    assert "Sanction lifted" in page
    assert f"Account hidden until {day(int(time.time()) + 86400, 'en')}" in page


def test_staff_reads_that_a_suspension_without_an_end_becomes_a_deletion_and_when(staff, site):
    address, says = "/moderation/people/bob/", "becomes a deletion of the account after 30 days"
    for form in (f"/moderation/reports/{site.rid}/", address):
        assert says in staff.get(form).content.decode()
    form = {"act": "sanction", "action": "suspended", "reason": "Ads"}
    staff.post(address, form)
    in_thirty_days = f"On {day(int(time.time()) + 30 * 86400, 'en')} the account is deleted permanently"
    assert in_thirty_days in staff.get(address).content.decode()
    staff.post(address, {"act": "lift", "reason": "Wrong"})
    staff.post(address, {**form, "days": "7"})
    assert "deleted permanently" not in staff.get(address).content.decode()


@pytest.mark.parametrize("before", [None, State.HIDDEN])
def test_a_form_does_not_replace_a_sanction_that_it_has_not_shown(staff, store, before):
    if before is not None:
        Sanctions(store).impose(BOB, before, "Rude")
    address = "/moderation/people/bob/"
    [shown] = re.findall(r'name="imposed" value="(\w*)"', staff.get(address).content.decode())
    Sanctions(store).impose(BOB, State.SUSPENDED, "Threats")
    form = {"action": "frozen", "days": "1"} | {"act": "lift" if before else "sanction", "reason": "Ads"}
    page = page_of(staff.post(address, {**form, "imposed": shown}), 422)
    assert "The sanction on this person has changed." in page
    assert "Threats" in page
    assert "Ads</textarea>" in page
    assert Sanctions(store).of(BOB).reason == "Threats"
    with broken_store(redis.ConnectionError()):
        failed = staff.post(address, {**form, "imposed": shown}).content.decode()
    assert f'name="imposed" value="{shown}"' in failed
    [shown] = re.findall(r'name="imposed" value="(\w*)"', page)
    staff.post(address, {"act": "lift", "reason": "Ads", "imposed": shown})
    assert Sanctions(store).of(BOB) is None


@pytest.mark.parametrize("is_report", [True, False])
def test_an_error_page_sends_again_what_was_chosen(staff, site, alice, store, raw, is_report):
    write_posts(raw, BOB, [2, 3])
    report(store, ALICE, BOB, 2)
    address, form = "/moderation/people/bob/", {"act": "delete", "post": ["1", "2"]}
    if is_report:
        address = f"/moderation/reports/{site.rid}/"
        form = {"delete": "on", "also": ["2"], "action": "frozen", "days": "7", "imposed": ""}
    staff.get(address)
    with broken_store(redis.ConnectionError()):
        failed = staff.post(address, {**form, "reason": "Ads"}).content.decode()
    kept = MultiValueDict()
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', failed):
        kept.appendlist(name, value)
    assert staff.post(address, {**dict(kept.lists()), "reason": "Ads"}).status_code == 302
    assert [raw.hexists(f"post:{pid}", "deleted") for pid in (1, 2, 3)] == [True, True, False]
    assert (Sanctions(store).of(BOB) is not None) == is_report


def test_a_decision_does_not_replace_a_sanction_that_its_form_has_not_shown(staff, site, store, raw):
    address = f"/moderation/reports/{site.rid}/"
    [shown] = re.findall(r'name="imposed" value="(\w*)"', staff.get(address).content.decode())
    Sanctions(store).impose(BOB, State.SUSPENDED, "Threats")
    form = {"action": "frozen", "days": "1", "reason": "Ads"}
    page = page_of(staff.post(address, {**form, "imposed": shown}), 422)
    assert "The sanction on this person has changed." in page
    assert raw.zcard("reports") == 1
    [shown] = re.findall(r'name="imposed" value="(\w*)"', page)
    assert '<p class="note">Account suspended</p>' in page
    staff.post(address, {**form, "imposed": shown})
    frozen = Sanctions(store).of(BOB)
    assert frozen.state is State.FROZEN
    page = staff.get(f"/moderation/reports/{report(store, ALICE, BOB).rid}/").content.decode()
    assert f'<p class="note">Account frozen · It ends on {day(frozen.until, "en")}.</p>' in page


def test_staff_deletes_chosen_posts_of_a_person_together(staff, browser, site, bob, store, raw):
    write_posts(raw, BOB, range(2, 5))
    write_posts(raw, ALICE, [5])
    address = "/moderation/people/bob/"
    for wrong in ({"post": ["2"]}, {"reason": "Ads"}, {"post": ["5"], "reason": "Ads"}):
        page = page_of(staff.post(address, {"act": "delete", **wrong}), 422)
        assert ('value="2" checked' in page) == ("2" in wrong.get("post", ()))
    staff.post(address, {"act": "delete", "post": ["2", "4", "5"], "reason": "Ads"})
    assert staff.cookies[POSTS_CHANGED].value == "4-2"
    assert [pid for pid in range(1, 6) if raw.hexists(f"post:{pid}", "deleted")] == [2, 4]
    acts = {(act.what, act.post, act.reason) for act in Log(store).about(BOB)}
    assert acts == {("report:post_deleted", 4, "Ads"), ("report:post_deleted", 2, "Ads")}
    assert raw.zrange("reports", 0, -1) == [str(site.rid)]  # it is about another post
    told = browser(bob).get("/notifications/").content.decode()
    assert told.count("The moderators have deleted 2 posts of yours.") == 1
    assert "Ads" in told


def test_posts_that_come_after_the_page_leave_the_chosen_ones_chosen(staff, raw):
    write_posts(raw, BOB, range(2, 11))
    page = staff.get("/moderation/people/bob/").content.decode()
    chosen = re.findall(r'name="post" value="(\d+)"', page)
    [address] = re.findall(r'action="(/moderation/people/bob/\?[^"]*)"', page)
    write_posts(raw, BOB, range(11, 14))
    refused = staff.post(address, {"act": "delete", "post": chosen}).content.decode()
    assert re.findall(r'name="post" value="(\d+)" checked', refused) == chosen
    staff.post(address, {"act": "delete", "post": chosen, "reason": "Ads"})
    assert [pid for pid in range(1, 14) if raw.hexists(f"post:{pid}", "deleted")] == [*range(1, 11)]


def test_the_log_leaves_out_nothing_of_a_decision_about_many_posts(staff, store, raw):
    write_posts(raw, BOB, range(2, 31))
    for pid in range(2, 31):
        last = report(store, ALICE, BOB, pid)
    form = {"action": "warned", "delete": "on", "reason": "Ads", "also": [*range(1, 30)]}
    staff.post(f"/moderation/reports/{last.rid}/", form)
    drain(store, "worker")
    first = staff.get("/moderation/log/").content.decode()
    [older] = re.findall(r'href="(\?before=\d+)"', first)
    second = staff.get(f"/moderation/log/{older}").content.decode()
    assert (first + second).count("Post deleted") == 30
    assert (first + second).count("Person warned") == 1
    assert "Made a moderator" in second
    assert "?before=" not in second
    raw.zremrangebyscore(f"log:{time.gmtime().tm_year}", "-inf", f"({older.partition('=')[2]}")
    assert "?before=" not in staff.get("/moderation/log/").content.decode()
    assert staff.get("/moderation/people/bob/").content.decode().count("Post deleted") >= 30


def test_staff_deletes_a_post_where_it_sees_it(staff, site, raw):
    more = staff.get("/@bob/1/more/").content.decode()
    assert 'formaction="/moderation/people/bob/1/"' in more
    assert '<a href="/moderation/people/bob/1/">1 report</a>' in more
    assert '<a href="/moderation/people/bob/#reports">1 report</a>' in staff.get("/@bob/more/").content.decode()
    answer = staff.post("/moderation/people/bob/1/", {"next": "/timeline/"})
    assert answer.status_code == 422
    assert '<input type="hidden" name="next" value="/timeline/">' in answer.content.decode()
    answer = staff.post("/moderation/people/bob/1/", {"next": "/timeline/", "reason": "Ads"})
    assert answer["Location"] == "/timeline/"
    assert staff.cookies[POSTS_CHANGED].value == "1"
    assert raw.hget("post:1", "deleted").endswith(":staff")
    page = staff.get("/moderation/people/bob/1/").content.decode()
    assert "The post is deleted." in page
    assert f"/moderation/reports/{site.rid}/" in page
    assert staff.get("/moderation/people/bob/2/").status_code == 404


@pytest.mark.parametrize("is_reported", [True, False])
def test_a_deletion_where_staff_sees_the_post_tells_the_author_and_closes_its_reports(
    staff, browser, alice, bob, store, raw, capsys, is_reported
):
    pid = 1 if is_reported else 2
    publish(raw, store, bob, "Buy more!")
    staff.post(f"/moderation/people/bob/{pid}/", {"reason": "No ads here"})
    assert raw.hexists(f"post:{pid}", "deleted")
    told = browser(bob).get("/notifications/").content.decode()
    assert "The moderators have deleted a post of yours." in told
    assert "No ads here" in told
    assert raw.zcard("reports") == 1 - is_reported
    assert ("The moderators have acted" in browser(alice).get("/notifications/").content.decode()) == is_reported
    assert raw.zrange("notices:3", 0, -1) == []
    [act] = Log(store).about(BOB)
    assert (act.what, act.post, act.by, act.reason) == ("report:post_deleted", pid, CAROL, "No ads here")
    way = f"/moderation/people/bob/{pid}/"
    log = staff.get("/moderation/log/").content.decode()
    assert f'Post deleted · <a href="{way}">A post by @bob</a>' in log
    assert ("Buy!" if is_reported else "Buy more!") in staff.get(way).content.decode()
    assert not any(doctor_findings(capsys)[0].values())


@pytest.mark.parametrize("act", ["sanction", "link", "note"])
def test_the_page_of_a_deleted_account_says_so_and_does_nothing(staff, bob, store, raw, act):
    AccountDeletion(store).delete(bob.user, bob.secret)
    before = Log(store).page()
    for answer in (
        staff.get("/moderation/people/bob/"),
        staff.post("/moderation/people/bob/", {"act": act, "action": "frozen", "reason": "Ads", "note": "Ads"}),
    ):
        assert answer.status_code == 410
        assert "This account was deleted." in answer.content.decode()
    assert Log(store).page() == before
    assert raw.keys("reset:*") == []
    drain(store, "worker")
    assert "This account was deleted." in staff.get("/moderation/people/bob/1/").content.decode()


@pytest.mark.parametrize("act", ["sanction", "lift", "grant", "link", "note", "delete"])
def test_a_moderator_does_nothing_about_an_admin(staff, alice, store, raw, act):
    Roles(store).give(ALICE, Role.ADMIN)
    before = raw.hgetall("user:1")
    write_posts(raw, ALICE, [7])
    form = {"act": act, "action": "frozen", "reason": "No", "note": "No", "post": ["7"]}
    assert staff.post("/moderation/people/alice/", form).status_code == 422
    assert staff.post("/moderation/people/alice/7/", form).status_code == 422
    assert (raw.hexists("post:7", "deleted"), raw.exists("staff_notes:1")) == (False, 0)
    assert raw.hgetall("user:1") == before
    assert raw.keys("reset:*") == []
