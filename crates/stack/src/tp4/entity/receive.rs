//! Processing of received TPDUs: association with a connection, refusal, protocol errors (ISO 8073
//! 6.9.4, 6.22).

use super::super::connection::{Arrived, Connection};
use super::super::context::Context;
use super::super::invalid::{Broken, data_complaint};
use super::super::negotiate::{Agreement, CR_OCTETS};
use super::super::service::Note;
use super::super::table::{Event, State};
use super::super::tpdu::{dc_packet, dr_packet};
use super::Entity;
use crate::transport::service::{Address, Indication, Reason, disconnect_reason};
use bytes::Bytes;
use wire::checksum::Fletcher;
use wire::packet::Packet;
use wire::read::Malformed;
use wire::time::Instant;
use wire::tp::{Checksum, Connect, Data, Kind, Parameters, Pdu, Raw, Reference};

/// Location of a TPDU's user data.
#[derive(Clone, Copy)]
pub(super) enum UserData<'a> {
    /// No user data.
    None,
    /// After the header, in the same contiguous NSDU.
    Within(&'a Bytes),
    /// In a separate buffer.
    Apart(&'a Bytes),
}

impl<'a> UserData<'a> {
    /// User data in a separate buffer.
    #[inline]
    fn behind(self) -> &'a [u8] {
        match self {
            Self::None | Self::Within(_) => &[],
            Self::Apart(data) => data,
        }
    }

    /// User data of `raw`.
    fn of(self, raw: &Raw<'_>) -> Bytes {
        match self {
            Self::None => Bytes::new(),
            Self::Within(nsdu) => nsdu.slice_ref(raw.data()),
            Self::Apart(data) => data.clone(),
        }
    }
}

/// DT that passed every check. It is the last TPDU of its NSDU, which ends with its user data.
pub(super) struct Passed {
    slot: u32,
    dt: Arrived,
    /// Offset of its user data, if this is contiguous with the header.
    pub(super) data_at: usize,
}

impl Entity {
    /// Processes a TPDU separated from an NSDU. A valid DT is returned instead of being processed.
    #[inline(always)]
    pub(super) fn cut_out(
        &mut self,
        now: Instant,
        peer: Address,
        raw: Result<Raw<'_>, Malformed>,
        user_data: UserData<'_>,
    ) -> Option<Passed> {
        let Ok(raw) = raw else {
            self.counters.malformed += 1;
            return None;
        };
        let slot = self.addressed(peer, &raw);
        if raw.kind == Kind::Dt
            && let Some(slot) = slot
        {
            return self.examine(now, peer, &raw, user_data.behind(), slot);
        }
        self.tpdu(now, peer, &raw, user_data, slot);
        None
    }

    /// Slot of the connection addressed by a TPDU from `peer`.
    #[inline]
    fn addressed(&self, peer: Address, raw: &Raw<'_>) -> Option<u32> {
        let reference = raw.destination_reference()?;
        let slot = self.references.slot(reference)?;
        let connection = self.slots[slot as usize].connection.as_deref()?;
        (connection.peer == peer).then_some(slot)
    }

    /// Checks a DT for the connection in `slot`.
    #[inline(always)]
    fn examine(
        &mut self,
        now: Instant,
        peer: Address,
        raw: &Raw<'_>,
        behind: &[u8],
        slot: u32,
    ) -> Option<Passed> {
        let connection = self.slots[slot as usize].connection.as_deref()?;
        let (checksum, allowed) = (connection.uses_checksum(), connection.allowed());
        let dt = match Data::decode(raw, connection.format()) {
            Ok(dt) => dt,
            Err(malformed) => {
                self.undecodable(now, peer, raw, behind, Some((slot, checksum)), malformed);
                return None;
            }
        };
        if !self.passes(raw, dt.parameters, behind, checksum) {
            return None;
        }
        self.counters.received[Kind::Dt as usize] += 1;
        let data_octets = dt.data.len() + behind.len();
        if let Some(broken) = data_complaint(&dt, data_octets, allowed) {
            self.broken(now, slot, broken, raw);
            return None;
        }
        let Data { number, end_of_tsdu, acknowledgement_requested, .. } = dt;
        let dt = Arrived { number, end_of_tsdu, acknowledgement_requested };
        Some(Passed { slot, dt, data_at: raw.offset + raw.header_octets })
    }

    /// Processes a valid DT with this user data.
    #[inline]
    pub(super) fn data(&mut self, now: Instant, passed: Passed, octets: Bytes) {
        self.with(now, passed.slot, |connection, cx| {
            let completes = connection.state == State::CcSent;
            cx.counters.frozen_reference += u64::from(connection.state == State::Frozen);
            connection.dt(cx, passed.dt, octets);
            if completes {
                connection.begin(cx);
            }
        });
    }

    /// 6.17.3: discards a TPDU that fails the check. Returns true if it passes.
    #[inline]
    fn passes(
        &mut self,
        raw: &Raw<'_>,
        parameters: Parameters<'_>,
        behind: &[u8],
        required: bool,
    ) -> bool {
        match raw.checksum(parameters, behind) {
            Checksum::Absent if !required => true,
            Checksum::Good => true,
            Checksum::Absent | Checksum::Bad => {
                self.counters.bad_checksum += 1;
                self.discard(raw, "checksum");
                false
            }
        }
    }

    /// Processes any TPDU except a DT for an existing connection.
    fn tpdu(
        &mut self,
        now: Instant,
        peer: Address,
        raw: &Raw<'_>,
        user_data: UserData<'_>,
        slot: Option<u32>,
    ) {
        let slot = slot.and_then(|slot| {
            let connection = self.slots[slot as usize].connection.as_deref()?;
            Some((slot, connection))
        });
        let format = slot.as_ref().map(|(_, connection)| connection.format());
        let behind = user_data.behind();
        let pdu = match Pdu::decode(raw, format) {
            Ok(pdu) => pdu,
            Err(malformed) => {
                let slot = slot.map(|(slot, connection)| (slot, connection.uses_checksum()));
                return self.undecodable(now, peer, raw, behind, slot, malformed);
            }
        };
        let required = match (&pdu, &slot) {
            // 6.17.3: a CR for class 4 always carries the checksum; the other classes have none.
            (Pdu::Cr(cr), _) => cr.class.class == 4,
            (pdu, Some((_, connection))) => connection.requires_checksum(pdu),
            (_, None) => false,
        };
        let data_octets = raw.data().len() + behind.len();
        let slot = slot.filter(|(_, connection)| is_expected(connection, &pdu));
        let slot = slot.map(|(slot, connection)| (slot, connection.complaint(&pdu, data_octets)));
        if !self.passes(raw, pdu.parameters(), behind, required) {
            return;
        }
        if let Pdu::Cr(cr) = &pdu {
            let too_long = raw.header_octets + data_octets > CR_OCTETS;
            return self.connect_request(now, peer, cr, too_long);
        }
        let Some((slot, complaint)) = slot else {
            return self.unknown(peer, &pdu);
        };
        self.counters.received[raw.kind as usize] += 1;
        if let Some(broken) = complaint {
            return self.broken(now, slot, broken, raw);
        }
        self.associated(now, slot, &pdu, || user_data.of(raw));
    }

    /// Handles an undecodable TPDU. If it was damaged in transit, it is dropped. If the peer sent
    /// it so, the peer gets an ER: the sums of a TPDU with a checksum are correct then, whatever
    /// else is wrong.
    fn undecodable(
        &mut self,
        now: Instant,
        peer: Address,
        raw: &Raw<'_>,
        tail: &[u8],
        slot: Option<(u32, bool)>,
        malformed: Malformed,
    ) {
        self.counters.malformed += 1;
        let mut sums = Fletcher::of(raw.octets);
        sums.add(tail);
        match (raw.kind, slot) {
            (Kind::Cr, _) if sums.is_good() => {
                if let [_, _, _, _, high, low, ..] = raw.header() {
                    let source = Reference(u16::from_be_bytes([*high, *low]));
                    self.refuse(peer, source, disconnect_reason::INVALID_LENGTH);
                }
            }
            (kind, Some((slot, checksum))) if kind != Kind::Cr && (!checksum || sums.is_good()) => {
                self.broken(now, slot, Broken::undecodable(malformed), raw);
            }
            _ => self.discard(raw, "malformed"),
        }
    }

    fn broken(&mut self, now: Instant, slot: u32, broken: Broken, raw: &Raw<'_>) {
        self.discard(raw, "protocol error");
        self.with(now, slot, |connection, cx| connection.broken(cx, broken, raw.octets));
    }

    /// Processes a TPDU for a connection of this entity (6.9.4.2).
    fn associated(&mut self, now: Instant, slot: u32, pdu: &Pdu<'_>, data: impl FnOnce() -> Bytes) {
        self.counters.frozen_reference += u64::from(self.is_frozen(slot));
        self.with(now, slot, |connection, cx| act(connection, cx, pdu, data));
        if matches!(pdu, Pdu::Cc(_))
            && let Some(connection) = self.slots[slot as usize].connection.as_deref()
            && connection.remote.0 != 0
        {
            self.by_peer.entry((connection.peer, connection.remote)).or_insert(slot);
        }
    }

    fn is_frozen(&self, slot: u32) -> bool {
        let connection = self.slots[slot as usize].connection.as_deref();
        connection.is_some_and(|connection| connection.state == State::Frozen)
    }

    /// Handles a TPDU for an unassigned reference, or not from the connection's peer: a DR is
    /// confirmed, a CC refused, others are ignored (6.9.4.2 a to e).
    fn unknown(&mut self, peer: Address, pdu: &Pdu<'_>) {
        self.counters.unknown_reference += 1;
        match pdu {
            Pdu::Dr(dr) if dr.source_reference.0 != 0 => {
                let packet = dc_packet(dr.source_reference, dr.destination_reference, true);
                self.answer(peer, Kind::Dc, packet);
            }
            Pdu::Cc(cc) if cc.source_reference.0 != 0 => {
                let reason = disconnect_reason::MISMATCHED_REFERENCES;
                let to = cc.source_reference;
                let packet = dr_packet(to, cc.destination_reference, reason, true);
                self.answer(peer, Kind::Dr, packet);
            }
            _ => {
                let reference = Some(pdu.destination_reference());
                let note = Note::Discarded { reference, reason: "unknown reference" };
                self.outputs.note(note);
            }
        }
    }

    /// Sends a TPDU outside any connection.
    fn answer(&mut self, peer: Address, kind: Kind, packet: Packet) {
        self.counters.sent[kind as usize] += 1;
        self.outputs.send(peer, packet);
    }

    fn discard(&mut self, raw: &Raw<'_>, reason: &'static str) {
        let reference = raw.destination_reference();
        self.outputs.note(Note::Discarded { reference, reason });
    }

    /// Processes a CR: a new connection, or a repetition for an existing one (12.2.2.2 b 2).
    fn connect_request(&mut self, now: Instant, peer: Address, cr: &Connect<'_>, too_long: bool) {
        let source = cr.source_reference;
        if source.0 == 0 {
            self.counters.malformed += 1;
            return;
        }
        if let Some(slot) = self.by_peer.get(&(peer, source)).copied() {
            self.counters.received[Kind::Cr as usize] += 1;
            self.counters.frozen_reference += u64::from(self.is_frozen(slot));
            return self.with(now, slot, |connection, cx| connection.cr_again(cx));
        }
        let agreed = match self.admit(cr, too_long) {
            Ok(agreed) => agreed,
            Err(reason) => return self.refuse(peer, source, reason),
        };
        let Some(local) = self.references.next() else {
            return self.refuse(peer, source, disconnect_reason::CONGESTION_AT_CONNECT);
        };
        self.counters.received[Kind::Cr as usize] += 1;
        let endpoint = self.endpoint();
        self.place(Connection::new(endpoint, peer, local, agreed));
        self.by_peer.insert((peer, source), endpoint.slot);
        self.with(now, endpoint.slot, |connection, cx| connection.indicate(cx, cr));
        let tsap = |code| Bytes::copy_from_slice(cr.parameters.value(code).unwrap_or_default());
        self.outputs.deliver(Indication::Connect {
            endpoint,
            peer,
            called: tsap(0xC2),
            calling: tsap(0xC1),
            data: Bytes::copy_from_slice(cr.data),
        });
    }

    /// Checks whether a CR may be accepted; returns the agreement, or the reason for the refusal.
    fn admit(&mut self, cr: &Connect<'_>, too_long: bool) -> Result<Agreement, u8> {
        if too_long {
            self.counters.protocol_errors += 1;
            return Err(disconnect_reason::INVALID_LENGTH);
        }
        if cr.destination_reference.0 != 0 {
            self.counters.protocol_errors += 1;
            return Err(disconnect_reason::PROTOCOL_ERROR);
        }
        let agreed = Agreement::answer(&self.params, cr)?;
        let called = cr.parameters.value(0xC2).unwrap_or_default();
        if !self.tsaps.is_empty() && !called.is_empty() && !self.tsaps.contains(called) {
            return Err(disconnect_reason::ADDRESS_UNKNOWN);
        }
        let full = self.in_use >= self.params.connections;
        if full || self.half_open >= self.params.half_open {
            return Err(disconnect_reason::CONGESTION_AT_CONNECT);
        }
        Ok(agreed)
    }

    fn refuse(&mut self, peer: Address, to: Reference, reason: u8) {
        if to.0 == 0 {
            return;
        }
        self.counters.refusals += 1;
        self.answer(peer, Kind::Dr, dr_packet(to, Reference(0), reason, true));
    }
}

/// Returns true if a TPDU with the connection's reference is from its peer (6.9.4.2 c to e).
fn is_expected(connection: &Connection, pdu: &Pdu<'_>) -> bool {
    match pdu {
        Pdu::Cc(cc) => connection.expects_cc(cc),
        Pdu::Dr(dr) => connection.expects_dr(dr),
        Pdu::Dc(dc) => connection.expects_dc(dc),
        Pdu::Cr(_) | Pdu::Dt(_) | Pdu::Ed(_) | Pdu::Ak(_) | Pdu::Ea(_) => true,
        Pdu::Rj(_) | Pdu::Er(_) => true,
    }
}

/// Processes a TPDU of a connection.
fn act(
    connection: &mut Connection,
    cx: &mut Context<'_>,
    pdu: &Pdu<'_>,
    data: impl FnOnce() -> Bytes,
) {
    let completes = connection.state == State::CcSent;
    match pdu {
        Pdu::Ak(ak) => connection.ak(cx, ak),
        Pdu::Ed(ed) => connection.ed(cx, ed, data()),
        Pdu::Ea(ea) => connection.ea(cx, ea.number),
        Pdu::Cc(cc) => connection.confirm(cx, cc),
        Pdu::Dr(dr) => {
            if connection.remote.0 == 0 {
                connection.remote = dr.source_reference;
            }
            connection.ended(cx, Event::DrReceived, Reason::ByPeer(dr.reason));
        }
        Pdu::Dc(_) => connection.ended(cx, Event::DcReceived, Reason::NoAnswer),
        Pdu::Er(_) => connection.ended(cx, Event::ErReceived, Reason::ProtocolError),
        // An RJ is a protocol error in class 4; CR and DT are processed elsewhere.
        Pdu::Rj(_) | Pdu::Cr(_) | Pdu::Dt(_) => {}
    }
    if completes {
        connection.begin(cx);
    }
}
