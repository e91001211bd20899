//! The dashboard asks for nothing that is not served, and a real Prometheus server answers it.

use crate::export::CELL;
use crate::metrics::Watched;
use live::clock;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest time that a Prometheus server on a busy machine may take until its first scrape.
const PATIENCE: Duration = Duration::from_secs(120);

/// Every query of the dashboard.
fn queries() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dashboards/grafana.json");
    let board: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// The words of a text that begin with a letter.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The labels of a query: before `=` in braces, and behind `by`.
fn labels(query: &str) -> Vec<&str> {
    let braces = query.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
    let matched = braces.flat_map(|braces| braces.split(',')).filter_map(|it| words(it).next());
    let grouped = query.split("by (").skip(1).map(|rest| rest.split(')').next().unwrap());
    matched.chain(grouped.flat_map(words)).collect()
}

#[test]
fn every_query_of_the_dashboard_names_only_what_is_served() {
    // One with delays and one with oddities, so that every label has a sample.
    let cell = Watched::of(&fs::read(CELL).unwrap(), "1 s").scrape("text/plain").1;
    let body = cell + &Watched::start().scrape("text/plain").1;
    let mut served = BTreeSet::new();
    for line in body.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            served.insert(family.split(' ').next().unwrap().to_owned());
        } else if !line.starts_with('#') {
            served.insert(words(line).next().unwrap().to_owned());
        }
    }
    // Prometheus itself adds the instance.
    let mut known: BTreeSet<&str> = BTreeSet::from(["instance"]);
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        known.extend(labels(line));
    }
    let queries = queries();
    assert!(queries.len() >= 20, "{}", queries.len());
    for query in &queries {
        let names: Vec<&str> = words(query).filter(|word| word.starts_with("tidewire_")).collect();
        assert!(!names.is_empty(), "{query}");
        for name in names {
            assert!(served.contains(name), "{name} is not served: {query}");
        }
        for label in labels(query) {
            assert!(known.contains(label), "no label {label}: {query}");
        }
    }
}

/// A Prometheus server on loopback, with what it keeps in a folder of its own.
struct Prometheus {
    child: Child,
    address: String,
    folder: tempfile::TempDir,
}

impl Prometheus {
    /// None, and a note, where there is none.
    fn start(target: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n  \
             - job_name: tidewire\n    static_configs: [{{targets: [\"{target}\"]}}]\n"
        );
        let path = folder.path().join("prometheus.yml");
        fs::write(&path, config).unwrap();
        // A port that was free a moment ago.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", path.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let Ok(child) = child else {
            println!("skipped: no prometheus");
            return None;
        };
        Some(Self { child, address, folder })
    }

    /// The answer to a request; none while it does not listen.
    fn ask(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let head = "HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(format!("GET {path} {head}").as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// The answer to a query.
    fn query(&self, query: &str) -> Value {
        let encoded: String = query.bytes().map(|octet| format!("%{octet:02X}")).collect();
        self.ask(&format!("/api/v1/query?query={encoded}")).unwrap()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_real_prometheus_scrapes_counts_and_answers_the_dashboard() {
    let watched = Watched::start();
    let Some(prometheus) = Prometheus::start(&watched.address) else { return };
    let end = clock::now() + PATIENCE;
    loop {
        let targets = prometheus.ask("/api/v1/targets").unwrap_or_default();
        let target = &targets["data"]["activeTargets"][0];
        // A target is up shortly before its counts can be queried.
        let has_counts =
            || prometheus.query("tidewire_frames_total")["data"]["result"][0].is_object();
        if target["health"] == "up" && has_counts() {
            break;
        }
        let log = || fs::read_to_string(prometheus.folder.path().join("log")).unwrap();
        assert!(clock::now() < end, "never up: {target}\n{}", log());
        clock::sleep_until(clock::now() + Duration::from_millis(100));
    }
    let check = |query: &str, expected: &str| {
        let answer = prometheus.query(query);
        assert_eq!(answer["data"]["result"][0]["value"][1], expected, "{query}: {answer}");
    };
    // Three frames, each a DT with 100 octets of data, from one host.
    check("tidewire_frames_total", "3");
    check("tidewire_tpdu_data_octets_total{kind=\"dt\"}", "300");
    check("sum(tidewire_host_tpdus_total{direction=\"sent\"})", "3");
    let queries = queries();
    for query in &queries {
        let query = query.replace("$__rate_interval", "1m").replace("$instance", ".*");
        let answer = prometheus.query(&query);
        assert_eq!(answer["status"], "success", "{query}: {answer}");
    }
    println!("seen: {} queries answered by Prometheus", queries.len());
}
