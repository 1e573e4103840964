"""What stays when a worker has removed an account that had all that the site can hold. docs/security.md says it."""

import json
import re

from django.conf import settings

from accounts.community.acts import StaffNotes
from accounts.community.sanctions import Sanctions
from accounts.joining.joining import Invitations, Joining
from accounts.media.profiles import ProfilePicture
from accounts.media.repository import Pictures
from accounts.recovery.codes import RecoveryCodes, ResetLinks
from accounts.users.entities import State, User
from accounts.users.names import NameIndex
from retwis_site.store import keys
from retwis_site.store.kinds import KINDS, POST, THREAD, USER, OfId, kind_of
from tests.support.apps import token_of
from tests.support.people import LONG_AGO, Login, hashed_password, log_in, register
from tests.support.pictures import decoded_picture
from tests.support.protocols.reports import make_admin, report
from tests.support.removed_accounts import delete_account
from tests.support.second_factors import Authenticator
from tests.support.stored_keys import drain_due, everything, noted, publish
from timeline.posts.delivery import Reposts
from timeline.posts.entities import Media, NewPost, Picture
from timeline.posts.repository import Posts
from timeline.relations.edges import Edges
from timeline.relations.relation import Edge, to_person
from timeline.relations.relations import relations

ZELDA, BOB, DAN = 7777, 7778, 7779  # no other number of the store has one of these in it
FIRST_POST = 500_000
HERS = "Quux"  # is in each text that zelda has written


def told_to_stay():
    """The kinds of keys that docs/security.md names in the table of what stays."""
    document = (settings.BASE_DIR / "docs/security.md").read_text()
    [section] = re.findall(r"(?s)### What stays of a deleted account\n(.*?)\n### ", document)
    return {name.partition(":")[0] for name in re.findall(r"`([a-z_]+:?)(?:<[a-z]+>)?`", section)}


def furnished(store, raw):
    """zelda has all that the key table knows of a person. bob has the same to do with her as she with him, and dan
    blocks her, and she him."""
    raw.set("next_user_id", ZELDA - 1)
    raw.set("next_post_id", FIRST_POST - 1)
    zelda, bob, _ = (register(store, name) for name in ("Zelda", "bob", "dan"))
    Posts(store).publish(ZELDA, NewPost(f"{HERS} one #tag @bob"), "first")
    first, his = FIRST_POST, publish(raw, store, bob, "Hello @zelda #redis")
    Posts(store).publish(ZELDA, NewPost(f"{HERS} reply", reply_to=his), "reply")
    Posts(store).publish(BOB, NewPost("Answered", reply_to=first), "answered")
    Posts(store).publish(BOB, NewPost("Quoted", quote=first), "quoted")
    Posts(store).publish(ZELDA, NewPost(f"{HERS} quote", quote=his), "quote")
    Posts(store).edit(ZELDA, first, f"{HERS} two #tag @bob")
    give_edges(store, first, his)
    give_pictures(store, raw, first)
    NameIndex(store).edit(zelda.user, f"{HERS} Z", f"{HERS} bio", json.dumps([[HERS, "https://quux.example/"]]))
    give_ways_in(store, raw, zelda)
    give_what_staff_has(store, raw, first, his)
    return Login(User(ZELDA, "Zelda", f"{HERS} Z"), zelda.secret)


def give_edges(store, hers, his):
    for relation in relations():
        for who, other, post in ((ZELDA, BOB, his), (BOB, ZELDA, hers)):
            if relation.kind in {"block", "mute"}:
                Edges(store, relation).set(to_person(*((ZELDA, DAN) if who == ZELDA else (DAN, ZELDA))), LONG_AGO)
            elif relation.kind == "repost":
                Reposts(store).repost(who, post, other)
            elif relation.leads_to == USER:
                Edges(store, relation).set(to_person(who, other), 4_000_000_000)
            elif relation.leads_to in (POST, THREAD):
                Edges(store, relation).set(Edge(who, str(post), other), 4_000_000_000)
            elif who == ZELDA:
                text = f"home fold {HERS}" if relation.kind == "mute_words" else "redis"
                Edges(store, relation).set(Edge(who, text), 4_000_000_000)


def give_pictures(store, raw, pid):
    for colour in ("red", "blue", "lime"):
        Pictures(store).add(ZELDA, decoded_picture(colour))
    red, blue, lime = (decoded_picture(colour).digest for colour in ("red", "blue", "lime"))
    Posts(store).publish(ZELDA, NewPost("", media=Media((Picture(red, alt=f"{HERS} red"),))), "picture")
    for kind in ProfilePicture:
        raw.hset(f"user:{ZELDA}", kind, blue)
        raw.zadd(f"media_users:{blue}", {f"{kind}:{ZELDA}:{LONG_AGO}": LONG_AGO})
    raw.set(f"media_draft:{ZELDA}:{lime}", f" {HERS} lime", ex=900)
    raw.hset(f"user:{ZELDA}", mapping={"pinned": pid, "seen": pid, "quiet": "like", "language": "de"})


def give_ways_in(store, raw, zelda):
    log_in(store, "zelda")
    token_of(zelda)
    RecoveryCodes(store).make(ZELDA)
    ResetLinks(store).make(ZELDA)
    passkey = Authenticator(ZELDA)
    passkey.add(store, HERS)
    raw.zadd(f"factor_uses:{ZELDA}", {"a use": 7})
    Joining(store).join("invite", "newcomer", hashed_password(), "", Invitations(store).make(ZELDA, 2).code)


def give_what_staff_has(store, raw, hers, his):
    boss = register(store, "boss").user.uid
    make_admin(store, boss)
    report(store, ZELDA, BOB, his, note=f"{HERS} note")
    report(store, BOB, ZELDA, hers, body=f"{HERS} two", note="Look")
    StaffNotes(store).add(ZELDA, boss, "Was here before.")
    Sanctions(store).impose(ZELDA, State.HIDDEN, "insults", 0, boss)
    Sanctions(store).appeal(ZELDA, f"{HERS} appeal")


def kinds_of_people():
    """The keys of the table that one person has."""
    return [kind for kind in KINDS.values() if isinstance(kind, OfId) and kind.parts == ("uid",)]


def found(raw, words):
    """The keys whose names or values match, with what they hold; but for pictures and the index of the search."""
    match, texts = re.compile(words), {key: f"{key} {value!r}" for key, value in everything(raw).items()}
    return {key: text for key, text in texts.items() if match.search(text) and not key.startswith("posting")}


def test_a_person_has_each_kind_of_key_that_the_table_knows(store, raw):
    furnished(store, raw)
    lacking = {kind.word for kind in kinds_of_people() if not raw.exists(kind(ZELDA))}
    assert lacking == {"posts"}  # home: a cache


def test_nothing_else_names_a_removed_account_or_its_posts(store, raw):
    zelda = furnished(store, raw)
    hers = [pid for pid, _ in raw.zrange(keys.updates(ZELDA), 0, -1, withscores=True)]
    delete_and_remove_all(store, raw, zelda)
    left = found(raw, "|".join([rf"(?<!\d)({'|'.join([str(ZELDA), *hers])})(?!\d)", "(?i:zelda|quux)"]))
    assert {kind_of(key).word for key in left} - {"next_post_id"} <= told_to_stay()
    assert raw.hgetall(f"user:{ZELDA}").keys() == {"username", "deleted"}


def test_no_text_of_a_removed_account_is_left(store, raw):
    zelda = furnished(store, raw)
    assert found(raw, "Quux")
    delete_and_remove_all(store, raw, zelda)
    assert found(raw, "(?i:quux)") == {}


def delete_and_remove_all(store, raw, login):
    delete_account(store, login)
    for _ in range(3):
        drain_due(store, raw)
    assert noted(raw) == []
