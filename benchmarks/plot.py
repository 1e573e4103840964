"""A small line chart in SVG, without any dependency."""

from collections.abc import Sequence

WIDTH, HEIGHT, LEFT, TOP, GAP = 640, 180, 70, 30, 60
COLOURS = ("#0f3d30", "#c2571a")
STEPS = (1, 2, 2.5, 5, 10)


def curves(across: Sequence[int], panels: dict[str, dict[str, Sequence[float]]]) -> str:
    """An SVG file: panels one below the other, each with a title and named lines.

    The values of `across` are spaced equally."""
    height = len(panels) * (HEIGHT + GAP) + TOP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for number, (title, lines) in enumerate(panels.items()):
        parts += _panel(across, title, lines, TOP + number * (HEIGHT + GAP))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(across: Sequence[int], title: str, lines: dict[str, Sequence[float]], top: int) -> list[str]:
    highest = max(max(values) for values in lines.values()) or 1.0
    step = _step(highest)
    count = int(highest / step) + 1
    right = WIDTH - 80

    def at(place: int) -> float:
        return LEFT + (right - LEFT) * place / max(1, len(across) - 1)

    def up(value: float) -> float:
        return top + HEIGHT - HEIGHT * value / (step * count)

    parts = [f'<text x="{LEFT}" y="{top - 12}" font-weight="bold">{title}</text>']
    for number in range(count + 1):
        y = up(number * step)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number * step:g}</text>')
    for place, clients in enumerate(across):
        parts.append(f'<text x="{at(place):.1f}" y="{top + HEIGHT + 18}" text-anchor="middle">{clients}</text>')
    parts.append(f'<text x="{right + 12}" y="{top + HEIGHT + 18}">clients</text>')
    for colour, (name, values) in zip(COLOURS, lines.items(), strict=False):
        points = " ".join(f"{at(place):.1f},{up(value):.1f}" for place, value in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{right + 12}" y="{up(values[-1]) + 4:.1f}" fill="{colour}">{name}</text>')
    return parts


def _step(highest: float) -> float:
    """The distance between grid lines: a round number that gives about four lines."""
    size = 1.0
    while size * 10 <= highest / 4:
        size *= 10
    while size > highest / 4:
        size /= 10
    return next(size * factor for factor in STEPS if size * factor >= highest / 4)
