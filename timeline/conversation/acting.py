"""What people do with a post: the buttons of its card. Each is a view of its own; all lead back to the post."""

from collections.abc import Callable

from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from accounts.signing_in.guards import change, login_required, page_of_form
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.rendering import just_changed
from retwis_site.store.client import Store, connect
from retwis_site.store.rate_limits import RateLimits
from timeline.conversation.feature import ACTIONS
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NoSuchPost, Post
from timeline.posts.reading.one_post import one_post, one_post_or_hidden
from timeline.relations.relations import Bookmarks, Likes, MutedThreads

Act = Callable[[Store, int, Post], None]  # `int`: the uid of the viewer


def act_on_posts(act: Act) -> Callable[..., HttpResponseBase]:
    """A view that does this with a post, as often as the limit allows. One round trip finds the post. Raises
    NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted, and NotShown for a post of a person with a block between them
    and the viewer."""

    @change
    @login_required
    def view(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
        post = one_post(request.viewer, username, pid)
        _refuse_repost(post)
        store = connect()
        RateLimits(store).count(ACTIONS, str(me.uid))
        act(store, me.uid, post)
        return back_to(request, post)

    return view


def _undo(act: Act) -> Callable[..., HttpResponseBase]:
    """As `act_on_posts`, for an undo: it is never limited, and no block refuses it. A post that a block hides is on no
    page, so the page that has the button is opened anew."""

    @change
    @login_required
    def view(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
        post, is_hidden = one_post_or_hidden(request.viewer, username, pid)
        _refuse_repost(post)
        act(connect(), me.uid, post)
        return HttpResponseRedirect(page_of_form(request)) if is_hidden else back_to(request, post)

    return view


def _refuse_repost(post: Post) -> None:
    if post.links.repost_of is not None:
        raise NoSuchPost(post.pid)


def back_to(request: RetwisRequest, post: Post) -> HttpResponse:
    """A redirect to the post on the page that has the button. In place, the row of its card is swapped; the page of the
    post surely has it, also when the card was loaded below a first page. The next pages read the post anew."""
    in_place = "HX-Request" in request.headers
    where = reverse("post", args=[post.author.username, post.pid]) if in_place else page_of_form(request)
    response = HttpResponseRedirect(f"{where}#post-{post.pid}")
    just_changed.note(request, response, post.pid)
    return response


def _edge(me: int, post: Post) -> tuple[int, int, int]:
    """The viewer, the post and its author."""
    return me, post.pid, post.author.uid


def _root(post: Post) -> int:
    """The first post of the thread."""
    return post.links.root or post.pid


like = act_on_posts(lambda store, me, post: Likes(store).like(*_edge(me, post)))
unlike = _undo(lambda store, me, post: Likes(store).unlike(*_edge(me, post)))
repost = act_on_posts(lambda store, me, post: Reposts(store).repost(*_edge(me, post)))
unrepost = _undo(lambda store, me, post: Reposts(store).undo(*_edge(me, post)))
bookmark = act_on_posts(lambda store, me, post: Bookmarks(store).add(*_edge(me, post)))
unbookmark = _undo(lambda store, me, post: Bookmarks(store).remove(*_edge(me, post)))
mute_thread = act_on_posts(lambda store, me, post: MutedThreads(store).mute(me, _root(post)))
unmute_thread = _undo(lambda store, me, post: MutedThreads(store).unmute(me, _root(post)))
