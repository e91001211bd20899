//! State that the meter's thread fills and the screen shows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// State of two threads. The screen locks it only to copy what it draws, so that the meter never
/// waits for a terminal.
pub(crate) struct Shared<T>(Arc<Mutex<T>>);

impl<T> Shared<T> {
    pub(crate) fn new(state: T) -> Self {
        Self(Arc::new(Mutex::new(state)))
    }

    /// The state itself, for another reader.
    pub(crate) fn state(&self) -> Arc<Mutex<T>> {
        Arc::clone(&self.0)
    }

    /// Locks the state. A thread that panicked leaves the state as it was before its last record.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
