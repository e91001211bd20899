//! Memory of 10,000 open connections of one entity, measured by the allocator of this thread.

use crate::lone::{connect, station};
use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine, Output};
use stack::tp4::{Endpoint, Entity, Indication, Nsdu, Params, Request};
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{Kind, Parameter};

const CONNECTIONS: u16 = 10_000;
/// Number of connections that carry DTs in turn, and number of rounds.
const USED: usize = 1_000;
const ROUNDS: usize = 40;
/// Promised maximum per connection.
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

/// Opens all connections from peers, 1 us apart.
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

/// Two entities with [`USED`] open connections, including all queues. The connections have carried
/// DTs in both directions, some of them out of order, and have been idle for longer than W.
fn after_traffic(extended: bool) -> [Entity; 2] {
    let params = Params { connections: 20_000, extended, checksum: false, ..Params::lan() };
    let mut pair = [Entity::new(params.clone(), 0), Entity::new(params, 0)];
    let (mut now, mut ends) = (Instant::ZERO, [const { Vec::new() }; 2]);
    for _ in 0..USED {
        let endpoint = pair[0].endpoint();
        let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
        let peer = station(2);
        let connect = Request::Connect { endpoint, peer, called, calling, data };
        pair[0].request(now, connect);
        ends[0].push(endpoint);
        exchange(&mut pair, now, &mut ends[1]);
    }
    for _ in 0..ROUNDS {
        for place in 0..USED {
            for of in [0, 1] {
                let (endpoint, tsdu) = (ends[of][place], Bytes::from_static(&[0; 1_500]));
                pair[of].request(now, Request::Data { endpoint, tsdu });
            }
            exchange(&mut pair, now, &mut ends[1]);
        }
        // A number is reused after M, half a second.
        now += Duration::from_millis(50);
    }
    let end = now + Duration::from_secs(5);
    while let Some(at) = pair.iter().filter_map(|it| it.deadline().map(|due| due.at)).min()
        && at <= end
    {
        now = now.max(at);
        pair.iter_mut().for_each(|entity| entity.expire(now));
        exchange(&mut pair, now, &mut ends[1]);
    }
    pair
}

/// Carries the outputs of both; every second pair of TPDUs is swapped.
fn exchange(pair: &mut [Entity; 2], now: Instant, accepted: &mut Vec<Endpoint>) {
    let mut silent = 0;
    while silent < 2 {
        silent = 0;
        for of in [0, 1] {
            let mut nsdus = Vec::new();
            while let Some(output) = pair[of].poll() {
                match output {
                    Output::Send(nsdu) => nsdus.push(nsdu),
                    Output::Deliver(Indication::Connect { endpoint, .. }) => {
                        accepted.push(endpoint);
                        let accept = Request::Accept { endpoint, data: Bytes::new() };
                        pair[of].request(now, accept);
                    }
                    Output::Deliver(_) | Output::Note(_) => {}
                }
            }
            silent += usize::from(nsdus.is_empty());
            nsdus.chunks_exact_mut(2).for_each(|two| two.swap(0, 1));
            for Nsdu { packet, .. } in nsdus {
                let peer = station(of as u32 + 1);
                pair[1 - of].receive(now, Nsdu { peer, packet });
            }
        }
    }
}

#[test]
fn an_idle_connection_costs_as_little_after_traffic() {
    for extended in [false, true] {
        let mut pair = None;
        let held = allocation_counter::measure(|| pair = Some(after_traffic(extended)));
        let [one, two] = pair.unwrap();
        let sent = one.counters().sent[Kind::Dt as usize] + two.counters().sent[Kind::Dt as usize];
        // 1,500 octets are two DTs.
        assert!(sent >= (USED * ROUNDS) as u64 * 4, "{sent} DTs");
        assert!(one.counters().out_of_order + two.counters().out_of_order > 0);
        let each = usize::try_from(held.bytes_current).unwrap() / (2 * USED);
        println!(
            "seen: {each} octets for each of {USED} connections after {sent} DTs, extended {extended}"
        );
        assert!(each < MOST_OCTETS, "{each} octets, extended format {extended}");
    }
}

#[test]
fn only_expired_timers_are_examined() {
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

/// Sends ten TSDUs of one DT each over every connection of a pair whose receiver has memory for four.
#[test]
fn credit_is_taken_from_memory_and_never_below_zero() {
    let sender = Params { checksum: false, ..Params::lan() };
    let credit = stack::tp4::Credit::ByUser;
    let receiver = Params { memory_octets: Some(4 * 1_024 + 1_023), credit, ..sender.clone() };
    let mut pair = [Entity::new(sender, 0), Entity::new(receiver, 0)];
    let (mut now, mut accepted) = (Instant::ZERO, Vec::new());
    let mut ends = Vec::new();
    for _ in 0..2 {
        let endpoint = pair[0].endpoint();
        let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
        let peer = station(2);
        pair[0].request(now, Request::Connect { endpoint, peer, called, calling, data });
        exchange(&mut pair, now, &mut accepted);
        ends.push(endpoint);
    }
    for endpoint in ends.iter().flat_map(|endpoint| core::iter::repeat_n(*endpoint, 10)) {
        let tsdu = Bytes::from_static(&[7; 500]);
        pair[0].request(now, Request::Data { endpoint, tsdu });
    }
    let [first, second] = accepted[..] else { panic!("{accepted:?}") };
    let mut received = |pair: &mut [Entity; 2], now| {
        exchange(pair, now, &mut accepted);
        pair[1].counters().received[Kind::Dt as usize]
    };
    // 4 x 1,024 octets are four buffers: all four are the first connection's, the second has none.
    assert_eq!(received(&mut pair, now), 4);
    pair[1].request(now, Request::GiveBack { endpoint: first, buffers: 3 });
    assert_eq!(received(&mut pair, now), 7, "three more messages");
    // A user that returns more than it has is given no more than there is.
    pair[1].request(now, Request::GiveBack { endpoint: second, buffers: 9 });
    assert_eq!(received(&mut pair, now), 7, "the second connection has no buffer to return");
    now += Duration::from_millis(1);
    pair[1].request(now, Request::Disconnect { endpoint: first, reason: 128 });
    assert_eq!(received(&mut pair, now), 11, "the four of the first are now the second's");
    assert_eq!(pair[1].counters().outside_window, 0);
}
