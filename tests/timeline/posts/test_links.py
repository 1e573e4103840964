"""Links in a post's text: web addresses and @names. Everything else stays text. A link leads to the host that people
read in it. An address ends
before the quotation mark, the bracket or the full stop of the sentence around it, in any script."""

import re
import sys
import unicodedata
from html import unescape
from urllib.parse import unquote, urlsplit

import idna
import pytest
import regex
from django.urls import resolve
from hypothesis import given, strategies as st

from accounts.users.accounts import AccountDeletion
from retwis_site.rendering.linking import is_host
from retwis_site.store.local_cache import Memory
from tests.support.http.answers import LINK_RELATION
from tests.support.people import register
from tests.support.stored_keys import publish
from tests.support.texts.characters import EVERY, of_categories
from tests.support.texts.shown_links import LINKED, Shown
from timeline.posts import links
from timeline.posts.entities import LONGEST_POST
from timeline.posts.links import AT_SIGNS, MOST_LABELS, addresses, folded
from timeline.posts.repository import Posts

TAG = re.compile(r"/tags/([^/]+)/")
PROFILE = re.compile(r"/@([A-Za-z0-9_]{1,30})/")
PLAIN_TEXTS = [
    "Nothing at all, 3.14 and e.g. this...",
    "javascript:alert(1) data:text/html,x vbscript:x ftp://example.com/x //example.com/x file:///etc/passwd",
    "mailto:alice@example.com",
    "alice@example.com, <bob.me@example.com>",
    "https://bank.example@evil.example/",
    "https://evil.example\\@bank.example/",
    "https://bank.example℀evil.example/",  # normalization turns this character into "a/c"
    "@alice@example.com",  # an account of another site
    "@alice.example",
    "example.invalid/@alice",
    "https://example.com%2f.evil.example https://a:x@b.example https://a:99999/ https://a:80@b.example https://-a.example",
    "https://a.com:/x a.com:/x https://a.com:# a.com:#",  # a browser takes all of it
    "https://a_b.example https://example..com https://" + "a" * 64 + ".com foo://example.com xhttp://example.com",
    "a@alice é@alice e\u0301@alice _@alice @@alice",
    "@alicé @alice\u0301 @" + "a" * 31,
    "@ @- @é #1",
    "**bold** [text](x) <b>b</b> `code` &amp; &lt;",
]
FRAGMENTS = [
    *["@", "@alice", "@Bob_1", "a", "_", "é", "\u0301", "日本", "😀", "👩\u200d🚀", "\ufe0f"],
    *["\u200b", "\u202e", "\u2067", "\0", "\ufffd"],
    *["http://", "https://", "HTTPS://", "//", "ftp://", "mailto:", "javascript:", "data:", ":", "www.", "localhost"],
    *["example.com", ".com", ".io", "xn--", "xn--a.", ".", "..", "/", "\\", "?", "#", "&", "=", "%", ":80", "1.2.3.4"],
    *["<", ">", "<a href=x>", "</a>", "</p>", "<!--", "]]>", '"', "'", "&lt;", "&#x3c;", "(", ")", "[", "]", "{", "}"],
    *[" ", "  ", "\t", "\xa0", ",", ";", "!", "-", "|", "℀", "．", "＠", "{{ x }}", "{% x %}"],
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=60).map(lambda parts: "".join(parts)[:280])


@pytest.mark.parametrize(("text", "expected"), LINKED)
def test_addresses_and_names_become_links(text, expected):
    shown = Shown(text)
    assert [tuple(link) for link in shown.links] == expected
    assert shown.text == text


@pytest.mark.parametrize("text", PLAIN_TEXTS)
def test_everything_else_stays_text(text):
    shown = Shown(text)
    assert shown.links == []
    assert shown.text == text


def test_the_html_of_a_link_has_no_needless_attributes():
    assert Shown("Hi @Alice: a.com/?b&c <3").html == (
        'Hi <a href="/@Alice/">@Alice</a>: '
        '<a href="http://a.com/?b&amp;c" rel="nofollow ugc noopener" dir="ltr">a.com/?b&amp;c</a> &lt;3'
    )


@pytest.mark.parametrize(
    ("address", "rest"),
    [
        ("https://example.com/a/b/c/d/e/", ""),
        ("https://example.com/a/b/c/d/e/f", "f"),
        ("example.com/?u=https://example.org/", ".org/"),
        ("https://a.very.long.host.name.example.com/a", "/a"),
        ("https://a.very.long.host.name.example.com", ""),
        ("https://a.very.long.host.name.example.com?a", "?a"),
    ],
)
def test_of_a_long_address_the_host_and_a_beginning_are_shown(address, rest):
    shown = Shown(f"see {address} now")
    assert "".join(shown.rests) == rest
    assert shown.text == f"see {address} now"  # as a visitor copies it
    assert shown.links == [[address, address if address.startswith("https") else f"http://{address}"]]


@given(TEXTS)
def test_any_text_reads_as_typed_and_its_links_lead_where_they_say(text):
    shown = Shown(text)
    assert shown.text == text
    assert [tag for tag, _ in shown.tags] == ["a", "/a"] * (len(shown.tags) // 2)
    for (_, attributes), (label, target) in zip(shown.tags[::2], shown.links, strict=True):
        if name := PROFILE.fullmatch(target):
            assert set(attributes) == {"href"}
            assert label[0] in AT_SIGNS
            assert label[1:] == name[1]
            assert resolve(target).url_name == "profile"
        elif name := TAG.fullmatch(target):
            assert set(attributes) == {"href"}
            assert folded(label[1:]) == unquote(name[1])
            assert resolve(unquote(target)).url_name == "tag"
        else:
            assert attributes == {"href": target, "rel": LINK_RELATION, "dir": "ltr"}
            assert target in {label, f"http://{label}"}
            assert urlsplit(target).scheme in {"http", "https"}
            assert "@" not in urlsplit(target).netloc


# ---- what is searched


@given(TEXTS)
def test_a_text_that_is_not_searched_has_no_links(text):
    if not links.may_have_links(text):
        assert not any(segment.address or segment.name for segment in links.segments(text))


@pytest.mark.parametrize("text", ["Two things: tea & toast", "km/h, and/or: x < y", "Wait. What?", "A smile: ;-/"])
def test_punctuation_alone_is_no_reason_to_search(text):
    assert not links.may_have_links(text)


def test_of_a_long_text_in_a_foreign_database_the_first_words_are_searched():
    unit = "@alice and bob read https://example.com "
    shown = Shown(unit * 100)
    assert len(shown.links) == LONGEST_POST // len(unit) * 2
    assert shown.text == unit * 100
    cut = "x" * (LONGEST_POST - 12) + " example.com.evil.example.com"
    assert Shown(cut).links == []  # half of an address would lead elsewhere
    assert Shown(("x" * LONGEST_POST + " example.com") * 9).links == []


def test_the_first_links_of_a_text_are_shown():
    text = " ".join(f"@a{number}" for number in range(60))
    assert [label for label, _ in Shown(text).links] == [f"@a{number}" for number in range(links.MOST_LINKS)]
    hosts = [f"h{number}.a.de" for number in range(30)]
    shown = Shown(" ".join(hosts))
    assert [label for label, _ in shown.links] == hosts[: MOST_LABELS // 3]
    assert shown.text == " ".join(hosts)


# ---- on pages


def test_every_page_shows_the_links_and_the_store_keeps_the_text_as_typed(browser, raw, store, alice, bob):
    text = "Hello @Bob, see https://redis.io/?a=1&b=2 & <b>"
    publish(raw, store, alice, text)
    name = '<a href="/@Bob/">@Bob</a>'
    address = '<a href="https://redis.io/?a=1&amp;b=2" rel="nofollow ugc noopener" dir="ltr">https://redis.io/?a=1&amp;b=2</a>'
    expected = f'<p class="body" dir="auto">Hello {name}, see {address} &amp; &lt;b&gt;</p>'
    for client, pages in ((browser(alice), ["/", "/timeline/", "/@Alice/"]), (browser(), ["/", "/@alice/1/"])):
        for page in pages:
            assert expected in client.get(page).content.decode(), page
    assert raw.hget("post:1", "body") == text
    assert browser().get("/@Bob/").status_code == 200


# ---- A link leads to the host that people read in it, and that a browser reads.


# What looks like one of `/ \ ? # : @ .`; browsers turn some of these into one.
SLASHES = "∕⁄⧸╱〵\u0337\u0338／＼⧵﹨᜵⁁⳹ノ丿丶ⳆⳇɁʔॽːः։׃꞉：﹕︰＠﹫．。｡․‥…ꓸꓹꓺꓻꓼꓽ٠۰܁·・ꞏᐧⵈ᛫•‧⸱"
NEVER_AFTER_A_HOST = sorted(set(SLASHES) - set("："))
ENDS_OF_A_HOST = {"", "/", "?", "#", ":"}
HOSTS_IN_TEXTS = st.lists(
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


@pytest.mark.parametrize("scheme", ["https://", "HTTP://", ""])
def test_nothing_that_looks_like_a_part_of_an_address_follows_or_joins_a_host(scheme):
    hosts = [f"{scheme}paypal.com{char}signin.evil.example" for char in NEVER_AFTER_A_HOST]
    for shown in (*hosts, *(f"{host}/x" for host in hosts)):
        assert (shown, Shown(shown).links) == (shown, [])
        assert (shown, Shown(f"(see {shown})").links) == (shown, [])


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


@given(HOSTS_IN_TEXTS)
def test_the_shown_host_is_the_host_that_a_browser_goes_to(text):
    for start, link in addresses(text):
        assert text.startswith(link.text, start)
        assert link.address in {link.text, f"http://{link.text}"}
        parts = urlsplit(link.address)
        after_scheme = link.address.partition("://")[2]
        host = after_scheme[: len(parts.hostname)]
        assert host.lower() == parts.hostname
        assert parts.username is None
        assert after_scheme[len(host) :][:1] in ENDS_OF_A_HOST
        assert parts.port is None or after_scheme[len(host) :].startswith(f":{parts.netloc.rpartition(':')[2]}")
        # What browsers do: UTS #46. It changes letter case and composes letters, and nothing else.
        read = idna.uts46_remap(host, std3_rules=True)
        assert read.split(".") == [unicodedata.normalize("NFC", label.lower()) for label in host.split(".")]


# ---- An @name in a post is a link when somebody had that name when the post was written.


PAGES = ["/timeline/", "/@Alice/", "/@Alice/1/", "/timeline/atom/"]


def has_link(client, page, name):
    return f'/@{name}/">@{name}' in unescape(client.get(page).content.decode())


@pytest.mark.parametrize("page", PAGES)
def test_a_known_name_is_a_link_and_an_unknown_one_stays_text(browser, raw, store, alice, bob, page):
    publish(raw, store, alice, "@bob and @nobody")
    for client in (browser(), browser(alice), browser(bob)):
        assert has_link(client, page, "bob")
        assert not has_link(client, page, "nobody")


def test_a_name_that_is_registered_later_does_not_become_a_link(browser, raw, store, alice):
    publish(raw, store, alice, "Hello @Dora")
    register(store, "Dora")
    assert not has_link(browser(), "/@Alice/", "Dora")


def test_a_post_without_the_field_links_all_names(browser, raw, store, alice):
    publish(raw, store, alice, "Hello @nobody")
    raw.hdel("post:1", "mentions")
    assert has_link(browser(), "/@Alice/", "nobody")


def test_the_name_of_a_deleted_account_is_text(browser, raw, store, alice, bob):
    publish(raw, store, alice, "Hello @bob")
    AccountDeletion(store).delete(bob.user, bob.secret)
    Memory.clear_all()
    assert not has_link(browser(), "/@Alice/", "bob")


def test_an_edit_shows_the_new_names(raw, store, alice, member, bob, carol):
    publish(raw, store, alice, "Hello @bob")
    member.get("/@Alice/")
    Posts(store).edit(1, 1, "Hello @carol")
    assert has_link(member, "/@Alice/", "carol")


def test_mentions_take_no_round_trip_more_on_a_warm_page(raw, store, alice, member, bob, round_trips):
    publish(raw, store, alice, "Hello")
    member.get("/@Alice/")
    plain = len(round_trips(lambda: member.get("/@Alice/")).round_trips)
    publish(raw, store, alice, "Hello @bob and @nobody")
    member.get("/@Alice/")
    assert len(round_trips(lambda: member.get("/@Alice/")).round_trips) == plain


# ---- where an address ends


# Quotation marks in other categories: from keyboards, for vertical lines, of ornaments.
MARKS = [*of_categories("Pi", "Pf", "Ps", "Pe"), *'"＂＇❛❜❝❞❟❠🙶🙷🙸']
OPENING = of_categories("Ps")
CLOSING = of_categories("Pe")
QUOTES = [
    "„“",
    "„”",
    "‚‘",
    "‚’",
    "»«",
    "›‹",
    "«»",
    "‹›",
    "””",
    "’’",
    "“”",
    "‘’",
    "「」",
    "『』",
    "〝〟",
    "〝〞",
    "⹂”",
    "»»",
]
ADDRESSES = [
    "https://example.com/a",
    "https://example.com/?q=1",
    "https://example.com/#a",
    "example.com/a",
    "https://example.com",
]
AFTER = ["", " ", "。", ", ", "b", "日", "\n", "/x", "：b"]


def linked(text):
    return [one.text for _, one in addresses(text)]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_mark_is_part_of_an_address_that_it_closes(address):
    wrong = [
        f"U+{ord(mark):04X} {before!a} {after!a}"
        for mark in MARKS
        for before in (mark, "„", "(", " ")
        for after in ("", " ", "。", ", ")
        if linked(f"x {before}{address}{mark}{after}") != [address]
    ]
    assert wrong == []


@given(st.sampled_from(QUOTES), st.sampled_from(ADDRESSES[:4]), st.sampled_from(AFTER))
def test_a_quotation_ends_an_address_whatever_follows(quotes, address, after):
    opening, closing = quotes
    assert linked(f"x {opening}{address}{closing}{after}") == [address]
    assert linked(f"日本{opening}{address}{closing}{after}") in ([address], [])  # a host may have these letters


def pairs():
    """The brackets of Unicode, by their names; a few have names of their own."""
    by_name = {unicodedata.name(char): char for char in CLOSING}
    for opening in OPENING:
        name = unicodedata.name(opening)
        closing = by_name.get(name.replace("LEFT", "RIGHT"))
        if closing is not None and closing != opening:
            yield opening, closing


def test_brackets_with_their_partners_are_part_of_an_address():
    found = list(pairs())
    assert len(found) > 60
    assert {("(", ")"), ("「", "」"), ("⟨", "⟩"), ("﹙", "﹚")} <= set(found)
    wrong = []
    for opening, closing in found:
        for address in (f"https://example.com/a_{opening}b{closing}", f"https://example.com/{opening}a{closing}/b?c"):
            if linked(f"x {address}。") != [address] or linked(f"{opening}{address}{closing} x") != [address]:
                wrong.append(address)
    assert wrong == []


def test_an_apostrophe_inside_a_word_is_part_of_an_address():
    assert linked("https://fr.example/wiki/L’Équipe’s https://fr.example/l’") == [
        "https://fr.example/wiki/L’Équipe’s",
        "https://fr.example/l",
    ]
    assert linked("他说‘https://example.com/a’是") == ["https://example.com/a"]


def test_an_address_does_not_end_with_the_punctuation_of_any_script():
    ends = regex.findall(r"\p{Terminal_Punctuation}", "".join(EVERY))
    assert {"؟", "۔", "।", "။", "។", "።", "։", "。", "！"} <= set(ends)
    assert [end for end in ends if linked(f"https://example.com/a{end}{end}") != ["https://example.com/a"]] == []


@pytest.mark.parametrize("address", ["https://example.com/a", "example.com/?q=1", "https://example.com/(日本)"])
def test_a_full_stop_or_a_comma_of_another_script_ends_an_address_whatever_follows(address):
    others = [char for char in of_categories("P") if "\x7f" < char < "\U00010000"]
    ends = regex.findall(r"\p{Terminal_Punctuation}", "".join(others))
    assert {"，", "、", "。", "！", "؟", "،", "।"} <= set(ends)
    assert [end for end in ends if linked(f"看 {address}{end}谢谢") != [address]] == []
    assert linked(f"{address}、https://example.org/b，a.net") == [address, "https://example.org/b", "a.net"]


@pytest.mark.parametrize("text", ["»https://example.com/a«", "⟪https://example.com/a⟫।", "ー『https://example.com/a』"])
def test_pages_and_feeds_have_the_same_links(browser, raw, store, alice, text):
    publish(raw, store, alice, text)
    assert 'href="https://example.com/a"' in browser().get("/@alice/1/").content.decode()
    for feed in ("/@alice/atom/", "/@alice/rss/", "/timeline/atom/"):
        assert 'href="https://example.com/a"' in browser().get(feed).content.decode().replace("&quot;", '"'), feed


@pytest.mark.parametrize(("opening", "closing"), [("„", "“"), ("»", "«"), ("「", "」です"), ("‘", "’"), ("（", "）。")])
def test_the_words_of_staff_have_such_links_too(browser, raw, opening, closing):
    text = f"Read {opening}https://example.com/a{closing} <b>"
    raw.hset("site", mapping={"about": text, "rules": text, "privacy": text, "contact": text})
    Memory.clear_all()
    link = '<a href="https://example.com/a" rel="nofollow">https://example.com/a</a>'
    for address in ("/about/", "/rules/", "/privacy/"):
        assert f"Read {opening}{link}{closing} &lt;b&gt;" in browser().get(address).content.decode(), address
