"""Whom and what a new account may follow: tags and people, which the page offers; and following what was chosen."""

from collections.abc import Sequence
from typing import NamedTuple

from django.conf import settings

from accounts.users.repository import ask_owners, ask_people
from retwis_site.store.chunks import answer, answers
from retwis_site.store.client import Store
from timeline.explore.exploring import Explore
from timeline.people.lists import Suggested
from timeline.people.suggestions import Suggestions
from timeline.relations.relations import Follows, TagFollows, ask_blocked, ask_follows_tag
from timeline.tags.tags import MOST_FOLLOWED, NoSuchTag, Tag, chosen_tag

OFFERED = 5  # tags, and people


class Offer(NamedTuple):
    tags: list[Tag]  # of the week; none on a site without explore
    people: list[Suggested]


def offered_to(store: Store, me: int) -> Offer:
    """At most OFFERED tags and people that `me` does not follow. One round trip with tags, and those of
    `Explore.tags` and `Suggestions.for_user`."""
    tags = [one.tag for one in Explore(store).tags()] if settings.EXPLORE else []
    follows = answers(store, lambda pipe, tag: ask_follows_tag(pipe, me, tag.folded), tags)
    return Offer([tag for tag in tags if not follows[tag]][:OFFERED], Suggestions(store).for_user(me, OFFERED))


def follow_people(store: Store, me: int, names: Sequence[str]) -> None:
    """Let `me` follow the people with these usernames, without those who have gone or with a block between them. Three
    round trips, and those of `Follows.follow` for each; none without a name."""
    if not names:
        return
    uids = answer(store, ask_owners, names)
    people = answer(store, ask_people, set(uids.values()) - {me})
    blocked = answer(store, ask_blocked, me, list(people))
    for uid in people.keys() - blocked:
        Follows(store).follow(me, uid)


def follow_tags(store: Store, me: int, tags: Sequence[str]) -> None:
    """Let `me` follow these folded tags, without those that no post ever had, up to MOST_FOLLOWED. One round trip for
    each, and those of `TagFollows.follow`."""
    for tag in tags:
        try:
            found = chosen_tag(store, me, tag)
        except NoSuchTag:
            continue
        if not found.tag.following and found.number < MOST_FOLLOWED:
            TagFollows(store).follow(me, tag)
