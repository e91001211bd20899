use super::*;

const MS: u64 = 1_000_000;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * MS)
}

fn watched(deadline: Option<u64>, is_answered: bool) -> Watched {
    Watched {
        has_stamps: true,
        is_timed_by_sender: false,
        id: FlowId(1),
        name: "status".to_owned(),
        is_answered,
        is_acknowledged: false,
        is_limited: true,
        deadline: deadline.map(Duration::from_millis),
    }
}

fn collector(watched: Watched, cut: Cut) -> Collector {
    Collector::new(vec![watched], cut, at(1_000), Clocks::Shared)
}

fn feed(collector: &mut Collector, millis: u64, event: Event) {
    collector.record(&Record { at: at(millis), flow: FlowId(1), event });
}

fn sent(sequence: u32, planned: u64) -> Event {
    Event::Sent { sequence, planned: at(planned) }
}

fn delivered(sequence: u32, planned: u64, sent: u64) -> Event {
    Event::Delivered { sequence, planned: at(planned), sent: Some(at(sent)), octets: 100 }
}

fn answered(sequence: u32, planned: u64) -> Event {
    Event::Answered { sequence, planned: at(planned), sent: Some(at(planned)), octets: 50 }
}

fn only(collector: Collector) -> FlowSample {
    let mut flows = collector.finish();
    assert_eq!(flows.len(), 1);
    flows.remove(0)
}

#[test]
fn five_messages_by_hand() {
    // Due at 0, 20, 40, 60, 80 ms, deadline 10 ms. 0: on time after 4 ms, and a duplicate. 1: sent
    // 6 ms late, 15 ms old on arrival: late. 2: overtaken by 3, 30 ms old: late. 3: 5 ms. 4: never.
    let mut collector = collector(watched(Some(10), false), Cut::At(at(0)));
    feed(&mut collector, 0, Event::Opened { took: Duration::from_millis(3) });
    for (millis, event) in [
        (0, sent(0, 0)),
        (4, delivered(0, 0, 0)),
        (5, delivered(0, 0, 0)),
        (26, sent(1, 20)),
        (35, delivered(1, 20, 26)),
        (40, sent(2, 40)),
        (60, sent(3, 60)),
        (65, delivered(3, 60, 60)),
        (70, delivered(2, 40, 40)),
        (80, sent(4, 80)),
        (81, Event::NotTaken { sequence: 5, planned: at(81) }),
        (90, Event::Damaged { reason: "content differs" }),
        (95, Event::Done),
    ] {
        feed(&mut collector, millis, event);
    }
    assert!(collector.is_over());
    let flow = only(collector);
    assert_eq!((flow.sent, flow.not_taken, flow.judged()), (5, 1, 6));
    assert_eq!((flow.delivered, flow.lost, flow.duplicated), (4, 1, 1));
    assert_eq!((flow.out_of_order, flow.damaged), (1, 1));
    // Late 1 and 2, lost 4, not accepted 5.
    assert_eq!((flow.deadline_ns, flow.missed), (Some(10 * MS), Some(4)));
    // (4 + 15 + 30 + 5) / 4 = 13.5 ms from due; from sent (4 + 9 + 30 + 5) / 4 = 12 ms.
    assert_eq!(flow.delay.mean_ns, Some(13.5e6));
    assert_eq!(flow.delay_from_sent.mean_ns, Some(12e6));
    assert_eq!((flow.delay.min_ns, flow.delay.max_ns), (Some(4 * MS), Some(30 * MS)));
    // 400 octets from 0 to 70 ms.
    assert_eq!(flow.delivered_octets, 400);
    assert!((flow.throughput_bits_per_second.unwrap() - 3_200.0 / 0.07).abs() < 1e-6);
    assert_eq!((flow.setup_ns, flow.done, flow.end), (Some(3 * MS), true, None));
}

#[test]
fn answers_are_judged_where_there_are_answers() {
    // Requests at 0, 50, 100; answers after 8, after 30 (late) and never; each request arrived.
    let mut collector = collector(watched(Some(25), true), Cut::At(at(0)));
    for (sequence, due) in [(0, 0), (1, 50), (2, 100)] {
        feed(&mut collector, due, sent(sequence, due));
        feed(&mut collector, due + 26, delivered(sequence, due, due));
    }
    feed(&mut collector, 8, answered(0, 0));
    feed(&mut collector, 80, answered(1, 50));
    feed(&mut collector, 81, answered(1, 50));
    let flow = only(collector);
    assert_eq!((flow.delivered, flow.answered, flow.lost), (3, 2, 0));
    // One late answer and one that never came; the requests' own 26 ms do not count.
    assert_eq!(flow.missed, Some(2));
    assert_eq!((flow.response.count, flow.response.mean_ns), (2, Some(19e6)));
}

#[test]
fn messages_due_outside_the_measured_time_do_not_count() {
    let mut collector = collector(watched(None, false), Cut::At(at(100)));
    for due in [99, 100, 999, 1_000] {
        feed(&mut collector, due, sent(due as u32, due));
        feed(&mut collector, due + 500, delivered(due as u32, due, due));
    }
    let flow = only(collector);
    assert_eq!((flow.sent, flow.delivered, flow.missed), (2, 2, None));
    assert_eq!(flow.measured_from_ns, 100 * MS);
}

#[test]
fn mser_5_cuts_the_warm_up_of_each_flow() {
    // 100 messages 5 ms apart: the first 20 take 4 ms, the others 1 ms.
    let mut collector = collector(watched(None, false), Cut::Mser5(at(0)));
    for sequence in 0..100 {
        let due = u64::from(sequence) * 5;
        feed(&mut collector, due, sent(sequence, due));
        let took = if sequence < 20 { 4 } else { 1 };
        feed(&mut collector, due + took, delivered(sequence, due, due));
    }
    let flow = only(collector);
    // Message 19 was due at 95 ms; from the nanosecond after that on, 80 are left.
    assert_eq!((flow.measured_from_ns, flow.warmup_too_short), (95 * MS + 1, false));
    assert_eq!((flow.sent, flow.delivered), (80, 80));
    assert_eq!(flow.delay.max_ns, Some(MS));
}

#[test]
fn a_run_too_short_for_mser_5_is_kept_whole_and_marked() {
    let mut collector = collector(watched(None, false), Cut::Mser5(at(0)));
    feed(&mut collector, 0, sent(0, 0));
    feed(&mut collector, 1, delivered(0, 0, 0));
    let flow = only(collector);
    assert_eq!((flow.warmup_too_short, flow.sent, flow.delivered), (true, 1, 1));
}

#[test]
fn ends_with_separate_clocks_yield_no_delay() {
    let flows = vec![watched(Some(10), false)];
    let mut collector = Collector::new(flows, Cut::At(at(0)), at(1_000), Clocks::Separate);
    feed(&mut collector, 0, sent(0, 0));
    feed(&mut collector, 500, delivered(0, 0, 0));
    let flow = only(collector);
    assert_eq!((flow.delivered, flow.delay.count, flow.missed), (1, 0, None));
    assert_eq!(flow.throughput_bits_per_second, None);
}

#[test]
fn the_sender_of_a_file_times_its_arrival_by_its_own_clock() {
    let flows = vec![Watched { is_timed_by_sender: true, ..watched(Some(10), false) }];
    let mut collector = Collector::new(flows, Cut::At(at(0)), at(1_000), Clocks::Separate);
    feed(&mut collector, 0, sent(0, 0));
    feed(&mut collector, 500, delivered(0, 0, 0));
    let flow = only(collector);
    assert_eq!((flow.delay.count, flow.delay.mean_ns, flow.missed), (1, Some(5e8), Some(1)));
}

#[test]
fn an_unplanned_end_takes_precedence() {
    let mut collector = collector(watched(None, false), Cut::At(at(0)));
    feed(&mut collector, 1, Event::Ended { reason: "released", orderly: true });
    feed(&mut collector, 2, Event::Ended { reason: "peer silent", orderly: false });
    feed(&mut collector, 3, Event::Ended { reason: "released", orderly: true });
    assert!(collector.is_over());
    let end = only(collector).end;
    assert_eq!(end, Some(Ending { reason: "peer silent".to_owned(), orderly: false }));
}

#[test]
fn records_of_unwatched_flows_are_counted_separately() {
    let mut collector = collector(watched(None, false), Cut::At(at(0)));
    collector.record(&Record { at: at(1), flow: FlowId(9), event: Event::Done });
    assert_eq!(collector.strangers(), 1);
    assert!(!collector.is_over());
}

#[test]
fn arrivals_are_distinguished_over_a_million_messages() {
    let mut arrivals = Arrivals::default();
    assert!((0..3_000_000).all(|sequence| arrivals.take(sequence)));
    assert!(!arrivals.take(2_999_999));
    assert!(!arrivals.take(2_000_000), "within the window");
    assert!(!arrivals.take(5), "older than the window: counted as a duplicate");
    assert_eq!((arrivals.count, arrivals.out_of_order), (3_000_000, 0));
    assert!(arrivals.bits.len() <= 1 << 14);
    // A jump far ahead drops only the messages before the window.
    assert!(arrivals.take(u32::MAX));
    assert!(arrivals.take(u32::MAX - 64 * (WORDS as u32 - 1)));
    assert_eq!(arrivals.out_of_order, 1);
    let mut late = Arrivals::default();
    assert!(late.take(100) && late.take(3) && late.take(99) && !late.take(3));
}

#[test]
fn a_flow_is_settled_when_all_that_counts_has_arrived() {
    let mut collector = collector(watched(None, true), Cut::Mser5(at(0)));
    feed(&mut collector, 999, sent(0, 999));
    feed(&mut collector, 1_000, sent(1, 1_000));
    assert!(!collector.is_settled(), "the warm-up is unknown");
    collector.end_warmup();
    assert!(!collector.is_settled(), "message 0 is under way");
    feed(&mut collector, 1_003, delivered(0, 999, 999));
    assert!(!collector.is_settled(), "its answer is under way");
    feed(&mut collector, 1_004, answered(0, 999));
    assert!(collector.is_settled());
}

#[test]
fn an_acknowledged_message_that_is_lost_is_counted() {
    // Six messages: 0 arrives and is acknowledged, 1 arrives and its acknowledgement is lost, 2 is
    // lost and reported so, 3 is lost and acknowledged; 64 and 200,000 are like 3 and 0.
    let watched = Watched { is_acknowledged: true, ..watched(None, false) };
    let mut collector = collector(watched, Cut::At(at(0)));
    for sequence in [0, 1, 2, 3, 64, 200_000] {
        feed(&mut collector, 0, sent(sequence, 0));
    }
    for sequence in [0, 1, 200_000] {
        feed(&mut collector, 1, delivered(sequence, 0, 0));
    }
    for sequence in [0, 3, 64, 200_000] {
        feed(&mut collector, 2, Event::Acknowledged { sequence, planned: at(0) });
    }
    for sequence in [1, 2] {
        let reason = "no acknowledgement";
        feed(&mut collector, 3, Event::Failed { sequence, planned: at(0), reason });
    }
    let flow = only(collector);
    assert_eq!((flow.sent, flow.delivered, flow.lost), (6, 3, 3));
    assert_eq!((flow.acknowledged, flow.failed, flow.acknowledged_and_lost), (4, 2, 2));
}
