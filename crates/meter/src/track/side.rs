//! Sides of a connection.

/// Side of a connection: 0 sent the CR if one was seen, 1 is its peer.
pub(crate) type Side = usize;

/// The peer of a side.
pub(crate) const fn other(side: Side) -> Side {
    1 - side
}
