//! Experiment on the in-process LAN and on loopback: asserts counts, never times.

use super::*;
use core::sync::atomic::Ordering;

fn plan(sizes: &[usize]) -> Plan {
    Plan { sizes: sizes.to_vec(), messages: 40, rounds: 3, seed: 1 }
}

fn measure_over(over: &Over, plan: &Plan) -> Findings {
    let mut pair = Pair::open(over, None).unwrap();
    static STOP: AtomicBool = AtomicBool::new(false);
    let mut rounds = 0;
    let found = measure(&mut pair, plan, &STOP, &mut || rounds += 1).unwrap();
    assert_eq!(rounds, plan.rounds);
    found
}

/// Checks that every operation and service has every size, with the planned repetitions.
#[track_caller]
fn check(found: &Findings, plan: &Plan) {
    assert!(found.complete);
    // Two below LLC; transmit, receive and end to end with four choices of services; four above LLC.
    assert_eq!(found.curves.len(), 2 + 3 * 4 + 4);
    for curve in &found.curves {
        let what = format!("{} {}", curve.operation, curve.service);
        let sizes: Vec<usize> = curve.measurements.iter().map(|one| one.octets).collect();
        assert_eq!(sizes, plan.sizes, "{what}");
        let counts: u64 = curve.measurements.iter().map(|one| one.times.count()).sum();
        let all = plan.sizes.len() as u64 * plan.rounds * plan.messages;
        assert!(counts <= all && counts + found.lost >= all, "{what}: {counts} of {all}");
        assert!(curve.measurements.iter().all(|one| one.times.min() > Some(Duration::ZERO)));
        let has_processor = curve.measurements.iter().all(|one| one.processor.is_some());
        assert_eq!(has_processor, curve.operation != Operation::LlcReceive, "{what}");
        assert!(curve.fit.is_some_and(|fit| fit.slope.half_width.is_finite()), "{what}");
    }
    // The warm-up and a lap for each choice of services, in addition to the plan.
    assert!(found.frames >= plan.frames(), "{} of {}", found.frames, plan.frames());
}

#[test]
fn every_operation_is_measured_in_process_and_nothing_is_lost() {
    let plan = plan(&[1, 64, 700, LARGEST]);
    let found = measure_over(&Over::InProcess, &plan);
    check(&found, &plan);
    assert_eq!(found.lost, 0);
}

#[test]
fn every_layer_above_llc_has_its_difference_to_the_one_below() {
    let plan = plan(&[64, 700]);
    let found = measure_over(&Over::InProcess, &plan);
    let layers = super::super::added::added(&found.curves);
    let names: Vec<_> = layers.iter().map(|added| (added.layer, added.over)).collect();
    let over = |layer, below| (layer, Some(below));
    let all = [
        ("MAC", None),
        over("LLC", "MAC"),
        over("transport", "LLC"),
        over("session", "transport"),
        over("CASE", "session"),
        over("MMS", "session"),
    ];
    assert_eq!(names, all);
    for one in layers.iter().flat_map(|added| &added.sizes) {
        assert_eq!(one.nanos.n, 3, "n is the number of rounds");
        assert!(one.nanos.half_width.is_finite() && one.end_to_end_nanos.mean > 0.0);
    }
}

#[test]
fn every_operation_is_measured_over_loopback() {
    let any = "127.0.0.1:0".parse().unwrap();
    let plan = plan(&[64, 700, LARGEST]);
    check(&measure_over(&Over::Udp { here: any, there: any }, &plan), &plan);
}

#[test]
fn the_stop_flag_ends_it_with_partial_results() {
    let mut pair = Pair::open(&Over::InProcess, None).unwrap();
    static STOP: AtomicBool = AtomicBool::new(false);
    let plan = Plan { rounds: 1_000_000, ..plan(&[64, 128, 256]) };
    let mut rounds = 0;
    let found = measure(&mut pair, &plan, &STOP, &mut || {
        rounds += 1;
        STOP.store(rounds == 2, Ordering::Relaxed);
    });
    let found = found.unwrap();
    assert!(!found.complete);
    let counts: Vec<u64> =
        found.curves.iter().map(|curve| curve.measurements[0].times.count()).collect();
    assert_eq!(counts, [80; 18]);
}

#[test]
fn the_stop_flag_ends_the_wait_for_a_slow_pace() {
    static STOP: AtomicBool = AtomicBool::new(false);
    // A frame a second: a message of one size takes dozens of frames.
    let mut pair = Pair::open(&Over::InProcess, Some(1)).unwrap();
    let plan = Plan { messages: 1, rounds: 1, ..plan(&[64, 128]) };
    let stopping = std::thread::spawn(|| {
        clock::sleep_until(clock::now() + Duration::from_millis(1_500));
        STOP.store(true, Ordering::Relaxed);
    });
    let found = measure(&mut pair, &plan, &STOP, &mut || ()).unwrap();
    stopping.join().unwrap();
    assert!(!found.complete && (1..10).contains(&found.frames), "{}", found.frames);
}

#[test]
fn interfaces_that_cannot_be_opened_are_named() {
    let names = |here: &str| Over::Interfaces { here: here.to_owned(), there: "lo".to_owned() };
    let error = Pair::open(&names("no-such-port"), None).err().unwrap();
    assert_eq!(error.to_string(), "no such interface: \"no-such-port\"");
}

#[test]
fn the_physical_layer_is_arithmetic() {
    // 8 of preamble, 14 of header and 4 of FCS around 1,495 of data: 1,521 octets, 12,168 bits. A
    // frame of 1 octet is padded to 60: 72 octets, 576 bits.
    let curve = physical(BitRate::mbps(10), &[1, LARGEST]).unwrap();
    let nanos: Vec<f64> =
        curve.measurements.iter().map(|one| super::super::fit::median_nanos(&one.times)).collect();
    assert_eq!(nanos, [57_600.0, 1_216_800.0]);
}

#[test]
fn messages_are_sent_in_bursts_that_fit_a_small_buffer() {
    assert_eq!(bursts(80).collect::<Vec<_>>(), [32, 32, 16]);
    assert_eq!(bursts(1).collect::<Vec<_>>(), [1]);
    assert_eq!(bursts(0).count(), 0);
}

#[test]
fn every_size_is_measured_once_a_round_in_seeded_order() {
    let orders = |seed| -> Vec<Vec<usize>> {
        let mut order = Stream::named(seed, "layers: order of sizes");
        (0..5).map(|_| shuffled(&SIZES, &mut order)).collect()
    };
    assert_eq!(orders(1), orders(1));
    assert_ne!(orders(1), orders(2));
    for mut order in orders(1) {
        order.sort_unstable();
        assert_eq!(order, SIZES);
    }
}
