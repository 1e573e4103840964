"""Fragments: a template is rendered once for each language and shape, agrees with its declaration, escapes texts."""

import math
import random
from enum import StrEnum
from itertools import combinations, product

import pytest
from django.template import engines
from django.utils.translation import gettext_lazy, override
from hypothesis import given
from hypothesis import strategies as st

from retwis_site.rendering import fragments
from retwis_site.rendering.fragment_checks import FragmentError
from retwis_site.rendering.fragments import EITHER, Fragment, Html, escaped, joined
from retwis_site.rendering.pages import MESSAGE
from tests.support.protocols.thoroughness import tries_all
from tests.support.stored_keys import publish
from timeline.relations.html import COUNTS

LANGUAGES = ("en", "de", "ar")
# Shapes of a fragment: so many at random, and more until any two or three values have met. The search has 64512.
TRIED, MEET = (1500, 3) if tries_all() else (30, 2)


@pytest.fixture
def made(monkeypatch):
    """`made(source, slots=...)`: a fragment whose template has this source. It stays out of the list of all."""
    monkeypatch.setattr(Fragment, "every", [])
    engine = engines["django"]

    def make(source, **declared):
        monkeypatch.setattr("django.template.loader.get_template", lambda name: engine.from_string(source))
        fragment = Fragment("made.html", **declared)
        monkeypatch.setattr(
            "django.template.loader.render_to_string", lambda name, context: engine.from_string(source).render(context)
        )
        return fragment

    return make


# ---- filling


def test_texts_are_escaped_and_html_is_not(made):
    fragment = made("<p title='{{ a }}'>{{ b }}{{ c }}</p>", slots=("a", "b", "c"))
    html = fragment.fill("en", a="'\"<&>", b=Html("<b>1</b>"), c=7)
    assert html == "<p title='&#x27;&quot;&lt;&amp;&gt;'><b>1</b>7</p>"
    assert type(html) is Html


class Colour(StrEnum):
    HOSTILE = "<script>"


@pytest.mark.parametrize("value", [Colour.HOSTILE, gettext_lazy("<script>")])
def test_other_kinds_of_text_are_escaped_too(made, value):
    assert made("{{ a }}", slots=("a",)).fill("en", a=value) == "&lt;script&gt;"


@given(st.text())
def test_any_text_stands_where_it_was_filled_in(text):
    tags = "%(text)s {{ text }} %"
    assert MESSAGE.fill("en", text=text, tags=tags) == f'<p class="message {tags}">{escaped(text)}</p>'


def test_a_percent_sign_in_a_template_stays(made):
    assert made("100% {{ a }} %s %%", slots=("a",)).fill("en", a="%s") == "100% %s %s %%"


def test_parts_that_are_texts_are_escaped_when_they_are_joined():
    assert joined([Html("<b>"), "<i>", Html("</b>")]) == "<b>&lt;i&gt;</b>"


@pytest.mark.parametrize("filled", [{}, {"a": "x"}, {"a": "x", "b": "y", "c": "z"}])
def test_a_slot_left_empty_and_an_undeclared_one_are_errors(made, filled):
    with pytest.raises(FragmentError, match=r"made\.html"):
        made("{{ a }}{{ b }}", slots=("a", "b")).fill("en", **filled)


def test_a_shape_has_only_its_declared_values(made):
    fragment = made("{% if end == 'cap' %}1{% endif %}", shape={"end": ("", "cap")})
    assert (fragment.fill("en", end=""), fragment.fill("en", end="cap")) == ("", "1")
    with pytest.raises(FragmentError, match="end='other' is not in its shape"):
        fragment.fill("en", end="other")
    with pytest.raises(FragmentError, match="'end' is not given"):
        fragment.fill("en")


def test_a_number_takes_the_plural_form_of_its_language():
    with override("de"):  # the language that is asked for counts, not the active one
        for number, words in ((0, "0 followers"), (1, "1 follower"), (2, "2 followers"), (12345, "12345 followers")):
            html = COUNTS.fill("en", uid=1, at="ann", following=0, followers=number)
            assert f"<strong>{number}</strong> {words.partition(' ')[2]}</a>" in html


def test_the_arabic_forms_of_a_number_are_shown():
    words = set()
    for number in (0, 1, 2, 3, 11, 100, 1003):
        html = COUNTS.fill("ar", uid=1, at="ann", following=5, followers=number)
        words.add(html.replace(f"<strong>{number}</strong>", ""))
    assert len(words) == 4  # three and more share a word


def test_each_language_and_shape_is_rendered_once(made, monkeypatch):
    fragment = made("{% if own %}mine {% endif %}{{ a }}", slots=("a",), shape={"own": EITHER})
    rendered = []
    real = Fragment._render
    monkeypatch.setattr(Fragment, "_render", lambda self, *rest: rendered.append(rest[0]) or real(self, *rest))
    for language in LANGUAGES:
        for own in (True, False, True, False):
            fragment.fill(language, own=own, a=f"{language} {own}")
    assert sorted(rendered) == sorted((language, own) for language in LANGUAGES for own in EITHER)


def test_with_debug_a_changed_template_shows_at_once(made, monkeypatch, settings):
    settings.DEBUG = True
    assert made("old {{ a }}", slots=("a",)).fill("en", a=1) == "old 1"
    assert made("new {{ a }}", slots=("a",)).fill("en", a=1) == "new 1"


def test_with_debug_a_card_is_made_anew(browser, raw, store, alice, settings, monkeypatch):
    publish(raw, store, alice, "Hello")
    settings.DEBUG = True
    made = []
    real = Fragment.prepare
    monkeypatch.setattr(Fragment, "prepare", lambda self, *rest, **given: made.append(1) or real(self, *rest, **given))
    for _ in range(2):
        browser().get("/timeline/")
    assert made == [1, 1]


# ---- what is kept


def test_a_fragment_keeps_a_bounded_number_of_shapes(made, monkeypatch):
    monkeypatch.setattr(fragments, "MOST_SHAPES", 2)
    fragment = made("{{ a }}{% if b == 1 %}one{% endif %}", slots=("a",), shape={"b": (1, 2, 3)})
    for value in (1, 2, 3, 1):
        assert fragment.fill("en", a="x", b=value) == ("xone" if value == 1 else "x")
        assert 1 <= len(fragment._rendered) <= 2


def test_the_shapes_of_a_fragment_share_what_they_have_in_common(made):
    """Else a visitor who asks for a page in all of its shapes fills the memory."""
    source = "<p>the same</p>{{ a }}{% if b == 1 %}one{% else %}another{% endif %}{{ c }}<p>the same</p>"
    fragment = made(source, slots=("a", "c"), shape={"b": (1, 2)})
    for value in (1, 2):
        fragment.fill_as_sent("en", a="x", c="y", b=value)
    one, another = fragment._rendered.values()
    for shape, other in ((one, another), (one.as_sent, another.as_sent)):
        assert shape._places is other._places
        same = [piece is counterpart for piece, counterpart in zip(shape._pieces, other._pieces, strict=True)]
        assert same == [True, True, False, True, True]


# ---- templates and declarations


def test_every_template_agrees_with_its_declaration():
    Fragment.load_all()
    assert len({fragment.template for fragment in Fragment.every}) >= 30


def filled(fragment, language, chosen):
    values = {name: f"‹{name}›" for name in fragment.slots} | dict.fromkeys(fragment.numbers, 3)
    return fragment.fill(language, **dict(zip(fragment.shape, chosen, strict=True)), **values)


def shapes(fragment):
    """Every shape; of very many some, in which any few values meet. `load` has looked for mistakes on every path."""
    every = list(product(*fragment.shape.values()))
    if len(every) <= TRIED:
        return every
    together = list(combinations(range(len(fragment.shape)), MEET))
    sizes = [len(values) for values in fragment.shape.values()]
    missing = sum(math.prod(sizes[place] for place in places) for places in together)
    some, met = [], set()
    for shape in random.Random(1).sample(every, len(every)):
        new = {(places, tuple(shape[place] for place in places)) for places in together} - met
        if new or len(some) < TRIED:
            some.append(shape)
            met |= new
        if len(met) == missing and len(some) >= TRIED:
            break
    return some


def test_every_fragment_can_be_filled_in_every_shape():
    """Other languages have other words in the same shapes. So they get shapes that show every line there is."""
    Fragment.load_all()
    for fragment in Fragment.every:
        shown = set()
        for chosen in shapes(fragment):
            html = filled(fragment, "en", chosen)
            assert "%(" not in html
            lines = set(html.splitlines())
            if not lines <= shown:
                shown |= lines
                for language in LANGUAGES[1:]:
                    assert "%(" not in filled(fragment, language, chosen)


MISTAKES = {
    "{{ other }}": "other is not declared",
    "{% if other %}{% endif %}": "other is not declared",
    "{% if slot %}1{% endif %}": "needs the value of slot",
    "{% if not slot %}1{% endif %}": "needs the value of slot",
    "{% if known and slot == 'a' %}1{% endif %}": "needs the value of slot",
    "{% if number %}1{% endif %}": "needs the value of number",
    "{% if number > 1 %}1{% endif %}": "needs the value of number",
    "{{ slot|upper }}": "needs the value of slot",
    "{{ slot|default:'' }}": "needs the value of slot",
    "{{ known|default:slot }}": "needs the value of slot",
    "{{ slot.part }}": "needs the value of slot",
    "{% for one in slot %}{% endfor %}": "a loop over slot",
    "{% with name=slot %}{{ name|lower }}{% endwith %}": "needs the value of name",
    "{% with name=slot %}{% if name %}1{% endif %}{% endwith %}": "needs the value of name",
    "{% load i18n %}{% blocktranslate asvar text %}{{ slot }}!{% endblocktranslate %}{% if text %}1{% endif %}": "text",
    "{% load i18n %}{% blocktranslate count n=slot %}one{% plural %}{{ n }}{% endblocktranslate %}": "must be a number",
    "{% load i18n %}{% blocktranslate %}{{ other }}{% endblocktranslate %}": "other is not declared",
    "{% url 'profile' slot as place %}{% if place %}1{% endif %}": "needs the value of place",
    "{% url 'profile' other %}": "other is not declared",
    "{% csrf_token %}": "csrf_token is not declared",
    "{% include slot %}": "names the templates",
    "{% now 'Y' %}": "cannot have the tag NowNode",
    "": "known, number, slot declared but not used",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_template_is_found_when_it_is_loaded(made, mistake):
    used = "" if not mistake else "{{ slot }}{{ number }}{% if known %}{% endif %}"
    fragment = made(mistake + used, slots=("slot",), numbers=("number",), shape={"known": ("", "a")})
    with pytest.raises(FragmentError, match=MISTAKES[mistake]):
        fragment.load()


def test_a_mistake_on_a_path_that_no_page_takes_is_found(made):
    fragment = made("{% if known %}{% if known %}{{ other }}{% endif %}{% endif %}", shape={"known": (False,)})
    with pytest.raises(FragmentError, match="other is not declared"):
        fragment.fill("en", known=False)


def test_the_site_says_which_template_is_wrong_before_it_starts(monkeypatch):
    from retwis_site.checks import templates_agree_with_their_declarations

    assert templates_agree_with_their_declarations() == []
    monkeypatch.setattr(Fragment, "every", [])
    Fragment("timeline/timelines/_stopped.html", slots=("nothing",))
    [error] = templates_agree_with_their_declarations()
    assert (error.id, "nothing declared but not used" in error.msg) == ("retwis.E003", True)


# ---- faults of the pages before


POST = {"slots": ("age", "csrf_token"), "shape": {"own": EITHER}}


def test_a_form_may_stand_above_the_age_of_a_post(made):
    source = "{% if own %}<form>{% csrf_token %}</form>{% endif %}<time>{{ age }}</time>"
    html = made(source, **POST).fill("en", own=True, age="1 minute", csrf_token="t")
    assert html.index('value="t"') < html.index("<time>1 minute</time>")


def test_a_state_of_the_viewer_that_is_not_declared_is_an_error_and_never_another_viewers(made):
    source = "{% if liked %}liked{% endif %}{% if own %}{% csrf_token %}{% endif %}{{ age }}"
    with pytest.raises(FragmentError, match="liked is not declared"):
        made(source, **POST).fill("en", own=True, age="1 minute", csrf_token="t")
    liked = made(source, slots=POST["slots"], shape={"own": EITHER, "liked": EITHER})
    for is_liked in (True, False, True):
        assert ("liked" in liked.fill("en", own=False, liked=is_liked, age="", csrf_token="")) is is_liked


def test_the_name_of_a_slot_may_have_a_number(made):
    names = ("age2", "age", "h1_text", "text22")
    html = made("".join(f"[{{{{ {name} }}}}]" for name in names), slots=names)
    assert html.fill("en", **{name: name for name in names}) == "[age2][age][h1_text][text22]"


def test_a_kept_part_keeps_how_it_was_filled_last(made):
    part = made("{{ who }} {{ age }}, {{ age }}{{ likes }}!", slots=("who", "age", "likes")).prepare(
        "en", who="<alice>"
    )
    kept = part.to_keep()

    def fill(age, likes):
        return kept.filled((age, likes)) or kept.fill((age, likes), {"age": escaped(age), "likes": escaped(likes)})

    assert kept.filled(None) is None
    first = fill("a minute", "")
    assert first == b"&lt;alice&gt; a minute, a minute!"
    assert fill("a minute", "") is first
    assert fill("1 Stunde für <b>", "23").decode() == "&lt;alice&gt; 1 Stunde für &lt;b&gt;, 1 Stunde für &lt;b&gt;23!"
    assert kept.filled(("a minute", "")) is None
    assert fill("a minute", "") == first


def test_a_kept_part_may_begin_and_end_with_a_slot(made):
    kept = made("{{ who }}{{ age }}", slots=("who", "age")).prepare("en").to_keep()
    assert kept.fill(1, {"who": escaped("a"), "age": escaped("b")}) == b"ab"
    assert kept.fill(2, {"who": escaped(""), "age": escaped("ccc")}) == b"ccc"
    assert kept.fill(3, {"who": escaped("d"), "age": escaped("e")}) == b"de"


def test_one_slot_of_a_kept_part_is_filled_anew_while_the_others_stay(made):
    kept = made("{{ who }}: {{ text }}, {{ age }}", slots=("who", "text", "age")).prepare("en", who="alice").to_keep()
    assert kept.filled_but("today", "text", escaped("tea")) is None
    kept.fill("today", {"text": escaped("a long text"), "age": escaped("1 h")})
    assert kept.filled_but("today", "text", escaped("tea & cake")) == b"alice: tea &amp; cake, 1 h"
    assert kept.filled_but("today", "text", escaped("")) == b"alice: , 1 h"
    assert kept.filled_but("tomorrow", "text", escaped("tea")) is None
