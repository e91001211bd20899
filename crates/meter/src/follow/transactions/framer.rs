//! PDUs in one direction of a TCP stream, from its octets in order.
//!
//! A PDU ends with the segment that holds its last octet. If a stream is met in the middle, or octets
//! were not captured, a segment must consist of whole PDUs before the direction is read again: the
//! octets of values may look like a header.

use super::message::Front;
use super::protocol::Form;

/// Octets kept of a PDU that segments divide.
const KEPT_OCTETS: usize = 512;

/// Content of a direction.
pub(super) enum Found<'a> {
    /// PDU of this length: its octets, or the front of it that was kept or captured.
    Pdu { octets: &'a [u8], pdu_octets: usize },
    /// Octets that are none.
    Foreign,
}

/// PDU that began in an earlier segment.
#[derive(Clone, Debug, Default)]
struct Partial {
    /// First octets.
    kept: Vec<u8>,
    /// Length; zero while unknown.
    pdu_octets: usize,
    /// Octets received or skipped.
    seen_octets: usize,
}

impl Partial {
    fn found(&self) -> Found<'_> {
        Found::Pdu { octets: &self.kept, pdu_octets: self.pdu_octets }
    }
}

/// Framer of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Framer {
    partial: Option<Box<Partial>>,
    /// True if the next octets begin a PDU, or continue the one under way.
    is_in_step: bool,
}

impl Framer {
    /// Framer of a direction whose first octet is the next.
    pub(super) fn at_start() -> Self {
        Self { partial: None, is_in_step: true }
    }

    /// True if it met a PDU, or the beginning of the stream.
    pub(super) const fn is_in_step(&self) -> bool {
        self.is_in_step
    }

    /// Processes the octets of a segment that follow those before, and as many behind them that were
    /// not captured.
    pub(super) fn push(
        &mut self,
        form: &Form,
        octets: &[u8],
        missing_octets: usize,
        found: &mut dyn FnMut(Found<'_>),
    ) {
        self.present(form, octets, missing_octets, found);
        if missing_octets > 0 {
            self.skip(missing_octets, found);
        }
    }

    fn present(
        &mut self,
        form: &Form,
        octets: &[u8],
        missing_octets: usize,
        found: &mut dyn FnMut(Found<'_>),
    ) {
        let joined;
        let mut octets = octets;
        match self.partial.take() {
            Some(partial) if partial.pdu_octets == 0 => {
                joined = [&partial.kept, octets].concat();
                octets = &joined;
            }
            Some(partial) => octets = self.go_on(partial, octets, found),
            None => {}
        }
        if !self.is_in_step {
            if octets.is_empty() {
                return;
            }
            if !is_whole(form, octets, missing_octets) {
                return found(Found::Foreign);
            }
            self.is_in_step = true;
        }
        self.read(form, octets, found);
    }

    fn read(&mut self, form: &Form, mut octets: &[u8], found: &mut dyn FnMut(Found<'_>)) {
        while !octets.is_empty() {
            match (form.front)(octets) {
                Front::Pdu(length) => match octets.split_at_checked(length.max(1)) {
                    Some((pdu, rest)) => {
                        found(Found::Pdu { octets: pdu, pdu_octets: length });
                        octets = rest;
                    }
                    None => return self.begin(octets, length),
                },
                Front::Short => return self.begin(octets, 0),
                Front::Foreign => {
                    self.is_in_step = false;
                    return found(Found::Foreign);
                }
            }
        }
    }

    fn begin(&mut self, octets: &[u8], pdu_octets: usize) {
        let kept = octets.get(..KEPT_OCTETS).unwrap_or(octets).to_vec();
        let seen_octets = octets.len();
        self.partial = Some(Box::new(Partial { kept, pdu_octets, seen_octets }));
    }

    /// Continues the PDU under way; returns the rest of `octets`.
    fn go_on<'a>(
        &mut self,
        mut partial: Box<Partial>,
        octets: &'a [u8],
        found: &mut dyn FnMut(Found<'_>),
    ) -> &'a [u8] {
        let wanted = partial.pdu_octets.saturating_sub(partial.seen_octets);
        let (taken, rest) = octets.split_at(wanted.min(octets.len()));
        // Octets behind a gap are not kept.
        if partial.kept.len() == partial.seen_octets {
            let room = KEPT_OCTETS.saturating_sub(partial.kept.len());
            partial.kept.extend_from_slice(taken.get(..room).unwrap_or(taken));
        }
        partial.seen_octets += taken.len();
        if partial.seen_octets == partial.pdu_octets {
            found(partial.found());
        } else {
            self.partial = Some(partial);
        }
        rest
    }

    /// Skips octets that were not captured.
    fn skip(&mut self, octets: usize, found: &mut dyn FnMut(Found<'_>)) {
        let Some(mut partial) = self.partial.take() else {
            self.is_in_step = false;
            return;
        };
        partial.seen_octets = partial.seen_octets.saturating_add(octets);
        if partial.seen_octets == partial.pdu_octets {
            found(partial.found());
        } else if partial.seen_octets < partial.pdu_octets {
            self.partial = Some(partial);
        } else {
            self.is_in_step = false;
        }
    }
}

/// True if the octets and those missing behind them are whole PDUs.
fn is_whole(form: &Form, mut octets: &[u8], missing_octets: usize) -> bool {
    while !octets.is_empty() {
        let Front::Pdu(length) = (form.front)(octets) else { return false };
        let Some((_, rest)) = octets.split_at_checked(length.max(1)) else {
            return length == octets.len() + missing_octets;
        };
        octets = rest;
    }
    missing_octets == 0
}

#[cfg(test)]
mod tests {
    use super::super::protocol::Protocol;
    use super::*;

    /// Request of this transaction to read registers.
    fn pdu(transaction: u8) -> Vec<u8> {
        vec![0, transaction, 0, 0, 0, 6, 1, 3, 0, 0, 0, 2]
    }

    /// Results for these pieces; a number is octets that were not captured. A PDU is its transaction
    /// and the octets that were kept.
    fn found(mut framer: Framer, pieces: &[Result<&[u8], usize>]) -> String {
        let mut text = String::new();
        let form = Protocol::Modbus.row().stream;
        for piece in pieces {
            let mut note = |found: Found<'_>| {
                text += &match found {
                    Found::Pdu { octets, pdu_octets } => {
                        assert_eq!(pdu_octets, 12);
                        format!("{}+{} ", octets[1], octets.len())
                    }
                    Found::Foreign => "foreign ".to_owned(),
                };
            };
            match piece {
                Ok(octets) => framer.push(&form, octets, 0, &mut note),
                Err(skipped) => framer.push(&form, &[], *skipped, &mut note),
            }
        }
        text
    }

    #[test]
    fn pdus_are_found_for_any_segmentation() {
        let stream = [pdu(1), pdu(2), pdu(3)].concat();
        for cut in 1..stream.len() {
            let (front, back) = stream.split_at(cut);
            let text = found(Framer::at_start(), &[Ok(front), Ok(back)]);
            assert_eq!(text, "1+12 2+12 3+12 ", "cut at {cut}");
        }
        let each: Vec<_> = stream.chunks(1).map(Ok).collect();
        assert_eq!(found(Framer::at_start(), &each), "1+12 2+12 3+12 ");
    }

    #[test]
    fn a_stream_met_in_the_middle_is_read_from_whole_pdus_on() {
        let stream = [pdu(1), pdu(2)].concat();
        let text = found(Framer::default(), &[Ok(&stream[5..12]), Ok(&stream), Ok(&pdu(3)[..9])]);
        assert_eq!(text, "foreign 1+12 2+12 ");
        // The rest of a PDU, and the front of one: the end of neither is known.
        let text = found(Framer::default(), &[Ok(&stream[5..]), Ok(&stream[..20]), Ok(&pdu(3))]);
        assert_eq!(text, "foreign foreign 3+12 ");
    }

    #[test]
    fn octets_that_were_not_captured_cost_one_pdu_at_most() {
        let [one, two] = [pdu(1), pdu(2)];
        let within = [Ok(&one[..9]), Err(3), Ok(&two[..])];
        assert_eq!(found(Framer::at_start(), &within), "1+9 2+12 ");
        let part = [Ok(&one[..8]), Err(2), Ok(&one[10..]), Ok(&two[..])];
        assert_eq!(found(Framer::at_start(), &part), "1+8 2+12 ");
        let beyond = [Ok(&one[..9]), Err(10), Ok(&two[..5]), Ok(&two[..])];
        assert_eq!(found(Framer::at_start(), &beyond), "foreign 2+12 ");
        let between = [Ok(&one[..]), Err(12), Ok(&two[..])];
        assert_eq!(found(Framer::at_start(), &between), "1+12 2+12 ");
        // A length is not known before its octets.
        let unknown = [Ok(&one[..3]), Err(9), Ok(&two[..])];
        assert_eq!(found(Framer::at_start(), &unknown), "2+12 ");
    }

    #[test]
    fn a_cut_segment_of_whole_pdus_is_read() {
        let form = Protocol::Modbus.row().stream;
        for (missing, expected) in [(4, "1+12 2+8 "), (5, "foreign "), (0, "foreign ")] {
            let (mut framer, mut text) = (Framer::default(), String::new());
            let octets = [pdu(1), pdu(2)].concat();
            framer.push(&form, &octets[..20], missing, &mut |found| {
                text += &match found {
                    Found::Pdu { octets, pdu_octets } => {
                        assert_eq!(pdu_octets, 12);
                        format!("{}+{} ", octets[1], octets.len())
                    }
                    Found::Foreign => "foreign ".to_owned(),
                };
            });
            assert_eq!(text, expected, "{missing} missing");
        }
    }

    #[test]
    fn another_protocol_is_skipped_segment_by_segment() {
        let tls = [0x16, 3, 1, 0, 9, 1, 0, 0, 5, 3, 3, 0, 0, 0];
        let text = found(Framer::at_start(), &[Ok(&tls), Ok(&pdu(1)), Ok(&tls), Ok(&pdu(2))]);
        assert_eq!(text, "foreign 1+12 foreign 2+12 ");
    }
}
