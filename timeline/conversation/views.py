"""What people do with a post, and the pages around it: its thread, quotes, who likes it, what one likes and keeps."""

from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import for_acting, match_of, page_of_form, user_change
from accounts.signing_in.html import Page, Rendering, image_to_share, rendering
from accounts.signing_in.middleware import RetwisRequest, note_changed
from accounts.users.entities import AccountSuspended, User
from accounts.users.html import at, heading, titled
from retwis_site.features import features
from retwis_site.rendering.dates import iso
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, joined
from retwis_site.rendering.pages import origin_of
from retwis_site.store.client import connect, trip
from timeline.conversation import repository
from timeline.conversation.feature import ACTIONS
from timeline.people.html import listed
from timeline.people.lists import id_cursor
from timeline.posts.composer import composer
from timeline.posts.entities import NO_MEDIA, DeletedBy, NoSuchPost, Post, PostsPage, Unavailable
from timeline.posts.html import about_post, beginning_of, cards, phrases, preview_of, shortened, words_of
from timeline.posts.reading.records import OnePost, one_post, one_post_or_hidden
from timeline.relations import relations
from timeline.relations.html import follow_button, person_menu
from timeline.relations.relation import BlocksViewer, Relation, ask_among
from timeline.timelines import html as listing
from timeline.timelines.pagination import post_cursor
from timeline.timelines.profile import PINNED

# ---- The buttons of a card. Each is a view of its own; all lead back to the post.


POST = "@<username:username>/<id:pid>/"


def act_on_posts(act: repository.ActOnPost, said: str | Promise = "") -> Callable[..., HttpResponseBase]:
    """A view that does this with a post, as often as the limit allows. One round trip finds the post. `said`: a message
    about what no card shows. Raises NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted, and NotShown for a post of a
    person with a block between them and the viewer."""

    @user_change
    def view(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
        post = _no_repost(one_post(request.viewer, username, pid))
        store = connect()
        ACTIONS.count(store, me.uid)
        act(store, me.uid, post)
        if said:
            messages.success(request, str(said))
        return back_to(request, post)

    return view


def _undo(act: repository.ActOnPost, said: str | Promise = "") -> Callable[..., HttpResponseBase]:
    """As `act_on_posts`, for an undo: it is never limited, and no block refuses it. A post that a block hides is on no
    page, so the page that has the button is opened anew."""

    @user_change
    def view(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
        post, is_hidden = one_post_or_hidden(request.viewer, username, pid)
        act(connect(), me.uid, _no_repost(post))
        if said:
            messages.success(request, str(said))
        return HttpResponseRedirect(page_of_form(request)) if is_hidden else back_to(request, post)

    return view


def _no_repost(post: Post) -> Post:
    """The post. Raises NoSuchPost for a repost, which has no page of its own."""
    if post.links.repost_of is not None:
        raise NoSuchPost(post.pid)
    return post


def back_to(request: RetwisRequest, post: Post) -> HttpResponse:
    """A redirect to the post on the page that has the button. In place, the button alone is replaced; the page of
    the post surely has it, also when the card was loaded below a first page. The next pages read the post anew."""
    in_place = "HX-Request" in request.headers
    where = reverse("post", args=[post.author.username, post.pid]) if in_place else page_of_form(request)
    response = HttpResponseRedirect(f"{where}#post-{post.pid}")
    note_changed(request, response, post.pid)
    return response


def _buttons(verb: str, acting: repository.Acting) -> list[URLPattern]:
    """The addresses of a button and of its undo."""
    return [
        path(f"{POST}{verb}/", act_on_posts(acting.do), name=verb),
        path(f"{POST}un{verb}/", _undo(acting.undo), name=f"un{verb}"),
    ]


mute_thread = act_on_posts(repository.MUTING_THREADS.do, gettext_lazy("You get no notifications about this thread."))
unmute_thread = _undo(repository.MUTING_THREADS.undo, gettext_lazy("You get notifications about this thread again."))


# ---- The pages of the people who like a post, and of those who have reposted it.


ACTED_BY = {
    relation: Page("timeline/conversation/acted_by.html", here=name)
    for relation, name in ((relations.LIKE, "likes_of"), (relations.REPOST, "reposts_of"))
}


@require_safe
def acted_by(request: RetwisRequest, username: str, pid: int, of: Relation) -> HttpResponse:
    found = repository.ActedBy(connect(), of).page(request.viewer, username, pid, id_cursor(request.GET.get("before")))
    by = rendering(request)
    return ACTED_BY[of].response(
        request,
        by,
        later="before" in request.GET,
        has_rows=bool(found.people),
        hides_all=found.hides_all,
        more=found.older is not None,
        **about_post(found.author, pid),
        rows=listed(found.people, by),
        older=str(found.older or ""),
    )


# ---- The pages of the posts that the viewer likes, and of those that the viewer keeps.


def _saved_posts(of: Relation) -> URLPattern:
    """Its address and its name are the first word of the keys of the relation."""
    saved = Page("timeline/conversation/saved.html", here=of.truth.word, shape=listing.SHAPE)

    @require_safe
    def view(request: RetwisRequest) -> HttpResponse:
        part = repository.SavedPart(id_cursor(request.GET.get("before")))
        found = repository.saved_posts(connect(), of, request.viewer, part)
        by = rendering(request)
        page = PostsPage(found.posts, int(found.older.member) if found.older else None)
        shown = listing.listing(request, page, by) | {"older": str(found.older or "")}
        return saved.response(request, by, **shown)

    return path(f"{of.truth.word}/", view, name=of.truth.word)


# ---- All that a viewer can do with a post, and about a person. The script shows these pages as menus in place.


IN_NAME = 40  # characters of a text that tell screen readers which post a button deletes
MORE_SHAPE = {"viewer": ("visitor", "frozen", "other", "own")}
never_fresh = cache_control(private=True, no_cache=True)  # `next` differs from visit to visit

MORE = Page("timeline/conversation/more.html", here="more", shape=MORE_SHAPE)
MORE_PERSON = Page("timeline/conversation/more_person.html", here="more_person", shape=MORE_SHAPE)
REPOST_OR_QUOTE = Page("timeline/conversation/reposting.html", here="reposting")


@require_safe
@never_fresh
def more(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    """All actions on a post, for those who see its page. One round trip with cached uids, and those of `staff_menu` for
    staff. Raises NoSuchUser, AccountDeleted, NoSuchPost, also for a repost, PostDeleted, NotShown."""
    author, (found, pinned, muted_threads, hiding) = request.viewer.ask_about(
        username,
        lambda pipe, me, them: trip(
            OnePost(pipe, me, them, pid),
            pipe.ask(PINNED, them),
            relations.ask_muted_threads(pipe, me),
            relations.ask_hiding(pipe, me, them),
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
        is_muted=str(post.links.thread(pid)) in muted_threads,
        author_is_muted=hiding.muted,
        username=author.username,
        beginning=beginning_of(words_of(post.body, post.media), IN_NAME),
        after_login=quote(reverse("post", args=[author.username, pid])),
        next=_back(request, reverse("post", args=[author.username, pid])),
    )


@for_acting
@require_safe
@never_fresh
def reposting(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    """The choice between a repost, or its undo, and a quote. One round trip with cached uids. Raises NoSuchUser,
    AccountDeleted, NoSuchPost, also for a repost, PostDeleted, NotShown, NotSignedIn."""
    author, (found, reposted) = request.viewer.ask_about(
        username,
        lambda pipe, me, them: trip(OnePost(pipe, me, them, pid), ask_among(pipe, relations.REPOST.truth, me, [pid])),
    )
    request.viewer.require_user()
    post = _no_repost(found.by(author))
    return REPOST_OR_QUOTE.response(
        request,
        rendering(request),
        **about_post(author, pid),
        is_reposted=pid in reposted,
        beginning=beginning_of(words_of(post.body, post.media), IN_NAME),
        next=_back(request, reverse("post", args=[author.username, pid])),
    )


@require_safe
@never_fresh
def more_person(request: RetwisRequest, username: str) -> HttpResponse:
    """All that the viewer can do about a person, for those who see their profile. One round trip with cached uids.
    Raises NoSuchUser, AccountDeleted, NotShown."""
    them, (hiding, followed) = request.viewer.ask_about(
        username,
        lambda pipe, me, them: trip(relations.ask_hiding(pipe, me, them), relations.ask_followed(pipe, me, [them])),
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


def _staff_menu(request: RetwisRequest, by: Rendering, person: User, pid: int | None) -> Html:
    """What staff can do about another person, or a post of theirs; nothing for all others, and for staff to whom their
    pages are closed."""
    if not by.viewer.is_staff or by.me == person.uid or request.viewer.lacks_required_factor:
        return NOTHING
    return joined(one.staff_menu(request, person, pid) for one in features() if one.staff_menu is not None)


def _back(request: RetwisRequest, own: str) -> str:
    """The page that has led here; `own` when that is a page like this one, or the login."""
    page = page_of_form(request)
    return own if match_of(page).url_name in {"more", "more_person", "reposting", "login"} else page


def _viewer(by: Rendering, uid: int) -> str:
    if not by.can_act:
        return "frozen" if by.viewer.is_frozen else "visitor"
    return "own" if by.me == uid else "other"


# ---- The page of the posts that quote a post.


QUOTES = Page("timeline/conversation/quotes.html", here="quotes", shape=listing.SHAPE)


@require_safe
def quotes(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    author, page, hides_all = repository.Quotes(connect()).page(request.viewer, username, pid, before)
    by = rendering(request)
    return QUOTES.response(
        request,
        by,
        hides_all=hides_all,
        **about_post(author, pid),
        composer=composer(request, by, quote=pid),
        **listing.listing(request, page, by),
    )


# ---- The page of a post, with its thread.


IN_TITLE = 60  # characters of the text
IN_DESCRIPTION = 300  # characters of the text; longer than a post, but a foreign database may have longer ones

THREAD = Page("timeline/conversation/thread.html", here="post")
AUTHOR = Fragment("timeline/conversation/_author.html")
BRANCH = Fragment("timeline/conversation/_branch.html", shape={"more": ("", "branch", "others")})
KINDS = ("reposts", "quotes", "likes")  # of the numbers below a post, as in `PostCounts`; each has a page
NUMBER = Fragment("timeline/conversation/_number.html", shape={"kind": KINDS})
UNAVAILABLE = Fragment("timeline/conversation/_unavailable.html", shape={"deleted_by": ("", *DeletedBy)})


@require_safe
def post(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    """Status 410 for a deleted post, which has replies. Staff is led from an author who is suspended, or who blocks
    them, to their page of the post."""
    try:
        found = repository.Threads(connect()).page(request.viewer, username, pid, post_cursor(request.GET.get("after")))
    except (AccountSuspended, BlocksViewer):
        if not request.viewer.checked.is_staff:
            raise
        return redirect("moderation_post", username, pid)
    if isinstance(found, Post):  # the address of a repost leads to the post
        return redirect("post", found.author.username, found.pid)
    by = rendering(request)
    post = found.post if isinstance(found.post, Post) else None
    seen_above = (one for one in found.above if isinstance(one, Post))
    higher = next(seen_above, None) if found.begins_higher else None
    text = words_of(post.body, post.media) if post else ""
    return THREAD.response(
        request,
        by,
        status=410 if isinstance(found.post, Unavailable) and found.post.deleted_by else 200,
        is_there=post is not None,
        is_muted=found.is_muted,
        later="after" in request.GET,
        **about_post(found.author, pid),
        author=_author(found, by) if post else NOTHING,
        title_text=beginning_of(text, IN_TITLE),
        origin=origin_of(request),
        image=image_to_share(origin_of(request), found.author),
        description=shortened(text, IN_DESCRIPTION),
        **preview_of(post.media if post else NO_MEDIA),
        iso=iso(post.time) if post else "",
        has_above=bool(found.above),
        higher=higher is not None,
        higher_at=at(higher.author.username) if higher else "",
        higher_pid=higher.pid if higher else "",
        above=_in_a_row(found.above, by),
        post=cards([found.post], by, "alone") if isinstance(found.post, Post) else _unavailable(found.post, by),
        numbers=_numbers(post, by) if post else NOTHING,
        composer=composer(request, by, reply_to=post.pid) if post else NOTHING,
        next=quote(reverse("post", args=[found.author.username, pid])),
        has_replies=bool(found.replies),
        replies=_branches(found.replies, by),
        ages=phrases(by.language),
        has_more=found.after is not None,
        after=found.after or "",
    )


def _author(found: repository.ThreadPage, by: Rendering) -> Html:
    """The author beside the post, with the button that follows or unfollows them."""
    author = found.author
    return AUTHOR.fill(
        by.language,
        **heading(author, by.language),
        counts=listing.numbers_of(author, found.numbers, by.language),
        button=follow_button(author, found.follows, by) if by.me not in (None, author.uid) else NOTHING,
    )


def _numbers(post: Post, by: Rendering) -> Html:
    """How often others have acted on a post, with links to who did."""
    counted = [(kind, getattr(post.counts, kind)) for kind in KINDS]
    place = {"at": at(post.author.username), "pid": post.pid}
    return joined([NUMBER.fill(by.language, kind=kind, number=count, **place) for kind, count in counted if count])


def _branches(branches: Iterable[repository.Branch], by: Rendering, above: Post | None = None) -> bytes:
    return b"".join([_branch(branch, by, above) for branch in branches])


def _branch(branch: repository.Branch, by: Rendering, above: Post | None) -> bytes:
    """Where it continues elsewhere, it leads to the page of its last post that the viewer sees. `above`: the last one
    of the branches that it is part of."""
    seen = next((post for post in reversed(branch.posts) if isinstance(post, Post)), above)
    more = ("others" if branch.forks else "branch") if branch.has_more and seen else ""
    return BRANCH.fill_as_sent(
        by.language,
        posts=_in_a_row(branch.posts, by),
        forks=bool(branch.forks),
        branches=_branches(branch.forks, by, seen),
        more=more,
        at=at(seen.author.username) if seen else "",
        pid=seen.pid if seen else "",
    )


def _in_a_row(posts: Sequence[repository.InThread], by: Rendering) -> bytes:
    return b"".join([cards([post], by) if isinstance(post, Post) else _unavailable(post, by) for post in posts])


def _unavailable(post: Unavailable, by: Rendering) -> bytes:
    return UNAVAILABLE.fill_as_sent(by.language, pid=post.pid, deleted_by=post.deleted_by or "")


# ---- Addresses


urlpatterns = [
    path("@<username:username>/<id:pid>", post, name="post_without_slash"),  # as apps name it
    path(POST, post, name="post"),
    path(f"{POST}more/", more, name="more"),
    path("@<username:username>/more/", more_person, name="more_person"),
    path(f"{POST}quotes/", quotes, name="quotes"),
    *_buttons("like", repository.LIKING),
    *_buttons("bookmark", repository.BOOKMARKING),
    path(f"{POST}repost-or-quote/", reposting, name="reposting"),
    *_buttons("repost", repository.REPOSTING),
    path(f"{POST}mute/", mute_thread, name="mute_thread"),
    path(f"{POST}unmute/", unmute_thread, name="unmute_thread"),
    path(f"{POST}likes/", acted_by, {"of": relations.LIKE}, name="likes_of"),
    path(f"{POST}reposts/", acted_by, {"of": relations.REPOST}, name="reposts_of"),
    _saved_posts(relations.LIKE),
    _saved_posts(relations.BOOKMARK),
]
