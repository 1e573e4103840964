"""The characters that nobody sees, as Unicode's own tables have them."""

from tests.support.texts.characters import of_categories

# Default_Ignorable_Code_Point: what a font that lacks them does not draw.
_IGNORED = [
    *[(0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)],
    *[(0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)],
    *[(0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)],
]
_EMPTY_BRAILLE = "\u2800"
SEEN_FORMATS = {chr(code) for code in (*range(0x600, 0x606), 0x6DD, 0x70F, 0x8E2)}  # of Arabic and Syriac
UNSEEN = sorted(
    ({*of_categories("Cc", "Cf", "Z")} - SEEN_FORMATS)
    | {chr(code) for first, last in _IGNORED for code in range(first, last + 1)}
    | {_EMPTY_BRAILLE}
)
# One of each kind, and some together.
TEXTS = [
    "\u3164",
    "\u2800 \u2800",
    "\ufe0f",
    "\u034f\u115f",
    "\U000e0100",
    "\u17b4\r\n\u17b5",
    "\u200b\u180e",
    "\uffa0 ",
]
