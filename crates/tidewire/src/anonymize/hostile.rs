//! Entry of the fuzz target of pseudonymisation: runs a script of frames and checks invariants.
//!
//! Invariants: a meter counts the same for the original and the pseudonymised frames. An address
//! always maps to the same address, and common prefixes keep their length. Valid checksums stay
//! valid, invalid ones invalid. No user data is kept. A capture of the kept parts gives the same
//! counts as the frames.

use crate::anonymize::Key;
use core::net::Ipv6Addr;
use core::time::Duration;
use meter::oddity::Class;
use meter::{Address, Connection, Meter, Report, Settings};
use std::collections::BTreeMap;
use wire::addr::Nsap;
use wire::capture::Capture;
use wire::dissect::{Layer, Link, NoNsdu, dissect_cut, levels, strip_user_data};
use wire::rewrite::{Names as _, Renamed, rename};
use wire::time::Instant;
use wire::{clnp, ipv4, pcapng, tcp, tp};

/// Key of the authors' implementation of 2002.
pub(crate) const SECRET: [u8; 32] = [
    21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143, 131, 121,
    121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2,
];
/// Link types whose frames are self-contained; most have headers with addresses.
const LINKS: [u32; 12] = [0, 1, 9, 10, 101, 104, 107, 108, 113, 228, 252, 276];
/// Maximum number of addresses in a script of which every pair is compared.
const COMPARED: usize = 64;
/// Number of mutable address bits that cannot all stay unchanged by chance.
const MANY_BITS: usize = 32;

/// Result of a script.
#[derive(Default)]
pub(crate) struct Seen {
    /// Number of addresses that changed.
    pub(crate) addresses: usize,
    /// Number of TPDUs counted.
    pub(crate) tpdus: u64,
    /// Number of TPDUs counted in a capture of the kept parts.
    pub(crate) kept_tpdus: u64,
}

/// Runs octets as a script: each step is a head of 8 octets and a body with the length given there.
/// The body is a frame, or the payload of a frame built from the head.
pub(crate) fn script(octets: &[u8]) -> Seen {
    let key = Key::new(SECRET);
    let settings = Settings::every(Duration::from_secs(1));
    let [mut open, mut masked, mut alone] = [(); 3].map(|()| Meter::new(settings.clone()));
    let mut names = Names { key: &key, known: BTreeMap::new() };
    let mut kept_frames = Vec::new();
    let (mut rest, mut nanos) = (octets, 0_u64);
    while let Some((head, behind)) = rest.split_first_chunk::<8>() {
        let (body, behind) = behind.split_at(usize::from(head[7]).min(behind.len()));
        rest = behind;
        let (link, whole) = frame(head, body);
        let cut = if head[2] & 0x40 == 0 { 0 } else { usize::from(head[6]) };
        let (before, original) = (&whole[..whole.len().saturating_sub(cut)], whole.len());
        let Renamed { octets: after, kept, .. } = rename(&key, link, before, original);
        assert_eq!(after.len(), before.len());
        assert!(kept.len() <= before.len());
        names.compare(link, before, &after, original);
        names.compare_front(link, before, &kept, original);
        check_user_data(&key, link, (before, original), &kept);
        nanos += u64::from(head[5]) * 1_000_000;
        let at = Instant::from_nanos(nanos);
        open.observe(at, link, before, original);
        masked.observe(at, link, &after, original);
        if is_kept_as_it_is(link, before, original) {
            alone.observe(at, link, before, original);
            kept_frames.push((at, link, kept, original));
        }
    }
    names.check_fronts();
    let total = open.finish();
    check_alike((&open, &total), &mut masked);
    let kept = alone.finish();
    check_capture(settings, (&alone, &kept), &kept_frames);
    let tpdus = |total: &Report| total.measures.traffic.transport.all().tpdus;
    Seen { addresses: names.known.len(), tpdus: tpdus(&total), kept_tpdus: tpdus(&kept) }
}

/// Builds a frame and its link from a head and a body.
fn frame(head: &[u8; 8], body: &[u8]) -> (Link, Vec<u8>) {
    let [kind, ends, flags, a, b, ..] = *head;
    let (from, to) = (ends & 3, ends >> 2 & 3);
    let lan = |npdu: &[u8]| {
        let mut octets = vec![2, 0, 0, 0, ends >> 4, to, 2, 0, 0, 0, ends >> 4, from];
        octets.extend((npdu.len() as u16 + 3).to_be_bytes());
        octets.extend([0xFE, 0xFE, 3]);
        octets.extend(npdu);
        (Link::Ethernet, octets)
    };
    let typed = |kind: u16, shim: &[u8], packet: &[u8]| {
        let mut octets = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from];
        octets.extend(kind.to_be_bytes());
        octets.extend(shim);
        octets.extend(packet);
        (Link::Ethernet, octets)
    };
    let is_right = flags & 0x80 == 0;
    match kind % 8 {
        0 => (Link::Ethernet, body.to_vec()),
        1 => (Link::from_dlt(LINKS[usize::from(ends) % LINKS.len()]), body.to_vec()),
        2 => lan(&[&[clnp::INACTIVE][..], body].concat()),
        kind @ (3 | 4) => {
            let segmentation = (kind == 4).then_some(clnp::Segmentation {
                identifier: u16::from(a & 3),
                offset: u16::from(b) * 8,
                total_octets: 512,
            });
            lan(&network((from, to), flags, segmentation, body))
        }
        5 => {
            let packet = internet(head, body, is_right);
            match flags & 3 {
                0 => (Link::Other(101), packet),
                1 => typed(0x0800, &[], &packet),
                2 => typed(0x8847, &[0, 1, 0xD1, 0xFF], &packet),
                _ => typed(0x8100, &[0x20, 5, 8, 0], &packet),
            }
        }
        6 => typed(0x86DD, &[], &internet_6(head, body, is_right)),
        _ => {
            let mut octets = vec![0, 20, 0, 4, 10, 0, from, from, 0, 21, 0, 4, 10, 0, to, to];
            octets.extend([0, 25, 0, 4, 0, 0, 0, 102, 0, 0, 0, 0]);
            octets.extend(body);
            (Link::Other(252), octets)
        }
    }
}

/// Builds a CLNP PDU; flags select its options, the length of its addresses, and a valid or invalid
/// checksum.
fn network(
    (from, to): (u8, u8),
    flags: u8,
    segmentation: Option<clnp::Segmentation>,
    data: &[u8],
) -> Vec<u8> {
    let length = [7, 10, 20, 3][usize::from(flags & 3)];
    let address = |host: u8| {
        let mut octets = [0x49, 0, 1, host, 0, 5, host, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host, 1];
        octets[length - 1] = 1;
        Nsap::new(&octets[..length]).expect("at most 20 octets")
    };
    // Source routing via an address, and a security label (ISO 8473 7.5.4, 7.5.3).
    let options: &[u8] = match flags >> 2 & 3 {
        0 | 1 => &[],
        2 => &[0xC8, 6, 0, 3, 2, 0x49, 0x77, 0x01],
        _ => &[0xC5, 2, 0x53, 0x54],
    };
    let mut pdu = clnp::Pdu {
        version: clnp::VERSION,
        lifetime: 10,
        segmentation_permitted: segmentation.is_some(),
        more_segments: segmentation.is_some() && flags & 0x10 != 0,
        error_report: false,
        kind: clnp::Kind::Data,
        segment_octets: 0,
        checksum: [0, 0],
        destination: address(to),
        source: address(from),
        segmentation,
        options,
        data,
        header_octets: 0,
    };
    let header_octets = pdu.encoded_header_octets();
    pdu.segment_octets = (header_octets + data.len()) as u16;
    let mut octets = Vec::new();
    pdu.encode(&mut octets);
    clnp::seal(&mut octets[..header_octets]);
    if flags & 0x80 != 0 {
        octets[7] ^= 1;
    }
    octets
}

/// Builds a TCP segment.
fn segment(head: &[u8; 8], data: &[u8]) -> Vec<u8> {
    let [_, ends, flags, a, b, ..] = *head;
    let mut octets = vec![4, ends & 3, 4, ends >> 2 & 3, 0, 0, a & 3, b, 0, 0, 0, flags >> 4 & 3];
    octets.extend([0x50, flags & 0x07 | 0x10, 0x20, 0, 0, 0, 0, 0]);
    octets.extend(data);
    octets
}

/// Writes a valid or an invalid checksum.
fn seal(octets: &mut [u8], at: usize, sum: u16, is_right: bool) {
    let checksum = !sum ^ u16::from(!is_right);
    octets[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Builds an IPv4 packet with such a segment; a flag adds a record-route option.
fn internet(head: &[u8; 8], data: &[u8], is_right: bool) -> Vec<u8> {
    let [_, ends, flags, ..] = *head;
    let (from, to) = (ends & 3, ends >> 2 & 3);
    let options: &[u8] = if flags & 8 == 0 { &[] } else { &[7, 7, 8, 10, 0, 9, 9, 0] };
    let mut segment = segment(head, data);
    let mut packet = vec![0x40 | (5 + options.len() / 4) as u8, 0];
    packet.extend(((20 + options.len() + segment.len()) as u16).to_be_bytes());
    packet.extend([0, ends, 0x40, 0, 64, 6, 0, 0, 10, 0, from, from, 10, 0, to, to]);
    let sum =
        ones_sum(&[&packet[12..20], &[0, 6], &(segment.len() as u16).to_be_bytes(), &segment]);
    seal(&mut segment, 16, sum, is_right);
    packet.extend(options);
    let sum = ones_sum(&[&packet]);
    seal(&mut packet, 10, sum, is_right);
    packet.extend(segment);
    packet
}

/// Builds an IPv6 packet with such a segment; a flag adds destination options.
fn internet_6(head: &[u8; 8], data: &[u8], is_right: bool) -> Vec<u8> {
    let [_, ends, flags, ..] = *head;
    let address = |host: u8| [0x20, 1, 0xD, 0xB8, 0, 0, 0, host, 0, 0, 0, 0, 0, 0, 0, host];
    let extension: &[u8] = if flags & 8 == 0 { &[] } else { &[6, 0, 1, 4, 0, 0, 0, 0] };
    let mut segment = segment(head, data);
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(((extension.len() + segment.len()) as u16).to_be_bytes());
    packet.extend([if extension.is_empty() { 6 } else { 60 }, 64]);
    packet.extend(address(ends & 3));
    packet.extend(address(ends >> 2 & 3));
    let length = (segment.len() as u16).to_be_bytes();
    let sum = ones_sum(&[&packet[8..40], &[0, 6], &length, &segment]);
    seal(&mut segment, 16, sum, is_right);
    packet.extend(extension);
    packet.extend(segment);
    packet
}

/// Returns the one's complement sum of 16-bit words (RFC 1071); each part starts a new word.
fn ones_sum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let word = |it: &[u8]| u64::from(it[0]) << 8 | it.get(1).map_or(0, |low| u64::from(*low));
    let mut sum: u64 = words.map(word).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// Kind of address with its own mapping.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Realm {
    Station,
    Internet,
    Network,
}

/// The addresses of a script and their mappings.
struct Names<'a> {
    key: &'a Key,
    known: BTreeMap<(Realm, Vec<u8>), Vec<u8>>,
}

impl Names<'_> {
    fn mapped(&self, realm: Realm, address: &[u8]) -> Vec<u8> {
        let mut mapped = address.to_vec();
        match realm {
            Realm::Station => self.key.station(&mut mapped),
            Realm::Internet => self.key.internet(&mut mapped),
            Realm::Network => self.key.network(&mut mapped),
        }
        mapped
    }

    /// Checks that a frame keeps its layers and the validity of its checksums, with other
    /// addresses.
    fn compare(&mut self, link: Link, before: &[u8], after: &[u8], original: usize) {
        let [old, new] = [before, after].map(|octets| dissect_cut(link, octets, original));
        assert_eq!(old.layers.len(), new.layers.len(), "{old}\n{new}");
        assert_eq!(old.fault, new.fault);
        self.addresses(&old.layers, &new.layers);
        for (old, new) in old.layers.iter().zip(&new.layers) {
            assert_eq!(is_right(old), is_right(new), "{old} {new}");
        }
    }

    /// Checks the same for the part that is kept.
    fn compare_front(&mut self, link: Link, before: &[u8], kept: &[u8], original: usize) {
        let old = dissect_cut(link, before, original).layers;
        let new = dissect_cut(link, kept, original).layers;
        assert!(new.len() <= old.len() + 1, "one may be missing octets");
        self.addresses(&old, &new);
        for layer in &new {
            match layer {
                Layer::Leaf(..) => panic!("a layer kept its addresses: {layer}"),
                Layer::Ipv4(pdu) => assert!(pdu.options.iter().all(|octet| *octet == 1)),
                Layer::Clnp(clnp::Pdu { options: [0xCC, _, cleared @ ..], .. }, _) => {
                    assert!(cleared.iter().all(|octet| *octet == 0), "{layer}");
                }
                Layer::Clnp(pdu, _) => assert!(pdu.options.len() < 2, "{layer}"),
                _ => {}
            }
        }
    }

    fn addresses(&mut self, old: &[Layer<'_>], new: &[Layer<'_>]) {
        for (old, new) in old.iter().zip(new) {
            let (old, new) = (addresses_of(old), addresses_of(new));
            for ((realm, old), (_, new)) in old.into_iter().zip(new) {
                assert_eq!(new, self.mapped(realm, &old), "{realm:?} {old:02x?}");
                let bits = match realm {
                    Realm::Station if old[0] & 1 != 0 || old == [0; 6] => 0,
                    Realm::Station | Realm::Internet => old.len() * 8,
                    Realm::Network => old.len().saturating_sub(2) * 8,
                };
                assert!(bits < MANY_BITS || new != old, "{realm:?} {old:02x?} is what it was");
                if self.known.len() < COMPARED && bits > 0 {
                    self.known.insert((realm, old), new);
                }
            }
        }
    }

    /// Checks that the common prefix of each two addresses of a kind and length keeps its length.
    fn check_fronts(&self) {
        for ((realm, one), new_one) in &self.known {
            for ((_, other), new_other) in
                self.known.iter().filter(|((of, other), _)| of == realm && other.len() == one.len())
            {
                assert_eq!(common(one, other), common(new_one, new_other), "{realm:?}");
            }
        }
    }
}

/// Returns the length in bits of the common prefix.
fn common(one: &[u8], other: &[u8]) -> usize {
    let differing = one.iter().zip(other).position(|(a, b)| a != b);
    differing.map_or(one.len() * 8, |at| at * 8 + (one[at] ^ other[at]).leading_zeros() as usize)
}

fn addresses_of(layer: &Layer<'_>) -> Vec<(Realm, Vec<u8>)> {
    match layer {
        Layer::Mac(pdu) => vec![
            (Realm::Station, pdu.destination.0.to_vec()),
            (Realm::Station, pdu.source.0.to_vec()),
        ],
        Layer::Encapsulation(pdu) => {
            let stations = [pdu.destination, pdu.source].map(|it| (Realm::Station, it.0.to_vec()));
            let hosts = pdu.nsaps.map(|it| (Realm::Internet, it.octets().to_vec()));
            stations.into_iter().chain(hosts).collect()
        }
        Layer::Clnp(pdu, _) => {
            [pdu.destination, pdu.source].map(|it| (Realm::Network, it.octets().to_vec())).into()
        }
        Layer::Ipv4(pdu) => {
            [pdu.source, pdu.destination].map(|it| (Realm::Internet, it.octets().to_vec())).into()
        }
        Layer::Ipv6(pdu) => {
            [pdu.source, pdu.destination].map(|it| (Realm::Internet, it.octets().to_vec())).into()
        }
        _ => Vec::new(),
    }
}

/// Returns the validity of the checksums that cover the addresses of a layer.
fn is_right(layer: &Layer<'_>) -> (Option<clnp::Checksum>, Option<bool>, Option<bool>) {
    let over = |source: &[u8], destination: &[u8], octets: &[u8]| {
        let length = (octets.len() as u32).to_be_bytes();
        let parts = [source, destination, &[0, tcp::PROTOCOL], &length[..], octets];
        (octets.len() >= 20).then(|| ones_sum(&parts) == 0xFFFF)
    };
    match layer {
        Layer::Clnp(_, checksum) => (Some(*checksum), None, None),
        Layer::Ipv4(pdu) => {
            let mut header = Vec::new();
            ipv4::Pdu { data: &[], ..*pdu }.encode(&mut header);
            let is_tcp = pdu.protocol == tcp::PROTOCOL && !pdu.is_fragment();
            let sum = over(&pdu.source.octets(), &pdu.destination.octets(), pdu.data);
            (None, Some(ones_sum(&[&header]) == 0xFFFF), sum.filter(|_| is_tcp))
        }
        Layer::Ipv6(pdu) => {
            let carried = pdu.carried().ok();
            let segment = carried.filter(|it| it.protocol == tcp::PROTOCOL && !it.is_fragment);
            let (source, destination) = (pdu.source.octets(), pdu.destination.octets());
            let sum = segment.and_then(|it| over(&source, &destination, it.octets));
            (None, None, sum)
        }
        _ => (None, None, None),
    }
}

/// Checks that the kept part of a frame does not depend on its user data.
fn check_user_data(key: &Key, link: Link, (octets, original): (&[u8], usize), kept: &[u8]) {
    if !matches!(levels(link, octets, original).nsdu, Ok(_) | Err(NoNsdu::Stream(_))) {
        return;
    }
    let mut bare = octets.to_vec();
    let headers = strip_user_data(link, &mut bare, original);
    for (place, octet) in bare.iter_mut().enumerate() {
        if place >= headers || *octet != octets[place] {
            *octet = !octets[place];
        }
    }
    let again = rename(key, link, &bare, original).kept;
    assert_eq!(again, kept, "user data shows in what is kept");
}

/// Returns true if everything the meter counts is kept: the frame has no TCP, no segment, and no
/// malformed part.
fn is_kept_as_it_is(link: Link, octets: &[u8], original: usize) -> bool {
    let Ok(nsdu) = levels(link, octets, original).nsdu else { return false };
    let is_read = |raw: Result<tp::Raw<'_>, _>| {
        let Ok(raw) = raw else { return false };
        // Without the user data an invalid checksum cannot be detected.
        tp::Pdu::decode(&raw, None)
            .is_ok_and(|pdu| raw.checksum(pdu.parameters(), &[]) != tp::Checksum::Bad)
    };
    // An exported PDU is not kept at all.
    link.dlt() != 252
        && nsdu.segment.is_none()
        && nsdu.missing_octets == 0
        && tp::tpdus(nsdu.octets).all(is_read)
}

/// Checks that the two meters counted the same, for hosts and connections that appeared in the same
/// order.
fn check_alike((open, total): (&Meter, &Report), masked: &mut Meter) {
    let same = masked.finish();
    assert_eq!(total.measures, same.measures);
    assert_eq!(total.oddities, same.oddities);
    let counts = |meter: &Meter| -> Vec<_> {
        meter.each_host().map(|it| (it.address.is_some(), it.sent, it.received)).collect()
    };
    assert_eq!(counts(open), counts(masked));
    let known = |meter: &Meter| -> Vec<_> {
        let place = |address: Address| meter.each_host().position(|it| it.address == Some(address));
        let unspecified = (Address::Internet(Ipv6Addr::UNSPECIFIED), 0);
        let all = meter.each_connection();
        all.map(|it| {
            let ends = it.ends.map(|(address, port)| (place(address), port));
            (ends, Connection { ends: [unspecified; 2], ..it })
        })
        .collect()
    };
    assert_eq!(known(open), known(masked));
}

/// Checks that a capture of the kept parts gives the same counts as the frames, except for the user
/// protocol, which is detected by selectors.
fn check_capture(
    settings: Settings,
    (open, total): (&Meter, &Report),
    frames: &[(Instant, Link, Vec<u8>, usize)],
) {
    let mut writer = pcapng::Writer::new(Vec::new()).expect("writing to memory cannot fail");
    for (at, link, kept, original) in frames {
        let interface = writer.interface(*link, "").expect("a script has few interfaces");
        writer.write(interface, *at, kept, *original, "").expect("writing to memory cannot fail");
    }
    let file = writer.into_inner();
    let mut capture =
        Capture::open(std::io::Cursor::new(file)).expect("a capture just written is readable");
    let mut meter = Meter::new(settings);
    while let Some(it) = capture.next().expect("a capture just written is readable") {
        meter.observe(it.at, it.link, it.octets, it.original_octets);
    }
    let again = meter.finish();
    assert_eq!(again.measures, total.measures);
    // Missing user data is expected.
    let odd = again.oddities.iter().filter(|(class, ..)| *class != Class::Truncated);
    assert!(odd.eq(total.oddities.iter()), "{:?} and {:?}", again.oddities, total.oddities);
    let told = |meter: &Meter| -> Vec<_> {
        let all = meter.each_connection();
        all.map(|it| (it.serial, it.references, it.directions, it.history, it.ending)).collect()
    };
    assert_eq!(told(open), told(&meter));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Encodes a step of a script.
    fn step(kind: u8, ends: u8, flags: u8, body: &[u8]) -> Vec<u8> {
        [&[kind, ends, flags, 0, 0, 1, 9, body.len() as u8][..], body].concat()
    }

    /// Returns a CR of class 4 with two selectors, a security parameter and a checksum; a CC; and
    /// DTs with and without one, the second after an AK.
    fn tpdus() -> Vec<Vec<u8>> {
        let seal = |octets: &[u8], at: usize| {
            let mut octets = octets.to_vec();
            tp::seal(&mut octets, at, &[]);
            octets
        };
        vec![
            seal(
                &[
                    22, 0xE0, 0, 0, 0, 5, 0x40, 0xC1, 2, 0x41, 0x42, 0xC2, 2, 0x43, 0x44, 0xC5, 2,
                    0x53, 0x54, 0xC3, 2, 0, 0,
                ],
                21,
            ),
            vec![6, 0xD0, 0, 5, 0, 6, 0x40],
            vec![4, 0xF0, 0, 6, 0x80, 0x61, 0x62],
            vec![4, 0x60, 0, 6, 1, 4, 0xF0, 0, 6, 0x81, 0x63],
        ]
    }

    fn seeds() -> Vec<(&'static str, Vec<u8>)> {
        // From 1 to 2 and back.
        let (there, back) = (0b1001, 0b0110);
        let spoken = |kind: u8, flags: u8| -> Vec<u8> {
            let steps = tpdus().into_iter().enumerate();
            steps.flat_map(|(nth, it)| step(kind, [there, back][nth & 1], flags, &it)).collect()
        };
        let tpkt = [3, 0, 0, 9, 2, 0xF0, 0x80, 0x61, 0x62];
        let sll = [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0, 0, 4][..], &[0xFE, 0xFE, 3, 0]];
        let mut es_is = vec![9, 0, 0x2B, 0, 0, 4, 2, 0, 0, 0, 0, 1, 0, 12, 0xFE, 0xFE, 3];
        es_is.extend([0x82, 10, 1, 0, 4, 1, 0x2C, 0, 0, 0]);
        vec![
            ("inactive", spoken(2, 0)),
            ("clnp", spoken(3, 1)),
            ("clnp-options", [spoken(3, 8), spoken(3, 0x8C)].concat()),
            ("clnp-longest", spoken(3, 2)),
            ("clnp-cut", spoken(3, 0x40)),
            ("segments", [step(4, there, 0x10, &[0; 8]), step(4, there, 0, &tpdus()[2])].concat()),
            ("ipv4", [step(5, there, 1, &tpkt), step(5, back, 0x8A, &tpkt)].concat()),
            ("ipv4-tagged", step(5, there, 3, &tpkt)),
            ("ipv6", [step(6, there, 0, &tpkt), step(6, back, 0x88, &tpkt)].concat()),
            ("exported", step(7, there, 0, &tpkt[4..])),
            ("cooked", step(1, 8, 0, &[sll.concat(), tpdus().concat()].concat())),
            ("es-is", step(0, 0, 0, &es_is)),
        ]
    }

    #[test]
    fn corpus_begins_with_the_seeds_and_every_file_passes_checks() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/anonymize"));
        for (name, octets) in seeds() {
            let path = folder.join(name);
            if std::env::var_os("BLESS").is_some() {
                fs::create_dir_all(folder).unwrap();
                fs::write(&path, &octets).unwrap();
            }
            let found = fs::read(&path).unwrap_or_default();
            assert_eq!(found, octets, "{} is not what this test makes", path.display());
        }
        let files = fs::read_dir(folder).unwrap();
        let seen: Vec<Seen> =
            files.map(|file| script(&fs::read(file.unwrap().path()).unwrap())).collect();
        // Five TPDUs pass five times, one of them with addresses under an invalid checksum and one
        // truncated; four DTs of class 0 are in TCP, and one is exported.
        let tpdus: u64 = seen.iter().map(|it| it.tpdus).sum();
        assert!(tpdus >= 20, "{tpdus} TPDUs");
        assert!(seen.iter().filter(|it| it.kept_tpdus >= 5).count() >= 4);
    }

    #[test]
    fn scripts_of_seeds_with_octets_changed_keep_every_claim() {
        let scripts = std::env::var("TIDEWIRE_SCRIPTS").map_or(600, |text| text.parse().unwrap());
        let seeds = seeds();
        let (mut addresses, mut kept, mut tpdus) = (0, 0, 0);
        for seed in 0..scripts {
            // SplitMix64.
            let mut state: u64 = seed;
            let mut below = |bound: usize| {
                state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
            };
            let mut octets: Vec<u8> =
                (0..3).flat_map(|_| seeds[below(seeds.len())].1.clone()).collect();
            let one_in = [8, 40, 200][below(3)];
            for octet in &mut octets {
                if below(one_in) == 0 {
                    *octet = below(256) as u8;
                }
            }
            let seen = script(&octets);
            addresses += seen.addresses;
            kept += seen.kept_tpdus;
            tpdus += seen.tpdus;
        }
        assert!(kept > scripts && tpdus > kept, "{kept} of {tpdus} TPDUs in captures");
        println!("seen: {addresses} addresses and {tpdus} TPDUs in {scripts} scripts");
        println!("seen: {kept} of the TPDUs in captures of what is kept");
    }
}
