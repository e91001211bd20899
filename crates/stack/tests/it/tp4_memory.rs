//! What 10,000 open connections of one entity cost, counted by the allocator of this thread.

use crate::lone::{connect, station};
use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine, Output};
use stack::tp4::{Entity, Indication, Nsdu, Params, Request};
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{Kind, Parameter};

const CONNECTIONS: u16 = 10_000;
/// What is promised.
const MOST_OCTETS: usize = 1_024;

fn hear(entity: &mut Entity, now: Instant, octets: &[u8]) {
    let packet = Packet::new(Bytes::copy_from_slice(octets));
    entity.receive(now, Nsdu { peer: station(1), packet });
    while let Some(output) = entity.poll() {
        if let Output::Deliver(Indication::Connect { endpoint, .. }) = output {
            entity.request(now, Request::Accept { endpoint, data: Bytes::new() });
        }
    }
}

/// Peers open all connections, 1 us apart.
fn open_all(entity: &mut Entity) {
    let options = [Parameter::AdditionalOptions(2)];
    for number in 1..=CONNECTIONS {
        let now = Instant::from_nanos(u64::from(number) * 1_000);
        hear(entity, now, &connect(Kind::Cr, [0, number], 0x42, &options, b""));
        let [high, low] = number.to_be_bytes();
        hear(entity, now, &[9, 0x60, high, low, 0, 0, 0, 0, 0, 8]);
    }
}

#[test]
fn an_idle_connection_costs_less_than_a_kibioctet() {
    let params = Params { connections: 20_000, checksum: false, ..Params::lan() };
    let mut entity = Entity::new(params, 0);
    let held = allocation_counter::measure(|| open_all(&mut entity)).bytes_current;
    assert_eq!(entity.counters().opened, u64::from(CONNECTIONS));
    let each = usize::try_from(held).unwrap() / usize::from(CONNECTIONS);
    println!("seen: {each} octets for each of {CONNECTIONS} open, idle connections");
    assert!(each < MOST_OCTETS, "{each} octets");
}

#[test]
fn a_timer_that_runs_out_is_the_only_one_looked_at() {
    // Each connection sends its AK when W runs out, W apart, and each call serves one connection.
    let params = Params { connections: 20_000, checksum: false, ..Params::lan() };
    let mut entity = Entity::new(params.clone(), 0);
    open_all(&mut entity);
    let (mut calls, mut sent) = (0, 0);
    let end = Instant::ZERO + params.window_time + Duration::from_millis(20);
    while let Some(deadline) = entity.deadline().filter(|deadline| deadline.at <= end) {
        entity.expire(deadline.at);
        calls += 1;
        while let Some(output) = entity.poll() {
            sent += usize::from(matches!(output, Output::Send(_)));
        }
    }
    assert_eq!(sent, usize::from(CONNECTIONS), "one AK for each");
    // The CC's T1 ended early, and its entry in the agenda was still served: at most twice each.
    assert!(calls <= 2 * usize::from(CONNECTIONS), "{calls} calls");
    println!("seen: {calls} calls of expire for {sent} timers of {CONNECTIONS} connections");
}
