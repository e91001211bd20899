//! Beginning of connections: by their CR and CC, or found under way.

use super::connection::{Connection, End, State};
use super::side::other;
use super::table::{Found, Key, Party};
use super::transfer;
use super::{Passage, Results as _, Sink, Tracker};
use crate::lru_slab::Place;
use crate::observation::{DelayKind, Observation, Step, Tpdu};
use crate::oddity::Class;
use crate::user;
use wire::time::Instant;
use wire::tp::{Connect, Format, Pdu, Reference};

impl Tracker {
    /// Ends of a passage with their host numbers; none if there is no room for another host.
    pub(super) fn ends(&mut self, from: Party, to: Party, sink: &mut Sink<'_>) -> Option<[End; 2]> {
        let mut end = |party: Party| {
            let host = self.hosts.number(party.address)?;
            Some(End { host, port: party.port })
        };
        let ends = end(from).zip(end(to)).map(|(from, to)| [from, to]);
        if ends.is_none() {
            sink.oddities.count(Class::Meter, "no room for a host");
        }
        ends
    }

    pub(super) fn request(
        &mut self,
        passage: Passage,
        cr: &Connect<'_>,
        octets: &[u8],
        tpdu: &mut Tpdu,
        sink: &mut Sink<'_>,
    ) -> Option<Found> {
        let Passage { at, from, to } = passage;
        // Classes 0 and 1 need no reference: TCP identifies their connections.
        if cr.source_reference == Reference(0) && from.port == 0 {
            return None;
        }
        let key = Key { owner: &from, peer: &to, reference: cr.source_reference };
        if let Some((place, 0)) = self.table.find(&key, &self.hosts)
            && !self.table.get(place).state.is_over()
        {
            tpdu.retransmitted = true;
            return Some((place, 0));
        }
        let [from, to] = self.ends(from, to, sink)?;
        let mut request = Connection::requested(from, to, cr.source_reference, cr.credit, at);
        if cr.class.class < 2 && from.port != 0 {
            request.format = Some(Format::Class0);
        }
        request.recognise(user::of_connect(cr, octets));
        tpdu.step = Some(Step::Requested);
        Some((self.insert(request, at, sink), 0))
    }

    pub(super) fn confirm(
        &mut self,
        passage: Passage,
        cc: &Connect<'_>,
        found: Option<Found>,
        tpdu: &mut Tpdu,
        sink: &mut Sink<'_>,
    ) -> Option<Found> {
        let Passage { at, from, to } = passage;
        let is_named =
            cc.destination_reference != Reference(0) && cc.source_reference != Reference(0);
        if !is_named && from.port == 0 {
            return None;
        }
        // Some stations answer to another reference; TCP still identifies the connection.
        let by_network = Key { owner: &to, peer: &from, reference: Reference(0) };
        let found = found.or_else(|| {
            let is_by_network = from.port != 0 && cc.class.class < 2;
            is_by_network.then(|| self.table.find(&by_network, &self.hosts)).flatten()
        });
        let known = found.filter(|(place, requester)| {
            let connection = self.table.get(*place);
            let confirmer = connection.senders[other(*requester)].reference;
            let is_told = confirmer != Reference(0) || connection.is_by_network();
            *requester == 0 && (connection.state == State::Opening || is_told)
        });
        if let Some((place, _)) = known {
            let connection = self.table.get(place);
            if connection.state == State::Opening {
                return self.establish(place, at, cc, tpdu, sink);
            }
            if connection.senders[1].reference == cc.source_reference {
                tpdu.retransmitted = true;
                return Some((place, 1));
            }
        }
        // The CR was not seen; or the requester's reference comes with another confirmer's
        // reference: the end of the old connection and the CR of the new one were not seen.
        sink.oddities.count(Class::Transport, "CC without CR");
        let [from, to] = self.ends(from, to, sink)?;
        let mut requester = Connection::adopted(from, to, cc.destination_reference, at);
        requester.senders.swap(0, 1);
        let place = self.insert(requester, at, sink);
        self.establish(place, at, cc, tpdu, sink)
    }

    /// Confirms the connection in this place by a CC.
    fn establish(
        &mut self,
        place: Place,
        at: Instant,
        cc: &Connect<'_>,
        tpdu: &mut Tpdu,
        sink: &mut Sink<'_>,
    ) -> Option<Found> {
        self.table.unbind(place, 0, &self.hosts);
        self.table.unbind(place, 1, &self.hosts);
        let connection = self.table.get(place);
        let set_up = connection.confirm(at, cc.source_reference, cc.credit, cc.class);
        connection.recognise(user::of_connect(cc, &[]));
        for _ in connection.closed_for(at) {
            sink.witness(|| Observation::WindowClosed);
        }
        if let Some(set_up) = set_up {
            sink.span(DelayKind::SetUp, set_up);
        }
        for side in [0, 1] {
            for evicted in self.table.bind(place, side, &self.hosts) {
                self.evict(evicted, at, sink);
            }
        }
        tpdu.step = Some(Step::Established);
        Some((place, 1))
    }

    /// Creates a connection found under way from a TPDU that is not its first.
    pub(super) fn adopt(
        &mut self,
        passage: &Passage,
        reference: Reference,
        pdu: &Pdu<'_>,
        sink: &mut Sink<'_>,
    ) -> Option<Found> {
        let format = transfer::numbering(pdu)?;
        // Without a reference only TCP identifies a connection.
        let is_by_network = format == Format::Class0 && passage.to.port != 0;
        if reference == Reference(0) && !is_by_network {
            return None;
        }
        let [from, to] = self.ends(passage.from, passage.to, sink)?;
        sink.oddities.count(Class::Transport, "connection found under way");
        sink.step(Step::Adopted);
        let mut connection = Connection::adopted(from, to, reference, passage.at);
        if is_by_network {
            connection.format = Some(Format::Class0);
        }
        Some((self.insert(connection, passage.at, sink), 1))
    }
}
