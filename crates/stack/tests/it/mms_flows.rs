//! Flows of MMS between two hosts: each message a call, answered by a server of a model.

use crate::hosts::{flow, host, is_end, run_hosts};
use bytes::Bytes;
use core::time::Duration;
use stack::host::MmsParams;
use stack::load::{Event, FlowId, Pattern, Record, Service};
use stack::mms::client::Call;
use stack::mms::server::{Domain, Model, Node, Value};
use stack::mms::trial;
use stack::station::Frame;
use stack::tcp;
use stack::tp4::Params;
use std::cell::Cell;
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::ber::{List, Writer};
use wire::mms::{ObjectName, ReadRequest, Request, Specification, Variable, VariableAccess};

/// Model with one variable of a domain.
fn model() -> Model {
    let variables = BTreeMap::from([("Load".to_owned(), Node::Leaf(Value::Float32(0.5)))]);
    let domain = Domain { variables, ..Domain::default() };
    let domains = BTreeMap::from([("LD".to_owned(), domain)]);
    Model { vendor: "tidewire".to_owned(), domains, ..Model::default() }
}

/// Read of variables of the domain `LD`.
fn read(items: &[&'static str], patience: Duration) -> Call {
    let mut room = Writer::new();
    let variable = |item: &&'static str| {
        let name = ObjectName::Domain { domain: b"LD", item: item.as_bytes() };
        Variable { specification: Specification::Name(name), alternate: None }
    };
    let variables: Vec<Variable<'_>> = items.iter().map(variable).collect();
    let variables = VariableAccess::Variables(List::encode(&variables, &mut room));
    Call::new(0, Request::Read(ReadRequest { with_specification: None, variables }), patience)
}

const PATIENCE: Duration = Duration::from_secs(5);

/// Runs 50 calls against a host, which is a server if there is a model.
fn run(outstanding: u16, pattern: Pattern, model: Option<Model>) -> [Vec<Record>; 2] {
    run_on(Carrier::Class4, outstanding, pattern, model, Some)
}

/// Transport of both hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Carrier {
    Class4,
    Tcp,
}

/// Like [`run`] over a transport, and a LAN that loses the frames for which `carried` returns none.
fn run_on(
    carrier: Carrier,
    outstanding: u16,
    pattern: Pattern,
    model: Option<Model>,
    carried: impl Fn(Frame) -> Option<Frame>,
) -> [Vec<Record>; 2] {
    let calls = BTreeMap::from([(FlowId(5), read(&["Load"], PATIENCE))]);
    let flow = flow(Service::Mms { outstanding }, pattern, 60, 50);
    let client = host(1, Params::lan(), vec![flow]);
    let server = host(2, Params::lan(), Vec::new());
    let server = match model {
        Some(model) => server.with_mms(MmsParams { model: Some(model), calls: BTreeMap::new() }),
        None => server,
    };
    let hosts = [client.with_mms(MmsParams { model: None, calls }), server];
    let mut number = 0;
    let hosts = hosts.map(|host| {
        number += 1;
        match carrier {
            Carrier::Class4 => host,
            Carrier::Tcp => host.over_tcp(tcp::Params::lan(Mac::local(number))),
        }
    });
    // A frame that is lost arrives as one of no protocol.
    run_hosts(hosts, |frame| carried(frame).unwrap_or_else(|| Frame::new(Bytes::new())))
}

/// Sequence number and octets of each answer.
fn answers(records: &[Record]) -> Vec<(u32, usize)> {
    let of = |record: &Record| match record.event {
        Event::Answered { sequence, octets, .. } => Some((sequence, octets)),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

#[test]
fn every_call_is_answered_with_the_length_of_its_pdu() {
    let lengths = trial::answer(&model(), &read(&["Load"], PATIENCE)).unwrap();
    for pattern in [
        Pattern::ConstantRateRequest { period: Duration::from_millis(10), reply_octets: 0 },
        Pattern::MaximumRateRequest { reply_octets: 0 },
    ] {
        for outstanding in [1, 5] {
            let [client, _] = run(outstanding, pattern, Some(model()));
            let expected: Vec<_> = (0..50).map(|sequence| (sequence, lengths.response)).collect();
            assert_eq!(answers(&client), expected, "{outstanding} {pattern:?}");
            assert!(client.iter().any(|record| record.event == Event::Done), "{client:?}");
            assert!(is_end(client.last().unwrap()), "{:?}", client.last());
        }
    }
}

#[test]
fn at_the_highest_rate_as_many_calls_are_outstanding_as_allowed() {
    for outstanding in [1_u16, 5] {
        let pattern = Pattern::MaximumRateRequest { reply_octets: 0 };
        let [client, _] = run(outstanding, pattern, Some(model()));
        let (mut now, mut most) = (0_i32, 0);
        for record in &client {
            now += match record.event {
                Event::Sent { .. } => 1,
                Event::Answered { .. } => -1,
                _ => 0,
            };
            most = most.max(now);
        }
        assert_eq!(most, i32::from(outstanding));
    }
}

#[test]
fn calls_over_tcp_are_answered_like_those_over_class_4() {
    for outstanding in [1, 5] {
        let pattern = Pattern::MaximumRateRequest { reply_octets: 0 };
        let of = |carrier| run_on(carrier, outstanding, pattern, Some(model()), Some);
        let [[client, server], [by_class_4, _]] = [Carrier::Tcp, Carrier::Class4].map(of);
        assert_eq!(answers(&client), answers(&by_class_4));
        assert!(is_end(client.last().unwrap()), "{:?}", client.last());
        assert!(server.is_empty(), "{server:?}");
    }
}

#[test]
fn a_lost_segment_delays_a_call_and_loses_none() {
    for lost in 0..40 {
        let number = Cell::new(0);
        let carried = |frame| {
            number.set(number.get() + 1);
            (number.get() != lost + 1).then_some(frame)
        };
        let pattern = Pattern::MaximumRateRequest { reply_octets: 0 };
        let [client, _] = run_on(Carrier::Tcp, 3, pattern, Some(model()), carried);
        assert_eq!(answers(&client).len(), 50, "{lost}");
        assert!(is_end(client.last().unwrap()), "{lost} {:?}", client.last());
    }
}

#[test]
fn more_than_the_network_takes_at_once_goes_over_tcp() {
    // Class 0 passes at most 64 KiB to a network that has not taken them; these are 200 kB.
    let hosts = [vec![flow(Service::Class4, Pattern::Bulk, 1_000, 200)], Vec::new()];
    let mut number = 0;
    let hosts = hosts.map(|flows| {
        number += 1;
        host(number, Params::lan(), flows).over_tcp(tcp::Params::lan(Mac::local(number)))
    });
    let [client, server] = run_hosts(hosts, |frame| frame);
    let delivered = server.iter().filter(|it| matches!(it.event, Event::Delivered { .. })).count();
    assert_eq!(delivered, 200);
    assert!(is_end(client.last().unwrap()), "{:?}", client.last());
}

#[test]
fn a_host_without_tcp_is_no_server_of_a_client_over_tcp() {
    let calls = BTreeMap::from([(FlowId(5), read(&["Load"], PATIENCE))]);
    let pattern = Pattern::MaximumRateRequest { reply_octets: 0 };
    let flow = flow(Service::Mms { outstanding: 1 }, pattern, 60, 50);
    let client = host(1, Params::lan(), vec![flow]).over_tcp(tcp::Params::lan(Mac::local(1)));
    let client = client.with_mms(MmsParams { model: None, calls });
    let [client, _] = run_hosts([client, host(2, Params::lan(), Vec::new())], |frame| frame);
    let Event::Ended { reason, orderly } = client.last().unwrap().event else {
        panic!("{client:?}");
    };
    assert!(!orderly && answers(&client).is_empty(), "{reason}");
}

#[test]
fn a_host_without_a_model_refuses_clients() {
    let pattern = Pattern::MaximumRateRequest { reply_octets: 0 };
    let [client, _] = run(1, pattern, None);
    let Event::Ended { reason, orderly } = client.last().unwrap().event else {
        panic!("{client:?}");
    };
    assert!(!orderly && reason.contains("no such TSAP"), "{reason}");
    assert!(answers(&client).is_empty());
}

#[test]
fn a_trial_reports_the_error_of_the_server() {
    let error = trial::answer(&model(), &read(&["Nothing"], PATIENCE)).unwrap_err();
    assert!(error.contains("non-existent"), "{error}");
    let one = trial::answer(&model(), &read(&["Load"], PATIENCE)).unwrap();
    let two = trial::answer(&model(), &read(&["Load", "Load"], PATIENCE)).unwrap();
    // A floating-point value has tag, length and five octets.
    assert_eq!(two.response - one.response, 7);
}
