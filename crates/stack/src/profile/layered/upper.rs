//! Layers above transport of a [`Layered`](super::Layered) station, as one machine.

use super::Top;
use crate::acse::{self, Associate, Entity as Title};
use crate::case::{self, Case};
use crate::machine::{Deadline, Machine as _, Output};
use crate::presentation::{Addresses, Pdv};
use crate::session::{self, Below};
use crate::upper::{self, Joint};
use bytes::Bytes;
use wire::ber::{List, Writer};
use wire::mms::{
    AccessResult, Data, InformationReport, ObjectName, Pdu, Specification, Unconfirmed, Variable,
    VariableAccess,
};
use wire::time::Instant;

/// Presentation context of MMS: the second that the presentation layer proposes.
const CONTEXT: i64 = 3;
/// Name of the variable in a report.
const VARIABLE: &[u8] = b"message";

/// Layers above transport.
#[derive(Clone, Debug)]
pub(super) enum Upper {
    /// None.
    None,
    /// Session version 2.
    Session(Box<session::Connection>),
    /// CASE over session version 1.
    Case(Box<Case>),
    /// Association control and presentation over session version 2, for MMS.
    Mms(Box<Joint>),
}

/// Indication of the layers above transport.
pub(super) enum Above {
    /// The peer requests a connection or an association.
    Requested,
    /// The peer has accepted.
    Accepted,
    /// Message.
    Message(Bytes),
    /// Connection or association has ended.
    Ended,
}

impl Upper {
    pub(super) fn new(top: Top) -> Self {
        match top {
            Top::Link | Top::Transport => Self::None,
            Top::Session => {
                let params = session::Params::version_2();
                Self::Session(Box::new(session::Connection::new(params)))
            }
            Top::Case => Self::Case(Box::new(Case::new(case::Params::map_2_1()))),
            Top::Mms => Self::Mms(Box::new(Joint::new(upper::Params::mms()))),
        }
    }

    /// Requests a connection or an association.
    pub(super) fn connect(&mut self, now: Instant) {
        let (calling, called) = (Title::default(), Title::default());
        let addresses = Addresses::default();
        let associate = Associate { addresses, calling, called, information: None };
        let associate = acse::Primitive::Associate(Box::new(associate));
        match self {
            Self::None => {}
            Self::Session(connection) => {
                let (calling, called, data) = (Bytes::new(), Bytes::new(), Bytes::new());
                connection.request(now, session::Primitive::Connect { calling, called, data });
            }
            Self::Case(case) => case.request(now, case::Request::Association(associate)),
            Self::Mms(joint) => joint.request(now, upper::Primitive::Association(associate)),
        }
    }

    /// Accepts a connection or an association.
    pub(super) fn accept(&mut self, now: Instant) {
        let accept = acse::Primitive::Accept { information: None };
        match self {
            Self::None => {}
            Self::Session(connection) => {
                connection.request(now, session::Primitive::Accept { data: Bytes::new() });
            }
            Self::Case(case) => case.request(now, case::Request::Association(accept)),
            Self::Mms(joint) => joint.request(now, upper::Primitive::Association(accept)),
        }
    }

    /// Sends a message. Without layers above transport, it has no effect.
    pub(super) fn send(&mut self, now: Instant, data: Bytes) {
        match self {
            Self::None => {}
            Self::Session(connection) => {
                connection.request(now, session::Primitive::Data { ssdu: data });
            }
            Self::Case(case) => case.request(now, case::Request::Transfer { data, eot: false }),
            Self::Mms(joint) => {
                let value = Pdv { context: CONTEXT, octets: report(&data) };
                joint.request(now, upper::Primitive::Data(value));
            }
        }
    }

    pub(super) fn receive(&mut self, now: Instant, below: Below) {
        match self {
            Self::None => {}
            Self::Session(connection) => connection.receive(now, below),
            Self::Case(case) => case.receive(now, below),
            Self::Mms(joint) => joint.receive(now, below),
        }
    }

    pub(super) fn expire(&mut self, now: Instant) {
        match self {
            Self::None => {}
            Self::Session(connection) => connection.expire(now),
            Self::Case(case) => case.expire(now),
            Self::Mms(joint) => joint.expire(now),
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::None => None,
            Self::Session(connection) => connection.deadline(),
            Self::Case(case) => case.deadline(),
            Self::Mms(joint) => joint.deadline(),
        }
    }

    pub(super) fn poll(&mut self) -> Option<Output<Below, Above, ()>> {
        let association = |primitive: &acse::Primitive| match primitive {
            acse::Primitive::Associate(_) => Above::Requested,
            acse::Primitive::Accept { .. } => Above::Accepted,
            _ => Above::Ended,
        };
        Some(match self {
            Self::None => return None,
            Self::Session(connection) => match connection.poll()? {
                Output::Send(below) => Output::Send(below),
                Output::Deliver(session::Primitive::Connect { .. }) => {
                    Output::Deliver(Above::Requested)
                }
                Output::Deliver(session::Primitive::Accept { .. }) => {
                    Output::Deliver(Above::Accepted)
                }
                Output::Deliver(session::Primitive::Data { ssdu }) => {
                    Output::Deliver(Above::Message(ssdu))
                }
                Output::Deliver(_) => Output::Deliver(Above::Ended),
                Output::Note(_) => Output::Note(()),
            },
            Self::Case(case) => match case.poll()? {
                Output::Send(below) => Output::Send(below),
                Output::Deliver(case::Indication::Transfer { data }) => {
                    Output::Deliver(Above::Message(data))
                }
                Output::Deliver(case::Indication::Association(primitive)) => {
                    Output::Deliver(association(&primitive))
                }
                Output::Deliver(case::Indication::Acknowledged) | Output::Note(_) => {
                    Output::Note(())
                }
            },
            Self::Mms(joint) => match joint.poll()? {
                Output::Send(below) => Output::Send(below),
                Output::Deliver(upper::Primitive::Data(value)) => match reported(&value.octets) {
                    Some(data) => Output::Deliver(Above::Message(data)),
                    None => Output::Note(()),
                },
                Output::Deliver(upper::Primitive::Association(primitive)) => {
                    Output::Deliver(association(&primitive))
                }
                Output::Note(_) => Output::Note(()),
            },
        })
    }
}

/// Information report of one variable with these octets.
fn report(data: &[u8]) -> Bytes {
    let specification = Specification::Name(ObjectName::Vmd(VARIABLE));
    let (mut names, mut values) = (Writer::new(), Writer::new());
    let variables = List::encode(&[Variable { specification, alternate: None }], &mut names);
    let results = List::encode(&[AccessResult::Success(Data::Octets(data))], &mut values);
    let report = InformationReport { variables: VariableAccess::Variables(variables), results };
    let mut out = Writer::new();
    Pdu::Unconfirmed(Unconfirmed::InformationReport(report)).encode(&mut out);
    out.into_bytes()
}

/// Octets in such a report; `None` if it is another PDU.
fn reported(pdu: &Bytes) -> Option<Bytes> {
    let Ok(Pdu::Unconfirmed(Unconfirmed::InformationReport(report))) = Pdu::decode(pdu) else {
        return None;
    };
    match report.results.iter().next()? {
        AccessResult::Success(Data::Octets(data)) => Some(pdu.slice_ref(data)),
        _ => None,
    }
}
