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
use core::time::Duration;
use meter::service::Service;
use meter::{AssociationReport, FailureCount, LatestInterval, Layer, Phase, Report, ServiceReport};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use wire::acse::{self, Diagnostic, External};
use wire::ber::{List, Oid, Tag, Writer};
use wire::mms::{self, Failure};
use wire::presentation::{self, Context, Name, Pdv, UserData, Value};
use wire::session::{self, Kind};
use wire::time::Instant;

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services.tsv");

/// Capture whose server puts a SEQUENCE in the place of the service, which is no MMS PDU here.
const MALFORMED: &str = "mms/iec61850_write.pcap";

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
    let has_mms = |name: &&String| name.contains("mms") || name.contains("iccp");
    for name in files.iter().filter(has_mms).filter(|name| *name != MALFORMED) {
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
pub(crate) fn in_context(context: u8, pdu: &[u8]) -> Vec<u8> {
    let length = |more: usize| u8::try_from(pdu.len() + more).unwrap();
    let head = [1, 0, 1, 0, 0x61, length(7), 0x30, length(5), 2, 1, context, 0xA0, length(0)];
    [&head[..], pdu].concat()
}

/// Request of a service by its identifier octet.
pub(crate) fn request(invoke: u8, service: u8) -> Vec<u8> {
    in_context(3, &[0xA0, 5, 2, 1, invoke, service, 0])
}

fn response(invoke: u8) -> Vec<u8> {
    in_context(3, &[0xA1, 5, 2, 1, invoke, 0xA4, 0])
}

/// Confirmed error of a class and code.
pub(crate) fn error(invoke: u8, class: u8, code: u8) -> Vec<u8> {
    in_context(3, &[0xA2, 10, 0x80, 1, invoke, 0xA2, 5, 0xA0, 3, 0x80 | class, 1, code])
}

/// Information report of a list, of IEC 61850, with this identifier.
pub(crate) fn report(name: &[u8]) -> Vec<u8> {
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

/// Stream with a transport connection of class 0.
fn connected() -> Stream {
    connected_in(Stream::new())
}

fn connected_in(mut stream: Stream) -> Stream {
    stream.tpdu(0, 0, &[6, 0xE0, 0, 0, 0, 1, 0]);
    stream.tpdu(0, 1, &[6, 0xD0, 0, 1, 0, 2, 0]);
    // An exchange, so that the application is recognised.
    stream.dt(0, 0, &request(0, 0x82), true);
    stream.dt(0, 1, &response(0), true);
    stream
}

fn ended(mut stream: Stream) -> (AssociationReport, Report) {
    let connection = stream.meter.each_connection().next().unwrap();
    (AssociationReport::clone(&connection.association.unwrap()), stream.meter.finish())
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
fn an_answer_lasts_to_its_last_dt_a_reply_to_its_first() {
    let mut stream = connected();
    stream.dt(0, 0, &request(1, 0xA4)[..9], false);
    stream.dt(10, 0, &request(1, 0xA4)[9..], true);
    stream.dt(15, 1, &response(1), false);
    stream.dt(40, 1, &[0; 100], false);
    stream.dt(60, 1, &[0; 100], true);
    let (association, total) = ended(stream);
    assert_eq!(association.services[1].responses.total_ns, 50_000_000);
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
    let failure = Failure::Service { class: 7, code: 2 };
    assert_eq!(write.failures, [FailureCount { failure, times: 1 }]);
    // An identifier that is used again gives up its earlier request.
    assert_eq!((write.unanswered, read.outstanding, association.outstanding), (1, 1, 1));
    let odd = total.oddities.iter().filter(|(class, ..)| class.name() == "association");
    assert_eq!(odd.map(|(.., times)| times).sum::<u64>(), 3);
}

/// Services of the latest interval of the only association.
fn latest(stream: &Stream) -> LatestInterval {
    let connection = stream.meter.each_connection().next().unwrap();
    connection.association.unwrap().latest.clone()
}

#[test]
fn services_of_an_interval_begin_anew_with_it() {
    let mut stream = connected_in(Stream::every(Duration::from_secs(1)));
    [1, 2, 3].iter().for_each(|invoke| stream.dt(900, 0, &request(*invoke, 0xA4), true));
    stream.dt(901, 0, &request(4, 0xA5), true);
    stream.dt(930, 1, &error(4, 7, 2), true);
    stream.dt(950, 1, &response(2), true);
    let first = latest(&stream);
    let [identify, read, write] = &first.services[..] else { panic!("{first:?}") };
    let counts = |it: &ServiceReport| [it.requests, it.responses.count, it.errors, it.outstanding];
    assert_eq!((first.start, first.most_outstanding), (Instant::ZERO, 4));
    assert_eq!(counts(identify), [1, 1, 0, 0]);
    assert_eq!((counts(read), read.responses.max_ns), ([3, 1, 0, 2], 50_000_000));
    assert_eq!((counts(write), write.failures.len()), ([1, 1, 1, 0], 1));
    // An answer counts in the interval in which it ends, and nothing of the one before does. Two
    // requests were outstanding when it began.
    stream.dt(1_700, 1, &response(3), true);
    let second = latest(&stream);
    let [read] = &second.services[..] else { panic!("{second:?}") };
    assert_eq!((second.start.as_nanos(), second.most_outstanding), (1_000_000_000, 2));
    assert_eq!(counts(read), [0, 1, 0, 1]);
    assert_eq!((read.responses.min_ns, read.responses.p50_ns), (800_000_000, 800_000_000));
    // A service without an event is in an interval only while a request of it is outstanding.
    stream.dt(2_100, 0, &request(5, 0xA5), true);
    let third = latest(&stream);
    let [read, write] = &third.services[..] else { panic!("{third:?}") };
    assert_eq!((counts(read), third.most_outstanding), ([0, 0, 0, 1], 2));
    assert_eq!((counts(write), write.failures.len()), ([1, 0, 0, 1], 0));
    let whole = stream.meter.each_connection().next().unwrap().association.unwrap();
    let all: Vec<_> = whole.services.iter().map(counts).collect();
    assert_eq!(all, [[1, 1, 0, 0], [3, 2, 0, 1], [2, 1, 1, 1]]);
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
    assert_eq!((&*first.name, first.reports, times.count), (&b"urcb01"[..], 3, 2));
    assert_eq!(
        [times.min_ns, times.max_ns, times.total_ns],
        [100_000_000, 300_000_000, 400_000_000]
    );
    assert_eq!((second.reports, second.intervals.count), (1, 0));
}

/// Octets that `encode` writes.
fn written(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut out = Writer::new();
    encode(&mut out);
    out.octets().to_vec()
}

/// SPDU with a PPDU as its user data.
fn spdu(kind: Kind, reason: Option<u8>, ppdu: &[u8]) -> Vec<u8> {
    let user_data = Some(ppdu).filter(|it| !it.is_empty());
    let parameters = session::Parameters { reason, user_data, ..session::Parameters::default() };
    written(|out| session::Pdu::new(kind, parameters).encode(out))
}

/// CP or CPA with an APDU in context 1.
fn ppdu(kind: Kind, apdu: &acse::Pdu<'_>) -> Vec<u8> {
    let apdu = written(|out| apdu.encode(out));
    let (mut room, mut values, mut names) = (Writer::new(), Writer::new(), Writer::new());
    let names = List::encode(&[Name(presentation::BER)], &mut names);
    let context = |identifier, abstract_syntax| Context {
        identifier,
        abstract_syntax,
        transfer_syntaxes: names,
    };
    let contexts = [context(1, Oid(&[0x52, 1, 0, 1])), context(3, mms::SYNTAX)];
    let contexts = List::encode(&contexts, &mut room);
    let value = Pdv { transfer: None, context: 1, value: Value::Single(&apdu) };
    let user_data = Some(UserData::Full(List::encode(&[value], &mut values)));
    let parameters =
        presentation::Parameters { contexts, user_data, ..presentation::Parameters::default() };
    written(|out| {
        match kind {
            Kind::Cn => presentation::Pdu::Cp(parameters),
            _ => presentation::Pdu::Cpa(parameters),
        }
        .encode(out);
    })
}

/// CN of an association for MMS.
pub(crate) fn connect() -> Vec<u8> {
    let context_name = Some(mms::CONTEXT_NAME);
    let request = acse::Pdu::Aarq(acse::Request { context_name, ..acse::Request::default() });
    spdu(Kind::Cn, None, &ppdu(Kind::Cn, &request))
}

/// AC with an AARE that holds an MMS PDU.
pub(crate) fn accept(result: i64, diagnostic: Diagnostic, mms: &[u8]) -> Vec<u8> {
    let mut room = Writer::new();
    let value = Value::Single(mms);
    let external = External { direct: None, indirect: Some(3), descriptor: None, value };
    let information = List::encode(&[external], &mut room);
    let diagnostic = Some(diagnostic);
    let response = acse::Response { result, diagnostic, information, ..acse::Response::default() };
    spdu(Kind::Ac, None, &ppdu(Kind::Ac, &acse::Pdu::Aare(response)))
}

/// Initiate response, and initiate error of class 8 and code 4.
pub(crate) const INITIATED: [u8; 2] = [0xA9, 0];
const NOT_INITIATED: [u8; 7] = [0xAA, 5, 0xA0, 3, 0x88, 1, 4];

fn associated(answer: &[u8]) -> (AssociationReport, Report) {
    let mut stream = Stream::new();
    stream.tpdu(0, 0, &[6, 0xE0, 0, 0, 0, 1, 0]);
    stream.tpdu(1, 1, &[6, 0xD0, 0, 1, 0, 2, 0]);
    stream.dt(2, 0, &connect(), true);
    stream.dt(9, 1, answer, true);
    ended(stream)
}

#[test]
fn an_association_takes_from_its_cn_to_its_ac() {
    let (association, total) = associated(&accept(0, Diagnostic::User(0), &INITIATED));
    assert_eq!((association.phase, association.is_inferred), (Phase::Open, false));
    assert_eq!(association.set_up_ns, Some(7_000_000));
    let delays = total.measures.delays;
    assert_eq!((delays.association.count, delays.association.total_ns), (1, 7_000_000));
    assert_eq!(delays.response.count, 0);
}

#[track_caller]
fn ends_as(answer: &[u8], phase: Phase, layer: Layer, reason: Option<i64>) {
    let (association, total) = associated(answer);
    let cause = association.cause.unwrap();
    assert_eq!((association.phase, cause.layer, cause.reason), (phase, layer, reason));
    let expected = if phase == Phase::Refused { (1, 0) } else { (0, 1) };
    assert_eq!((total.measures.mms.refused, total.measures.mms.aborted), expected);
}

#[test]
fn a_refusal_and_an_abort_have_their_layer_and_reason() {
    let refused = Phase::Refused;
    ends_as(&spdu(Kind::Rf, Some(0x81), &[]), refused, Layer::Session, Some(0x81));
    let reason = presentation::Parameters { reason: Some(4), ..Default::default() };
    let reject = written(|out| presentation::Pdu::Cpr(reason).encode(out));
    ends_as(&spdu(Kind::Rf, Some(2), &reject), refused, Layer::Presentation, Some(4));
    let unnamed = accept(1, Diagnostic::User(2), &INITIATED);
    ends_as(&unnamed, refused, Layer::Acse, Some(2));
    let error = accept(0, Diagnostic::User(0), &NOT_INITIATED);
    ends_as(&error, refused, Layer::Mms, Some(804));
    let abort = written(|out| {
        acse::Pdu::Abrt(acse::Abort { source: Some(0), ..Default::default() }).encode(out);
        presentation::wrap(1, 0, out);
        out.close(Tag(0xA0), 0);
    });
    ends_as(&spdu(Kind::Ab, None, &abort), Phase::Aborted, Layer::Acse, None);
    ends_as(&[0x19, 3, 0x11, 1, 3], Phase::Aborted, Layer::Session, Some(3));
}

#[test]
fn limits_of_an_association_are_counted() {
    let mut stream = Stream::new();
    for nth in 0..=255_u8 {
        let pdu = [0xA0, 6, 2, 2, 1, nth, 0xA0 | (nth % 30), 0];
        stream.dt(nth.into(), 0, &in_context(3, &pdu), true);
        stream.dt(nth.into(), 1, &report(&[b'a' + nth % 100 / 10, b'0' + nth % 10]), true);
    }
    let (association, _) = ended(stream);
    let dropped = association.dropped;
    assert_eq!((association.outstanding, dropped.requests), (128, 128));
    // 24 services and the row of the others. Of 30 services 6 have none: 8 times, and none of the
    // last 16 requests.
    assert_eq!((association.services.len(), dropped.services), (25, 48));
    // Of 100 control blocks 36 have none: twice, and none of the last 56 reports.
    assert_eq!((association.control_blocks.len(), dropped.reports), (64, 72));
    let requests: u64 = association.services.iter().map(|service| service.requests).sum();
    assert_eq!(requests, 256);
}

#[test]
fn random_tsdus_neither_panic_nor_take_unbounded_memory() {
    let seeds = [connect(), request(1, 0xA4), response(1), error(1, 7, 2), report(b"urcb")];
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
