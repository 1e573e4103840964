"""What the settings page shows of the viewer's own profile."""

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe


def profile_of(viewer: Viewer) -> tuple[User, str]:
    """The signed-in user and the bio. Round trips as for `Viewer.ask`. Raises NotSignedIn."""

    def ask(pipe: Pipe, me: int) -> None:
        pipe.hget(keys.user(me), "bio")

    me, [bio] = viewer.ask_as_user(ask)
    return me, bio or ""
