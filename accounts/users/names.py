"""Display names and bios as they are stored, and the entries of the index that a search for people reads.

An entry of `users_by_name` is `<folded ending>:<uid>`. An ending of a name begins with one of its words: "Ux Walker"
has `ux walker` and `walker`. All scores are 0, so the sorted set is in the order of its members' bytes, and endings
with the same first letters are neighbours. A name may also contain colons.
"""

import unicodedata
from collections.abc import Mapping

import regex

from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import parse_id

LONGEST_DISPLAY_NAME = 50  # characters
LONGEST_BIO = 160
# The ASCII part of Unicode's table of characters that look alike (UTS #39, confusables.txt of Unicode 16.0).
_PROTOTYPES = str.maketrans({"0": "O", "1": "l", "I": "l", "m": "rn"})
MOST_WORDS = 8  # of a name; a search finds no words after them

# Where a word of a name begins. `unspaced`: where words have no spaces between them, each letter may begin one.
# A letter is looked at before what stands in front of it: so the work is linear.
_WORD_START = regex.compile(
    r"""
      \p{L} (?<! \p{L} [\p{M}\u200c\u200d]* \p{L})           # a letter after something else: 99Walker
    | \p{Lu} (?<= \p{Ll} \p{M}* \p{Lu})                      # a capital after a small letter: UxWalker
    | \p{N} (?<! [\p{L}\p{N}] \p{M}* \p{N})                  # a number after a space or a sign, but not ann99
    | \p{S} (?<! \p{S} [\p{M}\u200d]* \p{S})                 # emoji
    | (?P<unspaced> [[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]--\p{M}] )
    """,
    regex.VERBOSE | regex.V1,
)

FIRST_STRONG_ISOLATE, POP = "\u2068", "\u2069"
# Characters that begin or end a change of the writing direction.
_DIRECTION_MARKS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_JOINERS = "\u200c\u200d"  # invisible, but Persian words and some emoji need them
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")  # letters and symbols without a visible shape


def in_one_line(text: str) -> str:
    """A name or a bio as it is stored: empty when no character is visible.

    Each run of spaces and line breaks becomes one space. Invisible characters are removed: controls, and marks that
    change the writing direction of the text beside them.
    """
    if text.isascii() and text.isprintable():  # each character but the space is visible
        return " ".join(text.split())
    kept = "".join(char for char in text if char in _JOINERS or char.isspace() or not _is_invisible(char))
    line = unicodedata.normalize("NFC", " ".join(kept.split()))
    return line if any(_is_visible(char) for char in line) else ""


def _is_invisible(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cf", "Cs"}


def _is_visible(char: str) -> bool:
    return unicodedata.category(char)[0] not in "CMZ" and char not in _BLANK


def isolated(person: User) -> str:
    """The shown name for a title or an attribute. Its writing direction does not change the text around it.

    In a page, `<bdi>` does the same; a title and an attribute have no elements.
    """
    if not person.name:
        return person.username
    return f"{FIRST_STRONG_ISOLATE}{person.name.translate(_DIRECTION_MARKS)}{POP}"


def folded(name: str) -> str:
    """The form in which names are compared. Two names with one folded form are found by the same letters.

    It is Unicode's canonical caseless match (D145). A Turkish capital I also loses its dot, which is not typed in small
    letters.

    The start of a name folds to the start of the folded name. `lower()` would break that for a start that ends with a
    sigma, since a sigma at the end of a word is another letter. Composed characters would break it for Hangul, where
    each typed letter changes the syllable.
    """
    caseless = unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())
    return caseless.replace("i\N{COMBINING DOT ABOVE}", "i")


def endings(name: str) -> list[str]:
    """The texts whose beginnings find a name: the folded name, and its folded endings from each of its words on. At
    most MOST_WORDS and one; words with a space before them come first."""
    found = _WORD_START.finditer(name, 0, LONGEST_DISPLAY_NAME)
    starts = sorted(found, key=lambda start: start.lastgroup == "unspaced")[:MOST_WORDS]
    texts = [name, *(name[start.start() :][:LONGEST_DISPLAY_NAME] for start in starts)]
    return list(dict.fromkeys(folded(text) for text in texts))


def entries(user: User) -> list[str]:
    """The entries that lead to a user, by the words of the username and of the display name."""
    found_by = [*endings(user.username), *endings(user.shown_name)]
    return [f"{ending}:{user.uid}" for ending in dict.fromkeys(found_by)]


def parse(entry: str) -> tuple[str, int] | None:
    """The folded ending and the uid of an entry; None for a text that is no entry."""
    ending, colon, text = entry.rpartition(":")
    uid = parse_id(text) if colon else None
    return None if uid is None else (ending, uid)


def skeletons(username: str) -> list[str]:
    """What a username looks like, as typed and in lower case: addresses and mentions have both. Two names that share a
    skeleton look alike. Letter case and underscores do not tell names apart either."""
    return list(dict.fromkeys(_skeleton(text) for text in (username, username.lower())))


def _skeleton(text: str) -> str:
    return text.translate(_PROTOTYPES).lower().replace("_", "") or "_"


def holders(usernames: Mapping[int, str]) -> dict[str, str]:
    """What these usernames, by uid, look like: skeleton -> the first uid, as `skeletons` has it."""
    return {skeleton: str(uid) for uid in sorted(usernames, reverse=True) for skeleton in skeletons(usernames[uid])}


def queue_skeletons(pipe: Pipe, user: User) -> None:
    """Note what a username looks like. The first user with a skeleton keeps it."""
    for skeleton in skeletons(user.username):
        pipe.hsetnx(keys.skeletons(), skeleton, str(user.uid))


def queue_entries(pipe: Pipe, entries: list[str]) -> None:
    """Write entries, at least one."""
    pipe.zadd(keys.users_by_name(), dict.fromkeys(entries, 0))
