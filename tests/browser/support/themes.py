"""Whether a page is dark."""

# How light what lies behind the page is: 0 is black, 1 white.
PAPER = """
() => {
  const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
}
"""


def is_dark(page):
    return page.evaluate(PAPER) < 0.2
