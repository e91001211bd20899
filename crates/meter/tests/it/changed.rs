//! Hosts that changed since the last report. The script of `entry` compares them with all hosts.

use core::time::Duration;
use meter::{Address, Meter, Settings};
use wire::addr::Mac;
use wire::dissect::Link;
use wire::time::Instant;

/// A CR with this reference over LLC and the inactive network layer.
fn request(from: Mac, to: Mac, reference: u16) -> Vec<u8> {
    let [high, low] = reference.to_be_bytes();
    let above_mac = [0, 11, 0xFE, 0xFE, 3, 0, 6, 0xE0, 0, 0, high, low, 0x40];
    [&to.0[..], &from.0, &above_mac].concat()
}

#[test]
fn one_frame_among_ten_thousand_hosts_changes_two() {
    const HOSTS: u16 = 10_000;
    let second = Duration::from_secs(1);
    let settings = Settings { maximum_hosts: HOSTS.into(), ..Settings::every(second) };
    let (mut meter, mut nanos) = (Meter::new(settings), 0);
    let station = |number: u16| Mac::local(number.into());
    let mut pass = |meter: &mut Meter, from: u16, to: u16| {
        nanos += 1_000;
        let octets = request(station(from), station(to), from);
        meter.observe(Instant::from_nanos(nanos), Link::Ethernet, &octets, octets.len());
    };
    for from in (1..=HOSTS).step_by(2) {
        pass(&mut meter, from, from + 1);
    }
    assert_eq!(meter.changed_hosts(Instant::ZERO).len(), HOSTS.into());
    meter.forget_changes();
    let since = Instant::from_nanos(5_000_001);
    assert_eq!(meter.changed_hosts(since), []);
    pass(&mut meter, 11, 8_000);
    let changed = meter.changed_hosts(since);
    let stations: Vec<_> =
        changed.iter().map(|host| host.address.and_then(|it| it.mac())).collect();
    assert_eq!(stations, [11, 8_000].map(|number| Some(station(number))));
    let all: Vec<_> = meter.each_host().collect();
    for host in changed {
        let known = all.iter().find(|known| known.address == host.address).unwrap();
        assert_eq!(*host.traffic, [known.sent.clone(), known.received.clone()]);
        assert!(matches!(host.address, Some(Address::Station { .. })));
    }
}
