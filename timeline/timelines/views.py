"""The pages: what people read, and the forms by which they write."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from urllib.parse import quote

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import escape
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.signing_in.guards import change, login_required, page_of_form, to_login
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn, User
from retwis_site.http.error_pages import error_page, kept_fields
from retwis_site.rendering.pages import NOTHING, Holes, origin_of, page, page_of, part
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import DOWNLOADS, FOLLOWS, POSTS, Throttle
from timeline.account_data.export import CONTENT_TYPE, export, file_name
from timeline.people.directory import LONGEST_WANTED, People, wanted
from timeline.people.follow_pages import Circles
from timeline.people.suggestions import Suggestions
from timeline.posts import drafts
from timeline.posts.entities import By, HomePage, Listed, PeoplePage, Show
from timeline.posts.forms import BLANK, PostForm, form_with
from timeline.posts.html.post_cards import holes, posts_as_html
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows
from timeline.timelines import unread
from timeline.timelines.cached_list import FIRST_TRUSTED
from timeline.timelines.cursors import by, edge_cursor, name_cursor, post_cursor, show
from timeline.timelines.everyone import GlobalTimeline
from timeline.timelines.home import Homes
from timeline.timelines.profile import Profiles

WELCOME_POSTS = 20
GLOBAL_POSTS = 50


@require_safe
def home(request: RetwisRequest) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    try:
        found = Homes(connect()).page(request.visit, before)
    except NotSignedIn:
        return _welcome(request)
    draft = drafts.kept(request)
    stopped = unread.stopped_at(request, found)
    shown = {
        **_home(found, form_with(draft) if draft else BLANK, _newest_at(request)),
        "news": unread.news(found, stopped) if stopped is not None and before is None else None,
        "begins_where_stopped": unread.begins_there(found, before, stopped),
    }
    made = page if draft else page_of
    response = made(request, "timeline/home.html", shown, _holes(found, stopped))
    if before is None:
        unread.take_along(request, response, found)
    return response


@require_safe
def arrivals(request: RetwisRequest) -> HttpResponse:
    """What an open home page asks from time to time: 204, or a way to what has come above `?after=<pid>`."""
    after = post_cursor(request.GET.get("after", ""))
    try:
        count = Homes(connect()).arrived(request.visit, after or 0)
    except NotSignedIn:
        count = 0
    if not count:
        return HttpResponse(status=204)
    shown = {"count": count, "more": count >= FIRST_TRUSTED}
    return page_of(request, "timeline/_arrivals.html", shown, NOTHING)


def _home(found: HomePage, form: PostForm, newest_at: str) -> dict[str, Hashable]:
    nothing = not found.page.posts and found.page.older is None and not newest_at
    return {
        "user": found.viewer,
        "counts": found.counts,
        "form": form,
        "newest_at": newest_at,
        "suggested": tuple(Suggestions(connect()).for_user(found.viewer.uid)) if nothing else (),
    }


def _holes(found: HomePage, stopped: int | None) -> Holes:
    """`newest`: above it something has come. What the list has at its head may not be shown, but has come already."""
    newest = max([*found.listed[:1], *(post.pid for post in found.page.posts[:1])], default=1)
    return {**holes(found.page, found.viewer, stopped), "newest": [str(newest).encode()]}


def _welcome(request: RetwisRequest) -> HttpResponse:
    found = GlobalTimeline(connect()).page(request.visit, None, WELCOME_POSTS)
    shown = {
        "user": request.visit.user,
        "newest_users": tuple(found.newest_users),
    }
    return page_of(request, "timeline/welcome.html", shown, holes(found.page, request.visit.user))


def _newest_at(request: RetwisRequest) -> str:
    """Where the newest of what is shown stands; empty on the page that has it."""
    return request.path if "before" in request.GET else ""


@change
def publish(request: RetwisRequest) -> HttpResponse:
    form = PostForm(request.POST)
    try:
        author = request.visit.require_user()
        if not form.is_valid():
            found = Homes(connect()).page(request.visit, None)
            response = page(request, "timeline/home.html", _home(found, form, ""), _holes(found, None), status=422)
            unread.take_along(request, response, found)
            return response
    except NotSignedIn:
        return _signed_out(request, form)
    Throttle(connect()).count(POSTS, str(author.uid))
    body = form.cleaned_data["body"]
    published = Posts(connect()).publish(author.uid, body, form.cleaned_data["token"])
    response = redirect("home")
    if published.body == body:
        messages.success(request, _("Posted."), extra_tags="posted")
        drafts.forget(request, response)
    else:  # the page that was left with Back, changed, and sent again
        text = _("That form had posted something before. Your new text is below: post it from here.")
        messages.error(request, text)
        drafts.keep(response, body)
    return response


def _signed_out(request: RetwisRequest, form: PostForm) -> HttpResponse:
    """A visitor's post waits behind the login. One that could not be posted anyway comes back at once."""
    if not form.is_valid():
        why = " ".join(str(error) for errors in form.errors.values() for error in errors)
        text = _("You are not logged in, and this cannot be a post: %(why)s") % {"why": why}
        return error_page(request, 422, _("Not posted"), text, kept_fields(request))
    response = to_login("/")
    drafts.keep(response, form.cleaned_data["body"])
    return response


@require_safe
def everybody(request: RetwisRequest) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    found = GlobalTimeline(connect()).page(request.visit, before, GLOBAL_POSTS)
    shown = {
        "user": request.visit.user,
        "newest_users": tuple(found.newest_users),
        "at_the_cap": found.at_the_cap,
        "newest_at": _newest_at(request),
        "origin": origin_of(request),
    }
    return page_of(request, "timeline/everybody.html", shown, holes(found.page, request.visit.user))


@require_safe
def profile(request: RetwisRequest, username: str) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    found = Profiles(connect()).page(request.visit, username, before)
    shown = {
        "user": request.visit.user,
        "person": found.person,
        "about": found.about,
        "counts": found.counts,
        "relation": found.relation,
        "newest_at": _newest_at(request),
        "origin": origin_of(request),
    }
    return page_of(request, "timeline/profile.html", shown, holes(found.page, request.visit.user))


@require_safe
def post(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    found = Profiles(connect()).post(request.visit, username, pid)
    shown = {"post": found, "origin": origin_of(request)}
    return page(request, "timeline/post.html", shown, {"posts": posts_as_html([found], request.visit.user)})


@change
@login_required
def delete(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    author = _person(request, username)
    me = request.visit.require_user()
    if author.uid != me.uid:
        raise PermissionDenied(_("Only its author can delete a post."))
    Posts(connect()).delete(me.uid, pid)
    messages.success(request, _("Deleted."))
    back = page_of_form(request)
    return HttpResponseRedirect("/" if back.startswith(request.path.removesuffix("delete/")) else back)


@change
@login_required
def follow(request: RetwisRequest, username: str) -> HttpResponse:
    person = _person(request, username)
    me = request.visit.require_user()
    if person.uid == me.uid:
        messages.error(request, _("You cannot follow yourself: your own posts are in your home timeline anyway."))
    else:
        Throttle(connect()).count(FOLLOWS, str(me.uid))
        Follows(connect()).follow(me.uid, person.uid)
        messages.success(request, _("You follow %(name)s now.") % {"name": person.username})
    return redirect("profile", person.username)


@change
@login_required
def unfollow(request: RetwisRequest, username: str) -> HttpResponse:
    person = _person(request, username)
    Follows(connect()).unfollow(request.visit.require_user().uid, person.uid)
    messages.success(request, _("You no longer follow %(name)s.") % {"name": person.username})
    return redirect("profile", person.username)


@require_safe
def followers(request: RetwisRequest, username: str) -> HttpResponse:
    before, which = edge_cursor(request.GET.get("before")), show(request.GET.get("show"))
    found = Circles(connect()).followers_page(request.visit, username, before, which)
    return _circle(request, found, which, "followers")


@require_safe
def following(request: RetwisRequest, username: str) -> HttpResponse:
    before, which = edge_cursor(request.GET.get("before")), show(request.GET.get("show"))
    found = Circles(connect()).following_page(request.visit, username, before, which)
    return _circle(request, found, which, "following")


def _circle(request: RetwisRequest, found: PeoplePage, which: Show, side: str) -> HttpResponse:
    newest_at = f"{request.path}?show={which}" if which and "before" in request.GET else _newest_at(request)
    shown = {"people": found, "side": side, "show": which, "newest_at": newest_at, "here_at": request.path}
    return page(request, "timeline/circle.html", shown)


@require_safe
def people(request: RetwisRequest) -> HttpResponse:
    """The newest, the most followed, or, with `?q=`, who has a name that begins so."""
    name = wanted(request.GET.get("q", ""))
    order = by(request.GET.get("by"))
    before = request.GET.get("before")
    everybody = People(connect())
    if name:
        found = everybody.found(request.visit, name)
        return _people(request, found.people, {"searching": True, "by": None, "more": found.more}, {"q": name})
    if order is By.FOLLOWERS:
        listing = everybody.most_followed(request.visit, edge_cursor(before))
    else:
        listing = everybody.newest(request.visit, name_cursor(before))
    newest_at = f"{request.path}?by={order}" if order and before is not None else _newest_at(request)
    shown = {"searching": False, "by": order, "more": False, "newest_at": newest_at}
    return _people(request, listing.people, shown, {"older": quote(listing.older or "")})


def _people(
    request: RetwisRequest, listed: Sequence[Listed], shown: Mapping[str, Hashable], texts: Mapping[str, str]
) -> HttpResponse:
    """A page of people, each remembered; so is the page around them, whatever the texts in it."""
    user = request.visit.user
    given = {"user": user, "newest_at": "", "number": len(listed), "longest": LONGEST_WANTED, **shown}
    holes = {"q": [], "older": [], **{name: [escape(text).encode()] for name, text in texts.items() if text}}
    rows = [part("timeline/_listed.html", {"one": one, "signed_in": user.is_authenticated}) for one in listed]
    return page_of(request, "timeline/people.html", given, {**holes, "rows": list(chain.from_iterable(rows))})


@require_safe
@login_required
def download(request: RetwisRequest) -> StreamingHttpResponse:
    """All that the site has of one, as a file. Where the store fails there is a page instead, or it breaks off."""
    me = request.visit.require_user()
    pieces: Iterator[bytes] = iter(())
    if request.method != "HEAD":
        Throttle(connect()).count(DOWNLOADS, str(me.uid))
        origin = origin_of(request)
        pieces = export(connect(), me, lambda view, *args: f"{origin}{reverse(view, args=args)}")
        pieces = chain([next(pieces)], pieces)
    return StreamingHttpResponse(
        pieces,
        content_type=CONTENT_TYPE,
        headers={
            "Content-Disposition": content_disposition_header(as_attachment=True, filename=file_name(me)) or "",
            "Cache-Control": "private, no-store",
        },
    )


def _person(request: RetwisRequest, username: str) -> User:
    """Who the address names. Raises NoSuchUser, AccountDeleted."""
    person, _ = request.visit.ask_about(username, lambda pipe, me, them: None)
    return person
