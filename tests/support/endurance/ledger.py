"""What the site has acknowledged to the people of a soak is in the store at its end, and nothing else."""

import json

from accounts.joining.joining import uses_of
from accounts.recovery.codes import field_of

POSTS = {"likes", "reposts", "bookmarks"}
PEOPLE = {"following", "blocked", "muted"}


def all_is_there(crowd, raw):
    """What is wrong: a sentence each."""
    stored = Stored(crowd, raw)
    return [problem for account in crowd.accounts for problem in stored.problems_of(account)] + [*stored.site()]


class Stored:
    def __init__(self, crowd, raw):
        self._crowd, self._raw = crowd, raw
        self._uids = raw.hgetall("users")

    def problems_of(self, account):
        uid = self._uids.get(account.name)
        if account.name in self._crowd.left:
            yield from self._left(account, uid)
        elif account.name in self._crowd.names:
            yield from self._texts(account, uid)
            yield from self._edges(account, uid)
            yield from self._fields(account, uid)
            yield from self._reports(account, uid)
            yield from self._ways_in(account, uid)
            yield from self._invited(account, uid)

    def site(self):
        """The last announcement stands, and the log names each of them."""
        stands = self._raw.hget("site", "announcement") or ""
        if self._crowd.announcement not in {None, stands}:
            yield f"the announcement is {stands!r} instead of {self._crowd.announcement!r}"
        lines = [json.loads(line) for key in self._raw.scan_iter("log:*") for line in self._raw.zrange(key, 0, -1)]
        written = sum(line["what"] == "site:announcement" for line in lines)
        if written < self._crowd.announced:
            yield f"the log has {written} of {self._crowd.announced} announcements"

    def _left(self, account, uid):
        """Nothing but the name of a deleted account is there."""
        if fields := self._raw.hgetall(f"user:{uid}").keys() - {"username", "deleted"}:
            yield f"{account.name} is deleted, but has {sorted(fields)}"
        for kind in (
            "updates",
            "following",
            "followers",
            "likes",
            "reposts",
            "bookmarks",
            "blocked",
            "muted",
            "tags_of",
            "home_tags",
            "invites",
        ):
            if self._raw.exists(f"{kind}:{uid}"):
                yield f"{account.name} is deleted, but has {kind}"

    def _texts(self, account, uid):
        pids = {token: self._raw.get(f"idem:{uid}:{token}") for token in {*account.texts, *account.maybe}}
        expected = set()
        for token, text in account.texts.items():
            pid = pids[token]
            if pid is None:
                yield f"{account.name}: the post {token} ({text}) was acknowledged, and is lost"
            elif int(pid) not in account.unsure:
                deleted, body = self._raw.hmget(f"post:{pid}", "deleted", "body")
                if int(pid) in account.gone:
                    if deleted is None and body is not None:
                        yield f"{account.name}: post {pid} was deleted, and is there"
                elif deleted is None:
                    expected.add(pid)
                    newest = account.edited.get(int(pid), text)
                    if body != newest:
                        yield f"{account.name}: post {pid} is {body!r} instead of {newest!r}"
                elif not deleted.endswith(":staff"):
                    yield f"{account.name}: post {pid} is deleted, and nobody has deleted it"
        own = set(self._raw.zrange(f"updates:{uid}", 0, -1))
        reposts = {str(int(score)) for _, score in self._raw.zrange(f"reposts:{uid}", 0, -1, withscores=True)}
        unsure = {pids[token] for token in account.maybe} | {str(pid) for pid in account.unsure}
        if lacking := expected - own:
            yield f"{account.name}: updates lacks {lacking}"
        if more := own - expected - reposts - unsure:
            yield f"{account.name}: updates has {more}, which {account.name} has not written"

    def _edges(self, account, uid):
        for (relation, target), stands in account.edges.items():
            member = self._member(account, relation, target)
            if stands is None or member is None:
                continue
            if stands != (self._raw.zscore(f"{relation}:{uid}", member) is not None):
                yield f"{account.name}: {relation} {target} should be {stands}"

    def _member(self, account, relation, target):
        """The target as the store has it; None when it is deleted, or when others may have changed the edge."""
        if relation in POSTS:
            author, deleted = self._raw.hmget(f"post:{target}", "user_id", "deleted")
            return None if author is None or deleted is not None else target
        if relation in PEOPLE:
            pairs = {(account.name, target), (target, account.name)}
            is_blocked = relation == "following" and pairs & self._crowd.blocked
            return None if target in self._crowd.left or is_blocked else self._uids[target]
        return None if relation == "muted_threads" else target  # the first post of its thread

    def _fields(self, account, uid):
        for name, text in account.fields.items():
            found = self._raw.hget(f"user:{uid}", name) or ""
            if text is not None and found.split() != text.split() and set(found.split()) != set(text.split()):
                yield f"{account.name}: {name} is {found!r} instead of {text!r}"

    def _reports(self, account, uid):
        made = [member.split(":") for member in self._raw.zrange(f"reports_by:{uid}", 0, -1)]
        for whom, pid in account.reports:
            if whom not in self._crowd.left and not any(one[:2] == [self._uids[whom], pid] for one in made):
                yield f"{account.name}: the report about {whom} {pid} is lost"

    def _invited(self, account, uid):
        if account.invited is None:
            return
        by, code, is_sure = account.invited
        inviter, use = self._raw.hget(f"user:{uid}", "invited_by"), self._raw.zscore(uses_of(code), uid)
        if not is_sure and inviter is None and use is None:
            return
        if inviter != self._uids[by]:
            yield f"{account.name}: nothing says that {by} has invited them"
        if use is None:
            yield f"{account.name} is here without a use of the invitation by {by}"

    def _ways_in(self, account, uid):
        """The invitations and recovery codes."""
        invitations = self._raw.hgetall(f"invites:{uid}")
        for code, stands in account.invitations.items():
            if stands is not None and stands != (code in invitations):
                yield f"{account.name}: the invitation {code} should be {stands}"
            if (used := self._raw.zcard(uses_of(code))) > 1:
                yield f"{account.name}: the invitation {code} has let {used} people in"
        stored = {name for name in self._raw.hkeys(f"user:{uid}") if name.startswith("recovery:")}
        if account.codes is not None and stored != {field_of(int(uid), code) for code in account.codes}:
            yield f"{account.name} has {len(stored)} recovery codes, and should have other {len(account.codes)}"
