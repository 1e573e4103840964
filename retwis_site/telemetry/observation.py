"""What the site knows of a request once it has answered it, and who is told."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from retwis_site.store.connection.recorder import Watch
from retwis_site.telemetry.log_lines import bounded

# Why an answer is a 503: the store fails, or takes no changes; or the queue of the view is full.
Failure = Literal["store", "read-only", "queue"]
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

    def fields(self) -> dict[str, str | int | float | None]:
        """What a line of the log has as fields of JSON. Times are in milliseconds."""
        return {
            "method": bounded(self.method),
            "route": self.route or "-",
            "status": self.status,
            "bytes": self.size,
            "ms": round(self.seconds * 1000, 1),
            "round_trips": self.round_trips,
            "store_ms": round(self.seconds_in_store * 1000, 1),
            "address": self.address,
            "uid": self.uid,
            "cause": self.failure,
        }


Observer = Callable[[Observation], None]
