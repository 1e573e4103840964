"""The application behind its WSGI interface, with a store that is restored between examples."""

import json
import re
import runpy
import time
from dataclasses import dataclass

from accounts.community.log import Act, Log
from retwis_site.store.ids import digest_of
from retwis_site.store.local_cache import Memory
from tests.support.http import hostile_requests
from tests.support.http.answers import Answer, check_answer
from tests.support.http.hostile_requests import APP_TOKEN, CSRF, PICTURE, Request
from tests.support.http.hostile_values import FORM, MARKER, MULTIPART
from tests.support.people import SECRET
from tests.support.protocols.reports import make_admin, report
from tests.support.stored_keys import everything, write_all
from tests.support.stored_posts import write_posts
from tests.support.stores.reading import may_write
from timeline.notices import MARK
from timeline.relations.relations import Follows

SEEN = "seen"  # a field of the user's hash, which reading the home timeline writes
CACHES_AND_COUNTS = re.compile(r"posts:|timeline$|health$|throttle:")


def without_unread_state(keys):
    hashes = {
        key: {name: text for name, text in fields.items() if name not in {SEEN, "noticed"}}
        for key, fields in keys.items()
        if isinstance(fields, dict)
    }
    notices = {key: [row for row in rows if row[0] != MARK] for key, rows in keys.items() if key.startswith("notices:")}
    return {**keys, **hashes, **notices}


class FuzzedSite:
    """The application, and a store with alice, bob, carol, a user with a name from a foreign database, and posts."""

    def __init__(self, raw, store, sent, settings):
        self.raw, self.store, self.sent, self.settings = raw, store, sent, settings
        self.raised, self.dirty, self.round_trips_seen = [], False, 0
        self.application = runpy.run_module("retwis_site.wsgi")["application"]
        raw.hset("user:1", "auth", SECRET)
        raw.hset("auths", SECRET, 1)
        raw.hset("user:1", f"token:{digest_of(APP_TOKEN)}", f"{time.time():.0f}::tusky:read write follow push")
        raw.hset("app:tusky", mapping={"name": MARKER, "secret": "x"})
        self.add_user(4, MARKER)
        for follower, followed in ((1, 2), (2, 1), (1, 4), (4, 1), (4, 2)):
            Follows(store).follow(follower, followed)
        for uid, pids in ((1, [1, 4, 5]), (2, [2]), (4, [3])):
            write_posts(raw, uid, pids)
        raw.hset("post:3", "body", MARKER)
        raw.hset("post:4", mapping={"deleted": 1_700_000_009, "body": ""})
        raw.zrem("updates:1", 4)
        make_admin(store, 1)
        raw.rename(f"report:{report(store, 2, 4).rid}", "report:1")  # an id that the strategies try
        raw.hset("tags", "alice", "Alice")  # the feed of a tag that nobody has used is a 404
        raw.set(f"media:{PICTURE}", "RIFF")  # a picture that is not stored is a 404
        # The block of a picture, at an address that the strategies try.
        Log(store).write(Act(what="picture:removed", by=1, whom=2, at=1, also="Alice"))
        for pid in range(1, 8):  # each post shows it, so that the page of a picture is reached
            if raw.exists(f"post:{pid}") and pid != 4:
                raw.hset(f"post:{pid}", "media", json.dumps({"pictures": [[PICTURE, 8, 6, ""]]}))
        self.initial = everything(raw)
        for page in (b"/", b"/timeline/"):
            self.browser().get(page)
        assert self.compare() == []
        self.initial = everything(raw)  # now with the caches
        self.note_writes()
        self.dirty = False

    def add_user(self, uid, name):
        """Add a user; the name may be one that the site's form refuses."""
        self.raw.hset(f"user:{uid}", mapping={"username": name, "password": "!", "auth": f"secret{uid}"})
        self.raw.set("next_user_id", uid)  # or a registration is refused: its id is in use
        self.raw.hset("users", name, uid)
        self.raw.zadd("users_by_time", {name: 2_000_000_000})
        Memory.clear_all()
        self.dirty = True

    def send(self, request):
        """The answer to a request, after `check_answer`. Raises what a view raised."""
        environ, started = request.environ(), []
        if self.settings.TRUSTED_PROXIES:
            environ.update({"HTTP_X_FORWARDED_PROTO": request.scheme, "wsgi.url_scheme": "http"})
        self.raised.clear()
        chunks = self.application(environ, lambda status, headers, *_: started.append((status, headers)))
        body = b"".join(chunks)
        if hasattr(chunks, "close"):
            chunks.close()
        if self.raised:
            raise self.raised[0]
        status, headers = started[-1]
        answer = Answer(int(status.split()[0]), headers, body)
        check_answer(answer)
        return answer

    def note_writes(self):
        """Set `dirty` when a command since the last call may write. So most requests need no comparison."""
        new = self.sent.round_trips[self.round_trips_seen :]
        self.round_trips_seen = len(self.sent.round_trips)
        self.dirty |= any(may_write(round_trip.commands) for round_trip in new)

    def changes(self):
        """The keys that clients have changed since the beginning, sorted."""
        self.note_writes()
        return self.compare() if self.dirty else []

    def compare(self):
        """The keys that differ from the beginning, without caches, which a read may rebuild, and counters."""
        now, before = without_unread_state(everything(self.raw)), without_unread_state(self.initial)
        changed = {key for key in {*now, *before} if now.get(key) != before.get(key)}
        return sorted(key for key in changed if not CACHES_AND_COUNTS.match(key))

    def restore(self):
        """Restore the store to its beginning, whatever the previous example wrote."""
        self.note_writes()
        if not self.dirty:
            return
        self.raw.flushall()
        write_all(self.raw, self.initial)
        Memory.clear_all()
        self.dirty = False

    def browser(self, signed_in=True):
        cookies = {self.settings.CSRF_COOKIE_NAME: CSRF}
        if signed_in:
            cookies[self.settings.AUTH_COOKIE] = SECRET
        return FuzzBrowser(self, cookies)


@dataclass(frozen=True)
class FuzzBrowser:
    """A browser that keeps cookies and sends forms with the right token."""

    site: FuzzedSite
    cookies: dict

    def get(self, target):
        return self._go("GET", target, {}, b"")

    def post(self, target, form, kind="form"):
        token = self.cookies[self.site.settings.CSRF_COOKIE_NAME]
        pairs = hostile_requests.encoded({**form, "csrfmiddlewaretoken": token})
        if kind == "form":
            return self._go("POST", target, {"Content-Type": FORM}, hostile_requests.urlencoded(pairs))
        return self._go("POST", target, {"Content-Type": MULTIPART}, hostile_requests.multipart(pairs))

    def _go(self, method, target, headers, body):
        jar = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        scheme = "https" if self.site.settings.HTTPS else "http"
        answer = self.site.send(Request(method, target, {"Cookie": jar.encode("latin-1"), **headers}, body, scheme))
        for name, value in answer.cookies.items():
            self.cookies.pop(name, None)
            if value is not None:
                self.cookies[name] = value
        return answer
