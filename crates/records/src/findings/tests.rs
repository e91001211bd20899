use super::*;
use crate::state::model::tests::fed;
use meter::registry;

#[test]
fn losses_of_the_capture_come_before_its_findings() {
    let model = fed(&[("dt_tpdus", 1_000), ("dt_retransmissions", 5)], &[], Some(3), 97);
    let found = findings(&model);
    let told: Vec<(Grade, &str)> =
        found.iter().map(|finding| (finding.grade, finding.text.as_str())).collect();
    assert_eq!(
        told,
        [
            (Grade::Bad, "3 frames were dropped, 3.0 %: every count is too low"),
            (Grade::Look, "5 of 1000 DTs were retransmitted, 0.50 %"),
        ]
    );
}

#[test]
fn cut_user_data_is_a_note_and_cut_headers_are_worth_a_look() {
    let odd = [("truncated: TPDU header", 3), ("truncated: user data", 97)];
    let found = findings(&fed(&[("tpdus", 100)], &odd, None, 100));
    let told: Vec<(Grade, &str)> =
        found.iter().map(|finding| (finding.grade, finding.text.as_str())).collect();
    assert_eq!(
        told,
        [
            (Grade::Look, "3 frames were captured in part, too little to count"),
            (Grade::Note, "user data was not captured in 97 frames: no checksums there"),
        ]
    );
}

#[test]
fn commands_name_the_port_or_the_files() {
    let command = |files: Option<&[&str]>, topic| {
        let mut head = fed(&[], &[], None, 0).head;
        head.source = "eth0".to_owned();
        head.files = files.map(|files| files.iter().map(|&name| name.to_owned()).collect());
        Source(&head).command(topic)
    };
    let screen = "--screen measures";
    assert_eq!(command(None, Topic::Capture), format!("tidewire watch -i eth0 {screen}"));
    let two = Some(&["a.pcap", "b c.pcap"][..]);
    let events = "tidewire watch -r a.pcap 'b c.pcap' --events events.ndjson";
    assert_eq!(command(two, Topic::Connections), events);
    assert_eq!(command(two, Topic::Capture), "tidewire dissect -r a.pcap");
    assert_eq!(command(Some(&["-x"]), Topic::Capture), "tidewire dissect -r ./-x");
}

#[test]
fn one_in_a_hundred_is_bad() {
    check(&[("dt_tpdus", 100), ("dt_retransmissions", 1)], Grade::Bad, "1 of 100 DTs");
    check(&[("dt_tpdus", 101), ("dt_retransmissions", 1)], Grade::Look, "1 of 101 DTs");
    let refusals = [("connection_attempts", 4), ("connection_refusals", 1)];
    check(&refusals, Grade::Bad, "1 of 4 connections was refused");
    check(&[("connection_ends", 9), ("connection_abrupt_ends", 1)], Grade::Look, "1 of 9");
    check(&[("tcp_segments", 50), ("tcp_copies", 20)], Grade::Note, "20 packets came twice");
}

#[track_caller]
fn check(measures: &[(&'static str, u64)], grade: Grade, text: &str) {
    let found = findings(&fed(measures, &[], None, 1_000));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].grade, grade, "{found:?}");
    assert!(found[0].text.starts_with(text), "{found:?}");
}

#[test]
fn answers_without_a_request_are_graded_by_their_share() {
    for (odd, answers, grade) in [(9, 0, Grade::Bad), (1, 99, Grade::Bad), (1, 100, Grade::Look)] {
        let odd = [("association: MMS answer without a request", odd)];
        let found = findings(&fed(&[("mms_responses", answers)], &odd, None, 1_000));
        let [finding] = &found[..] else { panic!("{found:?}") };
        let have = if odd[0].1 == 1 { "has" } else { "have" };
        let text = format!("{} of {} MMS answers {have} no request", odd[0].1, answers + odd[0].1);
        assert!(finding.text.starts_with(&text) && finding.grade == grade, "{finding:?}");
    }
}

#[test]
fn a_window_still_closed_is_a_share_of_its_connections_lifetime() {
    let mut model = fed(&[("dt_tpdus", 10)], &[], None, 10);
    // Closed for 3 of 4 s; the last TPDU came after 1 s.
    let text = r#"{"type":"connection","id":1,"ends":["a","b"],"references":[1,2],"class":4,
        "user":"unknown","confidence":"none","state":"established","ending":null,
        "opening_ns":null,"established_ns":0,"closing_ns":null,"closed_ns":null,
        "last_ns":1000000000,"until_ns":4000000000,"directions":[{"closed_windows":1,
        "closed_window_ns":3000000000,"window_closed_since_ns":1000000000},{}]}"#;
    model.take(serde_json::from_str(text).unwrap());
    let found = findings(&model);
    let text = "windows were closed once, 1 still closed: receivers stall senders";
    assert_eq!(found[0].text, text);
    assert_eq!(found[0].detail.as_deref(), Some("a>b: 3.00 s closed, 75 % of its life"));
}

#[test]
fn captures_in_the_wrong_order_are_reported() {
    let found = findings(&fed(&[("tpdus", 9)], &[("time: frame before the origin", 5)], None, 95));
    assert_eq!(found[0].text, "5 frames are earlier than the first: are captures in order?");
    assert_eq!(found[0].grade, Grade::Bad);
}

#[test]
fn gaps_in_tcp_are_reported() {
    let odd = [("transport: TPKT stream lost its step", 4)];
    let found = findings(&fed(&[("tpdus", 90), ("tcp_segments", 100)], &odd, None, 100));
    let text = "TPKTs were lost track of 4 times: TCP octets are missing or no TPKTs";
    assert_eq!((found[0].grade, found[0].text.as_str()), (Grade::Bad, text));
}

#[test]
fn frames_of_which_none_is_metered_are_not_called_right() {
    let found = findings(&fed(&[("tpdus", 0)], &[("foreign: TCP", 9)], None, 10));
    assert_eq!(found[0].text, "none of 10 frames holds a TPDU: is this the right tap?");
    assert_eq!(
        (found[0].grade, found[0].detail.as_deref()),
        (Grade::Bad, Some("9 x foreign: TCP"))
    );
    assert_eq!(findings(&fed(&[("tpdus", 0)], &[], None, 0)), []);
}

#[test]
fn nothing_wrong_is_no_finding() {
    assert_eq!(findings(&fed(&[("dt_tpdus", 100)], &[], Some(0), 100)), []);
}

#[test]
fn silences_and_missing_frames_of_streams_are_found() {
    let of = |appid: u16, silences, missing, gap| {
        let json = format!(
            r#"{{"type":"cyclic-stream","protocol":"GOOSE","source":"02:00:00:00:00:0{appid}",
            "destination":"01:0c:cd:01:00:00","identifier":{appid},"name":"IED{appid}/LLN0$GO$gcb",
            "priority":4,"vlan":0,"frames":100,"samples":100,"longest_octets":150,"copies":0,
            "missing":{missing},"out_of_order":0,"repeated":0,"backwards":0,"restarts":0,
            "state_changes":9,"missed_states":{silences},"gaps":99,"gap_total_ns":1000000000,
            "gap_min_ns":1,"gap_max_ns":{gap},"silences":{silences},"worst_gap_ns":{gap},
            "worst_allowed_ns":20000000,"worst_at_ns":5,"allowed_ns":20000000,"first_ns":0,
            "last_ns":1000000000,"silent_at_end":{is_silent},"state":9,"invalid":0,"simulated":0,
            "needs_commissioning":0,"unsynchronised":0,"revision":1,"revisions_changed":0}}"#,
            is_silent = appid == 1
        );
        serde_json::from_str::<Record>(&json).unwrap()
    };
    let mut model = fed(&[("tpdus", 0)], &[("foreign: GOOSE", 200)], None, 200);
    model.take(of(1, 0, 0, 10_000_000));
    model.take(of(2, 1, 2, 25_000_000));
    let end = || {
        let json = r#"{"type":"end","complete":true,"frames":200,"oddities":{},
            "dropped_by_kernel":null,"error":null}"#;
        serde_json::from_str::<Record>(json).unwrap()
    };
    model.take(end());
    let found = findings(&model);
    let told = |text: &str| {
        let finding = found.iter().find(|finding| finding.text.starts_with(text));
        let finding = finding.unwrap_or_else(|| panic!("{text}: {found:?}"));
        (finding.grade, finding.detail.clone().unwrap_or_default())
    };
    let worst = "02:00:00:00:00:02 IED2/LLN0$GO$gcb: 25.0 ms of 20.0 ms allowed";
    let silence = told("1 of 198 gaps was longer than allowed");
    assert_eq!(silence, (Grade::Bad, worst.to_owned()));
    let silent = "02:00:00:00:00:01 IED1/LLN0$GO$gcb: 20.0 ms allowed";
    assert_eq!(told("1 of 2 streams fell silent"), (Grade::Bad, silent.to_owned()));
    assert_eq!(told("1 of 19 changes of state was not seen").0, Grade::Bad);
    let missing = "02:00:00:00:00:02 IED2/LLN0$GO$gcb: 2 of them";
    assert_eq!(told("2 of 202 cyclic frames are missing"), (Grade::Look, missing.to_owned()));
    assert!(!found.iter().any(|finding| finding.text.contains("is this the right tap")));
    // Sums cover the streams that are not kept.
    (3..300).for_each(|appid| model.take(of(appid, 1, 0, 21_000_000)));
    model.take(end());
    let text = "298 of 29601 gaps were longer than allowed";
    assert!(
        findings(&model)
            .iter()
            .any(|it| it.text.starts_with(text) && it.detail.as_deref() == Some(worst))
    );
}

#[test]
fn findings_need_no_measure_that_is_not_kept() {
    let head = fed(&[], &[], None, 0).head;
    let of = |values: registry::Values, first: u64| {
        let values = values.into_iter().zip(first..);
        serde_json::to_string(&Counts(values.map(|((it, _), value)| (it, value)).collect()))
            .unwrap()
    };
    let all = of(registry::of_network(&meter::measure::Measures::default()), 1_000);
    let mut records = vec![format!(
        r#"{{"type":"total","intervals":1,"start_ns":0,"length_ns":9,"measures":{all},"metrics":{{}}}}"#
    )];
    for (id, ending) in [(1, "null"), (2, r#""abrupt""#), (3, r#""erroneous""#)] {
        let mut sent = of(registry::of_direction(&meter::Direction::default()), 100 * id);
        sent.truncate(sent.len() - 1);
        sent.push_str(r#","window_closed_since_ns":7}"#);
        records.push(format!(
            r#"{{"type":"connection","id":{id},"ends":["a","b{id}"],"references":[1,2],"class":4,
            "user":"unknown","confidence":"none","state":"established","ending":{ending},
            "opening_ns":null,"established_ns":0,"closing_ns":null,"closed_ns":null,
            "last_ns":9000,"directions":[{sent},{sent}]}}"#
        ));
    }
    for (host, first) in [("a", 100), ("b", 200)] {
        let sent = of(registry::of_host(&meter::Host::default()), first);
        records.push(format!(
            r#"{{"type":"host","host":"{host}","sent":{sent},"received":{sent},"metrics":{{}}}}"#
        ));
    }
    let (mut kept, mut whole) = (Findings::new(&head), Model::new(head));
    for record in &records {
        let record: Record = serde_json::from_str(record).unwrap();
        kept.take(record.clone());
        whole.take(record);
    }
    let weights = |model: &Model| -> Vec<_> {
        model.connections.values().map(|known| (known.weight(), known.closed_since())).collect()
    };
    assert_eq!(weights(&kept.model), weights(&whole));
    let (kept, whole) = (findings(&kept.model), findings(&whole));
    assert_eq!(kept, whole);
    // Windows, DTs beyond the credit, ambiguous replies, retransmitted DTs and CRs, refusals and two kinds of ends.
    let evidence = whole.iter().filter(|finding| finding.connection.is_some()).count();
    assert!(evidence >= 6, "{whole:?}");
    let slowest = whole.iter().find(|finding| finding.text.starts_with("b replies slowest"));
    assert!(slowest.is_some_and(|it| it.detail.is_some()), "{whole:?}");
}
