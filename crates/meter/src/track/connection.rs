//! One transport connection as the tap sees it.
//!
//! State that every connection needs is stored inline. State that few need (expedited data,
//! retransmissions, several DTs without an AK) is boxed, so that a million quiet connections fit in
//! memory.

use super::acknowledgement::AcknowledgementOrder;
use super::counter_store::SideCounters;
use super::data::{Beyond, DataOrder};
use super::direction::{Direction, Numbers};
use super::outstanding::{Outstanding, Replies, Request, Within};
use super::pair_counters::Sum;
use super::side::{Side, other};
use super::waiting::{Behind, Waiting};
use crate::follow::association::Association;
use crate::host::HostNumber;
use crate::measure::{DelaySum, Summary, Times, Volume, Waits};
use crate::observation::{Ending, Role, Tpdu};
use crate::user::{Confidence, User};
use std::collections::VecDeque;
use wire::time::Instant;
use wire::tp::{ClassOption, Format, Kind, Reference};

/// State of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum State {
    /// A CR was seen, no CC yet.
    Opening,
    /// A CC was seen, or the connection was found under way.
    Established,
    /// A DR was seen.
    Closing,
    /// A DC was seen, or the TCP connection of one of class 0 ended. The reference stays frozen
    /// until it is reused or the connection is evicted.
    Closed,
}

impl State {
    /// All states, in the order in which a connection goes through them.
    pub const ALL: [Self; 4] = [Self::Opening, Self::Established, Self::Closing, Self::Closed];

    /// True if a CR with the same reference requests another connection.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Closing | Self::Closed)
    }

    /// Name in output.
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

/// Address and port of a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    pub(crate) host: HostNumber,
    /// TCP port; zero if there are no ports.
    pub(super) port: u16,
}

/// TPDUs of one kind and size, of which a side sends few: CR, CC, DR, DC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Same {
    kind: Option<Kind>,
    tpdus: u8,
    header_octets: u8,
    data_octets: u8,
}

/// State that few directions need.
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
    /// DTs beyond a hole.
    pub(super) beyond: Beyond,
    /// Unacknowledged DTs after the first.
    pub(super) waiting: Behind,
    /// Requests without a reply, except the first of the connection.
    pub(super) requests: VecDeque<Request>,
    /// Time since which the peer grants no credit; none while it grants some.
    closed_since: Option<Instant>,
    /// Durations of closed windows, except the one under way.
    closed: Times,
}

/// Change of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// It was open and is closed.
    Closed,
    /// It was opened; it was closed for this number of nanoseconds.
    Opened(u64),
}

/// State and counts of what one side sends. In the order of its fields, so that a DT touches few cache
/// lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    pub(crate) data: DataOrder,
    pub(super) rare: Option<Box<Rare>>,
    pub(super) within: Within,
    pub(super) disconnect_requested: bool,
    pub(super) disconnect_confirmed: bool,
    same: [Same; 2],
    /// The side's reference; zero while unknown.
    pub(crate) reference: Reference,
    port: u16,
    host: HostNumber,
    pub(super) waiting: Waiting,
    pub(super) acknowledgements: AcknowledgementOrder,
    /// Acknowledgement delays of its DTs.
    pub(super) delays: DelaySum,
}

impl Sender {
    /// Side that opened the connection and granted this credit in its CR or CC.
    pub(super) fn opening(end: End, reference: Reference, credit: u8) -> Self {
        Self {
            data: DataOrder::from_the_start(),
            acknowledgements: AcknowledgementOrder::from_the_start(credit),
            ..Self::under_way(end, reference)
        }
    }

    /// Side found under way, or not known yet.
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

    /// Restarts the numbering because the side opens the connection only now; earlier TPDUs stay
    /// counted.
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

    /// Drops its outstanding requests.
    fn drop_requests(&mut self) {
        if let Some(rare) = &mut self.rare {
            rare.requests.clear();
        }
    }

    /// Address and port.
    pub(crate) const fn end(&self) -> End {
        End { host: self.host, port: self.port }
    }

    /// Records whether the peer grants credit; returns the change of the window, if any.
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

    /// Time since which its peer grants no credit; none while it grants some.
    pub(super) fn closed_since(&self) -> Option<Instant> {
        self.rare.as_ref().and_then(|rare| rare.closed_since)
    }

    /// True if all its DTs are acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.rare.as_ref().is_none_or(|rare| rare.waiting.is_empty())
    }

    /// Counts the rare properties of a TPDU that it sent.
    pub(crate) fn count(&mut self, tpdu: &Tpdu) {
        match tpdu.kind {
            Kind::Dt if tpdu.retransmitted || tpdu.into_closed_window || tpdu.empty_part => {
                let rare = self.rare.get_or_insert_default();
                rare.into_closed_window += u64::from(tpdu.into_closed_window);
                rare.empty_parts += u64::from(tpdu.empty_part);
                if tpdu.retransmitted {
                    rare.dt_octets_again += tpdu.data_octets;
                }
            }
            Kind::Ak => tpdu.role.into_iter().for_each(|role| self.count_role(role)),
            Kind::Dt => {}
            _ => self.count_other(tpdu),
        }
    }

    /// Counts an AK with a rare role.
    #[cold]
    pub(crate) fn count_role(&mut self, role: Role) {
        match role {
            Role::Acknowledging | Role::Crediting => {}
            Role::Confirming => self.rare.get_or_insert_default().confirming += 1,
            Role::KeepingAlive => self.rare.get_or_insert_default().keeping_alive += 1,
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

    /// Volume of a kind other than DT and AK.
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

    /// Volumes by kind.
    fn volumes(&self, kept: &SideCounters, confirming_or_alive: u64) -> [Volume; 10] {
        let mut volumes = Kind::ALL.map(|kind| match kind {
            Kind::Dt | Kind::Ak => Volume::default(),
            _ => self.volume_of_other(kind),
        });
        let others: u64 = volumes.iter().map(|volume| volume.tpdus).sum();
        let [tpdus, dts, dts_again, _] = kept.counts();
        let repeated = self.rare.as_ref().map_or(0, |rare| rare.dt_octets_again);
        volumes[Kind::Dt as usize] = Volume {
            tpdus: dts,
            header_octets: kept.sum(Sum::DtHeaders),
            data_octets: kept.sum(Sum::DtData),
            information_octets: kept.sum(Sum::DtData) - repeated,
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

    /// Durations for which its peer granted no credit; a window still closed counts up to `now`.
    pub(super) fn closed_windows(&self, now: Instant) -> Times {
        let Some(rare) = self.rare.as_deref() else { return Times::default() };
        let mut times = rare.closed;
        if let Some(since) = rare.closed_since {
            times.add(&Times::one(now.nanos_since(since)));
        }
        times
    }

    /// Direction for a report, from its state, its counters and its delays.
    fn direction(&self, kept: &SideCounters, waits: Waits) -> Direction {
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

/// Connection, or half of a connection that was found under way. In the order of its fields, so that a
/// TPDU touches few cache lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Connection {
    pub(super) outstanding: Outstanding,
    /// Replies of each side, and the association; none before the first.
    pub(super) replies: Option<Box<Replies>>,
    pub(super) state: State,
    /// Format of sequence numbers; none until the CC or the first numbered TPDU shows it.
    pub(crate) format: Option<Format>,
    /// Class and options agreed on; none if the CC was not seen.
    agreed: Option<Agreed>,
    pub(super) ending: Option<Ending>,
    /// True if an ER was seen.
    pub(super) is_erroneous: bool,
    pub(super) user: User,
    pub(super) confidence: Confidence,
    /// Number of TSDUs examined to recognise the application.
    pub(super) looked_at: u8,
    /// True if its TSDUs are passed upwards, or may be.
    pub(super) passes_tsdus: bool,
    /// Number of the connection in order of appearance; wraps after 2^32.
    pub(super) serial: u32,
    pub(crate) senders: [Sender; 2],
    /// Times of the first two states; the end of time for a state not reached.
    opened: [Instant; 2],
    /// Times of the other two states, likewise; boxed because they are needed only at the end.
    ended: Option<Box<[Instant; 2]>>,
}

/// Relevant part of the class and options agreed on.
#[derive(Clone, Copy, Debug)]
struct Agreed {
    class: u8,
    has_flow_control: bool,
}

impl Connection {
    /// A side, chosen without an index that could be out of bounds.
    #[inline]
    pub(crate) const fn sender(&mut self, side: Side) -> &mut Sender {
        let [first, second] = &mut self.senders;
        if side == 0 { first } else { second }
    }

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
            passes_tsdus: false,
            outstanding: Outstanding::none(requester),
            replies: None,
        };
        connection.enter(state, at);
        connection
    }

    /// Connection requested by a CR.
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

    /// Connection found under way: side 1 is `to`, whose reference the TPDU carried.
    pub(super) fn adopted(from: End, to: End, destination: Reference, at: Instant) -> Self {
        let senders = [Sender::under_way(from, Reference(0)), Sender::under_way(to, destination)];
        Self::new(senders, State::Established, at, None)
    }

    /// Direction of a side at `now`, from its state and its counters `kept`.
    pub(super) fn direction(&self, side: Side, kept: &SideCounters, now: Instant) -> Direction {
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

    /// True if its DTs identify it by the network connection alone.
    pub(super) const fn is_by_network(&self) -> bool {
        matches!(self.format, Some(Format::Class0))
    }

    /// True if receivers grant credit.
    pub(super) fn has_flow_control(&self) -> bool {
        self.agreed.map_or_else(|| !self.is_by_network(), |agreed| agreed.has_flow_control)
    }

    /// Durations, up to `now`, of the windows that are closed.
    pub(super) fn closed_for(&self, now: Instant) -> impl Iterator<Item = u64> {
        let since = self.senders.each_ref().map(Sender::closed_since);
        since.into_iter().flatten().map(move |since| now.nanos_since(since))
    }

    /// Closes the account of all windows; returns the durations of those that were closed.
    pub(super) fn end_windows(&mut self, at: Instant) -> impl Iterator<Item = u64> {
        let turns = self.senders.each_mut().map(|sender| sender.window(at, false));
        turns.into_iter().flatten().filter_map(|turn| match turn {
            Turn::Closed => None,
            Turn::Opened(closed) => Some(closed),
        })
    }

    /// Records the time at which it entered a state.
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

    /// Class agreed on; none if the CC was not seen.
    pub(super) fn class(&self) -> Option<u8> {
        self.agreed.map(|agreed| agreed.class)
    }

    /// Time at which it entered each state.
    pub(super) fn history(&self) -> [Option<Instant>; 4] {
        let ([opening, established], ended) = (self.opened, self.ended.as_deref());
        let [closing, closed] = ended.copied().unwrap_or([Instant::MAX; 2]);
        [opening, established, closing, closed].map(|at| Some(at).filter(|at| *at != Instant::MAX))
    }

    /// Processes a CC sent by side 1; returns its delay after the CR, if the CR was seen.
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
            // The CR was not seen, but the requester's numbers start after the CC.
            requester.data = DataOrder::from_the_start();
        }
        self.format = Some(class.format());
        self.agreed = Some(Agreed {
            class: class.class,
            has_flow_control: class.class > 1 && !class.without_flow_control,
        });
        self.outstanding = Outstanding::after(self.outstanding);
        self.senders.iter_mut().for_each(Sender::drop_requests);
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

    /// Records the application, if it was recognised with more confidence than before.
    // Never inline: few TSDUs are examined.
    #[cold]
    #[inline(never)]
    pub(super) fn recognise(&mut self, found: (User, Confidence)) {
        let (user, confidence) = found;
        // ICCP is distinguished from MMS by names that come later, and MMS from other users of the
        // session by its first PDU.
        let is_finer = matches!(
            (self.user, user),
            (User::Mms, User::Iccp) | (User::Session, User::Mms | User::Iccp)
        );
        if confidence > self.confidence || is_finer {
            (self.user, self.confidence) = (user, confidence);
            if matches!(user, User::Mms | User::Iccp) {
                self.outstanding = Outstanding::followed(self.outstanding);
                let association = &mut self.replies.get_or_insert_default().association;
                association.get_or_insert_with(|| Box::new(Association::new()));
            }
        }
    }
}
