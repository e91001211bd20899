//! Speed of a replay, which keys of the screen change while another thread plays.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Least and greatest multiple of the speed of the frames.
pub(crate) const LEAST: f64 = 0.001;
pub(crate) const GREATEST: f64 = 1e6;

/// Multiple of the speed at which frames came about.
#[derive(Clone, Debug)]
pub(crate) struct Tempo(Arc<AtomicU64>);

impl Tempo {
    pub(crate) fn new(speed: f64) -> Self {
        Self(Arc::new(AtomicU64::new(speed.to_bits())))
    }

    /// Returns the speed.
    pub(crate) fn speed(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Multiplies the speed, within its limits, and returns it.
    pub(crate) fn multiply(&self, by: f64) -> f64 {
        let speed = (self.speed() * by).clamp(LEAST, GREATEST);
        self.0.store(speed.to_bits(), Ordering::Relaxed);
        speed
    }
}
