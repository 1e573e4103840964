"""The settings: profile, password, appearance, language, sessions, and deleting the account."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.hashers import make_password
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import path, reverse
from django.utils.text import format_lazy
from django.utils.translation import get_language, gettext as _, gettext_lazy
from django.views.generic import RedirectView

from accounts.community.acts import LastAdmin, Roles
from accounts.facts.facts import FIELDS, LONGEST_LABEL, LONGEST_VALUE, MOST_FACTS, Fact, facts_of, save_profile
from accounts.media.decoding import PictureRefused
from accounts.media.profiles import ProfilePicture, ProfilePictures
from accounts.media.repository import PictureGone, Pictures
from accounts.signing_in import guards
from accounts.signing_in.forms import NewPasswordForm, PresentPasswordForm, ShortTextField
from accounts.signing_in.html import done, form_page, typed
from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.sessions.entities import SESSIONS, Session, Way
from accounts.signing_in.sessions.repository import Sessions, stored_of
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import NotSignedIn, Refused, Role, User, Verified
from accounts.users.html import drawn, header_address, portrait
from accounts.users.names import LONGEST_BIO, LONGEST_DISPLAY_NAME, as_display_name
from accounts.users.repository import Users
from retwis_site.http.cookies import keep_choice
from retwis_site.rendering.dates import Moment, moment
from retwis_site.rendering.fragments import Html, active_language
from retwis_site.rendering.pages import OFF, SHORTCUTS_COOKIE, THEME_COOKIE, lasting_origin, shortcuts_of, theme_of
from retwis_site.store.client import connect
from retwis_site.store.ids import is_digest
from retwis_site.store.rate_limits import Limit

# ---- Rate limits


EDITS = Limit(
    "edit", 60, 3600, "changes to a profile", gettext_lazy("Too many changes to your profile in a short time.")
)
LOGGED_OUT = Limit(
    "session", 60, 3600, "devices that were logged out", gettext_lazy("Too many devices logged out in a short time.")
)
# Forms that ask for the current password, right or wrong, from any address
PASSWORD_FORMS = Limit(
    "password", 20, 3600, "password changes and deletions", gettext_lazy("Too many attempts in a short time.")
)


# ---- Forms


UPLOADED = "uploaded_"  # such as `uploaded_picture`: the digest of what an earlier try has uploaded
REMOVE = "remove_"


class PictureRow(NamedTuple):
    """What a form shows of the picture or the header."""

    field: forms.BoundField
    takes_files: bool  # the site has room for pictures
    picture: Html | str  # the profile picture, or the initials; empty for a header
    header: str  # its address; empty without one
    uploaded: str  # the digest of a new one, which is not saved yet
    remove: forms.BoundField | None  # None: there is nothing to remove


def file_field(label: Any, help_text: Any) -> forms.FileField:
    widget = forms.FileInput(attrs={"accept": "image/*,.heic,.avif"})
    return forms.FileField(required=False, allow_empty_file=True, label=label, help_text=help_text, widget=widget)


class Choice(forms.ChoiceField):
    default_error_messages = dict.fromkeys(("required", "invalid_choice"), gettext_lazy("Choose one of these options."))


# The colours of a picture, by the values of a form; AUTOMATIC: none is chosen.
AUTOMATIC = "automatic"
COLOUR_NAMES = {
    AUTOMATIC: gettext_lazy("Automatic"),
    "red": gettext_lazy("Red"),
    "brown": gettext_lazy("Brown"),
    "gold": gettext_lazy("Gold"),
    "olive": gettext_lazy("Olive"),
    "green": gettext_lazy("Green"),
    "teal": gettext_lazy("Teal"),
    "cyan": gettext_lazy("Cyan"),
    "blue": gettext_lazy("Blue"),
    "indigo": gettext_lazy("Indigo"),
    "violet": gettext_lazy("Violet"),
    "magenta": gettext_lazy("Magenta"),
    "pink": gettext_lazy("Pink"),
}


class Swatch(NamedTuple):
    """One of the colours, as the user's picture would look."""

    value: str
    name: str
    picture: Html
    is_chosen: bool


class DisplayNameField(ShortTextField):
    def to_python(self, value: Any) -> str:
        return as_display_name(super().to_python(value))


class ProfileForm(forms.Form):
    """The display name, the bio, the picture, and its colour where it is of initials. `kinds`: a form may have a
    header, too. Files are uploaded, kept while the form has errors, and chosen."""

    kinds: tuple[ProfilePicture, ...] = (ProfilePicture.PICTURE,)

    picture = file_field(gettext_lazy("Picture"), gettext_lazy("The middle of it is shown, as a square."))
    remove_picture = forms.BooleanField(required=False, label=gettext_lazy("Remove the picture"))

    name = DisplayNameField(
        LONGEST_DISPLAY_NAME,
        label=gettext_lazy("Display name"),
        help_text=gettext_lazy("Shown before your username. Leave it empty to show only your username."),
        widget=forms.TextInput(attrs={"autocomplete": "nickname", "dir": "auto"}),
    )
    bio = ShortTextField(
        LONGEST_BIO,
        label=gettext_lazy("About you"),
        help_text=format_lazy(gettext_lazy("Shown on your profile. Up to {number} characters."), number=LONGEST_BIO),
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )
    # Empty: a form that does not know of it leaves the choice as it is.
    colour = Choice(choices=COLOUR_NAMES.items(), required=False, label=gettext_lazy("Colour of your initials"))

    def swatches(self, me: User) -> list[Swatch]:
        """What the field `colour` offers to a user."""
        chosen = self["colour"].value() or me.colour or AUTOMATIC
        pictures = {value: drawn(me._replace(colour="" if value == AUTOMATIC else value)) for value in COLOUR_NAMES}
        return [Swatch(value, str(COLOUR_NAMES[value]), pictures[value], value == chosen) for value in COLOUR_NAMES]

    def new_colour(self, me: User) -> str | None:
        """The colour that was chosen, as `User.colour`; None when it stays the same."""
        chosen: str = self.cleaned_data["colour"] or me.colour
        chosen = "" if chosen == AUTOMATIC else chosen
        return None if chosen == me.colour else chosen

    def save_colour(self, me: User) -> None:
        """Keep the colour that was chosen; `me` as just read. One round trip; none when it stays the same."""
        colour = self.new_colour(me)
        if colour is not None:
            Users(connect()).choose(me.uid, "colour", colour)

    def upload(self, me: User, files: Mapping[str, Any]) -> None:
        """Store the files of a form that was sent. A refused file becomes an error of the form, and so does another
        user in the field `as`: it would show on this profile what somebody wrote for another one. Files are stored when
        the form has other errors, too: then `uploaded_picture` has them when it is sent again. Round trips of
        `Pictures.upload` for each; one for each that was uploaded before. Raises TooOften."""
        if self.data.get("as", str(me.uid)) != str(me.uid):
            text = _("Nothing was saved. This form was filled in for another account. You are logged in as %(name)s.")
            self.add_error(None, text % {"name": f"@{me.username}"})
        self.uploaded = dict[ProfilePicture, str]()
        for kind in self.kinds:
            try:
                digest = self._uploaded(me, kind, files.get(kind))
            except PictureRefused as why:
                self.add_error(kind, str(why))
            else:
                self.uploaded |= {kind: digest} if digest else {}

    def _uploaded(self, me: User, kind: ProfilePicture, file: object) -> str:
        store, named = Pictures(connect()), str(self.data.get(f"{UPLOADED}{kind}", ""))
        if isinstance(file, UploadedFile):
            return store.upload(me.uid, file.read(), kind.shape).digest
        if not is_digest(named):
            return ""
        info = store.of_user(me.uid, [named]).get(named)
        if info is None or not kind.fits(info):
            raise PictureGone
        return named

    def save_pictures(self, me: User, stored: Mapping[str, str]) -> bool:
        """Show the pictures that were uploaded, and no longer those that are to be removed. `stored`: the fields of the
        user. Returns False when one is gone meanwhile: then the form has an error. Round trips of `ProfilePictures`."""
        pictures = ProfilePictures(connect())
        for kind in self.kinds:
            new = self.uploaded.get(kind)
            try:
                if new and new != stored.get(kind):
                    pictures.choose(me.uid, kind, new)
                elif not new and self.cleaned_data[f"{REMOVE}{kind}"]:
                    pictures.remove(me.uid, kind)
            except PictureRefused as why:
                self.add_error(kind, str(why))
        return self.is_valid()

    def changes_pictures(self) -> bool:
        """Whether the form says anything of pictures."""
        return bool(self.uploaded) or any(self.cleaned_data[f"{REMOVE}{kind}"] for kind in self.kinds)

    def picture_rows(self, me: User, stored: Mapping[str, str]) -> list[PictureRow]:
        """What the form shows. `stored`: the fields of the user."""
        found = []
        for kind in self.kinds:
            new = getattr(self, "uploaded", {}).get(kind, "")
            digest = new or stored.get(kind, "")
            is_known, is_header = bool(is_digest(digest)), kind is ProfilePicture.HEADER
            found.append(
                PictureRow(
                    field=self[kind],
                    takes_files=settings.MEDIA_MEMORY > 0,
                    picture="" if is_header else portrait(me._replace(picture=digest if is_known else "")),
                    header=header_address(digest) if is_header and is_known else "",
                    uploaded=new,
                    remove=self[f"{REMOVE}{kind}"] if is_known and not new else None,
                )
            )
        return [row for row in found if row.takes_files or row.remove]


REQUIRED = "required"  # a description of each picture


class SettingsForm(ProfileForm):
    """The profile with its header, and pairs of a label and a text or link; and whether pictures need a description."""

    kinds = (ProfilePicture.PICTURE, ProfilePicture.HEADER)

    header = file_field(
        gettext_lazy("Header"),
        gettext_lazy("A wide picture above your profile. The middle of it is shown, three times as wide as high."),
    )
    remove_header = forms.BooleanField(required=False, label=gettext_lazy("Remove the header"))

    # Empty: a form that does not know of it leaves the choice as it is.
    descriptions = Choice(
        choices=[
            ("optional", gettext_lazy("Remind me when one is missing")),
            (REQUIRED, gettext_lazy("Require one for each picture")),
        ],
        required=False,
        label=gettext_lazy("Descriptions of pictures in posts"),
        help_text=gettext_lazy("They tell people who do not see a picture what it shows."),
    )

    def __init__(self, data: QueryDict | None, before: Sequence[Fact], **kwargs: Any) -> None:
        """`before`: the facts as they are."""
        super().__init__(data, **kwargs)
        for number in range(MOST_FACTS):
            fact = before[number] if number < len(before) else Fact("", "")
            label = gettext_lazy("Label %(number)d") % {"number": number + 1}
            value = gettext_lazy("Text or link %(number)d") % {"number": number + 1}
            self.fields[f"label_{number + 1}"] = ShortTextField(LONGEST_LABEL, label=label, initial=fact.label)
            self.fields[f"value_{number + 1}"] = ShortTextField(LONGEST_VALUE, label=value, initial=fact.value)
            for name in (f"label_{number + 1}", f"value_{number + 1}"):
                self.fields[name].widget.attrs["dir"] = "auto"

    def rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        """The fields of the facts."""
        return [(self[f"label_{number}"], self[f"value_{number}"]) for number in range(1, MOST_FACTS + 1)]

    def clean(self) -> None:
        for label, value in self.rows():
            texts = [self.cleaned_data.get(field.name) for field in (label, value)]
            if "" in texts and any(texts):
                empty = label if texts[0] == "" else value
                self.add_error(empty.name, _("Fill in both the label and the text, or neither."))

    def save_descriptions(self, me: User, since: str | None) -> None:
        """Keep whether pictures need a description. `since`: the field of the user. One round trip; none when it stays
        the same."""
        chosen = self.cleaned_data["descriptions"]
        if chosen and (chosen == REQUIRED) != bool(since):
            Users(connect()).choose(me.uid, "needs_alt", str(int(time.time())) if chosen == REQUIRED else "")

    def facts(self) -> list[Fact] | None:
        """The facts that were typed; None when the form does not have them at all."""
        if self.data.keys().isdisjoint(field.name for row in self.rows() for field in row):
            return None
        found = [Fact(*(self.cleaned_data[field.name] for field in row)) for row in self.rows()]
        return [fact for fact in found if fact.label]


class PasswordForm(PresentPasswordForm, NewPasswordForm):
    """Asks for the present password and for a new one."""

    field_order = ("password", "password1", "password2")


class AppearanceForm(forms.Form):
    """The colours of all pages in one browser, and their keys."""

    SYSTEM = "system"

    theme = Choice(
        choices=[
            (SYSTEM, gettext_lazy("Use system setting")),
            ("light", gettext_lazy("Light")),
            ("dark", gettext_lazy("Dark")),
        ],
    )

    # Empty: a form that does not know of it leaves the choice as it is.
    shortcuts = Choice(choices=[("on", gettext_lazy("On")), (OFF, gettext_lazy("Off"))], required=False)

    def clean_theme(self) -> str:
        """The theme as the cookie has it: empty for the system's."""
        theme = str(self.cleaned_data["theme"])
        return "" if theme == self.SYSTEM else theme


class LanguageForm(forms.Form):
    """The language of the pages."""

    language = forms.ChoiceField(
        choices=settings.LANGUAGES,
        error_messages=dict.fromkeys(("required", "invalid_choice"), gettext_lazy("Choose one of these languages.")),
    )


# ---- Views


@guards.for_own_forms
def profile_settings(request: RetwisRequest) -> HttpResponse:
    """The form for what a profile shows, with links to the other settings."""
    me, stored = stored_of(request.viewer)
    before = facts_of(me.uid, *map(stored.get, FIELDS))
    initial = {"name": me.name, "bio": stored.get("bio", "")}
    initial["descriptions"] = REQUIRED if stored.get("needs_alt") else "optional"
    form = SettingsForm(typed(request), before, initial=initial)
    if form.is_bound:
        form.upload(me, request.FILES)
    if form.is_valid():
        EDITS.count(connect(), me.uid)
    if not form.is_valid() or not form.save_pictures(me, stored):
        context = {"form": form, "swatches": form.swatches(me), "pictures": form.picture_rows(me, stored)}
        return form_page(request, "accounts/settings/settings.html", context)
    profile = lasting_origin(request) + reverse("profile", args=[me.username])
    save_profile(connect(), me, form.cleaned_data["name"], form.cleaned_data["bio"], form.facts(), profile)
    form.save_colour(me)
    form.save_descriptions(me, stored.get("needs_alt"))
    return done(request, _("Saved."), "settings")


@guards.for_passwords
@guards.sudo_required
def password(request: RetwisRequest, me: User) -> HttpResponse:
    """Change the password, and end every other session."""
    form = PasswordForm(typed(request), request=request, username=me.username)
    if form.is_bound:
        PASSWORD_FORMS.count(connect(), me.uid)
    if not form.is_valid() or form.verified is None:
        return form_page(request, "accounts/settings/password.html", {"form": form})
    new, present = make_password(form.cleaned_data["password1"]), form.verified.generation
    generation = Sessions(connect()).change_password(me.uid, new, present=present)
    if not generation:  # another one was set meanwhile, and this session has ended
        raise NotSignedIn
    guards.log_account_event(request, "changed the password", me)
    messages.success(request, _("Your password was changed. All your other devices are logged out."))
    return guards.begin_session(request, Verified(me, generation, way=request.viewer.way), reverse("home"))


@guards.for_passwords
@guards.sudo_required
def delete_account(request: RetwisRequest, me: User) -> HttpResponse:
    """Delete the account for good, and remove every personal cookie from the browser."""
    form = PresentPasswordForm(typed(request), request=request, username=me.username)
    if form.is_bound:
        PASSWORD_FORMS.count(connect(), me.uid)
    context: dict[str, object] = {"form": form}
    if form.is_valid() and request.viewer.checked.role is not Role.MEMBER:
        try:
            Roles(connect()).give(me.uid, Role.MEMBER, me.uid)
        except Refused as refusal:
            context["is_last_admin"] = isinstance(refusal, LastAdmin)
            if not context["is_last_admin"] or not request.POST.get("last_admin"):  # the only admin is warned first
                form.add_error(None, str(refusal))
    if not form.is_valid():
        return form_page(request, "accounts/settings/delete.html", context)
    AccountDeletion(connect()).delete(me, request.viewer.secret)
    guards.log_account_event(request, "deleted the account", me)
    response = guards.logged_out(request, _("Your account was deleted."))
    guards.take_back_all(response)
    return response


@guards.open_to_frozen
@guards.for_own_forms
def appearance(request: RetwisRequest) -> HttpResponse:
    """Light, dark or like the system, and whether there are keys for a post. Cookies keep both, so they are the choices
    of one browser and of no account. Below, the page lists the keys; the script shows the list in a dialog."""
    initial = {"theme": theme_of(request) or AppearanceForm.SYSTEM, "shortcuts": shortcuts_of(request)}
    form = AppearanceForm(typed(request), initial=initial)
    if not form.is_valid():
        return _choice_page(request, "accounts/settings/appearance.html", form, form["theme"])
    response = HttpResponseRedirect(guards.page_after(request))
    keep_choice(response, THEME_COOKIE, form.cleaned_data["theme"])
    if shortcuts := form.cleaned_data["shortcuts"]:
        keep_choice(response, SHORTCUTS_COOKIE, shortcuts if shortcuts == OFF else "")
    return response


@guards.open_to_frozen
@guards.for_own_forms
def language(request: RetwisRequest) -> HttpResponse:
    """The language of one browser. For a signed-in user, also the language of the browser of each later login."""
    form = LanguageForm(typed(request), initial={"language": get_language()})
    if not form.is_valid():
        return _choice_page(request, "accounts/settings/language.html", form, form["language"])
    if request.user.is_authenticated:
        Users(connect()).choose(request.viewer.require_user().uid, "language", form.cleaned_data["language"])
    response = HttpResponseRedirect(guards.page_after(request))
    keep_choice(response, settings.LANGUAGE_COOKIE_NAME, form.cleaned_data["language"])
    return response


def _choice_page(request: RetwisRequest, template: str, form: forms.Form, field: forms.BoundField) -> HttpResponse:
    """A page with a choice. Saving it redirects to the page that led here."""
    after = guards.page_after(request) if form.is_bound else guards.page_of_form(request)
    return form_page(request, template, {"form": form, "field": field, "next": after})


# ---- The page of one's sessions, and ending them.


OTHERS = "others"  # in place of a session's number: all but the one of this browser


WAYS = {
    Way.PASSWORD: gettext_lazy("with a password"),
    Way.PASSKEY: gettext_lazy("with a passkey"),
    Way.WITH_CODE: gettext_lazy("with a password and a code"),
    Way.WITH_PASSKEY: gettext_lazy("with a password and a passkey"),
    Way.WITH_RECOVERY_CODE: gettext_lazy("with a password and a recovery code"),
}


class DeviceRow(NamedTuple):
    number: str  # of the session
    device: str  # in words
    way: str  # how it was opened, in words
    since: Moment
    used: Moment
    is_here: bool  # the browser that asks


@guards.open_to_frozen
@guards.for_own_forms
def sessions(request: RetwisRequest) -> HttpResponse:
    """The devices on which the user is logged in. A POST with `end`, the number of a session or OTHERS, ends these."""
    me, stored = stored_of(request.viewer)
    found = SESSIONS.standing_in(stored).values()
    if request.method != "POST":
        listed = rows(found, request.viewer.secret, active_language())
        has_others = any(not row.is_here for row in listed)
        is_shared = not any(row.is_here for row in listed)
        context = {"rows": listed, "has_others": has_others, "is_shared": is_shared}
        return form_page(request, "accounts/settings/sessions/sessions.html", context)
    LOGGED_OUT.count(connect(), me.uid)
    which = request.POST.get("end", "")
    if which == OTHERS:
        here = next((session for session in found if session.secret == request.viewer.secret), None)
        return _end_others(request, me, here, stored.get("generation", ""))
    ended = [session.secret for session in found if session.number == which]
    for secret in ended:
        Sessions(connect()).end(me.uid, secret)
        guards.log_account_event(request, "logged out a device", me)
    if request.viewer.secret in ended:
        return guards.logged_out(request, _("You are logged out."))
    return done(request, _("The device is logged out."), "sessions")


def rows(sessions: Iterable[Session], here: str, language: str) -> list[DeviceRow]:
    """The row of the session with the secret `here` stands first."""
    found = [
        DeviceRow(
            session.number,
            session.device.in_words() or _("Unknown device"),
            str(WAYS[session.way]),
            moment(session.since, language),
            moment(max(session.since, session.used), language),  # an hour may have begun before the login
            session.secret == here,
        )
        for session in sessions
    ]
    return sorted(found, key=lambda row: not row.is_here)


def _end_others(request: RetwisRequest, me: User, here: Session | None, present: str) -> HttpResponse:
    """All sessions end, and this browser gets a new one: two steps, each of them whole. The new one is as old as the
    one before: nobody has typed a password. A browser with the official secret, whose age is not known, logs in
    again; so does one whose session has ended meanwhile. `present`: the generation of that."""
    generation = Sessions(connect()).end_others(me.uid, present)
    guards.log_account_event(request, "logged out all other devices", me)
    if here is None or not generation:
        return guards.logged_out(request, _("You are logged out on all your devices."))
    messages.success(request, _("All your other devices are logged out."))
    return guards.begin_session(request, Verified(me, generation, since=here.since, way=here.way), request.path)


@guards.open_to_frozen
@guards.for_own_forms
@guards.login_required
def log_out_everywhere(request: RetwisRequest, me: User) -> HttpResponse:
    """Asks first; a POST ends every session, also that of this browser."""
    if request.method != "POST":
        return form_page(request, "accounts/settings/sessions/everywhere.html", {})
    LOGGED_OUT.count(connect(), me.uid)
    Sessions(connect()).end_all(me.uid)
    guards.log_account_event(request, "logged out everywhere", me)
    return guards.logged_out(request, _("You are logged out on all your devices."))


# ---- Addresses


urlpatterns = [
    path("settings/", profile_settings, name="settings"),
    path("settings/password/", password, name="password"),
    # Password managers lead there: https://www.w3.org/TR/change-password-url/
    path(".well-known/change-password", RedirectView.as_view(pattern_name="password"), name="change_password"),
    path("settings/appearance/", appearance, name="appearance"),
    path("settings/language/", language, name="language"),
    path("settings/sessions/", sessions, name="sessions"),
    path("settings/sessions/everywhere/", log_out_everywhere, name="log_out_everywhere"),
    path("settings/delete/", delete_account, name="delete_account"),
]
