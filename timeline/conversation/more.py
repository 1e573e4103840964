"""All that a viewer can do with a post, and about a person. The script shows these pages as menus in place."""

from urllib.parse import quote

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import match_of, page_of_form
from accounts.signing_in.html import Page, Rendering, rendering
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from accounts.users.html import heading, titled
from retwis_site.features import features
from retwis_site.rendering.fragments import NOTHING, Html, joined
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import Pipe
from retwis_site.store.reading import trip
from retwis_site.store.replies import Reply, Result
from timeline.conversation.repository import NOTHING_MUTED
from timeline.posts.entities import NoSuchPost, Post
from timeline.posts.html.post_cards import about_post, beginning_of
from timeline.posts.reading.one_post import OnePost
from timeline.relations.html import follow_button, person_menu
from timeline.relations.relation import BlocksViewer, ask_standing
from timeline.relations.relations import (
    HIDES_NOTHING,
    REPOST,
    Hiding,
    ask_followed,
    ask_hiding,
    ask_muted_threads,
)
from timeline.timelines.profile import ask_pinned

IN_NAME = 40  # characters of a text that tell screen readers which post a button deletes
SHAPE = {"viewer": ("visitor", "frozen", "other", "own")}
NONE_OF_THEM: Result[set[int]] = Result(set)  # whom a visitor follows, and what they have reposted
never_fresh = cache_control(private=True, no_cache=True)  # `next` differs from visit to visit

MORE = Page("timeline/conversation/more.html", here="more", shape=SHAPE)
MORE_PERSON = Page("timeline/conversation/more_person.html", here="more_person", shape=SHAPE)
REPOSTING = Page("timeline/conversation/reposting.html", here="reposting")


@require_safe
@never_fresh
def more(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    """All actions on a post, for those who see its page. One round trip with cached uids, and those of `staff_menu` for
    staff. Raises NoSuchUser,
    AccountDeleted, NoSuchPost, also for a repost, PostDeleted, NotShown."""
    author, (found, pinned, muted_threads, hiding) = request.viewer.ask_about(
        username,
        lambda pipe, me, them: trip(
            OnePost(pipe, me, them, pid),
            ask_pinned(pipe, them),
            NOTHING_MUTED if me is None else ask_muted_threads(pipe, me),
            _ask_hiding(pipe, me, them),
        ),
    )
    post = _no_repost(found.by(author))
    by = rendering(request)
    return MORE.response(
        request,
        by,
        **about_post(author, pid),
        origin=origin_of(request),
        viewer=_viewer(by, author.uid),
        staff_menu=_staff_menu(request, by, author, pid),
        is_pinned=pinned == pid,
        is_muted=str(post.links.root or pid) in muted_threads,
        author_is_muted=hiding.muted,
        username=author.username,
        beginning=beginning_of(post.body, IN_NAME),
        after_login=quote(reverse("post", args=[author.username, pid])),
        next=_back(request, reverse("post", args=[author.username, pid])),
    )


@require_safe
@never_fresh
def reposting(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    """The choice between a repost, or its undo, and a quote. One round trip with cached uids. Raises NoSuchUser,
    AccountDeleted, NoSuchPost, also for a repost, PostDeleted, NotShown, NotSignedIn."""
    author, (found, reposted) = request.viewer.ask_about(
        username,
        lambda pipe, me, them: trip(
            OnePost(pipe, me, them, pid),
            NONE_OF_THEM if me is None else ask_standing(pipe, REPOST, me, [pid]),
        ),
    )
    request.viewer.require_user()
    post = _no_repost(found.by(author))
    return REPOSTING.response(
        request,
        rendering(request),
        **about_post(author, pid),
        is_reposted=pid in reposted,
        beginning=beginning_of(post.body, IN_NAME),
        next=_back(request, reverse("post", args=[author.username, pid])),
    )


@require_safe
@never_fresh
def more_person(request: RetwisRequest, username: str) -> HttpResponse:
    """All that the viewer can do about a person, for those who see their profile. One round trip with cached uids.
    Raises NoSuchUser, AccountDeleted, NotShown."""
    them, (hiding, followed) = request.viewer.ask_about(
        username,
        lambda pipe, me, them: trip(
            _ask_hiding(pipe, me, them), NONE_OF_THEM if me is None else ask_followed(pipe, me, [them])
        ),
    )
    if hiding.blocks.theirs:
        raise BlocksViewer
    by = rendering(request)
    viewer, profile = _viewer(by, them.uid), reverse("profile", args=[them.username])
    back = _back(request, profile)
    is_other = viewer == "other"
    return MORE_PERSON.response(
        request,
        by,
        **heading(them, by.language),
        **titled(them),
        viewer=viewer,
        staff_menu=_staff_menu(request, by, them, None),
        button=follow_button(them, them.uid in followed, by) if is_other and not hiding.blocks.mine else NOTHING,
        menu=person_menu(them, hiding, by, back) if is_other else NOTHING,
        after_login=quote(profile),
        next=back,
    )


def _no_repost(post: Post) -> Post:
    """The post. Raises NoSuchPost for a repost, which has no page of its own."""
    if post.links.repost_of is not None:
        raise NoSuchPost(post.pid)
    return post


def _staff_menu(request: RetwisRequest, by: Rendering, person: User, pid: int | None) -> Html:
    """What staff can do about another person, or a post of theirs; nothing for all others."""
    if not by.viewer.is_staff or by.me == person.uid:
        return NOTHING
    return joined(one.staff_menu(request, person, pid) for one in features() if one.staff_menu is not None)


def _back(request: RetwisRequest, own: str) -> str:
    """The page that has led here; `own` when that is a page like this one, or the login."""
    page = page_of_form(request)
    return own if match_of(page).url_name in {"more", "more_person", "reposting", "login"} else page


def _ask_hiding(pipe: Pipe, me: int | None, them: int) -> Reply[Hiding] | Result[Hiding]:
    return Result(lambda: HIDES_NOTHING) if me is None or me == them else ask_hiding(pipe, me, them)


def _viewer(by: Rendering, uid: int) -> str:
    if not by.can_act:
        return "frozen" if by.viewer.is_frozen else "visitor"
    return "own" if by.me == uid else "other"
