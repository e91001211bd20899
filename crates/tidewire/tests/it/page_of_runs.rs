//! `--web` of predict, measure and reproduce: the page of runs under way, asked over plain TCP.

use crate::page::Served;
use crate::{check_code, run, stderr, stdout};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::Command;
use std::thread::JoinHandle;

/// A command with a page, whose output is read as it comes.
struct UnderWay {
    served: Served,
    out: JoinHandle<String>,
}

impl UnderWay {
    fn start(words: &str) -> Self {
        let words: Vec<&str> = words.split(' ').collect();
        let mut served = Served::start(&words);
        let mut out = served.child.stdout.take().unwrap();
        let out = std::thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        Self { served, out }
    }

    /// Reads events to their end: the parts of the page as they were sent, and standard output.
    fn into_pages(self, mut at_first: impl FnMut(&Served)) -> (Vec<String>, String) {
        let (host, cookie) = (self.served.host(), self.served.cookie());
        let stream = self.served.send("/api/v1/stream", &[&host, &cookie]);
        let (mut pages, mut is_end) = (Vec::new(), false);
        for line in BufReader::new(stream).lines().map(Result::unwrap) {
            is_end |= line == "event: end";
            let Some(data) = line.strip_prefix("data: \"") else { continue };
            pages.push(serde_json::from_str(&format!("\"{data}")).unwrap());
            if pages.len() == 1 {
                at_first(&self.served);
            }
        }
        assert!(is_end, "the stream of events ended early");
        (pages, self.out.join().unwrap())
    }
}

/// Texts of the cells of a table of the page, row by row, without the sign of its severity.
fn cells(page: &str, id: &str) -> Vec<Vec<String>> {
    let (_, section) = page.split_once(&format!("<section id=\"{id}\">")).unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    let (_, body) = section.split_once("<tbody>").unwrap();
    let text = |cell: &str| {
        let (_, text) = cell.split_once('>').unwrap();
        let text = text.split("</td>").next().unwrap();
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    };
    let rows = body.split("<tr").skip(1);
    rows.map(|row| row.split("<td").skip(2).map(text).collect()).collect()
}

fn record<'a>(records: &'a [Value], kind: &str) -> &'a Value {
    records.iter().find(|record| record["type"] == kind).unwrap()
}

fn read(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The only run folder in a folder.
fn only_run(folder: &Path) -> std::path::PathBuf {
    std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

const SWEEP: &str =
    "predict ieds --vary stations.ied.count=20,40,60 -n 8 --require delay.max(trip)<900us";

#[test]
fn the_page_of_a_sweep_has_the_numbers_of_its_records() {
    let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let words = format!("{SWEEP} -o {}", with.path().display());
    let (pages, out) = UnderWay::start(&words).into_pages(|_| {});
    let plain = format!("{SWEEP} -o {}", without.path().display());
    let plain: Vec<&str> = plain.split(' ').chain(["--json"]).collect();
    let plain = stdout(&run(&plain));
    let of = |out: &str, folder: &Path| out.replace(only_run(folder).to_str().unwrap(), "RUN");
    assert_eq!(of(&out, with.path()), of(&plain, without.path()), "a page changes no record");
    for file in ["samples.ndjson", "scenario.toml"] {
        let [a, b] =
            [&with, &without].map(|it| std::fs::read(only_run(it.path()).join(file)).unwrap());
        assert!(a == b, "{file}");
    }
    let made = std::fs::read_to_string(only_run(with.path()).join("run.json")).unwrap();
    assert!(!made.contains("--web"), "the command to repeat it: {made}");

    let (first, last) = (pages.first().unwrap(), pages.last().unwrap());
    assert!(first.contains("of 24 runs are finished") && first.contains("elapsed"), "{first}");
    assert!(last.contains("24 of 24 runs: complete"), "{last}");
    assert!(
        last.contains(&format!("tidewire report {}", only_run(with.path()).display())),
        "{last}"
    );
    let records = read(&out);
    let report = record(&records, "report");
    let required = report["requirements"].as_array().unwrap();
    let points = cells(last, "points");
    for (row, point) in points.iter().zip(report["points"].as_array().unwrap()) {
        assert_eq!(
            row[1],
            format!(
                "stations.ied.count = {}",
                point["settings"]["stations.ied.count"].as_str().unwrap()
            )
        );
        assert_eq!(row[2], point["replications"].to_string());
        let here = required.iter().filter(|it| it["point"] == point["point"]);
        let is_failed = here.clone().any(|it| it["verdict"] == "fail");
        assert_eq!(row[4] == "FAIL", is_failed, "{row:?}");
    }
    assert_eq!(points.len(), 3);
    let verdicts = cells(last, "requirements");
    let fails = |rows: usize| rows > 0 && rows < required.len();
    assert!(fails(required.iter().filter(|it| it["verdict"] == "fail").count()), "{required:?}");
    for row in &verdicts {
        let of = |it: &&Value| row[1].starts_with(&format!("{},", it["flow"].as_str().unwrap()));
        let is_known = required.iter().filter(of).any(|it| {
            let found = it["found"].as_f64().unwrap();
            let shown = records::quantity::value(bench::analysis::Unit::Nanoseconds, found);
            row[2] == shown && row[4].to_lowercase().starts_with(it["verdict"].as_str().unwrap())
        });
        assert!(is_known, "{row:?}");
    }
    assert_eq!(verdicts.len(), required.len().min(20));
}

#[test]
fn a_page_under_way_is_refused_without_token() {
    let long = UnderWay::start("predict ieds -n 100000 --no-save");
    let served = &long.served;
    served.check_refusals(&[
        "/",
        "/report",
        "/progress.js",
        "/app.css",
        "/api/v1/stream",
        "/nothing",
    ]);
    let (head, page) = served.get("/");
    let policy = "content-security-policy: default-src 'none'; script-src 'self'";
    assert!(head.contains(policy) && !head.contains("access-control"), "{head}");
    assert!(page.contains("nothing is saved") && !page.contains("://"), "{page}");
    let (_, script) = served.get("/progress.js");
    assert!(!script.contains("://"), "{script}");
    // A report needs a finished run.
    let report = loop {
        let (head, report) = served.get("/report");
        if head.starts_with("HTTP/1.1 200 ") {
            assert!(!head.contains("script-src"), "{head}");
            break report;
        }
        assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
        assert!(report.contains("no run is finished"), "{report}");
    };
    assert!(report.contains("of 1000000 runs are finished"), "{report}");
}

#[test]
fn the_last_page_of_an_interrupted_sweep_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let words = format!("predict ieds -n 100000 -o {}", folder.path().display());
    let (pages, out) = UnderWay::start(&words).into_pages(|served| {
        let id = served.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    });
    let last = pages.last().unwrap();
    assert!(last.contains("of 1000000 runs: cut short, interrupted"), "{last}");
    assert!(last.contains(only_run(folder.path()).to_str().unwrap()), "{last}");
    assert!(!last.contains("to go") && !last.contains("/report\""), "{last}");
    assert_eq!(record(&read(&out), "end")["error"], "interrupted");
}

#[test]
fn a_page_shows_the_verdict_of_growing_runs() {
    let words =
        "predict status-csma --require miss(status)<5% --until-decided --at-most 40 --no-save";
    let (pages, out) = UnderWay::start(words).into_pages(|_| {});
    let records = read(&out);
    let required = record(&records, "report")["requirements"].as_array().unwrap();
    let rows = cells(pages.last().unwrap(), "requirements");
    assert_eq!(rows.len(), required.len());
    let verdicts = |verdict: &str| {
        let of_records = required.iter().filter(|it| it["verdict"] == verdict).count();
        let of_page = rows.iter().filter(|row| row[4].to_lowercase().starts_with(verdict)).count();
        assert_eq!(of_page, of_records, "{verdict}: {rows:?}");
    };
    ["pass", "fail", "undecided"].into_iter().for_each(verdicts);
}

#[test]
fn a_measurement_has_a_page_with_its_times() {
    let (pages, out) = UnderWay::start("measure status-short --no-save").into_pages(|_| {});
    let records = read(&out);
    let point = &record(&records, "report")["points"][0];
    let rows = cells(pages.last().unwrap(), "times");
    let flow = &point["flows"][0];
    let pooled = flow["delay_pooled"].as_array().unwrap().iter().find(|it| it["share"] == 0.5);
    let median = records::quantity::span(pooled.unwrap()["value_ns"].as_u64().unwrap());
    assert_eq!((&rows[0][0], &rows[0][5]), (&flow["name"].as_str().unwrap().to_owned(), &median));
}

#[test]
fn a_reproduction_has_a_page_with_its_rows() {
    let (pages, out) = UnderWay::start("reproduce tr-88-08 -n 5").into_pages(|_| {});
    let records = read(&out);
    let last = pages.last().unwrap();
    assert!(last.contains(": complete") && last.contains("predictions and shapes agree"), "{last}");
    let rows = cells(last, "rows");
    let claims: usize = records
        .iter()
        .filter(|record| record["type"] == "row")
        .map(|row| row["claims"].as_array().unwrap().len())
        .sum();
    assert_eq!(rows.len(), claims);
}

#[test]
fn the_page_of_a_live_reproduction_has_its_trials() {
    let refused = run(&["reproduce", "tr-88-17", "--live", "--web", "0.0.0.0:0"]);
    check_code(&refused, 2);
    assert!(stderr(&refused).contains("--web-anywhere"), "{}", stderr(&refused));
    let anywhere = ["reproduce", "tr-88-17", "--live", "--web-anywhere"];
    check_code(&run(&anywhere), 2);
    // Its end takes minutes.
    let live = UnderWay::start("reproduce tr-88-17 --live");
    let page = loop {
        let (_, page) = live.served.get("/");
        if page.contains("of 5 rounds are finished") {
            break page;
        }
    };
    let trials = cells(&page, "trials");
    assert!(trials.len() > 10, "{trials:?}");
    assert!(trials.iter().all(|row| row.len() == 6 && row[5] == "-"), "{trials:?}");
}
