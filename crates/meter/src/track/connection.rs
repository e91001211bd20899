//! One transport connection as a listener knows it.

use super::acknowledgement::AcknowledgementOrder;
use super::data::DataOrder;
use wire::addr::{Mac, Nsap};
use wire::time::Instant;
use wire::tp::{ClassOption, Format, Reference};

/// Who sends or receives TPDUs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Address {
    /// The station on this LAN.
    pub mac: Mac,
    /// The network entity's user; empty with the inactive network layer.
    pub nsap: Nsap,
}

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// A CR was seen, no CC yet.
    Opening,
    /// A CC was seen, or the connection was found under way.
    Established,
    /// A DR was seen.
    Closing,
    /// A DC was seen. The reference stays frozen until it is used anew or forgotten.
    Closed,
}

impl State {
    /// Whether a CR with the same reference asks for another connection.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Closing | Self::Closed)
    }
}

/// Which of the two sides: 0 sent the CR where one was seen.
pub(super) type Side = usize;

/// The other side.
pub(super) const fn other(side: Side) -> Side {
    1 - side
}

/// What one side sends.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) address: Address,
    /// Its name for the connection; none while it is not known.
    pub(super) reference: Option<Reference>,
    pub(super) data: DataOrder,
    pub(super) acknowledgements: AcknowledgementOrder,
    /// The number of its last ED.
    pub(super) expedited: Option<u32>,
    /// The number of its last EA.
    pub(super) expedited_acknowledged: Option<u32>,
    pub(super) disconnect_requested: bool,
    pub(super) disconnect_confirmed: bool,
}

impl Sender {
    /// A side that opened the connection and granted this credit in doing so.
    pub(super) fn opening(address: Address, reference: Reference, credit: u8) -> Self {
        Self {
            data: DataOrder::from_the_start(),
            acknowledgements: AcknowledgementOrder::from_the_start(credit),
            ..Self::under_way(address, Some(reference))
        }
    }

    /// A side found sending, or not known yet.
    pub(super) const fn under_way(address: Address, reference: Option<Reference>) -> Self {
        Self {
            address,
            reference,
            data: DataOrder::under_way(),
            acknowledgements: AcknowledgementOrder::under_way(),
            expedited: None,
            expedited_acknowledged: None,
            disconnect_requested: false,
            disconnect_confirmed: false,
        }
    }
}

/// A connection, or the half of one that was found under way.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) senders: [Sender; 2],
    pub(super) state: State,
    /// How numbers are written; none until the CC or the first numbered TPDU tells.
    pub(super) format: Option<Format>,
    /// When a TPDU of it was seen last.
    pub(super) last: Instant,
}

impl Connection {
    /// Asked for by a CR.
    pub(super) fn requested(
        from: Address,
        to: Address,
        source: Reference,
        credit: u8,
        at: Instant,
    ) -> Self {
        let senders = [Sender::opening(from, source, credit), Sender::under_way(to, None)];
        Self { senders, state: State::Opening, format: None, last: at }
    }

    /// Found under way: side 1 is `to`, whose reference the TPDU named.
    pub(super) const fn adopted(
        from: Address,
        to: Address,
        destination: Reference,
        at: Instant,
    ) -> Self {
        let senders = [Sender::under_way(from, None), Sender::under_way(to, Some(destination))];
        Self { senders, state: State::Established, format: None, last: at }
    }

    /// Takes notice of a CC sent by side 1.
    pub(super) fn confirm(&mut self, source: Reference, credit: u8, class: ClassOption) {
        let [requester, confirmer] = &mut self.senders;
        *confirmer = Sender::opening(confirmer.address, source, credit);
        if self.state != State::Opening {
            // Its CR was not seen, but a CC is answered by the first DT and AK.
            requester.data = DataOrder::from_the_start();
        }
        self.format = Some(class.format());
        self.state = State::Established;
    }
}
