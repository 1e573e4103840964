"""What the settings page shows of the viewer's own profile."""

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe


class OwnBio:
    """The viewer's bio; empty when there is none."""

    def queue(self, pipe: Pipe, me: int) -> None:
        self._bio = pipe.hget(keys.user(me), "bio")

    def result(self) -> str:
        return self._bio.value or ""


def profile_of(viewer: Viewer) -> tuple[User, str]:
    """The signed-in user and the bio. Round trips as for `Viewer.ask`. Raises NotSignedIn."""
    return viewer.ask_as_user(OwnBio)
