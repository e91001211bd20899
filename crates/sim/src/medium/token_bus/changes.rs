//! How a logical ring is kept, and what befalls it.
//!
//! Not modelled: the two random bits by which stations vary how many tokens they let go between
//! windows.

use core::time::Duration;

/// How stations let others into the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Maintenance {
    /// Each station opens a window at every so many-th token (max_inter_solicit_count; at least 1).
    pub tokens_between_windows: u32,
    /// It does so only if less than this has passed since it had the token before (the target rotation
    /// time for ring maintenance), and else at the next token that is early enough.
    pub target_rotation_time: Duration,
}

/// What befalls a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// When, since the beginning.
    pub at: Duration,
    /// The station's number.
    pub station: usize,
    /// What.
    pub kind: Kind,
}

/// What may befall a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It wants to be in the ring from now on. A station whose first change this is, lost tokens
    /// apart, begins outside. One
    /// that failed works again, and nobody noticed if its successor has not been found yet.
    Join,
    /// It leaves: at its next token it names its successor to its predecessor (set_successor), and takes
    /// no more frames; those it has not sent by then are given up.
    Leave,
    /// It fails: it neither hears nor sends, and what it has waiting is given up. If it has the token,
    /// that is lost.
    Fail,
    /// It loses the next token that it is given, and works on.
    LoseToken,
}
