"""Display names and bios as they are stored, and the entries of the index that a search for people reads.

An entry of `users_by_name` is `<folded ending>:<uid>`. An ending of a name begins with one of its words: "Ux Walker"
has `ux walker` and `walker`. All scores are 0, so the sorted set is in the order of its members' bytes, and endings
with the same first letters are neighbours. A name may also contain colons.
"""

import unicodedata
from collections.abc import Collection, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote

import regex

from accounts.users.entities import User
from accounts.users.repository import Users, forget
from retwis_site.http.form_fields import SEEN_FORMATS, is_visible
from retwis_site.jobs.outbox import Claim, Outbox, job_id, reconcile
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Repository, Store, answers
from retwis_site.store.ids import nonce, parse_id

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

# Controls and formats, but for spaces, the joiners that Persian words and some emoji need, formats that are seen, and
# the letters behind a black flag that make it that of England.
_INVISIBLE = regex.compile(
    r"(?P<flag>\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f)"
    r"|[\p{Cc}\p{Cf}\p{Cs}--[\s\x1c-\x1f\u200c\u200d" + SEEN_FORMATS + "]]",
    regex.V1,
)
_MARKS = regex.compile(r"\p{M}+")
# Letters of Latin and Greek are found without their accents. Of Cyrillic letters, those with a breve are others.
_ACCENTED = regex.compile(
    r"(?P<base>[\p{Latin}\p{Greek}])\p{Mn}+ | (?P<base>\p{Cyrillic})[\p{Mn}--\u0306]+", regex.V1 | regex.VERBOSE
)
# Letters that Unicode does not take for accented ones; and the apostrophes.
_PLAIN = str.maketrans(
    {
        **dict(zip("øłđðħıæœþ", ("o", "l", "d", "d", "h", "i", "ae", "oe", "th"), strict=True)),
        **dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"),
    }
)

# Characters of a name or a bio with its marks apart from their letters. A longer line is too long for each field, and
# stays as it is: marks in the wrong order take as many steps as their number squared.
LONGEST_LINE = 1000
_AT_SIGNS = "@\uff20\ufe6b \u200c\u200d"  # what looks like one, with spaces and what nobody sees between them


def in_one_line(text: str) -> str:
    """A name or a bio as it is stored: empty when nothing of it is visible. Combining marks alone do not suffice: they
    would be drawn on the text beside them.

    Each run of spaces and line breaks becomes one space. Invisible characters are removed: controls, and marks that
    change the writing direction of the text beside them.
    """
    if text.isascii() and text.isprintable():  # each character but the space is visible
        return " ".join(text.split())
    line = " ".join(_INVISIBLE.sub(r"\g<flag>", text).split())
    if len(line) <= LONGEST_LINE:
        line = unicodedata.normalize("NFC", line)
    return line if is_visible(_MARKS.sub("", line)) else ""


def as_display_name(text: str) -> str:
    """A display name as it is stored: `in_one_line`, without at signs before it. A person without a display name is
    shown as `@username`, so a name such as `@ann` would pass for ann where no username stands beside it."""
    return in_one_line(in_one_line(text).lstrip(_AT_SIGNS))  # a mark that stood on an at sign is no name


def folded(name: str) -> str:
    """The form in which names are compared. Two names with one folded form are found by the same letters.

    It is Unicode's compatibility caseless match (D146) `without_accents`: García is found by
    `garcia`, Garcia by `garcía`, and 𝓐𝓷𝓷 by `ann`.

    The start of a name folds to the start of the folded name. `lower()` would break that for a start that ends with a
    sigma, since a sigma at the end of a word is another letter. Composed characters would break it for Hangul, where
    each typed letter changes the syllable. Only a halfwidth voiced mark of kana behind an accent breaks it.
    """
    caseless = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", name).casefold())
    return without_accents(unicodedata.normalize("NFKD", caseless.casefold()))


def without_accents(text: str) -> str:
    """A text in small letters, in the form NFD or NFKD, without what keyboards of other languages lack."""
    letters: str = _ACCENTED.sub(r"\g<base>", text)
    return letters.translate(_PLAIN)


def endings(name: str) -> list[str]:
    """The texts whose beginnings find a name: the folded name, and its folded endings from each of its words on. At
    most MOST_WORDS and one; words with a space before them come first."""
    found = _WORD_START.finditer(name, 0, LONGEST_DISPLAY_NAME)
    starts = sorted(found, key=lambda start: start.lastgroup == "unspaced")[:MOST_WORDS]
    texts = [name, *(name[start.start() :][:LONGEST_DISPLAY_NAME] for start in starts)]
    return list(dict.fromkeys(folded(text) for text in texts))


def entries(user: User) -> list[str]:
    """The entries that lead to a user, by the words of the username and of the display name."""
    found_by = [*endings(user.username), *endings(user.name or user.username)]
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


# ---- The index that finds users by name: `users_by_name` follows the users' own hashes.
#
# The truth is the user's hash. A change of name makes the entries match: it reads the hash, adds its entries, removes
# the others, and looks again. When the hash has changed meanwhile, it starts again; so the last writer has also seen
# that the entries are right. No reader trusts an entry alone, so an extra entry, which a killed process may leave,
# does no harm.


class StoredNames(NamedTuple):
    """The fields of a user from which entries follow. Those of a suspended user stay: readers skip them."""

    username: str | None
    name: str | None
    deleted: str | None


class NameIndex(Repository):
    """Changes display names and bios, and keeps the entries that lead to users."""

    def edit(self, me: User, name: str, bio: str, facts: str | None = None) -> None:
        """Change a user's display name and bio, and the facts (None: they stay); `me` as just read. Commit: the HSET.
        Six round trips; two more each time that another change comes between. One when the name stays the same.

        The same round trip reads the name that the HSET replaces: another device may have changed it after `me` was
        read. A change that still comes between leaves an extra entry, which `cleanup` removes.
        """
        fields = {"bio": bio} if facts is None else {"bio": bio, "facts": facts}
        if name == me.name:
            # The name is not written: another device may have changed it, and its entries would not match.
            Users(self._store).write(me.uid, fields)
            return
        job = Outbox(self._store).add(f"name:{me.uid}:{quote(me.name, safe='')}:{nonce()}")
        with job.store.pipeline() as pipe:
            replaced = pipe.hget(keys.user(me.uid), "name")
            pipe.hset(keys.user(me.uid), {"name": name, **fields})
        with job.ending():
            NameIndex(job.store).finish_edit(me.uid, {me.name, replaced.value or ""})

    def finish_edit(self, uid: int, old: Collection[str]) -> None:
        """What follows the commit; `old`: the names before it, which may be empty. Three round trips; two more as
        above."""
        former = [entry for name in old if name for entry in entries(User(uid, name))]
        stored = self.make_match({uid: former})[uid]
        forget(uid)
        if not stored.username or stored.deleted is not None:  # the account was deleted meanwhile
            Users(self._store).take_back(uid, ("name", "bio", "facts"))

    # ---- the entries

    def make_match(self, old: Mapping[int, Collection[str]]) -> dict[int, StoredNames]:
        """Make the entries of users match; `old`: by uid, entries that may be out of date. Returns what the hashes say.
        Three round trips for all users together; two more each time that one has changed meanwhile."""
        doubtful = {uid: set(former) for uid, former in old.items()}
        last: dict[int, StoredNames] = {}

        def write(seen: Mapping[int, StoredNames]) -> Mapping[int, StoredNames]:
            with self._store.pipeline() as pipe:
                for uid, stored in seen.items():
                    last[uid] = stored
                    doubtful[uid] |= _entries(uid, stored)
                    right = right_entries(uid, stored)
                    if right:
                        queue_entries(pipe, sorted(right))
                    for stale in sorted(doubtful[uid] - right):
                        pipe.zrem(keys.users_by_name(), stale)
            return seen

        reconcile(self.stored(old), self.stored, write)
        return last

    def stored(self, uids: Collection[int]) -> dict[int, StoredNames]:
        """What the hashes of these users say, by uid. One round trip."""
        found = answers(self._store, lambda pipe, uid: pipe.hmget(keys.user(uid), StoredNames._fields), uids)
        return {uid: StoredNames(*fields) for uid, fields in found.items()}


def finish_name(store: Store, claim: Claim) -> None:
    """The job `name:<uid>:<former name, quoted>:<nonce>`. Three round trips; two more each time that another change
    comes between."""
    _, _, name, _ = claim.name.split(":")
    NameIndex(store).finish_edit(job_id(claim.name, 1), {unquote(name)})


def right_entries(uid: int, stored: StoredNames) -> set[str]:
    """The entries that should lead to a user; none for an unknown uid or a deleted account."""
    return _entries(uid, stored) if stored.deleted is None else set()


def _entries(uid: int, stored: StoredNames) -> set[str]:
    """The entries of a user, as if the account were not deleted; none for an unknown uid."""
    return set() if stored.username is None else set(entries(User(uid, stored.username, stored.name or "")))
