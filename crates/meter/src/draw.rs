//! Pseudo-random numbers for tests with many cases.

/// Evenly distributed numbers from a seed (xorshift).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    /// Number below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound) as u32
    }

    /// Octet below a bound.
    pub(crate) fn octet_below(&mut self, bound: u8) -> u8 {
        self.below(bound.into()) as u8
    }
}
