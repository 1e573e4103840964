"""The page to which a new account comes first: one form with three steps, none of which must be taken."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from django import forms
from django.conf import settings
from django.http import HttpResponse
from django.urls import path
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy

from accounts.settings.views import EDITS, ProfileForm
from accounts.signing_in.forms import USERNAME
from accounts.signing_in.guards import for_acting, for_own_forms, keeps_opener, leading_on, page_after
from accounts.signing_in.html import done, form_page, typed
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.repository import stored_of
from accounts.users.entities import User
from accounts.users.html import avatar
from accounts.users.names import NameIndex
from accounts.users.repository import ask_owners, ask_people
from retwis_site.store.client import Store, answer, answers, connect
from retwis_site.store.ids import parse_id
from timeline.explore.exploring import Explore
from timeline.people.html import BIO_IN_LISTS
from timeline.people.lists import ListedPerson, Suggestions, ask_listed
from timeline.posts.composer import PostField, new_token, valid_token
from timeline.posts.entities import LONGEST_POST, NewPost
from timeline.posts.feature import POSTS
from timeline.posts.html import beginning_of
from timeline.posts.links import folded, is_tag, with_own_names
from timeline.posts.repository import Posts
from timeline.relations.feature import FOLLOWS
from timeline.relations.relation import ask_stands
from timeline.relations.relations import TAG_FOLLOW, Follows, TagFollows, ask_blocked
from timeline.tags.tags import NoSuchTag, Tag, chosen_tag

# ---- Whom and what a new account may follow: tags and people, which the page offers; and following what was chosen.


OFFERED = 5  # tags, and people


def offered_to(store: Store, me: int, inviter: int | None) -> tuple[list[Tag], Collection[ListedPerson]]:
    """At most OFFERED tags of the week and people that `me` does not follow, the person who has invited them first; no
    tags on a site without explore. One round trip with tags, one with people, and those of `Explore.tags` and
    `Suggestions.for_user`."""
    tags = [one.tag for one in Explore(store).tags()] if settings.EXPLORE else []
    follows = answers(store, lambda pipe, tag: ask_stands(pipe, TAG_FOLLOW, me, tag.folded), tags)
    people = Suggestions(store).for_user(me, OFFERED, [] if inviter is None else [inviter])
    listed = answer(store, ask_listed, me, [one.user.uid for one in people])
    return [tag for tag in tags if not follows[tag]][:OFFERED], listed.values()


def follow_people(store: Store, me: int, names: Sequence[str]) -> None:
    """Let `me` follow the people with these usernames, without those who have gone or with a block between them. Three
    round trips, and those of `Follows.follow` for each; none without a name."""
    uids = answer(store, ask_owners, names)
    people = answer(store, ask_people, set(uids.values()) - {me})
    blocked = answer(store, ask_blocked, me, list(people))
    for uid in people.keys() - blocked:
        Follows(store).follow(me, uid)


def follow_tags(store: Store, me: int, tags: Sequence[str]) -> None:
    """Let `me` follow these folded tags, without those that no post ever had, as many as may be followed. For each
    tag one round trip, and the round trips of `TagFollows.follow`."""
    for tag in tags:
        try:
            found = chosen_tag(store, me, tag)
        except NoSuchTag:
            continue
        if found.may_be_followed and not found.tag.following:
            TagFollows(store).follow(me, tag)


# ---- The form


NAME = re.compile(f"@{USERNAME}")


class ChosenFollows(NamedTuple):
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

    def clean_follow(self) -> ChosenFollows:
        """Without what is no name or tag, and at most as many as the page offers."""
        given = [str(one) for one in self.cleaned_data["follow"] or ()][: 2 * OFFERED]
        names = [one[1:] for one in given if NAME.fullmatch(one)]
        return ChosenFollows(names, [folded(one[1:]) for one in given if one.startswith("#") and is_tag(one[1:])])


# ---- The view


@for_acting
@keeps_opener
@for_own_forms
def first_steps(request: RetwisRequest) -> HttpResponse:
    """The page with all steps; a POST takes those that were filled in. Each can be taken twice, so a form that failed
    midway is sent again as it is. Then come the recovery codes, and last the page that led the visitor to register."""
    me, stored = stored_of(request.viewer)
    form = FirstStepsForm(typed(request), initial={"name": me.name, "bio": stored.get("bio", "")})
    if form.is_bound:
        form.upload(me, request.FILES)
    after = page_after(request)
    if form.is_valid() and _taken(me, stored, form, request.get_host()):
        return done(request, _("Saved."), leading_on("recovery", after))
    tags, offered = offered_to(connect(), me.uid, parse_id(stored.get("invited_by", "")))
    people = [(one.user, avatar(one.user), beginning_of(one.bio, BIO_IN_LISTS)) for one in offered]
    context = {"form": form, "swatches": form.swatches(me), "tags": tags, "people": people}
    context |= {"chosen": form["follow"].value() or (), "token": new_token(), "pictures": form.picture_rows(me, stored)}
    return form_page(request, "timeline/first_steps/first_steps.html", {**context, "next": after})


def _taken(me: User, stored: Mapping[str, str], form: FirstStepsForm, host: str) -> bool:
    """Whether all steps are taken; else the form has an error. `stored`: the fields of the user; `host`: of the
    site."""
    given = form.cleaned_data
    is_other = (given["name"], given["bio"]) != (me.name, stored.get("bio", "")) or form.new_colour(me) is not None
    if is_other or form.changes_pictures():
        EDITS.count(connect(), me.uid)
        if not form.save_pictures(me, stored):
            return False
        NameIndex(connect()).edit(me, given["name"], given["bio"])
        form.save_colour(me)
    chosen: ChosenFollows = given["follow"]
    for _one in (*chosen.names, *chosen.tags):
        FOLLOWS.count(connect(), me.uid)
    follow_people(connect(), me.uid, chosen.names)
    follow_tags(connect(), me.uid, chosen.tags)
    if not given["body"]:
        return True
    POSTS.count(connect(), me.uid)
    body = with_own_names(given["body"], host)
    if Posts(connect()).publish(me.uid, NewPost(body), given["token"] or new_token()).body == body:
        return True
    # The user went back in the browser, changed the text and sent the form again.
    form.add_error("body", _("This form was already posted. Your new text is below. You can post it now."))
    return False


# ---- Addresses


urlpatterns = [path("first-steps/", first_steps, name="first_steps")]
