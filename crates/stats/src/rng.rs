//! Named random streams: every entity of a run draws from its own.
//!
//! A stream's key is a hash of the run's seed and the stream's name. Adding a station or changing
//! the order of construction therefore never shifts another stream's draws. Philox4x32-10 (Salmon
//! et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) expands the key to the state of
//! xoshiro256++ (Blackman and Vigna), which then makes the draws. Logarithms come from the
//! pure-Rust `libm`, so the draws have the same bits on every machine.

use core::convert::Infallible;
use core::time::Duration;
use rand_core::{Rng as _, SeedableRng as _, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Stream of random draws, a function of its seed and name alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Creates the stream of this name in the run with this seed:
    /// `Stream::named(1, "station/3/backoff")`.
    #[must_use]
    pub fn named(seed: u64, name: &str) -> Self {
        let hash = fnv1a_128(seed.to_le_bytes().iter().chain(name.as_bytes()).copied());
        Self::from_key(hash)
    }

    /// Creates the stream of a 128-bit key: the low half is Philox's key, the high half part of the
    /// counter.
    #[must_use]
    pub fn from_key(key: u128) -> Self {
        let [a, b, c, d] = [key as u32, (key >> 32) as u32, (key >> 64) as u32, (key >> 96) as u32];
        let first = philox4x32_10([0, 0, c, d], [a, b]);
        let second = philox4x32_10([1, 0, c, d], [a, b]);
        let mut state = [0; 32];
        let octets = first.iter().chain(&second).flat_map(|word| word.to_le_bytes());
        for (slot, octet) in state.iter_mut().zip(octets) {
            *slot = octet;
        }
        Self(Xoshiro256PlusPlus::from_seed(state))
    }

    /// Draws uniformly from all 64-bit numbers.
    pub fn u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws uniformly from 0 to `n - 1`, without bias (Lemire 2019). Returns zero if `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.u64()) * u128::from(n);
        if (product as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u64) < threshold {
                product = u128::from(self.u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// Shuffles `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Draws uniformly from [0, 1), in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        // Signed, which a processor converts in one step.
        (self.u64() >> 11) as i64 as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Draws an event of this probability: never true at 0 or below, always true at 1 or above.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Draws from the exponential distribution with this mean, rounded to the nearest nanosecond.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        let mean = u64::try_from(mean.as_nanos()).unwrap_or(u64::MAX);
        let nanos = mean as f64 * -libm::log(1.0 - self.unit());
        // The cast saturates at 584 years. Beyond 2^53 there is no fraction left to round.
        let whole = nanos as u64;
        let half = u64::from(nanos - whole as f64 >= 0.5);
        Duration::from_nanos(whole.saturating_add(half))
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, octets: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(octets)
    }
}

/// FNV-1a with 128 bits: a stable hash for names and scenario texts, not a protection against
/// forgery.
#[must_use]
pub fn fnv1a_128(octets: impl IntoIterator<Item = u8>) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = (1 << 88) + 0x13b;
    octets.into_iter().fold(OFFSET, |hash, octet| (hash ^ u128::from(octet)).wrapping_mul(PRIME))
}

/// Philox4x32-10: one block of four words for a counter and a key.
#[must_use]
pub fn philox4x32_10(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        }
        let first = MULTIPLIERS[0] * u64::from(counter[0]);
        let second = MULTIPLIERS[1] * u64::from(counter[2]);
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn philox_gives_the_published_answers() {
        // Known-answer vectors of the Random123 library, "philox4x32 10".
        let ones = u32::MAX;
        let cases = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([ones; 4], [ones; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, expected) in cases {
            assert_eq!(philox4x32_10(counter, key), expected);
        }
    }

    #[test]
    fn fnv_gives_the_published_answers() {
        // The offset basis, and the vector for "a" of the FNV reference code.
        assert_eq!(fnv1a_128([]), 0x6c62272e07bb014262b821756295c58d);
        assert_eq!(fnv1a_128(*b"a"), 0xd228cb696f1a8caf78912b704e4a8964);
    }

    #[test]
    fn a_stream_draws_the_same_for_ever() {
        let mut stream = Stream::named(1, "station/3/arrival");
        let draws: Vec<u64> = (0..4).map(|_| stream.u64()).collect();
        assert_eq!(draws, GOLDEN_DRAWS);
        let mut stream = Stream::named(1, "station/3/arrival");
        let waits: Vec<u128> =
            (0..4).map(|_| stream.exponential(Duration::from_millis(20)).as_nanos()).collect();
        assert_eq!(waits, GOLDEN_WAITS);
    }

    // Computed independently, by a Python transcription of the three papers' algorithms. Any change
    // of these numbers changes the result of every recorded run.
    const GOLDEN_DRAWS: [u64; 4] = [
        13_330_468_647_344_600_652,
        12_435_532_136_505_310_392,
        13_694_654_384_221_092_609,
        8_244_169_815_426_417_530,
    ];
    const GOLDEN_WAITS: [u128; 4] = [25_649_223, 22_425_230, 27_126_069, 11_844_956];

    #[test]
    fn names_and_seeds_part_the_streams() {
        let first = |seed, name| Stream::named(seed, name).u64();
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_eq!(first(1, "a"), first(1, "a"));
    }

    #[test]
    fn below_is_uniform_also_where_it_must_reject() {
        // Two thirds of 2^64: without rejection the first half would occur twice as often.
        let n = (u64::MAX / 3) * 2;
        let mut stream = Stream::named(7, "below");
        let draws = 30_000;
        let low = (0..draws).filter(|_| stream.below(n) < n / 2).count();
        // Binomial(30,000, 1/2): standard deviation 86.6, so 4 of them are 347.
        assert!((14_653..=15_347).contains(&low), "{low} of {draws} in the lower half");
        assert_eq!(stream.below(0), 0);
        assert_eq!(stream.below(1), 0);
        assert!((0..1_000).all(|_| stream.below(6) < 6));
    }

    #[test]
    fn exponential_draws_have_their_mean_and_median() {
        let mean = Duration::from_micros(500);
        let mut stream = Stream::named(3, "exponential");
        let draws: Vec<f64> = (0..40_000).map(|_| stream.exponential(mean).as_secs_f64()).collect();
        // The mean of 40,000 has a relative standard deviation of 1/200; 4 of them are 2 %.
        let average = draws.iter().sum::<f64>() / 40_000.0;
        assert!((average / 500e-6 - 1.0).abs() < 0.02, "mean {average}");
        // Half lie below mean x ln 2; binomial standard deviation 100.
        let below = draws.iter().filter(|d| **d < 500e-6 * core::f64::consts::LN_2).count();
        assert!((19_600..=20_400).contains(&below), "{below} below the median");
    }

    #[test]
    fn chance_keeps_to_its_ends() {
        let mut stream = Stream::named(3, "chance");
        assert!((0..1_000).all(|_| !stream.chance(0.0) && stream.chance(1.0)));
    }
}
