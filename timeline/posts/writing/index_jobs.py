"""A new or changed post is left to a worker, which writes it into the index of the search."""

import time

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import nonce


def leave(pipe: Pipe, pid: int) -> None:
    """Leave the job `index:<pid>:<nonce>` to a worker, due at once. It stands in the same key as the other jobs of the
    post. Each job has a name of its own: a worker that has read the text before an edit does not remove the job of this
    edit."""
    job = f"index:{pid}:{nonce()}"
    pipe.zadd(keys.outbox(job), {job: int(time.time())})
