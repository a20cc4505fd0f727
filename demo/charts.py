"""The charts of the page, as SVG text. The classes of the page's style sheet give them their colours."""

import datetime
from collections.abc import Iterator, Sequence
from html import escape

from year import Day, Group


MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
STEPS = (0.0, 10.0, 20.0, 30.0, 45.0)
"""Upper ends of the colours' ranges, in minutes; the last colour is for longer delays."""
STEP_LABELS = ("on time or early", "0 to 10", "10 to 20", "20 to 30", "30 to 45", "over 45 minutes")
WIDTH = 900

_CELL, _GAP, _LEFT, _TOP = 13, 3, 36, 20


def date_text(day: datetime.date) -> str:
    """The date as `Fri 8 Mar`, in every locale."""
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]}"


def step(delay: float) -> int:
    """The number of the colour of a delay, 0 to 5."""
    return sum(delay > edge for edge in STEPS)


def calendar(name: str, days: Sequence[Day]) -> str:
    """A square for each day: weeks from left to right, Monday on top."""
    first = days[0].day - datetime.timedelta(days=days[0].day.weekday())
    parts = [_text(_LEFT - 8, _TOP + row * (_CELL + _GAP) + 11, WEEKDAYS[row], "end") for row in (0, 2, 4, 6)]
    parts += _month_names(days, first)
    for day in days:
        week, row = divmod((day.day - first).days, 7)
        x, y = _LEFT + week * (_CELL + _GAP), _TOP + row * (_CELL + _GAP)
        shade = "none" if day.delay is None else f"s{step(day.delay)}"
        parts.append(
            f'<rect class="{shade}" x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" rx="2">'
            f"<title>{escape(_day_text(day))}</title></rect>"
        )
    return _svg(f"Mean departure delay of each day, {name}", WIDTH, _TOP + 7 * (_CELL + _GAP), parts)


def line(days: Sequence[Day]) -> str:
    """The mean delay of each day, the weekly mean and the worst days; below, the flights that never left."""
    top, bottom, base = 24, 264, 368
    highest = max(day.delay or 0.0 for day in days)
    ceiling = max(20, 20 * int(highest // 20 + 1))
    lost = max(day.never_left for day in days) or 1

    def x(day: datetime.date) -> float:
        return _LEFT + (WIDTH - _LEFT - 12) * (day - days[0].day).days / max(
            1, (days[-1].day - days[0].day).days
        )

    def y(minutes: float) -> float:
        return bottom - (bottom - top) * minutes / ceiling

    parts = []
    for minutes in range(0, ceiling + 1, 20):
        parts.append(_rule(y(minutes)))
        parts.append(_text(_LEFT - 8, y(minutes) + 4, str(minutes), "end"))
    parts.append(_text(_LEFT, top - 12, "minutes"))
    parts += [_text(x(month), base + 18, MONTHS[month.month - 1]) for month in _firsts(days)]
    parts.append(_path("daily", [(x(day.day), y(day.delay)) for day in days if day.delay is not None]))
    parts.append(_path("weekly", [(x(day), y(mean)) for day, mean in _weekly(days)]))
    for day in peaks(days):
        parts.append(f'<circle class="peak" cx="{x(day.day):.1f}" cy="{y(day.delay or 0):.1f}" r="3.5"/>')
        label = f"{date_text(day.day)}: {day.delay:.0f}"
        anchor = "start" if x(day.day) < WIDTH / 8 else "end" if x(day.day) > WIDTH * 7 / 8 else "middle"
        parts.append(_text(x(day.day), y(day.delay or 0) - 9, label, anchor, "strong"))
    parts.append(_rule(base))
    parts.append(_text(_LEFT, base - 72, "flights that never left"))
    for day in days:
        height = 64 * day.never_left / lost
        parts.append(
            f'<rect class="lost" x="{x(day.day) - 1:.1f}" y="{base - height:.1f}" width="2" height="{height:.1f}">'
            f"<title>{escape(_day_text(day))}</title></rect>"
        )
    worst = max(days, key=lambda day: day.never_left)
    parts.append(
        _text(x(worst.day) + 6, base - 54, f"{date_text(worst.day)}: {worst.never_left:,}", "start", "strong")
    )
    return _svg("Mean departure delay and flights that never left, by day", WIDTH, base + 26, parts)


def bars(groups: Sequence[Group]) -> str:
    """A bar for each airline, with the most punctual airline on top."""
    left, right, height = 190, 410, 25
    longest = max(group.delay for group in groups)
    parts = []
    for index, group in enumerate(groups):
        y = index * height
        width = (right - left) * max(group.delay, 0.0) / longest
        parts.append(_text(left - 8, y + 16, group.label, "end"))
        parts.append(
            f'<rect class="s{step(group.delay)}" x="{left}" y="{y + 4}" width="{width:.1f}" height="16" rx="2"/>'
        )
        parts.append(_text(left + width + 6, y + 16, f"{group.delay:.1f}", "start", "strong"))
        parts.append(_text(520, y + 16, f"{group.flights:,}", "end"))
    return _svg("Mean departure delay by airline", 520, len(groups) * height + 4, parts)


def columns(groups: Sequence[Group]) -> str:
    """A column for each scheduled hour of the day."""
    top, bottom, left = 28, 300, 6
    longest = max(group.delay for group in groups)
    pitch = (400 - left) / len(groups)
    parts = [_rule(bottom, left, 400)]
    for index, group in enumerate(groups):
        x = left + index * pitch
        height = (bottom - top) * max(group.delay, 0.0) / longest
        parts.append(
            f'<rect class="s{step(group.delay)}" x="{x + 1.5:.1f}" y="{bottom - height:.1f}" width="{pitch - 3:.1f}"'
            f' height="{height:.1f}" rx="2"><title>{group.label}:00, {group.flights:,} departures</title></rect>'
        )
        parts.append(_text(x + pitch / 2, bottom - height - 6, f"{group.delay:.0f}", "middle", "strong"))
        parts.append(_text(x + pitch / 2, bottom + 17, group.label, "middle"))
    return _svg("Mean departure delay by scheduled hour of departure", 400, bottom + 24, parts)


def peaks(days: Sequence[Day], count: int = 5, apart: int = 35) -> list[Day]:
    """The worst days, at least five weeks apart, so that their labels do not overlap."""
    chosen: list[Day] = []
    for day in sorted(days, key=lambda day: -(day.delay or 0.0)):
        if all(abs((day.day - other.day).days) >= apart for other in chosen):
            chosen.append(day)
    return chosen[:count]


def _weekly(days: Sequence[Day]) -> Iterator[tuple[datetime.date, float]]:
    """The mean of the seven days around each day; each flight has the same weight."""
    for index in range(3, len(days) - 3):
        week = days[index - 3 : index + 4]
        left = sum(day.left for day in week)
        if left:
            yield days[index].day, sum((day.delay or 0.0) * day.left for day in week) / left


def _month_names(days: Sequence[Day], first: datetime.date) -> list[str]:
    return [
        _text(_LEFT + ((day - first).days // 7) * (_CELL + _GAP), _TOP - 7, MONTHS[day.month - 1])
        for day in _firsts(days)
    ]


def _firsts(days: Sequence[Day]) -> list[datetime.date]:
    """The first day of each month of the year; in UTC the data also has one evening of the next year."""
    return [day.day for day in days if day.day.day == 1 and day.day.year == days[0].day.year]


def _day_text(day: Day) -> str:
    mean = "no departures" if day.delay is None else f"{day.delay:.1f} min on average"
    return f"{date_text(day.day)} {day.day.year}: {mean}, {day.left:,} of {day.flights:,} flights left"


def _text(x: float, y: float, text: str, anchor: str = "start", style: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{escape(text)}</text>'


def _rule(y: float, left: float = _LEFT, right: float = WIDTH - 12) -> str:
    return f'<path class="rule" d="M{left} {y:.1f}H{right}"/>'


def _path(style: str, points: Sequence[tuple[float, float]]) -> str:
    return f'<path class="{style}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {width} {height}">\n{body}\n</svg>'
