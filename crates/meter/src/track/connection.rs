//! One transport connection as the tap sees it.
//!
//! State that every connection needs is stored inline, and the rest apart, so that a million quiet
//! connections fit in memory.

use super::apart::{Apart, Numbered, Rare, Start, Turn};
use super::counter_store::SideCounters;
use super::data::DataOrder;
use super::direction::{Direction, Numbers};
use super::outstanding::{Outstanding, Replies, Within};
use super::pair_counters::Sum;
use super::side::{Side, other};
use super::tsdu::Open;
use crate::follow::association::Association;
use crate::host::HostNumber;
use crate::measure::{Summary, Times, Volume, Waits};
use crate::observation::{Ending, Role, Tpdu};
use crate::user::{Confidence, User};
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

/// State and counts of what one side sends. In the order of its fields, so that a DT touches few cache
/// lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// TSDU under way.
    pub(super) open: Open,
    pub(super) within: Within,
    pub(super) disconnects: Disconnects,
    start: Start,
    same: [Same; 2],
    /// The side's reference; zero while unknown.
    pub(crate) reference: Reference,
    port: u16,
    host: HostNumber,
}

/// True for each TPDU that a side sent to end the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Disconnects(u8);

impl Disconnects {
    /// A DR.
    pub(super) const REQUEST: u8 = 1;
    /// A DC.
    pub(super) const CONFIRM: u8 = 2;

    /// Records one; returns true if it was sent before.
    pub(super) const fn sent(&mut self, which: u8) -> bool {
        let before = self.0;
        self.0 |= which;
        before & which != 0
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Sender>() == 28 && size_of::<Connection>() == 120);

impl Sender {
    /// Side that opened the connection and granted this credit in its CR or CC.
    pub(super) fn opening(end: End, reference: Reference, credit: u8) -> Self {
        let start = Start::of(credit);
        Self { open: Open::WHOLE, start, ..Self::under_way(end, reference) }
    }

    /// Side found under way, or not known yet.
    pub(super) fn under_way(end: End, reference: Reference) -> Self {
        Self {
            host: end.host,
            port: end.port,
            reference,
            open: Open::BROKEN,
            start: Start::UNDER_WAY,
            same: [Same::default(); 2],
            within: Within::Nothing,
            disconnects: Disconnects::default(),
        }
    }

    /// Address and port.
    pub(crate) const fn end(&self) -> End {
        End { host: self.host, port: self.port }
    }

    /// True if a TPDU is counted among the first of their kinds, as one of few of the same size.
    fn counts_as_same(&mut self, tpdu: &Tpdu) -> bool {
        let sizes = (u8::try_from(tpdu.header_octets), u8::try_from(tpdu.data_octets));
        let (Ok(header_octets), Ok(data_octets)) = sizes else { return false };
        for same in &mut self.same {
            let is_alike = same.kind == Some(tpdu.kind)
                && (same.header_octets, same.data_octets) == (header_octets, data_octets)
                && tpdu.retransmitted
                && same.tpdus < u8::MAX;
            if is_alike {
                same.tpdus += 1;
                return true;
            }
            if same.kind.is_none() && !tpdu.retransmitted {
                *same = Same { kind: Some(tpdu.kind), tpdus: 1, header_octets, data_octets };
                return true;
            }
        }
        false
    }

    /// Volume of a kind other than DT and AK.
    fn volume_of_other(&self, rare: Option<&Rare>, kind: Kind) -> Volume {
        let kept = rare.into_iter().flat_map(|rare| &rare.volumes);
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
    fn volumes(&self, rare: Option<&Rare>, kept: &SideCounters) -> [Volume; 10] {
        let mut volumes = Kind::ALL.map(|kind| match kind {
            Kind::Dt | Kind::Ak => Volume::default(),
            _ => self.volume_of_other(rare, kind),
        });
        let others: u64 = volumes.iter().map(|volume| volume.tpdus).sum();
        let [tpdus, dts, dts_again, _] = kept.counts();
        let repeated = rare.map_or(0, |rare| rare.dt_octets_again);
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
            retransmissions: rare.map_or(0, |rare| rare.confirming + rare.keeping_alive),
            ..Volume::default()
        };
        volumes
    }

    /// Direction for a report, from its state, its counters and its delays.
    fn direction(&self, rare: Option<&Rare>, kept: &SideCounters, waits: Waits) -> Direction {
        let (confirming, keeping_alive) =
            rare.map_or((0, 0), |rare| (rare.confirming, rare.keeping_alive));
        let volumes = self.volumes(rare, kept);
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
            closed_since: rare.and_then(|rare| rare.closed_since),
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
    pub(super) apart: Option<Box<Apart>>,
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

    /// State apart, made now if there is none.
    #[inline]
    pub(crate) fn apart(&mut self) -> &mut Apart {
        let Self { apart, senders, .. } = self;
        apart.get_or_insert_with(|| Apart::new(senders.each_ref().map(|sender| sender.start)))
    }

    /// State apart, if there is one.
    #[inline]
    pub(super) fn apart_if_any(&mut self) -> Option<&mut Apart> {
        self.apart.as_deref_mut()
    }

    /// State apart, and the TSDUs under way of both sides.
    #[inline]
    pub(super) fn apart_and_open(&mut self) -> (&mut Apart, [&mut Open; 2]) {
        let Self { apart, senders, .. } = self;
        let starts = || senders.each_ref().map(|sender| sender.start);
        let apart = apart.get_or_insert_with(|| Apart::new(starts()));
        (apart, senders.each_mut().map(|sender| &mut sender.open))
    }

    /// Rare state of a side, if there is one.
    pub(super) fn rare(&self, side: Side) -> Option<&Rare> {
        self.apart.as_ref()?.rare[side].as_deref()
    }

    /// True if the first DT of a side has number 0.
    pub(super) const fn is_start_seen(&self, side: Side) -> bool {
        self.senders[side].start.is_seen
    }

    /// Time since which the peer of a side grants no credit; none while it grants some.
    pub(super) fn closed_since(&self, side: Side) -> Option<Instant> {
        self.rare(side).and_then(|rare| rare.closed_since)
    }

    /// True if all DTs are acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.apart.as_ref().is_none_or(|apart| apart.is_idle())
    }

    /// Acknowledgement delays of the DTs of a side.
    pub(super) fn acknowledgement_delays(&self, side: Side) -> Times {
        let apart = self.apart.as_ref();
        apart.map_or_else(Times::default, |apart| apart.numbered[side].delays.times())
    }

    /// Durations for which the peer of a side granted no credit; a window still closed counts up
    /// to `now`.
    pub(super) fn closed_windows(&self, side: Side, now: Instant) -> Times {
        let Some(rare) = self.rare(side) else { return Times::default() };
        let mut times = rare.closed;
        if let Some(since) = rare.closed_since {
            times.add(&Times::one(now.nanos_since(since)));
        }
        times
    }

    /// Counts the rare properties of a TPDU that a side sent.
    pub(crate) fn count(&mut self, side: Side, tpdu: &Tpdu) {
        match tpdu.kind {
            Kind::Dt if tpdu.retransmitted || tpdu.into_closed_window || tpdu.empty_part => {
                let rare = self.apart().rare(side);
                rare.into_closed_window += u64::from(tpdu.into_closed_window);
                rare.empty_parts += u64::from(tpdu.empty_part);
                if tpdu.retransmitted {
                    rare.dt_octets_again += tpdu.data_octets;
                }
            }
            Kind::Ak => tpdu.role.into_iter().for_each(|role| self.count_role(side, role)),
            Kind::Dt => {}
            _ if self.senders[side].counts_as_same(tpdu) => {}
            _ => {
                let volumes = &mut self.apart().rare(side).volumes;
                match volumes.iter_mut().find(|(kind, _)| *kind == tpdu.kind) {
                    Some((_, volume)) => volume.observe(tpdu),
                    None => {
                        let mut volume = Volume::default();
                        volume.observe(tpdu);
                        volumes.push((tpdu.kind, volume));
                    }
                }
            }
        }
    }

    /// Counts a DT of a side without data and without EOT.
    #[cold]
    #[inline(never)]
    pub(crate) fn count_empty(&mut self, side: Side) {
        self.apart().rare(side).empty_parts += 1;
    }

    /// Counts an AK of a side with a rare role.
    #[cold]
    pub(crate) fn count_role(&mut self, side: Side, role: Role) {
        match role {
            Role::Acknowledging | Role::Crediting => {}
            Role::Confirming => self.apart().rare(side).confirming += 1,
            Role::KeepingAlive => self.apart().rare(side).keeping_alive += 1,
        }
    }

    /// Restarts the numbering of a side because it opens the connection only now; earlier TPDUs
    /// stay counted.
    fn open(&mut self, side: Side, reference: Reference, credit: u8) {
        let sender = &mut self.senders[side];
        let begun = Sender::opening(sender.end(), reference, credit);
        *sender = Sender { same: sender.same, ..begun };
        let Some(apart) = &mut self.apart else { return };
        apart.numbered[side].restart(begun.start);
        if let Some(rare) = &mut apart.rare[side] {
            (rare.beyond, rare.waiting, rare.closed_since) = Default::default();
            rare.requests.clear();
        }
    }

    fn new(senders: [Sender; 2], state: State, at: Instant, requester: Option<u8>) -> Self {
        let mut connection = Self {
            serial: 0,
            senders,
            state,
            opened: [Instant::MAX; 2],
            apart: None,
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
        let (format, rare) =
            (self.format.filter(|format| *format != Format::Class0), self.rare(side));
        let beyond = rare.map(|rare| &rare.beyond);
        let numbers = format.and_then(|format| {
            let apart = self.apart.as_ref();
            let numbered = [side, other(side)].map(|side| {
                let kept = apart.map(|apart| apart.numbered[side].clone());
                kept.unwrap_or_else(|| Numbered::of(self.senders[side].start))
            });
            let [sender, peer] = &numbered;
            let grant = peer.acknowledgements.grant().filter(|_| self.has_flow_control());
            let (sent, acknowledged) =
                sender.data.numbers(format, grant.map(|grant| grant.next), beyond)?;
            let credit = grant.map_or(0, |grant| u64::from(grant.credit));
            let allowed = acknowledged.map(|next| next + credit);
            Some(Numbers { sent, acknowledged, allowed })
        });
        let mut waits = self.waits(side, now);
        waits.add(&kept.carried);
        let mut direction = self.senders[side].direction(rare, kept, waits);
        (direction.numbers, direction.replied) = (numbers, self.replied_summary(side));
        direction
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
        let since = [0, 1].map(|side| self.closed_since(side));
        since.into_iter().flatten().map(move |since| now.nanos_since(since))
    }

    /// Closes the account of all windows; returns the durations of those that were closed.
    pub(super) fn end_windows(&mut self, at: Instant) -> impl Iterator<Item = u64> {
        let apart = self.apart_if_any();
        let turns = apart.map(|apart| [0, 1].map(|side| apart.window(side, at, false)));
        turns.into_iter().flatten().flatten().filter_map(|turn| match turn {
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
            State::Closing | State::Closed => &mut self.apart().ended[of_the_end],
        };
        *since = (*since).min(at);
    }

    /// Class agreed on; none if the CC was not seen.
    pub(super) fn class(&self) -> Option<u8> {
        self.agreed.map(|agreed| agreed.class)
    }

    /// Time at which it entered each state.
    pub(super) fn history(&self) -> [Option<Instant>; 4] {
        let [opening, established] = self.opened;
        let [closing, closed] = self.apart.as_ref().map_or([Instant::MAX; 2], |apart| apart.ended);
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
        self.open(1, source, credit);
        if !was_requested {
            // The CR was not seen, but the requester's numbers start after the CC.
            let [requester, _] = &mut self.senders;
            (requester.open, requester.start.is_seen) = (Open::WHOLE, true);
            if let Some(apart) = &mut self.apart {
                apart.of(0).data = DataOrder::from_the_start();
            }
        }
        self.format = Some(class.format());
        self.agreed = Some(Agreed {
            class: class.class,
            has_flow_control: class.class > 1 && !class.without_flow_control,
        });
        self.outstanding = Outstanding::after(self.outstanding);
        let rare = self.apart_if_any().into_iter().flat_map(|apart| &mut apart.rare);
        rare.flatten().for_each(|rare| rare.requests.clear());
        let [since, _] = self.opened;
        self.enter(State::Established, at);
        if self.has_flow_control() {
            let apart = self.apart();
            let is_closed = apart.numbered.each_ref().map(|receiver| {
                receiver.acknowledgements.grant().is_some_and(|grant| grant.credit == 0)
            });
            apart.window(0, at, is_closed[1]);
            apart.window(1, at, is_closed[0]);
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
