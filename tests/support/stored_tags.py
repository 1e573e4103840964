"""Tags that are written directly into their keys."""

from timeline.posts.parsing.tags import folded, in_index


def write_tag(raw, spelling, pids):
    """Give posts a tag, without changing their texts."""
    name = folded(spelling)
    raw.hsetnx("tags", name, spelling)
    raw.zadd("tags_by_name", {in_index(name): 0})
    for pid in pids:
        raw.zadd(f"tag:{name}", {pid: pid})
