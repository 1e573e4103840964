"""A link leads to the host that people read in it, and that a browser reads."""

import sys
import unicodedata
from urllib.parse import urlsplit

import idna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.texts.shown_links import Shown
from timeline.posts.links import addresses, is_host

# What looks like one of `/ \ ? # : @ .`; browsers turn some of these into one.
SLASHES = "∕⁄⧸╱〵\u0337\u0338／＼⧵﹨᜵⁁⳹ノ丿丶ⳆⳇɁʔॽːः։׃꞉：﹕︰＠﹫．。｡․‥…ꓸꓹꓺꓻꓼꓽ٠۰܁·・ꞏᐧⵈ᛫•‧⸱"
NEVER_AFTER_A_HOST = sorted(set(SLASHES) - set("："))
ENDS_OF_A_HOST = {"", "/", "?", "#", ":"}
TEXTS = st.lists(
    st.sampled_from(
        [
            "https://",
            "http://",
            "paypal.com",
            "evil.example",
            "bücher.de",
            "пример.рф",
            "a@",
            ":80",
            ":",
            "/",
            "\\",
            "?",
            "#",
            ".",
        ]
    )
    | st.sampled_from(sorted(SLASHES))
    | st.characters(exclude_categories=["Cs"])
    | st.text(max_size=3),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("char", NEVER_AFTER_A_HOST, ids=lambda char: f"U+{ord(char):04X}")
@pytest.mark.parametrize("scheme", ["https://", "HTTP://", ""])
def test_nothing_that_looks_like_a_part_of_an_address_follows_or_joins_a_host(char, scheme):
    for shown in (f"{scheme}paypal.com{char}signin.evil.example", f"{scheme}paypal.com{char}signin.evil.example/x"):
        assert Shown(shown).links == []
        assert Shown(f"(see {shown})").links == []


def test_a_slash_that_is_none_does_not_hide_the_host():
    assert Shown("https://paypal.com∕signin.evil.example").links == []


# ---- a sentence after a host, in a script without spaces


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("詳しくはhttps://example.comを見て", ["https://example.com"]),
        ("访问https://example.com吧。再见", ["https://example.com"]),
        ("ดูที่https://example.comครับ", ["https://example.com"]),
        ("http://localhostを見て https://1.2.3.4を見て", ["http://localhost", "https://1.2.3.4"]),
        ("请看 https://example.com。谢谢", ["https://example.com"]),
        ("看 example.com。很好！a.com。再见。你好", ["example.com", "a.com"]),
        ("https://example.com|x a.com|b.com", ["https://example.com", "a.com", "b.com"]),
        # Such endings are in use: in Latin, letters outside ASCII are part of the host.
        ("https://example.vermögensberater", ["https://example.vermögensberater"]),
    ],
)
def test_a_sentence_may_follow_a_host_without_a_space(text, links):
    assert [label for label, _ in Shown(text).links] == links


@pytest.mark.parametrize(
    "text",
    [
        "https://paypal.com。evil.example",
        "https://paypal.com。谢谢.evil.example",
        "https://paypal.com。谢谢。evil.example",
        "https://paypal.com。谢谢@evil.example",
        "https://paypal.comを@evil.example",
        "https://paypal.comを。evil.example",
        "https://paypal.comを:80@evil.example",
        "https://paypal.comノevil",
        "https://a.をcom/",
    ],
)
def test_a_text_that_leads_elsewhere_as_a_whole_has_no_link(text):
    assert Shown(text).links == []


# ---- numbers


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f.1", "017700000001", "010.0.0.1", "127.1", "1.2.3.256", "a.1", "0x", "bücher.0X7F"]
)
def test_a_number_that_browsers_read_as_another_address_is_no_host(host):
    assert Shown(f"http://{host}/x").links == []


@pytest.mark.parametrize(
    "address",
    [
        "https://אב.גד/1.2.3.4/",
        "https://אב.גד/א/1.2.3.4/",
        "https://אב.גד?1.2.3.4",
        "https://אב.גד:8080/",
        "https://مثال.مثال/١.٢",
        "https://אב.8.8.8.de/",
        "https://8.אב.example/",
    ],
)
def test_no_digits_stand_before_a_host_that_is_written_from_right_to_left(address):
    assert Shown(address).links == []


@pytest.mark.parametrize("address", ["https://אב.גד/א/a1", "https://אב.גד", "https://אב.example/1", "https://ü.8.de/1"])
def test_other_digits_are_part_of_an_address(address):
    assert Shown(address).links == [[address, address]]


# ---- all scripts


@pytest.mark.parametrize(
    "host",
    [
        "bücher.example",
        "BÜCHER.example",
        "bu\u0308cher.example",  # as some keyboards send it
        "пример.рф",
        "例え.jp",
        "مثال.example",
        "דוגמה.example",
        "उदाहरण.example",
        "straße.de",
        "xn--bcher-kva.example",
        "a--b.example",
        "127.0.0.1",
    ],
)
def test_hosts_in_every_script_are_links(host):
    assert Shown(f"https://{host}/x").links == [[f"https://{host}/x", f"https://{host}/x"]]


def test_no_stroke_through_a_letter_is_in_a_host():
    overlays = [char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.combining(char) == 1]
    assert "\u0338" in overlays
    assert [f"U+{ord(char):04X}" for char in overlays if is_host(f"bücher{char}x.example")] == []


def test_no_character_of_a_host_is_read_as_a_separator():
    separators = set("/\\?#:@.%")
    read_as_others = [
        char
        for char in map(chr, range(0x80, sys.maxunicode + 1))
        if separators & set(unicodedata.normalize("NFKC", char) + unicodedata.normalize("NFKC", char.lower()))
    ]
    assert {"．", "／", "℀"} <= set(read_as_others)
    for char in read_as_others:
        assert not is_host(f"bücher{char}x.example")
        if char not in "：？":  # a Chinese sentence goes on; the host before them is read as the host
            assert list(addresses(f"https://a.com{char}b.com")) == []


@given(TEXTS)
def test_the_shown_host_is_the_host_that_a_browser_goes_to(text):
    for address in addresses(text):
        shown = text[address.start : address.end]
        assert address.url in {shown, f"http://{shown}"}
        parts = urlsplit(address.url)
        after_scheme = address.url.partition("://")[2]
        host = after_scheme[: len(parts.hostname)]
        assert host.lower() == parts.hostname
        assert parts.username is None
        assert after_scheme[len(host) :][:1] in ENDS_OF_A_HOST
        assert parts.port is None or after_scheme[len(host) :].startswith(f":{parts.netloc.rpartition(':')[2]}")
        # What browsers do: UTS #46. It changes letter case and composes letters, and nothing else.
        read = idna.uts46_remap(host, std3_rules=True)
        assert read.split(".") == [unicodedata.normalize("NFC", label.lower()) for label in host.split(".")]
