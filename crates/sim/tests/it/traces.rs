//! Traces of media: collisions, backoffs, holds, opportunities and ports, against arithmetic and the media's counters.

use crate::talker::{Talker, When};
use crate::timelines;
use core::time::Duration;
use sim::medium::csma_cd::{self, CsmaCd};
use sim::medium::plca::{self, Plca};
use sim::medium::switched::{self, Link, Switched};
use sim::medium::token_bus::{self, Maintenance, TokenBus};
use sim::medium::token_ring::{self, TokenRing};
use sim::medium::trace::{Activity, Kind, MOST_ACTIVITIES, Neighbour, Port, Trace};
use sim::medium::{Medium, Passage};
use sim::world::World;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Activity in short: its station, and its start and end in nanoseconds.
type Short = (usize, u64, u64);

/// Medium after a run, with its trace.
struct Traced<M> {
    world: World<M, Talker>,
    activities: Vec<Activity>,
    cut_at: Option<Instant>,
    passages: Vec<Passage>,
}

impl<M: Medium> Traced<M> {
    /// Activities of the kinds for which `is_wanted` returns true.
    fn all(&self, is_wanted: impl Fn(&Kind) -> bool) -> Vec<Short> {
        let wanted = self.activities.iter().filter(|it| is_wanted(&it.kind));
        wanted.map(|it| (it.station, it.begin.as_nanos(), it.end.as_nanos())).collect()
    }

    fn count(&self, name: &str) -> u64 {
        counts(self.world.medium())[name]
    }
}

fn counts<M: Medium>(medium: &M) -> std::collections::BTreeMap<String, u64> {
    let mut counts = std::collections::BTreeMap::new();
    medium.counts(&mut |name, count| {
        counts.insert(name.to_owned(), count);
    });
    counts
}

/// Runs stations until `end`, with a trace of the window.
fn traced<M: Medium>(
    medium: M,
    stations: Vec<Talker>,
    end: u64,
    window: Option<(u64, u64)>,
) -> Traced<M> {
    let mut world = World::new(medium, stations).expect("one place per station");
    if let Some((from, until)) = window {
        let trace = Trace::new(Instant::from_nanos(from), Instant::from_nanos(until));
        assert!(world.begin_trace(trace), "the medium keeps traces");
    }
    let (mut activities, mut passages) = (Vec::new(), Vec::new());
    let mut is_over = false;
    while !is_over {
        let tap = |passage: &Passage| passages.push(passage.clone());
        is_over = world.run_some(Instant::from_nanos(end), 1_000, tap).expect("time advances");
        activities.extend(world.take_activities());
    }
    let trace = world.end_trace();
    let mut trace = trace.unwrap_or_else(|| Trace::new(Instant::ZERO, Instant::ZERO));
    activities.extend(trace.take());
    Traced { world, activities, cut_at: trace.cut_at(), passages }
}

fn poisson(stations: u32, mean: Duration) -> Vec<Talker> {
    (0..stations).map(|station| Talker::poisson(station, 200, mean, 0x5EED_0057)).collect()
}

const MILLIS: u64 = 1_000_000;
const ALL: Option<(u64, u64)> = Some((0, u64::MAX));

fn bus_of_contention(stations: usize) -> CsmaCd {
    CsmaCd::new(csma_cd::Params::spread(stations, 500.0, 0x5EED_0057)).expect("the bus is allowed")
}

fn token_bus(stations: usize) -> TokenBus {
    let params = token_bus::Params {
        station_delay: Duration::ZERO,
        ..token_bus::Params::carrierband(BitRate::mbps(10), stations, 0.0)
    };
    TokenBus::new(params).expect("the bus is allowed")
}

fn ring(stations: usize) -> TokenRing {
    let params = token_ring::Params::ieee_802_5(BitRate::mbps(4), stations, 100.0);
    TokenRing::new(params).expect("the ring is allowed")
}

fn segment(stations: usize) -> Plca {
    Plca::new(plca::Params::spread(stations, 0.0)).expect("the segment is allowed")
}

fn network(stations: usize) -> Switched {
    let link = Link { rate: BitRate::mbps(10), metres: 100.0 };
    Switched::new(switched::Params::star(stations, link)).expect("the network is allowed")
}

const fn is_frame(kind: &Kind) -> bool {
    matches!(kind, Kind::Frame { .. })
}

#[test]
fn fragments_and_backoffs_of_a_collision_have_its_times() {
    // Worked out in `timelines::two_stations_within_a_propagation_delay_collide`: A jams until 10.2,
    // B until 11.6; B detects the collision first, at 5 us.
    let seed = timelines::seed_with(&[&[0], &[1]]);
    let bus = CsmaCd::new(timelines::params(&[0.0, 1_000.0], seed)).expect("the bus is allowed");
    let stations = vec![Talker::scripted(0, &[0]), Talker::scripted(1, &[2_000])];
    let found = traced(bus, stations, MILLIS, ALL);
    let collisions = found.all(|kind| *kind == Kind::Collision);
    assert_eq!(collisions, [(1, 5_000, 5_000)]);
    let fragments = found.all(|kind| matches!(kind, Kind::Fragment(_)));
    assert_eq!(fragments, [(0, 0, 10_200), (1, 2_000, 11_600)]);
    let backoffs = found.all(|kind| matches!(kind, Kind::Backoff { .. }));
    assert_eq!(backoffs, [(0, 10_200, 10_200), (1, 11_600, 62_800)]);
    // Frames have the times at their station, and not those at the observer.
    assert_eq!(found.all(is_frame), [(0, 26_200, 83_800), (1, 98_400, 156_000)]);
}

#[test]
fn collisions_and_frames_in_a_trace_are_those_that_are_counted() {
    let found =
        traced(bus_of_contention(10), poisson(10, Duration::from_millis(3)), 500 * MILLIS, ALL);
    let statistics = *found.world.medium().statistics();
    assert!(statistics.collisions > 100, "{}", statistics.collisions);
    let of = |is_wanted: fn(&Kind) -> bool| found.all(is_wanted).len() as u64;
    assert_eq!(of(|kind| *kind == Kind::Collision), statistics.collisions);
    assert_eq!(of(|kind| matches!(kind, Kind::Fragment(_))), statistics.fragments);
    assert_eq!(of(is_frame), statistics.sent);
    assert_eq!(found.passages.len() as u64, statistics.sent);
}

/// Checks that each activity begins where the one before ends.
#[track_caller]
fn check_partition(mut activities: Vec<Short>, least: usize) {
    activities.sort_by_key(|(_, begin, end)| (*begin, *end));
    assert!(activities.len() > least, "{}", activities.len());
    for pair in activities.windows(2) {
        assert_eq!(pair[0].2, pair[1].1, "{pair:?}");
    }
}

#[test]
fn holds_and_passes_of_a_token_bus_make_up_all_time() {
    // Without cable and delays, a station has the token as soon as it is sent.
    let end = 200 * MILLIS;
    let found = traced(token_bus(5), poisson(5, Duration::from_millis(3)), end, ALL);
    let holds = found.all(|kind| *kind == Kind::Hold);
    assert_eq!(holds.len() as u64, found.count("medium.tokens-used"));
    let passes = found.all(|kind| *kind == Kind::Token);
    assert!(passes.iter().all(|(_, begin, end)| end - begin == 17_600), "22 octets of 800 ns");
    let rest =
        |activities: &[Short]| activities.iter().map(|(_, begin, end)| end - begin).sum::<u64>();
    let sum = rest(&holds) + rest(&passes);
    assert!(sum.abs_diff(end) < 400_000, "{sum}: the last hold or pass is not over");
    check_partition([holds, passes].concat(), 1_000);
}

#[test]
fn frames_of_a_token_bus_are_sent_within_holds() {
    let found = traced(token_bus(5), poisson(5, Duration::from_millis(3)), 200 * MILLIS, ALL);
    let holds = found.all(|kind| *kind == Kind::Hold);
    let frames = found.all(is_frame);
    let is_held = |frame: &Short| {
        holds.iter().any(|hold| hold.0 == frame.0 && hold.1 <= frame.1 && frame.2 <= hold.2)
    };
    let open = frames.iter().filter(|frame| !is_held(frame)).count();
    assert!(frames.len() > 200 && open <= 3, "{open}: those of the last hold, which is not over");
}

#[test]
fn holds_with_maintenance_of_the_ring_do_not_overlap() {
    let maintenance =
        Maintenance { tokens_between_windows: 4, target_rotation_time: Duration::from_millis(100) };
    let params = token_bus::Params {
        maintenance: Some(maintenance),
        ..token_bus::Params::carrierband(BitRate::mbps(10), 4, 200.0)
    };
    let bus = TokenBus::new(params).expect("the bus is allowed");
    let found = traced(bus, poisson(4, Duration::from_millis(3)), 50 * MILLIS, ALL);
    let of_token = |kind: &Kind| matches!(kind, Kind::Hold | Kind::Token);
    let mut turns = found.all(of_token);
    turns.sort_by_key(|(_, begin, end)| (*begin, *end));
    assert!(found.all(|kind| *kind == Kind::Hold).len() > 30 && turns.len() > 500);
    assert!(turns.windows(2).all(|pair| pair[0].2 <= pair[1].1));
}

#[test]
fn holds_of_a_token_ring_add_up_to_the_time_counted() {
    let found = traced(ring(6), poisson(6, Duration::from_millis(4)), 300 * MILLIS, ALL);
    let holds = found.all(|kind| *kind == Kind::Hold);
    assert!(holds.len() > 300 && holds.windows(2).all(|pair| pair[0].2 <= pair[1].1));
    let sum: u64 = holds.iter().map(|(_, begin, end)| end - begin).sum();
    let counted = found.count("medium.held-ns");
    // Starts and ends are whole nanoseconds.
    assert!(sum.abs_diff(counted) <= holds.len() as u64, "{sum} and {counted}");
    let tokens = found.all(|kind| *kind == Kind::Token);
    let released =
        holds.iter().zip(&tokens).all(|(hold, token)| hold.0 == token.0 && hold.2 == token.1);
    assert!(released && holds.len() == tokens.len(), "each hold ends with a token of its station");
    assert_eq!(found.all(is_frame).len(), found.passages.len());
}

#[test]
fn opportunities_and_beacons_of_a_segment_make_up_all_time() {
    let found = traced(segment(4), poisson(4, Duration::from_millis(2)), 20 * MILLIS, ALL);
    let used = found.all(|kind| *kind == Kind::Opportunity { is_used: true });
    assert!(used.len().abs_diff(found.count("medium.opportunities-used") as usize) <= 1);
    let unused = found.all(|kind| *kind == Kind::Opportunity { is_used: false });
    assert!(unused.iter().all(|(_, begin, end)| end - begin == 3_200));
    let beacons = found.all(|kind| *kind == Kind::Beacon);
    assert!(beacons.len() as u64 >= found.count("medium.cycles"));
    check_partition([used, unused, beacons].concat(), 3_000);
    assert_eq!(found.cut_at, None);
}

#[test]
fn a_frame_keeps_its_number_at_each_port_that_it_leaves_by() {
    // As in `switched::a_switch_takes_a_frame_in_whole_and_sends_it_on`, without a delay in the switch.
    let times = |at: u64| When::At([Instant::from_nanos(at)].into());
    let stations = vec![
        Talker::new(0, Mac::local(1), 60, times(1_000)),
        Talker::new(1, Mac::local(0), 60, When::Never),
    ];
    let found = traced(network(2), stations, MILLIS, ALL);
    let [own, port] = found.activities.as_slice() else { panic!("{:?}", found.activities) };
    assert_eq!((own.port, own.begin.as_nanos(), own.end.as_nanos()), (None, 1_000, 58_600));
    let to = Port { switch: 0, to: Neighbour::Station(1) };
    assert_eq!((port.port, port.station), (Some(to), 0));
    assert_eq!((port.begin.as_nanos(), port.end.as_nanos()), (59_100, 116_700));
    assert_eq!(own.kind, port.kind, "frame and number");
}

/// Checks that a run with a trace has the passages and counters of one without.
#[track_caller]
fn check_same<M: Medium>(medium: impl Fn() -> M, stations: u32) {
    let run = |window| {
        let talkers = poisson(stations, Duration::from_millis(2));
        traced(medium(), talkers, 100 * MILLIS, window)
    };
    let (with, without) = (run(Some((10 * MILLIS, 60 * MILLIS))), run(None));
    assert!(!with.activities.is_empty() && without.activities.is_empty());
    assert!(with.passages == without.passages && without.passages.len() > 50);
    let [one, other] = [&with, &without].map(|it| counts(it.world.medium()));
    for (name, count) in one {
        assert_eq!(count, other[&name], "{name}");
    }
    let again = run(Some((10 * MILLIS, 60 * MILLIS)));
    assert_eq!(with.activities, again.activities);
}

#[test]
fn a_trace_changes_no_medium() {
    check_same(|| bus_of_contention(6), 6);
    check_same(|| token_bus(6), 6);
    check_same(|| ring(6), 6);
    check_same(|| segment(6), 6);
    check_same(|| network(6), 6);
}

#[test]
fn a_trace_has_what_lies_in_its_window() {
    let window = Some((10 * MILLIS, 12 * MILLIS));
    for found in [
        traced(token_bus(3), poisson(4, Duration::from_secs(9))[..3].to_vec(), 50 * MILLIS, window)
            .activities,
        traced(segment(3), poisson(4, Duration::from_secs(9))[..3].to_vec(), 50 * MILLIS, window)
            .activities,
    ] {
        let [first, .., last] = found.as_slice() else { panic!("{found:?}") };
        let within = 10 * MILLIS - 20_000..=12 * MILLIS;
        assert!(within.contains(&first.begin.as_nanos()), "{first:?}");
        assert!(within.contains(&last.begin.as_nanos()), "{last:?}");
        assert!(found.len() > 100, "{}", found.len());
    }
}

#[test]
fn a_trace_that_is_full_has_all_that_began_before_its_end() {
    let found = traced(segment(4), poisson(4, Duration::from_millis(2)), 300 * MILLIS, ALL);
    let cut_at = found.cut_at.expect("300 ms have some 70,000 opportunities").as_nanos();
    let turns = found.all(|kind| !is_frame(kind));
    assert_eq!(turns.len(), MOST_ACTIVITIES);
    check_partition(turns.into_iter().filter(|(_, begin, _)| *begin < cut_at).collect(), 9_000);
}
