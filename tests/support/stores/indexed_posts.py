"""Posts as the index of the search has them."""

from retwis_site.store.client import answer, answers
from timeline.search.index import ask_posts, ask_ranges


def posts_under(store, term):
    """All posts under a term, of all ranges."""
    ranges = answer(store, ask_ranges).below(2**53)
    return set().union(*answers(store, lambda pipe, within: ask_posts(pipe, within, term), ranges).values())


def write_post(raw, pid, body, **fields):
    """Write the hash of a post of user 1."""
    raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": "1000000000", "body": body, **fields})
