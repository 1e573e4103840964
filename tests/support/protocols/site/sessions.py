"""The rules of a state machine that uses the site at random: logins, their ends, and passwords."""

from django.contrib.auth import authenticate
from hypothesis import strategies as st
from hypothesis.stateful import rule

from accounts.signing_in.sessions import entities
from accounts.signing_in.sessions.checks import SessionChecks
from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User, Visitor
from tests.support.maintenance.findings import findings_of
from tests.support.protocols.site.checks import KILLED, hashed
from tests.support.protocols.site.conversing import ConversationRules
from tests.support.protocols.site.posting import DIES, people

NAMES = st.sampled_from(["alice", "Alice", "ALICE", "bob", "Bob", "carol", "dora", "Dora", "erin", "frank"])
PASSWORDS = st.sampled_from(["correct horse", "battery staple", "Tr0ub4dor&3"])
DEVICES = st.sampled_from([Device("Firefox", "Linux"), Device("Safari", "iPhone"), Device("", "")])


class SessionRules(ConversationRules):
    @rule(name=NAMES, password=PASSWORDS, device=DEVICES, dies=DIES)
    def log_in(self, name, password, device, dies):
        person = self.model.named(name)
        verified = authenticate(None, username=name, password=password)
        if person is None or person.password != password:
            assert verified is None
            return
        assert verified.user == User(person.uid, person.name)
        before, known = self.standing(person.uid), self.raw.hgetall("auths").keys()
        login = self.carry_out(lambda: Sessions(self.store).open(verified, device), dies)
        [*new] = self.raw.hgetall("auths").keys() - known
        self.model.may_be_stale.update(new)
        standing = self.standing(person.uid)
        if login is not KILLED:
            assert new == [login.secret]
        elif len(standing) > entities.MOST_SESSIONS:  # a check ends what the login has not ended
            self.finish()
            checks = SessionChecks(self.store).inconsistencies()
            assert [finding.repair() for finding in findings_of(self.store, checks, "users with too many sessions")]
            standing = self.standing(person.uid)
        begun = {*new} & {*standing}
        assert begun == {*new} or login is KILLED
        # The sessions used least recently end when there are too many.
        stay = before[-(entities.MOST_SESSIONS - 1) :] if begun else before
        assert {*standing} == {*stay} | begun
        self._become(person, standing)

    @rule(me=people, which=st.integers(0, entities.MOST_SESSIONS), dies=DIES)
    def log_out(self, me, which, dies):
        """One session ends; the official secret is replaced."""
        person = self.model.people[me]
        secret = sorted({person.secret, *person.sessions})[which % (len(person.sessions) + 1)]
        if secret == person.secret:
            work, kept = (lambda: Sessions(self.store).end(me, secret)), person.sessions
            self._new_secret(person, person.password, work, dies, kept)
            return
        result = self.carry_out(lambda: Sessions(self.store).end(me, secret), dies)
        standing = self.standing(me)
        assert {*standing} in ([person.sessions - {secret}, person.sessions][: 1 + (result is KILLED)])
        self.model.may_be_stale.add(secret)
        self._become(person, standing)

    @rule(me=people, dies=DIES)
    def log_out_everywhere(self, me, dies):
        person = self.model.people[me]
        self._new_secret(person, person.password, lambda: Sessions(self.store).end_all(me), dies)

    @rule(me=people, password=PASSWORDS, dies=DIES)
    def change_password(self, me, password, dies):
        person = self.model.people[me]
        self._new_secret(person, password, lambda: Sessions(self.store).change_password(me, hashed(password)), dies)

    def _new_secret(self, person, password, work, dies, kept=frozenset()):
        """Work that replaces the official secret, and ends all sessions but those that are kept."""
        result = self.carry_out(work, dies)
        secret, stored = self.raw.hmget(f"user:{person.uid}", "auth", "password")
        if result is not KILLED:
            assert secret != person.secret
        if secret != person.secret:
            assert Viewer(self.store, person.secret).user == Visitor()
            self.model.ended.add(person.secret)
            person.secret, person.password = secret, password
            self._become(person, kept)
        assert stored == hashed(person.password)
        assert {*self.standing(person.uid)} == person.sessions
        self.check_who_is_signed_in()

    def _become(self, person, sessions):
        """The person has these sessions from now on."""
        ended = person.sessions - {*sessions}
        person.sessions = {*sessions}
        self.model.ended |= ended
        for secret in ended:
            assert Viewer(self.store, secret).user == Visitor()
        for secret in person.sessions:
            assert Viewer(self.store, secret).user == person.user
