"""What a repository may raise. `errors.py` says which page each becomes."""


class NotFound(Exception):
    """There is no such user or post, and never was under this name."""


class Gone(Exception):
    """It was here and has been deleted."""


class BadCursor(Exception):
    """A `?before=` that no page of this site has ever handed out."""


class StoreError(Exception):
    """The store did not answer, or refused: nothing is known, so nothing may be concluded from it."""


class StoreReadOnly(StoreError):
    """The store answers reads but takes no write: a replica, out of memory, or a disk that fails."""
