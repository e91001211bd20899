//! 10BASE-T1S with PLCA to the bit: timelines worked out by hand, exact cycles, the bound on
//! access.
//!
//! A bit lasts 100 ns, a beacon 2 us, an unused opportunity 3.2 us, a frame of 60 octets 576 bits,
//! 57.6 us, and a gap 9.6 us. With three stations an idle cycle is 20 + 3 x 32 = 116 bits, 11.6 us:
//! the first opportunities begin at 2, 5.2 and 8.4 us.

use crate::talker::{Talker, When};
use core::time::Duration;
use sim::medium::csma_cd::{self, CsmaCd};
use sim::medium::plca::{Invalid, Params, Plca};
use sim::medium::{Medium, Passage};
use sim::world::World;
use stats::rng::Stream;
use wire::addr::Mac;
use wire::time::Instant;

/// Frame as seen by the observer: its source, and the times of its first and last bit, in
/// nanoseconds.
type Heard = (usize, u64, u64);

fn run_on<M: Medium>(
    medium: M,
    stations: Vec<Talker>,
    end_nanos: u64,
) -> (World<M, Talker>, Vec<Heard>) {
    let mut world = World::new(medium, stations).expect("one place per station");
    let mut heard = Vec::new();
    let note = |p: &Passage| heard.push((p.source, p.started.as_nanos(), p.at.as_nanos()));
    world.run(Instant::from_nanos(end_nanos), note).expect("time advances");
    (world, heard)
}

fn run(params: Params, stations: Vec<Talker>, end_nanos: u64) -> (World<Plca, Talker>, Vec<Heard>) {
    run_on(Plca::new(params).expect("the segment is allowed"), stations, end_nanos)
}

/// Stations that send frames of 60 octets at these times, in nanoseconds.
fn scripted(offers: &[&[u64]]) -> Vec<Talker> {
    offers.iter().zip(0..).map(|(at, station)| Talker::scripted(station, at)).collect()
}

/// Checks the frames observed of three stations on no cable.
#[track_caller]
fn check(params: &Params, offers: &[&[u64]], expected: &[Heard]) {
    let (_, heard) = run(params.clone(), scripted(offers), 1_000_000);
    assert_eq!(heard, expected);
}

#[test]
fn a_frame_waits_for_its_stations_opportunity() {
    let params = Params::spread(3, 0.0);
    check(&params, &[&[], &[1_000], &[]], &[(1, 5_200, 62_800)]);
    check(&params, &[&[], &[5_200], &[]], &[(1, 5_200, 62_800)]);
    // Offered just after the opportunity was yielded: the next cycle, 5.2 + 11.6.
    check(&params, &[&[], &[5_201], &[]], &[(1, 16_800, 74_400)]);
    // During the beacon, from 11.6 to 13.6, and between the opportunities of nodes 1 and 2.
    check(&params, &[&[12_000], &[], &[]], &[(0, 13_600, 71_200)]);
    check(&params, &[&[], &[], &[6_000]], &[(2, 8_400, 66_000)]);
    // While node 1 sends, to 62.8 and a gap to 72.4: then comes node 2's opportunity, a beacon at
    // 75.6, node 0's at 77.6, and node 1 has already used its own: 77.6 + 57.6 + 9.6 = 144.8.
    let expected = [(1, 5_200, 62_800), (0, 77_600, 135_200), (1, 144_800, 202_400)];
    check(&params, &[&[20_000], &[1_000, 1_000], &[]], &expected);
}

#[test]
fn a_burst_goes_on_while_the_burst_timer_runs() {
    // Node 1's first frame ends at 62.8; the gap ends at 72.4 and the burst timer at 75.6.
    let params = Params { maximum_burst: 1, ..Params::spread(3, 0.0) };
    let first = (1, 5_200, 62_800);
    check(&params, &[&[], &[1_000, 1_000], &[]], &[first, (1, 72_400, 130_000)]);
    check(&params, &[&[], &[1_000, 65_000], &[]], &[first, (1, 72_400, 130_000)]);
    check(&params, &[&[], &[1_000, 74_000], &[]], &[first, (1, 74_000, 131_600)]);
    // Too late: node 2 at 75.6, the beacon at 78.8, node 0 at 80.8 and node 1 at 84.
    check(&params, &[&[], &[1_000, 75_600], &[]], &[first, (1, 84_000, 141_600)]);
    // No further frame while it holds: node 2 begins at 75.6 and not, as without bursts, at 72.4.
    check(&params, &[&[], &[1_000], &[30_000]], &[first, (2, 75_600, 133_200)]);
    // Two and no more: after the second, 130 + 9.6 = 139.6, node 2, and 144.8 node 0.
    let expected = [first, (1, 72_400, 130_000), (1, 148_000, 205_600)];
    check(&params, &[&[], &[1_000, 1_000, 1_000], &[]], &expected);
}

#[test]
fn a_frame_arrives_after_its_propagation_delay() {
    // 25 m at 5 ns a metre: stations at 0, 62.5 (rounded to 63) and 125 ns. The observer sits at 0
    // m.
    let (world, heard) = run(Params::spread(3, 25.0), scripted(&[&[], &[], &[0]]), 1_000_000);
    assert_eq!(heard, [(2, 8_525, 66_125)]);
    let arrivals = |station: usize| world.stations()[station].arrivals.clone();
    assert_eq!(arrivals(0), [Instant::from_nanos(66_125)]);
    assert_eq!(arrivals(1), [Instant::from_nanos(66_000 + 62)]);
}

#[test]
fn an_idle_cycle_is_a_beacon_and_an_opportunity_for_each_node() {
    // 20 + 8 x 32 = 276 bits, 27.6 us. Node 3 begins at 11.6 us + 27.6 us m. The first such time
    // from 1 s on has m = 36,232: 11.6 + 1,000,003.2 us. The run ends while the frame is being
    // sent.
    let mut stations = vec![Talker::scripted(3, &[1_000_000_000])];
    stations.splice(0..0, (0..3).map(|n| Talker::scripted(n, &[])));
    let params = Params { node_count: 8, ..Params::spread(4, 0.0) };
    assert_eq!(params.idle_cycle(), Duration::from_nanos(27_600));
    let (world, _) = run(params.clone(), stations.clone(), 1_000_050_000);
    let statistics = world.medium().statistics();
    assert_eq!((statistics.longest_cycle, statistics.cycles), (params.idle_cycle(), 36_232));
    let (_, heard) = run(params, stations, 1_001_000_000);
    assert_eq!(heard, [(3, 1_000_014_800, 1_000_072_400)]);
}

#[test]
fn opportunities_are_exact_after_an_idle_hour() {
    // Node 1 begins at 5.2 + 11.6 m us. The first such time from 3,600 s on has m = 310,344,828:
    // 5.2 + 3,600,000,004.8 us.
    let hour = 3_600_000_000_000;
    let (_, heard) = run(Params::spread(3, 0.0), scripted(&[&[], &[hour], &[]]), hour + 1_000_000);
    assert_eq!(heard, [(1, hour + 10_000, hour + 67_600)]);
}

#[test]
fn a_saturated_cycle_is_a_beacon_and_a_burst_for_each_node() {
    // 20 + N (b + 1) (8 (8 + L + 4) + 96) bits of 100 ns.
    for stations in [2, 8, 40_u32] {
        for octets in [60, 256, 1_514_usize] {
            for burst in [0, 3_u64] {
                let frames = stations as usize * (burst as usize + 1);
                let cycle = 100 * (20 + frames as u64 * (8 * (octets as u64 + 12) + 96));
                let params =
                    Params { maximum_burst: burst, ..Params::spread(stations as usize, 0.0) };
                let talker = |n| Talker::new(n, Mac::local(n ^ 1), octets, When::Always);
                let (world, heard) =
                    run(params, (0..stations).map(talker).collect(), 4 * cycle + 5_000);
                for turn in 0..4 {
                    let (source, begun, _) = heard[turn * frames];
                    let expected = (0, 2_000 + turn as u64 * cycle);
                    assert_eq!((source, begun), expected, "{stations} {octets} {burst}");
                }
                let longest = world.medium().statistics().longest_cycle;
                assert_eq!(longest, Duration::from_nanos(cycle));
            }
        }
    }
}

/// Random segment with its stations, and the longest frame in octets.
fn random_segment(random: &mut Stream) -> (Params, Vec<Talker>, usize) {
    let stations = 2 + random.below(11) as u32;
    let params = Params {
        node_count: u64::from(stations) + random.below(4),
        opportunity_bits: 16 + random.below(112),
        maximum_burst: random.below(3),
        burst_bits: 96 + random.below(100),
        ..Params::spread(stations as usize, 25.0)
    };
    let most = 60 + random.below(1_455) as usize;
    let (varied, busy, seed) = (random.chance(0.5), random.chance(0.5), random.u64());
    let mut talkers = Vec::new();
    for n in 0..stations {
        let octets = if varied { 60 + random.below(most as u64 - 59) as usize } else { most };
        let mean = Duration::from_micros(100 + random.below(20_000));
        talkers.push(if busy || random.chance(0.3) {
            Talker::new(n, Mac::local(n + 1), octets, When::Always)
        } else {
            Talker::poisson(n, octets, mean, seed)
        });
    }
    (params, talkers, most)
}

#[test]
fn no_frame_at_the_head_of_its_queue_exceeds_the_bound() {
    const SEED: u64 = 0x5EED_0148;
    println!("seed {SEED:#x}");
    let mut random = Stream::named(SEED, "bound");
    let mut closest = 0.0_f64;
    for _ in 0..1_000 {
        let (params, talkers, most) = random_segment(&mut random);
        let bound = params.longest_access(most);
        let (world, heard) = run(params, talkers, 40_000_000);
        let longest = world.medium().statistics().longest_access;
        assert!(longest <= bound, "{longest:?} is beyond {bound:?}");
        assert!(heard.windows(2).all(|pair| pair[1].1 > pair[0].2), "two frames at a time");
        closest = closest.max(longest.as_secs_f64() / bound.as_secs_f64());
    }
    println!("seen: the longest access on 1,000 segments with PLCA is {closest:.4} of its bound");
    assert!(closest > 0.99, "the configurations come near the bound: {closest}");
}

/// Eight stations that offer 70 % of the segment's capacity.
fn zone(seed: u64) -> Vec<Talker> {
    let mean = Duration::from_nanos(57_600 * 8 * 10 / 7);
    (0..8).map(|station| Talker::poisson(station, 60, mean, seed)).collect()
}

#[test]
fn plca_keeps_its_bound_where_csma_cd_collides() {
    let bound = Params::spread(8, 25.0).longest_access(60);
    let end = 1_000_000_000;
    let (with, heard) = run(Params::spread(8, 25.0), zone(7), end);
    let (again, same) = run(Params::spread(8, 25.0), zone(7), end);
    assert_eq!((heard, with.medium().statistics()), (same, again.medium().statistics()));
    let segment = CsmaCd::new(csma_cd::Params::t1s(8, 25.0, 7)).expect("the segment is allowed");
    let (without, _) = run_on(segment, zone(7), end);
    assert!(without.medium().statistics().collisions > 1_000);
    let offered = |stations: &[Talker]| stations.iter().map(|t| t.offered).sum::<u64>();
    assert_eq!(offered(with.stations()), offered(without.stations()));
    let statistics = with.medium().statistics();
    assert!(statistics.longest_access <= bound);
    // Every offered frame is sent, except those still queued.
    assert_eq!(statistics.offered, statistics.finished() + with.medium().queued() as u64);
    assert_eq!(with.stations().iter().map(|t| t.given_up).sum::<u64>(), 0);
}

#[test]
fn frames_that_do_not_fit_are_refused_and_counted() {
    let segment = Params { queue_frames: 2, ..Params::spread(2, 0.0) };
    let at_once = When::At([Instant::ZERO].into());
    let long = vec![Talker::new(0, Mac::local(1), 1_515, at_once), Talker::scripted(1, &[])];
    let (world, heard) = run(segment.clone(), long, 100_000_000);
    assert_eq!((heard.len(), world.medium().statistics().oversized), (0, 1));
    let (world, heard) = run(segment, scripted(&[&[1, 1, 1, 1], &[]]), 100_000_000);
    assert_eq!((heard.len(), world.medium().statistics().queue_drops), (2, 2));
    assert_eq!((world.stations()[0].sent, world.stations()[0].given_up), (2, 2));
}

#[test]
fn an_invalid_segment_is_refused() {
    let refused = |params: Params| Plca::new(params).expect_err("the segment is invalid");
    let segment = Params::spread(4, 25.0);
    let nodes = Invalid::Nodes { nodes: 3, stations: 4 };
    assert_eq!(refused(Params { node_count: 3, ..segment.clone() }), nodes);
    let nodes = Invalid::Nodes { nodes: 256, stations: 4 };
    assert_eq!(refused(Params { node_count: 256, ..segment.clone() }), nodes);
    assert_eq!(refused(Params { opportunity_bits: 256, ..segment.clone() }), Invalid::Timer);
    assert_eq!(refused(Params { opportunity_bits: 0, ..segment.clone() }), Invalid::Timer);
    let burst = Params { maximum_burst: 1, burst_bits: 95, ..segment.clone() };
    assert_eq!(refused(burst), Invalid::Burst);
    assert_eq!(refused(Params { queue_frames: 0, ..segment.clone() }), Invalid::Queue);
    assert_eq!(refused(Params { metres_per_second: 0.0, ..segment }), Invalid::Speed);
    // 400 m: 2 us one way, 4 us both ways, and an opportunity lasts 3.2.
    let too_long = Invalid::RoundTrip { round_trip_nanos: 4_000, opportunity_nanos: 3_200 };
    assert_eq!(refused(Params::spread(2, 400.0)), too_long);
}
