"""What people of the soak do with their accounts, and what staff does."""

import re

from django.conf import settings

MOST_WORDS = 5
DECISIONS = ("dismissed", "warned", "post_deleted")
SANCTIONS = ("frozen", "hidden", "suspended")
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
    """Dismiss the announcement that stands on every page. It is never shown to this account again."""
    shown = re.search(r'name="announcement" value="([^"]+)"', me.get("/about/").page)
    if shown is None:
        return
    sent = me.send("/announcement/dismiss/", announcement=shown[1])
    if sent.ok:
        me.account.fields["dismissed"] = shown[1]
        assert shown[0] not in me.get("/about/").page or me.is_troubled, "a dismissed announcement is shown"
    elif not sent.is_first:
        me.account.fields["dismissed"] = None


MANAGING = {profile: 3, kinds: 1, language: 1, appearance: 1, words: 2, log_out: 1, other_device: 1, password: 1}
MANAGING |= {leave: 1, appeal: 1, come_back: 1, dismiss: 3}


# ---- staff


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
