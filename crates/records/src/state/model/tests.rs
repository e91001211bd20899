use super::*;
use crate::Place;
use meter::registry::{SizeBound, SizeCount};

/// Returns a model of one complete interval of a second with these measures and oddities.
pub(crate) fn fed(
    measures: &[(&'static str, u64)],
    oddities: &[(&'static str, u64)],
    dropped_by_kernel: Option<u64>,
    frames: u64,
) -> Model {
    let named = |values: &[(&'static str, u64)]| {
        Named(values.iter().map(|(name, value)| ((*name).into(), *value)).collect())
    };
    let mut model = Model::new(head(None));
    model.take(Record::Interval(Interval {
        index: Some(0),
        intervals: 1,
        start_ns: 0,
        length_ns: 1_000_000_000,
        complete: true,
        frames,
        dropped_by_kernel,
        collection: None,
        stamps: None,
        measures: Counts::named(measures).unwrap(),
        metrics: Named::default(),
        oddities: named(oddities),
        histograms: None,
    }));
    model
}

fn head(sample_ns: Option<u64>) -> Head {
    Head {
        schema: crate::SCHEMA.to_owned(),
        source: "a.pcap".to_owned(),
        files: Some(vec!["a.pcap".to_owned()]),
        measure_ns: 1_000_000_000,
        report_ns: 1_000_000_000,
        sample_ns,
        channel_bits_per_second: 10_000_000,
        bounds_octets: vec![64, 128],
        top: 5,
        only: None,
        expect: None,
    }
}

fn interval(index: u64, complete: bool, dts: u64) -> Record {
    Record::Interval(Interval {
        index: Some(index),
        intervals: 1,
        start_ns: index * 1_000,
        length_ns: if complete { 1_000 } else { 500 },
        complete,
        frames: dts,
        dropped_by_kernel: None,
        collection: None,
        stamps: None,
        measures: Counts::named(&[("dt_tpdus", dts)]).unwrap(),
        metrics: Named::default(),
        oddities: Named::default(),
        histograms: None,
    })
}

fn connection(id: u32, dts: u64, state: &str) -> Record {
    let text = format!(
        r#"{{"type":"connection-interval","index":0,"id":{id},"ends":["a","b"],
        "references":[1,2],"class":4,"user":"unknown","confidence":"none","state":"{state}",
        "ending":null,"opening_ns":null,"established_ns":1,"closing_ns":null,"closed_ns":null,
        "last_ns":5,"directions":[{{"dt_tpdus":{dts}}},{{}}]}}"#
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn reports_replace_each_other_and_intervals_add_up() {
    let mut model = Model::new(head(None));
    for (index, complete, dts) in [(0, false, 3), (0, true, 7), (1, false, 2), (1, false, 4)] {
        model.take(interval(index, complete, dts));
        model.take(connection(1, dts, "established"));
    }
    assert_eq!(model.measures().count(Measure::DtTpdus), 11);
    assert_eq!(model.connections[&1].both(Measure::DtTpdus), 11);
    assert_eq!((model.frames(), model.until_ns()), (11, 1_500));
    model.take(interval(1, true, 5));
    model.take(connection(1, 5, "established"));
    assert_eq!(model.measures().count(Measure::DtTpdus), 12);
    assert_eq!(model.connections[&1].both(Measure::DtTpdus), 12);
}

fn host(name: &str, dts: u64) -> Record {
    let text = format!(
        r#"{{"type":"host-interval","index":0,"host":"{name}","hosts":1,"sent":{{"dt_tpdus":{dts}}},
        "received":{{}},"metrics":{{}}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn hosts_of_a_report_count_until_the_next_one() {
    let mut model = Model::new(head(None));
    let sent = |model: &Model| -> Vec<(String, u64)> {
        let hosts = model.hosts();
        hosts
            .map(|(host, [sent, _])| (host.unwrap().to_owned(), sent.count(Measure::DtTpdus)))
            .collect()
    };
    let mut take = |index, complete, hosts: &[(&str, u64)]| {
        model.take(interval(index, complete, 1));
        hosts.iter().for_each(|(name, dts)| model.take(host(name, *dts)));
        sent(&model)
    };
    let named = |hosts: &[(&str, u64)]| -> Vec<(String, u64)> {
        hosts.iter().map(|(name, dts)| ((*name).to_owned(), *dts)).collect()
    };
    assert_eq!(take(0, false, &[("a", 3), ("b", 1)]), named(&[("a", 3), ("b", 1)]));
    assert_eq!(take(0, false, &[("a", 5)]), named(&[("a", 5)]), "b is among the rest");
    assert_eq!(take(0, true, &[("a", 7)]), named(&[("a", 7)]), "nothing counts twice");
    assert_eq!(take(1, false, &[("a", 2)]), named(&[("a", 9)]));
    assert_eq!(take(1, false, &[]), named(&[("a", 7)]));
    assert_eq!(take(1, true, &[("a", 4), ("c", 1)]), named(&[("a", 11), ("c", 1)]));
}

#[test]
fn memory_is_bounded_whatever_is_told() {
    let mut model = Model::new(head(None));
    for id in 0..10_000 {
        model.take(interval(u64::from(id), true, 1));
        model.take(connection(id, u64::from(id) % 100, "established"));
    }
    assert!(model.connections.len() < 2 * CONNECTIONS);
    assert_eq!(model.connections.len() as u64 + model.gone, 10_000);
    assert!(model.course.moments().len() <= 600 && model.told().count() <= 512);
    // The busiest stay.
    assert!(model.connections.values().filter(|known| known.tpdus() == 99).count() >= 90);
}

#[test]
fn each_state_of_a_connection_gives_one_event() {
    let mut model = Model::new(head(None));
    for index in 0..3 {
        model.take(interval(index, true, 1));
        model.take(connection(1, 1, "established"));
    }
    let told: Vec<&str> = model.told().map(|event| event.text.as_str()).collect();
    assert_eq!(told, ["a>b found under way"]);
}

/// Returns a report of a connection with a window that has been closed since this time, or is open.
fn windowed(closed_since_ns: Option<u64>) -> Record {
    windowed_until(closed_since_ns, None)
}

/// As [`windowed`], for a connection that begins to end at `closing_ns`.
fn windowed_until(closed_since_ns: Option<u64>, closing_ns: Option<u64>) -> Record {
    let closing = closing_ns.map_or_else(|| "null".to_owned(), |at| at.to_string());
    let since = closed_since_ns
        .map_or_else(String::new, |since| format!(r#","window_closed_since_ns":{since}"#));
    let text = format!(
        r#"{{"type":"connection-interval","index":0,"id":1,"ends":["a","b"],
        "references":[1,2],"class":4,"user":"unknown","confidence":"none","state":"established",
        "ending":null,"opening_ns":null,"established_ns":1,"closing_ns":{closing},"closed_ns":null,
        "last_ns":5,"directions":[{{"dt_tpdus":1{since}}},{{}}]}}"#
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_window_gives_one_event_on_closing_and_one_on_opening() {
    let mut model = Model::new(head(None));
    let reports = [(false, Some(7)), (false, Some(7)), (true, Some(7)), (false, Some(7))];
    for (complete, since) in reports.into_iter().chain([(false, None), (true, None)]) {
        model.take(interval(0, complete, 1));
        model.take(windowed(since));
    }
    let told: Vec<&str> = model.told().map(|event| event.text.as_str()).collect();
    assert_eq!(
        told,
        ["a>b found under way", "b gives a no credit", "b gives a credit after <493 ns"]
    );
}

#[test]
fn a_window_reopened_and_closed_between_reports_is_a_new_event() {
    let mut model = Model::new(head(None));
    for since in [Some(7), Some(207), None] {
        model.take(interval(0, false, 1));
        model.take(windowed(since));
    }
    let told: Vec<&str> = model.told().map(|event| event.text.as_str()).collect();
    let [first, again] = ["b gives a no credit"; 2];
    assert_eq!(told, ["a>b found under way", first, again, "b gives a credit after <293 ns"]);
}

#[test]
fn the_end_of_a_connection_opens_no_window() {
    let mut model = Model::new(head(None));
    for (since, closing) in [(Some(7), None), (None, Some(400))] {
        model.take(interval(0, false, 1));
        model.take(windowed_until(since, closing));
    }
    let told: Vec<&str> = model.told().map(|event| event.text.as_str()).collect();
    assert_eq!(told, ["a>b found under way", "b gives a no credit", "a>b ended"]);
}

#[test]
fn a_capture_of_headers_is_no_event() {
    let model = fed(&[("tpdus", 9)], &[("truncated: user data", 9)], None, 9);
    assert_eq!(model.told().count(), 0);
    let model = fed(&[("tpdus", 9)], &[("truncated: TPDU header", 9)], None, 9);
    let told: Vec<&str> = model.told().map(|event| event.text.as_str()).collect();
    assert_eq!(told, ["9 x truncated: TPDU header"]);
}

#[test]
fn a_sample_of_many_connections_evicts_down_to_the_limit() {
    let mut model = Model::new(head(Some(1)));
    for first in [0, 100_000] {
        let place = |id| Place {
            id,
            sent: [None; 2],
            acknowledged: [None; 2],
            allowed: [None; 2],
            window_closed: [false; 2],
        };
        model.take(Record::Sample(Sample {
            start_ns: 0,
            length_ns: 1,
            frames: 0,
            octets: 0,
            connections: (first..first + 50_000).map(place).collect(),
        }));
        assert!(model.connections.len() < 2 * CONNECTIONS, "{}", model.connections.len());
    }
    assert_eq!(model.gone + model.connections.len() as u64, 100_000);
}

#[test]
fn names_without_end_do_not_fill_memory() {
    let mut sum = Named::default();
    for first in (0..10_000).step_by(1_000) {
        let names = (first..first + 1_000).map(|name: u32| (name.to_string().into(), u64::MAX));
        sum.add(&Named(names.collect()));
    }
    assert!(sum.0.len() < 5_000, "{} names", sum.0.len());
    let mut sum = Counts::default();
    for bound in 0..10_000 {
        let class = Measure::OfSize(SizeCount::Tpdus, SizeBound::To(bound));
        sum.add(&Counts(vec![(class, u64::MAX), (Measure::Tpdus, u64::MAX)]));
    }
    assert!(sum.0.len() < 5_000, "{} classes", sum.0.len());
}

#[test]
fn a_past_interval_has_its_own_services_and_the_last_all() {
    let service = |requests: u64| {
        format!(
            r#"[{{"service":"read","server":"b","requests":{requests},"answers":0,"errors":0,
            "failed_accesses":0,"rejects":0,"unanswered":0,"outstanding":0,"response_total_ns":0,
            "response_min_ns":0,"response_p50_ns":0,"response_p99_ns":0,"response_max_ns":0,
            "failures":{{}}}}]"#
        )
    };
    let (all, own) = (service(9), service(2));
    let so_far = format!(
        r#"{{"type":"services","id":1,"ends":["a","b"],"user":"MMS","state":"open",
        "inferred":false,"set_up_ns":5,"cause":null,"outstanding":1,"most_outstanding":7,"odd":0,
        "dropped":0,"services":{all}}}"#
    );
    let of_interval = format!(
        r#"{{"type":"services-interval","index":0,"id":1,"ends":["a","b"],"outstanding":1,
        "most_outstanding":3,"services":{own}}}"#
    );
    let mut model = Model::new(head(None));
    model.take(interval(0, true, 7));
    model.take(connection(1, 7, "established"));
    for text in [&so_far, &of_interval] {
        model.take(serde_json::from_str(text).unwrap());
    }
    // Services without a change come once.
    model.take(interval(1, true, 7));
    model.take(connection(1, 7, "established"));
    // Behind the connection as a whole come its services as a whole, which are of no interval.
    let whole = serde_json::to_string(&connection(1, 7, "closed")).unwrap();
    let whole = whole.replace("connection-interval", "connection");
    for text in [&whole, &so_far] {
        model.take(serde_json::from_str(text).unwrap());
    }
    let found = |model: &Model| {
        let association = &model.associations[&1];
        let requests: Vec<u64> = association.services.iter().map(|it| it.requests).collect();
        (requests, association.most_outstanding, association.set_up_ns)
    };
    assert_eq!(found(&model), (vec![9], 7, Some(5)));
    let past = [0, 1].map(|place| found(&model.past(place).unwrap()));
    assert_eq!(past, [(vec![2], 3, Some(5)), (vec![], 0, Some(5))]);
}

/// Returns the course of two intervals of 5 s, each with 50 TPDUs, of which frames were heard until this time.
fn course_until(heard_ns: u64) -> Vec<(u64, f64)> {
    const SECOND: u64 = 1_000_000_000;
    let mut model = Model::new(head(None));
    for index in [0, 1] {
        let Record::Interval(of) = interval(index, true, 0) else { unreachable!() };
        let measures = Counts::named(&[("tpdus", 50)]).unwrap();
        let (start_ns, length_ns) = (index * 5 * SECOND, 5 * SECOND);
        model.take(Record::Interval(Interval { start_ns, length_ns, measures, ..of }));
    }
    let end = r#"{"type":"end","complete":true,"frames":9,"oddities":{},"dropped_by_kernel":null,"error":null}"#;
    let Record::End(end) = serde_json::from_str(end).unwrap() else { unreachable!() };
    model.take(Record::End(End { heard_until_ns: Some(heard_ns), ..end }));
    let moments = model.course.moments().iter();
    moments.map(|it| (it.until_ns / (SECOND / 10), it.tpdus_per_second)).collect()
}

#[test]
fn the_course_ends_with_the_last_frame() {
    const SECOND: u64 = 1_000_000_000;
    // 50 TPDUs in 5 s; in the second interval within 2.5 s.
    assert_eq!(course_until(7_500_000_000), [(50, 10.0), (75, 20.0)]);
    assert_eq!(course_until(10 * SECOND), [(50, 10.0), (100, 10.0)]);
    // A tenth of the interval is the least time of a rate.
    assert_eq!(course_until(5 * SECOND + 100_000_000), [(50, 10.0), (51, 100.0)]);
}
