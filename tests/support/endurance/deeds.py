"""What people of the soak do: they read, write, change what they have to do with others, manage their accounts, and
let others in. What staff does stands last."""

import json
import re
from urllib.parse import quote_plus

from django.conf import settings

from tests.support.endurance.person import Account, Invited
from tests.support.people import PASSWORD

# ---- what they look at

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


# ---- what they write


def post(me, **target):
    """A post that its author sees on their profile from then on."""
    tag, mark = me.random.choice(TAGS), me.hex()
    text = f"{me.name} writes {mark} about a cup of tea #{tag} @{me.someone()}"
    token = f"soak-{me.hex()}"
    sent = me.send("/post/", body=text, token=token, **target)
    if sent.ok:
        me.account.texts[token] = text
        _is_on_the_profile(me, mark)
    elif not sent.is_first:
        me.account.maybe.add(token)
    assert sent.ok or me.is_troubled or target, f"{me.name} could not post: {sent.status}"
    return sent.ok, text, token


def _is_on_the_profile(me, mark):
    if not me.is_troubled and me.random.random() < 0.2:
        path = f"/@{me.name}/replies/"
        assert mark in me.get(path).page, f"{path} lacks {mark}, which was acknowledged"


def double_click(me):
    is_posted, text, token = post(me)
    if is_posted:
        me.send("/post/", body=text, token=token)


def reply(me):
    if found := me.some_post():
        post(me, reply_to=found[1])


def quote(me):
    if found := me.some_post():
        post(me, quote=found[1])


def _own(me):
    """The id of a post on the own profile; None without one."""
    pids = re.findall(rf'"/@{me.name}/(\d+)/more/"', me.get(f"/@{me.name}/").page)
    return int(me.random.choice(pids)) if pids else None


def edit(me):
    pid = _own(me)
    if pid is None:
        return
    text = f"{me.name} writes {me.hex()} anew #{me.random.choice(TAGS)}"
    sent = me.send(f"/@{me.name}/{pid}/edit/", body=text)
    if sent.ok:
        me.account.edited[pid] = text
    elif not sent.is_first:
        me.account.unsure.add(pid)


def delete(me):
    pid = _own(me)
    if pid is None:
        return
    sent = me.send(f"/@{me.name}/{pid}/delete/")
    if sent.ok:
        me.account.gone.add(pid)
    elif not sent.is_first:
        me.account.unsure.add(pid)


def pin(me):
    pid = _own(me)
    if pid is not None:
        me.send(f"/@{me.name}/{pid}/" + me.random.choice(["pin/", "unpin/"]))


def report(me):
    """Report a person or a post."""
    found = me.some_post()
    whom, pid = found if found and me.random.random() < 0.5 else (me.someone(), "0")
    if whom == me.name:
        return
    address = f"/@{whom}/report/" if pid == "0" else f"/@{whom}/{pid}/report/"
    if me.send(address, reason="other", note=f"privateof{me.name}x{me.hex()}").ok:
        me.account.reports.add((whom, pid))


WRITING = {post: 12, double_click: 2, reply: 8, quote: 2, edit: 3, delete: 3, pin: 1, report: 1}


# ---- people, posts and tags of others

PEOPLE = {"following": ("follow", "unfollow"), "blocked": ("block", "unblock"), "muted": ("mute", "unmute")}
POSTS = {
    "likes": ("like", "unlike"),
    "reposts": ("repost", "unrepost"),
    "bookmarks": ("bookmark", "unbookmark"),
    "muted_threads": ("mute", "unmute"),
}


def _change_person(me, relation):
    them = me.someone()
    stood = [name for kind, name in me.account.edges if kind == relation and name in me.crowd.names]
    undo = bool(stood) and me.random.random() < 0.4
    them = me.random.choice(stood) if undo else them
    if them == me.name:
        return
    if relation == "blocked" and not undo:
        me.crowd.blocked.add((me.name, them))
    fields = {"what": "all", "days": ""} if relation == "muted" else {}
    sent = me.send(f"/@{them}/{PEOPLE[relation][undo]}/", **fields)
    me.note(relation, them, sent, not undo)


def follow(me):
    _change_person(me, "following")


def block(me):
    _change_person(me, "blocked")


def mute(me):
    _change_person(me, "muted")


def _change_post(me, relation):
    found = me.some_post()
    if found is None:
        return
    author, pid = found
    undo = bool(me.account.edges.get((relation, pid))) or me.random.random() < 0.1
    sent = me.send(f"/@{author}/{pid}/{POSTS[relation][undo]}/")
    me.note(relation, pid, sent, not undo)


def like(me):
    _change_post(me, "likes")


def repost(me):
    _change_post(me, "reposts")


def bookmark(me):
    _change_post(me, "bookmarks")


def mute_thread(me):
    _change_post(me, "muted_threads")


def follow_tag(me):
    tag = me.random.choice(TAGS)
    undo = bool(me.account.edges.get(("tags_of", tag)))
    sent = me.send(f"/tags/{tag}/" + ("unfollow/" if undo else "follow/"))
    me.note("tags_of", tag, sent, not undo)


RELATING = {follow: 12, like: 10, repost: 5, bookmark: 4, mute_thread: 1, block: 2, mute: 2, follow_tag: 2}


# ---- their accounts

MOST_WORDS = 5
KINDS = ("follow", "like", "repost", "reply", "quote", "mention")


def profile(me):
    name, bio = f"Name {me.random.randrange(4)}", f"Bio {me.hex()}"
    sent = me.send("/settings/", name=name, bio=bio)
    if sent.ok or not sent.is_first:
        me.account.fields |= {"name": name, "bio": bio} if sent.ok else {"name": None, "bio": None}


def kinds(me):
    wanted = [kind for kind in KINDS if me.random.random() < 0.7]
    sent = me.send("/settings/notifications/", **dict.fromkeys(wanted, "on"))
    if sent.ok or not sent.is_first:
        me.account.fields["quiet"] = " ".join(sorted({*KINDS} - {*wanted})) if sent.ok else None


def language(me):
    code = me.random.choice(["en", "de", "ar"])
    sent = me.send("/settings/language/", language=code)
    if sent.ok or not sent.is_first:
        # A visitor may choose too, and so may somebody whom staff has just suspended: for the browser alone.
        me.account.fields["language"] = code if sent.ok and not me.is_troubled else None


def appearance(me):
    me.send("/settings/appearance/", theme=me.random.choice(["light", "dark"]))


def words(me):
    """Mute a word that nobody else may see; from the fifth one on, unmute one of them first."""
    shown = re.findall(r'name="unmute" value="([^"]+)"', me.get("/settings/words/").page)
    if len(shown) >= MOST_WORDS:
        old = me.random.choice(shown)
        me.note("muted_words", old, me.send("/settings/words/", unmute=old), False)
    word = f"privateof{me.name}x{me.hex()}"
    sent = me.send("/settings/words/", words=word, where="home", how="hide", days="")
    me.note("muted_words", f"home hide {word}", sent, True)


def log_out(me):
    me.is_in = None
    if me.send(me.random.choice(["/logout/", "/settings/sessions/everywhere/"])).ok:
        me.is_in = False
    me.get("/")
    assert me.sign_in() or me.is_troubled


def other_device(me):
    """Log in on another device, then end its session from the first one."""
    other = me.new_browser()
    if not me.sign_in(other):
        return
    me.get("/", other)
    me.is_in = None
    if me.send("/settings/sessions/", end="others").ok:
        me.is_in = True
        assert 'class="me"' not in me.get("/", other).page, "a session that was ended stands"
    else:
        assert me.sign_in() or me.is_troubled


def password(me):
    old, new = me.account.passwords[-1], f"correct horse {me.hex()}"
    me.is_in, me.account.passwords = None, [old, new]
    sent = me.send("/settings/password/", password=old, password1=new, password2=new)
    if sent.ok:
        me.is_in, me.account.passwords = True, [new]
    else:
        assert me.sign_in() or me.is_troubled


def leave(me):
    """Delete the account, and begin anew under another name."""
    if me.is_staff or me.is_troubled:
        return
    me.is_in = None
    me.crowd.left.add(me.name)
    me.crowd.names.discard(me.name)
    if not me.send("/settings/delete/", password=me.account.passwords[-1]).ok:
        assert not me.sign_in(), f"{me.name} could not delete the account"
    me.begin_a_life()
    me.register()


def appeal(me):
    if me.is_troubled:
        me.send("/appeal/", text="It was not me.")


def come_back(me):
    """Someone whom staff has suspended tries again later."""
    if me.is_troubled:
        me.sign_in()


def dismiss(me):
    """Dismiss the announcement that stands on every page. It is never shown to this account again. A page may show the
    one before it for some seconds, whose dismissal changes nothing."""
    stands, page = me.crowd.announcement, me.get("/about/").page
    shown = re.search(r'name="announcement" value="([^"]+)"', page)
    if shown is None:
        return
    sent = me.send("/announcement/dismiss/", announcement=shown[1])
    is_present = stands is not None and stands in page and stands == me.crowd.announcement
    if sent.ok and is_present:
        me.account.fields["dismissed"] = shown[1]
        assert shown[0] not in me.get("/about/").page or me.is_troubled, "a dismissed announcement is shown"
    elif sent.ok or not sent.is_first:
        me.account.fields["dismissed"] = None


MANAGING = {profile: 3, kinds: 1, language: 1, appearance: 1, words: 2, log_out: 1, other_device: 1, password: 1}
MANAGING |= {leave: 1, appeal: 1, come_back: 1, dismiss: 3}


# ---- letting others in, and getting in without a password

MOST_OPEN = 3  # invitations of a person; the site allows five
INVITES = "/settings/invites/"
CODES = 10  # that are made at once


def invite(me):
    """Make an invitation, let a newcomer in with one, or take one back."""
    codes = _open_invitations(me)
    if not codes or (len(codes) < MOST_OPEN and me.random.random() < 0.3):
        sent = me.send(INVITES)
        made = set(_open_invitations(me)) - set(codes)
        assert made or not sent.ok or me.is_troubled, f"the invitation of {me.name} is not shown"
    elif me.random.random() < 0.2:
        code = me.random.choice(codes)
        sent = me.send(INVITES, revoke=code)
        if sent.ok or not sent.is_first:
            me.account.invitations[code] = False if sent.ok else None
    else:
        _let_in(me, me.random.choice(codes))


def _open_invitations(me):
    codes = re.findall(r'name="revoke" value="([^"]+)"', me.get(INVITES).page)
    me.account.invitations |= dict.fromkeys(codes, True)
    return codes


def _let_in(me, code):
    """A newcomer registers in a browser of their own, and does nothing else."""
    me.guests += 1
    browser, name = me.new_browser(), f"p{me.number}g{me.guests}"
    is_open = me.get(f"/invited/{code}/", browser).status == 200
    assert is_open or me.is_troubled, f"an open invitation of {me.name} lets nobody in"
    sent = me.send("/register/", browser, username=name, password1=PASSWORD, password2=PASSWORD, code=code)
    if not sent.ok and not sent.is_first:  # the use may be taken by a registration that a worker finishes or gives back
        sent = me.send("/login/", browser, username=name, password=PASSWORD)
        if not sent.ok:
            return
    assert sent.ok or me.is_troubled, f"{me.name} has invited {name}, who cannot join: {sent.status}"
    if sent.ok:
        invited = Invited(me.name, code, is_sure=sent.is_first and not me.is_troubled)
        me.crowd.accounts.append(Account(name, invited=invited))
        me.crowd.names.add(name)


def recover(me):
    """Make recovery codes; or set a new password with one of them, on another device."""
    if me.account.codes:
        _with_a_code(me)
        return
    sent = me.send("/settings/recovery/", password=me.account.passwords[-1])
    codes = re.findall(r'<code dir="ltr">([^<]+)</code>', sent.page)
    assert len(codes) == CODES or me.is_troubled, f"{me.name} gets {len(codes)} codes: {sent.status}"
    if codes or not sent.is_first:
        me.account.codes = codes or None


def _with_a_code(me):
    account, old = me.account, me.account.passwords
    code, new = account.codes.pop(), f"correct horse {me.hex()}"
    me.is_in, account.passwords = None, [*old, new]
    sent = me.send("/recover/", me.new_browser(), username=me.name, code=code, password1=new, password2=new)
    if sent.status == 302:
        account.passwords = [new]
        assert 'class="me"' not in me.get("/").page, "a session outlives a new password"
    elif sent.is_first:  # nobody recovers a suspended account
        assert me.is_troubled, f"{me.name} has a code that opens nothing: {sent.status}"
        account.passwords, account.codes = old, [*account.codes, code]
    else:  # an earlier try may have taken the code, or none: staff may have suspended the account meanwhile
        account.codes = None
    assert me.sign_in() or me.is_troubled


GETTING_IN = {invite: 3, recover: 2}


# ---- staff

DECISIONS = ("dismissed", "warned", "post_deleted")
SANCTIONS = ("frozen", "hidden", "suspended")


def decide(me):
    reports = re.findall(r'"/moderation/reports/(\d+)/"', me.get("/moderation/").page)
    if reports:
        address = f"/moderation/reports/{me.random.choice(reports)}/"
        me.get(address)
        me.send(address, action=me.random.choice(DECISIONS), reason="Seen.", days="")


def sanction(me):
    address = f"/moderation/people/{me.random.choice(me.crowd.troubled)}/"
    me.get(address)
    fields = {"act": "sanction", "action": me.random.choice(SANCTIONS), "days": ""}
    me.send(address, reason="Trouble.", **(fields if me.random.random() < 0.4 else {"act": "lift"}))


def look_around(me):
    me.get(
        me.random.choice(
            ["/moderation/", "/moderation/log/", "/moderation/joining/", f"/moderation/people/?q={me.someone()}"]
        )
    )


def announce(me):
    if me.number == 0:
        form = me.get("/moderation/site/").form("/moderation/site/")
        form.pop(settings.CSRF_COOKIE_NAME, None)
        form.pop("csrfmiddlewaretoken", None)
        text = f"Announcement {me.hex()}"
        me.crowd.announcement, before = None, me.crowd.announcement
        sent = me.send("/moderation/site/", **{**form, "announcement": text})
        if sent.ok:
            me.crowd.announcement, me.crowd.announced = text, me.crowd.announced + 1
        elif sent.is_first:
            me.crowd.announcement = before
        assert sent.ok, f"the admin could not write an announcement: {sent.status}"


STAFF_ACTS = {decide: 6, sanction: 3, look_around: 3, announce: 3}

DEEDS = READING | WRITING | RELATING | MANAGING | GETTING_IN
OF_STAFF = DEEDS | STAFF_ACTS
