"""Pictures in a post: chosen, described, covered, opened large; with a script and without."""

from playwright.sync_api import expect

from tests.browser.support.accessibility import fits
from tests.browser.support.steps import composer, held, post, said, send
from tests.support.pictures import moving_file, picture_file

RED = {"name": "red.png", "mimeType": "image/png", "buffer": picture_file("red")}
TALL = {"name": "tall.jpg", "mimeType": "image/jpeg", "buffer": picture_file("blue", (500, 900), "JPEG")}


def described(page, number):
    return page.get_by_role("textbox", name=f"Description of picture {number}")


def choose(page, text, files):
    """Write a text and add pictures to it."""
    composer(page).fill(text)
    page.get_by_role("link", name="Pictures").click()
    page.get_by_label("Up to four pictures").set_input_files(files)


def reminders(page):
    return page.get_by_text("Without a description, people").locator("visible=true")


def size(image):
    box = image.bounding_box()
    return round(box["width"]), round(box["height"])


def test_pictures_are_uploaded_as_soon_as_they_are_chosen(page, raw):
    choose(page, "My colours", [RED, TALL])
    expect(described(page, 1)).to_be_focused()
    expect(reminders(page)).to_have_count(2)
    described(page, 1).fill("Something red")
    expect(reminders(page)).to_have_count(1)
    page.evaluate("document.activeElement.blur()")
    page.evaluate("Promise.all(document.getAnimations().map(one => one.finished))")  # a form without pictures folds up
    expect(page.get_by_role("button", name="Post", exact=True)).to_be_visible()
    expect(composer(page)).to_have_value("My colours")
    page.get_by_role("button", name="Remove").nth(1).click()
    expect(described(page, 2)).to_have_count(0)
    expect(described(page, 1)).to_have_value("Something red")
    page.get_by_label("Sensitive").press("Enter")
    said(page, "Posted.")
    shown = post(page, "My colours").get_by_role("img", name="Something red")
    expect(shown).to_have_js_property("complete", True)
    assert shown.evaluate("img => img.naturalWidth") == 600
    its_place = size(shown)
    page.route("**/media/*", lambda route: None)  # none arrives
    page.reload(wait_until="domcontentloaded")
    expect(shown).to_have_js_property("complete", False)
    assert size(shown) == its_place
    page.unroute("**/media/*")
    page.get_by_role("link", name="Something red").click()
    expect(page.get_by_role("heading", name="Picture by")).to_be_visible()
    fits(page, scripts=True)
    assert page.get_by_role("img", name="Something red").evaluate("img => img.naturalWidth") == 900


def test_a_picture_that_was_chosen_before_the_scripts_came_is_added(page):
    scripts = held(page, "**/members*.js")
    page.goto("/compose/", wait_until="commit")
    page.get_by_text("Pictures", exact=True).click()
    page.get_by_label("Up to four pictures").set_input_files(RED)
    scripts.pop().continue_()
    page.wait_for_load_state()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(described(page, 1)).to_be_focused()
    expect(page.get_by_label("Up to four pictures")).to_have_js_property("value", "")


def test_ctrl_enter_in_a_description_posts(page):
    choose(page, "By keyboard", [RED])
    described(page, 1).fill("Something red")
    described(page, 1).press("Control+Enter")
    said(page, "Posted.")
    expect(post(page, "By keyboard").get_by_role("img", name="Something red")).to_be_visible()


def test_pictures_need_no_text(page):
    page.goto("/compose/")
    page.get_by_text("Pictures", exact=True).click()
    page.get_by_label("Up to four pictures").set_input_files(RED)
    page.get_by_role("button", name="Remove").click()
    expect(described(page, 1)).to_have_count(0)
    expect(composer(page)).to_have_js_property("required", True)
    page.get_by_label("Up to four pictures").set_input_files(RED)
    described(page, 1).fill("Nothing but red")
    send(page)
    expect(page.get_by_role("img", name="Nothing but red")).to_be_visible()


def test_an_animation_moves_where_motion_is_allowed_and_keeps_its_place(page):
    moves = {"name": "moves.gif", "mimeType": "image/gif", "buffer": moving_file()}
    choose(page, "It moves", moves)
    described(page, 1).fill("Three colours")
    send(page)
    sizes = set()
    for motion, end in (("no-preference", "-animated.webp"), ("reduce", "-600.webp")):
        page.emulate_media(reduced_motion=motion)
        page.reload()
        shown = post(page, "It moves").get_by_role("img", name="Three colours")
        expect(shown).to_have_js_property("complete", True)
        assert shown.evaluate("img => img.currentSrc").endswith(end)
        sizes.add(size(shown))
    assert len(sizes) == 1


def test_what_is_no_picture_is_said_beside_the_form(page, console):
    console.expects(422, "/post/")
    choose(page, "Not a picture", {**RED, "buffer": b"<svg/>"})
    expect(page.get_by_role("alert")).to_contain_text("not a picture that the site can read")
    expect(composer(page)).to_have_value("Not a picture")


def test_files_that_are_too_large_leave_the_form(page, console):
    console.expects(422, "/post/")
    choose(page, "Without them", {**RED, "buffer": bytes(25 * 1024 * 1024)})
    expect(page.get_by_role("alert")).to_contain_text("Pictures may have 24 MB together")
    send(page)
    expect(post(page, "Without them")).to_be_visible()


def test_without_a_script_they_are_added_covered_and_opened(window, alice, raw):
    page = window(alice, at="/compose/", java_script_enabled=False)
    composer(page).fill("Covered colours")
    page.locator("summary").filter(has_text="Pictures").click()
    page.get_by_label("Up to four pictures").set_input_files([RED, TALL])
    page.get_by_role("button", name="Add").click()
    described(page, 1).fill("Something red")
    expect(composer(page)).to_have_value("Covered colours")
    page.get_by_label("Sensitive").check()
    page.get_by_label("Sensitive").press("Enter")
    said(page, "Posted.")
    card = post(page, "Covered colours")
    expect(card.get_by_role("img", name="Something red")).to_be_hidden()
    card.get_by_text("Sensitive pictures").click()
    card.get_by_role("link", name="Something red").click()
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("link", name="Previous")).to_be_visible()
    fits(page, scripts=False)


PASTE = """
async ([field, types]) => {
  field.focus();
  const canvas = document.createElement('canvas');
  canvas.getContext('2d').fillText(Math.random(), 10, 10);
  const copied = new DataTransfer();
  for (const type of types) copied.setData(type, 'What was copied');
  copied.items.add(new File([await new Promise((done) => canvas.toBlob(done))], 'copied.png', { type: 'image/png' }));
  const pasted = new ClipboardEvent('paste', { clipboardData: copied, bubbles: true, cancelable: true });
  return field.dispatchEvent(pasted);
}
"""


def paste(page, *types):
    """Paste a picture, which these types accompany. Returns whether the browser pastes the text."""
    return page.evaluate(PASTE, [composer(page).element_handle(), types])


def held_uploads(page):
    """The uploads of a page, which wait from now on; the form itself goes out."""
    waiting = []

    def hold(route):
        if route.request.is_navigation_request():
            route.continue_()
        else:
            waiting.append(route)

    page.route("**/post/", hold)
    return waiting


def begun(page):
    expect(page.get_by_role("group").filter(has_text="Up to four pictures")).to_have_attribute("aria-busy", "true")


def let_go(page, waiting):
    """Let the upload that waits go on. A form is busy a moment before its request is here."""
    while not waiting:
        page.evaluate("() => new Promise(requestAnimationFrame)")
    waiting.pop().continue_()


def test_what_is_done_while_a_picture_is_uploaded_stays(page):
    composer(page).fill("Two ")
    page.get_by_role("link", name="Pictures").click()
    waiting = held_uploads(page)
    page.get_by_label("Up to four pictures").set_input_files(RED)
    begun(page)
    page.get_by_label("Sensitive").check()
    composer(page).press("End")
    page.keyboard.type("short ")
    let_go(page, waiting)
    expect(described(page, 1)).to_be_visible()
    page.keyboard.type("words")
    expect(composer(page)).to_have_value("Two short words")
    expect(page.get_by_label("Sensitive")).to_be_checked()
    page.get_by_label("Up to four pictures").set_input_files(TALL)
    begun(page)
    described(page, 1).click()
    page.keyboard.type("Something ")
    let_go(page, waiting)
    expect(described(page, 2)).to_be_visible()
    page.keyboard.type("red")
    expect(described(page, 1)).to_have_value("Something red")


def test_two_pictures_that_are_pasted_at_once_are_both_there(page):
    waiting = held_uploads(page)
    paste(page)
    begun(page)
    paste(page)
    let_go(page, waiting)
    expect(described(page, 1)).to_be_visible()
    begun(page)
    let_go(page, waiting)
    expect(described(page, 2)).to_be_visible()


def test_who_posts_while_pictures_wait_posts_all_of_them(page, raw):
    composer(page).fill("In a hurry")
    held_uploads(page)
    paste(page)
    begun(page)
    page.get_by_label("Up to four pictures").set_input_files(TALL)
    send(page)
    expect(post(page, "In a hurry").get_by_role("img")).to_have_count(2)


def test_who_posts_before_a_picture_is_removed_on_the_site_posts_without_it(page):
    choose(page, "Only red", [RED, TALL])
    expect(described(page, 2)).to_be_visible()
    held_uploads(page)
    page.get_by_role("button", name="Remove").nth(1).click()
    send(page)
    expect(post(page, "Only red").get_by_role("img")).to_have_count(1)


def test_a_picture_that_is_removed_while_another_comes_stays_away(page):
    choose(page, "Only blue", [RED])
    expect(described(page, 1)).to_be_visible()
    waiting = held_uploads(page)
    page.get_by_label("Up to four pictures").set_input_files([TALL])
    begun(page)
    page.get_by_role("button", name="Remove").click()
    for _ in range(2):
        page.wait_for_function("() => document.querySelector('.attach[aria-busy=true]')")
        let_go(page, waiting)
        expect(page.get_by_role("button", name="Remove")).to_have_count(1)
    expect(described(page, 1)).to_have_count(1)
    expect(described(page, 2)).to_have_count(0)


def test_an_upload_whose_answer_breaks_off_can_be_repeated(page):
    composer(page).fill("Once more")
    page.get_by_role("link", name="Pictures").click()
    upload = page.get_by_label("Up to four pictures")
    expect(upload).to_be_focused()
    page.evaluate(
        "() => { const { text } = Response.prototype; Response.prototype.text = () => {"
        " Response.prototype.text = text; return Promise.reject(new TypeError('network error')); } }"
    )
    upload.set_input_files(RED)
    expect(page.get_by_role("alert")).to_have_text("The site could not be reached. Try again in a moment.")
    upload.set_input_files(RED)
    expect(described(page, 1)).to_be_focused()


def test_pictures_that_did_not_reach_the_site_stay_chosen(page, console):
    console.expects(503, "/post/")
    composer(page).fill("Both of them")
    page.get_by_role("link", name="Pictures").click()
    away = lambda route: route.fulfill(status=503, content_type="text/html", body="<h1>Away</h1><p>Try again.")  # noqa: E731
    page.route("**/post/", away)
    page.get_by_label("Up to four pictures").set_input_files([RED])
    expect(page.get_by_role("alert")).to_have_text("Try again.")
    page.unroute("**/post/")
    page.get_by_role("button", name="Add").click()
    expect(described(page, 1)).to_be_visible()
    page.route("**/post/", away)
    page.get_by_label("Up to four pictures").set_input_files([TALL])
    expect(page.get_by_role("alert")).to_have_text("Try again.")
    page.unroute("**/post/")
    send(page)
    expect(post(page, "Both of them").get_by_role("img")).to_have_count(2)


def test_text_from_a_word_processor_is_pasted_as_text(page):
    assert paste(page, "text/plain", "text/html")
    assert not paste(page, "text/html")  # a picture of a web page
    expect(described(page, 1)).to_be_visible()
    expect(described(page, 2)).to_have_count(0)
