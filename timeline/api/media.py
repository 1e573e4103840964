"""Pictures that an app uploads before the post that shows them.

What the app says of one is kept apart until then, for a day: the picture itself may be another person's, too."""

from collections.abc import Sequence

from accounts.media.decoding import Shape
from accounts.media.repository import PictureGone, Pictures
from retwis_site.http.apps import Invalid, SentTexts
from retwis_site.store import keys
from retwis_site.store.client import answers, connect
from retwis_site.store.ids import is_digest
from timeline.api.calls import Call, Endpoint
from timeline.api.entities import attachment_of
from timeline.posts.composer import whole_alt
from timeline.posts.entities import LONGEST_ALT, MOST_PICTURES, NoSuchPost, Picture, is_focus
from timeline.posts.pictures import with_stored


def upload(call: Call) -> object:
    """It is decoded when it is answered, so apps need not ask again. What was said of the same picture before does not
    count. Round trips of `Pictures.upload`, and three. Raises Invalid."""
    me, file = call.viewer.require_user(), call.sent.files.get("file")
    if file is None:
        raise Invalid("File can't be blank")
    focus, alt = _focus(call.sent), alt_sent(call.sent.text("description") or "")
    digest = Pictures(connect()).upload(me.uid, file.read(), Shape.POST).digest
    _keep_draft(me.uid, Picture(digest, alt=alt, focus=focus))
    return attachment_of(call.origin, _found(me.uid, digest))


def show(call: Call) -> object:
    """Two round trips. Raises NoSuchPost for what this user has not uploaded."""
    return attachment_of(call.origin, _found(call.viewer.require_user().uid, call.named["id"]))


def edit(call: Call) -> object:
    """What is not sent stays. Six round trips. Raises NoSuchPost, also for a picture that a post shows by now: an edit
    of the post describes it. Raises Invalid."""
    me, digest = call.viewer.require_user(), call.named["id"]
    picture = _found(me.uid, digest)
    if not Pictures(connect()).is_waiting(me.uid, digest):
        raise NoSuchPost(digest)
    if "focus" in call.sent:
        picture = picture._replace(focus=_focus(call.sent))
    if (said := call.sent.text("description")) is not None:
        picture = picture._replace(alt=alt_sent(said))
    _keep_draft(me.uid, picture)
    return attachment_of(call.origin, _found(me.uid, digest))


def pictures_of(uid: int, digests: list[str]) -> list[Picture]:
    """What a user has uploaded, with what the app has said of it. Two round trips; none without any. Raises Invalid."""
    if not digests:
        return []
    if len(digests) > MOST_PICTURES:
        raise Invalid(f"There are too many attachments: at most {MOST_PICTURES}")
    if not all(map(is_digest, digests)):
        raise Invalid(str(PictureGone.message))
    said = answers(connect(), lambda pipe, digest: pipe.get(keys.media_draft(uid, digest)), digests)
    found = Pictures(connect()).of_user(uid, digests)
    if len(found) < len(said):
        raise Invalid(str(PictureGone.message))
    pictures = []
    for digest, stored in said.items():
        focus, _, alt = (stored or " ").partition(" ")
        picture = Picture(digest, alt=alt, focus=focus if is_focus(focus) else "")
        pictures.append(with_stored(picture, found[digest]))
    return pictures


def keep_for_redraft(uid: int, pictures: Sequence[Picture]) -> None:
    """Let the pictures of a status that is about to be deleted stay for a day, with what is said of them: apps delete
    one to write it anew. Two round trips for each picture, and one; none without any."""
    Pictures(connect()).keep_for_a_day(uid, [picture.digest for picture in pictures])
    for picture in pictures:
        _keep_draft(uid, picture)


def alt_sent(text: str) -> str:
    """A description that an app sends. Raises Invalid: an app does not show what was cut."""
    alt = whole_alt(text)
    if len(alt) > LONGEST_ALT:
        raise Invalid(f"Description is too long (maximum is {LONGEST_ALT} characters)")
    return alt


def _keep_draft(uid: int, picture: Picture) -> None:
    """One round trip."""
    connect().set_ex(keys.media_draft(uid, picture.digest), f"{picture.focus} {picture.alt}", keys.media_draft.lives)


def _focus(sent: SentTexts) -> str:
    """As `Picture.focus`. Raises Invalid."""
    try:
        numbers = [round(float(part), 4) for part in (sent.text("focus") or "").split(",", maxsplit=2) if part]
    except ValueError as error:
        raise Invalid("Focus is no pair of numbers") from error
    text = ",".join(f"{number:g}" for number in numbers)
    if not is_focus(text):
        raise Invalid("Focus is no pair of numbers from -1 to 1")
    return text


def _found(uid: int, digest: str) -> Picture:
    """Two round trips. Raises NoSuchPost."""
    try:
        [picture] = pictures_of(uid, [digest])
    except Invalid as error:
        raise NoSuchPost(digest) from error
    return picture


ENDPOINTS = (
    Endpoint("POST", "/api/v1/media", upload, "write:media"),
    Endpoint("POST", "/api/v2/media", upload, "write:media"),
    Endpoint("GET", "/api/v1/media/:id", show, "write:media"),
    Endpoint("PUT", "/api/v1/media/:id", edit, "write:media"),
)
