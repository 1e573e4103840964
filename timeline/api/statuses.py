"""Statuses: publish, show, edit and delete them, what people do with them, and the lists of them that apps ask for."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from accounts.signing_in.viewer import Viewer
from retwis_site.http.apps import Invalid, SentTexts
from retwis_site.store.client import Store, answer, connect
from timeline.api.calls import Call, Endpoint, Listed, number_of, valid
from timeline.api.entities import Entity, date_time, html_of, names_of
from timeline.api.media import alt_sent, keep_for_redraft, pictures_of
from timeline.api.people import accounts_page
from timeline.api.reading import Statuses
from timeline.conversation import repository as conversation
from timeline.conversation.feature import ACTIONS
from timeline.people.lists import Cursor
from timeline.posts.composer import EditForm, PostForm
from timeline.posts.delivery import Reposts
from timeline.posts.entities import Media, NewPost, NoSuchPost, Picture, Post, PostsPage, TooManyEdits, is_language
from timeline.posts.feature import POSTS
from timeline.posts.links import folded, with_own_names
from timeline.posts.pictures import require_descriptions
from timeline.posts.reading.cached_posts import forget
from timeline.posts.reading.records import Version, ask_versions, find_post, find_post_or_hidden
from timeline.posts.reading.visibility import Rule, with_pictures
from timeline.posts.repository import Posts
from timeline.relations.relation import Relation
from timeline.relations.relations import BOOKMARK, LIKE, REPOST
from timeline.tags.tags import CombinedTags, TagPages
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes
from timeline.timelines.profile import OwnPosts, Pins, Profiles

# ---- What is sent for a new or edited status


def _text(call: Call) -> str:
    """This site hides no text behind a warning, so a warning stands above the text."""
    text = "\n\n".join(filter(None, (call.sent.text("spoiler_text"), call.sent.text("status"))))
    return with_own_names(text, call.request.get_host())


def _refuse_what_is_not_here(sent: SentTexts) -> None:
    """All posts are public: none that shall be private is published. An unlisted post is for everyone, too. Raises
    Invalid."""
    if sent.text("visibility") not in (None, "", "public", "unlisted"):
        raise Invalid("Visibility is always public here. Nothing was posted")
    if sent.text("scheduled_at"):
        raise Invalid("Posts cannot be scheduled here")
    if "poll[options]" in sent:
        raise Invalid("There are no polls here")


def _refuse_other_pictures(sent: SentTexts, media: Media) -> None:
    """An edit keeps the pictures. Apps send them again, as they are. Raises Invalid when they ask for other ones."""
    digests = {picture.digest for picture in media.pictures}
    others = "media_ids" in sent and {*sent.texts("media_ids")} != digests
    described = {one.get("id", "") for one in sent.objects("media_attributes")}
    uncovered = bool(digests) and "sensitive" in sent and sent.flag("sensitive") != media.sensitive
    if others or not described <= digests or uncovered:
        raise Invalid("The pictures of a post stay as they are. Nothing was changed")


def _language(sent: SentTexts) -> str:
    """Empty when none was sent, or what is none."""
    code = sent.text("language") or ""
    return code if is_language(code) else ""


def _new_post(call: Call, token: str, uid: int) -> tuple[NewPost, str]:
    """What is to be published, and its one-time token. Two round trips with pictures, else none; one more for a picture
    without a description. Raises Invalid, DescriptionMissing."""
    sent = call.sent
    _refuse_what_is_not_here(sent)
    named = {"reply_to": sent.text("in_reply_to_id"), "quote": sent.text("quoted_status_id")}
    named["sensitive"] = "1" if sent.flag("sensitive") else None
    pictures = pictures_of(uid, sent.texts("media_ids"))
    require_descriptions(connect(), uid, pictures)
    form = valid(PostForm({"body": _text(call), "token": token, **named}, pictures=pictures))
    return replace(form.new_post, language=_language(sent)), form.cleaned_data["token"]


def _token(call: Call) -> str:
    """The one-time token of a call that may be repeated; empty without one."""
    key = call.request.headers.get("Idempotency-Key", "")
    return f"app-{hashlib.sha256(key.encode(errors='replace')).hexdigest()[:40]}" if key else ""


# ---- One status


def _shown(call: Call, pid: int) -> Entity:
    """A status as it is now. Round trips and errors as for `Threads.one`."""
    call.viewer.just_changed = (pid,)
    return _one(call, pid)[1]


def _one(call: Call, pid: int) -> tuple[Post, Entity]:
    statuses = Statuses(call)
    post = conversation.Threads(connect()).one(call.viewer, pid)
    return post, statuses.of([post])[0]


def publish(call: Call) -> object:
    """Round trips as for `Posts.publish`, and four. A repeated call is answered before anything of it is checked or
    counted: two round trips, and those of the answer; the first one has one more for that."""
    me, token = call.viewer.require_user(), _token(call)
    before = Posts(connect()).already_published(me.uid, token) if token else None
    if before is not None:
        return _shown(call, before.pid)
    post, token = _new_post(call, token, me.uid)
    POSTS.count(connect(), me.uid)
    published = Posts(connect()).publish(me.uid, post, token)
    for named in filter(None, (post.reply_to, post.quote)):  # it has another number of replies or quotes
        forget(named)
    return _shown(call, published.pid)


def show(call: Call) -> object:
    return _shown(call, call.id)


MOST = 40  # statuses that are asked for at once


def show_some(call: Call) -> object:
    """Those that the viewer sees, in the order in which they were asked for. Two round trips."""
    statuses = Statuses(call)
    return statuses.of(conversation.Threads(connect()).some(call.viewer, call.sent.ids("id")[:MOST]))


def edit(call: Call) -> object:
    """A text that is not sent stays. Of a picture only the description changes. Raises NoSuchPost, also for another
    author's, and for a repost; DescriptionMissing."""
    me, sent, pid = call.viewer.require_user(), call.sent, call.id
    _refuse_what_is_not_here(sent)
    post = conversation.Threads(connect()).one(call.viewer, pid)
    if post.author.uid != me.uid or post.pid != pid:  # before anything of it is compared with what was sent
        raise NoSuchPost(pid)
    _refuse_other_pictures(sent, post.media)
    said = [
        Picture(one["id"], alt=alt_sent(one["description"]))
        for one in sent.objects("media_attributes")
        if {"id", "description"} <= one.keys()
    ]
    new = _text(call) if "status" in sent or sent.text("spoiler_text") else None
    form = EditForm({"body": new}, post, said)
    body = None if new is None else valid(form).cleaned_data["body"]
    POSTS.count(connect(), me.uid)
    try:
        Posts(connect()).change(me.uid, pid, body, form.pictures)
    except TooManyEdits as refused:
        raise Invalid(str(refused.message)) from refused
    if code := _language(sent):
        Posts(connect()).say_language(me.uid, pid, code)
    return _shown(call, pid)


def delete(call: Call) -> object:
    """The status as it was, with its text. A repost is undone. The pictures stay for a day, to be posted anew, unless
    the app says `delete_media`. Raises NoSuchPost, also for another author's."""
    me = call.viewer.require_user()
    post, status = _one(call, call.id)
    if post.listed_by.uid != me.uid:
        raise NoSuchPost(call.id)
    is_repost = post.context.listed is not None
    if is_repost:
        conversation.REPOSTING.undo(connect(), me.uid, post)
    else:
        if not call.sent.flag("delete_media"):
            keep_for_redraft(me.uid, post.media.pictures)
        Posts(connect()).delete(me.uid, post.pid)
    return {**status, "text": "" if is_repost else post.body}


def context(call: Call) -> object:
    statuses = Statuses(call)
    above, below = conversation.Threads(connect()).around(call.viewer, call.id)
    found = statuses.of([*above, *below])
    return {"ancestors": found[: len(above)], "descendants": found[len(above) :]}


def source(call: Call) -> object:
    """https://docs.joinmastodon.org/entities/StatusSource/"""
    post = find_post(call.viewer, call.id)
    return {"id": str(post.pid), "text": post.body, "spoiler_text": ""}


def history(call: Call) -> object:
    """The texts of a status, the first one first. https://docs.joinmastodon.org/entities/StatusEdit/"""
    post, status = _one(call, call.id)
    status = status["reblog"] or status  # nobody but its author wrote the texts of a repost
    names = None if post.context.mentioned is None else names_of(status["mentions"])
    texts = answer(connect(), ask_versions, post.pid) or (Version(post.time, post.body),)
    return [
        {
            "content": html_of(text, call.origin, names),
            "spoiler_text": "",
            "sensitive": status["sensitive"],
            "created_at": date_time(since),
            "account": status["account"],
            "media_attachments": status["media_attachments"],
            "emojis": [],
        }
        for since, text in texts
    ]


# ---- What people do with a status. A repost stands for what it reposts, which is what the answer shows.


def _do(act: conversation.ActOnPost, call: Call) -> object:
    """As often as the pages allow it. Round trips: one finds the post, then those of the act, and those of `_shown`.
    Raises NoSuchPost, PostDeleted, NotShown, TooOften."""
    post, me = _find(call), call.viewer.require_user()
    ACTIONS.count(connect(), me.uid)
    act(connect(), me.uid, post)
    return _shown(call, post.pid)


def _undo(act: conversation.ActOnPost, call: Call) -> object:
    """An undo is never limited, and no block refuses it. Behind a block it is done, and the answer is a 404: the viewer
    does not see the status."""
    post = _find(call, find_post_or_hidden)
    act(connect(), call.viewer.require_user().uid, post)
    return _shown(call, post.pid)


def _find(call: Call, find: Callable[[Viewer, int], Post] = find_post) -> Post:
    """The post of the call, or what it reposts."""
    post = find(call.viewer, call.id)
    return post if post.links.repost_of is None else find(call.viewer, post.links.repost_of)


def reblog(call: Call) -> object:
    """The repost. A second one changes nothing."""
    _refuse_what_is_not_here(call.sent)
    post, me, store = _find(call), call.viewer.require_user(), connect()
    ACTIONS.count(store, me.uid)
    conversation.REPOSTING.do(store, me.uid, post)
    own = Reposts(store).of(me.uid, post.pid)
    if own is None:  # the post was deleted meanwhile
        raise NoSuchPost(post.pid)
    call.viewer.just_changed = (post.pid,)
    return _one(call, own)[1]


def _pin(store: Store, me: int, post: Post) -> None:
    """The profile has one pinned post. Raises Invalid for somebody else's."""
    if post.author.uid != me:
        raise Invalid("Someone else's post cannot be pinned")
    Pins(store).pin(me, post.pid)


PINNING = conversation.Acting(_pin, lambda store, me, post: Pins(store).unpin(me, post.pid))


def _do_and_undo(verb: str, acting: conversation.Acting, scope: str) -> tuple[Endpoint, Endpoint]:
    return (
        Endpoint("POST", f"/api/v1/statuses/:id/{verb}", partial(_do, acting.do), scope),
        Endpoint("POST", f"/api/v1/statuses/:id/un{verb}", partial(_undo, acting.undo), scope),
    )


def _acted_by(relation: Relation, call: Call) -> object:
    """The people, the latest first. The cursors are no ids of people: apps take them from the header `Link`."""
    before, limit = call.cursor("max_id"), call.sent.number("limit", 40, 80)
    found = conversation.ActedBy(connect(), relation).part(call.viewer, call.id, before, limit)
    return accounts_page(call, [row for row, _ in found.rows], found.older)


favourited_by, reblogged_by = partial(_acted_by, LIKE), partial(_acted_by, REPOST)

# ---- Lists of posts: home, everyone, a tag, a person, likes and bookmarks


MOST_TAGS = 4  # that a call names beside its own, as Mastodon has it
MOST_READS = 5  # for a page of which what was read before has no post


def _listed(statuses: Statuses, part: Any, read: Callable[[Any], PostsPage | conversation.SavedPage]) -> Listed:
    """A part of a list of posts as the answer to a call. While what was read has no post, what follows is read, too:
    apps take a page without a post for the end."""
    for _ in range(MOST_READS):
        page = read(part)
        further = page.newest if part.upwards else page.older
        if page.posts or further is None:
            break
        part = part._replace(**{"above" if part.upwards else "below": further})
    newest, older = (number_of(one) if isinstance(one, Cursor) else one for one in (page.newest, page.older))
    return Listed(statuses.written(page.posts), newest, older)


NOTHING = Listed([], None, None)


def home(call: Call) -> object:
    """Round trips as for the page of the home."""
    return _listed(Statuses(call), call.part(), partial(Homes(connect()).part, call.viewer))


def public(call: Call) -> object:
    """Everyone's posts. There is no other server, so what is `remote` is nothing. Round trips as for the page."""
    part = call.part()
    if call.sent.flag("remote"):
        return NOTHING
    return _listed(Statuses(call), part, partial(EveryoneTimeline(connect()).part, call.viewer, _rules(call.sent)))


def tag(call: Call) -> object:
    """The posts with a tag or one of `any`, with each of `all`, and with none of `none`."""
    part, sent = call.part(), call.sent
    others = ([folded(name.lstrip("#")) for name in sent.texts(which)[:MOST_TAGS]] for which in ("any", "all", "none"))
    any_of, all_of, none_of = others
    if sent.flag("remote"):
        return NOTHING
    tags = CombinedTags([*dict.fromkeys([folded(call.named["tag"].removeprefix("#")), *any_of])], all_of, none_of)
    return _listed(Statuses(call), part, partial(TagPages(connect()).part, call.viewer, tags, _rules(sent)))


def _rules(sent: SentTexts) -> list[Rule]:
    return [with_pictures] if sent.flag("only_media") else []


def of_account(call: Call) -> object:
    """What a person wrote and reposted. Raises NoSuchUser, NotShown."""
    part, sent, profiles = call.part(), call.sent, Profiles(connect())
    own = OwnPosts(
        not sent.flag("exclude_replies"),
        not sent.flag("exclude_reblogs"),
        folded((sent.text("tagged") or "").lstrip("#")),
        without_pictures=not sent.flag("only_media"),
    )
    statuses = Statuses(call)
    if sent.flag("pinned"):
        return statuses.of(profiles.pinned(call.viewer, call.id))
    return _listed(statuses, part, partial(profiles.part, call.viewer, call.id, own))


def _saved(of: Relation, call: Call) -> object:
    """The last one first. The cursors are no ids of posts: apps take them from the header `Link`. Raises Invalid."""
    sent = call.sent
    below, since, least = (call.cursor(name) for name in ("max_id", "since_id", "min_id"))
    part = conversation.SavedPart(below, least or since, least is not None, sent.number("limit", 20, 40))
    return _listed(Statuses(call), part, partial(conversation.saved_posts, connect(), of, call.viewer))


ENDPOINTS = (
    Endpoint("POST", "/api/v1/statuses", publish, "write:statuses"),
    Endpoint("GET", "/api/v1/statuses", show_some, "read:statuses", open_to_visitors=True),
    Endpoint("GET", "/api/v1/statuses/:id", show, "read:statuses", open_to_visitors=True),
    Endpoint("PUT", "/api/v1/statuses/:id", edit, "write:statuses"),
    Endpoint("DELETE", "/api/v1/statuses/:id", delete, "write:statuses"),
    Endpoint("GET", "/api/v1/statuses/:id/context", context, "read:statuses", open_to_visitors=True),
    Endpoint("GET", "/api/v1/statuses/:id/source", source, "read:statuses"),
    Endpoint("GET", "/api/v1/statuses/:id/history", history, "read:statuses", open_to_visitors=True),
    Endpoint("GET", "/api/v1/statuses/:id/favourited_by", favourited_by, "read:accounts", open_to_visitors=True),
    Endpoint("GET", "/api/v1/statuses/:id/reblogged_by", reblogged_by, "read:accounts", open_to_visitors=True),
    Endpoint("POST", "/api/v1/statuses/:id/reblog", reblog, "write:statuses"),
    Endpoint("POST", "/api/v1/statuses/:id/unreblog", partial(_undo, conversation.REPOSTING.undo), "write:statuses"),
    *_do_and_undo("pin", PINNING, "write:accounts"),
    *_do_and_undo("favourite", conversation.LIKING, "write:favourites"),
    *_do_and_undo("bookmark", conversation.BOOKMARKING, "write:bookmarks"),
    *_do_and_undo("mute", conversation.MUTING_THREADS, "write:mutes"),
    Endpoint("GET", "/api/v1/timelines/home", home, "read:statuses"),
    Endpoint("GET", "/api/v1/timelines/public", public, "read:statuses", open_to_visitors=True),
    Endpoint("GET", "/api/v1/timelines/tag/:tag", tag, "read:statuses", open_to_visitors=True),
    Endpoint("GET", "/api/v1/accounts/:id/statuses", of_account, "read:statuses", open_to_visitors=True),
    Endpoint("GET", "/api/v1/favourites", partial(_saved, LIKE), "read:favourites"),
    Endpoint("GET", "/api/v1/bookmarks", partial(_saved, BOOKMARK), "read:bookmarks"),
)
