"""How people of the soak let others in, and how they get in again without their password."""

import re

from tests.support.endurance.person import Account, Invited
from tests.support.people import PASSWORD

MOST_OPEN = 3  # invitations of a person; the site allows five
INVITES = "/settings/invites/"
CODES = 10  # that are made at once


def invite(me):
    """Make an invitation, let a newcomer in with one, or take one back."""
    codes = _open_invitations(me)
    if not codes or (len(codes) < MOST_OPEN and me.random.random() < 0.3):
        sent = me.send(INVITES)
        made = set(_open_invitations(me)) - set(codes)
        assert made or not sent.ok or me.is_troubled, f"the invitation of {me.name} is not shown"
    elif me.random.random() < 0.2:
        code = me.random.choice(codes)
        sent = me.send(INVITES, revoke=code)
        if sent.ok or not sent.is_first:
            me.account.invitations[code] = False if sent.ok else None
    else:
        _let_in(me, me.random.choice(codes))


def _open_invitations(me):
    codes = re.findall(r'name="revoke" value="([^"]+)"', me.get(INVITES).page)
    me.account.invitations |= dict.fromkeys(codes, True)
    return codes


def _let_in(me, code):
    """A newcomer registers in a browser of their own, and does nothing else."""
    me.guests += 1
    browser, name = me.new_browser(), f"p{me.number}g{me.guests}"
    is_open = me.get(f"/invited/{code}/", browser).status == 200
    assert is_open or me.is_troubled, f"an open invitation of {me.name} lets nobody in"
    sent = me.send("/register/", browser, username=name, password1=PASSWORD, password2=PASSWORD, code=code)
    if not sent.ok and not sent.is_first:  # the use may be taken by a registration that a worker finishes or gives back
        sent = me.send("/login/", browser, username=name, password=PASSWORD)
        if not sent.ok:
            return
    assert sent.ok or me.is_troubled, f"{me.name} has invited {name}, who cannot join: {sent.status}"
    if sent.ok:
        me.crowd.accounts.append(Account(name, invited=Invited(me.name, code)))
        me.crowd.names.add(name)


def recover(me):
    """Make recovery codes; or set a new password with one of them, on another device."""
    if me.account.codes:
        _with_a_code(me)
        return
    sent = me.send("/settings/recovery/", password=me.account.passwords[-1])
    codes = re.findall(r'<code dir="ltr">([^<]+)</code>', sent.page)
    assert len(codes) == CODES or me.is_troubled, f"{me.name} gets {len(codes)} codes: {sent.status}"
    if codes or not sent.is_first:
        me.account.codes = codes or None


def _with_a_code(me):
    account, old = me.account, me.account.passwords
    code, new = account.codes.pop(), f"correct horse {me.hex()}"
    me.is_in, account.passwords = None, [*old, new]
    sent = me.send("/recover/", me.new_browser(), username=me.name, code=code, password1=new, password2=new)
    if sent.status == 302:
        account.passwords = [new]
        assert 'class="me"' not in me.get("/").page, "a session outlives a new password"
    elif sent.is_first:  # nobody recovers a suspended account
        assert me.is_troubled, f"{me.name} has a code that opens nothing: {sent.status}"
        account.passwords, account.codes = old, [*account.codes, code]
    else:  # an earlier try may have taken the code, or none: staff may have suspended the account meanwhile
        account.codes = None
    assert me.sign_in() or me.is_troubled


GETTING_IN = {invite: 3, recover: 2}
