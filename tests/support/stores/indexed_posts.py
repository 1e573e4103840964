"""Posts as the index of the search has them."""

from timeline.search.index import ask_posts, ask_ranges


def posts_under(store, term):
    """All posts under a term, of all ranges."""
    pipe = store.pipeline()
    ranges = ask_ranges(pipe)
    pipe.execute()
    found = [ask_posts(pipe, within, term) for within in ranges.value.below(2**53)]
    pipe.execute()
    return set().union(*(some.value for some in found))


def write_post(raw, pid, body, **fields):
    """Write the hash of a post of user 1."""
    raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": "1000000000", "body": body, **fields})
