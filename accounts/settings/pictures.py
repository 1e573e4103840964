"""The part of a form with one's picture and header: files are uploaded, kept while the form has errors, and chosen."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from accounts.media.decoding import PictureRefused
from accounts.media.profiles import Kind, ProfilePictures
from accounts.media.repository import PictureGone, Pictures
from accounts.users.entities import User
from accounts.users.html import header_address, portrait
from retwis_site.rendering.fragments import Html
from retwis_site.store.client import connect
from retwis_site.store.ids import is_digest

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


class PictureForm(forms.Form):
    """A form with a profile picture. `kinds`: a form may have a header, too."""

    kinds: tuple[Kind, ...] = (Kind.PICTURE,)

    picture = file_field(_("Picture"), _("The middle of it is shown, as a square."))
    remove_picture = forms.BooleanField(required=False, label=_("Remove the picture"))

    def upload(self, me: User, files: Mapping[str, Any]) -> None:
        """Store the files of a form that was sent. A refused file becomes an error of the form. Files are stored when
        the form has other errors, too: then `uploaded_picture` has them when it is sent again. Round trips of
        `Pictures.upload` for each; one for each that was uploaded before. Raises TooOften."""
        self.uploaded = dict[Kind, str]()
        for kind in self.kinds:
            try:
                digest = self._uploaded(me, kind, files.get(kind))
            except PictureRefused as why:
                self.add_error(kind, str(why))
            else:
                self.uploaded |= {kind: digest} if digest else {}

    def _uploaded(self, me: User, kind: Kind, file: object) -> str:
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
            is_known = bool(is_digest(digest))
            found.append(
                PictureRow(
                    field=self[kind],
                    takes_files=settings.MEDIA_MEMORY > 0,
                    picture=portrait(me._replace(picture=digest if is_known else "")) if kind is Kind.PICTURE else "",
                    header=header_address(digest) if kind is Kind.HEADER and is_known else "",
                    uploaded=new,
                    remove=self[f"{REMOVE}{kind}"] if is_known and not new else None,
                )
            )
        return [row for row in found if row.takes_files or row.remove]
