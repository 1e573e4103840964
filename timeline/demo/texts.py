"""Texts of the demo community: names and bios, and what a persona writes: posts and talks.

All are drawn from the `random.Random` of the caller, so the same seed gives the same texts. `phrases.toml` has the
words and phrases.
"""

import math
import random
import re
import tomllib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from accounts.users.names import LONGEST_BIO
from timeline.posts.entities import LONGEST_POST

# ---- The grammar of the demo community's texts.
#
# ` ~ ` separates phrases, `{a|b}` is a choice inside a phrase, and ` ¶ ` is a line break.


DemoPhrase = tuple[tuple[str, ...], ...]  # the options of each slot, in order; fixed text is a single option
Phrases = tuple[DemoPhrase, ...]


def phrases(text: str) -> Phrases:
    """The phrases of a text in this grammar. Line ends of the source count as spaces."""
    return tuple(
        tuple(tuple(slot.split("|")) for slot in re.split("[{}]", phrase) if slot)
        for phrase in " ".join(text.split()).replace(" ¶ ", "\n").split(" ~ ")
        if phrase
    )


def say(phrase: DemoPhrase, rng: random.Random) -> str:
    """The phrase with a choice made in each slot."""
    draw = rng.random
    return "".join([slot[int(draw() * len(slot))] for slot in phrase])


_ends = re.compile(r"[.!?…؟।]+\s+|。|\n\n")
_left_out = re.compile(r"\s*[@#]\w+")


def sentences(text: str) -> set[str]:
    """The sentences of a text, in lower case and without their ends, tags and names. A lone emoji counts as one."""
    if "#" in text or "@" in text:
        text = _left_out.sub("", text)
    return {part.strip(" .!?…؟।\n") for part in _ends.split(text.lower())} - {""}


# ---- What a persona writes


FRESH_WITHIN = 50  # posts: none of them has a sentence of another one
WEEK = 7 * 86400  # seconds
_TRIES = 30
_SHARE_OF_SHORT = 0.03
_SHARE_OF_TAGGED = 0.06  # of the posts of a week


class Scene(NamedTuple):
    """What a post of a topic is made of."""

    statements: Phrases
    follow_ups: Phrases
    endings: Phrases
    emoji: Phrases
    links: Phrases
    hashtags: Phrases


class Talk(NamedTuple):
    """A question, and what fits as an answer."""

    language: str
    hashtag: str  # of its topic
    questions: Phrases
    answers: Phrases


@dataclass(frozen=True)
class Persona:
    """Who writes: one or two languages, the first one more often, and two or three topics of `TOPICS`."""

    languages: tuple[str, ...]
    topics: tuple[int, ...]


def _scenes(topics: Sequence[dict[str, str]]) -> tuple[Scene, ...]:
    scenes: list[Scene] = []
    for topic in topics:
        hashtag, articles = topic["hashtag"], topic["articles"]
        links = (
            phrases(_FILE["frames"]["links"].replace("TAG", hashtag[1:]).replace("ARTICLES", articles))
            if articles
            else ()
        )
        remarks, *bodies = re.split(r"^ *\* ", topic["text"], flags=re.MULTILINE)
        for body in bodies:
            statements, follow_ups, endings = (phrases(part) for part in (*body.split("//"), "", "")[:3])
            endings += phrases(remarks)
            ways = sum(math.prod(map(len, phrase)) for phrase in statements) * (len(follow_ups + endings) + 1)
            scene = Scene(statements, follow_ups, endings, phrases(topic["emoji"]), links, phrases(hashtag))
            scenes += [scene] * max(1, ways.bit_length() - 4)  # a scene with more variants is drawn more often
    return tuple(scenes)


_FILE = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8"))
_OPENERS, _CLOSERS = (phrases(_FILE["frames"][name]) for name in ("openers", "closers"))
_ENGLISH = _FILE["topics"].pop("en")
TOPICS = tuple(_scenes((topic,)) for topic in _ENGLISH)
_SCENES = {language: _scenes(topics) for language, topics in _FILE["topics"].items()}
_SHORT = _scenes(_FILE["short"])
# How many speakers the languages have, beside English.
_SPOKEN = {language: 4 if language in {"de", "ar"} else 1 for language in _SCENES}
_HASHTAGS = [topic["hashtag"] for topic in _ENGLISH]
_TALKS = [
    Talk(language, talk["hashtag"], *(phrases(part) for part in talk["text"].split("//")))
    for language, talks in _FILE["talks"].items()
    for talk in talks
]
_THANKS, _REPLIES, _COMMENTS, _ADDITIONS = (
    {language: phrases(text) for language, text in _FILE[name].items()}
    for name in ("thanks", "replies_to_thanks", "comments", "additions")
)
TAGS_OF_THE_WEEK = _FILE["tags_of_the_week"]
DEMO_PERSONA = Persona(("en",), tuple(_HASHTAGS.index(topic) for topic in ("#tea", "#gardening", "#trains")))
TALKED = frozenset(talk.language for talk in _TALKS)  # the languages that have talks


def persona(rng: random.Random) -> Persona:
    """A persona: most write English, some of them another language too, and a few only that one."""
    topics = tuple(rng.sample(range(len(TOPICS)), rng.choice((2, 2, 3))))
    luck = rng.random()
    if luck < 0.77:
        return Persona(("en",), topics)
    other = rng.choices([*_SPOKEN], [*_SPOKEN.values()])[0]
    return Persona((other,), topics) if luck < 0.83 else Persona(("en", other), topics)


def talks_of(who: Persona, language: str) -> list[Talk]:
    """The talks that this persona may begin in a language: those of the own topics, or all where there are none."""
    own = {_HASHTAGS[topic] for topic in who.topics}
    spoken = [talk for talk in _TALKS if talk.language == language]
    return [talk for talk in spoken if talk.hashtag in own] or spoken


class Writer:
    """Writes posts one after the other. No sentence stands twice within FRESH_WITHIN posts."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._window: deque[set[str]] = deque()
        self._used: set[str] = set()

    def post(self, who: Persona, language: str, when: int) -> str:
        """The text of a post that answers nothing: 1 to LONGEST_POST characters, without `@`."""
        for _ in range(_TRIES):
            scene = self._rng.choice(self._scenes(who, language))
            statement = say(self._rng.choice(scene.statements), self._rng)
            if self._is_fresh(statement):
                return self._finished(self._parts(scene, statement, language == "en"), scene, when)
        # This persona has said all: another topic.
        return self.noted(self._drawn(*(scene.statements for topic in self._rng.sample(TOPICS, 8) for scene in topic)))

    def question(self, talks: list[Talk]) -> tuple[Talk, str]:
        """The first post of a thread, and its talk."""
        others = [talk for talk in _TALKS if talk.language == talks[0].language]
        for talk in (*self._rng.sample(talks, len(talks)), *self._rng.sample(others, len(others))):
            text = self._drawn(talk.questions)
            if self._is_fresh(text):
                break
        tagged = f"{text} {talk.hashtag}" if self._rng.random() < 0.3 else text
        return talk, self.noted(tagged)

    def answer(self, talk: Talk, given: list[DemoPhrase]) -> str:
        """An answer to the question of a talk, as unlike those `given` before as can be; it is added to them."""
        rest = tuple(answer for answer in talk.answers if answer not in given) or talk.answers
        chosen = self._rng.choice(rest)
        given.append(chosen)
        return self.noted(self._drawn((chosen,), rest, talk.answers, _COMMENTS[talk.language]))

    def thanks(self, talk: Talk) -> str:
        """What the asker says to an answer."""
        return self.noted(self._drawn(_THANKS[talk.language], _COMMENTS[talk.language]))

    def reply_to_thanks(self, talk: Talk) -> str:
        """What the one who answered says then."""
        return self.noted(self._drawn(_REPLIES[talk.language], _COMMENTS[talk.language]))

    def comment(self, language: str) -> str:
        """What goes with a quoted post."""
        return self.noted(self._drawn(_COMMENTS.get(language, _COMMENTS["en"]), _COMMENTS["en"]))

    def longer(self, text: str, language: str) -> str:
        """The new text of the post that was written last, edited; the same one where nothing more fits."""
        addition = self._drawn(_ADDITIONS.get(language, _ADDITIONS["en"]))
        edited = f"{text}\n\n{addition}"
        if len(edited) > LONGEST_POST or not self._is_fresh(addition):
            return text
        self._window[-1] |= sentences(addition)
        self._used |= sentences(addition)
        return edited

    def noted(self, text: str) -> str:
        """The text; its sentences are not fresh for the next posts."""
        said = sentences(text) - self._used
        self._window.append(said)
        self._used |= said
        if len(self._window) > FRESH_WITHIN:
            self._used -= self._window.popleft()
        return text

    def _scenes(self, who: Persona, language: str) -> tuple[Scene, ...]:
        if language != "en":
            return _SCENES[language]
        return _SHORT if self._rng.random() < _SHARE_OF_SHORT else TOPICS[self._rng.choice(who.topics)]

    def _is_fresh(self, text: str) -> bool:
        return self._used.isdisjoint(sentences(text))

    def _drawn(self, *pools: Phrases) -> str:
        """A fresh phrase of the first pool that has one."""
        text = ""
        for pool in pools:
            for _ in range(_TRIES):
                text = say(self._rng.choice(pool), self._rng)
                if self._is_fresh(text):
                    return text
        return text

    def _parts(self, scene: Scene, statement: str, is_english: bool) -> list[str]:
        """The statement, and what may go with it as long as it is fresh."""
        shape, frame = self._rng.random(), self._rng.random()
        parts = [statement]
        if scene.follow_ups and (0.15 < shape < 0.4 or shape > 0.65):
            some = self._rng.sample(scene.follow_ups, min(len(scene.follow_ups), 2 if shape > 0.9 else 1))
            self._add(parts, *some)
        if scene.endings and shape > 0.4:
            self._add(parts, self._rng.choice(scene.endings))
        if is_english and frame < 0.1:
            opener: list[str] = []
            self._add(opener, self._rng.choice(_OPENERS))
            return opener + parts
        if is_english and frame > 0.7 and shape < 0.4:
            self._add(parts, self._rng.choice(_CLOSERS))
        return parts

    def _add(self, parts: list[str], *some: DemoPhrase) -> None:
        for phrase in some:
            text = say(phrase, self._rng)
            if self._is_fresh(text):
                parts.append(text)

    def _finished(self, parts: list[str], scene: Scene, when: int) -> str:
        """The parts as one text, with a line break, a link, tags or an emoji where luck has it."""
        manner, extra, breaks, week = (self._rng.random() for _ in range(4))
        tail = ""
        if scene.links and extra < 0.07:
            tail = " " + say(self._rng.choice(scene.links), self._rng)
            manner = 1.0  # the words before a link need a full stop before them
        elif scene.hashtags and extra < 0.11:
            tail = " " + say(self._rng.choice(scene.hashtags), self._rng)
        elif extra > 0.9:
            tail = " " + say(self._rng.choice(scene.emoji), self._rng)
        if week < _SHARE_OF_TAGGED:
            tail += " " + TAGS_OF_THE_WEEK[when // WEEK % len(TAGS_OF_THE_WEEK)]
        if not self._is_fresh(tail):  # a link that was there just now
            tail = ""
        lists = [at for at, part in enumerate(parts, 1) if "\n" in part]
        end = lists[0] if lists else len(parts) - 1 if breaks < 0.1 else len(parts)  # of the first paragraph
        text = "\n\n".join(" ".join(some) for some in (parts[:end], parts[end:]) if some)
        if len(text + tail) > LONGEST_POST:
            text = max(parts, key=len)  # fits with any tail
        text = text.replace("。 ", "。")  # Japanese puts no blank between sentences
        if manner < 0.09:
            text = text.lower()
        if manner < 0.18:
            text = text.removesuffix(".")
        self.noted("\n\n".join([*parts, tail]))
        return text + tail


# ---- Names of the demo community: usernames, display names and bios.


NAME_LIMIT = 30
RESERVED_NAME = "demo"
DEMO_BIO = "The demo account of this site. Tea, tomatoes and night trains."

_OTHER_NAMES: list[str] = _FILE["names"].pop("in_other_scripts")
_WORDS = {kind: tuple(words.split()) for kind, words in _FILE["names"].items()}
_GIVEN, _SURNAMES, _PLACES, _BADGES = (_WORDS[kind] for kind in ("given", "surnames", "places", "badges"))
# 14, 69 and 88 have meanings that do not belong in a demo.
_DIGITS = tuple(f"{n:02d}" for n in (*range(1, 34), *range(64, 100)) if n not in (14, 69, 88))

_FIRST, _LAST = (tuple(name.lower() for name in names) for names in (_GIVEN, _SURNAMES))
_LETTER, _BAR = tuple("abcdefghijklmnoprstuvwyz"), ("_",)
_NAME_SHAPES: Phrases = (
    (_FIRST, _BAR, _LETTER), (_FIRST, _BAR, _LAST), (_LETTER, _BAR, _LAST), (_LAST, _BAR, _FIRST),
    (_GIVEN, _SURNAMES), (_GIVEN, _BAR, _SURNAMES), (_GIVEN, tuple("ABCDEFGHIJKLMNOPRSTVW"), _SURNAMES),
    (_FIRST, _BAR, _LETTER, _BAR, _LAST), (_FIRST, ("", "_"), _DIGITS), (_FIRST, _BAR, _LAST, _DIGITS),
    (_GIVEN, tuple(hobby.title() for hobby in _WORDS["hobbies"])), (_FIRST, _BAR, _WORDS["hobbies"]),
    (_FIRST, ("_in_", "_from_"), _PLACES), (_FIRST, ("_the_",), _WORDS["nouns"]), (_WORDS["prefixes"], _FIRST),
    (_WORDS["adjectives"], _BAR, (*_FIRST, *_WORDS["nouns"])), (_WORDS["adjectives"], _BAR, _WORDS["nouns"], _DIGITS),
)  # fmt: skip

_SMALL_WORDS = ("from", "in", "the")
_BIOS = phrases(_FILE["bios"]["first"].replace("PLACES", "|".join(place.title() for place in _PLACES)))
_MORE_BIOS = phrases(_FILE["bios"]["more"])
_OTHER_BIOS: list[str] = _FILE["bios"]["other"]


def usernames(count: int, rng: random.Random) -> list[str]:
    """`count` usernames in random order, all different also in lower case.

    Each has 1 to NAME_LIMIT characters of [A-Za-z0-9_], and none is RESERVED_NAME in any letter case.
    """
    names: list[str] = []
    taken = {RESERVED_NAME}
    misses = 0
    while len(names) < count:
        name = say(rng.choice(_NAME_SHAPES), rng)
        if misses > 20:  # nearly all combinations are taken
            number = str(rng.randrange(10 * count))
            name = name[: NAME_LIMIT - len(number)] + number
        key = name.lower()
        if key in taken:
            misses += 1
        else:
            misses = 0
            taken.add(key)
            names.append(name)
    return names


def display_name(username: str, rng: random.Random) -> str:
    """A display name: mostly the username in words, such as `Joana from Lisbon`, sometimes a name in another script.
    Empty for two users of five."""
    luck = rng.random()
    if luck < 0.4:
        return ""
    if luck > 0.96:
        return rng.choice(_OTHER_NAMES)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", username).rstrip("0123456789").split()
    name = " ".join(word if word in _SMALL_WORDS else word[0].upper() + word[1:] for word in words)
    name = re.sub(r"\b([A-Z])(?= |$)", r"\1.", name)
    return f"{name} {rng.choice(_WORDS['badges'])}" if luck > 0.9 else name


def bio(rng: random.Random) -> str:
    """A bio: one line of at most LONGEST_BIO characters. Empty for one user of three."""
    if rng.random() < 0.33:
        return ""
    if rng.random() < 0.05:
        return rng.choice(_OTHER_BIOS)
    parts = [say(rng.choice(_BIOS), rng)]
    if rng.random() < 0.5:
        parts.append(say(rng.choice(_MORE_BIOS), rng))
    return " ".join(parts)[:LONGEST_BIO].rstrip()
