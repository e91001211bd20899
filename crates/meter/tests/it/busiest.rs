//! The busiest second, against the difference of counts before and after each second: of the
//! network, of each host in both directions, and of each side of each connection.

use crate::every_capture::captures;
use core::time::Duration;
use meter::measure::{Peak, Volume};
use meter::{Connection, Meter, Settings};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use wire::capture::Capture;
use wire::time::Instant;

/// Frames read of a capture.
const FRAMES: u64 = 20_000;

/// Scope of a peak: the network, a host by address and direction, a connection by number and side.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Of {
    Network,
    Host(Option<meter::Address>, usize),
    Side(u32, usize),
}

/// Total counts of the scope.
type Counted = (Volume, Peak);

/// Counts at the start of the second under way, and the maximum in an earlier second.
#[derive(Default)]
struct Seconds {
    before: BTreeMap<Of, [u64; 2]>,
    most: BTreeMap<Of, [u64; 2]>,
}

impl Seconds {
    fn note(&mut self, of: Of, volume: &Volume) {
        let now = [volume.tpdus, volume.total_octets()];
        let before = self.before.insert(of.clone(), now).unwrap_or_default();
        let most = self.most.entry(of).or_default();
        *most = [0, 1].map(|which: usize| most[which].max(now[which] - before[which]));
    }
}

fn sides(connection: &Connection) -> [(Of, Counted); 2] {
    [0, 1].map(|side| {
        let sent = &connection.directions[side];
        (Of::Side(connection.serial, side), (sent.all(), sent.peak))
    })
}

/// Counts of all scopes at present.
fn counts(meter: &Meter) -> BTreeMap<Of, Counted> {
    let mut counts: BTreeMap<Of, Counted> = BTreeMap::new();
    if let Some(report) = meter.under_way() {
        let all = &report.measures.traffic;
        counts.insert(Of::Network, (all.transport.all(), all.peak));
    }
    for host in meter.each_host() {
        for (way, traffic) in [&host.sent, &host.received].into_iter().enumerate() {
            counts.insert(Of::Host(host.address, way), (traffic.transport.all(), traffic.peak));
        }
    }
    counts.extend(meter.each_connection().flat_map(|connection| sides(&connection)));
    counts
}

/// Meters a capture with early eviction, and compares; returns the number of peaks, and of seconds
/// compared.
#[track_caller]
fn check(path: &Path) -> (usize, usize) {
    let ten_years = Duration::from_secs(10 * 365 * 86_400);
    let silence = Duration::from_secs(20);
    let mut meter = Meter::new(Settings { silence, ..Settings::every(ten_years) });
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let (mut seconds, mut peaks) = (Seconds::default(), BTreeMap::new());
    let (mut frames, mut count, mut last) = (0, 1, Instant::ZERO);
    while let Ok(Some(record)) = capture.next() {
        frames += 1;
        let second = |at: Instant| at.as_nanos() / 1_000_000_000;
        if second(record.at) > second(last) {
            counts(&meter).iter().for_each(|(of, (volume, _))| seconds.note(of.clone(), volume));
            count += 1;
        }
        last = last.max(record.at);
        meter.observe(record.at, record.link, record.octets, record.original_octets);
        while let Some(connection) = meter.take_connection() {
            for (of, (volume, peak)) in sides(&connection) {
                seconds.note(of.clone(), &volume);
                peaks.insert(of, peak);
            }
        }
        if frames == FRAMES {
            break;
        }
    }
    if meter.take_interval().is_some() {
        println!("skipped: {} has times years apart", path.display());
        return (0, 0);
    }
    for (of, (volume, peak)) in counts(&meter) {
        seconds.note(of.clone(), &volume);
        peaks.insert(of, peak);
    }
    for (of, peak) in &peaks {
        let found = [peak.pdus(), peak.octets()];
        assert_eq!(found, seconds.most[of], "{}: {of:?}", path.display());
    }
    assert_eq!(peaks.len(), seconds.most.len());
    (peaks.len(), count)
}

#[test]
fn the_busiest_second_is_the_greatest_difference_of_counts() {
    let cell = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng");
    // Both hosts, the network and three connections.
    let (peaks, seconds) = check(Path::new(cell));
    assert!(peaks >= 11 && seconds >= 6, "{peaks} peaks, {seconds} seconds");
    let Some((folder, files)) = captures() else { return };
    let (mut peaks, mut seconds) = (0, 0);
    for name in &files {
        let (more, in_seconds) = check(&folder.join(name));
        (peaks, seconds) = (peaks + more, seconds + in_seconds);
    }
    println!("seen: {peaks} busiest seconds of {seconds} seconds of {} captures", files.len());
    assert!(peaks > 1_000, "{peaks} peaks");
}
