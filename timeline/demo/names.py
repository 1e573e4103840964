"""Names of the demo community: usernames, display names and bios.

They are drawn from the `random.Random` of the caller, so the same seed gives the same names.
"""

import random
import re

from accounts.users.names import LONGEST_BIO
from timeline.demo.texts import Phrases, phrases, say

NAME_LIMIT = 30
RESERVED_NAME = "demo"
DEMO_BIO = "The demo account of this site. Tea, tomatoes and night trains."


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_GIVEN = _words("""Ada Ahmed Aiko Aisha Alba Amara Amir Amina Ana Anders Anouk Aroha Arjun Astrid Bela Bjorn
    Bruno Camila Carlos Celine Chiara Chidi Chloe Clara Dalia Daniel Dario Deniz Diego Eleni Elif Emeka Emil
    Erik Esther Eva Farah Fatima Felix Femi Fiona Freya Gabriel Grace Greta Hana Haruto Hassan Hiro Hugo
    Ibrahim Ifeoma Imani Ines Ingrid Isla Ivan Jack Jamal Javier Jin Joana Jorge Juan Julia Kaito Karim Keiko
    Kemal Kenji Kofi Kwame Lars Leo Liam Lucia Luis Luka Mads Maeve Malik Maria Marta Martin Mateo Maya Mehmet
    Mei Mila Miriam Mohan Nadia Naomi Nia Niamh Nikhil Nina Noa Noor Nora Oksana Olga Oliver Omar Oscar Otto
    Paolo Pavel Pedro Petra Pilar Priya Quinn Rafael Ravi Reza Rosa Ruth Sakura Samir Sara Signe Sofia Soren
    Sunita Tamar Tariq Thabo Theo Tomas Valentina Vera Victor Wanjiru Wei Wren Yael Yasmin Yuki Yusuf Zahra
    Zuri""")
_SURNAMES = _words("""Adeyemi Almeida Andersson Aoki Bakker Banerjee Bello Bianchi Brandt Byrne Campos
    Castillo Chen Choi Costa Cruz Dahl Desai Dias Dubois Eklund Eze Ferrari Fischer Flores Fujita Garcia Ghosh
    Greco Haddad Hansen Hashimoto Hayes Hoang Huang Inoue Ito Jansen Joshi Kaplan Kapoor Kimura Kowalski Kumar
    Laine Levi Lindqvist Lopes Lund Mancini Mehta Mendes Mishra Mori Mwangi Nakamura Navarro Nguyen Novak Obi
    Okafor Okoye Ortega Otieno Park Patel Pereira Petrov Popescu Ramos Rivera Romano Rossi Saito Santos Sato
    Sen Silva Soto Suzuki Tanaka Torres Tran Vargas Vega Wagner Walsh Wolff Wright Yamada Zhang""")
_HOBBIES = _words("""writes plays reads bakes runs codes draws cooks sings paints cycles climbs knits sews
    gardens travels hikes swims surfs skates teaches builds films photos music books chess trains birds bikes
    plants maps stars coffee tea bread cats dogs football garden kitchen""")
_PLACES = _words("""lisbon porto berlin oslo lagos nairobi accra cairo istanbul athens rome turin sevilla lyon
    ghent vienna prague krakow riga bergen cork glasgow tokyo osaka seoul taipei hanoi mumbai pune dhaka perth
    lima quito montreal recife""")
_ADJECTIVES = _words("""sleepy quiet happy slow tiny lucky rusty curious gentle brave salty mellow foggy sunny
    wandering clumsy midnight cosmic velvet paper electric northern hungry""")
_NOUNS = _words("""otter heron fox badger sparrow magpie lemur walrus moth turtle panda teapot bicycle lantern
    pebble cactus mango pickle noodle biscuit dumpling comet meadow pianist baker sailor reader robot""")
_PREFIXES = _words("the_real_ its_ just_ hey_ hello_ dear_ only_ simply_ call_me_ iam")
# 14, 69 and 88 have meanings that do not belong in a demo.
_DIGITS = tuple(f"{n:02d}" for n in (*range(1, 34), *range(64, 100)) if n not in (14, 69, 88))

_FIRST, _LAST = (tuple(name.lower() for name in names) for names in (_GIVEN, _SURNAMES))
_LETTER, _BAR = tuple("abcdefghijklmnoprstuvwyz"), ("_",)
_NAME_SHAPES: Phrases = (
    (_FIRST, _BAR, _LETTER), (_FIRST, _BAR, _LAST), (_LETTER, _BAR, _LAST), (_LAST, _BAR, _FIRST),
    (_GIVEN, _SURNAMES), (_GIVEN, _BAR, _SURNAMES), (_GIVEN, tuple("ABCDEFGHIJKLMNOPRSTVW"), _SURNAMES),
    (_FIRST, _BAR, _LETTER, _BAR, _LAST), (_FIRST, ("", "_"), _DIGITS), (_FIRST, _BAR, _LAST, _DIGITS),
    (_GIVEN, tuple(hobby.title() for hobby in _HOBBIES)), (_FIRST, _BAR, _HOBBIES),
    (_FIRST, ("_in_", "_from_"), _PLACES), (_FIRST, ("_the_",), _NOUNS), (_PREFIXES, _FIRST),
    (_ADJECTIVES, _BAR, (*_FIRST, *_NOUNS)), (_ADJECTIVES, _BAR, _NOUNS, _DIGITS),
)  # fmt: skip


_SMALL_WORDS = ("from", "in", "the")
_BADGES = ("🌱", "🚆", "☕", "🐈", "🎹", "📚", "🚲", "⛰️")
_OTHER_NAMES = ("نور الهدى", "سلمى", "דנה", "日和", "Ελένη", "Зоя", "지우", "アキ")
_BIOS = phrases(
    """
    {Gardener|Baker|Nurse|Teacher|Librarian|Carpenter|Beekeeper|Night porter|Retired sailor} and {reader
    of maps|collector of teapots|slow cyclist|bad pianist|morning swimmer|writer of letters}. ~
    {Mostly|Only|Nothing but} {bread|trains|birds|soup|dogs|rain|crosswords} and {cats|books|tea|long walks|radio}. ~
    {Here for|Talks about} {the plants|the night trains|the recipes|football|old maps}{, sorry|, sometimes|}. ~
    {Learning|Still learning} {Portuguese|the cello|to bake|to sail|sign language}{ badly| slowly| at sixty|}. ~
    I {mend bicycles|count birds|drive a tram|paint boats|tune pianos} in {PLACES}.
""".replace("PLACES", "|".join(place.title() for place in _PLACES))
)
_MORE_BIOS = phrases("""
    {Opinions|Typos|Puns} are my own. ~ Ask me about {compost|timetables|owls|yeast}. ~
    More at https://example.{com|org}/{garden|bread|maps|trains} ~ {Cats|Dogs|Coffee|Tea} first.
""")
_OTHER_BIOS = (
    "أقرأ كثيرا وأكتب قليلا.",
    "Radfahren, Brot, und dann wieder Radfahren.",
    "אוהבת ספרים, קפה וגשם.",
    "Aficionada a los trenes nocturnos y a la sopa.",
    "本とコーヒーと猫。",
)


def usernames(count: int, rng: random.Random) -> list[str]:
    """`count` usernames in random order, all different also in lower case.

    Each has 1 to NAME_LIMIT characters of [A-Za-z0-9_], and none is RESERVED_NAME in any letter case.
    """
    names: list[str] = []
    taken = {RESERVED_NAME}
    misses = 0
    while len(names) < count:
        name = say(rng.choice(_NAME_SHAPES), rng)
        if misses > 20:  # nearly all combinations are taken
            number = str(rng.randrange(10 * count))
            name = name[: NAME_LIMIT - len(number)] + number
        key = name.lower()
        if key in taken:
            misses += 1
        else:
            misses = 0
            taken.add(key)
            names.append(name)
    return names


def display_name(username: str, rng: random.Random) -> str:
    """A display name: mostly the username in words, such as `Joana from Lisbon`, sometimes a name in another script.
    Empty for two users of five."""
    luck = rng.random()
    if luck < 0.4:
        return ""
    if luck > 0.96:
        return rng.choice(_OTHER_NAMES)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", username).rstrip("0123456789").split()
    name = " ".join(word if word in _SMALL_WORDS else word[0].upper() + word[1:] for word in words)
    name = re.sub(r"\b([A-Z])(?= |$)", r"\1.", name)
    return f"{name} {rng.choice(_BADGES)}" if luck > 0.9 else name


def bio(rng: random.Random) -> str:
    """A bio: one line of at most LONGEST_BIO characters. Empty for one user of three."""
    if rng.random() < 0.33:
        return ""
    if rng.random() < 0.05:
        return rng.choice(_OTHER_BIOS)
    parts = [say(rng.choice(_BIOS), rng)]
    if rng.random() < 0.5:
        parts.append(say(rng.choice(_MORE_BIOS), rng))
    return " ".join(parts)[:LONGEST_BIO].rstrip()
