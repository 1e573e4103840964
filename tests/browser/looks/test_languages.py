"""German and Arabic (right to left): chosen, kept, and taken to another browser by a login."""

import re

import pytest
from playwright.sync_api import expect

from accounts.users.names import NameIndex
from tests.browser.support.steps import nothing_scrolls_sideways, post, stayed, stays
from tests.browser.support.windows import PHONE
from tests.support.people import PASSWORD
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows

ARABIC, GERMAN, ENGLISH = "العربية", "Deutsch", "English"
FIRST_POST = 160  # pixels from the top of a phone
RIGHT_EDGE = """(it) => {
  const text = document.createRange();
  text.selectNodeContents(it);
  return text.getBoundingClientRect().right;
}"""
# The words of headings and labels that go on below without a hyphen. A piece before a soft hyphen is a word here.
TORN = """(main) => {
  const torn = [], line = document.createRange();
  for (const it of main.querySelectorAll("h1, h2, label"))
    for (const text of it.childNodes)
      for (const { 0: word, index } of (text.data ?? "").matchAll(/[^\\s\\u00ad]{3,}/g)) {
        line.setStart(text, index + 1);
        line.setEnd(text, index + word.length);
        if (line.getClientRects().length > 1) torn.push(word);
      }
  return torn;
}"""
DIRECTION = {"ar": "rtl", "de": "ltr", "en": "ltr"}


def choose(page, name):
    """As somebody does who can read nothing else on the page."""
    page.goto("/settings/language/")
    page.get_by_role("radio", name=re.compile(name)).check()
    page.locator("main").get_by_role("button").click()
    expect(page).not_to_have_url(re.compile("/settings/language/"))


def speaks(page, code):
    expect(page.locator("html")).to_have_attribute("lang", code)
    expect(page.locator("html")).to_have_attribute("dir", DIRECTION[code])


def left_edge(locator):
    return locator.bounding_box()["x"]


# ---- choosing


@pytest.mark.parametrize("scripts", [pytest.param(True, marks=pytest.mark.gate), False], ids=["scripts", "no scripts"])
def test_a_visitor_who_chooses_arabic_reads_from_right_to_left_and_can_go_back(window, scripts):
    page = window(at="/timeline/", java_script_enabled=scripts)
    page.get_by_role("contentinfo").get_by_role("link", name="Language").click()
    page.get_by_role("radio", name=re.compile(ARABIC)).check()
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile("/timeline/$"))
    speaks(page, "ar")
    main = page.get_by_role("navigation", name="القائمة الرئيسية")
    ways = [main.get_by_role("link", name=name) for name in ("الرئيسية", "الجميع", "تسجيل الدخول")]
    edges = [left_edge(way) for way in ways]
    assert edges == sorted(edges, reverse=True)
    page.get_by_role("contentinfo").get_by_role("link", name="اللغة").click()
    page.get_by_role("radio", name="English").check()
    page.get_by_role("button", name="حفظ").click()
    speaks(page, "en")


def test_who_has_not_chosen_reads_what_their_browser_asks_for(window):
    for locale, code in (("de-AT", "de"), ("ar-EG", "ar"), ("fr-FR", "en")):
        page = window(at="/", locale=locale)
        speaks(page, code)


def test_the_choice_follows_its_user_into_another_browser_and_stays_after_the_logout(window, alice):
    choose(window(alice), GERMAN)
    page = window(at="/login/", locale="ar-EG")
    speaks(page, "ar")
    page.get_by_label("اسم المستخدم").fill(alice.user.username)
    page.get_by_label("كلمة المرور").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button").first.click()  # the second is for a passkey
    expect(page.get_by_role("status").filter(has_text="Willkommen zurück")).to_be_visible()
    speaks(page, "de")
    page.get_by_role("banner").locator("summary").click()
    page.get_by_role("button", name="Abmelden").click()
    expect(page.get_by_role("status").filter(has_text="Du bist abgemeldet")).to_be_visible()
    speaks(page, "de")


# ---- what people do, in Arabic


@pytest.mark.gate
def test_on_a_phone_in_arabic_one_writes_follows_and_deletes_as_ever(window, store, alice, bob):
    page = window(alice, viewport=PHONE)
    choose(page, ARABIC)
    page.goto("/")
    bar = page.get_by_role("navigation", name="القائمة الرئيسية")
    assert bar.bounding_box()["y"] > PHONE["height"] / 2
    composer = page.get_by_role("textbox", name="ما الجديد؟")
    assert composer.evaluate("box => getComputedStyle(box).direction") == "rtl"
    composer.fill("مرحبًا, hello")
    button = page.get_by_role("button", name="نشر", exact=True)
    assert left_edge(button) < PHONE["width"] / 2
    button.click()
    expect(page.get_by_role("status").filter(has_text="تم النشر.")).to_be_visible()
    written = page.get_by_role("article").filter(has_text="مرحبًا")
    expect(written.locator("time")).to_have_attribute("title", re.compile("^نُشر "))
    written.get_by_role("link", name="المزيد", exact=True).click()
    written.get_by_text("حذف", exact=True).click()
    written.get_by_role("button", name="نعم، حذف هذا المنشور").click()
    expect(page.get_by_role("status").filter(has_text="تم الحذف.")).to_be_visible()
    page.goto(f"/@{bob.user.username}/")
    stays(page)
    page.get_by_role("button", name=f"متابعة \u2068{bob.user.username}\u2069").click()
    expect(page.get_by_role("status").filter(has_text="أنت الآن تتابع")).to_be_visible()
    page.get_by_role("button", name=f"إلغاء المتابعة: \u2068{bob.user.username}\u2069").click()
    expect(page.get_by_role("status").filter(has_text="لم تعد تتابع")).to_be_visible()
    stayed(page)
    nothing_scrolls_sideways(page)


def test_what_a_script_says_is_in_the_language_too(window, alice):
    page = window(alice)
    choose(page, GERMAN)
    page.goto("/")
    composer = page.get_by_role("textbox", name="Was gibt es Neues?")
    composer.fill("x" * 259)
    composer.press_sequentially("yz")
    expect(page.locator("#said")).to_have_text("Zeichen übrig: 20")
    composer.fill("x" * 281)
    expect(page.locator("#said")).to_have_text("Zu lang für einen Beitrag")
    words = page.locator("#said")
    expect(words).to_have_attribute("data-unreachable", re.compile("^Die Seite war nicht zu erreichen"))
    expect(words).to_have_attribute("data-failed", re.compile("^Das hat nicht geklappt"))


def test_in_arabic_a_handle_comes_after_the_name_whichever_way_that_is_written(window, raw, store, alice, bob):
    raw.hset(f"user:{alice.user.uid}", "name", "نور الهدى")
    raw.hset(f"user:{bob.user.uid}", "name", "Bob Cratchit")
    page = window()
    choose(page, ARABIC)
    for login, name in ((alice, "نور الهدى"), (bob, "Bob Cratchit")):
        publish(raw, store, login, "x")
        page.goto(f"/@{login.user.username}/")
        for place in (page.get_by_role("heading", level=1), page.get_by_role("article")):
            handle = place.get_by_text(f"@{login.user.username}", exact=True)
            assert left_edge(handle) < left_edge(place.get_by_text(name, exact=True))


def test_marks_that_are_stacked_on_a_letter_of_a_name_do_not_reach_into_other_posts(window, raw, store, alice, bob):
    raw.hset(f"user:{bob.user.uid}", "name", "o" + 49 * "\u0301")
    publish(raw, store, bob, "Below")
    publish(raw, store, alice, "Above")
    page = window(alice, at="/timeline/")
    above = post(page, "Above").get_by_text("Above", exact=True)
    beside_it = above.screenshot()
    post(page, "Below").evaluate("element => { element.style.visibility = 'hidden' }")
    assert above.screenshot() == beside_it


def test_the_name_under_the_pointer_is_underlined(window, store, raw, alice, bob):
    raw.hset(f"user:{bob.user.uid}", "name", "Bob of Bergen")
    publish(raw, store, bob, "Mine")
    name = post(window(alice, at="/timeline/"), "Mine").get_by_text("Bob of Bergen", exact=True)
    name.hover()
    expect(name).to_have_css("text-decoration-line", "underline")


def test_in_arabic_a_handle_of_the_first_steps_begins_below_its_name(window, raw, store, alice, bob, carol):
    raw.hset(f"user:{carol.user.uid}", "name", "Carol")
    Follows(store).follow(alice.user.uid, bob.user.uid)
    Follows(store).follow(bob.user.uid, carol.user.uid)  # so carol is suggested
    page = window(alice)
    choose(page, ARABIC)
    page.goto("/first-steps/")
    label = page.get_by_role("main").locator("label").filter(has_text=carol.user.username)
    name, handle = [label.get_by_text(it, exact=True) for it in ("Carol", f"@{carol.user.username}")]
    assert handle.evaluate(RIGHT_EDGE) == pytest.approx(name.evaluate(RIGHT_EDGE), abs=1)


@pytest.mark.parametrize("language", [ENGLISH, GERMAN, ARABIC])
def test_on_a_phone_the_posts_of_home_begin_near_the_top_in_every_language(window, store, raw, alice, language):
    publish(raw, store, alice, "The first")
    page = window(alice, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    choose(page, language)
    page.goto("/")
    page.goto("/")  # now it also says that nothing is new
    assert page.get_by_role("article").first.bounding_box()["y"] < FIRST_POST


@pytest.mark.parametrize("address", ["/settings/", "/settings/recovery/", "/settings/security/"])
def test_on_a_phone_no_long_word_of_a_heading_or_label_is_torn(window, alice, address):
    page = window(alice, viewport=PHONE)
    choose(page, GERMAN)
    page.goto(address)
    assert page.get_by_role("main").evaluate(TORN) == []
    nothing_scrolls_sideways(page)


@pytest.mark.parametrize("language", [ENGLISH, GERMAN, ARABIC])
def test_no_button_takes_the_room_of_the_names_in_a_list_of_people(window, store, alice, bob, language):
    Follows(store).follow(alice.user.uid, bob.user.uid)
    page = window(alice, viewport={"width": 320, "height": 640})
    choose(page, language)
    page.goto("/people/")
    name = page.get_by_role("main").get_by_role("link", name=f"@{bob.user.username}", exact=True)
    assert name.bounding_box()["width"] > 110


# The left edges, and the right ones, of the lines of a text.
LINES = """(it) => {
  const text = document.createRange();
  text.selectNodeContents(it);
  const boxes = [...text.getClientRects()];
  return [boxes.map((box) => Math.round(box.left)), boxes.map((box) => Math.round(box.right))];
}"""


@pytest.mark.parametrize(
    ("language", "like"), [(ENGLISH, "نور الهدى بنت محمد "), (ARABIC, "Maximiliane of the long name ")]
)
def test_a_name_of_several_lines_is_aligned_with_the_page_whichever_way_it_is_read(
    window, store, raw, alice, language, like
):
    NameIndex(store).edit(alice.user, (like * 3)[:50].strip(), "", None)
    pid = publish(raw, store, alice, "A plain sentence.")
    page = window(viewport=PHONE)
    choose(page, language)
    page.goto(f"/@{alice.user.username}/{pid}/")
    name = page.get_by_role("article").locator(".author bdi").first
    left, right = name.evaluate(LINES)
    assert len(left) > 1
    assert len(set(right if language == ARABIC else left)) == 1


def test_every_way_in_the_bar_is_one_line_in_arabic(window):
    page = window(viewport={"width": 320, "height": 640})
    choose(page, ARABIC)
    links = page.get_by_role("navigation", name="القائمة الرئيسية").locator("span:visible").all()
    assert len(links) == 6
    assert len({word.bounding_box()["y"] for word in links}) == 1


def test_how_much_is_too_much_has_its_sign_before_it_in_arabic(window, alice):
    page = window(alice)
    choose(page, ARABIC)
    page.goto("/")
    page.get_by_role("textbox", name="ما الجديد؟").fill("x" * 281)
    counter = page.locator("output.counter")
    expect(counter).to_have_text("-1")
    assert counter.evaluate("box => getComputedStyle(box).direction") == "ltr"


def test_in_arabic_what_is_typed_keeps_its_signs_where_it_is_read(window):
    def direction(locator):
        return locator.evaluate("it => getComputedStyle(it).direction")

    page = window(at="/login/")
    choose(page, ARABIC)
    page.goto("/recover/")
    for label in ("اسم المستخدم", "رمز الاسترداد"):
        assert direction(page.get_by_label(label, exact=True)) == "ltr"  # `anna_`, `9k3m-...`
    assert direction(page.get_by_placeholder("بحث")) == "rtl"
    page.goto("/search/")
    examples = page.get_by_role("main").locator("dl")
    assert direction(examples.get_by_text("-قهوة")) == "rtl"
    assert direction(examples.get_by_text("has:link")) == "ltr"


# ---- moments


@pytest.mark.parametrize(
    ("locale", "words", "moment"),
    [
        ("en-GB", "posted 1 day ago via web", r"\d{1,2} [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC"),
        ("de-DE", "vor 1 Tag über das Web gepostet", r"\d{1,2}\. [A-Z][a-zä]+ \d{4}, \d\d:\d\d UTC"),
        ("ar-EG", "نُشر قبل يوم واحد عبر الويب", r"\d{1,2} \S+ \d{4}، \d\d:\d\d UTC"),
    ],
)
def test_a_posts_age_is_told_in_words_and_its_moment_to_who_points_at_it(
    window, raw, store, alice, locale, words, moment
):
    pid = publish(raw, store, alice, "yesterday")
    raw.hincrby(f"post:{pid}", "time", -86_500)
    page = window(at=f"/@{alice.user.username}/", locale=locale)
    page.get_by_role("article").locator("time").click()
    expect(page.get_by_text(words, exact=True)).to_have_attribute("title", re.compile(f"^{words} · {moment}$"))
