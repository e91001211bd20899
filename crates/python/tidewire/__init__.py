"""Will the messages on a real-time LAN make their deadlines?

`predict` simulates a scenario, `watch` meters a capture, `read` reads what the command `tidewire` stored, and `compare`
shows the differences of two studies. The numbers are those of the command. Tables are Arrow columns:
`polars.DataFrame(runs.results)`, `pandas.DataFrame.from_arrow(runs.results)` and DuckDB take them without a copy.

Units are in the names of columns: `_ns` are nanoseconds, `_octets` octets, shares fractions of one. `tidewire help metrics`
defines the measures.
"""

from __future__ import annotations

import concurrent.futures
import functools
import hashlib
import json
import multiprocessing
import os
import re
import sys
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

from . import _tidewire
from ._tidewire import Figure, Runs, Table, Watched, compare, read, scenarios

__all__ = [
    "Figure",
    "Runs",
    "Scenario",
    "Table",
    "Watched",
    "compare",
    "predict",
    "read",
    "scenario",
    "scenarios",
    "sweep",
    "watch",
]

Progress = Union[bool, Callable[[int, "int | None"], None], None]
Values = Union[str, int, float, Iterable[Any]]

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


class Scenario:
    """A scenario as text, with the folder from which it names other files.

    Build one in code from the keys of a scenario file (`tidewire help scenario`):

    >>> short = Scenario(
    ...     title="short",
    ...     medium={"kind": "ideal", "rate": "10 Mbit/s"},
    ...     stop={"after": "50 ms"},
    ...     station=[{"name": "a"}, {"name": "b"}],
    ...     flow=[{"name": "status", "from": "a", "to": "b", "service": "datagram", "size": "100 B",
    ...            "pattern": {"kind": "cyclic", "period": "5 ms"}}],
    ... )
    >>> predict(short, runs=1).samples["delivered"]
    [10]
    """

    def __init__(
        self,
        text: str | None = None,
        *,
        name: str = "scenario",
        folder: str | os.PathLike[str] | None = None,
        **keys: Any,
    ) -> None:
        if (text is None) == (not keys):
            raise ValueError("a scenario has a text, or keys")
        self.text = text if text is not None else _toml({"version": 1, **keys})
        self.name = name
        self.folder = None if folder is None else Path(folder)
        self._word = f"{name}.toml"

    @classmethod
    def of(cls, scenario: str | os.PathLike[str] | "Scenario") -> "Scenario":
        """A built-in scenario by its name, or the file at this path."""
        if isinstance(scenario, cls):
            return scenario
        path = Path(scenario)
        built_in = None if path.is_file() else _tidewire.scenario_text(os.fspath(scenario))
        if built_in is not None:
            made = cls(built_in, name=os.fspath(scenario))
            made._word = os.fspath(scenario)
            return made
        made = cls(path.read_text(), name=path.stem, folder=path.parent)
        made._word = os.fspath(path)
        return made

    def __repr__(self) -> str:
        return f"<tidewire.Scenario {self.name}>"


def scenario(name: str) -> Scenario:
    """A built-in scenario; `scenarios()` has their names."""
    return Scenario.of(name)


def predict(
    scenario: str | os.PathLike[str] | Scenario,
    *,
    vary: Mapping[str, Values] | None = None,
    seed: int | None = None,
    runs: int | None = None,
    require: str | Sequence[str] = (),
    until_decided: bool = False,
    precision: float | None = None,
    at_most: int = 1000,
    shard: tuple[int, int] | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Runs:
    """Simulates a scenario: the name of a built-in one, the path of a file, or a `Scenario`.

    vary: keys of the scenario and their values in turn, such as {"flow.*.size": ["64 B", "256 B"]}; a text is a
        list or range as on the command line, such as "4..64..4".
    seed, runs: instead of the scenario's.
    require: requirements such as "miss(status) < 1e-3", in addition to those of the scenario.
    until_decided: more runs until every requirement is decided; precision: until the interval of each mean delay is
        within this share of it, such as 0.05; at_most: limit of the runs of a point with either.
    shard: make only this part of the runs, such as (3, 40), to be saved: `tidewire merge` puts the folders together.
    jobs: threads; as many as there are cores.
    progress: True prints it on standard error; a function is called with the runs made and their number.

    Raises ValueError with every problem of the scenario, by its line.
    """
    report, end = _progress(progress, "runs")
    try:
        return _predict(
            Scenario.of(scenario),
            vary=[_setting(key, values) for key, values in (vary or {}).items()],
            seed=seed,
            runs=runs,
            require=[require] if isinstance(require, str) else list(require),
            until_decided=until_decided,
            precision=precision,
            at_most=at_most,
            shard=None if shard is None else "{}/{}".format(*shard),
            jobs=jobs,
            progress=report,
        )
    finally:
        end()


def _predict(scenario: Scenario, **options: Any) -> Runs:
    """Calls the core, with the command line that does the same."""
    command = ["tidewire", "predict", scenario._word]
    for option in ("vary", "require"):
        command += [word for value in options[option] for word in (f"--{option}", value)]
    for option in ("seed", "runs", "shard"):
        if options[option] is not None:
            command += [f"--{option}", str(options[option])]
    if options["until_decided"]:
        command.append("--until-decided")
    if options["precision"] is not None:
        command += ["--precision", f"{options['precision'] * 100:g} %"]
    if options["until_decided"] or options["precision"] is not None:
        command += ["--at-most", str(options["at_most"])]
    return _tidewire.predict(scenario.text, scenario.name, scenario.folder, command, **options)


def sweep(
    scenario: str | os.PathLike[str] | Scenario,
    *,
    executor: Any = None,
    shards: int | None = None,
    vary: Mapping[str, Values] | None = None,
    seed: int | None = None,
    runs: int | None = None,
    require: str | Sequence[str] = (),
    progress: Progress = None,
    cache: str | os.PathLike[str] | None = None,
) -> Runs:
    """`predict`, with the runs divided among the workers of an executor.

    executor: "processes", or an object with the method `submit` of `concurrent.futures`: Dask's `Client` has one, and
        for Ray it is five lines (see the README). None is this process, with a thread for each core.
    shards: parts of the runs, each one task with one thread; as many as this machine has cores.
    progress: True prints the finished parts on standard error; a function is called with them and their number.
    cache: folder for finished parts. A sweep that was interrupted goes on with those that are there. The name of a part
        depends on this package, the options, and the contents of the scenario and of the files that it names.

    The samples are those of one process, octet for octet, whatever the number of parts.
    """
    wanted = Scenario.of(scenario)
    options: dict[str, Any] = dict(
        vary=[_setting(key, values) for key, values in (vary or {}).items()],
        seed=seed,
        runs=runs,
        require=[require] if isinstance(require, str) else list(require),
        until_decided=False,
        precision=None,
        at_most=1000,
        shard=None,
    )
    if executor is None and cache is None:
        return _predict_with(progress, "runs", lambda report: _predict(wanted, **options, progress=report))
    parts = _Parts(wanted, options, shards or os.cpu_count() or 1, cache)
    if executor is None:
        return _predict_with(progress, "parts", parts.here)
    if executor != "processes":
        return _predict_with(progress, "parts", lambda report: parts.by(executor, report))
    # New processes: a fork would copy locks that threads hold.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(mp_context=context) as pool:
        return _predict_with(progress, "parts", lambda report: parts.by(pool, report))


def _predict_with(progress: Progress, what: str, make: Callable[[Any], Runs]) -> Runs:
    """Makes runs that report their progress."""
    report, end = _progress(progress, what)
    try:
        return make(report)
    finally:
        end()


class _Parts:
    """The parts of a sweep. Those that are in the cache are not made again."""

    def __init__(
        self, scenario: Scenario, options: dict[str, Any], of: int, cache: str | os.PathLike[str] | None
    ) -> None:
        self.scenario, self.options, self.of = scenario, options, of
        self.paths: dict[int, Path] = {}
        if cache is not None:
            Path(cache).mkdir(parents=True, exist_ok=True)
            # The core itself is part of the name: another version may have other numbers.
            key = hashlib.sha256(Path(_tidewire.__file__).read_bytes())
            key.update(json.dumps([options, of], sort_keys=True).encode())
            _digest(key, scenario.text, scenario.folder, set())
            name = key.hexdigest()[:32]
            self.paths = {number: Path(cache, f"{name}-{number}.ndjson") for number in range(1, of + 1)}
        self.found = {number: path.read_bytes() for number, path in self.paths.items() if path.is_file()}

    def missing(self) -> list[int]:
        return [number for number in range(1, self.of + 1) if number not in self.found]

    def here(self, report: Any) -> Runs:
        """Makes the missing parts one after the other, each with all cores."""
        for number in self.missing():
            self.keep(number, _part(self.scenario, self.options, self.of, number, None), report)
        return self.together()

    def by(self, executor: Any, report: Any) -> Runs:
        """Has the missing parts made by an executor, with one thread each."""
        task = functools.partial(_part, self.scenario, self.options, self.of)
        futures: dict[int, Any] = {}
        try:
            for number in self.missing():
                futures[number] = executor.submit(task, number)
            for number, future in futures.items():
                self.keep(number, future.result(), report)
        except BaseException:
            for number, future in futures.items():
                # What is finished is not made again by the next call.
                if future.done() and not future.cancelled() and future.exception() is None:
                    if number not in self.found:
                        self.keep(number, future.result(), None)
                else:
                    future.cancel()
            raise
        return self.together()

    def keep(self, number: int, octets: bytes, report: Any) -> None:
        """Takes a part, and stores it under its name at once: an interrupted write leaves no half of one."""
        self.found[number] = octets
        path = self.paths.get(number)
        if path is not None:
            draft = path.with_suffix(f".{os.getpid()}.part")
            draft.write_bytes(octets)
            draft.replace(path)
        if report is not None:
            report(len(self.found), self.of)

    def together(self) -> Runs:
        return _predict(self.scenario, **self.options, made=[self.found[number] for number in sorted(self.found)])


def _digest(digest: Any, text: str, folder: Path | None, seen: set[Path]) -> None:
    """Adds a scenario, and each file of its folder that a text in it names."""
    digest.update(b"\0" + text.encode())
    if folder is None:
        return
    for named in sorted(set(re.findall(r"\"([^\"\n]+)\"|'([^'\n]+)'", text))):
        path = folder / (named[0] or named[1])
        if not path.is_file() or path.resolve() in seen:
            continue
        seen.add(path.resolve())
        octets = path.read_bytes()
        digest.update(b"\0" + octets)
        if path.suffix == ".toml":
            _digest(digest, octets.decode(errors="replace"), path.parent, seen)


def _part(scenario: Scenario, options: dict[str, Any], of: int, number: int, jobs: int | None = 1) -> bytes:
    """One shard; in a worker it has one thread."""
    return _predict(scenario, **{**options, "shard": f"{number}/{of}", "jobs": jobs}).ndjson()


def watch(
    path: str | os.PathLike[str],
    *,
    interval: str | float = 10.0,
    progress: Progress = None,
) -> Watched:
    """Meters a capture file: pcap or pcapng, also packed with gzip or zstd.

    interval: length of the measurement intervals, in seconds or as a text such as "500 ms".
    progress: True prints it on standard error; a function is called with the number of frames, and None.

    Raises OSError with the place at which a damaged file cannot be read on.
    """
    report, end = _progress(progress, "frames")
    try:
        return _tidewire.watch(os.fspath(path), _seconds(interval), report)
    finally:
        end()


def _seconds(interval: str | float) -> float:
    if not isinstance(interval, str):
        return float(interval)
    parts = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]+)\s*", interval)
    if parts is None or parts[2] not in _UNITS:
        raise ValueError(f"interval {interval!r}: a number and a unit, such as '500 ms'")
    return float(parts[1]) * _UNITS[parts[2]]


def _setting(key: str, values: Values) -> str:
    if isinstance(values, (str, int, float)):
        return f"{key}={values}"
    return f"{key}={','.join(str(value) for value in values)}"


def _progress(progress: Progress, what: str) -> tuple[Any, Callable[[], None]]:
    """The function that the core calls about 20 times a second, and what is called at the end."""
    if progress is None or progress is False:
        return None, lambda: None
    if progress is not True:
        return progress, lambda: None

    def show(done: int, of: int | None) -> None:
        total = "" if of is None else f" of {of}"
        print(f"\r{done}{total} {what}", end="", file=sys.stderr, flush=True)

    return show, lambda: print(file=sys.stderr)


def _toml(keys: Mapping[str, Any]) -> str:
    """Keys of a scenario in the format of its file."""
    tables = {key: value for key, value in keys.items() if _is_tables(value)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in keys.items() if key not in tables]
    for key, value in tables.items():
        for table in value:
            lines += ["", f"[[{_key(key)}]]"]
            lines += [f"{_key(name)} = {_value(item)}" for name, item in table.items()]
    return "\n".join(lines) + "\n"


def _is_tables(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and len(value) > 0
        and all(isinstance(item, Mapping) for item in value)
    )


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return '"' + "".join(_character(c) for c in value) + '"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, Iterable):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    raise TypeError(f"a scenario has no value of type {type(value).__name__}")


def _character(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    return c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}"
