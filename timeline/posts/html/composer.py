"""The composer: the form of a new post."""

from django.template.loader import render_to_string

from accounts.signing_in.html.pages import Rendering
from retwis_site.rendering.fragments import Fragment, Html
from timeline.posts.composing.forms import PostForm, new_token

COMPOSER = Fragment(
    "timeline/posts/_composer.html", slots=("uid", "token", "csrf_token"), constants={"form": PostForm()}
)


def empty_composer(by: Rendering) -> Html:
    """Each has a token of its own: a second click sends the same token, and so gives the same post."""
    return COMPOSER.fill(by.language, uid=by.me or 0, token=new_token(), csrf_token=by.token)


def composer_with(form: PostForm, by: Rendering) -> Html:
    """The composer with what was typed, and its errors. It is rendered now."""
    token = form["token"].value() or new_token()
    context = {"form": form, "uid": by.me, "token": token, "csrf_token": by.token}
    return render_to_string(COMPOSER.template, context)
