"""A picture for each user, made from their id alone: three threads that cross, as two do in the site's mark.

Nothing in it comes from anybody but us: no name, no text. It is SVG as it stands in a page, some 320 bytes; the
stylesheet gives it its size, and widens the lines without a colour of their own, which are gaps between threads.
"""

from itertools import combinations, permutations, product

# Deep grounds and light threads: each thread stands out from each ground by 4 to 1.
GROUNDS = ("#053", "#055", "#146", "#238", "#427", "#515", "#612", "#630", "#440", "#345")
THREADS = ("#aec", "#fb4", "#f98", "#9cf", "#cbf", "#fec")
ROWS = (2, 4, 6)  # of eight: the heights at which threads begin, meet and end

HEAD = (
    '<svg class="avatar" viewBox="0 0 8 8" fill="none" stroke="{0}" aria-hidden="true">'
    '<path fill="{0}" d="M0 0h8v8H0z"/>'
)

Way = tuple[int, int, int]  # a thread's row at the left, in the middle and at the right


def _crossings(one: Way, other: Way) -> int:
    """How often two threads cross: none, once or twice."""
    above = [a - b for a, b in zip(one, other, strict=True)]
    return (above[0] * above[1] < 0) + (above[1] * above[2] < 0)


def _drawn(ways: tuple[Way, ...]) -> str:
    """Threads, each above those before it; in braces, which of three colours it has."""
    drawn = ""
    for place, way in enumerate(ways):
        path = _path(*way)
        gap = f'<path d="{path}"/>' if any(_crossings(way, below) for below in ways[:place]) else ""
        drawn += f'{gap}<path stroke="{{{ROWS.index(way[0])}}}" d="{path}"/>'
    return drawn


def _path(left: int, middle: int, right: int) -> str:
    """Two curves, or straight halves, from the left edge to the right; each begins and ends level."""
    first, then = middle - left, right - middle
    path = f"M0 {left}c2 0 2 {first} 4 {first}" if first else f"M0 {left}h4"
    if not then:
        path += "h4"
    else:
        path += f"s2 {then} 4 {then}" if first else f"c2 0 2 {then} 4 {then}"
    return path.replace(" -", "-")


# All that cross twice or more, with the highest or the lowest thread on top.
SHAPES = [
    _drawn(order)
    for middle, right in product(permutations(ROWS), repeat=2)
    for ways in [tuple(zip(ROWS, middle, right, strict=True))]
    if sum(_crossings(*two) for two in combinations(ways, 2)) >= 2
    for order in (ways, ways[::-1])
]
_COLOURS = list(permutations(THREADS, len(ROWS)))

NUMBER = len(SHAPES) * len(_COLOURS) * len(GROUNDS)
_STRIDE = 45_983  # near NUMBER / 1.618, so neighbours differ most; shares no factor with it, so all NUMBER differ


def avatar(uid: int) -> str:
    """The user's picture, `<svg class="avatar">`. Only ids that are a multiple of NUMBER apart share one."""
    rest, ground = divmod(uid * _STRIDE % NUMBER, len(GROUNDS))
    shape, colours = divmod(rest, len(_COLOURS))
    return f"{HEAD.format(GROUNDS[ground])}{SHAPES[shape].format(*_COLOURS[colours])}</svg>"
