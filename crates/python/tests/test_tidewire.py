"""The package has the numbers of the command, and keeps what it promises to notebooks and data frames.

TIDEWIRE is the path of the command. Tests that need a package that is not installed say so in a line that begins with
`skipped:`.
"""

import csv
import doctest
import hashlib
import importlib
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import tidewire as tw

PROGRAM = os.environ.get("TIDEWIRE", "tidewire")
TOP = Path(__file__).resolve().parents[3]
SHORT = dict(
    title="short",
    replications=3,
    stop={"after": "50 ms", "warmup": "none"},
    medium={"kind": "ideal", "rate": "10 Mbit/s"},
    faults={"loss": "5 %"},
    station=[{"name": "here"}, {"name": "there"}],
    flow=[
        {
            "name": "status",
            "from": "here",
            "to": "there",
            "service": "class-4",
            "pattern": {"kind": "poisson", "mean-interval": "5 ms"},
            "size": "100 B",
            "deadline": "3 ms",
        }
    ],
)
TABLES = ("intervals", "hosts", "connections", "services", "streams", "transactions")
VARY = {"flow.*.size": ["64 B", "256 B"]}


def command(*words: str, codes: tuple = (0,)) -> str:
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, cwd=TOP)
    assert done.returncode in codes, done.stderr
    return done.stdout


def optional(package: str):
    try:
        return importlib.import_module(package)
    except ImportError:
        print(f"skipped: {package} is not installed")
        return None


class Studies(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = Path(self.folder.name, "short.toml")
        self.file.write_text(tw.Scenario(**SHORT).text)

    def test_samples_results_and_verdicts_are_those_of_the_command(self):
        require = "miss(status) < 50 %"
        runs = tw.predict(self.file, vary=VARY, seed=7, require=require)
        text = command(
            "predict", str(self.file), "--vary", "flow.*.size=64 B,256 B", "--seed", "7",
            "--require", require, "--no-save", "--json", codes=(0, 3, 4),
        )
        records = [json.loads(line) for line in text.splitlines()]
        samples = [record for record in records if record["type"] == "sample"]
        self.assertEqual([json.loads(line) for line in runs.ndjson().splitlines()][:-1], samples)
        flows = [flow for sample in samples for flow in sample["flows"]]
        table = runs.samples
        self.assertEqual(len(table), 6)
        for name in ("sent", "delivered", "lost", "missed", "delivered_octets"):
            self.assertEqual(table[name], [flow[name] for flow in flows], name)
        for name in ("mean_ns", "p99_ns", "max_ns"):
            self.assertEqual(table[f"delay_{name}"], [flow["delay"][name] for flow in flows], name)
        self.assertEqual(table["flow.*.size"], ["64 B"] * 3 + ["256 B"] * 3)
        report = next(record for record in records if record["type"] == "report")
        found = [
            (point["point"], flow["name"], it["name"], it["mean"], it["n"])
            for point in report["points"] for flow in point["flows"] for it in flow["quantities"]
        ]
        self.assertIn("n", runs.results)
        self.assertNotIn("no-such-column", runs.results)
        self.assertNotIn(1, runs.results)
        results = runs.results.to_dict()
        columns = ("point", "flow", "quantity", "mean", "n")
        self.assertEqual(list(zip(*(results[name] for name in columns))), found)
        half = [
            it["half_width"]
            for point in report["points"] for flow in point["flows"] for it in flow["quantities"]
        ]
        for mean, high, width in zip(results["mean"], results["high"], half):
            self.assertEqual(high, None if width is None else mean + width)
        verdicts = [judged["verdict"] for judged in report["requirements"]]
        self.assertEqual(runs.verdicts["verdict"], verdicts)
        self.assertIn(runs.verdict, verdicts)

    def test_a_saved_run_is_the_folder_of_the_command(self):
        runs = tw.predict(self.file, vary=VARY, seed=7)
        saved = Path(runs.save(Path(self.folder.name, "mine")))
        whole = Path(self.folder.name, "whole")
        command(
            "predict", str(self.file), "--vary", "flow.*.size=64 B,256 B", "--seed", "7", "-q",
            "-o", str(whole),
        )
        (other,) = whole.iterdir()
        for name in ("samples.ndjson", "scenario.toml"):
            self.assertEqual(Path(saved, name).read_bytes(), Path(other, name).read_bytes(), name)
        # The command goes on with it, and compares it.
        command("predict", "--resume", str(saved))
        command("compare", str(saved), str(other))
        again = tw.read(saved)
        self.assertEqual(again.ndjson(), runs.ndjson())
        self.assertEqual(again.results.to_dict(), runs.results.to_dict())
        with self.assertRaises(ValueError):
            again.save(self.folder.name)

    def test_shards_of_any_executor_are_the_octets_of_one_process(self):
        whole = tw.predict(self.file, vary=VARY, runs=4)
        by_processes = tw.sweep(self.file, vary=VARY, runs=4, executor="processes", shards=3)
        self.assertEqual(by_processes.ndjson(), whole.ndjson())
        self.assertEqual(by_processes.results.to_dict(), whole.results.to_dict())
        with ThreadPoolExecutor(2) as pool:
            by_threads = tw.sweep(self.file, vary=VARY, runs=4, executor=pool, shards=8)
        self.assertEqual(by_threads.ndjson(), whole.ndjson())
        # Parts that the command puts together.
        parts = Path(self.folder.name, "parts")
        for number in (1, 2):
            tw.predict(self.file, vary=VARY, runs=4, shard=(number, 2)).save(parts)
        merged = Path(self.folder.name, "merged")
        command("merge", str(parts), "-o", str(merged))
        (folder,) = merged.iterdir()
        self.assertEqual(Path(folder, "samples.ndjson").read_bytes(), whole.ndjson())

    def test_runs_are_made_until_they_decide(self):
        runs = tw.predict(self.file, require="lost(status) < 90 %", until_decided=True, at_most=40)
        self.assertEqual(runs.verdict, "pass")
        with self.assertRaisesRegex(ValueError, "no requirement"):
            tw.predict(self.file, until_decided=True)

    def test_problems_are_named_by_their_line(self):
        with self.assertRaisesRegex(ValueError, "did you mean `medium`"):
            tw.predict(tw.Scenario("version = 1\nmediun = 3\n"))
        with self.assertRaisesRegex(ValueError, 'no flow "x"'):
            tw.predict(self.file, require="lost(x) < 1 %")
        with self.assertRaisesRegex(ValueError, "at least one run"):
            tw.predict(self.file, runs=0)
        with self.assertRaises(FileNotFoundError):
            tw.predict("no-such-scenario")
        with self.assertRaises(OSError):
            tw.read(self.folder.name)

    def test_a_scenario_from_keys_reads_back(self):
        keys = dict(SHORT, title='a "quoted" \\ name with ümlaut', seed=3)
        self.assertEqual(tw.predict(tw.Scenario(**keys), runs=1).title, keys["title"])

    def test_comparison_and_figures(self):
        small, large = (
            tw.predict(self.file, vary={"flow.*.size": [size]}, runs=5) for size in ("64 B", "900 B")
        )
        self.assertEqual(len(tw.compare(small, large)), 0, "the points have different settings")
        other = tw.predict(self.file, vary={"flow.*.size": ["64 B"]}, runs=5, seed=9)
        table = tw.compare(small, other)
        at = table["quantity"].index("throughput")
        self.assertTrue(math.isclose(
            table["difference"][at], table["other"][at] - table["baseline"][at]
        ))
        runs = tw.predict(self.file, vary=VARY)
        self.assertTrue(runs.figures)
        for figure in runs.figures:
            self.assertTrue(figure._repr_svg_().startswith("<svg"))
            self.assertIn("seed 1", figure.caption)
            self.assertIn("status", figure.csv)
        self.assertIn("<svg", runs._repr_html_())

    def test_a_figure_is_drawn_on_axes_of_matplotlib(self):
        class Axes:
            """Keeps what is drawn."""

            def __init__(self):
                self.lines, self.labels = [], []

            def errorbar(self, x, y, **how):
                self.lines.append((x, y, how))

            def set_xlabel(self, label):
                self.labels.append(label)

            set_ylabel = set_xlabel

            def legend(self):
                pass

        runs = tw.predict("status-csma", runs=3)
        (mean,) = (figure for figure in runs.figures if figure.name == "mean")
        axes = Axes()
        self.assertIs(mean.plot(ax=axes), axes)
        rows = list(csv.DictReader(mean.csv.splitlines()))
        ((x, y, how),) = axes.lines
        self.assertEqual(axes.labels, list(rows[0])[1:3])
        self.assertEqual(x, [float(row[axes.labels[0]]) for row in rows])
        self.assertEqual(y, [float(row[axes.labels[1]]) for row in rows])
        low, high = how["yerr"]
        self.assertEqual((low[0], high[0]), (0.0, 0.0), "copies of one run have no interval")
        self.assertTrue(math.isclose(y[1] - low[1], float(rows[1]["low"])))
        self.assertTrue(math.isclose(y[1] + high[1], float(rows[1]["high"])))
        if importlib.util.find_spec("matplotlib") is None:
            with self.assertRaisesRegex(ImportError, "pip install"):
                mean.plot()

    def test_a_sweep_goes_on_with_the_parts_in_its_cache(self):
        class Broken:
            """Makes the first parts, and no others."""

            def __init__(self, parts):
                self.parts, self.made = parts, 0

            def submit(self, task, number):
                self.made += 1
                if self.made > self.parts:
                    raise RuntimeError("out of power")
                future = Future()
                future.set_result(task(number))
                return future

        whole = tw.sweep(self.file, vary=VARY, seed=7)
        cache = Path(self.folder.name, "cache")
        options = dict(vary=VARY, seed=7, shards=4, cache=cache)
        with self.assertRaisesRegex(RuntimeError, "out of power"):
            tw.sweep(self.file, executor=Broken(3), **options)
        self.assertEqual(len(list(cache.iterdir())), 3)
        rest, called = Broken(4), []
        again = tw.sweep(self.file, executor=rest, progress=lambda *at: called.append(at), **options)
        self.assertEqual((rest.made, called), (1, [(4, 4)]))
        self.assertEqual(again.ndjson(), whole.ndjson())
        # Without an executor the parts are made here, and an interruption keeps those that are done.
        def stop(done, of):
            raise KeyboardInterrupt

        here = dict(options, cache=Path(self.folder.name, "here"))
        with self.assertRaises(KeyboardInterrupt):
            tw.sweep(self.file, progress=stop, **here)
        self.assertEqual(len(list(here["cache"].iterdir())), 1)
        self.assertEqual(tw.sweep(self.file, **here).ndjson(), whole.ndjson())
        self.assertEqual(tw.sweep(self.file, executor="processes", **options).ndjson(), whole.ndjson())
        # A damaged part is refused.
        damaged = next(here["cache"].iterdir())
        damaged.write_bytes(damaged.read_bytes()[:-100])
        with self.assertRaises(ValueError):
            tw.sweep(self.file, **here)
        # All parts are there; with another seed, or another text, none is.
        self.assertEqual(tw.sweep(self.file, executor=Broken(0), **options).ndjson(), whole.ndjson())
        with self.assertRaisesRegex(RuntimeError, "out of power"):
            tw.sweep(self.file, executor=Broken(0), **{**options, "seed": 8})
        self.file.write_text(tw.Scenario(**{**SHORT, "faults": {"loss": "6 %"}}).text)
        with self.assertRaisesRegex(RuntimeError, "out of power"):
            tw.sweep(self.file, executor=Broken(0), **options)

    def test_a_file_that_a_scenario_names_is_part_of_a_cached_name(self):
        named = Path(self.folder.name, "events.csv")

        def key():
            digest = hashlib.sha256()
            tw._digest(digest, 'trace = "events.csv"', named.parent, set())
            return digest.hexdigest()

        without = key()
        named.write_text("1 ms\n")
        first = key()
        named.write_text("2 ms\n")
        self.assertEqual(len({without, first, key()}), 3)

    def test_progress_is_called_and_an_error_of_it_ends_the_runs(self):
        called = []
        tw.predict("status-csma", runs=3, progress=lambda done, of: called.append((done, of)))
        self.assertTrue(called)
        self.assertTrue(all(done <= of for done, of in called))

        def fail(done, of):
            raise RuntimeError("enough")

        with self.assertRaisesRegex(RuntimeError, "enough"):
            tw.predict("status-csma", runs=10_000, progress=fail)

    def test_the_interrupt_key_ends_a_long_study(self):
        # A program that a shell starts in the background ignores the key until it asks for it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        # Without an effect of the key this takes an hour.
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            tw.predict("status-csma", runs=100_000)

    def test_other_threads_run_meanwhile(self):
        counted = []
        done = threading.Event()

        def count():
            while not done.wait(0.001):
                counted.append(1)

        thread = threading.Thread(target=count)
        thread.start()
        tw.predict("status-csma", runs=5, jobs=1)
        done.set()
        thread.join()
        self.assertGreater(len(counted), 10)


class Captures(unittest.TestCase):
    def test_tables_are_those_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("cell.pcapng", "cycles.pcap", "gateway.pcap"):
                path = TOP / "captures" / name
                command("watch", "-r", str(path), "--measure", "1 s", "--csv", folder, "-q")
                found = tw.watch(path, interval="1 s")
                for table in TABLES:
                    with open(Path(folder, f"{table}.csv"), newline="") as file:
                        rows = list(csv.DictReader(file))
                    self.compare(getattr(found, table), rows, f"{name} {table}")

    def compare(self, table: tw.Table, rows: list, name: str):
        self.assertEqual(len(table), len(rows), name)
        columns = table.to_dict()
        shared = [column for column in columns if rows and column in rows[0]]
        self.assertTrue(not rows or len(shared) > 10, f"{name}: {list(columns)}")
        compared = 0
        for column in shared:
            for value, row in zip(columns[column], rows):
                text = row[column]
                if value is None or text == "":
                    self.assertEqual((value, text), (None, ""), f"{name} {column}")
                elif isinstance(value, float):
                    self.assertTrue(math.isclose(value, float(text)), f"{name} {column}")
                elif not column.endswith("time") and "start" not in column and column != "ts":
                    self.assertEqual(str(value), text, f"{name} {column}")
                compared += 1
        self.assertTrue(not rows or compared > 20)

    def test_findings_are_those_of_the_command(self):
        text = command("watch", "-r", "captures/cell.pcapng", "--json", codes=(0, 3))
        records = [json.loads(line) for line in text.splitlines()]
        expected = [record["text"] for record in records if record["type"] == "finding"]
        found = tw.watch(TOP / "captures/cell.pcapng")
        self.assertEqual(found.findings["text"], expected)
        self.assertEqual(found.frames, 595)

    def test_files_that_are_none_are_refused(self):
        with self.assertRaises(OSError):
            tw.watch("no-such.pcap")
        with self.assertRaisesRegex(OSError, "README.md"):
            tw.watch(TOP / "README.md")
        with self.assertRaises(ValueError):
            tw.watch(TOP / "captures/cell.pcapng", interval=0)
        with self.assertRaises(ValueError):
            tw.watch(TOP / "captures/cell.pcapng", interval="5 parsecs")

    def test_names_are_text_in_notebooks(self):
        keys = dict(SHORT, title="<script>alert(1)</script>")
        page = tw.predict(tw.Scenario(**keys), runs=1)._repr_html_()
        self.assertNotIn("<script>", page)
        self.assertIn("&lt;script&gt;", page)


class Command(unittest.TestCase):
    def test_the_package_runs_its_command_or_says_that_it_has_none(self):
        done = subprocess.run([sys.executable, "-m", "tidewire", "--version"], capture_output=True, text=True)
        if done.returncode == 2:
            self.assertIn("has no command", done.stderr)
            self.assertIn("fix: ", done.stderr)
        else:
            self.assertRegex(done.stdout, r"^tidewire \d+\.\d+")


class Frames(unittest.TestCase):
    def test_data_frames_take_the_columns(self):
        polars = optional("polars")
        if polars is None:
            return
        runs = tw.predict(tw.Scenario(**SHORT), vary=VARY)
        frame = polars.DataFrame(runs.samples)
        self.assertEqual(frame["delivered"].to_list(), runs.samples["delivered"])
        self.assertEqual(frame.schema["delay_mean_ns"], polars.Float64)
        kept = runs.samples
        frames = [polars.DataFrame(kept) for _ in range(3)]
        del kept
        self.assertTrue(frames[0].equals(frames[2]), "a table may be taken many times")


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(tw))
    return tests


if __name__ == "__main__":
    print(f"Python {sys.version.split()[0]}", file=sys.stderr)
    unittest.main()
