"""A site that has all that the file of a whole site can hold, and such files."""

import hashlib
import json

from django.core.management import CommandError, call_command

from accounts.community.log import Act
from accounts.community.sanctions import Appeal
from accounts.joining.joining import Application, stored_application
from accounts.signing_in.factors import use_of
from accounts.users.accounts import AccountDeletion
from retwis_site.features import site_lines
from retwis_site.jobs.worker import drain
from retwis_site.maintenance.site_files import encoded, end
from retwis_site.store import schema
from tests.support.people import LONG_AGO, register
from tests.support.stored_keys import publish
from timeline.posts.entities import DeletedBy, NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows

RID = LONG_AGO * 10**6  # of the report


def make_full_site(raw, store):
    """alice (1), bob (2) and carol (3), dave (4) is deleted. bob and carol follow alice. Posts 1, 3 and 4 are alice's,
    bob's and carol's; post 2 answered post 1 and staff deleted it; bob's post 7 answers it; post 3 is edited; post 4
    answers post 1, quotes post 3 and mentions alice.
    carol likes posts 3 and 1. bob blocks and mutes carol for ever, and carol's reposts for a time; he follows a tag,
    has a bookmark of post 1, and mutes its thread. alice has pinned post 1,
    has read a notice of bob's repost, and wants none of mentions."""
    alice, bob, _, dave = (register(store, name) for name in ("Alice", "bob", "carol", "Dave"))
    Follows(store).follow(2, 1)
    Follows(store).follow(3, 1)
    Follows(store).follow(4, 1)
    publish(raw, store, alice, "Grüße, 世界\nand a second line")
    deleted = publish(raw, store, alice, "deleted")
    Posts(store).delete(1, deleted, DeletedBy.STAFF)
    publish(raw, store, bob, "by bob")
    Posts(store).edit(2, 3, "from bob")
    Posts(store).publish(3, NewPost("to @alice #now", reply_to=1, quote=3, language="en"), "to-alice")
    publish(raw, store, dave, "of a deleted account")
    raw.hset("user:3", mapping={"name": "Carola", "bio": "I was here.", "language": "de", "colour": "teal"})
    raw.hset("user:3", "needs_alt", LONG_AGO)
    raw.zadd("users_by_name", {"carola:3": 0})
    like(raw, 3, 3, LONG_AGO + 5)
    like(raw, 3, 1, LONG_AGO)
    add_further_edges(raw)
    answer_the_deleted(raw)
    give_picture(raw, "post:3", {"pictures": [[RED, 90, 60, "Red"]], "sensitive": True})
    AccountDeletion(store).delete(dave.user, dave.secret)
    drain(store, "a worker")
    schema.mark(store)


RED = "0123456789abcdef0123456789abcdef01234567"


def give_picture(raw, post, media):
    """A picture of bob's post, which is also on his profile; any bytes are a file."""
    raw.hset(post, "media", json.dumps(media, separators=(",", ":")))
    raw.hset("blocked_media", "f" * 40, "0")
    raw.set(f"media:{RED}", "large")
    raw.set(f"media:{RED}-600", "small")
    about = {"width": 90, "height": 60, "bytes": 10, "sizes": "-600", "look": "0a", "blurhash": "L0"}
    raw.hset(f"media_info:{RED}", mapping={**about, "owner": 2, "since": LONG_AGO})
    raw.zadd(f"media_users:{RED}", {"post:2:3": int(raw.hget(post, "time"))})
    for key in ("media_of:2", "media_sizes"):
        raw.zadd(key, {RED: 10})
    raw.hset("user:2", mapping={"picture": RED, "header": RED})
    raw.zadd(f"media_users:{RED}", {"picture:2:0": 0, "header:2:0": 0})


def add_further_edges(raw):
    raw.zadd("blocked:2", {"3": LONG_AGO})
    raw.zadd("blocked_by:3", {"2": LONG_AGO})
    raw.zadd("reposts:2", {"1": 6})
    raw.zadd("reposted_by:1", {"2": 6})
    raw.hset("post:6", mapping={"user_id": 2, "time": LONG_AGO, "repost_of": 1})
    raw.hset("post:1", "reposts", 1)
    raw.zadd("updates:2", {"6": 6})
    raw.set("next_post_id", 7)
    raw.zadd("muted:2", {"3": "+inf"})
    raw.zadd("muted_reposts:2", {"3": 4_000_000_000})
    raw.hset("user:2", f"recovery:{'0a' * 16}", str(LONG_AGO))
    raw.hset("credentials:2", "totp", f"{LONG_AGO}:JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")
    raw.hset("credentials:2", "passkey:a1-_", f'{{"name":"Phone","key":"b2-_","since":{LONG_AGO}}}')
    raw.zadd("factor_uses:2", {use_of("passkey:a1-_", ""): 7})
    raw.hset(
        "user:2", mapping={"facts": '[["Web", "https://b.example/"]]', "verified_links": '{"https://b.example/": 7}'}
    )
    raw.zadd("muted_words:2", {"home fold the finale": "+inf"})
    for key, member in (("tags_of:2", "python"), ("home_tags:2", "python"), ("homes_of_tag:python", "2")):
        raw.zadd(key, {member: LONG_AGO})
    add_community(raw)
    add_report(raw)
    add_joining(raw)
    raw.zadd("bookmarks:2", {"1": LONG_AGO})
    raw.zadd("muted_threads:2", {"1": LONG_AGO})
    raw.hset("user:1", mapping={"pinned": 1, "noticed": LONG_AGO, "quiet": "mention", "dismissed": "0123456789abcdef"})
    raw.zadd("notices:1", {"repost:1:2": LONG_AGO, "up_to_here": LONG_AGO})


def add_community(raw):
    """alice is an admin, and has frozen carol, who has appealed in vain, and blocked her picture."""
    raw.hset("staff", "1", "admin")
    raw.hset("site", "name", "Ravens")
    raw.hset("user:1", "role", "admin")
    frozen = Act(what="frozen", by=1, whom=3, reason="insults", at=LONG_AGO * 1000, id="0123456789ab")
    refused = Act(what="appeal:refused", by=1, whom=3, reason="no", at=(LONG_AGO + 60) * 1000, id="ba9876543210")
    removed = Act(what="picture:removed", by=1, whom=3, at=LONG_AGO * 1000, id="a1b2c3d4e5f6", also="f" * 40)
    for act in (frozen, refused, removed):
        for key in ("log:2026", "acts:3"):
            raw.zadd(key, {act.line(): act.at})
    note = Act(what="note", by=1, whom=3, reason="Was warned before.", at=(LONG_AGO + 70) * 1000, id="0a1b2c3d4e5f")
    raw.zadd("staff_notes:3", {note.line(): note.at})
    state = {"state": "frozen", "state_until": 0, "state_reason": "insults", "state_since": LONG_AGO}
    appeal = Appeal(frozen.id, "I am sorry.", LONG_AGO + 30).stored()
    answer = {"appeal": appeal, f"answer:{frozen.id}": refused.line()}
    raw.hset("user:3", mapping={**state, "state_act": frozen.id, **answer})
    raw.zadd("notices:3", {f"sanction:{refused.at}:3": refused.when})


def add_report(raw):
    """carol has reported bob's post 3; it was dismissed, and she has a notice of it."""
    decision = Act(what="report:dismissed", by=1, whom=2, post=3, at=(LONG_AGO + 90) * 1000, id="00112233aabb")
    raw.hset(f"report:{RID}", mapping={"who": 3, "whom": 2, "pid": 3, "reason": "spam", "note": "Ads."})
    raw.hset(f"report:{RID}", mapping={"body": "by bob", "decision": decision.line(), "deleted": "3 4"})
    raw.hset(f"report:{RID}", "media", f'{{"pictures":[["{RED}",90,60,"Red"]],"sensitive":true}}')
    raw.zadd("reports_about:2", {RID: RID})
    raw.zadd("reports_by:3", {f"2:3:{RID}": RID})
    raw.zadd("notices:3", {f"report:{RID}:3": LONG_AGO + 90})


def add_joining(raw):
    """alice has invited bob, and has an open invitation; zoe asks to join; nobody may be called spam."""
    raw.hset("user:2", "invited_by", 1)
    raw.hset("invites:1", f"1-{2**31}-abc", 1)
    asked = Application("Zoe", "argon2$x", "I know bob.", LONG_AGO)
    raw.hset("applications", "zoe", stored_application(asked))
    raw.zadd("applicants", {asked.member: LONG_AGO})
    raw.hset("blocked_names", "spam", LONG_AGO)


def answer_the_deleted(raw):
    """Post 2 answered post 1, and bob's post 7 answers it, so it stays."""
    raw.persist("post:2")
    raw.hset("post:2", mapping={"reply_to": 1, "root": 1, "reply_to_user": 1, "above": "1"})
    raw.hset("post:7", mapping={"user_id": 2, "time": LONG_AGO, "body": "a pity", "reply_to": 2, "root": 1})
    raw.hset("post:7", mapping={"reply_to_user": 1, "above": "2 1"})
    raw.zadd("updates:2", {"7": 7})
    raw.zadd("thread:1", {"2": 2, "7": 7})
    raw.zadd("replies_to:1", {"2": 2})
    raw.zadd("replies_to:2", {"7": 7})
    raw.hset("post:1", "replies", 2)


def like(raw, uid, pid, when):
    raw.zadd(f"likes:{uid}", {pid: when})
    raw.zadd(f"liked_by:{pid}", {uid: when})
    raw.hincrby(f"post:{pid}", "likes", 1)


def export(path, *, damaged=False):
    """Export the site into a file. Returns its bytes. `damaged`: the command may say that the store has errors."""
    try:
        call_command("export", str(path), verbosity=0)
    except CommandError as error:
        if not (damaged and "is written, but the store has errors" in str(error)):
            raise
    return path.read_bytes()


def import_(path):
    call_command("import", str(path), verbosity=0)


def parsed(content):
    return [json.loads(line) for line in content.splitlines()]


def of_type(content, type_):
    return [line for line in parsed(content) if line["type"] == type_]


def site_file(lines, **head):
    """A complete file with these lines, as bytes."""
    first = {"type": "site", "format": "retwis-site", "version": 1, "exported_at": "2026-11-20T15:04:05Z", "schema": 1}
    content = b"".join(map(encoded, [first | head, *lines]))
    counts = {type_: sum(line["type"] == type_ for line in lines) for type_ in site_lines()}
    return content + encoded(end(counts, {"user": 0, "post": 0}, hashlib.sha256(content).hexdigest()))


def person(uid, username, **fields):
    """The line of a user."""
    about = {"password": None, "name": "", "bio": "", "language": "", "registered": "2026-01-02T03:04:05Z"}
    return {"type": "user", "id": uid, "username": username, **about, **fields}
