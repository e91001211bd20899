//! One transport connection as a listener knows it.
//!
//! What every connection needs stands in it; what few need (expedited data, retransmissions, several
//! DTs without an AK) is kept apart, so that a million quiet connections have room.

use super::acknowledgement::AcknowledgementOrder;
use super::both::Sum;
use super::data::{Beyond, DataOrder};
use super::direction::{Direction, Numbers};
use super::replies::{Outstanding, Replies, Request, Within};
use super::sides::Kept;
use super::waiting::{Behind, Waiting};
use crate::host::HostNumber;
use crate::measure::{DelaySum, Summary, Times, Volume, Waits};
use crate::sight::{Ending, Role, Tpdu};
use crate::user::{Confidence, User};
use std::collections::VecDeque;
use wire::time::Instant;
use wire::tp::{ClassOption, Format, Kind, Reference};

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// A CR was seen, no CC yet.
    Opening,
    /// A CC was seen, or the connection was found under way.
    Established,
    /// A DR was seen.
    Closing,
    /// A DC was seen, or the TCP connection of one of class 0 ended. The reference stays frozen until
    /// it is used anew or forgotten.
    Closed,
}

impl State {
    /// All states, in the order in which a connection goes through them.
    pub const ALL: [Self; 4] = [Self::Opening, Self::Established, Self::Closing, Self::Closed];

    /// Whether a CR with the same reference asks for another connection.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Closing | Self::Closed)
    }

    /// As it is printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Established => "established",
            Self::Closing => "closing",
            Self::Closed => "closed",
        }
    }
}

/// Which of the two sides: 0 sent the CR where one was seen.
pub(super) type Side = usize;

/// The other side.
pub(super) const fn other(side: Side) -> Side {
    1 - side
}

/// Who a side is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    pub(super) host: HostNumber,
    /// Zero where there are no ports.
    pub(super) port: u16,
}

/// TPDUs of one kind and size, of which a side sends one or a few: CR, CC, DR, DC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Same {
    kind: Option<Kind>,
    tpdus: u8,
    header_octets: u8,
    data_octets: u8,
}

/// What few directions need.
#[derive(Clone, Debug, Default)]
pub(super) struct Rare {
    /// The number of the last ED.
    pub(super) expedited: Option<u32>,
    /// The number of the last EA.
    pub(super) expedited_acknowledged: Option<u32>,
    volumes: Vec<(Kind, Volume)>,
    dt_octets_again: u64,
    confirming: u64,
    keeping_alive: u64,
    into_closed_window: u64,
    empty_parts: u64,
    /// DTs that came beyond a hole.
    pub(super) beyond: Beyond,
    /// DTs that wait for their AK behind the first.
    pub(super) waiting: Behind,
    /// Requests that have no reply yet, but for the first of the connection.
    pub(super) requests: VecDeque<Request>,
    /// Since when the peer gives no credit; none while it gives some.
    closed_since: Option<Instant>,
    /// How long it was closed, each time, but for the time under way.
    closed: Times,
}

/// What becomes of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// It was open.
    Closed,
    /// It was closed for so many nanoseconds.
    Opened(u64),
}

/// What one side sends.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    host: HostNumber,
    port: u16,
    /// Its name for the connection; zero while it is not known.
    pub(super) reference: Reference,
    pub(super) data: DataOrder,
    pub(super) acknowledgements: AcknowledgementOrder,
    pub(super) waiting: Waiting,
    pub(super) rare: Option<Box<Rare>>,
    same: [Same; 2],
    /// How long its DTs waited for their AKs.
    pub(super) delays: DelaySum,
    pub(super) within: Within,
    pub(super) disconnect_requested: bool,
    pub(super) disconnect_confirmed: bool,
}

impl Sender {
    /// A side that opened the connection and granted this credit in doing so.
    pub(super) fn opening(end: End, reference: Reference, credit: u8) -> Self {
        Self {
            data: DataOrder::from_the_start(),
            acknowledgements: AcknowledgementOrder::from_the_start(credit),
            ..Self::under_way(end, reference)
        }
    }

    /// A side found sending, or not known yet.
    pub(super) const fn under_way(end: End, reference: Reference) -> Self {
        let same = Same { kind: None, tpdus: 0, header_octets: 0, data_octets: 0 };
        Self {
            host: end.host,
            port: end.port,
            reference,
            data: DataOrder::under_way(),
            acknowledgements: AcknowledgementOrder::under_way(),
            waiting: Waiting::NONE,
            rare: None,
            same: [same; 2],
            delays: DelaySum::NONE,
            within: Within::Nothing,
            disconnect_requested: false,
            disconnect_confirmed: false,
        }
    }

    /// Takes notice that it opens the connection only now, whatever it seemed to send before, which stays counted.
    fn open(&mut self, reference: Reference, credit: u8) {
        let begun = Self::opening(self.end(), reference, credit);
        let Self { same, delays, .. } = *self;
        let rare = self.rare.take().map(|mut rare| {
            (rare.beyond, rare.waiting, rare.closed_since) = Default::default();
            rare.requests.clear();
            rare
        });
        *self = Self { same, delays, rare, ..begun };
    }

    /// Its requests are outstanding no more.
    fn forget_requests(&mut self) {
        if let Some(rare) = &mut self.rare {
            rare.requests.clear();
        }
    }

    /// Who it is.
    pub(super) const fn end(&self) -> End {
        End { host: self.host, port: self.port }
    }

    /// Notes whether the peer lets it send; what that changes.
    #[inline]
    pub(super) fn window(&mut self, at: Instant, is_closed: bool) -> Option<Turn> {
        if is_closed {
            let rare = self.rare.get_or_insert_default();
            if rare.closed_since.is_some() {
                return None;
            }
            rare.closed_since = Some(at);
            return Some(Turn::Closed);
        }
        let rare = self.rare.as_mut()?;
        let closed = at.nanos_since(rare.closed_since.take()?);
        rare.closed.add(&Times::one(closed));
        Some(Turn::Opened(closed))
    }

    /// Since when its peer gives it no credit; none while it gives some.
    pub(super) fn closed_since(&self) -> Option<Instant> {
        self.rare.as_ref().and_then(|rare| rare.closed_since)
    }

    /// Whether all its DTs are acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.rare.as_ref().is_none_or(|rare| rare.waiting.is_empty())
    }

    /// Keeps what few have of a TPDU that it sent.
    pub(super) fn count(&mut self, tpdu: &Tpdu) {
        match tpdu.kind {
            Kind::Dt if tpdu.retransmitted || tpdu.into_closed_window || tpdu.empty_part => {
                let rare = self.rare.get_or_insert_default();
                rare.into_closed_window += u64::from(tpdu.into_closed_window);
                rare.empty_parts += u64::from(tpdu.empty_part);
                if tpdu.retransmitted {
                    rare.dt_octets_again += tpdu.data_octets;
                }
            }
            Kind::Ak => match tpdu.role {
                None | Some(Role::Acknowledging | Role::Crediting) => {}
                Some(Role::Confirming) => self.rare.get_or_insert_default().confirming += 1,
                Some(Role::KeepingAlive) => self.rare.get_or_insert_default().keeping_alive += 1,
            },
            Kind::Dt => {}
            _ => self.count_other(tpdu),
        }
    }

    fn count_other(&mut self, tpdu: &Tpdu) {
        let sizes = (u8::try_from(tpdu.header_octets), u8::try_from(tpdu.data_octets));
        if let (Ok(header_octets), Ok(data_octets)) = sizes {
            for same in &mut self.same {
                let is_alike = same.kind == Some(tpdu.kind)
                    && (same.header_octets, same.data_octets) == (header_octets, data_octets)
                    && tpdu.retransmitted
                    && same.tpdus < u8::MAX;
                if is_alike {
                    same.tpdus += 1;
                    return;
                }
                if same.kind.is_none() && !tpdu.retransmitted {
                    *same = Same { kind: Some(tpdu.kind), tpdus: 1, header_octets, data_octets };
                    return;
                }
            }
        }
        let volumes = &mut self.rare.get_or_insert_default().volumes;
        match volumes.iter_mut().find(|(kind, _)| *kind == tpdu.kind) {
            Some((_, volume)) => volume.observe(tpdu),
            None => {
                let mut volume = Volume::default();
                volume.observe(tpdu);
                volumes.push((tpdu.kind, volume));
            }
        }
    }

    /// What it sent of a kind other than DT and AK.
    fn volume_of_other(&self, kind: Kind) -> Volume {
        let kept = self.rare.iter().flat_map(|rare| &rare.volumes);
        let mut volume = Volume::default();
        kept.filter(|(kept, _)| *kept == kind).for_each(|(_, more)| volume.add(more));
        for same in self.same.iter().filter(|same| same.kind == Some(kind)) {
            let tpdus = u64::from(same.tpdus);
            let data_octets = u64::from(same.data_octets);
            volume.add(&Volume {
                tpdus,
                header_octets: tpdus * u64::from(same.header_octets),
                data_octets: tpdus * data_octets,
                information_octets: data_octets,
                retransmissions: tpdus - 1,
            });
        }
        volume
    }

    /// What it sent, by kind.
    fn volumes(&self, kept: &Kept, confirming_or_alive: u64) -> [Volume; 10] {
        let mut volumes = Kind::ALL.map(|kind| match kind {
            Kind::Dt | Kind::Ak => Volume::default(),
            _ => self.volume_of_other(kind),
        });
        let others: u64 = volumes.iter().map(|volume| volume.tpdus).sum();
        let [tpdus, dts, dts_again, _] = kept.counts();
        let again = self.rare.as_ref().map_or(0, |rare| rare.dt_octets_again);
        volumes[Kind::Dt as usize] = Volume {
            tpdus: dts,
            header_octets: kept.sum(Sum::DtHeaders),
            data_octets: kept.sum(Sum::DtData),
            information_octets: kept.sum(Sum::DtData) - again,
            retransmissions: dts_again,
        };
        volumes[Kind::Ak as usize] = Volume {
            tpdus: tpdus - dts - others,
            header_octets: kept.sum(Sum::Aks),
            retransmissions: confirming_or_alive,
            ..Volume::default()
        };
        volumes
    }

    /// How long its peer gave it no credit, each time; up to now where it still gives none.
    pub(super) fn closed_windows(&self, now: Instant) -> Times {
        let Some(rare) = self.rare.as_deref() else { return Times::default() };
        let mut times = rare.closed;
        if let Some(since) = rare.closed_since {
            times.add(&Times::one(now.nanos_since(since)));
        }
        times
    }

    /// All that is known of it but for its numbers, with what is kept of it and how long things took.
    fn direction(&self, kept: &Kept, waits: Waits) -> Direction {
        let rare = self.rare.as_deref();
        let (confirming, keeping_alive) =
            rare.map_or((0, 0), |rare| (rare.confirming, rare.keeping_alive));
        let volumes = self.volumes(kept, confirming + keeping_alive);
        let crediting = kept.sum(Sum::Crediting);
        let acknowledging = volumes[Kind::Ak as usize].originals() - crediting;
        let [.., tsdus] = kept.counts();
        Direction {
            volumes,
            tsdus,
            tsdu_octets: kept.sum(Sum::Tsdus),
            roles: [acknowledging, crediting, confirming, keeping_alive],
            into_closed_window: rare.map_or(0, |rare| rare.into_closed_window),
            empty_parts: rare.map_or(0, |rare| rare.empty_parts),
            closed_since: self.closed_since(),
            numbers: None,
            peak: kept.peak,
            sizes: kept.sizes,
            waits,
            replied: Summary::default(),
        }
    }
}

/// A connection, or the half of one that was found under way.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// Counts connections as they come; wraps after four thousand million.
    pub(super) serial: u32,
    pub(super) senders: [Sender; 2],
    pub(super) state: State,
    /// When it came to the first two states; the end of time for those it did not come to.
    opened: [Instant; 2],
    /// When it came to the other two, likewise: kept apart, since most of a connection's life is before.
    ended: Option<Box<[Instant; 2]>>,
    /// How numbers are written; none until the CC or the first numbered TPDU tells.
    pub(super) format: Option<Format>,
    /// What was agreed on; none where that was not seen.
    agreed: Option<Agreed>,
    pub(super) ending: Option<Ending>,
    /// Whether an ER was seen.
    pub(super) is_erroneous: bool,
    pub(super) user: User,
    pub(super) confidence: Confidence,
    /// How many TSDUs have been looked at for who is above.
    pub(super) looked_at: u8,
    pub(super) outstanding: Outstanding,
    /// Replies of each side; none before the first.
    pub(super) replies: Option<Box<Replies>>,
}

/// What matters of the class that the sides agreed on.
#[derive(Clone, Copy, Debug)]
struct Agreed {
    class: u8,
    has_flow_control: bool,
}

impl Connection {
    fn new(senders: [Sender; 2], state: State, at: Instant, requester: Option<u8>) -> Self {
        let mut connection = Self {
            serial: 0,
            senders,
            state,
            opened: [Instant::MAX; 2],
            ended: None,
            format: None,
            agreed: None,
            ending: None,
            is_erroneous: false,
            user: User::Unknown,
            confidence: Confidence::None,
            looked_at: 0,
            outstanding: Outstanding::none(requester),
            replies: None,
        };
        connection.enter(state, at);
        connection
    }

    /// Asked for by a CR.
    pub(super) fn requested(
        from: End,
        to: End,
        source: Reference,
        credit: u8,
        at: Instant,
    ) -> Self {
        let senders = [Sender::opening(from, source, credit), Sender::under_way(to, Reference(0))];
        Self::new(senders, State::Opening, at, Some(0))
    }

    /// Found under way: side 1 is `to`, whose reference the TPDU named.
    pub(super) fn adopted(from: End, to: End, destination: Reference, at: Instant) -> Self {
        let senders = [Sender::under_way(from, Reference(0)), Sender::under_way(to, destination)];
        Self::new(senders, State::Established, at, None)
    }

    /// What a side sent, with what is kept of it, and where its numbers stand, at this time.
    pub(super) fn direction(&self, side: Side, kept: &Kept, now: Instant) -> Direction {
        let (sender, peer) = (&self.senders[side], &self.senders[other(side)]);
        let format = self.format.filter(|format| *format != Format::Class0);
        let beyond = sender.rare.as_ref().map(|rare| &rare.beyond);
        let numbers = format.and_then(|format| {
            let grant = peer.acknowledgements.grant().filter(|_| self.has_flow_control());
            let (sent, acknowledged) =
                sender.data.numbers(format, grant.map(|grant| grant.next), beyond)?;
            let credit = grant.map_or(0, |grant| u64::from(grant.credit));
            let allowed = acknowledged.map(|next| next + credit);
            Some(Numbers { sent, acknowledged, allowed })
        });
        let mut waits = self.waits(side, now);
        waits.add(&kept.carried);
        let replied = self.replied(side).map_or_else(Summary::default, |all| all.summary());
        Direction { numbers, replied, ..sender.direction(kept, waits) }
    }

    /// Whether DTs name it by its network connection alone.
    pub(super) const fn is_by_network(&self) -> bool {
        matches!(self.format, Some(Format::Class0))
    }

    /// Whether receivers tell credit.
    pub(super) fn has_flow_control(&self) -> bool {
        self.agreed.map_or_else(|| !self.is_by_network(), |agreed| agreed.has_flow_control)
    }

    /// How long the windows that are closed have been so.
    pub(super) fn closed_for(&self, now: Instant) -> impl Iterator<Item = u64> {
        let since = self.senders.each_ref().map(Sender::closed_since);
        since.into_iter().flatten().map(move |since| now.nanos_since(since))
    }

    /// No window of it matters any more; how long those that were closed had been so.
    pub(super) fn end_windows(&mut self, at: Instant) -> impl Iterator<Item = u64> {
        let turns = self.senders.each_mut().map(|sender| sender.window(at, false));
        turns.into_iter().flatten().filter_map(|turn| match turn {
            Turn::Closed => None,
            Turn::Opened(closed) => Some(closed),
        })
    }

    /// Notes that it came to a state.
    pub(super) fn enter(&mut self, state: State, at: Instant) {
        self.state = self.state.max(state);
        let of_the_end = usize::from(self.state == State::Closed);
        let since = match self.state {
            State::Opening => &mut self.opened[0],
            State::Established => &mut self.opened[1],
            State::Closing | State::Closed => {
                let ended = self.ended.get_or_insert_with(|| Box::new([Instant::MAX; 2]));
                &mut ended[of_the_end]
            }
        };
        *since = (*since).min(at);
    }

    /// The class agreed on; none where that was not seen.
    pub(super) fn class(&self) -> Option<u8> {
        self.agreed.map(|agreed| agreed.class)
    }

    /// When it came to each state.
    pub(super) fn history(&self) -> [Option<Instant>; 4] {
        let ([opening, established], ended) = (self.opened, self.ended.as_deref());
        let [closing, closed] = ended.copied().unwrap_or([Instant::MAX; 2]);
        [opening, established, closing, closed].map(|at| Some(at).filter(|at| *at != Instant::MAX))
    }

    /// Takes notice of a CC sent by side 1; how long after the CR it is, where that was seen.
    pub(super) fn confirm(
        &mut self,
        at: Instant,
        source: Reference,
        credit: u8,
        class: ClassOption,
    ) -> Option<u64> {
        let was_requested = self.state == State::Opening;
        let [requester, confirmer] = &mut self.senders;
        confirmer.open(source, credit);
        if !was_requested {
            // Its CR was not seen, but a CC is answered by the first DT and AK.
            requester.data = DataOrder::from_the_start();
        }
        self.format = Some(class.format());
        self.agreed = Some(Agreed {
            class: class.class,
            has_flow_control: class.class > 1 && !class.without_flow_control,
        });
        self.outstanding = Outstanding::after(self.outstanding);
        self.senders.iter_mut().for_each(Sender::forget_requests);
        let [since, _] = self.opened;
        self.enter(State::Established, at);
        if self.has_flow_control() {
            let [requester, confirmer] = &mut self.senders;
            let is_closed = |receiver: &Sender| {
                receiver.acknowledgements.grant().is_some_and(|grant| grant.credit == 0)
            };
            let closed = [is_closed(confirmer), is_closed(requester)];
            requester.window(at, closed[0]);
            confirmer.window(at, closed[1]);
        }
        was_requested.then(|| at.nanos_since(since))
    }

    /// Notes who seems to be above, if that is surer than what is known.
    pub(super) fn recognise(&mut self, (user, confidence): (User, Confidence)) {
        // ICCP is told from MMS by names that come later.
        let is_finer = (self.user, user) == (User::Mms, User::Iccp);
        if confidence > self.confidence || is_finer {
            (self.user, self.confidence) = (user, confidence);
        }
    }
}
