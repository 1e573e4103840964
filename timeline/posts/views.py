"""Writing a post: the page of the composer, publishing, changing and deleting it, and discarding a draft."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.media.decoding import PictureRefused, Shape
from accounts.media.repository import PictureGone, Pictures
from accounts.signing_in import guards
from accounts.signing_in.html import Page, form_page, is_made_of, rendering, typed
from accounts.signing_in.middleware import RetwisRequest, note_changed
from accounts.users.entities import NotSignedIn, User
from accounts.users.html import FIRST_STRONG_ISOLATE, POP
from accounts.users.repository import Users
from retwis_site.rendering.dates import moment
from retwis_site.rendering.fragments import Fragment, joined
from retwis_site.rendering.pages import error_page, kept_fields
from retwis_site.store.client import connect
from retwis_site.store.ids import digest_of, parse_id
from timeline.posts import composer
from timeline.posts.entities import (
    MOST_PICTURES,
    EditedMeanwhile,
    NewPost,
    NoSuchPost,
    Picture,
    Post,
    TargetRefused,
    TooManyEdits,
)
from timeline.posts.feature import POSTS
from timeline.posts.html import about_post, all_words_of, html_of, picture_fields, picture_page
from timeline.posts.links import with_own_names
from timeline.posts.pictures import DescriptionMissing, require_descriptions, with_stored
from timeline.posts.reading.post_reader import read_asked_for
from timeline.posts.reading.records import one_post, texts_of_post
from timeline.posts.repository import Posts


@guards.for_acting
@require_safe
@guards.login_required
def compose(request: RetwisRequest, me: User) -> HttpResponse:
    """At most three round trips. Raises NoSuchPost for a post that this viewer does not see, unless a draft waits that
    names it: its text stays at hand when the post was deleted meanwhile."""
    reply_to, quote = (_named(request.GET.get(name)) for name in ("reply_to", "quote"))
    by = rendering(request)
    pids = [pid for pid in (reply_to, quote) if pid is not None]
    above = read_asked_for(connect(), request.viewer, pids)
    if len(above) < len(set(pids)) and composer.kept_draft(request, me.uid, reply_to, quote) is None:
        raise NoSuchPost(pids)
    form = composer.composer(request, by, reply_to=reply_to, quote=quote, pictures="here")
    return composer.compose_page(request, by, form, above)


@guards.change
def publish(request: RetwisRequest) -> HttpResponse:
    """Round trips: those of `Posts.publish`, and one for the rate limit. An invalid form makes none of these. Those of
    `Pictures.upload` for each picture, and one more each where some were uploaded before or have no description."""
    form = composer.PostForm(request.POST)
    written_by = parse_id(request.POST.get("as", ""))
    try:
        me = request.viewer.require_user()
    except NotSignedIn:
        return _signed_out(request, form, written_by)
    if written_by not in (None, me.uid):
        return _by_another(request, me, form, written_by)
    pictures, refused = _chosen(request, me)
    if refused or "add" in request.POST or "remove" in request.POST:
        return _with_pictures(request, pictures, refused)
    form = composer.PostForm(request.POST, pictures=pictures)
    if not form.is_valid():
        return _composer_again(request, form)
    try:
        require_descriptions(connect(), me.uid, pictures)
    except DescriptionMissing as why:
        return _with_pictures(request, pictures, [str(why)])
    POSTS.count(connect(), me.uid)
    post = form.new_post
    post = replace(post, body=with_own_names(post.body, request.get_host()))
    try:
        published = Posts(connect()).publish(me.uid, post, form.cleaned_data["token"])
    except TargetRefused as why:
        form.refuse(why)
        return _composer_again(request, form)
    except PictureGone as why:
        return _with_pictures(request, pictures, [str(why)])
    if published.body == post.body:
        response = HttpResponseRedirect(_after(request, me, post, published.pid))
        messages.success(request, _("Posted."), extra_tags="posted")
        if not all(one.alt or one.digest in request.POST.getlist("media") for one in pictures):  # no form has said it
            messages.info(request, _("A picture has no description. Edit the post to add one."))
        composer.forget_draft(request, response, me.uid, *_named_in_form(request))
        note_changed(request, response, post.reply_to, post.quote)  # they have other numbers
    else:  # the user went back in the browser, changed the text and sent the form again
        text = _("This form was already posted. Your new text is below. You can post it now.")
        messages.error(request, text)
        if post.media.pictures:  # a draft has a text alone
            return _composer_again(request, composer.PostForm.of(post))
        response = HttpResponseRedirect(_composer_of(post))
        composer.keep_draft(response, composer.Draft(post, me.uid))
    return response


def _chosen(request: RetwisRequest, me: User) -> tuple[list[Picture], list[str]]:
    """The pictures of a form, its files among them, which are stored now; and the sentences about those that are
    refused."""
    store = Pictures(connect())
    named = composer.pictures_in(request.POST)
    known = store.of_user(me.uid, [one.digest for one in named])
    found = {one.digest: with_stored(one, known[one.digest]) for one in named if one.digest in known}
    refused = [str(PictureGone.message)] if len(found) < len(named) else []
    alts = request.POST.getlist("alt")[len(request.POST.getlist("media")) :]
    for file, alt in zip_longest(request.FILES.getlist("picture"), alts, fillvalue=""):
        if not isinstance(file, UploadedFile):
            break
        if len(found) == MOST_PICTURES:
            refused.append(_("A post has at most %(number)d pictures.") % {"number": MOST_PICTURES})
            break
        try:
            new = store.upload(me.uid, file.read(), Shape.POST)
        except PictureRefused as why:
            refused.append(f"{FIRST_STRONG_ISOLATE}{file.name}{POP}: {why}")
        else:
            found.setdefault(new.digest, Picture(new.digest, new.width, new.height, composer.alt_of(alt)))
    return [*found.values()], refused


def _with_pictures(request: RetwisRequest, pictures: Sequence[Picture], refused: Sequence[str]) -> HttpResponse:
    """The form again, with what was typed and the pictures that it has by now. Nothing was posted yet."""
    typed = {name: request.POST.get(name, "") for name in ("body", "token", "reply_to", "quote", "sensitive")}
    form = composer.PostForm(initial=typed, pictures=pictures)
    return _composer_again(request, form, refused, status=422 if refused else 200)


@guards.change
def discard(request: RetwisRequest) -> HttpResponse:
    """Throw away what the composer holds. No round trip."""
    messages.success(request, _("Discarded."))
    response = HttpResponseRedirect(_where_one_was(request))
    written_by = parse_id(request.POST.get("as", ""))
    composer.forget_draft(request, response, written_by, *_named_in_form(request))
    return response


def _named_in_form(request: RetwisRequest) -> list[int | None]:
    """The ids of the posts that a form answers and quotes, also when it is posted alone."""
    return [parse_id(request.POST.get(name, "")) for name in ("reply_to", "quote")]


def _named(pid: str | None) -> int | None:
    """The id in an address; None without one. Raises NoSuchPost."""
    found = parse_id(pid or "")
    if pid is not None and found is None:
        raise NoSuchPost(pid)
    return found


def _composer_of(post: NewPost) -> str:
    """The address of the page on which this post can be written."""
    named = {"reply_to": post.reply_to, "quote": post.quote}
    query = urlencode({name: pid for name, pid in named.items() if pid is not None})
    return f"{reverse('compose')}?{query}" if query else reverse("compose")


def _where_one_was(request: RetwisRequest) -> str:
    """The page that has the form; the home page instead of the composer's own."""
    page = guards.page_of_form(request)
    return reverse("home") if page.startswith(reverse("compose")) else page


def _after(request: RetwisRequest, me: User, post: NewPost, pid: int) -> str:
    """The page that has the form. After a reply: the reply in the thread that is open, or on its own page. Of a post
    that was posted alone: its own page, since nobody sees what it answered."""
    if "alone" in request.POST:
        return reverse("post", args=[me.username, pid])
    if post.reply_to is None:
        return _where_one_was(request)
    page = guards.page_of_form(request)
    if guards.match_of(page).url_name in {"post", "post_without_slash"}:
        return f"{page.partition('?')[0]}#post-{pid}"
    return reverse("post", args=[me.username, pid])


def _composer_again(
    request: RetwisRequest, form: composer.PostForm, refused: Sequence[str] = (), status: int = 422
) -> HttpResponse:
    by = rendering(request)
    named = (parse_id(form[name].value() or "") for name in ("reply_to", "quote"))
    above = read_asked_for(connect(), request.viewer, [pid for pid in named if pid is not None])
    return composer.compose_page(request, by, composer.composer_with(form, by, refused), above, status)


def _signed_out(request: RetwisRequest, form: composer.PostForm, written_by: int | None) -> HttpResponse:
    """Keep a post until its author has logged in: a text in a draft, one with pictures on an error page. An invalid
    text is answered at once, with status 422."""
    if request.FILES or "media" in request.POST:
        return guards.log_in_first(request)
    if not form.is_valid():
        why = " ".join(str(error) for errors in form.errors.values() for error in errors)
        text = _("You are not logged in, and your post is not valid: %(why)s") % {"why": why}
        return error_page(request, 422, _("Not posted"), text, kept_fields(request))
    post = form.new_post
    response = guards.to_login(reverse("home") if post.reply_to is None and post.quote is None else _composer_of(post))
    composer.keep_draft(response, composer.Draft(post, written_by))
    return response


def _by_another(request: RetwisRequest, me: User, form: composer.PostForm, written_by: int) -> HttpResponse:
    """409: the form was made for another user, and someone has logged in since, in another tab. One round trip."""
    author = Users(connect()).people([written_by]).get(written_by)
    context = {"form": form, "uid": me.uid, "me": me.username, "author": author.username if author else ""}
    context["had_pictures"] = bool(request.FILES or request.POST.getlist("media"))
    return form_page(request, "timeline/posts/another_author.html", context, status=409)


# ---- Changing the text of a post, and its earlier texts.


@guards.for_acting
@guards.for_forms
@guards.login_required
def edit(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
    """Round trips of a change: those of `Posts.change`, one for the post and one for the rate limit. Raises NoSuchPost,
    PostDeleted."""
    post = one_post(request.viewer, username, pid)
    if post.author.uid != me.uid:
        if request.method != "POST":
            raise PermissionDenied(_("Only its author can edit a post."))
        text = _("Only its author can edit a post. You are logged in as %(name)s.") % {"name": f"@{me.username}"}
        return error_page(request, 403, _("Not allowed"), text, kept_fields(request))
    if post.links.repost_of is not None:
        raise NoSuchPost(pid)
    address = reverse("post", args=[post.author.username, pid])
    form = composer.EditForm(typed(request), post, composer.pictures_in(request.POST))
    made_of, newer = _made_of(post), ""
    if form.is_valid():
        body = with_own_names(form.cleaned_data["body"], request.get_host())
        is_changed = body != post.body or form.pictures != post.media.pictures
        try:
            if is_changed and not is_made_of(request, "made_of", made_of):
                newer = all_words_of(post)
                raise EditedMeanwhile
            POSTS.count(connect(), me.uid)
            if Posts(connect()).change(me.uid, pid, body, form.pictures):
                messages.success(request, _("Saved."), extra_tags="posted")
            return HttpResponseRedirect(address)
        except (EditedMeanwhile, TooManyEdits, DescriptionMissing) as refused:
            form.add_error("body" if isinstance(refused, TooManyEdits) else None, str(refused.message))
    pictures = picture_fields(form.pictures, request.LANGUAGE_CODE, is_new=False)
    context = {"form": form, "uid": me.uid, "pid": pid, "address": address, "pictures": pictures, "newer": newer}
    # A form that comes back for another reason is still made of what it was made of.
    context["made_of"] = made_of if newer else request.POST.get("made_of", made_of)
    return form_page(request, "timeline/posts/edit.html", context)


def _made_of(post: Post) -> str:
    """Which text and which descriptions a form of this post is made of."""
    alts = [one.alt for one in post.media.pictures]
    return f"{post.edited or 0}:{digest_of(repr(alts))}" if alts else str(post.edited or 0)


# ---- The page with all texts of a post.


HISTORY = Page("timeline/posts/history.html", here="history")
TEXT = Fragment("timeline/posts/_version.html")


@require_safe
def history(request: RetwisRequest, username: str, pid: int) -> HttpResponse:
    """All texts of a post, the newest first. At most three round trips. Raises NoSuchPost, also for a repost,
    PostDeleted, NotShown."""
    post, texts = texts_of_post(request.viewer, username, pid)
    shown = read_asked_for(connect(), request.viewer, [pid])
    if post.links.repost_of is not None or not shown:
        raise NoSuchPost(pid)
    latest, by, rows = shown[0], rendering(request), []
    # The names that the newest text mentions are links in all of them; whom the others meant is not known any more.
    names = latest.context.mentioned
    if names is None and len(texts) > 1:
        names = frozenset()
    for number, version in enumerate(reversed(texts)):
        iso, when = moment(version.since, by.language)
        text = html_of(version.text, by.language, names=names)
        rows.append(TEXT.fill(by.language, is_latest=number == 0, iso=iso, moment=when, text=text))
    return HISTORY.response(request, by, **about_post(latest.author, pid), texts=joined(rows))


# ---- A picture of a post, large.


@require_safe
def large_picture(request: RetwisRequest, username: str, pid: int, number: int) -> HttpResponse:
    """Round trips as for `one_post`. Raises NoSuchPost, also for a picture that the post does not have, PostDeleted,
    NotShown."""
    post = one_post(request.viewer, username, pid)
    if number > len(post.media.pictures):
        raise NoSuchPost(pid)
    return picture_page(request, rendering(request), post, number)


# ---- The deletion of a post.


@guards.user_change
def delete(request: RetwisRequest, me: User, username: str, pid: int) -> HttpResponse:
    post = one_post(request.viewer, username, pid)
    if post.author.uid != me.uid:
        raise PermissionDenied(_("Only its author can delete a post."))
    Posts(connect()).delete(me.uid, pid)
    messages.success(request, _("Deleted."))
    back = _where_one_was(request)
    response = HttpResponseRedirect(reverse("home") if guards.match_of(back).kwargs.get("pid") == pid else back)
    note_changed(request, response, post.links.reply_to, post.links.quote)
    return response


urlpatterns = [
    path("post/", publish, name="publish"),
    path("compose/", compose, name="compose"),
    path("compose/discard/", discard, name="discard"),
    path("@<username:username>/<id:pid>/delete/", delete, name="delete"),
    path("@<username:username>/<id:pid>/pictures/<id:number>/", large_picture, name="picture"),
    path("@<username:username>/<id:pid>/edit/", edit, name="edit"),
    path("@<username:username>/<id:pid>/history/", history, name="history"),
]
