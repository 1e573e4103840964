"""The page to which a new account comes first: one form with three steps, none of which must be taken."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from django import forms
from django.http import HttpResponse
from django.urls import path
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.settings.feature import EDITS
from accounts.settings.views import ProfileForm
from accounts.signing_in.forms import USERNAME
from accounts.signing_in.guards import for_forms, never_store
from accounts.signing_in.html import done, form_page, typed
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.repository import stored_of
from accounts.users.entities import User
from accounts.users.html import avatar
from accounts.users.names import NameIndex
from retwis_site.store.client import connect
from retwis_site.store.rate_limits import RateLimits
from timeline.first_steps.following import OFFERED, follow_people, follow_tags, offered_to
from timeline.posts.entities import LONGEST_POST, NewPost
from timeline.posts.feature import POSTS
from timeline.posts.forms import PostField, new_token, valid_token
from timeline.posts.links import folded, is_tag
from timeline.posts.repository import Posts
from timeline.relations.feature import FOLLOWS

# ---- The form


NAME = re.compile(f"@{USERNAME}")


class Chosen(NamedTuple):
    """Whom and what the user has chosen to follow."""

    names: list[str]  # usernames
    tags: list[str]  # folded


class FirstStepsForm(ProfileForm):
    """The profile, whom to follow, and a first post. Every field may be empty."""

    follow = forms.Field(required=False, widget=forms.SelectMultiple)  # each `@name` or `#tag`
    body = PostField(
        required=False,
        label=gettext_lazy("What's new?"),
        help_text=format_lazy(gettext_lazy("Up to {number} characters"), number=LONGEST_POST),
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )
    token = forms.CharField(required=False, widget=forms.HiddenInput, validators=[valid_token])

    def clean_follow(self) -> Chosen:
        """Without what is no name or tag, and at most as many as the page offers."""
        given = [str(one) for one in self.cleaned_data["follow"] or ()][: 2 * OFFERED]
        names = [one[1:] for one in given if NAME.fullmatch(one)]
        return Chosen(names, [folded(one[1:]) for one in given if one.startswith("#") and is_tag(one[1:])])


# ---- The view


@for_forms
@never_store
def first_steps(request: RetwisRequest) -> HttpResponse:
    """The page with all steps; a POST takes those that were filled in. Each can be taken twice, so a form that failed
    midway is sent again as it is."""
    me, stored = stored_of(request.viewer)
    form = FirstStepsForm(typed(request), initial={"name": me.name, "bio": stored.get("bio", "")})
    if form.is_bound:
        form.upload(me, request.FILES)
    if form.is_valid() and _taken(me, stored, form):
        return done(request, _("Saved."), "recovery")
    offer = offered_to(connect(), me.uid)
    people = [(one, avatar(one.user)) for one in offer.people]
    context = {"form": form, "swatches": form.swatches(me), "tags": offer.tags, "people": people}
    context |= {"chosen": form["follow"].value() or (), "token": new_token(), "pictures": form.picture_rows(me, stored)}
    return form_page(request, "timeline/first_steps/first_steps.html", context)


def _taken(me: User, stored: Mapping[str, str], form: FirstStepsForm) -> bool:
    """Whether all steps are taken; else the form has an error. `stored`: the fields of the user."""
    given, limits, who = form.cleaned_data, RateLimits(connect()), str(me.uid)
    is_other = (given["name"], given["bio"]) != (me.name, stored.get("bio", "")) or form.new_colour(me) is not None
    if is_other or form.changes_pictures():
        limits.count(EDITS, who)
        if not form.save_pictures(me, stored):
            return False
        NameIndex(connect()).edit(me, given["name"], given["bio"])
        form.save_colour(me)
    chosen: Chosen = given["follow"]
    for _one in (*chosen.names, *chosen.tags):
        limits.count(FOLLOWS, who)
    follow_people(connect(), me.uid, chosen.names)
    follow_tags(connect(), me.uid, chosen.tags)
    if not given["body"]:
        return True
    limits.count(POSTS, who)
    published = Posts(connect()).publish(me.uid, NewPost(given["body"]), given["token"] or new_token())
    if published.body == given["body"]:
        return True
    # The user went back in the browser, changed the text and sent the form again.
    form.add_error("body", _("This form was already posted. Your new text is below. You can post it now."))
    return False


# ---- Addresses


urlpatterns = [path("first-steps/", first_steps, name="first_steps")]
