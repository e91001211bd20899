//! Memory used by a run, counted per allocation.

/// Maximum memory that a hostile peer may make a session use.
const MOST_OCTETS: u64 = 64 << 20;

/// Runs `body`.
///
/// # Panics
/// If it used more memory at a time than a peer may cause.
pub(crate) fn bounded<T>(body: impl FnOnce() -> T) -> T {
    let mut outcome = None;
    let counted = allocation_counter::measure(|| outcome = Some(body()));
    assert!(counted.bytes_max <= MOST_OCTETS, "{} octets at a time", counted.bytes_max);
    outcome.expect("the body has run")
}
