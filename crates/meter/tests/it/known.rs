//! State of a meter during measuring: times, connections, hosts, and invalid segments.

use core::time::Duration;
use meter::measure::Times;
use meter::oddity::{Class, Oddities};
use meter::{Address, Connection, Meter, Numbers, Settings};
use wire::addr::{Mac, Nsap};
use wire::dissect::Link;
use wire::time::Instant;
use wire::tp::Reference;
use wire::{clnp, mac};

const MILLISECOND: u64 = 1_000_000;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * MILLISECOND)
}

/// LLC frame from one station to another.
fn frame(from: u32, to: u32, npdu: &[u8]) -> Vec<u8> {
    let length = u16::try_from(3 + npdu.len()).unwrap();
    let header = mac::header(Mac::local(to), Mac::local(from), length);
    [&header[..], &[0xFE, 0xFE, 3], npdu].concat()
}

/// TPDUs with the inactive network layer.
fn pass(meter: &mut Meter, millis: u64, ends: (u32, u32), tpdus: &[u8]) {
    let frame = frame(ends.0, ends.1, &[&[clnp::INACTIVE], tpdus].concat());
    meter.observe(at(millis), Link::Ethernet, &frame, frame.len());
}

/// Meter after two stations opened a connection of class 4: 1 called 2, which grants credit 3.
fn opened() -> Meter {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    pass(&mut meter, 0, (1, 2), &[6, 0xE5, 0, 0, 0, 1, 0x40]);
    pass(&mut meter, 10, (2, 1), &[6, 0xD3, 0, 1, 0, 2, 0x40]);
    meter
}

fn data(meter: &mut Meter, millis: u64, number: u8) {
    pass(meter, millis, (1, 2), &[4, 0xF0, 0, 2, 0x80 | number, 0x55]);
}

fn acknowledge(meter: &mut Meter, millis: u64, next: u8, credit: u8) {
    pass(meter, millis, (2, 1), &[4, 0x60 | credit, 0, 1, next]);
}

fn the_one(meter: &Meter) -> Connection {
    meter.each_connection().next().unwrap()
}

#[test]
fn numbers_and_credit_are_those_of_the_last_tpdus() {
    let mut meter = opened();
    assert_eq!(meter.connections(), 1);
    (0..3).for_each(|number| data(&mut meter, 20, number));
    acknowledge(&mut meter, 30, 2, 5);
    let [there, back] = *the_one(&meter).directions;
    // 0 to 2 were sent, 2 is expected, and 5 are allowed from it on.
    let numbers = Numbers { sent: 3, acknowledged: Some(2), allowed: Some(7) };
    assert_eq!(there.numbers, Some(numbers));
    // The CR granted credit 5, from number 0 on.
    let numbers = Numbers { sent: 0, acknowledged: Some(0), allowed: Some(5) };
    assert_eq!(back.numbers, Some(numbers));
    pass(&mut meter, 40, (3, 4), &[6, 0xE5, 0, 0, 0, 1, 0x40]);
    assert_eq!(meter.connections(), 2);
}

#[test]
fn a_connection_has_references_and_begins_with_its_cr() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    pass(&mut meter, 70, (1, 2), &[6, 0xE5, 0, 0, 0, 1, 0x40]);
    assert_eq!(the_one(&meter).references, [Some(Reference(1)), None]);
    pass(&mut meter, 80, (2, 1), &[6, 0xD3, 0, 1, 0, 2, 0x40]);
    let connection = the_one(&meter);
    assert_eq!(connection.references, [Some(Reference(1)), Some(Reference(2))]);
    assert_eq!((connection.start(), connection.last), (at(70), at(80)));
    data(&mut meter, 90, 0);
    assert_eq!(the_one(&meter).tpdus(), 3);
}

#[test]
fn pending_batches_are_in_every_report() {
    let mut meter = opened();
    for number in 0..3 {
        data(&mut meter, 20, number);
        let report = meter.under_way().unwrap();
        assert_eq!(report.measures.table()[12].1, u64::from(number) + 1);
        assert_eq!(report.length, Duration::from_millis(20));
    }
}

#[test]
fn batches_count_in_the_configured_size_classes() {
    let bounds_octets = [1, 6, 10, 20, 30, 40, 50, 60, 70];
    let settings = Settings { bounds_octets, ..Settings::every(Duration::from_secs(1)) };
    let mut meter = Meter::new(settings);
    pass(&mut meter, 0, (1, 2), &[6, 0xE5, 0, 0, 0, 1, 0x40]);
    pass(&mut meter, 10, (2, 1), &[6, 0xD3, 0, 1, 0, 2, 0x40]);
    (0..3).for_each(|number| data(&mut meter, 20, number));
    let sizes = meter.finish().measures.traffic.sizes;
    // DTs of 6 octets, of which 1 is data and a TSDU; CR and CC have 7.
    assert_eq!((sizes.classes[0].dt_tpdus, sizes.classes[0].tsdus), (3, 3));
    assert_eq!((sizes.classes[1].tpdus, sizes.classes[2].tpdus), (3, 2));
}

#[test]
fn a_connection_is_active_with_tpdus_or_a_closed_window() {
    let mut meter = opened();
    data(&mut meter, 20, 0);
    let active = |meter: &Meter, since, now| {
        let found: Vec<Connection> = meter.each_active_connection(at(since), at(now)).collect();
        found
    };
    assert_eq!(active(&meter, 20, 50).len(), 1, "its last TPDU was just then");
    assert_eq!(active(&meter, 21, 50).len(), 0);
    acknowledge(&mut meter, 30, 1, 0);
    assert_eq!(the_one(&meter).directions[0].closed_since, Some(at(30)));
    let closed = active(&meter, 100, 150);
    assert_eq!(closed.len(), 1, "its window is closed");
    let there = &closed[0].directions[0];
    let Times { count, total_ns, .. } = there.waits.closed_window;
    assert_eq!((count, total_ns), (1, 120_000_000));
    acknowledge(&mut meter, 160, 1, 3);
    assert_eq!(active(&meter, 161, 170).len(), 0);
    let there = &the_one(&meter).directions[0];
    assert_eq!((there.closed_since, there.waits.closed_window.total_ns), (None, 130_000_000));
}

#[test]
fn three_hundred_crs_of_one_connection_are_counted_one_by_one() {
    let mut meter = opened();
    (0..300).for_each(|_| pass(&mut meter, 20, (1, 2), &[6, 0xE5, 0, 0, 0, 1, 0x40]));
    let crs = the_one(&meter).directions[0].volumes[0];
    assert_eq!((crs.tpdus, crs.retransmissions, crs.header_octets), (301, 300, 301 * 7));
}

#[test]
fn measuring_begins_with_the_first_frame_or_at_the_origin() {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    assert_eq!(meter.began(), None);
    data(&mut meter, 70, 0);
    data(&mut meter, 80, 1);
    assert_eq!(meter.began(), Some(at(70)));
    let origin = Some(at(50));
    let mut meter = Meter::new(Settings { origin, ..Settings::every(Duration::from_secs(1)) });
    assert_eq!(meter.began(), origin);
    // A clock that reaches the origin begins the first interval.
    assert!(meter.under_way().is_none());
    meter.advance(at(49));
    assert!(meter.under_way().is_none());
    meter.advance(at(50));
    assert_eq!(meter.under_way().unwrap().length, Duration::ZERO);
}

#[test]
fn a_clock_within_an_interval_extends_its_length() {
    let mut meter = opened();
    meter.advance(at(2_500));
    assert_eq!(meter.take_interval().unwrap().index, Some(0));
    assert_eq!(meter.take_interval().unwrap().index, Some(1));
    assert!(meter.take_interval().is_none());
    let report = meter.under_way().unwrap();
    assert_eq!((report.index, report.length), (Some(2), Duration::from_millis(500)));
}

#[test]
fn a_silence_of_any_length_is_one_report() {
    let silent = |intervals: u64| {
        let mut meter = Meter::new(Settings::every(Duration::from_millis(1)));
        data(&mut meter, 0, 0);
        data(&mut meter, intervals + 1, 1);
        let taken = core::iter::from_fn(|| meter.take_interval());
        let lengths: Vec<u64> = taken.map(|report| report.intervals).collect();
        lengths
    };
    // The interval in which the DT passed, and the ones after it.
    for intervals in [1, 2, 100_000, 100_001] {
        assert_eq!(silent(intervals), [1, intervals]);
    }
}

#[test]
fn stations_are_printed_with_their_nsap_where_they_have_one() {
    let mac = Mac::local(1);
    let bare = Address::Station { mac, nsap: Nsap::default() };
    assert_eq!(bare.to_string(), "02:00:00:00:00:01");
    let nsap = Nsap::new(&[0x49, 0, 1]).unwrap();
    assert_eq!(Address::Station { mac, nsap }.to_string(), "02:00:00:00:00:01/490001");
    assert_eq!(bare.mac(), Some(mac));
    assert_eq!(
        Address::Internet("10.0.0.1".parse::<core::net::Ipv4Addr>().unwrap().to_ipv6_mapped())
            .mac(),
        None
    );
}

#[test]
fn oddities_are_empty_until_one_is_counted() {
    let mut oddities = Oddities::default();
    assert!(oddities.is_empty());
    oddities.count(Class::Time, "time ran backwards");
    assert!(!oddities.is_empty());
}

#[test]
fn hosts_beyond_the_limit_are_summed_and_64_addresses_kept_each() {
    let settings = Settings { maximum_hosts: 2, ..Settings::every(Duration::from_secs(1)) };
    let mut meter = Meter::new(settings);
    // 2 x 64 addresses are stored: the 127 senders to the first have a connection each, the next
    // has none.
    for host in 2..=129 {
        pass(&mut meter, 0, (host, 1), &[6, 0xE5, 0, 0, 0, 1, 0x40]);
    }
    assert_eq!(meter.connections(), 127);
    let hosts: Vec<_> = meter.each_host().collect();
    let named: Vec<Option<Mac>> =
        hosts.iter().map(|host| host.address.and_then(|address| address.mac())).collect();
    assert_eq!(named, [Some(Mac::local(2)), Some(Mac::local(1)), None]);
    let sent: Vec<u64> = hosts.iter().map(|host| host.sent.transport.all().tpdus).collect();
    let received: Vec<u64> = hosts.iter().map(|host| host.received.transport.all().tpdus).collect();
    assert_eq!((sent, received), (vec![1, 0, 127], vec![0, 128, 0]));
}

/// Segment of an NSDU of 48 octets whose TPDU is one DT.
fn segment(offset: u16, octets: usize, more: bool) -> Vec<u8> {
    let nsap = Nsap::new(&[0x49, 0, 1]).unwrap();
    let data = vec![0; octets];
    let mut pdu = clnp::Pdu {
        version: clnp::VERSION,
        lifetime: 10,
        segmentation_permitted: true,
        more_segments: more,
        error_report: false,
        kind: clnp::Kind::Data,
        segment_octets: 0,
        checksum: [0, 0],
        destination: nsap,
        source: nsap,
        segmentation: Some(clnp::Segmentation { identifier: 7, offset, total_octets: 0 }),
        options: &[],
        data: &data,
        header_octets: 0,
    };
    let header_octets = pdu.encoded_header_octets() as u16;
    pdu.segment_octets = header_octets + octets as u16;
    let total_octets = header_octets + 48;
    pdu.segmentation = Some(clnp::Segmentation { identifier: 7, offset, total_octets });
    let mut npdu = Vec::new();
    pdu.encode(&mut npdu);
    frame(1, 2, &npdu)
}

#[test]
fn invalid_segments_are_counted_as_oddities() {
    let odd = |octets: &[u8]| {
        let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
        meter.observe(Instant::ZERO, Link::Ethernet, octets, octets.len());
        meter.finish().oddities.get(Class::Malformed, "segment offset")
    };
    assert_eq!((odd(&segment(0, 24, true)), odd(&segment(24, 24, false))), (0, 0));
    assert_eq!(odd(&segment(4, 20, true)), 1, "offsets are multiples of 8");
    assert_eq!(odd(&segment(0, 20, true)), 1, "and so is the end of a segment before the last");
    assert_eq!(odd(&segment(40, 16, true)), 1, "it ends beyond its NSDU");
    assert_eq!(odd(&segment(24, 0, true)), 1, "it holds nothing");
    assert_eq!(odd(&segment(24, 24, true)), 1, "nothing can follow it");
    assert_eq!(odd(&segment(8, 24, false)), 1, "something has to follow it");
}
