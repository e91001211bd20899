//! Contents of a port's capture.

use crate::{A, B, frame, numbers};
use live::capture::Capture;
use live::clock;
use live::port::{Faulty, FaultyParams, Hub, Observed, Port};
use stack::fault::{Faults, Plan};
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wire::time::{Instant, nanos};

/// File in memory with a limited size.
#[derive(Clone, Default)]
struct File {
    octets: Arc<Mutex<Vec<u8>>>,
    room: Option<usize>,
}

impl Write for File {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let mut file = self.octets.lock().unwrap();
        if self.room.is_some_and(|room| file.len() + octets.len() > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_capture_behind_the_faults_equals_the_receivers_view() {
    let file = File::default();
    let capture = Capture::new(Box::new(file.clone())).unwrap();
    let mut plan = Plan::harmless(Duration::from_secs(1));
    plan.loss = 0.5;
    let faults = Faults::new(plan, 3, "capture").unwrap();
    let hub = Hub::new(1_000);
    let mut a = hub.port(A);
    let params = FaultyParams { receiving: Some(faults), sending: None, held_frames: 1_000 };
    let lossy = Faulty::new(hub.port(B), params);
    let mut b = Observed::new(lossy, capture.observer("b, behind the faults").unwrap());
    let before = nanos(clock::wall());
    for n in 0..100 {
        a.send(&frame(B, A, 4, n)).unwrap();
    }
    let heard = numbers(&mut b);
    b.send(&frame(A, B, 4, 500)).unwrap();
    let after = nanos(clock::wall());
    assert_eq!(capture.finish().unwrap(), heard.len() as u64 + 1);

    let octets = file.octets.lock().unwrap().clone();
    let mut read = wire::capture::Capture::open(Cursor::new(octets)).unwrap();
    let mut found = Vec::new();
    let mut last = Instant::ZERO;
    while let Some(record) = read.next().unwrap() {
        assert!(record.at >= last);
        last = record.at;
        // Two comparisons of the clocks differ by microseconds, unless the wall clock is set.
        let margin = 1_000_000;
        let range = before - margin..=after + margin;
        assert!(range.contains(&record.at.as_nanos()), "{} is not since the epoch", record.at);
        assert_eq!(record.original_octets, 21);
        found.push(u32::from_be_bytes(*record.octets.last_chunk().unwrap()));
    }
    assert_eq!(found, [heard, vec![500]].concat());
}

#[test]
fn a_full_disk_stops_the_capture_and_not_the_station() {
    let file = File { room: Some(400), ..File::default() };
    let capture = Capture::new(Box::new(file)).unwrap();
    let hub = Hub::new(1_000);
    let mut b = hub.port(B);
    let mut a = Observed::new(hub.port(A), capture.observer("a").unwrap());
    for n in 0..100 {
        a.send(&frame(B, A, 4, n)).unwrap();
    }
    assert_eq!(numbers(&mut b).len(), 100);
    assert_eq!(capture.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
}
