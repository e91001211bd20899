//! Files of `watch`: the tables hold what the records tell.

use crate::watch::{capture, data, shared};
use crate::{check_code, records, run_in, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SECOND: u64 = 1_000_000_000;

/// The capture that comes along.
pub(crate) const CELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng");

/// Rows of a table by the names of its columns.
type Rows = Vec<BTreeMap<String, String>>;

pub(crate) fn csv(path: &Path) -> Rows {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

/// Reads a log as its own heading says, and gives its times of opening and closing.
fn zeek(path: &Path) -> (Rows, [String; 2]) {
    let text = fs::read_to_string(path).unwrap();
    let after = |name: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(&format!("#{name}\t")));
        found.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
    };
    assert!(text.starts_with("#separator \\x09\n"), "{text}");
    let fields: Vec<String> = after("fields").split('\t').map(str::to_owned).collect();
    assert_eq!(fields.len(), after("types").split('\t').count());
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells.len(), fields.len(), "{line}");
        fields.iter().cloned().zip(cells.into_iter().map(str::to_owned)).collect()
    };
    let rows = text.lines().filter(|line| !line.starts_with('#')).map(row).collect();
    (rows, [after("open"), after("close")])
}

/// The records of a kind.
pub(crate) fn of_kind<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == kind).collect()
}

/// A value of NDJSON as a cell of CSV.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[test]
fn tables_hold_what_the_records_tell() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        ["watch", "-r", CELL, "--measure", "1 s", "--json", "--csv", "c", "--zeek", "z"];
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 0);
    let records = records(&output);
    let read = |table: &str| {
        let rows = csv(&folder.path().join(format!("c/{table}.csv")));
        let (logged, _) = zeek(&folder.path().join(format!("z/tidewire_{table}.log")));
        assert_eq!(rows.len(), logged.len(), "{table}");
        let columns = |rows: &Rows| rows[0].len();
        assert_eq!(columns(&rows), columns(&logged), "{table}");
        rows
    };
    let (intervals, told) = (read("intervals"), of_kind(&records, "interval"));
    assert_eq!(intervals.len(), told.len());
    for (row, record) in intervals.iter().zip(told) {
        assert_eq!(row["start_ns"], cell(&record["start_ns"]));
        for part in ["measures", "metrics"] {
            let values = record[part].as_object().unwrap();
            assert!(values.len() >= 13);
            for (name, value) in values {
                let found = &row[name];
                let is_same = match value.as_f64() {
                    Some(value) => found.parse::<f64>().unwrap() == value,
                    None => found.is_empty(),
                };
                assert!(is_same, "{name}: {found}, not {value}");
            }
        }
    }
    let (hosts, told) = (read("hosts"), of_kind(&records, "host"));
    assert_eq!(hosts.len(), told.len());
    for (row, record) in hosts.iter().zip(told) {
        assert_eq!(row["host"], cell(&record["host"]));
        for way in ["sent", "received"] {
            for (name, value) in record[way].as_object().unwrap() {
                assert_eq!(row[&format!("{way}_{name}")], cell(value), "{way} {name}");
            }
        }
    }
    let (connections, told) = (read("connections"), of_kind(&records, "connection"));
    assert_eq!(connections.len(), told.len());
    assert!(told.len() >= 3);
    for (row, record) in connections.iter().zip(told) {
        for name in ["class", "user", "state", "ending", "established_ns", "closed_ns", "last_ns"] {
            assert_eq!(row[name], cell(&record[name]), "{name}");
        }
        for (side, prefix) in ["orig_", "resp_"].into_iter().enumerate() {
            assert_eq!(row[&format!("{prefix}host")], cell(&record["ends"][side]));
            assert_eq!(row[&format!("{prefix}reference")], cell(&record["references"][side]));
            for (name, value) in record["directions"][side].as_object().unwrap() {
                let of_each = ["tpdus_", "dt_tpdus_", "dt_retransmissions_", "tsdus_", "peak_"];
                let is_in_table = of_each.iter().any(|of| name.starts_with(of));
                match row.get(&format!("{prefix}{name}")) {
                    Some(found) => assert_eq!(*found, cell(value), "{prefix}{name}"),
                    None => assert!(!is_in_table, "no column {prefix}{name}"),
                }
            }
        }
    }
}

#[test]
fn a_log_has_begin_and_end_times_and_marks_missing_values() {
    let folder = tempfile::tempdir().unwrap();
    let frames = [(100 * SECOND, data(0)), (101 * SECOND + 500, data(1)), (121 * SECOND, data(3))];
    fs::write(folder.path().join("a.pcap"), capture(&frames)).unwrap();
    let output = run_in(folder.path(), &["watch", "-r", "a.pcap", "--zeek", "."]);
    check_code(&output, 0);
    let (rows, [open, close]) = zeek(&folder.path().join("tidewire_connections.log"));
    // The first frame comes 100 s after 1970; three intervals of 10 s hold them all.
    assert_eq!([open.as_str(), &close], ["1970-01-01-00-01-40", "1970-01-01-00-02-10"]);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    let check = |name: &str, expected: &str| assert_eq!(row[name], expected, "{name}");
    check("ts", "100.000000000");
    check("duration", "21.000000000");
    check("id.orig_h", "02:00:00:00:00:01");
    // Neither ports nor a CC: no port, no class, no end.
    for name in ["id.orig_p", "class", "ending", "closed"] {
        check(name, "-");
    }
    // DTs 0, 1 and 3, of 100 octets each.
    check("orig_dt_tpdus", "3");
    check("orig_dt_data_octets", "300");
    check("orig_dt_retransmissions", "0");
    check("resp_tpdus", "0");
    let (intervals, _) = zeek(&folder.path().join("tidewire_intervals.log"));
    let lpdus: Vec<&str> = intervals.iter().map(|row| row["lpdus"].as_str()).collect();
    assert_eq!(lpdus, ["2", "0", "1"]);
    assert_eq!(intervals[1]["R_OA"], "-");
}

#[test]
fn parquet_is_refused_by_a_build_without_it() {
    if cfg!(feature = "parquet") {
        println!("skipped: built with the feature `parquet`");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = run_in(folder.path(), &["watch", "-r", CELL, "--parquet", "p"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("writes no Parquet"), "{}", stderr(&output));
    assert!(stderr(&output).contains("feature `parquet`"), "{}", stderr(&output));
    assert!(!folder.path().join("p").exists());
    // Tables of an earlier run stay as they are.
    let tables = folder.path().join("tables");
    fs::create_dir(&tables).unwrap();
    fs::write(tables.join("hosts.csv"), "earlier").unwrap();
    let both = ["watch", "-r", CELL, "--csv", "tables", "--zeek", "logs", "--parquet", "p"];
    check_code(&run_in(folder.path(), &both), 2);
    assert_eq!(fs::read_to_string(tables.join("hosts.csv")).unwrap(), "earlier");
    assert!(!folder.path().join("logs").exists());
}

#[test]
fn a_table_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("taken"), "").unwrap();
    let output = run_in(folder.path(), &["watch", "-r", CELL, "--csv", "taken"]);
    check_code(&output, 1);
    assert!(stderr(&output).contains("taken is a file, not a folder"), "{}", stderr(&output));
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_all_else_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    // Writing to /dev/full fails for want of room.
    let full = Path::new("/dev/full");
    if !full.exists() {
        println!("skipped: no /dev/full");
        return;
    }
    let told = run_in(folder.path(), &["watch", "-r", CELL, "--csv", "whole"]);
    check_code(&told, 0);
    fs::create_dir(folder.path().join("full")).unwrap();
    std::os::unix::fs::symlink(full, folder.path().join("full/intervals.csv")).unwrap();
    let output = run_in(folder.path(), &["watch", "-r", CELL, "--csv", "full"]);
    check_code(&output, 1);
    let cannot = "cannot write full/intervals.csv: No space left on device (os error 28)";
    let expected = format!("warning: {cannot}; what passes is metered still\nerror: {cannot}\n");
    assert_eq!(stderr(&output), expected);
    assert_eq!(stdout(&output), stdout(&told));
    for name in ["hosts.csv", "connections.csv"] {
        let of = |run: &str| fs::read(folder.path().join(run).join(name)).unwrap();
        assert_eq!(of("full"), of("whole"), "{name}");
    }
}

#[test]
fn events_that_cannot_be_written_end_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let told = run_in(folder.path(), &["watch", "-r", CELL, "--events", "whole"]);
    check_code(&told, 0);
    if !Path::new("/dev/full").exists() {
        println!("skipped: no /dev/full");
        return;
    }
    let output = run_in(folder.path(), &["watch", "-r", CELL, "--events", "/dev/full"]);
    check_code(&output, 1);
    let cannot = "cannot write /dev/full: No space left on device (os error 28)";
    let expected = format!("warning: {cannot}; what passes is metered still\nerror: {cannot}\n");
    assert_eq!((stderr(&output), stdout(&output)), (expected, stdout(&told)));
}

#[test]
fn a_table_ends_with_its_last_whole_line_where_the_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&disk).stderr(Stdio::null());
    if !mount.status().is_ok_and(|status| status.success()) {
        println!("skipped: cannot mount a small disk");
        return;
    }
    // Six thousand intervals.
    let output =
        run_in(folder.path(), &["watch", "-r", CELL, "--measure", "1 ms", "--csv", "disk"]);
    let table = fs::read_to_string(disk.join("intervals.csv"));
    let unmounted = Command::new("umount").arg(&disk).status().unwrap();
    assert!(unmounted.success());
    check_code(&output, 1);
    let told = stdout(&output);
    assert!(told.contains("\n595 frames\n"), "{told}");
    let table = table.unwrap();
    assert!(table.ends_with("\r\n") && table.len() > 32 * 1_024, "{} octets", table.len());
    let mut fields = table.lines().map(|line| line.split(',').count());
    let of_heading = fields.next().unwrap();
    assert!(fields.all(|fields| fields == of_heading));
}

/// Time, octets and length of every frame of a capture, and its link.
pub(crate) fn frames(path: &Path) -> Vec<(u64, Vec<u8>, usize, u32)> {
    let mut capture = wire::capture::Capture::open(fs::File::open(path).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(record) = capture.next().unwrap() {
        let (at, link) = (record.at.as_nanos(), record.link.dlt());
        frames.push((at, record.octets.to_vec(), record.original_octets, link));
    }
    frames
}

/// The comments that tshark shows of a capture, by the numbers of their frames.
pub(crate) fn comments(path: &Path) -> Option<BTreeMap<u64, String>> {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(path)
        .args(["-Y", "frame.comment", "-T", "fields", "-e", "frame.number", "-e", "frame.comment"])
        .output();
    let Ok(output) = output else {
        println!("skipped: no tshark");
        return None;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    let line = |line: &str| {
        let (number, comment) = line.split_once('\t').unwrap();
        (number.parse().unwrap(), comment.to_owned())
    };
    Some(stdout(&output).lines().map(line).collect())
}

#[test]
fn an_annotated_capture_has_every_frame_and_its_comment() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["watch", "-r", CELL, "--json", "--annotate", "seen.pcapng"];
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 0);
    let path = folder.path().join("seen.pcapng");
    assert!(frames(&path) == frames(Path::new(CELL)));
    let Some(comments) = comments(&path) else { return };
    let records = records(&output);
    let total = &of_kind(&records, "total")[0]["measures"];
    let count = |what: &str| comments.values().map(|text| text.matches(what).count() as u64).sum();
    let check = |name: &str, found: u64| {
        assert!(found > 0, "{name}: nothing to compare");
        assert_eq!(total[name], found, "{name}");
    };
    let again: u64 = count("DT retransmission");
    check("dt_retransmissions", again);
    check("dt_tpdus", count("DT original") + again);
    check("ak_acknowledging", count("AK acknowledging"));
    check("ak_keeping_alive", count("AK keeping alive"));
    check("tsdus", count(" octets whole"));
    check("transport_connections", count("connection established"));
    check("ack_delays", count("acknowledged after"));
    println!("seen: {} comments in tshark", comments.len());
}

/// The files in a folder and those below it.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn measures_are_the_same_whether_a_capture_is_annotated_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![PathBuf::from(CELL)];
    files.extend(shared("captures", "").iter().flat_map(|folder| files_below(folder)));
    let is_capture = |path: &&PathBuf| path.extension().is_none_or(|extension| extension != "md");
    let (mut octets, mut captures) = (0, 0);
    for path in files.iter().filter(is_capture) {
        let path = path.to_str().unwrap();
        for form in [&["--measure", "1 s", "--plain"][..], &["--json"]] {
            let metered = [&["watch", "-r", path][..], form].concat();
            let annotated = [&metered[..], &["--annotate", "seen.pcapng"]].concat();
            let [metered, annotated] = [metered, annotated].map(|of| run_in(folder.path(), &of));
            let told = [&metered, &annotated].map(|output| (output.status.code(), stdout(output)));
            // Not with assert_eq: they are long.
            assert!(told[0] == told[1], "{path} {form:?}: {}", stderr(&annotated));
            octets += told[0].1.len();
        }
        captures += 1;
    }
    println!("seen: {captures} captures, of which {octets} octets in records, annotated or not");
}

#[test]
fn what_is_malformed_or_foreign_is_told_at_its_frame_and_place() {
    let folder = tempfile::tempdir().unwrap();
    // The length indicator behind MAC, LLC and the inactive network layer, octet 18, says 255.
    let (good, mut bad) = (data(0), data(1));
    bad[18] = 255;
    let frames = [(0, good.clone()), (1, bad), (2, vec![0xFF; 60]), (3, good)];
    fs::write(folder.path().join("a.pcap"), capture(&frames)).unwrap();
    let output = run_in(folder.path(), &["watch", "-r", "a.pcap", "--annotate", "b.pcapng"]);
    check_code(&output, 0);
    let Some(comments) = comments(&folder.path().join("b.pcapng")) else { return };
    // It may be the end of a TSDU whose beginning was not seen.
    const FIRST: &str = "tidewire: DT original; transport: TSDU not wholly seen; \
                         transport: connection found under way";
    let told: Vec<&str> = comments.values().map(String::as_str).collect();
    assert_eq!(
        told,
        [
            FIRST,
            "tidewire: malformed: length indicator at octet 18",
            "tidewire: foreign: EtherType",
            "tidewire: DT retransmission",
        ]
    );
}

#[test]
fn an_annotated_capture_never_takes_the_place_of_what_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let octets = capture(&[(0, data(0))]);
    fs::write(folder.path().join("a.pcap"), &octets).unwrap();
    let output = run_in(folder.path(), &["watch", "-r", "a.pcap", "--annotate", "./a.pcap"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("is also read"), "{}", stderr(&output));
    assert!(fs::read(folder.path().join("a.pcap")).unwrap() == octets);
}

#[test]
fn services_of_intervals_add_up_to_those_of_connections() {
    let folder = tempfile::tempdir().unwrap();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/mms.pcapng");
    let arguments =
        ["watch", "-r", capture, "--measure", "1 s", "--report", "500 ms", "--csv", "c"];
    let output = run_in(folder.path(), &arguments);
    check_code(&output, 0);
    let read = |table: &str| {
        let mut sums = BTreeMap::<Vec<String>, [u64; 5]>::new();
        let rows = csv(&folder.path().join(format!("c/{table}.csv")));
        for row in &rows {
            let key = ["orig_host", "orig_port", "server", "service"].map(|name| row[name].clone());
            let sum = sums.entry(key.to_vec()).or_default();
            let names = ["mms_requests", "mms_responses", "mms_response_total_ns"];
            let more = [&names[..], &["mms_failed_accesses", "mms_unanswered"]].concat();
            for (sum, name) in sum.iter_mut().zip(more) {
                *sum += row[name].parse::<u64>().unwrap();
            }
        }
        (rows, sums)
    };
    let ((intervals, parts), (services, wholes)) = (read("service_intervals"), read("services"));
    assert!(intervals.len() > services.len() && services.len() == 3, "{}", intervals.len());
    assert_eq!(parts, wholes);
    let starts = csv(&folder.path().join("c/intervals.csv"));
    let starts: BTreeMap<_, _> =
        starts.iter().map(|row| (&row["start_ns"], &row["index"])).collect();
    assert!(intervals.iter().all(|row| starts[&row["start_ns"]] == &row["index"]));
}
