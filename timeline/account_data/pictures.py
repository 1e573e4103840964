"""The pictures of a download, brought back: each is decoded like an upload, since the file may have been changed."""

from collections import Counter
from collections.abc import Callable

from accounts.media.decoding import PictureRefused, Shape
from accounts.media.profiles import Kind, ProfilePictures
from accounts.media.repository import ANIMATED, Pictures
from retwis_site.features import Line
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import is_digest
from timeline.account_data.restoring import OldPost
from timeline.posts.entities import Picture
from timeline.posts.forms import alt_of

REFUSED = "pictures were left out: they are not in the file, cannot be read, or find no room."
WITHOUT = "posts were left out: they had pictures alone, which were left out."


class RestoredPictures:
    """The pictures of one download. `file_of`: the content of a picture in it, by its digest there; None without it."""

    def __init__(self, store: Store, uid: int, file_of: Callable[[str], bytes | None]) -> None:
        self._store = store
        self._uid = uid
        self._file_of = file_of
        self._here: dict[str, Picture | None] = {}  # those of posts, by their digests in the file
        self.left_out: Counter[str] = Counter()  # by sentence

    def of_post(self, post: OldPost) -> OldPost | None:
        """The post with its pictures as this site has them; None when nothing of it is left. Round trips of
        `Pictures.take` for each picture that is met first."""
        if not post.media.pictures:
            return post
        pictures = tuple(one for old in post.media.pictures if (one := self._of_post(old)) is not None)
        if not pictures and not post.body:
            self.left_out[WITHOUT] += 1
            return None
        return post._replace(media=post.media._replace(pictures=pictures))

    def _of_post(self, old: Picture) -> Picture | None:
        if old.digest not in self._here:
            self._here[old.digest] = self._taken(old.digest, Shape.POST)
        here = self._here[old.digest]
        return here._replace(alt=alt_of(old.alt), focus=old.focus) if here is not None else None

    def to_profile(self, account: Line) -> None:
        """The profile picture and the header, where the account has none. Round trips of `Pictures.take` and of
        `ProfilePictures.choose` for each, and one."""
        stored = self._store.hmget(keys.user(self._uid), [*Kind])
        for kind, present in zip(Kind, stored, strict=True):
            named = account.get(kind, "")
            if not present and is_digest(named):
                taken = self._taken(named, kind.shape)
                if taken is not None:
                    ProfilePictures(self._store).choose(self._uid, kind, taken.digest)

    def _taken(self, digest: str, shape: Shape) -> Picture | None:
        content = self._file_of(digest)
        try:
            new = Pictures(self._store).take(self._uid, content, shape) if content else None
        except PictureRefused:
            new = None
        if new is None:
            self.left_out[REFUSED] += 1
            return None
        moving = ANIMATED if ANIMATED in new.files else ""
        return Picture(new.digest, new.width, new.height, blurhash=new.blurhash, moving=moving)
