"""The composer: the form of a new post, as it is checked and as HTML, and the draft that waits in a cookie when it
could not be published."""

import base64
import binascii
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from django import forms
from django.conf import settings
from django.core.validators import RegexValidator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.signing_in.html import Page, Rendering, focus_first_error
from retwis_site.http import cookies
from retwis_site.http.form_fields import TextField, is_visible
from retwis_site.rendering.fragments import NOTHING, Fragment, Html
from retwis_site.store.ids import is_digest, parse_id
from timeline.posts.entities import (
    LONGEST_ALT,
    LONGEST_POST,
    MOST_PICTURES,
    Media,
    NewPost,
    Picture,
    Post,
    TargetMissing,
    TargetRefused,
)
from timeline.posts.html import cards, picture_fields

# ---- The line breaks of a typed text.


_more_than_two = re.compile("\n{3,}")
LONGEST_NORMALISED = 20_000  # characters; 1 MB of short lines would stop a worker for half a second


def normalised(text: str) -> str:
    """The text with `\\n` for each kind of line break, at most two in a row. Spaces at the ends of lines go, and so do
    lines of spaces and invisible characters alone. Empty when the text has nothing visible. A text that is far too long
    for a post stays as it is."""
    if len(text) > LONGEST_NORMALISED:
        return text
    lines = (line.rstrip() if is_visible(line) else "" for line in text.splitlines())
    return _more_than_two.sub("\n\n", "\n".join(lines)).strip()


def cleaned(text: str) -> str:
    """A text that comes through no form, as the form of a post would take it."""
    return normalised(text.replace("\0", ""))


# ---- Forms


class PostField(TextField):
    """A post's text. Its line breaks are normalised before its characters are counted.

    A validator checks the length. With `max_length` the browser would cut pasted text without a word.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(LONGEST_POST, **kwargs)

    def to_python(self, value: Any) -> str:
        return normalised(super().to_python(value))


class PostIdField(forms.CharField):
    """The id of another post; None when the form names none."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=forms.HiddenInput)

    def clean(self, value: Any) -> int | None:
        text = super().clean(value)
        pid = parse_id(text)
        if text and pid is None:
            raise forms.ValidationError(TargetMissing.message)
        return pid


def _body(label: str | Promise) -> PostField:
    return PostField(
        label=label,
        help_text=format_lazy(_("Up to {number} characters"), number=LONGEST_POST),
        error_messages={"required": _("Write something first.")},
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": label, "dir": "auto"}),
    )


valid_token = RegexValidator(r"\A[A-Za-z0-9_-]{1,64}\Z")


class EditForm(forms.Form):
    longest = LONGEST_POST
    body = _body(_("Your post"))

    def __init__(self, typed: Mapping[str, Any] | None, post: Post, said: Iterable[Picture] = ()) -> None:
        """`said`: pictures with other descriptions; those that the post does not have are left out."""
        super().__init__(typed, initial={"body": post.body})
        alts = {one.digest: one.alt for one in said}
        self.pictures = tuple(one._replace(alt=alts.get(one.digest, one.alt)) for one in post.media.pictures)
        self.fields["body"].required = not self.pictures


class PostForm(forms.Form):
    longest = LONGEST_POST
    body = _body(_("What's new?"))
    # Each shown form has its own token; a second click sends the same token, and so gives the same post.
    token = forms.CharField(required=False, widget=forms.HiddenInput, validators=[valid_token])

    reply_to = PostIdField()
    quote = PostIdField()
    sensitive = forms.BooleanField(required=False)
    alone = forms.BooleanField(required=False)  # a button: without the posts that it answers and quotes

    def __init__(self, *args: Any, pictures: Sequence[Picture] = (), **kwargs: Any) -> None:
        """`pictures`: those that the post has by now, also those that were just uploaded."""
        super().__init__(*args, **kwargs)
        self.pictures = tuple(pictures)
        self.fields["body"].required = not pictures
        self.is_reply = bool(self["reply_to"].value())
        body = self.fields["body"]
        if self.is_reply:
            self.auto_id = "reply_%s"  # a page may have both kinds
            body.label, body.widget.attrs["placeholder"] = _("Your reply"), _("Write a reply")
        elif self["quote"].value():
            body.label, body.widget.attrs["placeholder"] = _("Your quote"), _("Say something about this post")

    @classmethod
    def of(cls, post: NewPost) -> Self:
        """The form with what was written before."""
        named = {"body": post.body, "reply_to": post.reply_to, "quote": post.quote, "sensitive": post.media.sensitive}
        return cls(initial=named, pictures=post.media.pictures)

    def clean_token(self) -> str:
        """The form's token; a new one for a client that sends none."""
        return self.cleaned_data["token"] or new_token()

    def clean(self) -> None:
        if self.cleaned_data.get("alone"):
            for name in ("reply_to", "quote"):
                self.errors.pop(name, None)
                self.cleaned_data[name] = None

    @property
    def new_post(self) -> NewPost:
        """What a valid form says."""
        body, reply_to, quote, sensitive = (
            self.cleaned_data[name] for name in ("body", "reply_to", "quote", "sensitive")
        )
        return NewPost(body, reply_to, quote, media=Media(self.pictures, sensitive and bool(self.pictures)))

    def refuse(self, why: TargetRefused) -> None:
        """Make the form invalid: the post that it names cannot be answered or quoted."""
        self.add_error("reply_to" if self.cleaned_data["reply_to"] else "quote", forms.ValidationError(why.message))


_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def new_token() -> str:
    """Like `secrets.token_urlsafe(12)`, which takes five calls more: 16 characters."""
    return binascii.b2a_base64(os.urandom(12), newline=False).translate(_URL_SAFE).decode()


# ---- The pictures of a form: `media` names those that were uploaded before, `picture` has new files. Each has an
# `alt`, first those of `media`. So a form without a script has them, too: its button `add` uploads what was chosen, and
# shows the form again with a field for each description; `remove` leaves one out.


def pictures_in(form: QueryDict) -> list[Picture]:
    """The uploaded pictures that a form names, each with its description; without the one that is removed. Their sizes
    are not known yet."""
    named = zip(form.getlist("media"), [*form.getlist("alt"), *[""] * MOST_PICTURES], strict=False)
    kept = {digest: alt for digest, alt in named if is_digest(digest) and digest != form.get("remove")}
    return [Picture(digest, alt=alt_of(alt)) for digest, alt in [*kept.items()][:MOST_PICTURES]]


def whole_alt(typed: str) -> str:
    """A typed description, of any length."""
    return cleaned(typed[:LONGEST_NORMALISED])


def alt_of(typed: str) -> str:
    """A typed description as it is stored; what is too long is cut: the fields of pages take no more."""
    return whole_alt(typed)[:LONGEST_ALT]


# ---- Drafts: a cookie keeps the text of a post that could not be published yet, and whose it is.
#
# The text is not put into a URL: 280 characters of some scripts are too long for one, and logs keep URLs.


DRAFT_COOKIE = f"{settings.COOKIE_PREFIX}draft"
DRAFT_LIVES = 3600  # seconds
NOBODY = "nobody"  # in the cookie, instead of a uid


@dataclass(frozen=True, slots=True)
class Draft:
    post: NewPost
    author: int | None  # uid; None: the form named nobody, so the draft belongs to the user who logs in next


def keep_draft(response: HttpResponse, draft: Draft) -> None:
    """Set the cookie, for the next page that shows the composer to its author. A text longer than a post is cut."""
    post = draft.post
    encoded = base64.urlsafe_b64encode(post.body[:LONGEST_POST].encode()).decode()
    parts = (draft.author or NOBODY, post.reply_to or "", post.quote or "", encoded)
    cookies.keep(response, DRAFT_COOKIE, ".".join(map(str, parts)), DRAFT_LIVES)


def kept_draft(request: HttpRequest, me: int | None, reply_to: int | None, quote: int | None) -> Draft | None:
    """The draft of the user `me` that waits for this composer: that of a reply, of a quote, or of neither. None without
    a cookie, and with one that cannot be decoded."""
    draft = _in_cookie(request)
    if draft is None or draft.author not in (None, me):
        return None
    return draft if (draft.post.reply_to, draft.post.quote) == (reply_to, quote) else None


def give_draft_to(request: HttpRequest, response: HttpResponse, uid: int) -> None:
    """After a login: a draft of nobody belongs to this user from now on."""
    draft = _in_cookie(request)
    if draft is not None and draft.author is None:
        keep_draft(response, Draft(draft.post, uid))


def forget_draft(
    request: HttpRequest, response: HttpResponse, me: int | None, reply_to: int | None, quote: int | None
) -> None:
    """Remove the draft that `kept_draft` would return. One of another composer, or of another user, stays."""
    if kept_draft(request, me, reply_to, quote) is not None:
        cookies.take_back(response, DRAFT_COOKIE)


def _in_cookie(request: HttpRequest) -> Draft | None:
    parts = request.COOKIES.get(DRAFT_COOKIE, "").split(".")
    if len(parts) != 4:
        return None
    author, reply_to, quote, encoded = parts
    try:
        body = base64.urlsafe_b64decode(encoded).decode()[:LONGEST_POST]
    except (binascii.Error, ValueError):
        return None
    uid = parse_id(author)
    if not body or (uid is None and author != NOBODY):
        return None
    return Draft(NewPost(body, parse_id(reply_to), parse_id(quote)), uid)


# ---- The composer as HTML.


PictureFields = Literal["here", "elsewhere"]  # the fields for pictures: they take as many bytes as a card

TO = {"": "", "@": "person", "#": "tag"}  # for whom a text is, by the sign with which it begins

COMPOSER, REPLY, QUOTE = (
    Fragment(
        "timeline/posts/_composer.html",
        shape={"to": tuple(TO.values()), "pictures": ("", *get_args(PictureFields))},
        constants={"form": PostForm(initial=named), "has_text": False, "chosen": NOTHING, "refused": ()},
    )
    for named in ({}, {"reply_to": 1}, {"quote": 1})  # any ids: only their words differ
)


def composer(
    request: HttpRequest,
    by: Rendering,
    *,
    reply_to: int | None = None,
    quote: int | None = None,
    begins: str = "",
    pictures: PictureFields = "elsewhere",
) -> Html:
    """The composer with the viewer's draft, if one waits; empty for a visitor and for a frozen user. `reply_to`,
    `quote`: the posts that the new one answers and quotes. `begins`: the text begins with this name or tag, such as
    `@bob`. `pictures`: where the fields for them are. Each has a token of its own: a second click sends the same token,
    and so gives the same post."""
    if not by.can_act:
        return NOTHING
    draft = kept_draft(request, by.me, reply_to, quote)
    if draft is not None:
        return composer_with(PostForm.of(draft.post), by)
    empty = REPLY if reply_to is not None else QUOTE if quote is not None else COMPOSER
    return empty.fill(
        by.language,
        quotes=quote is not None,
        pictures=pictures if settings.MEDIA_MEMORY else "",
        to=TO[begins[:1]],
        begins=begins,
        uid=by.me,
        token=new_token(),
        csrf_token=by.token,
        reply_to=reply_to or "",
        quote=quote or "",
    )


def composer_with(form: PostForm, by: Rendering, refused: Sequence[str] = ()) -> Html:
    """The composer with what was typed and its pictures, its errors, and what is wrong with pictures that are not
    among them. It is rendered now."""
    focus_first_error(form)
    context = {
        "form": form,
        "has_text": True,
        "uid": by.me,
        "token": form["token"].value() or new_token(),
        "csrf_token": by.token,
        "reply_to": form["reply_to"].value() or "",
        "quote": form["quote"].value() or "",
        "quotes": bool(form["quote"].value()),
        "pictures": "here" if settings.MEDIA_MEMORY else "",
        "chosen": picture_fields(form.pictures, by.language, is_new=True),
        "refused": refused,
        "to": "",
    }
    return render_to_string(COMPOSER.template, context)


# ---- The composer on a page of its own.


COMPOSE = Page("timeline/posts/compose.html", here="compose")


def compose_page(
    request: HttpRequest, by: Rendering, composer: Html, above: Sequence[Post], status: int = 200
) -> HttpResponse:
    """`composer`: from `composer` or `composer_with`. `above`: the posts that the new one answers and quotes."""
    return COMPOSE.response(
        request, by, status=status, has_above=bool(above), above=cards(above, by), composer=composer
    )
