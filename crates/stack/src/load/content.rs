//! Contents of messages: octets from which a receiver recognises the message that was sent.
//!
//! Octet `p` of message `s` is `(p + s) mod 251`. The period is a prime, so a piece from another
//! offset or from another message remains undetected only with a probability of 1 in 251.

use bytes::Bytes;

const PERIOD: usize = 251;
/// Long enough for any LSDU to be one slice.
const TABLE_OCTETS: usize = PERIOD * 36;

static TABLE: [u8; TABLE_OCTETS] = {
    let mut table = [0; TABLE_OCTETS];
    let mut place = 0;
    while place < TABLE_OCTETS {
        table[place] = (place % PERIOD) as u8;
        place += 1;
    }
    table
};

fn start(sequence: u32, place: usize) -> usize {
    (place % PERIOD + sequence as usize % PERIOD) % PERIOD
}

/// Octets `from..to` of a message, shared; `None` if the table is too short.
pub(super) fn shared(sequence: u32, from: usize, to: usize) -> Option<Bytes> {
    let start = start(sequence, from);
    TABLE.get(start..start + to.saturating_sub(from)).map(Bytes::from_static)
}

/// Appends octets `from..to` of a message.
pub(super) fn append(out: &mut Vec<u8>, sequence: u32, from: usize, to: usize) {
    let mut place = from;
    while place < to {
        let start = start(sequence, place);
        let end = TABLE_OCTETS.min(start + to - place);
        out.extend_from_slice(&TABLE[start..end]);
        place += end - start;
    }
}

/// Returns true if `octets` equal those of the message from `place` on.
pub(super) fn matches(sequence: u32, place: usize, octets: &[u8]) -> bool {
    let mut place = place;
    let mut rest = octets;
    while !rest.is_empty() {
        let table = &TABLE[start(sequence, place)..];
        let (now, later) = rest.split_at(rest.len().min(table.len()));
        if now != &table[..now.len()] {
            return false;
        }
        place += now.len();
        rest = later;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_matches_itself_and_nothing_else() {
        for sequence in [0, 1, 250, 251, u32::MAX] {
            let mut message = Vec::new();
            append(&mut message, sequence, 20, 30_000);
            assert_eq!(message.len(), 29_980);
            assert_eq!(message[7], ((27 + sequence as usize % 251) % 251) as u8);
            assert!(matches(sequence, 20, &message));
            assert!(matches(sequence, 9_020, &message[9_000..]));
            assert!(!matches(sequence, 21, &message));
            assert!(!matches(sequence.wrapping_add(1), 20, &message));
            message[25_000] ^= 1;
            assert!(!matches(sequence, 20, &message));
            let piece = shared(sequence, 20, 1_500).unwrap();
            assert!(matches(sequence, 20, &piece));
        }
        assert_eq!(shared(0, 20, 10_000), None);
    }
}
