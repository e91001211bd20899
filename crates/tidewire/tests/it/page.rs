//! `watch --web`: the page's server, asked over plain TCP. The page in a browser has tests of its own.

use crate::{check_code, command, run, stderr};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A meter that serves its page.
pub(crate) struct Served {
    pub(crate) child: Child,
    address: String,
    pub(crate) token: String,
}

impl Served {
    /// Serves stored runs.
    fn runs(folder: &str) -> Self {
        let mut of = command(&["web", folder]);
        of.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = of.spawn().unwrap();
        let line = BufReader::new(child.stdout.as_mut().unwrap()).lines().next().unwrap().unwrap();
        let (_, url) = line.split_once(" at http://").unwrap();
        let (address, token) = url.split_once("/?token=").unwrap();
        Self { address: address.to_owned(), token: token.to_owned(), child }
    }

    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut of = command(&[arguments, &["--json", "--web"]].concat());
        of.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = of.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        // A measurement may warn of its host before.
        let mut lines = said.by_ref().map(Result::unwrap);
        let line = lines.find(|line| line.starts_with("page at ")).unwrap();
        let url = line.strip_prefix("page at http://").unwrap();
        let (address, token) = url.split_once("/?token=").unwrap();
        Self { address: address.to_owned(), token: token.to_owned(), child }
    }

    /// Sends a request with these headers.
    pub(crate) fn send(&self, path: &str, headers: &[&str]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        write!(stream, "GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
        stream
    }

    /// Head and body of the answer to a request of a browser that has the token.
    pub(crate) fn get(&self, path: &str) -> (String, String) {
        let (host, cookie) = (self.host(), self.cookie());
        answer(self.send(path, &[&host, &cookie]))
    }

    /// Checks that each path is refused without the token, under another name of the host, and to a page
    /// from elsewhere.
    pub(crate) fn check_refusals(&self, paths: &[&str]) {
        let (host, cookie) = (self.host(), self.cookie());
        let origin = "Origin: http://plant.example";
        for path in paths {
            for (status, headers) in [
                (401, &[host.as_str()][..]),
                (421, &["Host: plant.example", &cookie]),
                (403, &[&host, &cookie, origin]),
            ] {
                let (head, _) = answer(self.send(path, headers));
                assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
            }
        }
    }

    pub(crate) fn host(&self) -> String {
        format!("Host: {}", self.address)
    }

    pub(crate) fn cookie(&self) -> String {
        let (_, port) = self.address.rsplit_once(':').unwrap();
        format!("Cookie: tidewire_{port}={}", self.token)
    }

    pub(crate) fn snapshot(&self) -> serde_json::Value {
        let (head, body) = self.get("/api/v1/snapshot");
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        serde_json::from_str(&body).unwrap()
    }

    /// Lines of standard output to its end.
    fn lines(&mut self) -> Vec<String> {
        let out = BufReader::new(self.child.stdout.take().unwrap());
        out.lines().map(Result::unwrap).collect()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn answer(mut stream: TcpStream) -> (String, String) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

const CELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng");

/// Records of a capture without a page.
fn plain() -> Vec<String> {
    let output = run(&["watch", "-r", CELL, "--json"]);
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_page_has_the_numbers_of_the_records() {
    let mut served = Served::start(&["watch", "-r", CELL]);
    let records = plain();
    let out = BufReader::new(served.child.stdout.take().unwrap());
    // The process lives on, so its output has no end yet.
    let lines: Vec<String> = out.lines().take(records.len()).map(Result::unwrap).collect();
    assert!(lines == records, "a page changes no record");
    let read = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let of = |kind: &'static str| records.iter().map(read).filter(move |it| it["type"] == kind);
    let snapshot = served.snapshot();
    let end = of("end").next().unwrap();
    assert_eq!((&snapshot["frames"], &snapshot["state"]), (&end["frames"], &"complete".into()));
    let texts = |it: &serde_json::Value| it["text"].as_str().unwrap().to_owned();
    let found: Vec<String> = of("finding").map(|it| texts(&it)).collect();
    let told: Vec<String> = snapshot["findings"].as_array().unwrap().iter().map(texts).collect();
    assert_eq!((told, found.is_empty()), (found, false));
    let panels = snapshot["panels"].as_array().unwrap();
    let panel = panels.iter().find(|panel| panel["id"] == "connections").unwrap();
    let rows = panel["rows"].as_array().unwrap();
    assert_eq!(rows.len(), of("connection").count());
    for whole in of("connection") {
        let row = rows.iter().find(|row| row["connection"] == whole["id"]).unwrap();
        assert_eq!(row["cells"][0][1], whole["ends"][0]);
        let sent = |side: usize| whole["directions"][side]["dt_tpdus"].as_u64().unwrap_or(0);
        assert_eq!(row["cells"][5][0], sent(0) + sent(1), "{row}");
        let (_, detail) = served.get(&format!("/api/v1/connection/{}", whole["id"]));
        let detail: serde_json::Value = serde_json::from_str(&detail).unwrap();
        assert_eq!(detail["sides"]["rows"][0]["cells"][2][0], sent(0), "{detail}");
    }
    let (_, tables) = served.get("/tables");
    assert!(tables.contains(&format!("{} frames", end["frames"])), "{tables}");
    assert!(!tables.contains("<script"), "{tables}");
}

/// Snapshot of a page whose capture was read to its end.
fn snapshot_at_the_end() -> serde_json::Value {
    let mut served = Served::start(&["watch", "-r", CELL]);
    let out = BufReader::new(served.child.stdout.take().unwrap());
    // The process lives on, so its output has no end yet.
    assert_eq!(out.lines().take(plain().len()).count(), plain().len());
    let snapshot = served.snapshot();
    assert_eq!(snapshot["state"], "complete");
    snapshot
}

#[test]
fn rates_stand_at_the_ends_of_their_reports() {
    let snapshot = snapshot_at_the_end();
    let course = &snapshot["course"];
    // Frames come for six seconds: five reports of a second, and one of the rest of the interval of
    // ten seconds, which ends with the last frame.
    let records = plain();
    let of = |kind: &str| {
        let text = records.iter().find(|line| line.contains(&format!(r#""type":"{kind}""#)));
        serde_json::from_str::<serde_json::Value>(text.unwrap()).unwrap()
    };
    let [start, end] = [&of("interval")["start_ns"], &of("end")["heard_until_ns"]];
    let last = (end.as_u64().unwrap() - start.as_u64().unwrap()) as f64 / 1e9;
    assert!((5.5..6.5).contains(&last), "{last}");
    assert_eq!(course["seconds"], serde_json::json!([1.0, 2.0, 3.0, 4.0, 5.0, last]));
    assert_eq!(course["tpdus"].as_array().unwrap().len(), 6);
}

#[test]
fn column_titles_and_metrics_have_the_text_of_the_help() {
    let snapshot = snapshot_at_the_end();
    let help = crate::documents::one_line(&crate::documents::topic("metrics"));
    let panel = |id: &str| {
        let panels = snapshot["panels"].as_array().unwrap();
        panels.iter().find(|panel| panel["id"] == id).unwrap()
    };
    let of_measures = [("connections", 7), ("hosts", 8)];
    for (id, expected) in of_measures {
        let columns = panel(id)["columns"].as_array().unwrap();
        let numbers = columns.iter().filter(|it| it["is_number"] == true);
        let helps: Vec<&str> = numbers.map(|it| it["help"].as_str().unwrap()).collect();
        assert_eq!(helps.len(), expected, "{id}: {helps:?}");
        for text in helps {
            let (what, definition) = text.split_once(": ").unwrap();
            assert!(help.contains(definition), "{id}, {what}: {definition}");
        }
        // Columns of one measure, such as what a host sent and received, tell what differs.
        let distinct: std::collections::BTreeSet<_> =
            columns.iter().map(|it| &it["help"]).map(|it| it.as_str()).collect();
        assert_eq!(distinct.len(), columns.len(), "{id}");
    }
    let rows = panel("metrics")["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 13);
    for row in rows {
        let cell = |place: usize| row["cells"][place][1].as_str().unwrap();
        for text in [cell(1), cell(4), cell(5), cell(6)] {
            assert!(help.contains(text), "{}: {text}", cell(0));
        }
    }
}

#[test]
fn only_the_bearer_of_the_token_gets_an_answer() {
    let served = Served::start(&["watch", "-r", CELL]);
    let host = served.host();
    let paths = ["/", "/tables", "/app.js", "/api/v1/snapshot", "/api/v1/stream", "/nothing"];
    served.check_refusals(&paths);
    let (head, _) = answer(served.send(&format!("/?token={}", served.token), &[&host]));
    assert!(head.starts_with("HTTP/1.1 303 "), "{head}");
    assert!(head.contains("location: /\r\n") && head.contains("SameSite=Strict"), "{head}");
    // A location that begins with two slashes would name another host.
    let path = format!("//plant.example?token={}", served.token);
    let (head, _) = answer(served.send(&path, &[&host]));
    assert!(head.contains("location: /plant.example\r\n"), "{head}");
    let (head, page) = served.get("/");
    assert!(
        head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{head}"
    );
    assert!(!head.contains("access-control-allow-origin"), "{head}");
    assert!(page.contains("/app.js") && !page.contains("//"), "{page}");
}

#[test]
fn clients_that_read_nothing_hold_nothing_up() {
    let runs = tempfile::tempdir().unwrap();
    let mut served = Served::start(&["watch", "-r", "-", "-o", runs.path().to_str().unwrap()]);
    let (host, cookie) = (served.host(), served.cookie());
    // More than there is room for: the last ones wait to be accepted.
    let stalled: Vec<TcpStream> =
        (0..100).map(|_| served.send("/api/v1/stream", &[&host, &cookie])).collect();
    let octets = std::fs::read(CELL).unwrap();
    let mut stdin = served.child.stdin.take().unwrap();
    stdin.write_all(&octets).unwrap();
    drop(stdin);
    // The head and the commands of findings name the source.
    let names = |line: &String| line.contains("\"stream\"") || line.contains("\"finding\"");
    let (mut lines, mut records) = (served.lines(), plain());
    lines.retain(|line| !names(line));
    records.retain(|line| !names(line));
    assert!(lines == records, "{} and {} records", lines.len(), records.len());
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    let run = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let saved = std::fs::read_to_string(run.join("measures.ndjson")).unwrap();
    let saved: Vec<_> = saved.lines().map(str::to_owned).filter(|line| !names(line)).collect();
    assert!(saved == records, "a run folder has {} records", saved.len());
    drop(stalled);
}

#[test]
fn clients_that_ask_nothing_give_way_to_one_that_asks() {
    let served = Served::start(&["watch", "-r", CELL]);
    let silent: Vec<TcpStream> =
        (0..64).map(|_| TcpStream::connect(&served.address).unwrap()).collect();
    let mut slow = TcpStream::connect(&served.address).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    assert!(served.get("/").0.starts_with("HTTP/1.1 200 "));
    drop((silent, slow));
}

/// Its token stands nowhere else.
#[test]
fn a_quiet_command_prints_the_address_of_its_page() {
    for verb in [&["watch", "-r", CELL][..], &["predict", "status-short", "--no-save"]] {
        assert!(Served::start(&[verb, &["--quiet"]].concat()).get("/").0.contains(" 200 "));
    }
}

#[test]
fn other_hosts_need_permission() {
    let output = run(&["watch", "-r", CELL, "--web", "0.0.0.0:0"]);
    assert!(stderr(&output).contains("other hosts could open it"), "{}", stderr(&output));
    check_code(&output, 2);
}

#[test]
fn stored_runs_are_listed_reported_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().to_str().unwrap();
    for seed in ["1", "2"] {
        let predict = ["predict", "status-short", "-n", "3", "-q", "--seed", seed, "-o", runs];
        check_code(&run(&predict), 0);
    }
    check_code(&run(&["watch", "-r", CELL, "-q", "-o", runs]), 0);
    // A folder of another program is no run.
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    let served = Served::runs(runs);
    let (head, list) = served.get("/");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("default-src 'none'"), "{head}");
    let links = |page: &str, to: &str| -> Vec<String> {
        let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        links.filter(|link| link.starts_with(to)).map(str::to_owned).collect()
    };
    let reports = links(&list, "/run/");
    assert_eq!(reports.len(), 3, "{list}");
    for report in &reports {
        let (head, page) = served.get(report);
        assert!(head.starts_with("HTTP/1.1 200 ") && !head.contains("script-src"), "{head}");
        let name = report.strip_prefix("/run/").unwrap();
        let path = folder.path().join(name);
        let made = run(&["report", path.to_str().unwrap(), "--output", "-"]);
        assert_eq!(page, crate::stdout(&made), "as the verb report writes it");
    }
    let predicted: Vec<&str> = reports
        .iter()
        .filter_map(|it| it.strip_prefix("/run/"))
        .filter(|it| it.contains("status"))
        .collect();
    let (_, with) = served.get(&format!("/with/{}", predicted[1]));
    let compared = links(&with, "/compare/");
    assert_eq!(compared.len(), 2, "{with}");
    let both = format!("/compare/{}/{}", predicted[1], predicted[0]);
    assert!(compared.contains(&both), "{compared:?}");
    let (_, page) = served.get(&both);
    assert!(page.contains("baseline"), "{page}");
    for path in ["/run/notes", "/run/..%2F..%2Fetc%2Fpasswd", "/with/notes", "/compare/a/b"] {
        let (head, _) = served.get(path);
        assert!(head.starts_with("HTTP/1.1 404 "), "{path}: {head}");
    }
    let (head, _) = answer(served.send("/", &[&served.host()]));
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
    let elsewhere = run(&["web", runs, "--web", "192.0.2.1:0"]);
    check_code(&elsewhere, 2);
    assert!(stderr(&elsewhere).contains("--web-anywhere"), "{}", stderr(&elsewhere));
}
