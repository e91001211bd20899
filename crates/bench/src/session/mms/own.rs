//! CPU time of this program's own layers for one read, layer by layer: request down, answer up.
//!
//! The machines of the client run here once more, without sockets, on the PDUs of the inquiry. The
//! difference between a response time and these figures belongs to the hosts and the server.

use super::Inquiry;
use super::plan;
use crate::mms::found::Sample;
use crate::mms::services;
use crate::mms::{LayerCost, OwnCost};
use bytes::{BufMut as _, Bytes, BytesMut};
use core::hint::black_box;
use core::time::Duration;
use live::clock;
use stack::machine::{Machine as _, Output};
use stack::mms::client::{Call, Client, End, Indication, Request, State};
use stack::mms::server::{self, Model, Server};
use stack::network::{Network, NetworkConnectionId};
use stack::presentation::{self, Addresses, Kernel, Pdv, Presentation, Primitive as Presented};
use stack::session::{self, Below};
use stack::transport::{Endpoint, Indication as Transported, Request as Transport};
use stack::upper::{Addressed, Primitive};
use stack::{mms::Proposal, tp0};
use std::collections::{BTreeMap, BTreeSet};
use wire::ber::Writer;
use wire::mms::Pdu;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tpkt::{Header, Reassembler};

const NOW: Instant = Instant::ZERO;
/// Rounds; each figure is the median, without the first, which warms the caches.
const ROUNDS: usize = 10;
/// Calls between two readings of the clock. Their invoke identifiers have one octet.
const BATCH: u32 = 100;
/// CR of class 0 for TPDUs of 2,048 octets, which opens a transport connection here.
const CR: &[u8] = &[9, 0xE0, 0, 0, 0, 9, 0, 0xC0, 1, 0x0B];
/// Length indicator, code and EOT of a DT.
const DT: [u8; 3] = [2, 0xF0, 0x80];

impl Sample {
    /// Measures the layers; `None` if the machines do not take the sample, which is then no read.
    pub(super) fn cost(&self, inquiry: &Inquiry) -> Option<OwnCost> {
        let request = first_request(inquiry, &self.call)?;
        let pdus = Pdus { request: request.clone(), answer: self.answer.clone() };
        let context = plan::client(inquiry).context;
        let layers = [
            ("MMS", median(|| self.of_mms(inquiry))?),
            ("presentation", median(|| pdus.of_presentation(context))?),
            ("session", median(|| pdus.of_session(context))?),
            ("class 0, TPKT", median(|| pdus.of_transport(context))?),
        ];
        Some(OwnCost {
            request_octets: request.len(),
            answer_octets: self.answer.len(),
            layers: layers.map(|(name, time)| LayerCost { name, time }).to_vec(),
        })
    }

    /// Time of a batch of calls, each answered at once, down to the decoded value.
    fn of_mms(&self, inquiry: &Inquiry) -> Option<Duration> {
        let mut client = associated(inquiry)?;
        let context = plan::client(inquiry).context;
        let first = invoke_of(&first_request(inquiry, &self.call)?)?;
        let answers: Option<Vec<Bytes>> =
            (first..first + BATCH).map(|invoke| answer_to(invoke, &self.answer)).collect();
        let began = clock::processor();
        for octets in answers? {
            client.request(NOW, Request::Call(self.call.clone()));
            let Some(Output::Send(data)) = client.poll() else { return None };
            black_box(data);
            client.receive(NOW, Primitive::Data(Pdv { context, octets }));
            let Some(Output::Deliver(Indication::Ended { end: End::Response(pdu), .. })) =
                client.poll()
            else {
                return None;
            };
            services::check(&services::service(&black_box(pdu)).ok()?).ok()?;
        }
        Some(clock::processor() - began)
    }
}

/// Median of a call in all rounds but the first.
fn median(mut batch: impl FnMut() -> Option<Duration>) -> Option<Duration> {
    let times: Option<Vec<Duration>> = (0..ROUNDS).map(|_| batch()).collect();
    let mut times = times?.split_off(1);
    times.sort_unstable();
    Some(*times.get(times.len() / 2)? / BATCH)
}

// ---- MMS ------------------------------------------------------------------------------------------

/// Client with an association, opened with a server in memory.
fn associated(inquiry: &Inquiry) -> Option<Client> {
    let mut client = Client::new(plan::client(inquiry));
    let params = server::Params {
        proposal: Proposal::usual(),
        associations: 1,
        writable: BTreeSet::new(),
        files: BTreeMap::new(),
        epoch_ns: 0,
    };
    let mut server = Server::new(params, Model::default());
    client.request(NOW, Request::Associate);
    let endpoint = Endpoint::from(NetworkConnectionId(1));
    if let Output::Send(primitive) = client.poll()? {
        server.receive(NOW, Addressed { endpoint, primitive });
    }
    if let Output::Send(Addressed { primitive, .. }) = server.poll()? {
        client.receive(NOW, primitive);
    }
    while client.poll().is_some() {}
    (client.state() == State::Open).then_some(client)
}

/// First request of a client that makes a call.
fn first_request(inquiry: &Inquiry, call: &Call) -> Option<Bytes> {
    let mut client = associated(inquiry)?;
    client.request(NOW, Request::Call(call.clone()));
    match client.poll()? {
        Output::Send(Primitive::Data(pdv)) => Some(pdv.octets),
        _ => None,
    }
}

fn invoke_of(pdu: &[u8]) -> Option<u32> {
    Pdu::decode(pdu).ok()?.invoke()
}

/// The same response to another request.
fn answer_to(invoke: u32, answer: &[u8]) -> Option<Bytes> {
    let Pdu::ConfirmedResponse(response) = Pdu::decode(answer).ok()? else { return None };
    let mut out = Writer::new();
    Pdu::ConfirmedResponse(wire::mms::ConfirmedResponse { invoke, ..response }).encode(&mut out);
    Some(Bytes::copy_from_slice(out.octets()))
}

// ---- presentation and session ---------------------------------------------------------------------

/// Request and answer of MMS.
struct Pdus {
    request: Bytes,
    answer: Bytes,
}

/// Presentation and session of one end.
struct Pair {
    presentation: Presentation,
    session: session::Connection,
}

impl Pair {
    fn closed() -> Self {
        Self {
            presentation: Presentation::Kernel(Kernel::new(presentation::Params::mms())),
            session: session::Connection::new(session::Params::version_2()),
        }
    }

    /// Both layers of the calling end, in data transfer.
    fn open() -> Option<Self> {
        let mut ends = [Self::closed(), Self::closed()];
        let data = Pdv { context: 1, octets: Bytes::from_static(&[0x60, 0]) };
        let addresses = Addresses::default();
        ends[0].presentation.request(NOW, Presented::Connect { addresses, data: data.clone() });
        while (0..2).any(|own| step(&mut ends, own, &data)) {}
        let [own, _] = ends;
        (own.session.state() == session::State::Sta713).then_some(own)
    }
}

/// Passes one primitive or SPDU on; returns false if there is none.
fn step(ends: &mut [Pair; 2], own: usize, data: &Pdv) -> bool {
    let [first, second] = ends;
    let (own, other) = if own == 0 { (first, second) } else { (second, first) };
    if let Some(output) = own.presentation.poll() {
        match output {
            Output::Send(primitive) => own.session.request(NOW, primitive),
            Output::Deliver(Presented::Connect { .. }) => {
                own.presentation.request(NOW, Presented::Accept { data: data.clone() });
            }
            Output::Deliver(_) | Output::Note(_) => {}
        }
    } else if let Some(output) = own.session.poll() {
        match output {
            Output::Send(below) => {
                if below == Below::Connect {
                    own.session.receive(NOW, Below::Connect);
                }
                other.session.receive(NOW, below);
            }
            Output::Deliver(primitive) => own.presentation.receive(NOW, primitive),
            Output::Note(_) => {}
        }
    } else {
        return false;
    }
    true
}

/// PPDU of an MMS PDU.
fn presented(context: i64, pdu: &[u8]) -> Bytes {
    let mut out = Writer::new();
    out.put(pdu);
    wire::presentation::wrap(context, 0, &mut out);
    Bytes::copy_from_slice(out.octets())
}

/// TSDU of an MMS PDU.
fn tsdu(context: i64, pdu: &[u8]) -> Bytes {
    [&wire::session::DATA[..], &presented(context, pdu)].concat().into()
}

impl Pdus {
    fn of_presentation(&self, context: i64) -> Option<Duration> {
        let Pair { mut presentation, .. } = Pair::open()?;
        let ssdu = presented(context, &self.answer);
        let began = clock::processor();
        for _ in 0..BATCH {
            let octets = self.request.clone();
            presentation.request(NOW, Presented::Data(Pdv { context, octets }));
            let Some(Output::Send(_)) = black_box(presentation.poll()) else { return None };
            presentation.receive(NOW, session::Primitive::Data { ssdu: ssdu.clone() });
            let Some(Output::Deliver(_)) = black_box(presentation.poll()) else { return None };
        }
        Some(clock::processor() - began)
    }

    fn of_session(&self, context: i64) -> Option<Duration> {
        let Pair { mut session, .. } = Pair::open()?;
        let ssdu = presented(context, &self.request);
        let arriving = tsdu(context, &self.answer);
        let began = clock::processor();
        for _ in 0..BATCH {
            session.request(NOW, session::Primitive::Data { ssdu: ssdu.clone() });
            let Some(Output::Send(_)) = black_box(session.poll()) else { return None };
            session.receive(NOW, Below::Data(arriving.clone()));
            let Some(Output::Deliver(_)) = black_box(session.poll()) else { return None };
        }
        Some(clock::processor() - began)
    }

    fn of_transport(&self, context: i64) -> Option<Duration> {
        let mut entity = tp0::Entity::new(tp0::Params::class0());
        let line = entity.incoming(NOW)?;
        let endpoint = Endpoint::from(line);
        entity.receive(NOW, (line, Network::Data(Packet::new(Bytes::from_static(CR)))));
        entity.request(NOW, Transport::Accept { endpoint, data: Bytes::new() });
        while entity.poll().is_some() {}
        let request = tsdu(context, &self.request);
        let arriving = tpkts(&tsdu(context, &self.answer));
        let mut reassembler = Reassembler::new();
        let began = clock::processor();
        for _ in 0..BATCH {
            entity.request(NOW, Transport::Data { endpoint, tsdu: request.clone() });
            while let Some(output) = entity.poll() {
                if let Output::Send((line, Network::Data(packet))) = output {
                    let octets = black_box(tpkt(packet.head(), packet.payload())?).len();
                    entity.receive(NOW, (line, Network::Taken { octets: octets - 4 }));
                }
            }
            let mut delivered = 0;
            for octets in &arriving {
                reassembler.push(octets);
                let tpdu = reassembler.take_tpdu().ok()??;
                entity.receive(NOW, (line, Network::Data(Packet::new(tpdu))));
                while let Some(output) = entity.poll() {
                    if let Output::Deliver(Transported::Data { octets, .. }) = output {
                        delivered += black_box(octets).len();
                    }
                }
            }
            black_box(delivered);
        }
        Some(clock::processor() - began)
    }
}

/// TPKT of a TPDU.
fn tpkt(head: &[u8], data: &[u8]) -> Option<Bytes> {
    let mut octets = BytesMut::with_capacity(head.len() + data.len() + 4);
    octets.put_slice(&Header::of_tpdu(head.len() + data.len())?.encode());
    octets.put_slice(head);
    octets.put_slice(data);
    Some(octets.freeze())
}

/// TPKTs of a TSDU, in DTs of up to 2,045 octets of data.
fn tpkts(tsdu: &[u8]) -> Vec<Bytes> {
    let count = tsdu.chunks(2_045).count();
    let pieces = tsdu.chunks(2_045).enumerate();
    let dt = |(place, piece): (usize, &[u8])| {
        let [length, code, end] = DT;
        let end = if place + 1 == count { end } else { 0 };
        tpkt(&[length, code, end], piece)
    };
    pieces.filter_map(dt).collect()
}
