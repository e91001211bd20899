//! Work that a data unit takes in each layer, by the kind of its PDU.

use crate::station::{Charge, WorkKind, WorkLayer};
use arrayvec::ArrayVec;
use wire::packet::Packet;
use wire::session::{DATA, Kind as SpduKind};

/// Maximum number of steps of work on one data unit.
const STEPS: usize = 3;

/// Steps of work on a data unit, the next one last.
pub(crate) type Steps = ArrayVec<Charge, STEPS>;

/// TPDU by the work that it takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tpdu {
    /// DT or ED that ends its TSDU.
    Data,
    /// DT that does not end its TSDU.
    Segment,
    /// AK, EA or RJ.
    Acknowledgement,
    /// CR or CC.
    Opening,
    /// DR, DC or ER.
    Closing,
}

impl Tpdu {
    /// First TPDU of an NSDU: the one that the others are added to.
    fn of(packet: &Packet) -> Self {
        // ISO 8073 13.2: length indicator, code; EOT is the top bit of octet 5 of a DT, and of octet 3
        // in class 0, whose length indicator is 2 (13.7.1).
        let code = packet.first::<2>().map_or(0, |[_, code]| code & 0xF0);
        match code {
            0x20 | 0x50 | 0x60 => Self::Acknowledgement,
            0xE0 | 0xD0 => Self::Opening,
            0x80 | 0xC0 | 0x70 => Self::Closing,
            0xF0 => {
                let number = match packet.first::<3>() {
                    Some([2, _, number]) => Some(number),
                    _ => packet.first::<5>().map(|[.., number]| number),
                };
                match number {
                    Some(number) if number & 0x80 == 0 => Self::Segment,
                    _ => Self::Data,
                }
            }
            _ => Self::Data,
        }
    }

    /// Kind of work; that of data is `data`.
    const fn kind(self, data: WorkKind) -> WorkKind {
        match (self, data) {
            (Self::Data | Self::Segment, data) => data,
            (Self::Acknowledgement, WorkKind::Up) => WorkKind::TakeAk,
            (Self::Acknowledgement, _) => WorkKind::MakeAk,
            (Self::Opening, _) => WorkKind::Open,
            (Self::Closing, _) => WorkKind::Close,
        }
    }
}

/// Kind of work on an SPDU; that of data is `data`.
fn kind_of_spdu(tsdu: &[u8], data: WorkKind) -> WorkKind {
    let is = |kind: SpduKind| tsdu.first() == Some(&kind.code());
    if tsdu.starts_with(&DATA) {
        data
    } else if is(SpduKind::Cn) || is(SpduKind::Ac) || is(SpduKind::Rf) {
        WorkKind::Open
    } else {
        WorkKind::Close
    }
}

/// Work on a TSDU with SPDUs on its way down; `user` is the layer above session, or session itself.
pub(crate) fn of_spdu_down(tsdu: &[u8], user: WorkLayer) -> Steps {
    let kind = kind_of_spdu(tsdu, WorkKind::Down);
    let mut steps = of_spdu(user, kind);
    steps.reverse();
    steps
}

/// Work on a TSDU with SPDUs on its way up.
pub(crate) fn of_spdu_up(tsdu: &[u8], user: WorkLayer) -> Steps {
    of_spdu(user, kind_of_spdu(tsdu, WorkKind::Up))
}

/// Steps of the layer above session and of session, in this order.
fn of_spdu(user: WorkLayer, kind: WorkKind) -> Steps {
    let mut steps = Steps::new();
    if user != WorkLayer::Session {
        steps.push(Charge { at: user, kind });
    }
    steps.push(Charge { at: WorkLayer::Session, kind });
    steps
}

/// Work on an NSDU of transport on its way down.
pub(crate) fn of_nsdu_down(packet: &Packet) -> Steps {
    let tpdu = Tpdu::of(packet);
    let mut steps = Steps::new();
    steps.push(Charge { at: WorkLayer::Network, kind: WorkKind::Down });
    steps.push(Charge { at: WorkLayer::Transport, kind: tpdu.kind(WorkKind::Down) });
    if tpdu == Tpdu::Segment {
        steps.push(Charge { at: WorkLayer::Transport, kind: WorkKind::Segment });
    }
    steps
}

/// Work on an NSDU for transport on its way up.
pub(crate) fn of_nsdu_up(packet: &Packet) -> Steps {
    let kind = Tpdu::of(packet).kind(WorkKind::Up);
    let mut steps = Steps::new();
    steps.push(Charge { at: WorkLayer::Transport, kind });
    steps.push(Charge { at: WorkLayer::Network, kind: WorkKind::Up });
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn tpdus_and_spdus_are_charged_by_their_kind() {
        let kind = |octets: &'static [u8], data| {
            Tpdu::of(&Packet::new(Bytes::from_static(octets))).kind(data)
        };
        // AK, CC, DR, a DT that ends its TSDU and one that does not.
        for (octets, down, up) in [
            (&[4, 0x61, 0, 1, 5][..], WorkKind::MakeAk, WorkKind::TakeAk),
            (&[6, 0xD1, 0, 1, 0, 2, 0x40], WorkKind::Open, WorkKind::Open),
            (&[6, 0x80, 0, 1, 0, 2, 0x80], WorkKind::Close, WorkKind::Close),
            (&[4, 0xF0, 0, 1, 0x81, 7], WorkKind::Down, WorkKind::Up),
            (&[4, 0xF0, 0, 1, 1, 7], WorkKind::Down, WorkKind::Up),
        ] {
            assert_eq!((kind(octets, WorkKind::Down), kind(octets, WorkKind::Up)), (down, up));
        }
        let segment = Packet::new(Bytes::from_static(&[4, 0xF0, 0, 1, 1, 7]));
        assert!(Tpdu::of(&segment) == Tpdu::Segment);
        for (number, expected) in [(0, Tpdu::Segment), (0x80, Tpdu::Data)] {
            // Octet 5 of a DT of class 0 is user data.
            let of_class_0 =
                Packet::new(Bytes::copy_from_slice(&[2, 0xF0, number, 9, 0x80 ^ number]));
            assert!(Tpdu::of(&of_class_0) == expected);
        }
        assert_eq!(kind_of_spdu(&[1, 0, 1, 0, 9], WorkKind::Up), WorkKind::Up);
        assert_eq!(kind_of_spdu(&[SpduKind::Cn.code(), 0], WorkKind::Up), WorkKind::Open);
        assert_eq!(kind_of_spdu(&[SpduKind::Fn.code(), 0], WorkKind::Up), WorkKind::Close);
    }

    #[test]
    fn steps_are_taken_from_the_top_downwards_and_back() {
        let layers = |steps: Steps| -> Vec<WorkLayer> {
            steps.iter().rev().map(|charge| charge.at).collect()
        };
        let (case, session) = (WorkLayer::Case, WorkLayer::Session);
        assert_eq!(layers(of_spdu_down(&DATA, case)), [case, session]);
        assert_eq!(layers(of_spdu_up(&DATA, case)), [session, case]);
        assert_eq!(layers(of_spdu_down(&DATA, session)), [session]);
        let data = Packet::new(Bytes::from_static(&[4, 0xF0, 0, 1, 0x81, 7]));
        let (transport, network) = (WorkLayer::Transport, WorkLayer::Network);
        assert_eq!(layers(of_nsdu_down(&data)), [transport, network]);
        assert_eq!(layers(of_nsdu_up(&data)), [network, transport]);
    }
}
