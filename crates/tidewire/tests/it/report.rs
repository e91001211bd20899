//! `report` on runs of every kind: sections, hostile text, size, forms, inputs that stay.

use crate::annotated_port::{send, watching};
use crate::predict::only_run;
use crate::watch::data;
use crate::wires::Namespaces;
use crate::{check_code, command, interrupt, records, run_in, stderr, stdout};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const CELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng");
const CYCLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cycles.pcap");
const MMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/mms.pcapng");

/// Makes a run in this folder, and returns its path.
fn made(folder: &Path, arguments: &[&str], code: i32) -> PathBuf {
    let all = [arguments, &["-o", "made"]].concat();
    check_code(&run_in(folder, &all), code);
    only_run(&folder.join("made"))
}

/// Writes the report of a run, and returns it.
fn page(folder: &Path, run: &Path) -> String {
    let output = run_in(folder, &["report", run.to_str().unwrap()]);
    check_code(&output, 0);
    fs::read_to_string(run.join("report.html")).unwrap()
}

/// Headings of a page, as a reader sees them.
fn headings(page: &str) -> Vec<&str> {
    let heads = page.split("<h2 ").skip(1);
    heads.map(|head| head.split(['>', '<']).nth(1).unwrap()).collect()
}

/// Checks that a page is complete by itself: no script, no request, each section, names of figures apart.
#[track_caller]
fn check_page(page: &str, verdict: &str, sections: &[&str]) {
    for banned in ["<script", "<link", "<img", "javascript:", "src=", "url(", "@import"] {
        assert!(!page.contains(banned), "{banned} in the page");
    }
    // A link goes nowhere: it holds the numbers of a figure.
    let links = page.matches("href=").count();
    let numbers = page.matches("href=\"data:text/csv;charset=utf-8,").count();
    assert!(links == numbers && links == page.matches("<figure>").count(), "{links} links");
    assert!(page.contains("default-src 'none'; style-src 'sha256-"), "no policy");
    let shown = headings(page);
    assert_eq!(shown.first(), Some(&verdict));
    for section in sections {
        assert!(shown.contains(section), "{section} is not among {shown:?}");
    }
    let figures = page.matches("<figure>").count();
    for number in 1..=figures {
        let id = format!("id=\"figure-{number}-title\"");
        assert_eq!(page.matches(&id).count(), 1, "{id}");
    }
    assert_eq!(page.matches("<details").count(), figures, "each figure has its numbers");
    // Every heading of a column or a row says which it is of.
    let heads = page.matches("<th").count() - page.matches("<thead").count();
    assert_eq!(heads, page.matches("scope=\"").count());
}

/// Sections of every report.
const ALWAYS: [&str; 5] = ["The run", "Validity", "Repeat it", "Provenance", "Glossary"];

#[track_caller]
fn check_validity(page: &str) {
    for check in ["complete", "drops", "clock", "host noise", "warm-up"] {
        assert!(page.contains(&format!("<th scope=\"row\">{check}</th>")), "no check of {check}");
    }
}

#[test]
fn a_prediction_shows_its_verdict_and_what_decided_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = made(folder.path(), &["predict", "substation"], 0);
    let page = page(folder.path(), &run);
    check_page(&page, "PASS", &ALWAYS);
    check_page(&page, "PASS", &["Requirements and evidence", "Results", "Figures"]);
    check_validity(&page);
    // As in the README: the longest trip takes 1.07 ms, and theory allows 1.72 ms.
    let first = page.split("<ul").nth(1).unwrap().split("</li>").next().unwrap();
    for part in ["delay.max(trip) &lt; 3 ms", "1.07 ms", "at most 1.72 ms", "n = 140 messages"] {
        assert!(first.contains(part), "{part} is not in {first}");
    }
    assert!(page.contains("tidewire predict substation -o made"), "no command to repeat");
    assert!(page.len() < 100_000, "{} octets", page.len());
}

#[test]
fn the_same_run_gives_the_same_octets_and_keeps_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let run = made(folder.path(), &["predict", "status-short"], 0);
    let samples = fs::read(run.join("samples.ndjson")).unwrap();
    let first = page(folder.path(), &run);
    assert_eq!(page(folder.path(), &run), first, "a second report replaces the first");
    for input in ["samples.ndjson", "run.json", "scenario.toml"] {
        let path = run.join(input);
        let (run, path) = (run.to_str().unwrap(), path.to_str().unwrap());
        let output = run_in(folder.path(), &["report", run, "--output", path]);
        check_code(&output, 2);
        assert!(stderr(&output).contains("this file is also read"), "{}", stderr(&output));
    }
    assert_eq!(fs::read(run.join("samples.ndjson")).unwrap(), samples);
}

#[test]
fn a_measurement_is_compared_with_its_prediction() {
    let folder = tempfile::tempdir().unwrap();
    let predicted = made(folder.path(), &["predict", "status-short"], 0);
    let words = ["measure", "status-short", "-o", "measured"];
    check_code(&run_in(folder.path(), &words), 0);
    let arguments = ["report", predicted.to_str().unwrap(), "measured", "--output", "both.html"];
    check_code(&run_in(folder.path(), &arguments), 0);
    let page = fs::read_to_string(folder.path().join("both.html")).unwrap();
    check_page(&page, "NOT JUDGED", &ALWAYS);
    check_page(&page, "NOT JUDGED", &["Comparison", "Figures"]);
    check_validity(&page);
    assert!(page.contains("woke up to"), "the host is not checked");
    assert!(page.contains("difference (95 %)"), "no difference");
    // The figure has the times of both: those of the baseline end at its longest.
    assert!(page.contains("Thin: the baseline, simulated, 3 runs: status n = 135"), "no baseline");
    let longest = |name: &str| {
        let csv = page.split("data:text/csv;charset=utf-8,").nth(1).unwrap();
        let csv = csv.split('"').next().unwrap().replace("%20", " ").replace("%0A", "\n");
        let csv = csv.replace("%22", "\"").replace("%28", "(").replace("%29", ")");
        // The unit is that of the longest delay, and a measured one can take seconds.
        let unit = csv.split("delay (").nth(1).unwrap().split(')').next().unwrap();
        let nanos = [("us", 1e3), ("ms", 1e6), ("s", 1e9)].into_iter().find(|it| it.0 == unit);
        let mut rows = csv.lines().filter(|line| line.starts_with(name));
        let last = rows.next_back().unwrap()[name.len()..].split(',').nth(1).unwrap();
        (last.parse::<f64>().unwrap() * nanos.unwrap().1).round()
    };
    for (name, run) in
        [("\"status, baseline\"", predicted), ("status", only_run(&folder.path().join("measured")))]
    {
        let samples = fs::read_to_string(folder.path().join(run).join("samples.ndjson")).unwrap();
        let of_samples = samples.lines().filter_map(|line| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            let flows = record["flows"].as_array()?;
            flows.iter().find(|it| it["name"] == "status")?["delay"]["max_ns"].as_f64()
        });
        assert_eq!(longest(name), of_samples.fold(0.0, f64::max), "{name}");
    }
}

#[test]
fn a_watched_capture_shows_what_its_records_say() {
    let folder = tempfile::tempdir().unwrap();
    let require = ["watch", "-r", MMS, "--require", "response.p99(mms.read) < 20 ms"];
    let run = made(folder.path(), &require, 3);
    let page = page(folder.path(), &run);
    check_page(&page, "FAIL", &ALWAYS);
    check_page(&page, "FAIL", &["Requirements and evidence", "Findings", "Results"]);
    check_validity(&page);
    let first = page.split("<ul").nth(1).unwrap().split("</li>").next().unwrap();
    // As in the README.
    assert!(first.contains("96.5 ms") && first.contains("95.7 ms to 96.5 ms"), "{first}");
    // A file of records has the same numbers as the folder.
    let stream = run_in(folder.path(), &[&require[..], &["--json"]].concat());
    fs::write(folder.path().join("mms.ndjson"), &stream.stdout).unwrap();
    let kept = fs::read(run.join("measures.ndjson")).unwrap();
    assert!(kept == stream.stdout, "the run folder differs from --json");
    check_code(&run_in(folder.path(), &["report", "mms.ndjson"]), 0);
    let other = fs::read_to_string(folder.path().join("mms-report.html")).unwrap();
    let numbers = |page: &str| page.split("</ul>").next().unwrap().to_owned();
    assert_eq!(numbers(&other), numbers(&page));
}

#[test]
fn a_watched_run_keeps_the_digest_of_each_capture_that_it_read() {
    // By `sha256sum captures/cell.pcapng captures/mms.pcapng`.
    const OF_CELL: &str = "27690b579585187d8a26f492df01d2cfc0c9b425ca5314038cd61f8c3c819f8c";
    const OF_MMS: &str = "9be4e23de1782e7cac015ae38dd2b4443c5852be7f55dd80f4dae965821c7681";
    let folder = tempfile::tempdir().unwrap();
    let captures = |run: &Path| {
        let text = fs::read_to_string(run.join("run.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["captures"].clone()
    };
    let entry = |file: &str, of: &str, sha256: &str| {
        let octets = fs::metadata(of).unwrap().len();
        serde_json::json!({ "file": file, "octets": octets, "sha256": sha256 })
    };
    let run = made(folder.path(), &["watch", "-r", CELL, "-r", MMS], 0);
    let both = serde_json::json!([entry(CELL, CELL, OF_CELL), entry(MMS, MMS, OF_MMS)]);
    assert_eq!(captures(&run), both);
    assert!(page(folder.path(), &run).contains(&format!("octets, SHA-256 {OF_CELL}")));
    // A stream is hashed as it is read.
    let piped = folder.path().join("piped");
    let output = command(&["watch", "-r", "-", "-o", piped.to_str().unwrap()])
        .stdin(fs::File::open(CELL).unwrap())
        .output()
        .unwrap();
    check_code(&output, 0);
    let expected = serde_json::json!([entry("standard input", CELL, OF_CELL)]);
    assert_eq!(captures(&only_run(&piped)), expected);
}

/// Steps that a page proposes under its verdict.
fn steps(page: &str) -> Vec<&str> {
    let list = page.split("What to try next</h3><ul>").nth(1).unwrap().split("</ul>").next();
    list.unwrap().split("<li>").skip(1).map(|it| it.trim_end_matches("</li>")).collect()
}

#[test]
fn a_verdict_says_what_to_try_next() {
    let folder = tempfile::tempdir().unwrap();
    let require = ["watch", "-r", MMS, "--require", "response.p99(mms.read) < 20 ms"];
    let watched = page(folder.path(), &made(folder.path(), &require, 3));
    // 96.5 ms, as in the README, are 4.825 times 20 ms.
    let first = steps(&watched)[0];
    assert!(first.ends_with("mms.read is 4.8 times its limit."), "{first}");
    assert!(steps(&watched)[1].contains("See: tidewire watch -r"), "{watched}");
    // No share of a limit of zero.
    let none = folder.path().join("none");
    fs::create_dir(&none).unwrap();
    let require = ["watch", "-r", CYCLES, "--require", "missing(*) == 0"];
    let missed = page(&none, &made(&none, &require, 3));
    let first = steps(&missed)[0];
    assert!(first.ends_with("02:00:00:00:00:02/8002 is 1, where its limit is 0."), "{first}");
    // There is no reply, and no host that replies.
    let silent = folder.path().join("silent");
    fs::create_dir(&silent).unwrap();
    let require = ["watch", "-r", CELL, "--require", "response.p99(host) < 1 ms"];
    let open = page(&silent, &made(&silent, &require, 4));
    let first = steps(&open)[0];
    assert!(first.ends_with(": this capture has nothing that could be judged."), "{first}");
    let fails = folder.path().join("fails");
    fs::create_dir(&fails).unwrap();
    let require = ["predict", "status-csma", "--require", "miss(status) < 1 %"];
    let failed = page(&fails, &made(&fails, &require, 3));
    let [off, holds, advise] = steps(&failed)[..] else { panic!("{:?}", steps(&failed)) };
    assert!(off.contains(" times its limit where background.load = 60 %."), "{off}");
    assert!(holds.starts_with("It holds where background.load = "), "{holds}");
    assert!(advise.contains("tidewire advise ") && advise.ends_with("/scenario.toml"));
    // Nothing is random without background traffic, and everything with it.
    assert!(failed.contains("points nothing is random, so that runs are copies of one, without"));
    // With few runs intervals are wide: those of times end at zero, in figures as in tables.
    let few = folder.path().join("few");
    fs::create_dir(&few).unwrap();
    let few = page(&few, &made(&few, &["predict", "status-csma", "-n", "2"], 0));
    let figures: Vec<&str> = few.split("<figure>").skip(1).collect();
    let negative = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit());
    let is_negative = |it: &&str| it.split(">-").skip(1).any(negative);
    assert!(figures.len() > 1 && !figures.iter().any(is_negative));
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    let require = ["predict", "status-short", "--require", "miss(status) < 0.1 %"];
    let undecided = page(&open, &made(&open, &require, 4));
    let [needed] = steps(&undecided)[..] else { panic!("{:?}", steps(&undecided)) };
    assert!(needed.contains(" needs about ") && needed.contains("--until-decided"), "{needed}");
}

#[test]
fn the_built_in_capture_has_its_name_in_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let run = made(folder.path(), &["watch", "--demo"], 0);
    let page = page(folder.path(), &run);
    assert!(page.contains("<h1>the built-in capture</h1>"), "{page}");
    // Commands have the option.
    let is_option = |before: &str| before.ends_with("tidewire watch ");
    assert!(page.split("--demo").take(page.matches("--demo").count()).all(is_option));
}

#[test]
fn a_requirement_without_a_reply_says_that_none_was_seen() {
    let folder = tempfile::tempdir().unwrap();
    let run =
        made(folder.path(), &["watch", "-r", CELL, "--require", "response.p99(host) < 1 ms"], 4);
    let page = page(folder.path(), &run);
    assert!(page.contains("No reply was seen that could have been late."));
}

#[test]
fn a_live_port_leaves_a_run_that_is_reported() {
    let Some(namespaces) = Namespaces::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let child = watching(&namespaces, folder.path(), &["-o", "made", "--measure", "20ms"]);
    send(&namespaces, (0..9).map(data));
    interrupt(child.id());
    check_code(&child.wait_with_output().unwrap(), 130);
    let run = only_run(&folder.path().join("made"));
    let page = page(folder.path(), &run);
    check_page(&page, headings(&page)[0], &ALWAYS);
    check_validity(&page);
    assert!(page.contains("Watched port") && page.contains("port w0"), "which port?");
    assert!(page.contains("until the user ended it"), "an interrupt ends a port as planned");
    let json = fs::read_to_string(run.join("run.json")).unwrap();
    assert!(json.contains("\"watch\"") && json.contains("program_version"), "{json}");
}

#[test]
fn a_reproduction_shows_its_rows_and_figures() {
    let folder = tempfile::tempdir().unwrap();
    let run = made(folder.path(), &["reproduce", "tr-88-08", "-n", "5"], 0);
    let page = page(folder.path(), &run);
    check_page(&page, headings(&page)[0], &ALWAYS);
    check_page(&page, headings(&page)[0], &["Claims and evidence", "Results", "Figures"]);
    check_validity(&page);
    assert!(headings(&page)[0].ends_with(" OF 6 AGREE"), "{}", headings(&page)[0]);
    // Ten figures: two time diagrams among them, and curves.
    assert_eq!(page.matches("<svg").count(), 10);
    assert!(page.contains("(prediction)") && page.contains("published, ± reading error"));
    assert!(page.len() < 300_000, "{} octets", page.len());
}

/// Head and end of a stream of measures from this file name.
fn stream(file: &str, records: &str) -> String {
    let file = serde_json::to_string(file).unwrap();
    format!(
        "{{\"type\":\"stream\",\"schema\":\"tidewire.measures/2\",\"source\":{file},\"files\":[{file}],\
         \"measure_ns\":1000000000,\"report_ns\":1000000000,\"sample_ns\":null,\
         \"channel_bits_per_second\":10000000,\"bounds_octets\":[],\"top\":0,\"only\":null}}\n{records}\
         {{\"type\":\"end\",\"complete\":true,\"frames\":9,\"oddities\":{{}},\"dropped_by_kernel\":0,\
         \"error\":null}}\n"
    )
}

/// The report of a stream in a form.
fn report_of(text: &str, form: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.ndjson"), text).unwrap();
    let output = run_in(folder.path(), &["report", "x.ndjson", "--format", form, "-o", "-"]);
    check_code(&output, 0);
    stdout(&output)
}

fn interval(second: u64, frames: u64) -> String {
    format!(
        "{{\"type\":\"interval\",\"index\":{second},\"intervals\":1,\"start_ns\":{},\
         \"length_ns\":1000000000,\"complete\":true,\"frames\":{frames},\"dropped_by_kernel\":0,\
         \"measures\":{{\"dt_tpdus\":100,\"dt_retransmissions\":{}}},\"metrics\":{{}},\
         \"oddities\":{{}}}}\n",
        second * 1_000_000_000,
        second % 3
    )
}

#[test]
fn hostile_names_are_text_in_every_form() {
    let name =
        format!("<script>alert(1)</script>\u{202e}]]>\u{1b}[2J|`@team` {}", "x".repeat(65_536));
    let quoted = serde_json::to_string(&name).unwrap();
    let finding = format!(
        "{{\"type\":\"finding\",\"grade\":\"wrong\",\"text\":{quoted},\"evidence\":{quoted},\
         \"id\":null,\"command\":{quoted}}}\n"
    );
    let host = format!(
        "{{\"type\":\"host\",\"host\":{quoted},\"sent\":{{\"responses\":30,\"response_p99_ns\":9,\
         \"response_max_ns\":9}},\"received\":{{}},\"metrics\":{{}}}}\n"
    );
    let records = [finding, host.clone(), host, interval(0, 5), interval(1, 7)].concat();
    let text = stream(&name, &records);
    for form in ["html", "md", "junit", "github"] {
        let report = report_of(&text, form);
        // Annotations are plain text, which GitHub escapes; commands stand between fences.
        let is_fenced = |place: &usize| form == "md" && place % 2 == 1;
        let parts = report.split("```").enumerate().filter(|(place, _)| !is_fenced(place));
        let markup: String = parts.map(|(_, part)| part).collect();
        assert!(form == "github" || !markup.contains("<script"), "{form}: a name is markup");
        assert!(form != "md" || !markup.contains("@team"), "a name mentions people");
        let is_plain = |c: char| c == '\n' || wire::printable::is_printable(c);
        assert!(report.chars().all(is_plain), "{form}: a control character");
        assert!(report.contains("\\u{202e}") || report.contains("\\\\u\\{202e\\}"), "{form}");
        assert!(report.len() < 80_000, "{form}: {} octets", report.len());
    }
    assert!(report_of(&text, "github").lines().all(|line| line.starts_with("::")));
}

#[test]
fn a_long_run_has_figures_of_bounded_size() {
    // A tenth of a week in records, so that the test is quick: 60,480 seconds.
    let mut records = String::new();
    for second in 0..60_480 {
        records += &interval(second, if second == 40_000 { 999 } else { 10 });
    }
    let page = report_of(&stream("long.pcapng", &records), "html");
    assert!(page.len() < 100_000, "{} octets", page.len());
    // 60,480 in at most 120 spans of a power of two: 512 each.
    assert!(page.contains("each point stands for 512 intervals of 1.00 s"), "not said how");
    assert!(page.contains("<td>999</td>"), "the busiest second is lost");
}

#[test]
fn a_run_that_lost_frames_or_broke_off_is_not_valid() {
    let whole = stream("a.pcapng", &interval(0, 5));
    let dropped =
        whole.replace("\"dropped_by_kernel\":0,\"error\"", "\"dropped_by_kernel\":3,\"error\"");
    let cut = whole.lines().take(2).collect::<Vec<_>>().join("\n") + "\n";
    for (text, reason) in [(dropped, "3 frames were dropped"), (cut, "cut short")] {
        let page = report_of(&text, "html");
        check_page(&page, "NOT VALID", &["Validity"]);
        assert!(page.contains(reason), "{reason}");
        assert!(report_of(&text, "junit").contains("<error message="), "{reason}");
    }
}

#[test]
fn each_form_of_a_failed_requirement_is_as_written() {
    let outcome = "{\"type\":\"requirement\",\"requirement\":\"R_RD < 1 %\",\"verdict\":\"fail\",\
                   \"passed\":0,\"failed\":1,\"undecided\":0,\"level\":0.95,\"findings\":[{\"of\":null,\
                   \"found\":0.5,\"low\":0.4,\"high\":0.6,\"verdict\":\"fail\",\"because\":\"\"}]}\n";
    let text = stream("a.pcapng", &(interval(0, 5) + &interval(1, 7) + outcome));
    let mut all = String::new();
    for form in ["md", "junit", "github"] {
        let _ = writeln!(all, "{}", report_of(&text, form));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn an_acceptance_test_names_its_tester_and_leaves_room_to_sign() {
    let folder = tempfile::tempdir().unwrap();
    let run = made(folder.path(), &["predict", "status-short"], 0);
    let words = ["report", run.to_str().unwrap(), "--tester", "A. <b>Smith", "--tested-at", "noon"];
    check_code(&run_in(folder.path(), &words), 0);
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    for part in ["<dd>A. &lt;b&gt;Smith</dd>", "<dd>noon</dd>", "<dt>Signature</dt>"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn runs_that_grew_are_judged_at_the_level_of_their_last_look() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["predict", "status-csma", "--vary", "background.load=50 %,60 %", "--require"];
    let words = [&words[..], &["miss(status) < 6 %", "--until-decided"]].concat();
    let run = made(folder.path(), &words, 0);
    let page = page(folder.path(), &run);
    // Two looks at the second point: 1 - 0.05 / (2 x 3) = 99.17 %.
    assert!(page.contains("99.17 %"), "the level of a single look");
}

#[test]
fn a_path_without_a_run_is_an_error_with_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("other.ndjson"), "{\"type\":\"frame\"}\n").unwrap();
    for (path, said) in [
        ("gone", "there is no run gone"),
        ("empty", "empty is not a run folder"),
        ("other.ndjson", "other.ndjson holds no records of a run"),
    ] {
        let output = run_in(folder.path(), &["report", path]);
        check_code(&output, 1);
        let told = stderr(&output);
        assert!(told.contains(said) && told.contains("fix: name a folder that predict"), "{told}");
    }
    assert_eq!(fs::read_dir(folder.path().join("empty")).unwrap().count(), 0);
}

#[test]
fn a_report_is_a_record_too() {
    let folder = tempfile::tempdir().unwrap();
    let run = made(folder.path(), &["predict", "status-short"], 0);
    let output = run_in(folder.path(), &["report", run.to_str().unwrap(), "--json"]);
    let [record] = &records(&output)[..] else { panic!("{}", stdout(&output)) };
    assert_eq!(
        (&record["type"], &record["verdict"]),
        (&"report-file".into(), &"NOT JUDGED".into())
    );
}

#[test]
fn percentiles_for_plotters_are_those_of_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let predict = ["predict", "status-csma", "-n", "3", "--json", "-o", "made"];
    let output = run_in(folder.path(), &predict);
    let run = only_run(&folder.path().join("made"));
    let report = ["report", run.to_str().unwrap(), "--hgrm", "percentiles"];
    check_code(&run_in(folder.path(), &report), 0);
    let records = records(&output);
    let points = records.iter().find(|it| it["type"] == "report").unwrap()["points"].clone();
    for (place, point) in points.as_array().unwrap().iter().enumerate() {
        let name = format!("percentiles/point-{}-flow-1-status-delay.hgrm", place + 1);
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        for pooled in point["flows"][0]["delay_pooled"].as_array().unwrap() {
            let share = pooled["share"].as_f64().unwrap();
            let rows = text.lines().skip(2).filter(|line| !line.starts_with('#'));
            let mut rows = rows.map(|line| {
                let words: Vec<f64> =
                    line.split_whitespace().map(|word| word.parse().unwrap()).collect();
                (words[0], words[1])
            });
            // The first line at or above the share, whose value is no less, and the line before.
            let all: Vec<(f64, f64)> = rows.by_ref().collect();
            let above = all.iter().position(|(_, level)| *level >= share - 1e-9).unwrap();
            let value = pooled["value_ns"].as_f64().unwrap() / 1e3;
            let (low, high) = (all[above.saturating_sub(1)].0, all[above].0);
            // Three digits: the last value is the longest time, not the limit of its class.
            assert!(
                (low * 0.999..=high * 1.001).contains(&value),
                "{share}: {value}, {low} to {high}"
            );
        }
        let count = point["flows"][0]["delay_pooled"][0]["count"].to_string();
        assert!(text.contains(&format!("Total count    = {count:>12}]")), "{text}");
    }
    read_again(folder.path(), &run);
    fs::remove_dir_all(folder.path().join("made")).unwrap();
    let watched = made(folder.path(), &["watch", "-r", CELL], 0);
    let refused = ["report", watched.to_str().unwrap(), "--hgrm", "other"];
    let refused = run_in(folder.path(), &refused);
    check_code(&refused, 2);
    assert!(stderr(&refused).contains("holds no samples"), "{}", stderr(&refused));
}

/// Files of percentiles are drawn with their run and alone, and compared with it.
fn read_again(folder: &Path, run: &Path) {
    let file = "percentiles/point-1-flow-1-status-delay.hgrm";
    let run = run.to_str().unwrap();
    let drawn = run_in(folder, &["report", run, file, "--format", "md", "-o", "-"]);
    check_code(&drawn, 0);
    assert!(stdout(&drawn).contains("Files of percentiles"), "{}", stdout(&drawn));
    check_code(&run_in(folder, &["report", file, "-o", "files.html"]), 0);
    let page = fs::read_to_string(folder.join("files.html")).unwrap();
    assert!(page.contains("NOT JUDGED") && page.contains("<svg"));
    let compared = records(&run_in(folder, &["compare", run, file, "--json"]));
    // The file is the first point's: its quantiles are the same.
    let quantiles = compared[0]["quantiles"].as_array().unwrap();
    assert_eq!(compared[0]["type"], "percentile-comparison");
    let schema = crate::records(&crate::run(&["schema", "compare", "--json"])).remove(0);
    crate::json_schema::conforms(&compared[0], &schema, &schema).unwrap();
    assert!(quantiles.iter().all(|it| it["baseline_ns"] == it["other_ns"]), "{quantiles:?}");
    assert!(quantiles[0]["baseline_ns"].is_u64());
}

#[test]
fn a_bad_file_of_percentiles_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let heading = "Value Percentile TotalCount 1/(1-Percentile)\n";
    let check = |text: &str, words: &[&str], expected: &str| {
        fs::write(folder.path().join("bad.hgrm"), format!("{heading}{text}")).unwrap();
        let output = run_in(folder.path(), words);
        check_code(&output, 1);
        assert!(stderr(&output).starts_with(&format!("error: {expected}")), "{}", stderr(&output));
    };
    let line = "bad.hgrm:3: the field TotalCount is \"many\"";
    check("1 0.5 1\n2 1 many\n", &["report", "bad.hgrm"], line);
    check("1 0.5 1\n2 1 many\n", &["compare", "bad.hgrm", "bad.hgrm"], line);
    check("1 0.5 1\n", &["report", "bad.hgrm"], "bad.hgrm: the last percentile is below 1");
    check("1 1 1\n", &["report", "bad.hgrm"], "bad.hgrm: the file does not state the unit");
}
