//! Samples checked against manual arithmetic.

use super::*;
use meter::Settings;
use records::{Details, Item, Recorder, Spans};
use wire::dissect::Link;

const A: u8 = 1;
const B: u8 = 2;

/// Returns a frame of `octets` octets in a protocol that the meter does not decode.
fn frame(from: u8, to: u8, octets: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0];
    frame.resize(octets, 0);
    frame
}

fn millis(millis: u64) -> Instant {
    Instant::from_nanos(1_000_000 * millis)
}

fn every(millis: u64) -> Interval {
    Interval::new(Duration::from_millis(millis)).unwrap()
}

fn gather(interval: u64) -> Gather {
    Gather::new("a.pcap".to_owned(), every(interval), Filter::all())
}

fn captured(at: u64, octets: &[u8]) -> Frame<'_> {
    let (at, link, original_octets) = (millis(at), Link::Ethernet, octets.len());
    Frame { at, link, octets, original_octets, interface: 0 }
}

fn pass(gather: &mut Gather, at: u64, octets: &[u8]) {
    gather.observe(&captured(at, octets), &Remarks::default());
}

fn hear(gather: &mut Gather, at: u64, octets: usize) {
    pass(gather, at, &frame(A, B, octets));
}

/// Returns a meter that reports each second.
fn recorder() -> Recorder {
    let second = Duration::from_secs(1);
    let spans = Spans { report: second, sample: None, intervals: None };
    Recorder::new(Settings::every(second), spans, Details { top: 0 })
}

fn all(gather: &Gather) -> Snapshot {
    gather.snapshot(Window { samples: 2_000, until: None })
}

fn packets(gather: &Gather) -> Vec<u64> {
    all(gather).samples.iter().map(|sample| sample.packets).collect()
}

#[test]
fn frames_count_in_the_sample_of_their_own_time() {
    let mut gather = gather(100);
    // Time begins with the first frame, at 5,003 ms: samples end at 5,103, 5,203, ...
    for (at, octets) in [(5_003, 100), (5_102, 60), (5_103, 1_000), (5_310, 60)] {
        hear(&mut gather, at, octets);
    }
    let seen = all(&gather);
    assert_eq!(packets(&gather), [2, 1, 0]);
    assert_eq!(seen.samples[0].octets, 160);
    assert_eq!((seen.end, seen.first, seen.frames), (3, 0, 4));
    // The newest whole sample is silent. 1,160 octets in 300 ms; the busiest 100 ms had 1,000.
    assert_eq!(seen.current, Rates::default());
    assert!((seen.average.bits - 1_160.0 * 8.0 / 0.3).abs() < 1e-6);
    assert_eq!(seen.peak, Rates { packets: 20.0, bits: 80_000.0 });
    gather.finish();
    assert_eq!(packets(&gather), [2, 1, 0, 1]);
}

#[test]
fn a_frame_that_the_ring_held_back_is_no_step_back_in_time() {
    let (mut gather, mut recorder) = (gather(100), recorder());
    let observe = |recorder: &mut Recorder, at| {
        let octets = frame(A, B, 60);
        recorder.observe(millis(at), Link::Ethernet, &octets, octets.len());
    };
    observe(&mut recorder, 1_000);
    // The ring delivers a block after 32 ms, or at most two such times; the port was silent until
    // then.
    recorder.advance(millis(2_000).saturating_sub(crate::listener::LAG));
    observe(&mut recorder, 2_000 - 64);
    recorder.advance(millis(4_000));
    while let Some(item) = recorder.take() {
        if let Item::Interval(interval) = item {
            gather.report(&interval.report);
        }
    }
    let notices: Vec<String> = gather.notices.since(0).map(|notice| notice.text.clone()).collect();
    assert!(!notices.is_empty());
    assert!(notices.iter().all(|text| !text.contains("time ran backwards")), "{notices:?}");
}

#[test]
fn a_late_frame_counts_as_of_now_and_nothing_is_lost() {
    let mut gather = gather(10);
    for at in [0, 25, 9, 26] {
        hear(&mut gather, at, 60);
    }
    gather.finish();
    assert_eq!(packets(&gather), [1, 0, 3]);
}

#[test]
fn silence_makes_samples_too() {
    let mut gather = gather(500);
    gather.begin(millis(0));
    gather.advance(millis(1_700));
    assert_eq!(packets(&gather), [0, 0, 0]);
    hear(&mut gather, 1_700, 60);
    // Fifty years.
    gather.advance(millis(50 * 365 * 86_400_000));
    let seen = all(&gather);
    assert_eq!(seen.end, 50 * 365 * 86_400 * 2);
    assert_eq!(seen.end - seen.oldest, KEPT_SAMPLES as u64);
    assert!((seen.average.packets - 1.0 / (50.0 * 365.0 * 86_400.0)).abs() < 1e-15);
    assert_eq!(seen.peak.packets, 2.0);
}

#[test]
fn a_new_interval_rebuilds_samples_from_earlier_ticks() {
    let mut gather = gather(100);
    // A frame each 50 ms for 10 s, and 30 ms more.
    (0..200).for_each(|n| hear(&mut gather, 50 * n, 100));
    gather.advance(millis(10_030));
    assert_eq!(packets(&gather), [2; 100]);
    gather.set_interval(every(1_000));
    assert_eq!(packets(&gather), [20; 10]);
    let seen = all(&gather);
    assert_eq!((seen.average.packets, seen.peak.packets), (20.0, 20.0));
    gather.set_interval(every(10));
    assert_eq!(packets(&gather)[..6], [1, 0, 0, 0, 0, 1]);
    assert_eq!(all(&gather).end, 1_003);
    // The current sample is rebuilt as well: 30 ms of 3 s.
    gather.set_interval(every(3_000));
    hear(&mut gather, 11_999, 100);
    gather.advance(millis(12_000));
    assert_eq!(packets(&gather), [60, 60, 60, 21]);
}

#[test]
fn history_is_bounded_and_new_intervals_reach_back_to_all_ticks() {
    let mut gather = gather(10);
    let ticks = 70_000;
    (0..ticks).for_each(|tick| hear(&mut gather, 10 * tick, 60));
    gather.advance(millis(10 * ticks));
    assert_eq!(all(&gather).oldest, ticks - KEPT_SAMPLES as u64);
    gather.set_interval(every(60_000));
    // 700 s are 11 whole minutes; of the first 100 s nothing is kept, so minutes 0 and 1 are lost.
    let seen = all(&gather);
    assert_eq!((seen.oldest, seen.end), (2, 11));
    assert_eq!(packets(&gather), [6_000; 9]);
}

#[test]
fn only_frames_that_match_are_counted() {
    let mut gather = gather(100);
    pass(&mut gather, 0, &frame(A, B, 60));
    gather.set_filter("from 02:00:00:00:00:02".parse().unwrap());
    pass(&mut gather, 110, &frame(A, B, 60));
    pass(&mut gather, 111, &frame(B, A, 90));
    pass(&mut gather, 112, &frame(B, 3, 90));
    gather.set_filter("from 02:00:00:00:00:02 to 02:00:00:00:00:01".parse().unwrap());
    pass(&mut gather, 210, &frame(B, A, 90));
    pass(&mut gather, 211, &frame(B, 3, 90));
    gather.finish();
    // Samples of other filters are gone.
    let seen = all(&gather);
    assert_eq!((seen.first, seen.end), (1, 3));
    assert_eq!(packets(&gather), [0, 1]);
    assert_eq!(seen.frames, 6);
}

#[test]
fn a_restart_leaves_the_sample_under_way_out() {
    let mut gather = gather(100);
    (0..10).for_each(|n| hear(&mut gather, n, 60));
    hear(&mut gather, 150, 60);
    gather.restart();
    gather.advance(millis(200));
    assert_eq!(all(&gather).peak, Rates::default());
    hear(&mut gather, 250, 60);
    gather.advance(millis(400));
    // One frame in 200 ms.
    let seen = all(&gather);
    assert_eq!((seen.average.packets, seen.peak.packets), (5.0, 10.0));
}

#[test]
fn a_look_back_shows_the_samples_up_to_its_end() {
    let mut gather = gather(100);
    for second in 0..20 {
        (0..=second).for_each(|_| hear(&mut gather, 100 * second, 60));
    }
    let look = |samples, until: u64| {
        let until = until * 100;
        let window = Window { samples, until: Some(Duration::from_millis(until)) };
        let seen = gather.snapshot(window);
        (seen.first, seen.samples.iter().map(|sample| sample.packets).collect::<Vec<_>>())
    };
    assert_eq!(look(3, 10), (7, vec![8, 9, 10]));
    assert_eq!(look(3, 2), (0, vec![1, 2]));
    assert_eq!(look(3, 1_000), (16, vec![17, 18, 19]));
    assert_eq!(look(3, 0), (0, vec![]));
}

#[test]
fn percentiles_of_a_window_are_those_of_the_meter() {
    let mut gather = gather(100);
    // 1 to 200 ms, in any order, half of them in each of two samples.
    let spans = (0..200_u64).map(|n| Duration::from_millis(1 + n * 77 % 200));
    gather.delays = spans.clone().zip(0..).map(|(span, n)| (n / 10, span)).collect();
    let mut expected = Distribution::default();
    spans.clone().for_each(|span| expected.record(span));
    assert_eq!(gather.delays(0, 2), expected.summary());
    // A class is at most 1/128 wide.
    assert!((198_000_000..199_600_000).contains(&expected.summary().p99_ns));
    let mut first = Distribution::default();
    spans.take(100).for_each(|span| first.record(span));
    assert_eq!(gather.delays(0, 1), first.summary());
    assert_eq!(gather.delays(2, 3), Delays::default());
}

/// Returns an LLC UI frame with the inactive network layer between two stations.
fn of_transport(from: u8, to: u8, tpdu: &[u8]) -> Vec<u8> {
    let mut octets = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from];
    octets.extend(u16::try_from(4 + tpdu.len()).unwrap().to_be_bytes());
    octets.extend([0xFE, 0xFE, 0x03, 0x00]);
    octets.extend(tpdu);
    octets
}

/// Returns the delays under a filter of a DT from A at 10 ms, which B acknowledges at 25 ms.
fn delays(filter: &str) -> (u64, u64) {
    let mut gather = Gather::new("a.pcap".to_owned(), every(100), filter.parse().unwrap());
    let (mut recorder, mut remarks) = (recorder(), Remarks::default());
    // The CC is of class 4, from B, whose reference is 0x0b0b, to the reference 0x0a0a of A.
    for (at, octets) in [
        (0, of_transport(B, A, &[6, 0xD0, 0x0A, 0x0A, 0x0B, 0x0B, 0x40])),
        (10, of_transport(A, B, &[4, 0xF0, 0x0B, 0x0B, 0x80, 0x55])),
        (25, of_transport(B, A, &[4, 0x6F, 0x0A, 0x0A, 1])),
    ] {
        let length = octets.len();
        recorder.observe_remarking(millis(at), Link::Ethernet, &octets, length, &mut remarks);
        gather.observe(&captured(at, &octets), &remarks);
    }
    gather.finish();
    let Delays { count, max_ns, .. } = gather.delays(0, 1);
    (count, max_ns)
}

#[test]
fn a_delay_counts_if_the_filter_accepts_the_stations_of_its_dt() {
    let found = (1, 15_000_000);
    assert_eq!(delays("all"), found);
    assert_eq!(delays("from 02:00:00:00:00:01"), found);
    assert_eq!(delays("to 02:00:00:00:00:02"), found);
    assert_eq!(delays("from 02:00:00:00:00:02"), (0, 0));
}

#[test]
fn kept_delays_are_bounded() {
    let mut gather = gather(100);
    let ak = of_transport(B, A, &[4, 0x6F, 0x0A, 0x0A, 1]);
    let span = Observation::Span(DelayKind::Acknowledgement, Duration::from_millis(1));
    let observations = vec![span; KEPT_DELAYS + 10];
    gather.observe(&captured(0, &ak), &Remarks { observations, ..Remarks::default() });
    assert_eq!(gather.delays.len(), KEPT_DELAYS);
    // The summary has them all.
    assert_eq!(gather.all_delays().count, KEPT_DELAYS as u64 + 10);
}
