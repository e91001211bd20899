"""The core of tidewire; `tidewire` wraps it."""

import os
from typing import Any, Callable, Sequence

class Table:
    """A table of Arrow columns. Units are in the names of the columns."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
    def __len__(self) -> int: ...
    def __contains__(self, name: object) -> bool:
        """True for the name of a column."""
    def __getitem__(self, name: str) -> list[Any]:
        """A column as a list, in which a missing value is None; of times, nanoseconds since 1970."""
    def to_dict(self) -> dict[str, list[Any]]:
        """All columns as lists, by name."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def _repr_html_(self) -> str: ...

class Figure:
    """A figure of a sweep: a notebook draws it."""

    @property
    def name(self) -> str:
        """Name, such as `delay-mean`."""
    @property
    def svg(self) -> str:
        """The figure as an SVG document."""
    @property
    def caption(self) -> str:
        """Counts, seed and meaning of the intervals."""
    @property
    def csv(self) -> str:
        """The numbers of the figure, as CSV."""
    def plot(self, ax: Any = None) -> Any:
        """Draws the numbers on axes of matplotlib, or on new ones, and returns them.

        Raises ImportError, with the command that installs it, if matplotlib is needed and missing.
        """
    def _repr_svg_(self) -> str: ...

class Runs:
    """Runs of a study, with their samples, results, verdicts and figures."""

    @property
    def title(self) -> str:
        """Title of the scenario."""
    def __len__(self) -> int:
        """Number of runs."""
    @property
    def samples(self) -> Table:
        """A row for each flow of each run."""
    @property
    def results(self) -> Table:
        """A row for each quantity of each flow at each point: mean over runs, its 95 % interval, and n."""
    @property
    def verdicts(self) -> Table:
        """A row for each requirement, flow and point."""
    @property
    def verdict(self) -> str | None:
        """The worst verdict: pass, fail or undecided; None without a requirement."""
    @property
    def figures(self) -> list[Figure]:
        """Figures of a sweep; none of a study with one point."""
    def ndjson(self) -> bytes:
        """The samples as the octets of `samples.ndjson` in a run folder."""
    def save(self, folder: str | os.PathLike[str] = "runs") -> str:
        """Writes a run folder into `folder`, as `tidewire predict -o` does; returns its path."""
    def _repr_html_(self) -> str: ...

class Watched:
    """The findings of `tidewire watch` in a capture, as tables in the columns of `watch --csv`."""

    intervals: Table
    hosts: Table
    connections: Table
    services: Table
    service_intervals: Table
    streams: Table
    transactions: Table
    findings: Table
    frames: int
    def _repr_html_(self) -> str: ...

def compare(baseline: Runs, other: Runs) -> Table:
    """Differences of `other` from `baseline` by point, flow and quantity, with 95 % intervals."""

def predict(
    text: str,
    name: str,
    folder: str | os.PathLike[str] | None,
    command: Sequence[str],
    *,
    vary: Sequence[str] = ...,
    seed: int | None = None,
    runs: int | None = None,
    require: Sequence[str] = ...,
    until_decided: bool = False,
    precision: float | None = None,
    at_most: int = 1000,
    shard: str | None = None,
    jobs: int | None = None,
    made: Sequence[bytes] = ...,
    progress: Callable[[int, int], Any] | None = None,
) -> Runs: ...
def read(path: str | os.PathLike[str]) -> Runs:
    """Reads a run folder, or a file of samples, as `predict` and `measure` write it."""

def watch(
    path: str | os.PathLike[str],
    interval_s: float = 10.0,
    progress: Callable[[int, None], Any] | None = None,
) -> Watched: ...
def scenarios() -> list[str]:
    """Names of the built-in scenarios."""

def scenario_text(name: str) -> str | None: ...
