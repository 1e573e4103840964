"""A picture for each user, made from the uid alone: three crossing threads, like the two in the site's logo.

It has no input from users: no name, no text. It is inline SVG of about 320 bytes. The stylesheet sets its size, and
widens the lines without a colour of their own, which are the gaps between threads.
"""

from itertools import combinations, permutations, product

from retwis_site.rendering.fragments import Html

# Dark backgrounds and light threads: the contrast of each pair is at least 4 to 1.
GROUNDS = ("#053", "#055", "#146", "#238", "#427", "#515", "#612", "#630", "#440", "#345")
THREADS = ("#aec", "#fb4", "#f98", "#9cf", "#cbf", "#fec")
ROWS = (2, 4, 6)  # y coordinates, of 0 to 8, at which threads begin, meet and end

HEAD = (
    '<svg class="avatar" viewBox="0 0 8 8" fill="none" stroke="{0}" aria-hidden="true">'
    '<path fill="{0}" d="M0 0h8v8H0z"/>'
)
_HEADS = [HEAD.format(ground) for ground in GROUNDS]

Thread = tuple[int, int, int]  # its row at the left, in the middle and at the right


def _crossings(first: Thread, second: Thread) -> int:
    """The number of times that two threads cross: 0, 1 or 2."""
    left, middle, right = (a - b for a, b in zip(first, second, strict=True))
    return (left * middle < 0) + (middle * right < 0)


def _svg_template(threads: tuple[Thread, ...]) -> str:
    """The paths of the threads, each above those before it. The number of its colour, 0 to 2, stands in braces."""
    svg = ""
    for number, thread in enumerate(threads):
        path = _path(*thread)
        gap = f'<path d="{path}"/>' if any(_crossings(thread, below) for below in threads[:number]) else ""
        svg += f'{gap}<path stroke="{{{ROWS.index(thread[0])}}}" d="{path}"/>'
    return svg


def _path(left: int, middle: int, right: int) -> str:
    """A line from the left edge to the right: two halves, each a curve or straight, without a corner between them."""
    first, second = middle - left, right - middle
    path = f"M0 {left}c2 0 2 {first} 4 {first}" if first else f"M0 {left}h4"
    if not second:
        path += "h4"
    else:
        path += f"s2 {second} 4 {second}" if first else f"c2 0 2 {second} 4 {second}"
    return path.replace(" -", "-")


# All sets of threads with two crossings or more, each with the highest or the lowest thread on top.
SHAPES = [
    _svg_template(ordered)
    for middle, right in product(permutations(ROWS), repeat=2)
    for threads in [tuple(zip(ROWS, middle, right, strict=True))]
    if sum(_crossings(*pair) for pair in combinations(threads, 2)) >= 2
    for ordered in (threads, threads[::-1])
]
_COLOURS = list(permutations(THREADS, len(ROWS)))
# The threads in all colours, 2 MB: a page shows twenty pictures, and to format one takes three times as long.
_THREADS = [[f"{shape.format(*colours)}</svg>" for colours in _COLOURS] for shape in SHAPES]

NUMBER = len(SHAPES) * len(_COLOURS) * len(GROUNDS)
_STRIDE = 45_983  # near NUMBER / 1.618, so successive uids differ most; no common factor, so all NUMBER differ


def avatar(uid: int) -> Html:
    """The user's picture, `<svg class="avatar">`. Two users share one only when their uids differ by a multiple of
    NUMBER."""
    rest, ground = divmod(uid * _STRIDE % NUMBER, len(GROUNDS))
    shape, colours = divmod(rest, len(_COLOURS))
    return Html(_HEADS[ground] + _THREADS[shape][colours])
