//! Requests and replies of Modbus: against tshark's fields, and by captures made here.
//!
//! `modbus.tsv` has the functions of each capture. `BLESS=1` rewrites it from tshark: its list of the
//! transactions, units and functions of a frame, and the octets of the segment. The definition is that
//! of the meter's help, written down once more below ([`Expected`]), with lists in place of tables.

use crate::capture::shared;
use crate::every_capture::captures;
use core::fmt::Write as _;
use core::time::Duration;
use meter::measure::Summary;
use meter::{Meter, Settings, TransactionProtocol, TransactionReport};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use wire::capture::Capture;

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/modbus.tsv");
const SECOND: u64 = 1_000_000_000;

/// Fields of tshark; those of Modbus have one value for each PDU of the frame.
const FIELDS: [&str; 12] = [
    "frame.time_epoch",
    "tcp.stream",
    "ip.src",
    "ip.dst",
    "tcp.srcport",
    "tcp.flags.fin",
    "tcp.flags.reset",
    "mbtcp.trans_id",
    "mbtcp.unit_id",
    "modbus.func_code",
    "modbus.exception_code",
    "tcp.payload",
];

/// Functions with PDUs in segments that tshark takes for retransmitted and does not read, although some
/// of their octets are new; and our counts. Server 86 sends its last five replies behind a gap, which
/// it fills only after it has closed the connection.
const NEW_IN_OLD: [(&str, [u64; 8]); 3] = [
    ("141.81.0.24\t255\t2", [33, 0, 33, 0, 0, 0, 0, 0]),
    ("141.81.0.24\t255\t4", [38, 0, 38, 0, 0, 0, 0, 0]),
    ("141.81.0.86\t255\t4", [10, 0, 10, 0, 5, 0, 5, 0]),
];

/// Server, unit and function.
type Function = (String, u64, u64);

/// Request that has no reply yet.
struct Open {
    at: u64,
    transaction: u64,
    function: Function,
    octets: String,
    /// True if another request had its key, or the same was sent again.
    is_doubtful: bool,
}

/// Counts of a function, in the order of `modbus.tsv`.
#[derive(Default)]
struct Counts {
    requests: u64,
    retries: u64,
    replies: u64,
    exceptions: u64,
    unanswered: u64,
    ambiguous: u64,
    without_request: u64,
    open: u64,
    responses: Vec<u64>,
    periods: Vec<u64>,
}

/// The definition, applied to frames.
#[derive(Default)]
struct Expected {
    functions: BTreeMap<Function, Counts>,
    /// By stream.
    open: BTreeMap<String, Vec<Open>>,
    transactions: BTreeMap<String, Vec<u64>>,
    polls: BTreeMap<(Function, String, String), u64>,
}

impl Expected {
    fn of(&mut self, function: &Function) -> &mut Counts {
        self.functions.entry(function.clone()).or_default()
    }

    /// Ends the requests of a stream that were open for longer.
    fn give_up(&mut self, stream: &str, now: u64, limit: u64) {
        let open = self.open.entry(stream.to_owned()).or_default();
        let (over, open) = core::mem::take(open)
            .into_iter()
            .partition::<Vec<_>, _>(|request| now.saturating_sub(request.at) > limit);
        self.open.insert(stream.to_owned(), open);
        over.iter().for_each(|request| self.of(&request.function).unanswered += 1);
    }

    fn request(&mut self, stream: &str, client: &str, request: Open) {
        let known = self.transactions.entry(stream.to_owned()).or_default();
        if !known.contains(&request.transaction) {
            known.push(request.transaction);
        }
        let has_identifiers = known.len() > 1;
        self.of(&request.function).requests += 1;
        let again = self.open.entry(stream.to_owned()).or_default().iter_mut().rev().find(|it| {
            let is_same = (it.transaction, &it.function, &it.octets)
                == (request.transaction, &request.function, &request.octets);
            is_same && (has_identifiers || request.at - it.at > SECOND / 2)
        });
        if let Some(again) = again {
            again.is_doubtful = true;
            self.of(&request.function).retries += 1;
            return;
        }
        let subject = subject(&request.octets, request.function.2).to_owned();
        let poll = (request.function.clone(), client.to_owned(), subject);
        if let Some(last) = self.polls.insert(poll, request.at) {
            self.of(&request.function).periods.push(request.at - last);
        }
        self.open.get_mut(stream).unwrap().push(request);
    }

    fn reply(&mut self, stream: &str, at: u64, transaction: u64, function: &Function) {
        self.of(function).replies += 1;
        let known = self.transactions.get(stream).map_or(0, Vec::len);
        let open = self.open.entry(stream.to_owned()).or_default();
        let is_it = |it: &Open| it.transaction == transaction && it.function == *function;
        let places: Vec<usize> = (0..open.len()).filter(|place| is_it(&open[*place])).collect();
        let Some(first) = places.first().copied() else {
            return self.of(function).without_request += 1;
        };
        let in_order = places.len() == 1 || known == 1 && at - open[first].at <= SECOND / 2;
        if in_order && !open[first].is_doubtful {
            let since = open.remove(first).at;
            return self.of(function).responses.push(at - since);
        }
        open.remove(*places.last().unwrap());
        open.iter_mut().filter(|it| is_it(it)).for_each(|it| it.is_doubtful = true);
        self.of(function).ambiguous += 1;
    }
}

/// Octets, in hexadecimal, that say what a request reads or writes.
fn subject(octets: &str, function: u64) -> &str {
    let data = match function {
        1..=4 | 15 | 16 => 4,
        5 | 6 => 2,
        _ => 1_000,
    };
    &octets[16..(16 + 2 * data).min(octets.len())]
}

fn nanos(epoch: &str) -> u64 {
    let (seconds, fraction) = epoch.split_once('.').unwrap();
    seconds.parse::<u64>().unwrap() * SECOND + fraction.parse::<u64>().unwrap()
}

/// Functions of a capture by tshark's fields; none without tshark.
fn by_tshark(path: &Path) -> Option<BTreeMap<Function, Counts>> {
    let mut tshark = Command::new("tshark");
    // A segment that was retransmitted has no PDU of its own.
    let filter = "tcp.port == 502 && !tcp.analysis.retransmission";
    tshark.args(["-Y", filter, "-T", "fields"]);
    tshark.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = tshark.arg("-r").arg(path).stderr(Stdio::null()).output().ok()?;
    let (mut expected, mut last) = (Expected::default(), 0);
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let [at, stream, source, destination, port, fin, reset, ..] = fields[..] else {
            panic!("{line}");
        };
        let [.., transactions, units, functions, exceptions, octets] = fields[..] else {
            panic!("{line}");
        };
        // Times that run backwards are those of the frame before.
        let at = nanos(at).max(last);
        last = at;
        let is_reply = port == "502";
        let [client, server] = if is_reply { [destination, source] } else { [source, destination] };
        expected.give_up(stream, at, 10 * SECOND);
        let list = |list: &str| -> Vec<u64> {
            list.split(',').filter(|it| !it.is_empty()).map(|it| it.parse().unwrap()).collect()
        };
        let mut rest = octets;
        for ((transaction, unit), code) in
            list(transactions).into_iter().zip(list(units)).zip(list(functions))
        {
            let function = (server.to_owned(), unit, code);
            // A length of MBAP counts from the unit on.
            let length = 12 + 2 * usize::from_str_radix(&rest[8..12], 16).unwrap();
            let (pdu, behind) = rest.split_at(length.min(rest.len()));
            rest = behind;
            if is_reply {
                expected.reply(stream, at, transaction, &function);
            } else {
                let octets = pdu.to_owned();
                let open = Open { at, transaction, function, octets, is_doubtful: false };
                expected.request(stream, client, open);
            }
        }
        if is_reply {
            let exceptions = list(exceptions).len() as u64;
            if exceptions > 0 {
                let function = (server.to_owned(), list(units)[0], list(functions)[0]);
                expected.of(&function).exceptions += exceptions;
            }
        }
        if reset == "1" || fin == "1" && is_reply {
            // A request of the same instant too: nothing is open for less than no time.
            let open = expected.open.remove(stream).unwrap_or_default();
            open.iter().for_each(|it| expected.of(&it.function).unanswered += 1);
        }
    }
    for stream in expected.open.keys().cloned().collect::<Vec<_>>() {
        expected.give_up(&stream, last, 10 * SECOND);
        let open = expected.open.remove(&stream).unwrap();
        open.iter().for_each(|it| expected.of(&it.function).open += 1);
    }
    Some(expected.functions)
}

/// Sum, least and greatest.
fn summary(nanos: &[u64]) -> String {
    let ends = [nanos.iter().min(), nanos.iter().max()].map(|it| it.copied().unwrap_or(0));
    format!("{}\t{}\t{}\t{}", nanos.len(), nanos.iter().sum::<u64>(), ends[0], ends[1])
}

fn line(name: &str, function: &Function, of: &Counts) -> String {
    let (server, unit, code) = function;
    let Counts { requests, retries, replies, exceptions, unanswered, ambiguous, .. } = of;
    format!(
        "{name}\t{server}\t{unit}\t{code}\t{requests}\t{retries}\t{replies}\t{exceptions}\t\
         {unanswered}\t{ambiguous}\t{}\t{}\t{}\t{}\n",
        of.without_request,
        of.open,
        summary(&of.responses),
        summary(&of.periods)
    )
}

fn our_line(name: &str, report: &TransactionReport) -> String {
    let counts = report.all.counts;
    let summary =
        |it: &Summary| format!("{}\t{}\t{}\t{}", it.count, it.total_ns, it.min_ns, it.max_ns);
    format!(
        "{name}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
        report.key.server,
        report.key.unit,
        report.key.function,
        counts.requests,
        counts.retries,
        counts.replies,
        counts.exceptions,
        counts.unanswered,
        counts.ambiguous,
        counts.repeated + counts.late + counts.unrequested,
        report.outstanding,
        summary(&report.all.responses),
        summary(&report.all.periods)
    )
}

/// Transactions of a capture.
fn metered(path: &Path) -> Vec<TransactionReport> {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    while let Ok(Some(record)) = capture.next() {
        meter.observe(record.at, record.link, record.octets, record.original_octets);
    }
    meter.finish();
    meter.each_transaction()
}

/// Captures with Modbus, by the names of their files.
fn with_modbus() -> Vec<String> {
    let Some((_, files)) = captures() else { return Vec::new() };
    files.into_iter().filter(|name| name.contains("modbus")).collect()
}

#[test]
fn functions_have_the_counts_and_times_of_tshark() {
    let files = with_modbus();
    if files.is_empty() {
        return;
    }
    let path = |name: &str| shared("captures", name).unwrap();
    let mut text =
        "# by tshark's fields: capture, server, unit, function, requests, retries, replies,\n\
         # exceptions, unanswered, ambiguous, without request, open, then responses and periods:\n\
         # number, sum, least, greatest, in ns\n"
            .to_owned();
    let mut has_tshark = true;
    for name in &files {
        let Some(functions) = by_tshark(&path(name)) else {
            println!("skipped: no tshark to compare transactions of Modbus with");
            has_tshark = false;
            break;
        };
        for (function, of) in &functions {
            text += &line(name, function, of);
        }
    }
    if has_tshark && std::env::var_os("BLESS").is_some() {
        fs::write(EXPECTED, &text).unwrap();
    }
    let expected = fs::read_to_string(EXPECTED).unwrap();
    assert!(!has_tshark || text == expected, "BLESS=1 makes {EXPECTED} anew");
    let mut ours: Vec<String> = Vec::new();
    for name in &files {
        let mut reports = metered(&path(name));
        reports.retain(|it| it.key.protocol == TransactionProtocol::Modbus);
        // A poll that was dropped has no period.
        reports.iter_mut().filter(|it| it.all.counts.polls_dropped > 0).for_each(|it| {
            println!("seen: {name}, function {}: more polls than are kept", it.key.function);
            it.all.periods = Summary::default();
        });
        ours.extend(reports.iter().map(|report| our_line(name, report)));
    }
    let mut theirs: Vec<&str> = expected.lines().filter(|line| !line.starts_with('#')).collect();
    ours.sort_unstable();
    theirs.sort_unstable();
    let mut different = String::new();
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let [ours, mut theirs] = [ours.trim_end(), theirs].map(ToOwned::to_owned);
        if ours.ends_with("\t0\t0\t0\t0") {
            let kept: Vec<_> = theirs.split('\t').collect();
            theirs = format!("{}\t0\t0\t0\t0", kept[..kept.len() - 4].join("\t"));
        }
        let of_function = ours.split('\t').skip(1).take(3).collect::<Vec<_>>().join("\t");
        if let Some((_, counts)) = NEW_IN_OLD.iter().find(|(name, _)| *name == of_function) {
            let found = ours.split('\t').skip(4).take(8).map(|count| count.parse().unwrap());
            assert_eq!(found.collect::<Vec<u64>>(), counts, "{ours}");
        } else if ours != theirs {
            writeln!(different, "ours   {ours}\ntshark {theirs}").unwrap();
        }
    }
    assert!(different.is_empty(), "{different}");
    assert_eq!(ours.len(), theirs.len());
}

/// Captures of the other protocols, with requests, replies, those with a response time, ambiguous ones,
/// those without a request, and requests without a reply. The matched ones are those of a reader of
/// its own that the index of the captures describes, but for what is said here.
const OTHERS: [(&str, TransactionProtocol, [u64; 6]); 11] = [
    // 222 requests but for retransmitted segments, each matched.
    ("cyclic/dnp3/DNP3Value.pcap", TransactionProtocol::Dnp3, [222, 222, 222, 0, 0, 0]),
    // 21 matched, two responses alone; a request was sent again, and is one.
    ("cyclic/dnp3/dnp3.pcap", TransactionProtocol::Dnp3, [23, 23, 21, 0, 2, 1]),
    // Over UDP: the response has many link frames, of which the first counts.
    ("cyclic/dnp3/dnp3_udp_read.pcap", TransactionProtocol::Dnp3, [1, 1, 1, 0, 0, 0]),
    // One request again and again, of which each is other data.
    ("cyclic/dnp3/DNP3-Malformed.pcap", TransactionProtocol::Dnp3, [197, 0, 0, 0, 0, 197]),
    // 121 I formats, of which two are not acknowledged at the end; TESTFR 6, STARTDT 1; 34 commands.
    ("cyclic/iec104/104deneme.pcap", TransactionProtocol::Iec104, [162, 160, 160, 0, 0, 2]),
    // 128 I formats, TESTFR 29, STARTDT 2, 21 interrogations.
    (
        "cyclic/iec104/JavaRMI_and_IEC_Misc.pcap",
        TransactionProtocol::Iec104,
        [180, 180, 180, 0, 0, 0],
    ),
    // 136 matched.
    (
        "cyclic/enip/ControlLogix_FactoryTalk_HMI.pcap",
        TransactionProtocol::EtherNetIp,
        [136, 136, 136, 0, 0, 0],
    ),
    // 36 matched, one reply alone, two requests alone.
    ("cyclic/enip/ethernetIP.pcap", TransactionProtocol::EtherNetIp, [38, 37, 36, 0, 1, 2]),
    // 22, 90 and 146 matched; two without a reply.
    ("cyclic/ads-fins/beckhoff_ads.pcapng", TransactionProtocol::Ads, [22, 22, 22, 0, 0, 0]),
    ("cyclic/ads-fins/beckoffiplinktc3.pcapng", TransactionProtocol::Ads, [92, 90, 90, 0, 0, 2]),
    (
        "cyclic/ads-fins/plc4x-ads-manual-test-capture.pcapng",
        TransactionProtocol::Ads,
        [146, 146, 146, 0, 0, 0],
    ),
];

#[test]
fn other_protocols_have_the_counts_of_their_captures() {
    for (file, protocol, expected) in OTHERS {
        let Some(path) = shared("captures", file) else { return };
        let mut found = [0; 6];
        for report in metered(&path).iter().filter(|it| it.key.protocol == protocol) {
            let counts = report.all.counts;
            let alone = counts.repeated + counts.late + counts.unrequested;
            let open = counts.unanswered + report.outstanding;
            let responses = report.all.responses.count;
            let of = [counts.requests, counts.replies, responses, counts.ambiguous, alone, open];
            found.iter_mut().zip(of).for_each(|(sum, more)| *sum += more);
        }
        assert_eq!(found, expected, "{file}");
    }
}

#[test]
fn the_slowest_servers_of_a_plant_are_found() {
    let Some(path) = shared("captures", "s7/mb2_modbus_plus_s7.pcap") else { return };
    let mut servers = BTreeMap::<String, [u64; 3]>::new();
    for report in metered(&path) {
        let times = report.all.responses;
        let [count, total, max] = servers.entry(report.key.server.to_string()).or_default();
        (*count, *total) = (*count + times.count, *total + times.total_ns);
        *max = times.max_ns.max(*max);
    }
    let by_max = servers.iter().max_by_key(|(_, [_, _, max])| *max).unwrap();
    assert_eq!((by_max.0.as_str(), by_max.1[2]), ("141.81.0.84", 209_467_000));
    let mean = |[count, total, _]: &[u64; 3]| total / count;
    let by_mean = servers.iter().max_by_key(|(_, times)| mean(times)).unwrap();
    assert_eq!(by_mean.0, "141.81.0.143");
    assert_eq!(mean(by_mean.1) / 100_000, 645, "64.5 ms");
}
