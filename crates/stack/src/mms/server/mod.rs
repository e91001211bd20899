//! MMS server: domains, named variables and lists, reports, files. One machine serves all
//! associations.
//!
//! ```text
//!   associations ── initiate, conclude, limits                      mod
//!     ├ services ── names, attributes, reads, writes, lists         services
//!     ├ reports ── control blocks of IEC 61850, their entries       reports, buffer
//!     └ files ── open, read, close, directory                       files
//!   model ── domains, variables, values                             model, value
//! ```
//!
//! Nothing is written but report control blocks, and variables that the parameters name.

mod buffer;
mod files;
mod model;
mod reports;
mod services;
mod value;

pub use files::Files;
pub use model::{Domain, List, Member, Model, Named, Node};
pub use value::Value;

use super::initiate::{Agreement, Proposal, encoded};
use crate::acse::{self, Rejection};
use crate::machine::{Deadline, Machine, Output};
use crate::presentation::Pdv;
use crate::transport::Endpoint;
use crate::upper::{Addressed, Primitive};
use bytes::Bytes;
use files::OpenFiles;
use reports::{Blocks, Report};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::ber::Reader;
use wire::mms::{Kind, Pdu, Reject, ServiceError};
use wire::read::Malformed;
use wire::time::Instant;

/// Kind of a rejected PDU: unknown (ISO 9506-2 7.5).
const UNKNOWN_PDU: u32 = 5;
/// Kind of a rejected PDU: confirmed request.
const CONFIRMED_REQUEST: u32 = 1;
/// Reason of a reject: invalid argument.
const INVALID_ARGUMENT: i64 = 4;
/// Reason of a reject: invalid PDU.
const INVALID_PDU: i64 = 1;
/// Class of an initiate error, and its code: version incompatible.
const INITIATE_ERROR: (u32, i64) = (8, 1);

/// Parameters of a server.
#[derive(Clone, PartialEq, Debug)]
pub struct Params {
    /// Limits of what is accepted.
    pub proposal: Proposal,
    /// Maximum number of associations.
    pub associations: usize,
    /// Variables that clients may write.
    pub writable: BTreeSet<Named>,
    /// Files.
    pub files: Files,
    /// Wall-clock time at the origin of the instants, in nanoseconds since 1970.
    pub epoch_ns: u64,
}

/// Request of the user: the process.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// Changes a variable, which may cause reports.
    Set {
        /// Name of the variable, a leaf.
        name: Named,
        /// Value; one of another type is refused.
        value: Value,
    },
}

/// Indication to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// An association has opened.
    Opened(Endpoint),
    /// An association has ended.
    Closed(Endpoint),
    /// A client has written a variable.
    Written {
        /// Association of the client.
        endpoint: Endpoint,
        /// Name of the variable.
        name: Named,
    },
}

/// Note for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Octets arrived that are no MMS PDU, or not one that is known.
    Malformed(Malformed),
    /// A PDU arrived that a client does not send: the server had requested nothing.
    OutOfPlace(Kind),
    /// A request of the user names no leaf, or has a value of another type.
    Refused,
}

/// Association of a client.
#[derive(Clone, Debug)]
struct Association {
    context: i64,
    agreement: Agreement,
    files: OpenFiles,
    /// Lists that exist in the association.
    lists: BTreeMap<String, List>,
}

/// Server of all associations.
#[derive(Clone, Debug)]
pub struct Server {
    params: Params,
    model: Model,
    blocks: Blocks,
    /// Names of the variables by domain, made when they are first asked for.
    names: BTreeMap<String, Vec<String>>,
    associations: BTreeMap<Endpoint, Association>,
    served: u64,
    /// Reports to be sent after the response.
    later: Vec<Report>,
    outputs: VecDeque<Output<Addressed, Indication, Note>>,
}

impl Server {
    /// Creates a server of a model.
    #[must_use]
    pub fn new(params: Params, model: Model) -> Self {
        Self {
            blocks: Blocks::of(&model, params.epoch_ns, params.proposal.pdu_octets as usize),
            params,
            model,
            names: BTreeMap::new(),
            associations: BTreeMap::new(),
            served: 0,
            later: Vec::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Read access to its objects.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Number of associations.
    #[must_use]
    pub fn associations(&self) -> usize {
        self.associations.len()
    }

    /// Number of confirmed requests answered so far.
    #[must_use]
    pub const fn served(&self) -> u64 {
        self.served
    }

    // ---- out ------------------------------------------------------------------------------------

    fn association(&mut self, endpoint: Endpoint, primitive: acse::Primitive) {
        let primitive = Primitive::Association(primitive);
        self.outputs.push_back(Output::Send(Addressed { endpoint, primitive }));
    }

    fn data(&mut self, endpoint: Endpoint, octets: Bytes) {
        let Some(association) = self.associations.get(&endpoint) else { return };
        let primitive = Primitive::Data(Pdv { context: association.context, octets });
        self.outputs.push_back(Output::Send(Addressed { endpoint, primitive }));
    }

    fn deliver(&mut self, indication: Indication) {
        self.outputs.push_back(Output::Deliver(indication));
    }

    fn note(&mut self, note: Note) {
        self.outputs.push_back(Output::Note(note));
    }

    /// Sends reports; one that is longer than agreed is dropped.
    fn send(&mut self, reports: impl IntoIterator<Item = Report>) {
        for Report { owner, pdu } in reports {
            let most = self.associations.get(&owner).map_or(0, |it| it.agreement.pdu_octets);
            if pdu.len() <= most {
                self.data(owner, pdu);
            }
        }
    }

    // ---- associations ---------------------------------------------------------------------------

    fn primitive(&mut self, endpoint: Endpoint, primitive: acse::Primitive) {
        match primitive {
            acse::Primitive::Associate(associate) => {
                self.associate(endpoint, associate.information.as_ref());
            }
            acse::Primitive::Release => {
                self.association(endpoint, acse::Primitive::Released);
                self.end(endpoint);
            }
            acse::Primitive::Released
            | acse::Primitive::Abort { .. }
            | acse::Primitive::ProviderAbort { .. } => self.end(endpoint),
            // A server requests no association.
            acse::Primitive::Accept { .. } | acse::Primitive::Reject { .. } => {}
        }
    }

    fn associate(&mut self, endpoint: Endpoint, information: Option<&Pdv>) {
        let request = information.map(|it| (it.context, Pdu::decode(&it.octets)));
        let agreement = match &request {
            Some((_, Ok(Pdu::InitiateRequest(initiate)))) => self.params.proposal.agree(initiate),
            _ => None,
        };
        let proposed = request.as_ref().map(|(context, _)| *context);
        let is_full = self.associations.len() >= self.params.associations;
        let (Some(agreement), Some((context, _)), false) = (agreement, request, is_full) else {
            let (class, code) = INITIATE_ERROR;
            let (additional, description, information) = (None, None, None);
            let error = ServiceError { class, code, additional, description, information };
            let octets = encoded(&Pdu::InitiateError(error));
            let rejection = Rejection::Association { is_transient: is_full, diagnostic: None };
            let information = proposed.map(|context| Pdv { context, octets });
            return self.association(endpoint, acse::Primitive::Reject { rejection, information });
        };
        let (files, lists) = (OpenFiles::default(), BTreeMap::new());
        let association = Association { context, agreement, files, lists };
        self.associations.insert(endpoint, association);
        let octets = self.params.proposal.response(agreement);
        let information = Some(Pdv { context, octets });
        self.association(endpoint, acse::Primitive::Accept { information });
        self.deliver(Indication::Opened(endpoint));
    }

    fn context_of(&self, endpoint: Endpoint) -> Option<i64> {
        self.associations.get(&endpoint).map(|it| it.context)
    }

    fn end(&mut self, endpoint: Endpoint) {
        if self.associations.remove(&endpoint).is_some() {
            self.blocks.release(&mut self.model, endpoint);
            self.deliver(Indication::Closed(endpoint));
        }
    }

    // ---- PDUs -----------------------------------------------------------------------------------

    fn pdu(&mut self, now: Instant, endpoint: Endpoint, octets: &[u8]) {
        match Pdu::decode(octets) {
            Ok(Pdu::ConfirmedRequest(request)) => {
                self.served += 1;
                self.serve(now, endpoint, &request);
            }
            Ok(Pdu::ConcludeRequest) => self.data(endpoint, encoded(&Pdu::ConcludeResponse)),
            Ok(Pdu::CancelRequest(invoke)) => {
                // Requests are answered at once: there is none to be cancelled.
                let (class, code) = (10, 1);
                let (additional, description, information) = (None, None, None);
                let error = ServiceError { class, code, additional, description, information };
                self.data(endpoint, encoded(&Pdu::CancelError { invoke, error }));
            }
            // A reject needs no answer, and no reject answers a PDU that is none of a client.
            Ok(Pdu::Reject(_)) => {}
            Ok(other) => self.note(Note::OutOfPlace(other.kind())),
            Err(malformed) => {
                self.note(Note::Malformed(malformed));
                self.reject(endpoint, octets);
            }
        }
    }

    /// Rejects octets that cannot be decoded, with the invoke identifier if it can be read.
    fn reject(&mut self, endpoint: Endpoint, octets: &[u8]) {
        let invoke = Reader::new(octets)
            .expect("MMS PDU", wire::ber::Tag(0xA0))
            .and_then(|it| it.reader().expect("invoke identifier", wire::ber::Tag::INTEGER))
            .and_then(|it| it.unsigned("invoke identifier"))
            .ok();
        let (kind, reason) = match invoke {
            Some(_) => (CONFIRMED_REQUEST, INVALID_ARGUMENT),
            None => (UNKNOWN_PDU, INVALID_PDU),
        };
        self.data(endpoint, encoded(&Pdu::Reject(Reject { invoke, kind, reason })));
    }
}

impl Machine for Server {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Addressed;
    type Note = Note;

    fn request(&mut self, now: Instant, request: Request) {
        let Request::Set { name, value } = request;
        let is_same = |own: &Value| core::mem::discriminant(own) == core::mem::discriminant(&value);
        match self.model.leaf_mut(&name.domain, &name.item).filter(|own| is_same(own)) {
            Some(own) if *own != value => {
                *own = value;
                self.blocks.changed(now, &self.model, &name);
                let reports = self.blocks.expire(now, &mut self.model);
                self.send(reports);
            }
            Some(_) => {}
            None => self.note(Note::Refused),
        }
    }

    fn receive(&mut self, now: Instant, addressed: Addressed) {
        let Addressed { endpoint, primitive } = addressed;
        match primitive {
            Primitive::Association(primitive) => self.primitive(endpoint, primitive),
            Primitive::Data(data) if self.context_of(endpoint) == Some(data.context) => {
                self.pdu(now, endpoint, &data.octets);
            }
            // Data without an association, or of another application.
            Primitive::Data(_) => {}
        }
    }

    fn expire(&mut self, now: Instant) {
        let reports = self.blocks.expire(now, &mut self.model);
        self.send(reports);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.blocks.deadline()
    }

    fn poll(&mut self) -> Option<Output<Addressed, Indication, Note>> {
        self.outputs.pop_front()
    }
}
