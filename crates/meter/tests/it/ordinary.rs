//! Scripts of common frames for the fast path of the meter, and of frames that it must not accept.

use crate::{Draws, entry};

const ACK: u8 = 0x10;
const PUSH: u8 = 8;
const FIN: u8 = 1;
const RST: u8 = 4;
const SYN: u8 = 2;

/// Step of a script.
fn step(head: [u8; 7], body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(body.len()).unwrap();
    [&head[..], &[length], body].concat()
}

/// Traffic between one of three hosts and host 3, seldom from host 3 to itself; in a few frames the
/// missing octets were not sent either.
fn ends(draws: &mut Draws) -> (u8, u8) {
    let (host, way) = (draws.below(13) as u8 / 4, draws.below(2) as u8);
    let ends = if way == 0 { host | 3 << 2 } else { 3 | host << 2 };
    (host, if draws.below(20) == 0 { ends | 128 } else { ends })
}

/// One or two packets of class 0, mostly a DT.
fn packets(draws: &mut Draws) -> Vec<u8> {
    let tpdu = match draws.below(40) {
        0 => vec![6, 0xE0, 0, 0, 0, 1, 0],
        1 => vec![6, 0xD0, 0, 1, 0, 2, 0],
        2 => vec![6, 0x80, 0, 1, 0, 2, 0],
        3 => vec![2, 0xF0, 0x80, 0x7F, 0x65, 1, 2],
        4 => vec![2, 0xF0, 0x80],
        _ => {
            let number = [0x80, 0x80, 0, 0x85][draws.below(4)];
            [&[2, 0xF0, number, 0x32, 1][..], &vec![7; draws.below(90)]].concat()
        }
    };
    let mut packet = vec![3, 0, 0, 4 + tpdu.len() as u8];
    packet.extend(tpdu);
    if draws.below(20) == 0 {
        packet.extend(packets(draws));
    }
    packet.truncate(255);
    packet
}

/// Segment in sequence, or a segment that is early, late, empty or cut, or ends the stream.
fn segment(draws: &mut Draws) -> Vec<u8> {
    let (_, ends) = ends(draws);
    let data = packets(draws);
    let ahead = match draws.below(30) {
        0 => 40,
        1 => -20,
        2 => -1,
        _ => 0_i16,
    };
    let (flags, data) = match draws.below(60) {
        0 => (SYN, &[][..]),
        1 => (SYN | ACK, &[][..]),
        2 => (FIN | ACK, &[][..]),
        3 => (RST, &[][..]),
        4..14 => (ACK, &[][..]),
        14 => (ACK, &data[..draws.below(data.len())]),
        _ => (ACK | PUSH, &data[..]),
    };
    let [high, low] = ahead.to_be_bytes();
    let heard = if draws.below(10) == 0 { draws.octet() } else { 0 };
    let kind = 7 | oddly(draws);
    // One stream may cross several links; most segments are on Ethernet.
    let ends = if draws.below(3) == 0 { ends | (16 * (1 + draws.below(5) as u8)) } else { ends };
    step([kind, ends, flags, high, low, heard, passed(draws)], data)
}

/// TPDU of class 4, mostly a DT or an AK in turn; `numbers` are those of each host's next DT, in
/// both directions.
fn datagram(draws: &mut Draws, numbers: &mut [[u32; 2]; 4]) -> Vec<u8> {
    let (host, ends) = ends(draws);
    let side = usize::from(ends & 3 == 3);
    let sent = &mut numbers[usize::from(host)];
    // References: hosts have 1 to 4, and host 3 assigned 11 to 14 to them.
    let reference = |of: usize| host + 1 + 10 * of as u8;
    let is_extended = host == 2;
    let open = |code: u8, from: usize, to: u8| {
        let mut header = vec![0, code, 0, to, 0, reference(from), 0x40];
        if is_extended {
            header[6] |= 2;
        }
        header
    };
    let mut tpdu = match draws.below(50) {
        0 => open(0xE3, side, 0),
        1 => open(0xD3, side, reference(1 - side)),
        2 => vec![0, 0x80, 0, reference(1 - side), 0, reference(side), 0],
        n => {
            let is_ak = n < 20;
            let next = &mut sent[if is_ak { 1 - side } else { side }];
            let number = match draws.below(12) {
                0 => next.wrapping_sub(1),
                1 => next.wrapping_add(2),
                _ => *next,
            };
            *next += u32::from(!is_ak);
            let eot = if is_ak || n % 3 == 0 { 0 } else { 0x80 };
            let code = if is_ak { 0x60 | draws.below(3) as u8 } else { 0xF0 };
            let mut header = vec![0, code, 0, reference(1 - side)];
            if is_extended {
                header.extend((number & 0x7FFF_FFFF | u32::from(eot) << 24).to_be_bytes());
                header.extend([0, 9].iter().filter(|_| is_ak));
            } else {
                header.push(number as u8 & 0x7F | eot);
            }
            header
        }
    };
    if draws.below(3) == 0 {
        tpdu.extend([0xC3, 2, 0, 0]);
    }
    tpdu[0] = tpdu.len() as u8 - 1;
    if tpdu[1] == 0xF0 {
        tpdu.resize(tpdu.len() + draws.below(150), 0x5A);
    }
    // Seldom another TPDU in the same frame.
    if draws.below(40) == 0 {
        tpdu.extend([4, 0xF0, 0, reference(1 - side), 0x80]);
    }
    let flags = match draws.below(80) {
        0 => 16,
        1 => 32 * (1 + draws.below(4) as u8),
        _ => draws.below(9) as u8,
    };
    step([4 | oddly(draws), ends, flags, 0, 0, 0, passed(draws)], &tpdu)
}

/// Flags that compare the meters, set time back, or cut octets, each seldom.
fn oddly(draws: &mut Draws) -> u8 {
    let cut = 32 * draws.below(4) as u8;
    [(40, 8), (60, 16), (8, cut)]
        .map(|(bound, bits)| if draws.below(bound) == 0 { bits } else { 0 })
        .into_iter()
        .sum()
}

/// Milliseconds since the previous step.
fn passed(draws: &mut Draws) -> u8 {
    if draws.below(50) == 0 { 255 } else { draws.below(20) as u8 }
}

/// Script of this number of steps.
pub(crate) fn script(seed: u64, steps: usize) -> Vec<u8> {
    let (mut draws, mut numbers) = (Draws(seed), [[0; 2]; 4]);
    let mut octets = Vec::new();
    for _ in 0..steps {
        let next = match draws.below(2) {
            0 => segment(&mut draws),
            _ => datagram(&mut draws, &mut numbers),
        };
        // Lost before the tap, or captured twice.
        for _ in 0..[1, 1, 1, 1, 1, 1, 1, 0, 2][draws.below(9)] {
            octets.extend(&next);
        }
    }
    octets
}

#[test]
fn the_fast_path_counts_what_dissection_does() {
    let scripts = std::env::var("TIDEWIRE_SCRIPTS").map_or(300, |text| text.parse().unwrap());
    for seed in 0..scripts {
        entry::script(&script(seed, 300));
    }
}

#[test]
fn an_evicted_connection_is_found_under_way_by_its_next_dt() {
    const CR: [u8; 11] = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0];
    const CC: [u8; 11] = [3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0];
    const DT: [u8; 9] = [3, 0, 0, 9, 2, 0xF0, 0x80, 0x32, 1];
    // Host 1 calls host 2 over Ethernet, in order, 250 ms from segment to segment.
    let there = |flags, data: &[u8]| step([7, 1 | 2 << 2, flags, 0, 0, 0, 250], data);
    let back = |flags, data: &[u8]| step([7, 2 | 1 << 2, flags, 0, 0, 0, 250], data);
    let opened = [there(SYN, &[]), back(SYN | ACK, &[]), there(ACK, &CR), back(ACK, &CC)].concat();
    let data = [there(ACK, &DT), there(ACK, &DT)].concat();
    // TCP segments without data for 3 s: connections are evicted after 2 s of silence.
    let silence = [there(ACK, &[]), back(ACK, &[])].concat().repeat(6);
    entry::script(&[&opened[..], &data, &silence, &data].concat());
}
