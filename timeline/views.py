"""The pages: what people read, and the forms by which they write."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from accounts.entities import NotSignedIn, User
from accounts.guards import change, login_required, page_of_form, to_login
from accounts.middleware import RetwisRequest
from accounts.throttle import FOLLOWS, POSTS, Throttle
from retwis_site.errors import error_page, kept_fields
from retwis_site.store import connect
from timeline import drafts
from timeline.cursors import edge_cursor, post_cursor
from timeline.forms import PostForm, empty_form
from timeline.repositories.everybody import GlobalTimeline
from timeline.repositories.follows import Follows
from timeline.repositories.homes import Homes
from timeline.repositories.posts import Posts
from timeline.repositories.profiles import Profiles

WELCOME_POSTS = 20
GLOBAL_POSTS = 50


@require_safe
def home(request: RetwisRequest) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    try:
        return _home(request, empty_form(drafts.kept(request)), before, status=200)
    except NotSignedIn:
        found = GlobalTimeline(connect()).page(request.visit, None, WELCOME_POSTS)
        return render(request, "timeline/welcome.html", {"page": found.page, "newest_users": found.newest_users})


def _home(request: RetwisRequest, form: PostForm, before: int | None, status: int) -> HttpResponse:
    found = Homes(connect()).page(request.visit, before)
    context = {"form": form, "counts": found.counts, "page": found.page, "first": before is None}
    return render(request, "timeline/home.html", context, status=status)


@change
def publish(request: RetwisRequest) -> HttpResponse:
    form = PostForm(request.POST)
    try:
        author = request.visit.require_user()
        if not form.is_valid():
            return _home(request, form, None, status=422)
    except NotSignedIn:
        return _signed_out(request, form)
    Throttle(connect()).count(POSTS, str(author.uid))
    body = form.cleaned_data["body"]
    published = Posts(connect()).publish(author.uid, body, form.cleaned_data["token"])
    response = redirect("home")
    if published.body == body:
        messages.success(request, "Posted.")
        drafts.forget(request, response)
    else:  # the page that was left with Back, changed, and sent again
        messages.error(request, "That form had posted something before. Your new text is below: post it from here.")
        drafts.keep(response, body)
    return response


def _signed_out(request: RetwisRequest, form: PostForm) -> HttpResponse:
    """A visitor's post waits behind the login. One that could not be posted anyway comes back at once."""
    if not form.is_valid():
        why = " ".join(str(error) for errors in form.errors.values() for error in errors)
        return error_page(
            request, 422, "Not posted", f"You are not logged in, and this cannot be a post: {why}", kept_fields(request)
        )
    response = to_login("/")
    drafts.keep(response, form.cleaned_data["body"])
    return response


@require_safe
def everybody(request: RetwisRequest) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    found = GlobalTimeline(connect()).page(request.visit, before, GLOBAL_POSTS)
    context = {
        "newest_users": found.newest_users,
        "page": found.page,
        "at_the_cap": found.at_the_cap,
        "first": before is None,
    }
    return render(request, "timeline/everybody.html", context)


@require_safe
def profile(request: RetwisRequest, username: str) -> HttpResponse:
    before = post_cursor(request.GET.get("before"))
    found = Profiles(connect()).page(request.visit, username, before)
    context = {
        "person": found.person,
        "counts": found.counts,
        "relation": found.relation,
        "page": found.page,
        "first": before is None,
    }
    return render(request, "timeline/profile.html", context)


@require_safe
def post(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    return render(request, "timeline/post.html", {"post": Profiles(connect()).post(request.visit, username, pid)})


@change
@login_required
def delete(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    author = _person(request, username)
    me = request.visit.require_user()
    if author != me:
        raise PermissionDenied("Only its author can delete a post.")
    Posts(connect()).delete(me.uid, pid)
    messages.success(request, "Deleted.")
    back = page_of_form(request)
    return HttpResponseRedirect("/" if back.startswith(request.path.removesuffix("delete/")) else back)


@change
@login_required
def follow(request: RetwisRequest, username: str) -> HttpResponse:
    person = _person(request, username)
    me = request.visit.require_user()
    if person == me:
        messages.error(request, "You cannot follow yourself: your own posts are in your home timeline anyway.")
    else:
        Throttle(connect()).count(FOLLOWS, str(me.uid))
        Follows(connect()).follow(me.uid, person.uid)
        messages.success(request, f"You follow {person.username} now.")
    return redirect("profile", person.username)


@change
@login_required
def unfollow(request: RetwisRequest, username: str) -> HttpResponse:
    person = _person(request, username)
    Follows(connect()).unfollow(request.visit.require_user().uid, person.uid)
    messages.success(request, f"You no longer follow {person.username}.")
    return redirect("profile", person.username)


@require_safe
def followers(request: RetwisRequest, username: str) -> HttpResponse:
    before = edge_cursor(request.GET.get("before"))
    found = Follows(connect()).followers_page(request.visit, username, before)
    return render(request, "timeline/people.html", {"people": found, "side": "followers", "first": before is None})


@require_safe
def following(request: RetwisRequest, username: str) -> HttpResponse:
    before = edge_cursor(request.GET.get("before"))
    found = Follows(connect()).following_page(request.visit, username, before)
    return render(request, "timeline/people.html", {"people": found, "side": "following", "first": before is None})


def _person(request: RetwisRequest, username: str) -> User:
    """Who the address names. Raises NoSuchUser."""
    person, _ = request.visit.ask_about(username, lambda pipe, me, them: None)
    return person
