//! Services of intervals, and the last reports of connections.

use super::*;

/// Counts of a service, and the sum and the greatest of its response times.
fn counts_of(service: &meter::ServiceReport) -> [u64; 8] {
    let meter::ServiceReport { requests, errors, failed_accesses, rejects, .. } = *service;
    let meter::ServiceReport { unanswered, responses, .. } = *service;
    let [answers, total, max] = [responses.count, responses.total_ns, responses.max_ns];
    [requests, answers, errors, failed_accesses, rejects, unanswered, total, max]
}

fn add_counts(sum: &mut [u64; 8], more: [u64; 8]) {
    let [.., greatest] = *sum;
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    sum[7] = greatest.max(more[7]);
}

#[test]
fn services_of_intervals_add_up_to_connections_and_network() {
    for report in [1_000, 300] {
        let measure = Duration::from_secs(1);
        let spans = plain(Duration::from_millis(report));
        let items = recorded("mms.pcapng", measure, spans, 20);
        let (mut parts, mut wholes) = (BTreeMap::new(), BTreeMap::new());
        let (mut network, mut interval) = (BTreeMap::new(), None);
        let mut seen = 0;
        for item in &items {
            match item {
                Item::Interval(next) => interval = Some(&**next),
                Item::ServicesInterval(of) => {
                    let interval = interval.unwrap();
                    assert_eq!(
                        (of.index, of.start),
                        (interval.report.index, interval.report.start)
                    );
                    for service in &of.services {
                        let counts = counts_of(service);
                        if interval.is_over {
                            let key = (of.serial, service.server, service.service);
                            add_counts(parts.entry(key).or_default(), counts);
                        }
                        let key = (seen_at(interval), service.service);
                        add_counts(network.entry(key).or_default(), counts);
                        seen += 1;
                    }
                    assert!(of.most_outstanding >= of.outstanding, "{of:?}");
                }
                Item::Connection(known) => {
                    for service in known.association.iter().flat_map(|it| &it.services) {
                        let key = (known.serial, service.server, service.service);
                        wholes.insert(key, counts_of(service));
                    }
                }
                _ => {}
            }
        }
        assert!(seen > 20 && wholes.len() == 3, "{seen} {wholes:?}");
        assert_eq!(parts, wholes);
        // The busiest 20 are all connections, so each interval adds up to that of the network.
        for item in &items {
            let Item::Interval(interval) = item else { continue };
            for (service, counts) in interval.report.measures.mms.services() {
                let found = network.remove(&(seen_at(interval), service)).unwrap_or_default();
                let of = &counts.responses;
                let all = [counts.requests, of.count, counts.errors, counts.failed_accesses];
                let ends = [counts.rejects, counts.unanswered, of.total_ns, of.max_ns];
                assert_eq!(found, *[all, ends].as_flattened(), "{}", service.name());
            }
        }
        network.retain(|_, counts| *counts != [0; 8]);
        assert_eq!(network, BTreeMap::new());
    }
}

/// Start and length of an interval, or of its part up to a report.
fn seen_at(interval: &item::Interval) -> (Instant, Duration) {
    (interval.report.start, interval.report.length)
}

#[test]
fn a_request_stays_outstanding_in_intervals_without_an_answer() {
    let end = |host: u8, port: u16| (host, port);
    let (near, far) = (end(1, 1_025), end(2, 102));
    let cr = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0];
    let cc = [3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0];
    // DT, give tokens and DT of session, presentation data in context 3.
    let dt = |pdu: &[u8]| {
        let length = |more: usize| (pdu.len() + more) as u8;
        let tpkt = [3, 0, 0, length(20), 2, 0xF0, 0x80, 1, 0, 1, 0];
        let head = [0x61, length(7), 0x30, length(5), 2, 1, 3, 0xA0, length(0)];
        [&tpkt[..], &head, pdu].concat()
    };
    let mms = |invoke: u8, kind: u8| dt(&[kind, 5, 2, 1, invoke, 0x82, 0]);
    // Information report of the list RPT, without values.
    let report = dt(&[0xA3, 11, 0xA0, 9, 0xA1, 5, 0x80, 3, b'R', b'P', b'T', 0xA0, 0]);
    let frames = [
        (0, segment([near, far], 0x18, [1_000, 5_000], &cr)),
        (1, segment([far, near], 0x18, [5_000, 1_011], &cc)),
        (2, segment([near, far], 0x18, [1_011, 5_011], &mms(1, 0xA0))),
        (5, segment([far, near], 0x18, [5_011, 1_038], &mms(1, 0xA1))),
        (6, segment([near, far], 0x18, [1_038, 5_038], &mms(2, 0xA0))),
        (1_500, segment([far, near], 0x18, [5_038, 1_065], &report)),
        (2_500, segment([far, near], 0x18, [5_071, 1_065], &mms(2, 0xA1))),
    ];
    let items = items_of(&frames);
    let told = items.iter().filter_map(|item| match item {
        Item::ServicesInterval(of) => {
            let [identify] = &of.services[..] else { panic!("{of:?}") };
            let [requests, answers, .., total, _] = counts_of(identify);
            Some([requests, answers, identify.outstanding, of.most_outstanding, total / 1_000_000])
        }
        _ => None,
    });
    // Three milliseconds, no event, and 2,494 ms.
    assert_eq!(told.collect::<Vec<_>>(), [[2, 1, 1, 1, 3], [0, 0, 1, 1, 0], [0, 1, 0, 1, 2_494]]);
    // So far, in intervals that changed them, and as a whole: the report comes in the second.
    let mut changed: Vec<Vec<&str>> = Vec::new();
    for item in &items {
        match item {
            Item::Interval(_) | Item::Total(_) => changed.push(Vec::new()),
            Item::Services(_) => changed.last_mut().unwrap().push("services"),
            Item::ControlBlocks(_) => changed.last_mut().unwrap().push("blocks"),
            _ => {}
        }
    }
    assert_eq!(
        changed,
        [vec!["services"], vec!["blocks"], vec!["services"], vec!["services", "blocks"]]
    );
}

#[test]
fn no_report_is_kept_of_a_connection_that_the_meter_evicted() {
    let interval = Duration::from_secs(1);
    let silence = Duration::from_secs(2);
    let settings = Settings { silence, ..Settings::every(interval) };
    let mut recorder = Recorder::new(settings, plain(interval), Details { top: 5 });
    let cr = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0];
    let mut kept = Vec::new();
    // Each connection is silent for longer than two seconds once the next begins.
    for nth in 0..4_u8 {
        let octets = segment([(1, 1_025 + u16::from(nth)), (2, 102)], 0x18, [1_000, 5_000], &cr);
        let at = Instant::from_nanos(u64::from(nth) * 4_000_000_000);
        recorder.observe(at, Link::Ethernet, &octets, octets.len());
        recorder.advance(Instant::from_nanos(at.as_nanos() + 1_500_000_000));
        kept.push(recorder.baseline.reported());
    }
    assert_eq!(kept, [[1], [2], [3], [4]]);
}
