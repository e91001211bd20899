//! Fixed work that a benchmark does before each of its rounds: its time tells how fast the host was, so
//! that figures of different days can be compared.

use core::hint::black_box;
use std::time::Instant;

/// Dependent multiplications.
const STEPS: u64 = 4_000_000;
/// Octets that are copied: more than a level 2 cache has.
const OCTETS: usize = 16 << 20;

/// Wall times of the work, in ms.
pub(crate) struct HostLoop {
    octets: [Vec<u8>; 2],
    multiplied: Vec<f64>,
    copied: Vec<f64>,
}

#[expect(clippy::disallowed_methods, reason = "the speed of the host is what is measured")]
fn now() -> Instant {
    Instant::now()
}

fn millis(work: impl FnOnce()) -> f64 {
    let begun = now();
    work();
    begun.elapsed().as_secs_f64() * 1e3
}

/// Median, least and greatest.
fn shown(times: &[f64]) -> String {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (times.first(), times.last()) else { return "none".to_owned() };
    format!("{:.2} [{least:.2} to {most:.2}] ms", times[times.len() / 2])
}

impl HostLoop {
    pub(crate) fn new() -> Self {
        let octets = [0, 1].map(|octet| vec![octet; OCTETS]);
        Self { octets, multiplied: Vec::new(), copied: Vec::new() }
    }

    /// Does the work once.
    pub(crate) fn run(&mut self) {
        self.multiplied.push(millis(|| {
            let mut value = black_box(1_u64);
            for step in 0..STEPS {
                value = (value ^ step).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            }
            black_box(value);
        }));
        let [from, to] = &mut self.octets;
        self.copied.push(millis(|| black_box(to).copy_from_slice(black_box(from))));
    }

    /// Prints the times of all rounds.
    pub(crate) fn print(&self) {
        let n = self.multiplied.len();
        let (multiplied, copied) = (shown(&self.multiplied), shown(&self.copied));
        println!("host: 4 million multiplications {multiplied}, copying 16 MiB {copied}, n = {n}");
    }
}
