//! `watch --metrics`: scraped over plain TCP, checked by Prometheus' own tool.

use crate::watch::{capture, data, may_listen};
use crate::{check_code, command, run, stderr};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use wire::addr::Mac;
use wire::tcp::Flags;
use wire::{ipv4, tcp};

const SECOND: u64 = 1_000_000_000;

/// A meter whose first interval of 10 s holds two DTs of 128 octets, and a third came after it.
pub(crate) struct Watched {
    child: Child,
    pub(crate) address: String,
}

impl Watched {
    pub(crate) fn start() -> Self {
        let frames = [(0, data(0)), (SECOND, data(1)), (10 * SECOND, data(2))];
        Self::of(&capture(&frames), "10 s")
    }

    /// Of a capture of more than one interval, in a pipe that stays open.
    pub(crate) fn of(octets: &[u8], interval: &str) -> Self {
        let arguments = ["watch", "-r", "-", "--json", "--measure", interval];
        let of = command(&[&arguments[..], &["--metrics", "127.0.0.1:0"]].concat());
        let mut watched = Self::begin(of, Some(octets));
        // The head of the stream, then the first interval.
        let mut lines = BufReader::new(watched.child.stdout.as_mut().unwrap()).lines();
        let first = lines.nth(1).unwrap().unwrap();
        assert!(first.starts_with(r#"{"type":"interval","index":0,"#), "{first}");
        watched
    }

    /// Starts a command line, and returns the address at which it serves metrics.
    fn begin(mut of: Command, octets: Option<&[u8]>) -> Self {
        let mut child =
            of.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = said.next().unwrap().unwrap();
        let address = line.strip_prefix("metrics at http://").unwrap();
        let address = address.strip_suffix("/metrics").unwrap().to_owned();
        let stdin = child.stdin.as_mut().unwrap();
        stdin.write_all(octets.unwrap_or_default()).unwrap();
        stdin.flush().unwrap();
        Self { child, address }
    }

    fn ask(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    pub(crate) fn scrape(&self, accept: &str) -> (String, String) {
        self.ask(&format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n"))
    }
}

#[test]
fn a_port_tells_how_full_its_ring_is_and_a_file_has_none() {
    let fill = |watched: &Watched| -> Option<f64> {
        let (_, body) = watched.scrape("text/plain");
        assert!(body.contains("# TYPE tidewire_ring_fill_ratio gauge\n"), "{body}");
        let prefix = "tidewire_ring_fill_ratio ";
        let value = body.lines().find_map(|line| line.strip_prefix(prefix))?;
        Some(value.parse().unwrap())
    };
    assert_eq!(fill(&Watched::start()), None);
    if !may_listen() {
        println!("skipped: no CAP_NET_RAW");
        return;
    }
    let port = command(&["watch", "-i", "lo", "--metrics", "127.0.0.1:0"]);
    let fill = fill(&Watched::begin(port, None)).unwrap();
    assert!((0.0..=1.0).contains(&fill), "{fill}");
}

/// The number of clock_nanosleep(2) on x86-64, as `/proc/PID/syscall` writes it for a thread that sleeps.
const CLOCK_NANOSLEEP: &str = "230 ";

#[test]
fn without_descriptors_the_server_sleeps_and_then_answers_again() {
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: the number of clock_nanosleep is that of x86-64");
        return;
    }
    let watched = Watched::start();
    let process = Path::new("/proc").join(watched.child.id().to_string());
    let open = || std::fs::read_dir(process.join("fd")).unwrap().count();
    // Room for four clients, of two descriptors each.
    let most = open() + 8;
    let limit = ["--pid", &watched.child.id().to_string(), &format!("--nofile={most}")];
    if !Command::new("prlimit").args(limit).status().is_ok_and(|status| status.success()) {
        println!("skipped: no prlimit to take descriptors away");
        return;
    }
    let idle: Vec<_> = (0..12).map(|_| TcpStream::connect(&watched.address).unwrap()).collect();
    let has_none_left = (0..100_000).any(|_| {
        std::thread::yield_now();
        open() >= most
    });
    assert!(has_none_left, "{} of {most} descriptors", open());
    let threads = std::fs::read_dir(process.join("task")).unwrap().flatten();
    let is_server = |thread: &std::fs::DirEntry| {
        std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|it| it == "metrics\n")
    };
    let server = threads.into_iter().find(is_server).unwrap().path().join("syscall");
    // It sleeps for 100 ms after each try; one that tries at once is never seen asleep.
    let sleeps = || std::fs::read_to_string(&server).unwrap().starts_with(CLOCK_NANOSLEEP);
    assert!((0..5_000).any(|_| sleeps()), "it tries again at once");
    drop(idle);
    // A connection for which there is one descriptor, and no second, is closed; the next is taken.
    let answered = (0..1_000).any(|_| {
        let mut stream = TcpStream::connect(&watched.address).unwrap();
        let mut answer = String::new();
        let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        let read = asked.and_then(|()| stream.read_to_string(&mut answer));
        read.is_ok() && answer.contains("tidewire_frames_total 3\n")
    });
    assert!(answered, "it does not answer again");
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_growing_file_to_which_nothing_more_comes_is_told_of_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grows.pcap");
    // A CR with credit 1, its CC with credit 0: the caller's window is closed, and stays so.
    let cr = vec![6, 0xE1, 0, 0, 0, 1, 0x40];
    let cc = vec![6, 0xD0, 0, 1, 0, 2, 0x40];
    let frame = |[from, to]: [u8; 2], tpdu: Vec<u8>| {
        let llc = [0, 11, 0xFE, 0xFE, 0x03, 0x00];
        [vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from], llc.to_vec(), tpdu].concat()
    };
    let frames = [(0, frame([1, 2], cr)), (SECOND, frame([2, 1], cc))];
    std::fs::write(&path, capture(&frames)).unwrap();
    let path = path.display().to_string();
    let arguments = ["watch", "-r", &path, "--follow", "--metrics", "127.0.0.1:0"];
    let watched = Watched::begin(command(&arguments), None);
    // The first answer has the snapshot from before the frames were read.
    let told = |body: &str| body.contains("tidewire_frames_total 2\n");
    let body = (0..1_000).map(|_| watched.scrape("text/plain").1).find(|body| told(body));
    let body = body.expect("the frames are in the metrics");
    assert!(body.contains("tidewire_windows_closed_now 1\n"), "{body}");
}

#[test]
fn a_scrape_has_every_frame_and_is_open_metrics() {
    let watched = Watched::start();
    let (head, body) = watched.scrape("application/openmetrics-text;version=1.0.0");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(body.ends_with("\n# EOF\n"), "{body}");
    for line in [
        "# TYPE tidewire_lpdus counter",
        // Three frames of 128 octets, each a DT of 100 octets of data.
        "tidewire_frames_total 3",
        "tidewire_lpdu_octets_total 384",
        "tidewire_tpdus_total{kind=\"dt\"} 3",
        "tidewire_tpdu_data_octets_total{kind=\"dt\"} 300",
        "tidewire_host_tpdu_data_octets_total{host=\"02:00:00:00:00:01\",direction=\"sent\"} 300",
        "tidewire_host_tpdus_total{host=\"02:00:00:00:00:02\",direction=\"received\"} 3",
        "tidewire_heard_until_timestamp_seconds 10.000000000",
        // One a second, of 10 octets of header and 100 of data.
        "tidewire_peak_second_lpdus 1",
        "tidewire_peak_second_lpdu_octets 128",
        "tidewire_peak_second_tpdus 1",
        "tidewire_peak_second_tpdu_octets 110",
        "tidewire_host_peak_second_tpdus{host=\"02:00:00:00:00:02\",direction=\"received\"} 1",
        "tidewire_host_peak_second_tpdu_octets{host=\"02:00:00:00:00:01\",direction=\"sent\"} 110",
        // 2 x 128 x 8 bits in 10 s of 10 Mbit/s.
        "tidewire_channel_utilisation_ratio 0.00002048",
    ] {
        assert!(body.lines().any(|found| found == line), "not there: {line}\n{body}");
    }
    let (head, body) = watched.scrape("text/plain");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(body.contains("# TYPE tidewire_lpdus_total counter\n"), "{body}");
    assert!(watched.ask("GET / HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 404"));
    assert!(watched.ask("POST /metrics HTTP/1.1\r\n\r\n").0.starts_with("HTTP/1.1 405"));
}

/// A frame of a TCP connection between two hosts, port 1102 of the first and port 102 of the second.
fn segment(from_caller: bool, numbers: [u32; 2], flags: u8, data: &[u8]) -> Vec<u8> {
    let (mut segment, mut packet) = (Vec::new(), Vec::new());
    let (mut ports, mut hosts) = ([1_102, 102], [1, 2]);
    if !from_caller {
        ports.reverse();
        hosts.reverse();
    }
    tcp::Pdu::between(ports, Flags(flags), numbers, data).encode(&mut segment);
    let addresses = hosts.map(|host| Ipv4Addr::new(10, 0, 0, host));
    ipv4::Pdu::carrying(tcp::PROTOCOL, addresses, &segment).encode(&mut packet);
    let [from, to] = hosts.map(|host| Mac::local(host.into()).0);
    [&to[..], &from, &[8, 0], &packet].concat()
}

/// A connection of class 0: SYN, its answer 20 ms later, the ACK after 30 ms more, a CR that is
/// acknowledged after 40 ms, its CC, and 2 s later a DT.
fn over_tcp() -> Vec<u8> {
    const MILLISECOND: u64 = 1_000_000;
    let cr = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0];
    let cc = [3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0];
    let dt = [3, 0, 0, 9, 2, 0xF0, 0x80, 1, 2];
    let (syn, ack) = (0x02, 0x10);
    let frames = [
        (0, segment(true, [999, 0], syn, &[])),
        (20, segment(false, [499, 1_000], syn | ack, &[])),
        (50, segment(true, [1_000, 500], ack, &[])),
        (60, segment(true, [1_000, 500], ack, &cr)),
        (100, segment(false, [500, 1_011], ack, &[])),
        (300, segment(false, [500, 1_011], ack, &cc)),
        (2_300, segment(true, [1_011, 511], ack, &dt)),
    ];
    capture(&frames.map(|(at, frame)| (at * MILLISECOND, frame)))
}

#[test]
fn a_scrape_has_what_tcp_took_with_each_host() {
    let (_, body) = Watched::of(&over_tcp(), "1 s").scrape("text/plain");
    for line in [
        "delay_seconds_sum{delay=\"TCP, callee\"} 0.02",
        "delay_seconds{delay=\"TCP round trip\",quantile=\"1.0\"} 2",
        "host_delay_seconds_sum{host=\"10.0.0.2\",direction=\"sent\",delay=\"TCP, callee\"} 0.02",
        "host_delay_seconds_count{host=\"10.0.0.2\",direction=\"sent\",delay=\"TCP, callee\"} 1",
        "host_delay_seconds_sum{host=\"10.0.0.1\",direction=\"sent\",delay=\"TCP, caller\"} 0.03",
        "host_delay_seconds_sum{host=\"10.0.0.1\",direction=\"sent\",delay=\"TCP delayed ACK\"} 0.04",
        "host_delay_seconds{host=\"10.0.0.2\",direction=\"sent\",delay=\"TCP round trip\",quantile=\"1.0\"} 2",
        "host_delay_seconds_sum{host=\"10.0.0.1\",direction=\"sent\",delay=\"TCP, callee\"} 0",
        // One delay of 20 ms, in buckets that count up.
        "delay_distribution_seconds_bucket{delay=\"TCP, callee\",le=\"0.01\"} 0",
        "delay_distribution_seconds_bucket{delay=\"TCP, callee\",le=\"0.02\"} 1",
        "delay_distribution_seconds_bucket{delay=\"TCP, callee\",le=\"1.0\"} 1",
        "delay_distribution_seconds_bucket{delay=\"TCP, callee\",le=\"+Inf\"} 1",
        "delay_distribution_seconds_sum{delay=\"TCP, callee\"} 0.02",
        // A round trip of 2 s is beyond the last limit.
        "delay_distribution_seconds_bucket{delay=\"TCP round trip\",le=\"1.0\"} 0",
        "delay_distribution_seconds_bucket{delay=\"TCP round trip\",le=\"+Inf\"} 1",
        // A CR and a CC of seven octets in the first second.
        "peak_second_tpdus 2",
        "peak_second_tpdu_octets 14",
        "host_peak_second_tpdu_octets{host=\"10.0.0.2\",direction=\"received\"} 7",
    ] {
        let line = format!("tidewire_{line}");
        assert!(body.lines().any(|found| found == line), "not there: {line}\n{body}");
    }
    // Of class 0 there is no credit and no AK.
    assert!(!body.contains("direction=\"sent\",delay=\"acknowledgement\""), "{body}");
}

#[test]
fn a_scrape_has_the_slowest_functions_and_the_worst_streams() {
    let capture = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures");
        std::fs::read(Path::new(folder).join(name)).unwrap()
    };
    let has = |body: &str, line: &str| assert!(body.lines().any(|it| it == line), "{line}\n{body}");
    let (_, body) = Watched::of(&capture("gateway.pcap"), "10 s").scrape("text/plain");
    has(&body, r#"tidewire_transaction_functions{protocol="Modbus/TCP"} 3"#);
    let unit = r#"protocol="Modbus/TCP",server="10.0.0.20",unit="2",function="3""#;
    has(&body, &format!(r#"tidewire_function_response_seconds{{{unit},quantile="1.0"}} 0.18"#));
    assert!(body.contains(&format!("tidewire_function_requests_total{{{unit}}} ")), "{body}");
    let (_, body) = Watched::of(&capture("cycles.pcap"), "100 ms").scrape("text/plain");
    has(&body, r#"tidewire_cyclic_streams{protocol="PROFINET RT"} 2"#);
    let stream = r#"protocol="PROFINET RT",source="02:00:00:00:00:02",identifier="8002""#;
    has(&body, &format!("tidewire_cyclic_stream_period_seconds{{{stream}}} 0.001"));
    assert!(body.contains(&format!("tidewire_cyclic_stream_frames_total{{{stream}}} ")), "{body}");
}

#[test]
fn prometheus_finds_no_fault_but_with_bits_per_second() {
    let watched = Watched::start();
    let checker = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut checker) = checker else {
        println!("skipped: no promtool");
        return;
    };
    let (_, body) = watched.scrape("text/plain");
    checker.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let output = checker.wait_with_output().unwrap();
    // The paper's two throughputs are in bit/s, which is a matter of style (3), not of form (1).
    check_code(&output, 3);
    let said = stderr(&output);
    let faults: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
    let about = " use base unit \"bytes\" instead of \"bits\"";
    let expected = ["link", "transport"]
        .map(|level| format!("tidewire_{level}_information_throughput_bits_per_second{about}"));
    assert_eq!(faults, expected);
}

#[test]
fn other_hosts_are_served_only_where_that_was_asked_for() {
    let output = run(&["watch", "-r", "-", "--metrics", "0.0.0.0:0"]);
    check_code(&output, 2);
    assert!(stderr(&output).contains("--metrics-anywhere"), "{}", stderr(&output));
}

#[test]
fn clients_that_say_nothing_delay_no_scrape() {
    let watched = Watched::start();
    let mut idle = TcpStream::connect(&watched.address).unwrap();
    let (head, _) = watched.scrape("text/plain");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    // The first client was not given up to answer the second: it is answered still.
    idle.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    idle.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer:?}");
}

#[test]
fn a_hundred_clients_that_say_nothing_give_way_to_one_that_asks() {
    let watched = Watched::start();
    let mut idle: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(&watched.address).unwrap()).collect();
    let (head, _) = watched.scrape("text/plain");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let mut answer = Vec::new();
    idle[0].read_to_end(&mut answer).unwrap();
    assert!(answer.is_empty(), "the oldest was closed");
}
