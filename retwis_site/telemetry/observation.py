"""What the site knows of a request once it has answered it, and who is told."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from retwis_site.store.connection.recorder import Watch

# Why an answer is a 503: the store fails, or takes no changes; the queue of the view is full; the address has too many
# requests that wait for their turn.
Failure = Literal["store", "read-only", "queue", "busy"]
FAILURE = "retwis.failure"  # in a WSGI environment: the Failure, if there was one
BEGAN = "retwis.began"  # in a WSGI environment: seconds of time.perf_counter when the server had the whole request


class Observation(NamedTuple):
    """One request and its answer. Only names of routes, no addresses of pages: these may have secrets in them."""

    method: str  # as the client sent it
    route: str  # the name of the address in urls.py, such as `home`; empty for a static file and an unknown address
    status: int
    size: int  # bytes of the answer's body
    seconds: float
    round_trips: int
    seconds_in_store: float
    request_id: str
    address: str  # as `client_address`
    uid: int | None  # of the signed-in user; None when the page did not ask who it is
    failure: Failure | None  # of a 503
    recorded: Watch  # what was sent to the store


Observer = Callable[[Observation], None]
