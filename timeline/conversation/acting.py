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
from timeline.conversation.limits import ACTIONS
from timeline.posts.entities import NoSuchPost, Post
from timeline.posts.reading.one_post import one_post
from timeline.relations.bookmark import Bookmarks
from timeline.relations.like import Likes

Act = Callable[[Store, int, int, int], None]  # uid of the viewer, id of the post, uid of its author


def _view(act: Act) -> Callable[..., HttpResponseBase]:
    """A view that does this with a post. One round trip finds the post. Raises NoSuchUser, AccountDeleted, NoSuchPost,
    PostDeleted."""

    @change
    @login_required
    def view(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
        post = one_post(request.viewer, username, pid)
        if post.links.repost_of is not None:
            raise NoSuchPost(pid)
        act(connect(), me.uid, pid, post.author.uid)
        return back_to(request, post)

    return view


def _counted(act: Act) -> Act:
    """The same, as often as the limit allows. Undoing is never limited."""

    def counted(store: Store, me: int, pid: int, author: int) -> None:
        RateLimits(store).count(ACTIONS, str(me))
        act(store, me, pid, author)

    return counted


def back_to(request: RetwisRequest, post: Post) -> HttpResponse:
    """A redirect to the post on the page that has the button. In place, the row of its card is swapped; the page of the
    post surely has it, also when the card was loaded below a first page. The next pages read the post anew."""
    in_place = "HX-Request" in request.headers
    where = reverse("post", args=[post.author.username, post.pid]) if in_place else page_of_form(request)
    response = HttpResponseRedirect(f"{where}#post-{post.pid}")
    just_changed.note(request, response, post.pid)
    return response


like = _view(_counted(lambda store, *edge: Likes(store).like(*edge)))
unlike = _view(lambda store, *edge: Likes(store).unlike(*edge))
bookmark = _view(_counted(lambda store, *edge: Bookmarks(store).add(*edge)))
unbookmark = _view(lambda store, *edge: Bookmarks(store).remove(*edge))
