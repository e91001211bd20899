//! Token bus to the octet: timelines worked out by hand, ceilings, access classes, the bound on the
//! token's rotation.
//!
//! At 10 Mbit/s an octet lasts 800 ns and a token of 22 octets 17.6 us. A frame of 60 octets
//! carries 46 octets of data and takes 8 (46 + 22) = 544 bits, 54.4 us. Without cable a station has
//! the token 17.6 us and its delay after the previous one. Addresses grow with the station's index,
//! so the token goes from each index to the next lower one, starting at the highest.

use crate::talker::{Talker, When};
use core::time::Duration;
use sim::medium::Passage;
use sim::medium::token_bus::{HeadEnd, Invalid, Params, Service, TokenBus};
use sim::world::World;
use stack::station::Frame;
use stats::rng::Stream;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

fn params(stations: usize) -> Params {
    Params {
        station_delay: Duration::ZERO,
        ..Params::carrierband(BitRate::mbps(10), stations, 0.0)
    }
}

/// Frame as seen by the observer: its source, and the times of its first and last bit, in
/// nanoseconds.
type Heard = (usize, u64, u64);

/// Runs a bus until `end_nanos`; returns the observed frames.
pub(crate) fn run(
    params: Params,
    stations: Vec<Talker>,
    end_nanos: u64,
) -> (World<TokenBus, Talker>, Vec<Heard>) {
    let bus = TokenBus::new(params).expect("the bus is allowed");
    let mut world = World::new(bus, stations).expect("one place per station");
    let mut heard = Vec::new();
    let note = |p: &Passage| heard.push((p.source, p.started.as_nanos(), p.at.as_nanos()));
    world.run(Instant::from_nanos(end_nanos), note).expect("time advances");
    (world, heard)
}

/// Stations that send frames of 60 octets at these times, in nanoseconds.
pub(crate) fn scripted(offers: &[&[u64]]) -> Vec<Talker> {
    offers.iter().zip(0..).map(|(at, station)| Talker::scripted(station, at)).collect()
}

#[test]
fn the_token_goes_down_the_addresses_and_a_frame_waits_for_it() {
    // Station 2 has the token at 0, station 1 at 17.6 us, station 0 at 35.2 us, station 2 at 52.8.
    let (_, heard) = run(params(3), scripted(&[&[], &[1_000], &[]]), 1_000_000);
    assert_eq!(heard, [(1, 17_600, 72_000)]);
    // Offered just after the token has passed: the next round.
    let (_, heard) = run(params(3), scripted(&[&[], &[17_601], &[]]), 1_000_000);
    assert_eq!(heard, [(1, 70_400, 124_800)]);
    // Offered while the token is there: station 1 sends from 17.6 to 72 us, station 0 has it 17.6
    // us later.
    let (world, heard) = run(params(3), scripted(&[&[20_000], &[0], &[]]), 1_000_000);
    assert_eq!(heard, [(1, 17_600, 72_000), (0, 89_600, 144_000)]);
    assert_eq!(world.medium().statistics().tokens_used, 2);
    // Station 1 after 72 + 3 x 17.6, plus the 54.4 that station 0 sent in between.
    let (world, _) = run(params(3), scripted(&[&[20_000], &[0, 80_000], &[]]), 1_000_000);
    assert_eq!(world.medium().statistics().longest_rotation, Duration::from_nanos(161_600));
}

#[test]
fn a_head_end_delays_every_signal_and_the_token() {
    // Stations at 0 and 200 m, the head end at 1,000 m: 4 us one way, 5 us from the other, and
    // 10 us within it. From either station to the other a signal takes 5 + 10 + 4 = 19 us.
    let bus = Params {
        positions_metres: vec![0.0, 200.0],
        head_end: Some(HeadEnd { position_metres: 1_000.0, delay: Duration::from_micros(10) }),
        station_delay: Duration::from_nanos(400),
        ..params(2)
    };
    // The token reaches station 0 at 17.6 + 19 + 0.4 = 37 us.
    let (world, heard) = run(bus, scripted(&[&[0], &[]]), 1_000_000);
    assert_eq!(heard, [(0, 37_000 + 5_000, 37_000 + 54_400 + 5_000)]);
    assert_eq!(world.stations()[1].arrivals, [Instant::from_nanos(37_000 + 54_400 + 19_000)]);
    assert_eq!(world.medium().idle_rotation(), Duration::from_micros(74));
}

#[test]
fn saturated_stations_fill_the_bus_to_the_exact_ceiling() {
    // U = L / (L + 22 + 22 + g), one frame for each token, g octets before each.
    let table = [
        (0, [(46, 0.511_11), (256, 0.853_33), (1_024, 0.958_80)]),
        (4, [(46, 0.489_36), (256, 0.842_11), (1_024, 0.955_22)]),
        (13, [(46, 0.446_60), (256, 0.817_89), (1_024, 0.947_27)]),
    ];
    for (gap, row) in table {
        for (data, expected) in row {
            let bus = Params {
                station_delay: BitRate::mbps(10).bits(8 * gap),
                service: Service::HoldingTime(Duration::from_nanos(1)),
                ..params(8)
            };
            let talker = |n| Talker::new(n, Mac::local(n ^ 1), data + 14, When::Always);
            let (_, heard) = run(bus, (0..8).map(talker).collect(), 400_000_000);
            let cycles = (heard.len() - 1) / 8;
            let nanos = heard[8 * cycles].1 - heard[0].1;
            let found = (8 * cycles * 8 * data) as f64 / (nanos as f64 / 100.0);
            assert!((found - expected).abs() < 1e-5, "g={gap} L={data}: {found}, not {expected}");
        }
    }
}

#[test]
fn one_sender_waits_for_the_token_between_bursts() {
    // Two stations: frames of 1,022 octets take 817.6 us. The highest address has passed the token
    // on at 0 and has it back after a round, 35.2 us. THT 2 ms: three frames begin, 0, 817.6 and
    // 1,635.2 us after that. Then the token goes round.
    let bus = Params { service: Service::HoldingTime(Duration::from_millis(2)), ..params(2) };
    let stations = vec![
        Talker::new(0, Mac::local(1), 60, When::Never),
        Talker::new(1, Mac::local(0), 1_014, When::Always),
    ];
    let (_, heard) = run(bus, stations, 10_000_000);
    let begun: Vec<_> = heard.iter().map(|(_, begun, _)| *begun).take(5).collect();
    assert_eq!(begun, [35_200, 852_800, 1_670_400, 2_523_200, 3_340_800]);
}

/// Priority by station: class 6 for station 3 down to class 0 for station 0.
fn by_station(station: usize, _frame: &Frame) -> u8 {
    [0, 2, 4, 6][station]
}

#[test]
fn a_class_below_6_sends_only_what_its_target_leaves() {
    // Stations 3 (class 6), 2 (class 4), 1 (class 2) and 0 (class 0), all saturated with frames of
    // 54.4 us. Class 6 begins frames for 100 us: two, 108.8 us. A round with these alone takes 4 x
    // 17.6 + 108.8 = 179.2 us. Class 4 has a target of 300 us: in each round it may begin while
    // less than that has passed since its previous service. Class 2's target is 100 us and class
    // 0's 179 us: neither is ever served once the others send.
    let bus = Params {
        service: Service::Classes {
            holding_time: Duration::from_micros(100),
            target_rotation_times: [300_000, 100_000, 179_000].map(Duration::from_nanos),
        },
        priority_of: by_station,
        ..params(4)
    };
    let talker = |n| Talker::new(n, Mac::local(n ^ 1), 60, When::Always);
    let (world, heard) = run(bus, (0..4).map(talker).collect(), 50_000_000);
    let late = heard.iter().filter(|(_, begun, _)| *begun > 1_000_000);
    let mut counts = [0_u64; 4];
    late.for_each(|(station, ..)| counts[*station] += 1);
    // Class 4: with r the time from service to service, it begins frames while its own time so far
    // is below 300 - r, and r = 179.2 + 54.4 k, where k is the number of frames in its previous
    // service. k = 2: 288, so 12 us are left: one frame. k = 1: 233.6, 66.4 us: two frames. They
    // alternate.
    let rounds = counts[3] / 2;
    assert!(rounds > 180, "{counts:?}");
    assert!(counts[2].abs_diff(rounds * 3 / 2) <= 2, "{counts:?}");
    assert_eq!(counts[..2], [0, 0]);
    assert!(world.medium().statistics().tokens_too_late > 300);
}

/// Checks random configurations against the timed-token bound: the longest target of the low
/// classes, the longest low-class frame, and for each station THT, the longest frame of class 6 and
/// the pass.
///
/// Let j be the last low-class transmission between two visits to a station. It began with T - e
/// left on its timer, where e is the time since that class's previous service. So from that service
/// to the end of j at most T and a frame pass, and what follows is class 6 and passes alone.
#[test]
fn the_token_never_comes_later_than_the_timed_token_bound() {
    const SEED: u64 = 0x5EED_0802;
    const FRAME: Duration = Duration::from_nanos(54_400);
    println!("seed {SEED:#x}");
    let mut random = Stream::named(SEED, "bound");
    let mut closest = 0.0_f64;
    for _ in 0..1_000 {
        let stations = 2 + random.below(7) as u32;
        let mut micros = |most| Duration::from_micros(1 + random.below(most));
        let holding_time = micros(300);
        let target_rotation_times = [micros(3_000), micros(3_000), micros(3_000)];
        let bus = Params {
            service: Service::Classes { holding_time, target_rotation_times },
            priority_of: |station, frame| {
                (station + usize::from(frame.len() % 2 == 0)) as u8 * 2 % 8
            },
            station_delay: micros(20),
            ..params(stations as usize)
        };
        let holds = vec![holding_time + FRAME; stations as usize];
        let bound = bus.longest_rotation(&holds, FRAME);
        let pass = Duration::from_nanos(17_600) + bus.station_delay;
        let target = target_rotation_times.into_iter().max().unwrap_or_default();
        assert_eq!(bound, target + FRAME + stations * (holding_time + FRAME + pass));
        let mean = Duration::from_micros(20 + random.below(400));
        let seed = random.below(u64::MAX);
        let talker = |n| match n % 3 {
            0 => Talker::new(n, Mac::local(n + 1), 60, When::Always),
            _ => Talker::poisson(n, 60, mean, seed),
        };
        let (world, _) = run(bus, (0..stations).map(talker).collect(), 20_000_000);
        let longest = world.medium().statistics().longest_rotation;
        assert!(longest <= bound, "{longest:?} is beyond {bound:?}");
        closest = closest.max(longest.as_secs_f64() / bound.as_secs_f64());
    }
    println!("seen: the longest of 1,000 token buses' rotations is {closest:.3} of its bound");
    assert!(closest > 0.7, "the configurations come near the bound: {closest}");
}

#[test]
fn the_token_position_is_exact_after_an_idle_hour() {
    // 3 stations, 52.8 us a round. Station 1 has it at 17.6 us + 52.8 us m. The first such time from
    // 3,600 s on has m = 68,181,818: 3,599,999,990.4 + 17.6 = 3,600,000,008.0 us.
    let hour = 3_600_000_000_000;
    let mut stations = scripted(&[&[], &[hour], &[]]);
    stations[2] = Talker::scripted(2, &[]);
    let (world, heard) = run(params(3), stations, hour + 1_000_000);
    assert_eq!(heard, [(1, hour + 8_000, hour + 62_400)]);
    assert_eq!(world.medium().statistics().longest_rotation, Duration::from_nanos(52_800));
}

#[test]
fn frames_that_do_not_fit_are_refused_and_counted() {
    let bus = Params { queue_frames: 2, ..params(2) };
    let long = vec![
        Talker::new(0, Mac::local(1), 14 + 8_175, When::At([Instant::ZERO].into())),
        Talker::scripted(1, &[]),
    ];
    let (world, heard) = run(bus.clone(), long, 100_000_000);
    assert_eq!((heard.len(), world.medium().statistics().oversized), (0, 1));
    // Four at once, before the token is back: there is room for two.
    let (world, heard) = run(bus, scripted(&[&[1, 1, 1, 1], &[]]), 100_000_000);
    assert_eq!((heard.len(), world.medium().statistics().queue_drops), (2, 2));
    assert_eq!((world.stations()[0].sent, world.stations()[0].given_up), (2, 2));
    assert_eq!(world.medium().queued(), 0);
    let nowhere = Params { positions_metres: vec![f64::INFINITY], ..params(1) };
    assert_eq!(TokenBus::new(nowhere).unwrap_err(), Invalid::Position);
}
