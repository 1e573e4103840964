"""Links: which names may be the host of one, since people must read the host that a browser reads; and the template
filter `urlize`, for the words of staff. The settings name this module among the `builtins` of templates. Posts have
`timeline/posts/links.py`."""

import re
import unicodedata
from ipaddress import IPv4Address
from itertools import takewhile

import idna
import regex
from django.template import Library
from django.utils.html import urlizer

from retwis_site.rendering.fragments import Html, joined

# ---- Which names may be the host of a link

LONGEST_HOST = 253  # RFC 1035
LONGEST_LABEL = 63

# What an address without a scheme may end with: well-known endings, and every country's. Others are often file names or
# missing spaces after a full stop.
_GENERIC = "biz com edu gov net org pro web xxx aero asia coop info museum name shop рф"
_COUNTRIES = """
    ac ad ae af ag ai al am an ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bv bw by bz ca cc
    cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb gd
    ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh
    ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx
    my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd
    se sg sh si sj sk sl sm sn so sr st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz
    va vc ve vg vi vn vu wf ws ye yt za zm zw
"""
_ENDINGS = frozenset(f"{_GENERIC} {_COUNTRIES}".split())

# Letters and marks of hosts that look like one of `/ \ ? # : @ .` or like middle dots (confusables.txt of UTS #39,
# Unicode 13), in small letters.
_LOOKALIKES = "\u0242\u0294\u02d0\u0903\u097d\u0a83\u1427\u2cc7\u2d48\u30ce\u4e36\u4e3f\ua4f8-\ua4fd\ua78f"
# IDNA 2008 allows these only beside certain others. Some look like dots, two are invisible.
_IN_CONTEXT = "\xb7\u0375\u05f3\u05f4\u200c\u200d\u30fb\u0660-\u0669\u06f0-\u06f9"
_refused = re.compile(f"[{_LOOKALIKES}{_IN_CONTEXT}]").search
_LABEL = "[A-Za-z0-9\x80-\U0010ffff-]+"
_are_labels = re.compile(rf"{_LABEL}(?:\.{_LABEL})*").fullmatch
_is_number = re.compile("[0-9]+|0[xX][0-9A-Fa-f]*").fullmatch  # as a last label, browsers read an IPv4 address
# Directions of characters, as `unicodedata.bidirectional` has them.
_FROM_RIGHT = frozenset({"R", "AL"})
_DIGITS = frozenset({"EN", "AN"})
_OVERLAY = 1  # the combining class of strokes through the character before


def has_known_ending(host: str) -> bool:
    """Whether a host ends as people write hosts without a scheme: `example.com`, not `e.g`."""
    ending = host.rpartition(".")[2].lower()
    return ending in _ENDINGS or ending.startswith("xn--")


def is_host(name: str) -> bool:
    """Whether a name may be a host, without a dot at its end. Letter case does not count.

    Browsers read `http://2130706433/` as 127.0.0.1. So a host that ends with a number must be a usual IPv4 address."""
    if len(name) > LONGEST_HOST or max(map(len, name.split("."))) > LONGEST_LABEL:
        return False
    if not _are_labels(name) or "-." in f"{name}." or ".-" in f".{name}":
        return False
    if _is_number(name.rpartition(".")[2]):
        return _is_ipv4(name)
    return name.isascii() or _is_international(unicodedata.normalize("NFC", name.lower()))


def host_at_the_start(name: str) -> str:
    """The host with which a name begins; empty without one. A sentence in a script without spaces may follow it:
    `example.comを見て`. No ending has letters of ASCII and of another script than Latin, so nobody has such a host."""
    if not is_host(name):
        return ""
    ending = name.rpartition(".")[2]
    latin = len("".join(takewhile(_is_latin, ending)))
    if latin == len(ending) or not any(map(str.isascii, ending)):
        return name
    host = name[: latin - len(ending)]
    return host if latin and is_host(host) else ""


def digits_move_before(host: str, rest: str) -> bool:
    """Whether digits in the rest of an address are shown before its host: those after letters that are written from
    right to left."""
    if host.isascii():
        return False
    last = next((kind for kind in map(unicodedata.bidirectional, reversed(host)) if kind in _FROM_RIGHT | {"L"}), "L")
    after = next((kind for kind in map(unicodedata.bidirectional, rest) if kind in _DIGITS | {"L"}), "L")
    return last in _FROM_RIGHT and after in _DIGITS


def _is_ipv4(name: str) -> bool:
    try:
        IPv4Address(name)
    except ValueError:
        return False
    return True


def _is_latin(char: str) -> bool:
    return char.isascii() or unicodedata.name(char, "").startswith(("LATIN", "COMBINING"))


def _is_international(host: str) -> bool:
    """Whether the labels with letters outside ASCII are valid in IDNA 2008 and nothing in them looks like more. Beside
    a label that is written from right to left, each label must begin with a letter: digits would move."""
    if _refused(host) or _OVERLAY in map(unicodedata.combining, host):
        return False
    from_right = not _FROM_RIGHT.isdisjoint(map(unicodedata.bidirectional, host))
    try:
        for label in host.split("."):
            if not label.isascii():
                idna.check_label(label)
            if from_right:
                idna.check_bidi(label, check_ltr=True)
    except idna.IDNAError:
        return False
    return True


# ---- The filter `urlize`. Django's own takes the punctuation of other scripts for a part of an address.

register = Library()

# Brackets of ASCII may be part of an address: Django looks for their partners.
_between_words = regex.compile(r"""([\s<>"'\p{Pi}\p{Pf}[\p{Ps}\p{Pe}\p{Term}--\p{ASCII}]]+)""", regex.V1)


@register.filter
def urlize(text: str) -> Html:
    """The text with web and mail addresses as links."""
    words = _between_words.split(text)
    return joined(urlizer.handle_word(word, safe_input=False, nofollow=True, autoescape=True) for word in words)
