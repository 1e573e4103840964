"""A line for each slow request, with what it has sent to the store."""

import logging

from django.conf import settings

from retwis_site.store.connection.recorder import MOST_KEPT, RoundTrip
from retwis_site.telemetry.observation import Observation
from retwis_site.telemetry.redaction import logged_command

logger = logging.getLogger("retwis.slow")

MOST_ROUND_TRIPS = 8  # of one line: the slowest ones
LONGEST_ROUND_TRIP = 180  # characters of its commands


def log_slow(seen: Observation) -> None:
    if seen.seconds * 1000 < settings.SLOW_REQUEST_MS:
        return
    all_trips = seen.recorded.round_trips
    slowest = sorted(range(len(all_trips)), key=lambda place: -all_trips[place].seconds)[:MOST_ROUND_TRIPS]
    shown = [f"#{place + 1} {_described(all_trips[place])}" for place in sorted(slowest)]
    logger.warning(
        "%s %s %d took %.1f ms, %d round trips in %.1f ms, from %s%s",
        seen.method,
        seen.route or "-",
        seen.status,
        seen.seconds * 1000,
        seen.round_trips,
        seen.seconds_in_store * 1000,
        seen.address or "-",
        f": {'; '.join(shown)}" if shown else "",
        extra={"seen": seen},
    )


def _described(trip: RoundTrip) -> str:
    if not trip.commands:
        return f"{trip.seconds * 1000:.1f} ms, after {MOST_KEPT} commands: these are not kept"
    text = ""
    for number, command in enumerate(trip.commands):
        text += f"{', ' if number else ''}{logged_command(command)}"
        if len(text) > LONGEST_ROUND_TRIP:
            text = f"{text[:LONGEST_ROUND_TRIP]}..."
            break
    return f"{trip.seconds * 1000:.1f} ms, {len(trip.commands)} commands: {text}"
