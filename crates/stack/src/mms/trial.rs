//! One call at a server, without layers below: the lengths of its PDUs, before a run begins.

use super::Proposal;
use super::client::{self, Call, Client, End, Indication};
use super::server::{self, Files, Model, Server};
use crate::acse::Entity;
use crate::machine::{Machine as _, Output};
use crate::presentation::Addresses;
use crate::transport::Endpoint;
use crate::upper::{Addressed, Primitive};
use core::time::Duration;
use std::collections::BTreeSet;
use wire::mms::{AccessResult, Pdu, Response, access_error_name};
use wire::time::Instant;

/// Lengths of the PDUs of a call, in octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// Request.
    pub request: usize,
    /// Response.
    pub response: usize,
}

/// Makes a call at a server of a model, and returns the lengths of request and response.
///
/// # Errors
/// The error that the server answers with, in its words.
pub fn answer(model: &Model, call: &Call) -> Result<Lengths, String> {
    let now = Instant::ZERO;
    let endpoint = Endpoint::from(crate::network::NetworkConnectionId(0));
    let mut client = Client::new(client::Params {
        addresses: Addresses::default(),
        calling: Entity::default(),
        called: Entity::default(),
        context: 3,
        proposal: Proposal::usual(),
        patience: Duration::from_secs(1),
        waiting: 1,
    });
    let params = server::Params {
        proposal: Proposal::usual(),
        associations: 1,
        writable: BTreeSet::new(),
        files: Files::new(),
        epoch_ns: 0,
    };
    let mut server = Server::new(params, model.clone());
    let mut request = 0;
    client.request(now, client::Request::Associate);
    loop {
        if let Some(output) = client.poll() {
            match output {
                Output::Send(primitive) => {
                    if let Primitive::Data(data) = &primitive {
                        request = data.octets.len();
                    }
                    server.receive(now, Addressed { endpoint, primitive });
                }
                Output::Deliver(Indication::Associated(_)) => {
                    client.request(now, client::Request::Call(call.clone()));
                }
                Output::Deliver(Indication::Ended { end, .. }) => {
                    return response(&end).map(|response| Lengths { request, response });
                }
                Output::Deliver(_) => return Err("no association".to_owned()),
                Output::Note(_) => {}
            }
        } else if let Some(output) = server.poll() {
            if let Output::Send(Addressed { primitive, .. }) = output {
                client.receive(now, primitive);
            }
        } else {
            return Err("no answer".to_owned());
        }
    }
}

/// Length of a response in which every value was read.
fn response(end: &End) -> Result<usize, String> {
    let pdu = match end {
        End::Response(pdu) => pdu,
        End::Error(pdu) => {
            return Err(match Pdu::decode(pdu) {
                Ok(Pdu::ConfirmedError(error)) => error.error.to_string(),
                _ => "an error".to_owned(),
            });
        }
        End::Refused => return Err("the request is longer than a PDU".to_owned()),
        End::Rejected(_) => return Err("the request is rejected".to_owned()),
        End::Wrong | End::TimedOut | End::Unanswered => return Err("no answer".to_owned()),
    };
    let Ok(Pdu::ConfirmedResponse(confirmed)) = Pdu::decode(pdu) else { return Ok(pdu.len()) };
    if let Response::Read(read) = &confirmed.service {
        for result in read.results.iter() {
            if let AccessResult::Failure(error) = result {
                return Err(access_error_name(error).to_owned());
            }
        }
    }
    Ok(pdu.len())
}
