"""The personal download: a user's data as a file of JSON lines. docs/export.md describes it; a test checks that."""

import base64
import json
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import IO

from django.conf import settings

from accounts.media.upkeep import IN_DOWNLOAD
from accounts.users.entities import User
from retwis_site.exceptions import NoRoom
from retwis_site.features import AddressOf, Line, LineField, features
from retwis_site.http.form_fields import is_visible
from retwis_site.maintenance.lines import ID, NAME, OPTIONAL_ID, OPTIONAL_TEXT, TEXT, TIME, TIME_OR_NULL, seconds
from retwis_site.maintenance.site_files import FORMAT as SITE_FORMAT, NEWER, BadFile, check_fields, parsed, raw_lines
from retwis_site.rendering.dates import iso
from retwis_site.store.client import Store
from retwis_site.store.kinds import POST, UNTIL, USER
from timeline.account_data.restoring import NamedPost, OldPost, named, restored
from timeline.posts.composer import cleaned
from timeline.posts.entities import LONGEST_POST
from timeline.posts.reading.records import Version
from timeline.posts.repository import MOST_TEXTS
from timeline.posts.site_lines import LANGUAGE, MEDIA, TEXTS, media_in
from timeline.relations.relation import Relation

# ---- Written


FORMAT, VERSION = "retwis-export", 1
CONTENT_TYPE = "application/x-ndjson; charset=utf-8"
IN_MEMORY = 1 << 20  # bytes; a longer file goes to the disk


def file_name(user: User) -> str:
    """Such as `retwis-alice-2026-11-20.jsonl`."""
    return f"retwis-{user.username}-{datetime.now(UTC):%Y-%m-%d}.jsonl"


def export(store: Store, user: User, address_of: AddressOf) -> IO[bytes]:
    """The whole file, open at its beginning. A long file is on the disk without a name, and is removed when it is
    closed. Two round trips for each chunk. Raises StoreError, NoRoom."""
    try:
        settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
        with ExitStack() as on_failure:  # closes the file
            file = on_failure.enter_context(SpooledTemporaryFile(IN_MEMORY, dir=str(settings.VAR_DIR)))
            written = 0
            for lines in _lines(store, user, address_of):
                written += len(lines)
                file.write(_encoded(lines))
            file.write(_encoded([{"type": "end", "lines": written + 1}]))
            file.seek(0)
            on_failure.pop_all()
    except OSError as error:
        raise NoRoom(f"the download cannot be kept in {settings.VAR_DIR}: {error}") from error
    return file


def _lines(store: Store, user: User, address_of: AddressOf) -> Iterator[list[Line]]:
    head: Line = {"type": "export", "format": FORMAT, "version": VERSION, "exported_at": iso(int(time.time()))}
    sources = (feature.account_lines for feature in features() if feature.account_lines)
    chunks = chain.from_iterable(source(store, user, address_of) for source in sources)
    yield [head, *next(chunks)]
    yield from chunks


def _encoded(lines: Iterable[Line]) -> bytes:
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()


# ---- Read: its owner may have changed the file.


AT_ONCE = 500  # posts of a chunk

FIELDS = {
    "account": {
        "username": NAME,
        **dict.fromkeys(("name", "bio", "language"), TEXT),
        **dict.fromkeys(("colour", "picture", "header", "needs_alt"), OPTIONAL_TEXT),
    },
    "following": {"username": NAME},
    "follower": {},
    "post": {
        "id": ID,
        "time": TIME,
        "text": TEXT,
        "language": LANGUAGE,
        "reply_to": OPTIONAL_ID,
        "quote": OPTIONAL_ID,
        **dict.fromkeys(("reply_to_address", "quote_address"), OPTIONAL_TEXT),
        "texts": TEXTS,
        **MEDIA,
    },
    "picture": IN_DOWNLOAD,
    "pin": {"id": ID},
    "fact": {"label": TEXT, "value": TEXT},
}
UNSEEN = "posts with a text that nobody can see"
TOO_LONG = f"posts with more than {LONGEST_POST} characters"
TOO_MANY_TEXTS = f"posts with more than {MOST_TEXTS} texts"
FROM_LATER = "posts with a date in the future"


@dataclass
class Download:
    """A verified download. Its posts stay in the file: 8 bytes of memory for each say where."""

    file: IO[bytes]
    account: Line
    lines: dict[str, list[Line]] = field(default_factory=lambda: {type_: [] for type_ in _types()})  # in their order
    left_out: Counter[str] = field(default_factory=Counter)  # by reason: posts that cannot be brought back
    _pictures: dict[str, int] = field(default_factory=dict)  # by digest, where the line about a picture begins
    _places: "array[int]" = field(default_factory=lambda: array("q"))  # of the lines about posts, in the file

    def steps(self) -> int:
        """The number of chunks of posts."""
        return -(-len(self._places) // AT_ONCE)

    def __iter__(self) -> Iterator[list[OldPost]]:
        """The posts in chunks, the oldest first: the file has the newest first."""
        for end in range(len(self._places), 0, -AT_ONCE):
            yield [self._post(place) for place in reversed(self._places[max(end - AT_ONCE, 0) : end])]

    def _post(self, place: int) -> OldPost:
        self.file.seek(place)
        line = parsed(0, self.file.readline())
        texts = tuple(Version(seconds(one, "time"), cleaned(one["text"])) for one in line.get("texts", ()))
        reply_to, quote = _named(line, "reply_to"), _named(line, "quote")
        said = reply_to, quote, texts, line.get("language", ""), media_in(line)
        return OldPost(line["id"], seconds(line, "time"), _body(line), *said)

    def picture(self, digest: str) -> bytes | None:
        """The file of a picture, the one that moves where there is one; None when it is not there."""
        if digest not in self._pictures:
            return None
        self.file.seek(self._pictures[digest])
        line = parsed(0, self.file.readline())
        return base64.b64decode(line["animated" if "animated" in line else "webp"])

    def add(self, line: Line, place: int) -> None:
        """Take a verified line, which begins at a byte of the file."""
        if line["type"] in self.lines:
            self.lines[line["type"]].append(line)
        elif line["type"] == "picture":
            self._pictures[line["digest"]] = place
        elif line["type"] == "post":
            reason = _left_out(line)
            if reason:
                self.left_out[reason] += 1
            else:
                self._places.append(place)


def _types() -> list[str]:
    """Those of the lines that are brought back, without the account, pictures and posts."""
    return ["following", "pin", "fact", *(relation.kind for relation in restored())]


def _named(post: Line, field_name: str) -> NamedPost | None:
    return named(post[field_name], post.get(f"{field_name}_address", "")) if field_name in post else None


def _body(post: Line) -> str:
    texts = post.get("texts", ())
    return cleaned(texts[-1]["text"] if texts else post["text"])


def _left_out(post: Line) -> str:
    texts = post.get("texts", ())
    if not is_visible(_body(post)) and not post.get("pictures"):
        return UNSEEN
    if any(len(cleaned(text)) > LONGEST_POST for text in (post["text"], *(one["text"] for one in texts))):
        return TOO_LONG
    if len(texts) > MOST_TEXTS:
        return TOO_MANY_TEXTS
    return FROM_LATER if seconds(post, "time") > time.time() else ""


def read(file: IO[bytes]) -> Download:
    """Verify all of a file. Raises BadFile."""
    download: Download | None = None
    fields = FIELDS | {relation.kind: _fields_of(relation) for relation in restored()}
    number = 0
    for number, raw in enumerate(raw_lines(file), 1):
        line = parsed(number, raw)
        if number == 1:
            _check_head(line)
        elif download is None:
            download = Download(file, _account(number, line))
        elif line["type"] == "end":
            if line.get("lines") != number or file.read(1):
                raise BadFile(number, "the number of lines is another")
            return download
        else:
            check_fields(number, line, fields.get(line["type"], {}))
            download.add(line, file.tell() - len(raw))
    raise BadFile(number + 1, "there is no line with the type end")


def _fields_of(relation: Relation) -> dict[str, LineField]:
    when = {"until": TIME_OR_NULL} if relation.truth.score is UNTIL else {"since": TIME}
    if relation.leads_to == USER:
        return {"username": NAME, **when}
    return {"id": ID, **when, "address": TEXT} if relation.leads_to == POST else {relation.names[2]: NAME, **when}


def _check_head(line: Line) -> None:
    if line.get("format") == SITE_FORMAT:
        raise BadFile(1, "this is the file of a whole site", "Import it with `manage.py import`.")
    if line["type"] != "export" or line.get("format") != FORMAT:
        raise BadFile(1, "this is no download of an account", "Name another file.")
    if line.get("version") != VERSION:
        raise BadFile(1, f"version is {line.get('version')}, but this site knows version {VERSION}", NEWER)


def _account(number: int, line: Line) -> Line:
    if line["type"] != "account":
        raise BadFile(number, "it must have the type account")
    check_fields(number, line, FIELDS["account"])
    return line
