"""What somebody finds who logs in as the demo user: a thread with answers, and news from the last minutes."""

from collections.abc import Sequence

from timeline.demo.threads import DEMO, Draft, People

NOTICED = 20 * 60  # seconds ago: the demo user has read the notices
NEWS = 7  # notices after that
FEWEST_USERS, FEWEST_POSTS = 12, 60  # of a community that has a showcase
FOLLOWED = 9 * 60  # seconds ago: the newest follow of the demo user
BOOKMARKS = 8


def has_showcase(users: int, posts: int) -> bool:
    """Whether a community is large enough."""
    return users >= FEWEST_USERS and posts >= FEWEST_POSTS


def showcase(people: People, now: int) -> list[Draft]:
    """The posts of the showcase, each behind what it names. With the newest follow they cause NEWS notices."""

    def ago(minutes: int) -> int:
        return now - minutes * 60

    one, two, three, four, five, six = range(DEMO + 1, DEMO + 7)
    question = Draft(DEMO, ago(50), is_question=True, likes={four: ago(18), five: ago(15), six: ago(40)})
    answer = Draft(one, ago(43), answers=question, likes={DEMO: ago(36)})
    thanks = Draft(DEMO, ago(36), answers=answer)
    goes = Draft(two, ago(34), answers=question, is_deleted=True)
    drafts = [
        question,
        answer,
        thanks,
        Draft(one, ago(31), answers=thanks),
        goes,
        Draft(DEMO, ago(28), answers=goes),
        Draft(three, ago(12), answers=question),
        Draft(four, ago(7), reposts=question),
        Draft(five, ago(5), quotes=question),
        Draft(
            six,
            ago(3),
            text=f"Seeds to give away:\n- two kinds of tomatoes\n- beans\n- basil\n\n@{people.names[0]}, you asked?",
            mentions=(DEMO,),
        ),
    ]
    for draft in drafts:
        draft.is_planned = True
    return drafts


def bookmarked(drafts: Sequence[Draft]) -> list[Draft]:
    """The posts that the demo user has bookmarked: the last ones of others that many like."""
    others = [draft for draft in drafts if draft.author != DEMO and not draft.is_deleted and not draft.reposts]
    return sorted(others[-20 * BOOKMARKS :], key=lambda draft: -len(draft.likes))[:BOOKMARKS]
