"""The form of the settings of notices."""

from django import forms
from django.utils.translation import gettext_lazy as _

from timeline.notices.entities import Kind

LABELS = {
    Kind.FOLLOW: _("Someone follows you"),
    Kind.LIKE: _("Someone likes your post"),
    Kind.REPOST: _("Someone reposts your post"),
    Kind.REPLY: _("Someone replies to you"),
    Kind.QUOTE: _("Someone quotes your post"),
    Kind.MENTION: _("Someone mentions you"),
}


def _box(kind: Kind) -> forms.BooleanField:
    return forms.BooleanField(label=LABELS[kind], required=False)


class KindsForm(forms.Form):
    """The kinds of notices that a user gets: a box for each, so that an error page keeps them all."""

    follow = _box(Kind.FOLLOW)
    like = _box(Kind.LIKE)
    repost = _box(Kind.REPOST)
    reply = _box(Kind.REPLY)
    quote = _box(Kind.QUOTE)
    mention = _box(Kind.MENTION)
