"""What people of the soak write."""

import re

from tests.support.endurance.reading import TAGS


def post(me, **target):
    """A post that its author sees on their profile from then on."""
    tag, mark = me.random.choice(TAGS), me.hex()
    text = f"{me.name} writes {mark} about a cup of tea #{tag} @{me.someone()}"
    token = f"soak-{me.hex()}"
    sent = me.send("/post/", body=text, token=token, **target)
    if sent.ok:
        me.account.texts[token] = text
        _is_on_the_profile(me, mark)
    elif not sent.is_first:
        me.account.maybe.add(token)
    assert sent.ok or me.is_troubled or target, f"{me.name} could not post: {sent.status}"
    return sent.ok, text, token


def _is_on_the_profile(me, mark):
    if not me.is_troubled and me.random.random() < 0.2:
        path = f"/@{me.name}/replies/"
        assert mark in me.get(path).page, f"{path} lacks {mark}, which was acknowledged"


def double_click(me):
    is_posted, text, token = post(me)
    if is_posted:
        me.send("/post/", body=text, token=token)


def reply(me):
    if found := me.some_post():
        post(me, reply_to=found[1])


def quote(me):
    if found := me.some_post():
        post(me, quote=found[1])


def _own(me):
    """The id of a post on the own profile; None without one."""
    pids = re.findall(rf'"/@{me.name}/(\d+)/delete/"', me.get(f"/@{me.name}/").page)
    return int(me.random.choice(pids)) if pids else None


def edit(me):
    pid = _own(me)
    if pid is None:
        return
    text = f"{me.name} writes {me.hex()} anew #{me.random.choice(TAGS)}"
    sent = me.send(f"/@{me.name}/{pid}/edit/", body=text)
    if sent.ok:
        me.account.edited[pid] = text
    elif not sent.is_first:
        me.account.unsure.add(pid)


def delete(me):
    pid = _own(me)
    if pid is None:
        return
    sent = me.send(f"/@{me.name}/{pid}/delete/")
    if sent.ok:
        me.account.gone.add(pid)
    elif not sent.is_first:
        me.account.unsure.add(pid)


def pin(me):
    pid = _own(me)
    if pid is not None:
        me.send(f"/@{me.name}/{pid}/" + me.random.choice(["pin/", "unpin/"]))


def report(me):
    """Report a person or a post."""
    found = me.some_post()
    whom, pid = found if found and me.random.random() < 0.5 else (me.someone(), "0")
    if whom == me.name:
        return
    address = f"/@{whom}/report/" if pid == "0" else f"/@{whom}/{pid}/report/"
    if me.send(address, reason="other", note=f"privateof{me.name}x{me.hex()}").ok:
        me.account.reports.add((whom, pid))


WRITING = {post: 12, double_click: 2, reply: 8, quote: 2, edit: 3, delete: 3, pin: 1, report: 1}
