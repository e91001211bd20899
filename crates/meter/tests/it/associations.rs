//! Associations and MMS services: against tshark, and by dialogues.
//!
//! `services.tsv` has the requests, answers and errors of each service, and the least, the sum, the
//! median, the 99th percentile and the greatest of the response times. They come from tshark: an
//! answer belongs to the last request of its stream with its invoke identifier, and its time lasts
//! from the frame that ends the request to the frame that ends the answer. `BLESS=1` rewrites it.

use crate::Draws;
use crate::capture::shared;
use crate::every_capture::captures;
use crate::replies::Stream;
use core::fmt::Write as _;
use meter::measure::Service;
use meter::{AssociationReport, Layer, Phase, Report};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services.tsv");

/// Fields of tshark, one value for each PDU of a frame.
const FIELDS: [&str; 7] = [
    "frame.time_epoch",
    "tcp.stream",
    "mms.invokeID",
    "mms.confirmedServiceRequest",
    "mms.confirmed_RequestPDU_element",
    "mms.confirmed_ErrorPDU_element",
    "mms.confirmed_ResponsePDU_element",
];

/// Service of a capture, as tshark dissects it.
#[derive(Default)]
struct Seen {
    requests: u64,
    errors: u64,
    nanos: Vec<u64>,
}

/// Services of a capture by number, as tshark dissects it; none if there is no tshark.
fn by_tshark(path: &Path) -> Option<BTreeMap<u32, Seen>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-Y", "mms", "-T", "fields"]).args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = tshark.arg("-r").arg(path).stderr(Stdio::null()).output().ok()?;
    let (mut services, mut open) = (BTreeMap::<u32, Seen>::new(), BTreeMap::new());
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let [at, stream, invoke, service, request, error, response] =
            line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        let (seconds, nanos) = at.split_once('.').unwrap();
        let nanos = seconds.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap();
        if [request, error, response].iter().all(|element| element.is_empty()) {
            continue;
        }
        let mut numbers = service.split(',');
        for invoke in invoke.split(',') {
            let key = (stream.to_owned(), invoke.to_owned());
            if !request.is_empty() {
                let service = numbers.next().unwrap().parse().unwrap();
                services.entry(service).or_default().requests += 1;
                open.insert(key, (service, nanos));
            } else if let Some((service, since)) = open.remove(&key) {
                let seen = services.entry(service).or_default();
                seen.errors += u64::from(!error.is_empty());
                seen.nanos.push(nanos - since);
            }
        }
    }
    Some(services)
}

/// Lines of a capture in `services.tsv`; none if there is no tshark.
fn lines(name: &str, path: &Path) -> Option<String> {
    let mut text = String::new();
    for (number, Seen { requests, errors, mut nanos }) in by_tshark(path)? {
        nanos.sort_unstable();
        let rank = |permille: usize| nanos[(nanos.len() * permille).div_ceil(1_000).max(1) - 1];
        let (answers, sum) = (nanos.len(), nanos.iter().sum::<u64>());
        let times = if nanos.is_empty() { [0; 4] } else { [1, 500, 990, 1_000].map(rank) };
        let [least, p50, p99, greatest] = times;
        let counts = format!("{requests}\t{answers}\t{errors}\t{least}\t{sum}\t{p50}\t{p99}");
        writeln!(text, "{name}\t{number}\t{counts}\t{greatest}").unwrap();
    }
    Some(text)
}

/// Text of `services.tsv`, by tshark.
fn blessed() -> Option<String> {
    let version = Command::new("tshark").arg("--version").output().ok()?;
    let version = String::from_utf8(version.stdout).unwrap();
    let version = version.split_whitespace().nth(2).unwrap().trim_end_matches('.');
    let mut text = format!(
        "# tshark {version}: by stream and invoke identifier, from the frame that ends the request\n\
         # to the frame that ends the response or error; quantiles by nearest rank; times in ns\n\
         # capture\tservice\trequests\tanswers\terrors\tleast\tsum\tp50\tp99\tgreatest\n"
    );
    let (folder, files) = captures()?;
    for name in files.iter().filter(|name| name.contains("mms") || name.contains("iccp")) {
        text += &lines(name, &folder.join(name))?;
    }
    Some(text)
}

#[test]
fn services_have_the_counts_and_times_of_tshark() {
    if std::env::var_os("BLESS").is_some()
        && let Some(text) = blessed()
    {
        fs::write(EXPECTED, text).unwrap();
    }
    let expected = fs::read_to_string(EXPECTED).unwrap();
    let mut files = BTreeMap::<&str, Vec<Vec<u64>>>::new();
    for line in expected.lines().filter(|line| !line.starts_with('#')) {
        let (file, numbers) = line.split_once('\t').unwrap();
        let numbers = numbers.split('\t').map(|number| number.parse().unwrap()).collect();
        files.entry(file).or_default().push(numbers);
    }
    let mut compared = 0;
    for (file, services) in files {
        let Some(path) = shared("captures", file) else { return };
        let total = crate::every_capture::total(&path);
        let found: Vec<_> = total.measures.mms.services().collect();
        assert_eq!(found.len(), services.len(), "{file}");
        for ((service, counts), expected) in found.into_iter().zip(services) {
            let [number, requests, answers, errors, least, sum, p50, p99, greatest] = expected[..]
            else {
                panic!("{file}: {expected:?}");
            };
            assert_eq!(service, Service::of(number as u32), "{file}");
            let of = &counts.responses;
            let found = [counts.requests, counts.answers, counts.errors];
            assert_eq!(found, [requests, answers, errors], "{file} {}", service.name());
            let found = [of.min_ns, of.total_ns, of.max_ns];
            assert_eq!(found, [least, sum, greatest], "{file} {}", service.name());
            // A quantile is the upper edge of a class at most 1/128 wide.
            for (permille, exact) in [(500, p50), (990, p99)] {
                let found = of.quantile_ns(permille);
                assert!((exact..=exact + exact / 128).contains(&found), "{file} {exact} {found}");
            }
            compared += 1;
        }
    }
    println!("seen: {compared} services");
}

/// MMS PDU in context 3, in a TSDU (ISO 8823 8.4, single-ASN1-type).
fn in_context(context: u8, pdu: &[u8]) -> Vec<u8> {
    let length = |more: usize| u8::try_from(pdu.len() + more).unwrap();
    let head = [1, 0, 1, 0, 0x61, length(7), 0x30, length(5), 2, 1, context, 0xA0, length(0)];
    [&head[..], pdu].concat()
}

/// Request of a service by its identifier octet.
fn request(invoke: u8, service: u8) -> Vec<u8> {
    in_context(3, &[0xA0, 5, 2, 1, invoke, service, 0])
}

fn response(invoke: u8) -> Vec<u8> {
    in_context(3, &[0xA1, 5, 2, 1, invoke, 0xA4, 0])
}

/// Confirmed error of a class and code.
fn error(invoke: u8, class: u8, code: u8) -> Vec<u8> {
    in_context(3, &[0xA2, 10, 0x80, 1, invoke, 0xA2, 5, 0xA0, 3, 0x80 | class, 1, code])
}

/// Information report of a list, of IEC 61850, with this identifier.
fn report(name: &[u8]) -> Vec<u8> {
    let octets = u8::try_from(name.len()).unwrap();
    let mut pdu = vec![0xA3, octets + 13, 0xA0, octets + 11, 0xA1, 5, 0x80, 3];
    pdu.extend(b"RPT");
    pdu.extend([0xA0, octets + 2, 0x8A, octets]);
    pdu.extend(name);
    in_context(3, &pdu)
}

/// Dialogue between a client, side 0, and a server, side 1: the association, then messages at these
/// milliseconds.
fn dialogue(messages: &[(u64, usize, Vec<u8>)]) -> (AssociationReport, Report) {
    let mut stream = Stream::new();
    for (millis, side, tsdu) in messages {
        stream.dt(*millis, *side, tsdu, true);
    }
    ended(stream)
}

fn ended(mut stream: Stream) -> (AssociationReport, Report) {
    let connection = stream.meter.each_connection().next().unwrap();
    (*connection.association.unwrap(), stream.meter.finish())
}

#[test]
fn five_outstanding_requests_are_answered_out_of_order() {
    let asked = (0..5).map(|nth| (u64::from(nth) * 10, 0, request(nth, 0xA4)));
    let answered = [(3, 50), (0, 61), (4, 63), (1, 70), (2, 99)];
    let answered = answered.map(|(invoke, millis)| (millis, 1, response(invoke)));
    let (association, total) = dialogue(&asked.chain(answered).collect::<Vec<_>>());
    let [read] = &association.services[..] else { panic!("{association:?}") };
    // From 30, 0, 40, 10 and 20 ms on: 20, 61, 23, 60 and 79 ms.
    let times = &read.responses;
    let found = [times.count, times.total_ns, times.min_ns, times.max_ns];
    assert_eq!(found, [5, 243_000_000, 20_000_000, 79_000_000]);
    assert_eq!((read.server, read.requests, association.most_outstanding), (1, 5, 5));
    let delays = total.measures.delays;
    assert_eq!((delays.response.count, delays.ambiguous_responses), (5, 0));
    assert_eq!((association.phase, association.is_inferred), (Phase::Open, true));
}

#[test]
fn an_answer_lasts_until_its_last_dt_and_a_reply_until_its_first() {
    let mut stream = Stream::new();
    stream.dt(0, 0, &request(1, 0xA4)[..9], false);
    stream.dt(10, 0, &request(1, 0xA4)[9..], true);
    stream.dt(15, 1, &response(1), false);
    stream.dt(40, 1, &[0; 100], false);
    stream.dt(60, 1, &[0; 100], true);
    let (association, total) = ended(stream);
    assert_eq!(association.services[0].responses.total_ns, 50_000_000);
    assert_eq!(total.measures.delays.response.total_ns, 5_000_000);
    assert_eq!(total.measures.delays.mms_response.total_ns, 50_000_000);
}

#[test]
fn odd_answers_are_counted_and_disturb_nothing() {
    let foreign = in_context(5, &[0xA1, 5, 2, 1, 1, 0xA4, 0]);
    let (association, total) = dialogue(&[
        (0, 0, request(1, 0xA4)),
        (2, 1, response(7)),
        (3, 1, foreign),
        (10, 1, response(1)),
        (12, 1, response(1)),
        (20, 0, request(1, 0xA5)),
        (23, 1, error(1, 7, 2)),
        (30, 0, request(2, 0xA5)),
        (31, 0, request(2, 0xA4)),
    ]);
    let found = (association.unrequested, association.repeated, association.in_no_context);
    assert_eq!(found, (1, 1, 1));
    let [read, write] = &association.services[..] else { panic!("{association:?}") };
    assert_eq!((read.responses.total_ns, write.responses.total_ns), (10_000_000, 3_000_000));
    let of = |error: &meter::ErrorCount| (error.is_reject, error.class, error.code, error.times);
    assert_eq!(write.errors_by.iter().map(of).collect::<Vec<_>>(), [(false, 7, 2, 1)]);
    // An identifier that is used again gives up its earlier request.
    assert_eq!((write.unanswered, read.outstanding, association.outstanding), (1, 1, 1));
    let odd = total.oddities.iter().filter(|(class, ..)| class.name() == "association");
    assert_eq!(odd.map(|(.., times)| times).sum::<u64>(), 3);
}

#[test]
fn reports_have_their_intervals_by_control_block() {
    let (association, _) = dialogue(&[
        (0, 1, report(b"urcb01")),
        (100, 1, report(b"brcb02")),
        (300, 1, report(b"urcb01")),
        (400, 1, report(b"urcb01")),
    ]);
    let [first, second] = &association.control_blocks[..] else { panic!("{association:?}") };
    let times = &first.intervals;
    assert_eq!((first.name.as_str(), first.reports, times.count), ("urcb01", 3, 2));
    assert_eq!(
        [times.min_ns, times.max_ns, times.total_ns],
        [100_000_000, 300_000_000, 400_000_000]
    );
    assert_eq!((second.reports, second.intervals.count), (1, 0));
}

/// CN whose CP proposes contexts 1 (ACSE) and 3 (MMS): enough to recognise the application.
const CONNECT: &str = "0d4a 0506 130100 160102 14020002 c13e 313c a003800101 a235 a423 \
    300f 020101 060452010001 300406025101 3010 020103 060528ca220201 300406025101 \
    610e 300c 020101 a007 6005 a103 0601 28";

fn octets(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let pairs = (0..digits.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

#[track_caller]
fn ends_as(answer: &str, phase: Phase, layer: Layer, reason: Option<i64>) {
    let messages = [(0, 0, octets(CONNECT)), (7, 1, octets(answer))];
    let (association, total) = dialogue(&messages);
    let cause = association.cause.unwrap();
    assert_eq!((association.phase, cause.layer, cause.reason), (phase, layer, reason));
    let mms = total.measures.mms;
    assert_eq!(
        (mms.refused, mms.aborted),
        match phase {
            Phase::Refused => (1, 0),
            _ => (0, 1),
        }
    );
}

#[test]
fn a_refusal_and_an_abort_have_their_layer_and_reason() {
    let session = "0c06 110101 320181";
    ends_as(session, Phase::Refused, Layer::Session, Some(0x81));
    // CPR with reason 1, in the reason parameter of an RF.
    ends_as("0c0b 110101 3206 02 3003 8a0101", Phase::Refused, Layer::Presentation, Some(1));
    // ACs with CPA and AARE: result 1 with diagnostic 2 of the user, and an initiate error 8/4.
    let aare = "0e2a c128 3126 a003800101 a21f 611d 301b 020101 a016 6114 \
        a1070605 28ca220203 a203020101 a305a103020102";
    ends_as(aare, Phase::Refused, Layer::Acse, Some(2));
    let initiate = "0e39 c137 3135 a003800101 a22e 612c 302a 020101 a025 6123 \
        a203020100 a305a103020100 be15 2813 020103 a00e aa0c a20a a003880104 8103000000";
    ends_as(initiate, Phase::Refused, Layer::Mms, Some(804));
    let abort = "1915 11010b c110 a00e 610c 300a 020101 a005 6403800100";
    ends_as(abort, Phase::Aborted, Layer::Acse, None);
    ends_as("1903 110103", Phase::Aborted, Layer::Session, Some(3));
}

#[test]
fn limits_of_an_association_are_counted() {
    let mut stream = Stream::new();
    for nth in 0..=255_u8 {
        stream.dt(nth.into(), 0, &request(nth, 0xA0 | nth % 30), true);
        stream.dt(nth.into(), 1, &report(&[b'a' + nth % 100 / 10, b'0' + nth % 10]), true);
    }
    let (association, _) = ended(stream);
    let dropped = association.dropped;
    assert_eq!((association.outstanding, dropped.requests), (128, 128));
    // 24 services and the row of the others; 6 of 30 have none.
    assert_eq!((association.services.len(), dropped.services), (25, 48 + 2));
    assert_eq!((association.control_blocks.len(), dropped.reports), (64, 36 * 2 + 20));
    let requests: u64 = association.services.iter().map(|service| service.requests).sum();
    assert_eq!(requests, 256);
}

#[test]
fn random_tsdus_neither_panic_nor_take_unbounded_memory() {
    let seeds = [octets(CONNECT), request(1, 0xA4), response(1), error(1, 7, 2), report(b"urcb")];
    let mut draws = Draws(61_850);
    let mut stream = Stream::new();
    stream.dt(0, 0, &request(1, 0xA4), true);
    for millis in 0..20_000 {
        let mut tsdu = seeds[draws.below(seeds.len())].clone();
        for _ in 0..draws.below(6) {
            let place = draws.below(tsdu.len());
            tsdu[place] = draws.octet();
        }
        tsdu.truncate(tsdu.len() - draws.below(3) * draws.below(tsdu.len()) / 2);
        stream.dt(millis, draws.below(2), &tsdu, draws.below(8) > 0);
    }
    let (association, total) = ended(stream);
    assert!(association.services.len() <= 26 && association.control_blocks.len() <= 64);
    assert!(association.outstanding <= 256);
    let requests: u64 = association.services.iter().map(|service| service.requests).sum();
    let of_all: u64 = total.measures.mms.services().map(|(_, counts)| counts.requests).sum();
    assert_eq!(requests, of_all);
}
