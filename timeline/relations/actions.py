"""Follow, block and mute a person, and the undo of each. All are for users."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext as _, gettext_lazy

from accounts.signing_in.guards import page_of_form, user_change
from accounts.signing_in.html import done, not_done
from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import User
from retwis_site.rendering.pages import error_page
from retwis_site.store.client import connect
from timeline.relations.feature import BLOCKS, FOLLOWS
from timeline.relations.relations import FOREVER, BlockedPeople, Blocks, Follows, Mutes, in_days, read_blocks

# ---- The form that mutes a person.


ALL, REPOSTS = "all", "reposts"
FOR_DAYS = (
    ("", gettext_lazy("Until I unmute")),
    ("1", gettext_lazy("For a day")),
    ("7", gettext_lazy("For a week")),
    ("30", gettext_lazy("For 30 days")),
)


class MuteForm(forms.Form):
    what = forms.ChoiceField(
        choices=((ALL, gettext_lazy("everything")), (REPOSTS, gettext_lazy("only reposts"))), initial=ALL
    )
    hours = forms.ChoiceField(choices=[("1", "1")], required=False)
    days = forms.ChoiceField(choices=FOR_DAYS, required=False)

    @property
    def only_reposts(self) -> bool:
        return bool(self.cleaned_data["what"] == REPOSTS)

    @property
    def until(self) -> float:
        """In unix seconds; FOREVER without an end."""
        hours, days = self.cleaned_data["hours"], self.cleaned_data["days"]
        if hours:
            return in_days(int(hours) / 24)
        return in_days(int(days)) if days else FOREVER


# ---- Views


@user_change
def follow(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    person, blocks = request.viewer.ask_about(username, read_blocks)
    refusal = why_not_followed(me, person, blocks)
    if refusal:
        messages.error(request, refusal)
    else:
        FOLLOWS.count(connect(), me.uid)
        Follows(connect()).follow(me.uid, person.uid)
        messages.success(request, _("You now follow %(name)s.") % {"name": person.username})
    return redirect("home") if _is_on_home(request) else redirect("profile", person.username)


def why_not_followed(me: User, person: User, blocks: Blocks) -> str:
    """Why `me` cannot follow a person, in a sentence; empty when they can."""
    if person.uid == me.uid:
        return _("You cannot follow yourself. Your posts are already on your home page.")
    if blocks.mine:
        return _("You block %(name)s. Unblock them first.") % {"name": person.username}
    return _("You cannot follow %(name)s.") % {"name": person.username} if blocks.theirs else ""


def _is_on_home(request: RetwisRequest) -> bool:
    """Whether the whole page answers a form of the home page, which shows the posts of a person who is now followed.
    In place, the button alone is replaced, and the script asks for the home page."""
    is_whole = "HX-Request" not in request.headers and "Referer" in request.headers
    return is_whole and page_of_form(request) == reverse("home")


@user_change
def unfollow(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    person = request.viewer.find(username)
    Follows(connect()).unfollow(me.uid, person.uid)
    return done(request, _("You no longer follow %(name)s.") % {"name": person.username}, "profile", person.username)


@user_change
def block(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    person = request.viewer.find(username)
    if person.uid == me.uid:
        return not_done(request, _("You cannot block yourself."), "profile", person.username)
    BLOCKS.count(connect(), me.uid)
    BlockedPeople(connect()).block(me.uid, person.uid)
    text = _("You block %(name)s. Neither of you sees the other while logged in.")
    return done(request, text % {"name": person.username}, "profile", person.username)


@user_change
def unblock(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    person = request.viewer.find(username)
    BlockedPeople(connect()).unblock(me.uid, person.uid)
    return done(request, _("You no longer block %(name)s.") % {"name": person.username}, page_of_form(request))


@user_change
def mute(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    person = request.viewer.find(username)
    form = MuteForm(request.POST)
    if not form.is_valid():
        return error_page(request, 422, _("Not muted"), _("Choose what to mute, and for how long."))
    if person.uid == me.uid:
        return not_done(request, _("You cannot mute yourself."), page_of_form(request))
    BLOCKS.count(connect(), me.uid)
    if form.only_reposts:
        Mutes(connect()).mute_reposts(me.uid, person.uid, form.until)
        text = _("You no longer see reposts by %(name)s.")
    else:
        Mutes(connect()).mute(me.uid, person.uid, form.until)
        text = _("You no longer see posts by %(name)s. They are not told.")
    return done(request, text % {"name": person.username}, page_of_form(request))


@user_change
def unmute(request: RetwisRequest, me: User, username: str) -> HttpResponse:
    person = request.viewer.find(username)
    if request.POST.get("what") == REPOSTS:
        Mutes(connect()).unmute_reposts(me.uid, person.uid)
        text = _("You see reposts by %(name)s again.")
    else:
        Mutes(connect()).unmute(me.uid, person.uid)
        text = _("You see posts by %(name)s again.")
    return done(request, text % {"name": person.username}, page_of_form(request))


# ---- Addresses


PERSON = "@<username:username>/"

urlpatterns = [
    path(f"{PERSON}follow/", follow, name="follow"),
    path(f"{PERSON}unfollow/", unfollow, name="unfollow"),
    path(f"{PERSON}block/", block, name="block"),
    path(f"{PERSON}unblock/", unblock, name="unblock"),
    path(f"{PERSON}mute/", mute, name="mute"),
    path(f"{PERSON}unmute/", unmute, name="unmute"),
]
