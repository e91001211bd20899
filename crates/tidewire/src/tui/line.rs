//! Times of pictures: at most four a second without a key, and no more octets than the line to the terminal carries.
//!
//! The rate of a line may be given. Where it is not, a picture that took long to write shows that the line is full: it then
//! gets as long again for keys and their echoes.

use core::time::Duration;
use wire::time::Instant;
use wire::units::BitRate;

/// Least time between two pictures without a key.
const REDRAW: Duration = Duration::from_millis(250);
/// Bits that a serial line takes for an octet: a start bit, eight bits of data, a stop bit.
const BITS_AN_OCTET: u64 = 10;

/// Line to the terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    rate: Option<BitRate>,
    /// Time at which the line has carried the last picture.
    free: Instant,
}

impl Line {
    /// Creates a line of this rate; one without a limit if it is none.
    pub(super) const fn new(rate: Option<BitRate>) -> Self {
        Self { rate, free: Instant::ZERO }
    }

    /// Returns true if a picture may be sent.
    pub(super) fn is_free(&self, now: Instant) -> bool {
        now >= self.free
    }

    /// Returns the time of the next picture without a key.
    pub(super) fn next(&self, now: Instant) -> Instant {
        self.free.max(now + REDRAW)
    }

    /// Notes a picture of this many octets, and when writing it began and ended.
    pub(super) fn sent(&mut self, octets: u64, [began, ended]: [Instant; 2]) {
        let bits = octets.saturating_mul(BITS_AN_OCTET);
        let carried = self.rate.map_or(Duration::ZERO, |rate| rate.bits(bits));
        self.free = (began + carried).max(ended + ended.since(began));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_given_rate_bounds_the_octets_of_a_second() {
        // 4 KiB a second at 10 bits each.
        let mut line = Line::new(BitRate::new(40_960));
        let (mut now, mut octets, mut pictures) = (millis(1_000), 0, 0);
        while now < millis(11_000) {
            if line.is_free(now) {
                line.sent(3_000, [now, now]);
                (octets, pictures) = (octets + 3_000, pictures + 1);
            }
            now = line.next(now);
        }
        // The last picture is still on its way after ten seconds.
        assert!(octets <= 10 * 4_096 + 3_000, "{octets}");
        // 732 ms for each.
        assert_eq!(pictures, 14);
    }

    #[test]
    fn slow_writing_makes_fewer_than_four_pictures_a_second() {
        let pictures = |took: u64| {
            let mut line = Line::new(None);
            let (mut now, mut pictures) = (millis(0), 0);
            while now < millis(10_000) {
                assert!(line.is_free(now));
                let ended = now + Duration::from_millis(took);
                line.sent(2_000, [now, ended]);
                pictures += 1;
                now = line.next(ended);
            }
            pictures
        };
        // 250 ms; 300 ms and 250 ms; a second, and one for keys.
        assert_eq!([0, 300, 1_000].map(pictures), [40, 17, 5]);
    }
}
