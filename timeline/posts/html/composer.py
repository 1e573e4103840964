"""The composer: the form of a new post."""

from django.http import HttpRequest
from django.template.loader import render_to_string

from accounts.signing_in.html.pages import Rendering
from retwis_site.rendering.fragments import EITHER, NOTHING, Fragment, Html
from timeline.posts.composing import drafts
from timeline.posts.composing.forms import PostForm, new_token


def _empty(form: PostForm) -> Fragment:
    return Fragment(
        "timeline/posts/_composer.html",
        slots=("uid", "token", "csrf_token", "reply_to", "quote"),
        shape={"quotes": EITHER},
        constants={"form": form, "has_text": False},
    )


COMPOSER = _empty(PostForm())
# Any ids: only their words differ.
REPLY = _empty(PostForm(initial={"reply_to": 1}))
QUOTE = _empty(PostForm(initial={"quote": 1}))


def composer(request: HttpRequest, by: Rendering, *, reply_to: int | None = None, quote: int | None = None) -> Html:
    """The composer with the viewer's draft, if one waits; empty for a visitor. `reply_to`, `quote`: the posts that the
    new one answers and quotes. Each has a token of its own: a second click sends the same token, and so gives the same
    post."""
    if by.me is None:
        return NOTHING
    draft = drafts.kept(request, by.me, reply_to, quote)
    if draft is not None:
        return composer_with(PostForm.of(draft.post), by)
    empty = REPLY if reply_to is not None else QUOTE if quote is not None else COMPOSER
    return empty.fill(
        by.language,
        quotes=quote is not None,
        uid=by.me,
        token=new_token(),
        csrf_token=by.token,
        reply_to=reply_to or "",
        quote=quote or "",
    )


def composer_with(form: PostForm, by: Rendering) -> Html:
    """The composer with what was typed, and its errors. It is rendered now."""
    context = {
        "form": form,
        "has_text": True,
        "uid": by.me,
        "token": form["token"].value() or new_token(),
        "csrf_token": by.token,
        "reply_to": form["reply_to"].value() or "",
        "quote": form["quote"].value() or "",
        "quotes": bool(form["quote"].value()),
    }
    return render_to_string(COMPOSER.template, context)
