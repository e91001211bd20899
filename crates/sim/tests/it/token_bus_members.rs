//! Logical ring of a token bus as stations enter and leave: times worked out by hand, and the bound
//! on the token's rotation with windows.
//!
//! At 10 Mbit/s a frame without data takes 17.6 us, one with an address 22.4 us, and frames of 60
//! octets 54.4 us. Without cable and with a station's delay of 4 us a slot is 8 us, and the token
//! is passed in 21.6 us. A response is over 4 + 22.4 us after its window opens; 4 us later the
//! demander goes on. The station of the highest index has the token at 0 and passes it on.

use crate::talker::{Talker, When};
use crate::token_bus::{run, scripted};
use core::time::Duration;
use sim::medium::token_bus::{
    Change, Invalid, Kind, Maintenance, Params, Service, Statistics, TokenBus,
};
use stats::rng::Stream;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Opens a window at each token that is early enough.
const EACH: Maintenance =
    Maintenance { tokens_between_windows: 1, target_rotation_time: Duration::from_millis(100) };

fn params(stations: usize) -> Params {
    Params {
        station_delay: Duration::from_micros(4),
        ..Params::carrierband(BitRate::mbps(10), stations, 0.0)
    }
}

/// Change at a time in nanoseconds.
const fn change(nanos: u64, station: usize, kind: Kind) -> Change {
    Change { at: Duration::from_nanos(nanos), station, kind }
}

#[test]
fn an_unanswered_window_costs_a_frame_and_a_slot() {
    // 17.6 + 8 + 21.6, and 17.6 + 2 x 8 + 21.6 at the lowest address: 102.4 us; the idle rotation
    // is 43.2.
    for (tokens_between_windows, windows) in [(1, 20), (4, 8)] {
        let maintenance = Some(Maintenance { tokens_between_windows, ..EACH });
        let bus = Params { maintenance, ..params(2) };
        let (world, _) = run(bus, scripted(&[&[], &[]]), 1_000_000);
        let statistics = world.medium().statistics();
        assert_eq!(statistics.longest_rotation, Duration::from_nanos(102_400));
        // Windows at each token: station 0 has it at 21.6 + 102.4 k, station 1 at 76.8 + 102.4 k.
        // At each fourth: three rounds of 43.2 us and one of 102.4, so 232 us for two windows;
        // station 0 from 151.2 us on, station 1 from 206.4 on.
        assert_eq!(statistics.windows, windows);
    }
}

#[test]
fn a_joining_station_responds_and_receives_the_next_token() {
    // Station 0 has the token at 21.6 us and opens two windows, until 55.2. Station 2 has it at
    // 76.8; its window opens at 94.4 and the response is handled at 124.8. Station 1 has the token
    // at 146.4.
    let changes = vec![change(0, 1, Kind::Join)];
    let bus = Params { maintenance: Some(EACH), changes, ..params(3) };
    let (world, heard) = run(bus.clone(), scripted(&[&[], &[1_000], &[]]), 1_000_000);
    assert_eq!(heard, [(1, 146_400, 200_800)]);
    let statistics = world.medium().statistics();
    assert_eq!((statistics.entries, statistics.contentions), (1, 0));
    assert_eq!(statistics.latest_entry, Duration::from_nanos(124_800));
    // The highest address responds in the second window of the lowest: 21.6 + 17.6 + 8 + 30.4 =
    // 77.6.
    let changes = vec![change(0, 2, Kind::Join)];
    let (_, heard) = run(Params { changes, ..bus }, scripted(&[&[], &[], &[0]]), 1_000_000);
    // Station 1, the first of those in the ring, passes the token on at 0.
    assert_eq!(heard, [(2, 77_600 + 21_600, 77_600 + 21_600 + 54_400)]);
}

#[test]
fn contention_is_resolved_by_two_address_bits_at_a_time() {
    // As above until 124.8. Addresses 02-00-00-00-00-01 and -02 differ only in their last two bits:
    // 01 and
    // 10. Of 24 passes, the one with the common bits 10 and the last take the second window: 17.6 +
    //   8 + 30.4 = 56; 22 passes with bits 00 take the last: 17.6 + 24 + 30.4 = 72. 124.8 + 22 x 72
    //   + 2 x 56 = 1,820.8, and the token for station 2. It sends for 54.4 us, opens a window after
    //   17.6 us, and station 1 is in after 30.4 us.
    let changes = vec![change(0, 1, Kind::Join), change(0, 2, Kind::Join)];
    let bus = Params { maintenance: Some(EACH), changes, ..params(4) };
    let (world, heard) = run(bus, scripted(&[&[], &[0], &[0], &[]]), 3_000_000);
    assert_eq!(heard, [(2, 1_842_400, 1_896_800), (1, 1_966_400, 2_020_800)]);
    let statistics = world.medium().statistics();
    assert_eq!((statistics.entries, statistics.contentions), (2, 1));
}

#[test]
fn a_late_token_leaves_no_time_for_a_window() {
    // A rotation of two stations takes 43.2 us, and with a frame of each in every round 152 us.
    let bus = |micros| Params {
        maintenance: Some(Maintenance {
            target_rotation_time: Duration::from_micros(micros),
            ..EACH
        }),
        service: Service::HoldingTime(Duration::from_nanos(1)),
        ..params(2)
    };
    let always = |n| Talker::new(n, Mac::local(n ^ 1), 60, When::Always);
    let windows = |micros| {
        let (world, _) = run(bus(micros), (0..2).map(always).collect(), 10_000_000);
        world.medium().statistics().windows
    };
    // Only station 0 is in time, at the first token: its frame ends at 21.6 + 54.4 us.
    assert_eq!(windows(100), 1);
    assert!(windows(1_000) > 80);
}

#[test]
fn with_windows_rotations_keep_the_bound_and_runs_repeat() {
    const SEED: u64 = 0x5EED_0804;
    const FRAME: Duration = Duration::from_nanos(54_400);
    println!("seed {SEED:#x}");
    let mut random = Stream::named(SEED, "bound with windows");
    let mut closest = 0.0_f64;
    for round in 0..1_000 {
        let stations = 2 + random.below(7) as u32;
        let mut micros = |most| Duration::from_micros(1 + random.below(most));
        let holding_time = micros(300);
        let target_rotation_times = [micros(1_000), micros(1_000), micros(1_000)];
        let bus = Params {
            service: Service::Classes { holding_time, target_rotation_times },
            priority_of: |station, _| station as u8 * 2 % 8,
            station_delay: micros(20),
            maintenance: Some(Maintenance {
                tokens_between_windows: 1 + random.below(4) as u32,
                target_rotation_time: Duration::from_micros(1 + random.below(5_000)),
            }),
            ..params(stations as usize)
        };
        let holds = vec![holding_time + FRAME; stations as usize];
        let bound = bus.longest_rotation(&holds, FRAME);
        // A pass, and a window before it: 17.6 us each, the delay, the slot; one slot more.
        let pass = Duration::from_nanos(35_200) + bus.station_delay + bus.slot_time();
        let target = target_rotation_times.into_iter().max().unwrap_or_default();
        let worked_out =
            target + FRAME + stations * (holding_time + FRAME + pass) + bus.slot_time();
        assert_eq!(bound, worked_out);
        let mean = Duration::from_micros(20 + random.below(400));
        let seed = random.below(u64::MAX);
        let talker = |n| match n % 3 {
            0 => Talker::new(n, Mac::local(n + 1), 60, When::Always),
            _ => Talker::poisson(n, 60, mean, seed),
        };
        let again = || run(bus.clone(), (0..stations).map(talker).collect(), 10_000_000);
        let (world, heard) = again();
        let longest = world.medium().statistics().longest_rotation;
        assert!(longest <= bound, "{longest:?} is beyond {bound:?}");
        closest = closest.max(longest.as_secs_f64() / bound.as_secs_f64());
        if round % 100 == 0 {
            let (twin, heard_again) = again();
            assert_eq!(world.medium().statistics(), twin.medium().statistics());
            assert_eq!(heard, heard_again);
        }
    }
    println!("seen: the longest of 1,000 rotations with windows is {closest:.3} of its bound");
    assert!(closest > 0.6, "the configurations come near the bound: {closest}");
}

#[test]
fn a_leaving_station_names_its_successor_and_refuses_frames() {
    // Station 1 has the token at 21.6 us and sends set_successor until 44, then the token: station 0 has
    // it at 65.6. Without station 1 it goes round in 43.2.
    let changes = vec![change(0, 1, Kind::Leave)];
    let bus = Params { changes, ..params(3) };
    let (world, heard) = run(bus, scripted(&[&[0], &[50_000], &[]]), 1_000_000);
    assert_eq!(heard, [(0, 65_600, 120_000)]);
    assert_eq!(world.medium().idle_rotation(), Duration::from_nanos(43_200));
    assert_eq!((world.stations()[1].sent, world.stations()[1].given_up), (0, 1));
    let statistics = world.medium().statistics();
    assert_eq!((statistics.departures, statistics.outside, statistics.bridges), (1, 1, 0));
}

#[test]
fn a_successor_that_failed_is_bridged_by_who_follows() {
    // The token and a slot, twice: 51.2 us. who_follows is out at 73.6, the response is handled at
    // 104, and station 0 has the token at 125.6.
    let changes = vec![change(0, 1, Kind::Fail)];
    let (world, heard) =
        run(Params { changes, ..params(3) }, scripted(&[&[0], &[], &[]]), 1_000_000);
    assert_eq!(heard, [(0, 125_600, 180_000)]);
    assert_eq!(world.medium().statistics().bridges, 1);
    assert!(world.stations()[1].arrivals.is_empty());
    assert_eq!(world.stations()[2].arrivals, [Instant::from_nanos(180_000)]);
}

#[test]
fn after_two_failures_in_a_row_all_stations_are_solicited() {
    // who_follows and three windows, twice: 51.2 + 2 x 46.4 = 144 us. solicit_successor_2 is out at
    // 161.6; the response is handled at 192, and station 0 has the token at 213.6.
    let changes = vec![change(0, 1, Kind::Fail), change(0, 2, Kind::Fail)];
    let bus = Params { changes, ..params(4) };
    let (world, heard) = run(bus, scripted(&[&[0], &[], &[], &[]]), 1_000_000);
    assert_eq!(heard, [(0, 213_600, 268_000)]);
    assert_eq!(world.medium().idle_rotation(), Duration::from_nanos(43_200));
    // No station responds in the two windows: 161.6 + 16, and the token for itself.
    let changes = vec![change(0, 0, Kind::Fail)];
    let (_, heard) = run(Params { changes, ..params(2) }, scripted(&[&[], &[0]]), 1_000_000);
    assert_eq!(heard, [(1, 199_200, 253_600)]);
}

#[test]
fn a_token_lost_with_its_holder_goes_to_the_highest_address() {
    // Station 1 begins its frame at 21.6 us and fails at 50. After 7 slots, at 106, all claim. 24
    // times a frame and a slot are 614.4 us. The bits of 02-00-00-00-00-02 are 10 twice, which is 2
    // (2 + 2) slots of data: 64 us. Station 2 has the token at 784.4. It bridges station 1 in 104
    // us: 838.8 + 104 + 21.6.
    let changes = vec![change(50_000, 1, Kind::Fail)];
    let bus = Params { changes, ..params(3) };
    let (world, heard) = run(bus, scripted(&[&[60_000], &[0], &[60_000]]), 3_000_000);
    assert_eq!(heard, [(2, 784_400, 838_800), (0, 964_400, 1_018_800)]);
    let statistics = world.medium().statistics();
    assert_eq!((statistics.tokens_lost, statistics.claims, statistics.bridges), (1, 1, 1));
    assert_eq!(world.stations()[1].given_up, 1);
}

#[test]
fn a_station_that_loses_the_token_claims_it_a_slot_earlier() {
    // It arrives at 21.6 us; 6 slots are 48. The bits of 02-00-00-00-00-01 are 10 and 01: 614.4 + 6
    // x 8 us.
    let changes = vec![change(0, 1, Kind::LoseToken)];
    let bus = Params { changes, ..params(3) };
    let (world, heard) = run(bus, scripted(&[&[], &[0], &[]]), 3_000_000);
    assert_eq!(heard, [(1, 732_000, 786_400)]);
    assert_eq!(world.medium().statistics().tokens_lost, 1);
}

#[test]
fn without_a_ring_a_joining_station_claims_and_admits() {
    // 7 slots, and the claim of 02-00-00-00-00-01, 662.4 us: 718.4. After its frame it solicits for
    // 17.6 us, station 0 responds in 30.4, and has the token 21.6 later.
    let changes = vec![change(0, 0, Kind::Join), change(0, 1, Kind::Join)];
    let bus = Params { maintenance: Some(EACH), changes, ..params(2) };
    let (world, heard) = run(bus, scripted(&[&[0], &[0]]), 3_000_000);
    assert_eq!(heard, [(1, 718_400, 772_800), (0, 842_400, 896_800)]);
    let statistics = world.medium().statistics();
    assert_eq!((statistics.tokens_lost, statistics.claims, statistics.entries), (0, 1, 2));
}

/// Random changes, many at once, within 20 ms. A station that requests membership at the end must
/// be in the ring, and its frame must be sent.
#[test]
fn after_any_changes_every_working_station_is_in_the_ring() {
    const SEED: u64 = 0x5EED_0805;
    println!("seed {SEED:#x}");
    let mut random = Stream::named(SEED, "members");
    let mut seen = [0_u64; 6];
    for _ in 0..300 {
        let stations = 2 + random.below(7) as usize;
        let kinds = [Kind::Join, Kind::Join, Kind::Leave, Kind::Fail, Kind::LoseToken];
        let mut changes: Vec<Change> = (0..random.below(12))
            .map(|_| {
                let kind = kinds[random.below(5) as usize];
                change(random.below(5) * 5_000_000, random.below(stations as u64) as usize, kind)
            })
            .collect();
        changes.sort_by_key(|change| change.at);
        let mut is_in = vec![true; stations];
        for change in &changes {
            match change.kind {
                Kind::Join => is_in[change.station] = true,
                Kind::Leave | Kind::Fail => is_in[change.station] = false,
                Kind::LoseToken => {}
            }
        }
        let station_delay = Duration::from_micros(1 + random.below(20));
        let bus = Params { maintenance: Some(EACH), changes, station_delay, ..params(stations) };
        let times: Vec<u64> = (0..20).map(|_| random.below(30_000_000)).collect();
        let offers: Vec<Vec<u64>> = (0..stations)
            .map(|station| {
                let mut offers = times[station..station + 5].to_vec();
                offers.sort_unstable();
                offers.push(400_000_000);
                offers
            })
            .collect();
        let offers: Vec<&[u64]> = offers.iter().map(Vec::as_slice).collect();
        let (world, heard) = run(bus.clone(), scripted(&offers), 800_000_000);
        let statistics = *world.medium().statistics();
        assert_eq!(world.medium().queued(), 0, "{bus:?}");
        assert_eq!(statistics.offered, statistics.finished(), "{bus:?}");
        for (station, is_in) in is_in.iter().enumerate() {
            let late = heard.iter().any(|(from, at, _)| *from == station && *at >= 400_000_000);
            assert_eq!(late, *is_in, "station {station} of {bus:?}");
        }
        let (again, _) = run(bus, scripted(&offers), 800_000_000);
        assert_eq!(*again.medium().statistics(), statistics);
        let Statistics { entries, contentions, departures, bridges, tokens_lost, claims, .. } =
            statistics;
        let counts = [entries, contentions, departures, bridges, tokens_lost, claims];
        seen.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    println!("seen: entries, contentions, departures, bridges, lost tokens, claims {seen:?}");
    assert!(seen.iter().all(|count| *count > 0), "each occurs: {seen:?}");
}

#[test]
fn changes_without_windows_or_of_missing_stations_are_refused() {
    let refused = |bus| TokenBus::new(bus).unwrap_err();
    let changes = vec![change(0, 1, Kind::Join)];
    assert_eq!(refused(Params { changes: changes.clone(), ..params(2) }), Invalid::Windows);
    let maintenance = Some(Maintenance { tokens_between_windows: 0, ..EACH });
    assert_eq!(refused(Params { maintenance, ..params(2) }), Invalid::Windows);
    let bus = Params { maintenance: Some(EACH), changes, ..params(1) };
    assert_eq!(refused(bus), Invalid::Station);
}
