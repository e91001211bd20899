//! Maintenance of a logical ring, and changes of its stations.
//!
//! Not modelled: the two random bits by which stations vary the number of tokens between windows.

use core::time::Duration;

/// Parameters by which stations admit other stations to the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Maintenance {
    /// Number of tokens from one window of a station to its next (max_inter_solicit_count; at least
    /// 1).
    pub tokens_between_windows: u32,
    /// Target rotation time for ring maintenance. A station opens a window only if less than this
    /// has passed since its previous token; otherwise at its next token that is early enough.
    pub target_rotation_time: Duration,
}

/// Change of a station's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// Time since the beginning.
    pub at: Duration,
    /// Index of the station.
    pub station: usize,
    /// Kind of change.
    pub kind: Kind,
}

/// Kinds of change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The station requests membership of the ring from now on. A station whose first change, apart
    /// from lost tokens, is this one begins outside. A failed station works again; if its
    /// predecessor has not yet detected the failure, it keeps its place.
    Join,
    /// The station leaves. At its next token it sends set_successor, naming its successor, to its
    /// predecessor. It then refuses frames and discards those not sent by then.
    Leave,
    /// The station fails: it neither receives nor sends, and discards its waiting frames. If it
    /// holds the token, the token is lost.
    Fail,
    /// The station loses the next token that it receives, and continues to work.
    LoseToken,
}
