"""The grammar of the demo community's texts.

` ~ ` separates phrases, `{a|b}` is a choice inside a phrase, and ` ¶ ` is a line break.
"""

import random
import re

Phrase = tuple[tuple[str, ...], ...]  # the options of each slot, in order; fixed text is a single option
Phrases = tuple[Phrase, ...]


def phrases(text: str) -> Phrases:
    """The phrases of a text in this grammar. Line ends of the source count as spaces."""
    return tuple(
        tuple(tuple(slot.split("|")) for slot in re.split("[{}]", phrase) if slot)
        for phrase in " ".join(text.split()).replace(" ¶ ", "\n").split(" ~ ")
        if phrase
    )


def say(phrase: Phrase, rng: random.Random) -> str:
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
