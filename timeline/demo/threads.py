"""Who writes in the demo community, what, when, and in answer to what: single posts, threads, quotes and reposts."""

import random
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from timeline.demo.texts import DEMO_PERSONA, TALKED, DemoPhrase, Talk, Writer, persona, talks_of
from timeline.posts.entities import LONGEST_POST

OLDEST_POST = 300 * 86400  # seconds ago
LONGEST_THREAD = 9  # posts
SHARE_OF_THREADS, SHARE_OF_REPOSTED, SHARE_OF_QUOTED = 0.12, 0.05, 0.04  # of the posts that answer nothing
SHARE_OF_EDITED = 0.01  # of the posts that answer nothing
EDITED_AFTER = 600  # seconds
SHARE_OF_DELETED = 0.03  # of the answers that have an answer
LIKES = 1.3  # exponent of the power law that says how many posts have how many likes
LIKED_WITHIN = 2 * 86400  # seconds after the post
MENTIONS = 0.02  # share of the single posts
DEMO = 1  # uid of the demo user
# For so long before now, luck causes no notices for the demo user: `seeding.py` plans them.
DEMO_RESTS = 3600  # seconds


@dataclass(eq=False, slots=True)
class DemoPost:
    """A post, or a repost. `pid` and the texts come last, in the order of time."""

    author: int  # uid
    when: int  # unix seconds
    language: str = "en"
    answers: "DemoPost | None" = None
    quotes: "DemoPost | None" = None
    reposts: "DemoPost | None" = None
    is_question: bool = False
    is_deleted: bool = False
    is_planned: bool = False  # luck adds nothing to it
    likes: dict[int, int] = field(default_factory=dict)  # uid -> unix seconds
    mentions: tuple[int, ...] | None = None
    pid: int = 0
    text: str = ""
    first_text: str = ""  # of an edited post
    talk: Talk | None = None  # of a question
    given: list[DemoPhrase] = field(default_factory=list)  # the kinds of answers to a question

    @property
    def above(self) -> list["DemoPost"]:
        """What it answers, nearest first."""
        return [self.answers, *self.answers.above] if self.answers else []


@dataclass(frozen=True)
class DemoPeople:
    """Who may write."""

    names: Sequence[str]  # of the uids from 1
    joined: Sequence[int]  # unix seconds, of the uids from 1, growing
    weights: Sequence[float]  # cumulative: how much each one writes

    def registered(self, when: int) -> int:
        """How many users there were."""
        return bisect_right(self.joined, when)


class Stream:
    """All posts of a community."""

    def __init__(self, people: DemoPeople, now: int, rng: random.Random) -> None:
        self._people = people
        self._now = now
        self._rng = rng
        self._uids = range(1, len(people.names) + 1)
        self._personas = [DEMO_PERSONA, *(persona(rng) for _ in self._uids[1:])]
        self._speakers: dict[str, list[int]] = {}
        for uid, who in zip(self._uids, self._personas, strict=True):
            for language in who.languages:
                self._speakers.setdefault(language, []).append(uid)

    def drafts(self, count: int, first: Sequence[DemoPost]) -> list[DemoPost]:
        """`count` posts, numbered from 1 in the order of time, with their texts: `first`, and what luck adds."""
        found = list(first)
        while len(found) < count:
            found += self._some()
        del found[count:]  # an answer stands behind what it answers, so nothing that stays is torn off
        found.sort(key=lambda draft: draft.when)
        for pid, draft in enumerate(found, 1):
            draft.pid = pid
        self._decide_fates(found)
        self._write(found)
        return found

    def answered_by(self, first: DemoPost, answers: int) -> list[DemoPost]:
        """A thread below a post: answers of others, and what its author and they say to each other."""
        thread: list[DemoPost] = []
        open_ends: list[DemoPost] = []  # an answer to each of them fits
        when = first.when
        for _ in range(answers):
            when += int(self._rng.expovariate(1 / 1200)) + 20
            other = self._speaker(first, when)
            if when > self._ends(first.author) or not other:
                break
            if open_ends and self._rng.random() < 0.45:
                parent = open_ends.pop(self._rng.randrange(len(open_ends)))
                author = first.author if parent.author != first.author else parent.above[0].author
            else:
                parent, author = first, other
            draft = DemoPost(author, when, first.language, answers=parent)
            if len(draft.above) < 3:
                open_ends.append(draft)
            thread.append(draft)
        return thread

    def _some(self) -> list[DemoPost]:
        """A post, with what follows it."""
        when = int(self._now - self._rng.random() ** 1.5 * OLDEST_POST)
        author = self._author(when)
        post = DemoPost(author, when, self._language(author))
        luck = self._rng.random()
        if luck < SHARE_OF_THREADS and post.language in TALKED:
            post.is_question = True
            answers = self._rng.choices(range(1, LONGEST_THREAD), [8, 7, 6, 5, 4, 3, 2, 2])[0]
            return [post, *self.answered_by(post, answers)]
        if luck > 1 - SHARE_OF_REPOSTED:
            return [post, *self._reposts(post)]
        if luck > 1 - SHARE_OF_REPOSTED - SHARE_OF_QUOTED:
            later = self._later(post)
            return [post, DemoPost(self._author(later), later, post.language, quotes=post)]
        return [post]

    def _speaker(self, first: DemoPost, when: int) -> int | None:
        """Somebody else who may answer a post; None where nobody is found."""
        speakers = self._speakers.get(first.language, [])
        known = bisect_right(speakers, self._people.registered(when))
        for _ in range(9 if known else 0):
            uid = speakers[self._rng.randrange(known)]
            if uid != first.author and (uid != DEMO or first.when < self._now - 86400):
                return uid
        return None

    def _author(self, when: int) -> int:
        """Somebody who was registered by then."""
        author = self._rng.choices(self._uids, cum_weights=self._people.weights)[0]
        known = self._people.registered(when)
        if author == DEMO and when > self._now - 2 * DEMO_RESTS:
            author = known + 1
        return author if author <= known else self._rng.randint(min(DEMO + 1, known), known)

    def _language(self, uid: int) -> str:
        languages = self._personas[uid - 1].languages
        return languages[self._rng.random() < 0.3 and len(languages) > 1]

    def _ends(self, author: int) -> int:
        """Until when luck acts on the posts of somebody."""
        return self._now - DEMO_RESTS if author == DEMO else self._now

    def _later(self, post: DemoPost) -> int:
        """Some time after a post."""
        later = post.when + 60 + int(self._rng.random() ** 3 * LIKED_WITHIN)
        return max(post.when, min(self._ends(post.author), later))

    def _reposts(self, post: DemoPost) -> list[DemoPost]:
        known = [uid for uid in self._some_of(post.when, self._rng.randint(1, 3)) if uid != post.author]
        return [DemoPost(uid, self._later(post), reposts=post) for uid in known]

    def _some_of(self, when: int, count: int) -> list[int]:
        """Up to `count` different users who were registered by then."""
        known = self._people.registered(when)
        return self._rng.sample(range(1, known + 1), min(known, count))

    def _decide_fates(self, drafts: list[DemoPost]) -> None:
        """Who likes what, and what is edited, mentions somebody, or is deleted."""
        answered = {draft.answers for draft in drafts if draft.answers}
        named = {other for draft in drafts for other in (draft.quotes, draft.reposts) if other}
        for draft in drafts:
            if draft.reposts or draft.is_planned:
                continue
            luck = self._rng.random()
            if draft in answered and draft.answers and draft not in named and luck < SHARE_OF_DELETED:
                draft.is_deleted = True
                continue
            if not draft.is_question and not draft.answers and luck < MENTIONS and draft.author > DEMO + 1:
                draft.mentions = (self._rng.randint(DEMO + 1, draft.author - 1),)
            count = int(self._rng.paretovariate(LIKES)) - 1
            for uid in self._some_of(draft.when, count) if count else ():
                if uid != draft.author:
                    draft.likes[uid] = self._later(draft)

    def _write(self, drafts: list[DemoPost]) -> None:
        """The texts, in the order of time."""
        writer = Writer(self._rng)
        for draft in drafts:
            if draft.reposts:
                continue
            draft.text = writer.noted(draft.text) if draft.text else self._text(writer, draft)
            if draft.mentions and not draft.is_planned:
                self._mention(draft, self._people.names[draft.mentions[0] - 1])
            elif self._may_be_edited(draft) and self._rng.random() < SHARE_OF_EDITED:
                edited = writer.longer(draft.text, draft.language)
                if edited != draft.text:
                    draft.first_text, draft.text = draft.text, edited

    def _may_be_edited(self, draft: DemoPost) -> bool:
        return not (draft.answers or draft.quotes) and draft.when < self._now - EDITED_AFTER

    def _text(self, writer: Writer, draft: DemoPost) -> str:
        who = self._personas[draft.author - 1]
        above = draft.above
        if draft.quotes:
            return writer.comment(draft.language)
        if draft.is_question:
            draft.talk, text = writer.question(talks_of(who, draft.language))
            return text
        talk = above[-1].talk if above else None
        if talk is None:
            return writer.post(who, draft.language, draft.when)
        if len(above) == 1:
            return writer.answer(talk, above[0].given)
        return writer.thanks(talk) if len(above) == 2 else writer.reply_to_thanks(talk)

    def _mention(self, draft: DemoPost, name: str) -> None:
        """Name somebody at the end of a post, where that fits."""
        text = f"{draft.text} (@{name})"
        if len(text) <= LONGEST_POST:
            draft.text = text
        else:
            draft.mentions = None
