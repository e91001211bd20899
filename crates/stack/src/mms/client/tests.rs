//! Client against a scripted server: matching by invoke identifier, limits, time-outs, ends.

use super::super::initiate::{Agreement, Proposal, encoded};
use super::{Call, Client, End, Indication, Loss, Params, Refusal, Request, State};
use crate::acse::{self, Entity};
use crate::machine::{Machine as _, Output};
use crate::presentation::{Addresses, Pdv};
use crate::upper::Primitive;
use bytes::Bytes;
use core::time::Duration;
use wire::mms::{
    ConfirmedResponse, Identification, Kind, Pdu, Reject, Request as ServiceRequest, Response,
    Service,
};
use wire::time::Instant;

const PATIENCE: Duration = Duration::from_secs(1);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn client() -> Client {
    Client::new(Params {
        addresses: Addresses::default(),
        calling: Entity::default(),
        called: Entity::default(),
        context: 3,
        proposal: Proposal { outstanding: 2, ..Proposal::usual() },
        patience: Duration::from_secs(2),
        waiting: 3,
    })
}

/// Client with an open association.
fn open() -> Client {
    let mut client = client();
    client.request(at(0), Request::Associate);
    drain(&mut client);
    let agreement = Agreement { pdu_octets: 65_000, outstanding: 2 };
    let octets = Proposal::usual().response(agreement);
    accept(&mut client, octets);
    assert_eq!(drain(&mut client).told, [Indication::Associated(agreement)]);
    client
}

fn accept(client: &mut Client, octets: Bytes) {
    let information = Some(Pdv { context: 3, octets });
    client.receive(at(0), Primitive::Association(acse::Primitive::Accept { information }));
}

#[derive(Default)]
struct Outputs {
    sent: Vec<Bytes>,
    association: Vec<acse::Primitive>,
    told: Vec<Indication>,
}

fn drain(client: &mut Client) -> Outputs {
    let mut outputs = Outputs::default();
    while let Some(output) = client.poll() {
        match output {
            Output::Send(Primitive::Data(data)) => outputs.sent.push(data.octets),
            Output::Send(Primitive::Association(it)) => outputs.association.push(it),
            Output::Deliver(indication) => outputs.told.push(indication),
            Output::Note(_) => {}
        }
    }
    outputs
}

fn call(client: &mut Client, token: u64) {
    let call = Call::new(token, ServiceRequest::Identify, PATIENCE);
    client.request(at(0), Request::Call(call));
}

fn identified(invoke: u32) -> Bytes {
    let service = Response::Identify(Identification {
        vendor: b"v",
        model: b"m",
        revision: b"r",
        syntaxes: None,
    });
    encoded(&Pdu::ConfirmedResponse(ConfirmedResponse { invoke, service, detail: &[] }))
}

fn receive(client: &mut Client, octets: Bytes) -> Vec<Indication> {
    client.receive(at(10), Primitive::Data(Pdv { context: 3, octets }));
    drain(client).told
}

fn ended(token: u64, end: End) -> Indication {
    Indication::Ended { token, end }
}

#[test]
fn responses_out_of_order_are_matched_by_invoke_identifier() {
    let mut client = open();
    call(&mut client, 70);
    call(&mut client, 71);
    assert_eq!(drain(&mut client).sent.len(), 2);
    let (first, second) = (identified(1), identified(2));
    assert_eq!(receive(&mut client, second.clone()), [ended(71, End::Response(second))]);
    assert_eq!(receive(&mut client, first.clone()), [ended(70, End::Response(first))]);
}

#[test]
fn no_more_requests_are_outstanding_than_agreed() {
    let mut client = open();
    (0..4).for_each(|token| call(&mut client, token));
    let outputs = drain(&mut client);
    assert_eq!((outputs.sent.len(), client.in_flight()), (2, 2));
    let response = identified(1);
    receive(&mut client, response);
    assert_eq!(client.in_flight(), 2);
    // Three may wait: the fifth of those behind the two in flight is refused.
    (4..7).for_each(|token| call(&mut client, token));
    assert_eq!(drain(&mut client).told, [ended(6, End::Refused)]);
}

#[test]
fn a_service_without_a_response_times_out_and_frees_its_place() {
    let mut client = open();
    (0..3).for_each(|token| call(&mut client, token));
    drain(&mut client);
    assert_eq!(client.deadline().map(|it| it.at), Some(at(1_000)));
    client.expire(at(1_000));
    let outputs = drain(&mut client);
    assert_eq!(outputs.told, [ended(0, End::TimedOut), ended(1, End::TimedOut)]);
    assert_eq!(outputs.sent.len(), 1, "the third call is made");
    assert_eq!(receive(&mut client, identified(1)), [], "a late response is no answer");
}

#[test]
fn rejects_and_responses_of_another_service_end_the_call() {
    let mut client = open();
    call(&mut client, 0);
    let reject = Reject { invoke: Some(1), kind: 1, reason: 1 };
    let rejected = receive(&mut client, encoded(&Pdu::Reject(reject)));
    assert_eq!(rejected, [ended(0, End::Rejected(reject))]);
    call(&mut client, 1);
    let service = Response::Done(Service(11));
    let wrong = ConfirmedResponse { invoke: 2, service, detail: &[] };
    let wrong = receive(&mut client, encoded(&Pdu::ConfirmedResponse(wrong)));
    assert_eq!(wrong, [ended(1, End::Wrong)]);
}

#[test]
fn a_conclude_waits_for_the_calls_and_then_releases() {
    let mut client = open();
    call(&mut client, 0);
    drain(&mut client);
    client.request(at(0), Request::Conclude);
    assert!(drain(&mut client).sent.is_empty());
    client.receive(at(1), Primitive::Data(Pdv { context: 3, octets: identified(1) }));
    assert_eq!(drain(&mut client).sent, [encoded(&Pdu::ConcludeRequest)]);
    receive_all(&mut client, &Pdu::ConcludeResponse);
    assert_eq!(client.state(), State::Releasing);
    client.receive(at(2), Primitive::Association(acse::Primitive::Released));
    assert_eq!(drain(&mut client).told, [Indication::Released]);
    assert_eq!(client.deadline(), None);
}

fn receive_all(client: &mut Client, pdu: &Pdu<'_>) {
    client.receive(at(1), Primitive::Data(Pdv { context: 3, octets: encoded(pdu) }));
    assert_eq!(drain(client).association, [acse::Primitive::Release]);
}

#[test]
fn a_server_that_never_concludes_is_released_and_then_aborted() {
    let mut client = open();
    client.request(at(0), Request::Conclude);
    drain(&mut client);
    client.expire(at(2_000));
    assert_eq!(drain(&mut client).association, [acse::Primitive::Release]);
    client.expire(at(4_000));
    let outputs = drain(&mut client);
    assert!(matches!(outputs.association[..], [acse::Primitive::Abort { .. }]));
    assert_eq!(outputs.told, [Indication::Lost(Loss::TimedOut)]);
}

#[test]
fn the_end_of_the_association_ends_its_calls_first() {
    let mut client = open();
    (0..3).for_each(|token| call(&mut client, token));
    drain(&mut client);
    let source = acse::Source::User;
    client.receive(at(1), Primitive::Association(acse::Primitive::Abort { source }));
    let mut expected: Vec<_> = (0..3).map(|token| ended(token, End::Unanswered)).collect();
    expected.push(Indication::Lost(Loss::Aborted(source)));
    assert_eq!(drain(&mut client).told, expected);
}

#[test]
fn an_association_without_initiate_response_is_aborted() {
    let mut client = client();
    client.request(at(0), Request::Associate);
    drain(&mut client);
    accept(&mut client, encoded(&Pdu::ConcludeResponse));
    let outputs = drain(&mut client);
    assert!(matches!(outputs.association[..], [acse::Primitive::Abort { .. }]));
    assert_eq!(outputs.told, [Indication::Rejected(Refusal::NotInitiated)]);
}

#[test]
fn a_request_of_the_server_is_rejected_as_unknown() {
    let mut client = open();
    let request = Call::new(0, ServiceRequest::Identify, PATIENCE);
    assert_eq!(request.service(), Service(2));
    let octets = Bytes::from_static(&[0xA0, 5, 2, 1, 9, 0x82, 0]);
    client.receive(at(0), Primitive::Data(Pdv { context: 3, octets }));
    let sent = drain(&mut client).sent;
    let pdu = Pdu::decode(&sent[0]).unwrap();
    assert_eq!((pdu.kind(), pdu.invoke()), (Kind::Reject, Some(9)));
}

#[test]
fn one_expiry_ends_every_call_that_is_due() {
    let mut client = open();
    for token in 0..5 {
        let call = Call::new(token, ServiceRequest::Identify, Duration::ZERO);
        client.request(at(0), Request::Call(call));
    }
    // Two in flight; the three that wait are due as soon as they are sent.
    client.expire(at(0));
    let ends = drain(&mut client).told;
    let expected: Vec<_> =
        (0..5).map(|token| Indication::Ended { token, end: End::TimedOut }).collect();
    assert_eq!(ends, expected);
    assert_eq!(client.deadline(), None);
}
