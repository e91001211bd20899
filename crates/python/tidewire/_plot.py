"""Figures drawn by matplotlib, which is imported only here."""

from __future__ import annotations

import csv
import io
from typing import Any

_DASHES = ("solid", "dashed", "dotted", "dashdot")
_MARKERS = "os^Dv"


def plot(figure: Any, ax: Any = None) -> Any:
    """Draws the numbers of a figure on axes of matplotlib, or on new ones; returns the axes.

    Each series has a line, a dash and a marker of its own. Bars are the intervals of the figure's caption; a point without
    one has none.
    """
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError(
                "Figure.plot needs matplotlib: pip install 'tidewire[plot]' (the figure itself needs none: Figure.svg)"
            ) from None
        _, ax = pyplot.subplots()
    header, *rows = csv.reader(io.StringIO(figure.csv))
    _, across, up, *_ = header
    series: dict[str, list[list[str]]] = {}
    for row in rows:
        series.setdefault(row[0], []).append(row)
    numeric = all(_number(row[1]) is not None for row in rows)
    for place, (name, points) in enumerate(series.items()):
        points = [point for point in points if _number(point[2]) is not None]
        x = [_number(point[1]) if numeric else point[1] for point in points]
        y = [_number(point[2]) for point in points]
        bars = [[_bar(value, point[side]) for value, point in zip(y, points)] for side in (3, 4)]
        has_bars = any(bar for side in bars for bar in side)
        ax.errorbar(
            x,
            y,
            yerr=bars if has_bars else None,
            label=name,
            capsize=3,
            linestyle=_DASHES[place % len(_DASHES)],
            marker=_MARKERS[place % len(_MARKERS)],
        )
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.legend()
    return ax


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _bar(value: float, end: str) -> float:
    """Distance from a value to an end of its interval."""
    number = _number(end)
    return 0.0 if number is None else abs(number - value)
