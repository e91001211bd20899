//! Random MMS PDUs, and the values that both sides have to find in them.

use super::draws::Draws;
use super::grammar::*;
use rasn::prelude::*;
use wire::mms as ours;

pub(crate) fn data(draws: &mut Draws, depth: u64) -> Data {
    let kinds = if depth < 4 { 13 } else { 11 };
    match draws.below(kinds) {
        0 => Data::Boolean(draws.next() & 1 == 1),
        1 => Data::Bits(draws.bits()),
        2 => Data::Integer(draws.signed().into()),
        3 => {
            let shift = draws.below(64);
            Data::Unsigned(draws.next() >> shift)
        }
        4 => Data::Float(draws.octets(9)),
        5 => Data::Octets(draws.octets(40)),
        6 => Data::Visible(draws.octets(200)),
        7 => Data::BinaryTime(draws.octets(6)),
        8 => Data::Oid(draws.oid()),
        9 => Data::Text(String::from_utf8_lossy(&draws.octets(9)).into_owned()),
        10 => Data::UtcTime(draws.octets(8)),
        11 => Data::Array(draws.list(3, |draws| data(draws, depth + 1))),
        _ => Data::Structure(draws.list(4, |draws| data(draws, depth + 1))),
    }
}

pub(crate) fn name(draws: &mut Draws) -> Name {
    match draws.below(3) {
        0 => Name::Vmd(draws.text()),
        1 => Name::Domain(InDomain { domain: draws.text(), item: draws.text() }),
        _ => Name::Association(draws.text()),
    }
}

pub(crate) fn variable(draws: &mut Draws) -> Variable {
    let specification = match draws.below(5) {
        0 => Specification::Invalidated(()),
        _ => Specification::Name(name(draws)),
    };
    Variable { specification, alternate: draws.maybe(|draws| vec![draws.octets(5)]) }
}

pub(crate) fn access(draws: &mut Draws) -> Access {
    match draws.maybe(name) {
        Some(name) => Access::Named(name),
        None => Access::Variables(draws.list(4, variable)),
    }
}

pub(crate) fn result(draws: &mut Draws) -> AccessResult {
    match draws.below(5) {
        0 => AccessResult::Failure(draws.below(12) as u8),
        1 => AccessResult::Array(draws.list(3, |draws| data(draws, 2))),
        2 => AccessResult::Structure(draws.list(5, |draws| data(draws, 1))),
        3 => AccessResult::Boolean(draws.next() & 1 == 1),
        _ => AccessResult::Integer(draws.signed().into()),
    }
}

pub(crate) fn file(draws: &mut Draws) -> Vec<GraphicString> {
    draws.list(2, |draws| GraphicString::try_from(draws.text().as_iso646_bytes()).unwrap())
}

/// Request with the number of its service.
pub(crate) fn request(draws: &mut Draws) -> (Request, u32) {
    match draws.below(14) {
        0 => (Request::Status(draws.next() & 1 == 1), 0),
        1 => {
            let scope = match draws.below(3) {
                0 => Scope::Vmd(()),
                1 => Scope::Domain(draws.text()),
                _ => Scope::Association(()),
            };
            let class = ObjectClass::Basic(draws.below(12) as u8);
            let after = draws.maybe(Draws::text);
            (Request::NameList(NameListRequest { class, scope, after }), 1)
        }
        2 => (Request::Identify(()), 2),
        3 | 4 => {
            let with = draws.maybe(|draws| draws.next() & 1 == 1);
            (Request::Read(ReadRequest { with, access: access(draws) }), 4)
        }
        5 => {
            let access = access(draws);
            let data = draws.list(5, |draws| data(draws, 0));
            (Request::Write(WriteRequest { access, data }), 5)
        }
        6 => (Request::Attributes(Specification::Name(name(draws))), 6),
        7 => {
            let (name, variables) = (name(draws), draws.list(5, variable));
            (Request::DefineList(DefineList { name, variables }), 11)
        }
        8 => (Request::ListAttributes(name(draws)), 12),
        9 => (Request::UploadSegment(draws.signed() as i32), 30),
        10 => (Request::TerminateUpload(draws.signed() as i32), 31),
        11 => {
            let position = draws.unsigned();
            (Request::FileOpen(FileOpen { name: file(draws), position }), 72)
        }
        12 => match draws.maybe(|draws| draws.signed() as i32) {
            Some(machine) => (Request::FileRead(machine), 73),
            None => {
                let (specification, after) = (draws.maybe(file), draws.maybe(file));
                (Request::Directory(Directory { specification, after }), 77)
            }
        },
        _ => (Request::Unknown(draws.octets(9)), 200),
    }
}

/// Response with the number of its service.
pub(crate) fn response(draws: &mut Draws) -> (Response, u32) {
    match draws.below(8) {
        0 => {
            let [logical, physical] = [draws.below(4) as u8, draws.below(4) as u8];
            let local = draws.maybe(Draws::bits);
            (Response::Status(StatusResponse { logical, physical, local }), 0)
        }
        1 => {
            let names = draws.list(9, Draws::text);
            let more = draws.maybe(|draws| draws.next() & 1 == 1);
            (Response::NameList(NameList { names, more }), 1)
        }
        2 => {
            let [vendor, model, revision] = core::array::from_fn(|_| draws.text());
            let syntaxes = draws.maybe(|draws| draws.list(2, Draws::oid));
            (Response::Identify(Identification { vendor, model, revision, syntaxes }), 2)
        }
        3 | 4 => {
            let access = draws.maybe(access);
            let results = draws.list(6, result);
            (Response::Read(ReadResponse { access, results }), 4)
        }
        5 => {
            let results = draws.list(6, |draws| match draws.below(3) {
                0 => WriteResult::Failure(draws.below(12) as u8),
                _ => WriteResult::Success(()),
            });
            (Response::Write(results), 5)
        }
        6 => (Response::DefineList(()), 11),
        _ => {
            let more = draws.maybe(|draws| draws.next() & 1 == 1);
            (Response::FileRead(FileData { octets: draws.octets(600), more }), 73)
        }
    }
}

/// Values that both sides have to find in a PDU.
#[derive(Debug, PartialEq, Default)]
pub(crate) struct Found {
    pub(crate) kind: u32,
    pub(crate) invoke: Option<u32>,
    pub(crate) service: Option<u32>,
    pub(crate) error: Option<(u32, i64)>,
}

pub(crate) fn error(draws: &mut Draws) -> (ServiceError, (u32, i64)) {
    let code = draws.signed() as i8;
    let (class, number) = match draws.below(4) {
        0 => (ErrorClass::Vmd(code), 0),
        1 => (ErrorClass::Resource(code), 3),
        2 => (ErrorClass::Access(code), 7),
        _ => (ErrorClass::Others(code), 12),
    };
    let additional = draws.maybe(|draws| draws.signed() as i32);
    let description = draws.maybe(Draws::text);
    (ServiceError { class, additional, description }, (number, i64::from(code)))
}

pub(crate) fn mms(draws: &mut Draws) -> (Mms, Found) {
    let invoke = draws.unsigned();
    let found = |kind| Found { kind, ..Found::default() };
    match draws.below(12) {
        0..=2 => {
            let (service, number) = request(draws);
            let found = Found { invoke: Some(invoke), service: Some(number), ..found(0) };
            (Mms::Request(ConfirmedRequest { invoke, service }), found)
        }
        3..=5 => {
            let (service, number) = response(draws);
            let found = Found { invoke: Some(invoke), service: Some(number), ..found(1) };
            (Mms::Response(ConfirmedResponse { invoke, service }), found)
        }
        6 => {
            let (error, code) = error(draws);
            let modifier = draws.maybe(Draws::unsigned);
            let found = Found { invoke: Some(invoke), error: Some(code), ..found(2) };
            (Mms::Error(ConfirmedError { invoke, modifier, error }), found)
        }
        7 => {
            let report = Report { access: access(draws), results: draws.list(7, result) };
            (
                Mms::Unconfirmed(Unconfirmed { service: UnconfirmedService::Report(report) }),
                found(3),
            )
        }
        8 => {
            let invoke = draws.maybe(|_| invoke);
            let code = draws.signed() as i8;
            let reason = match draws.maybe(|_| ()) {
                Some(()) => RejectReason::Request(code),
                None => RejectReason::Pdu(code),
            };
            (Mms::Reject(Reject { invoke, reason }), Found { invoke, ..found(4) })
        }
        9 => (Mms::Cancel(invoke), Found { invoke: Some(invoke), ..found(5) }),
        10 => {
            let detail = InitiateDetail {
                version: draws.signed() as i16,
                parameters: draws.bits(),
                services: draws.bits(),
            };
            let initiate = Initiate {
                local_detail: draws.maybe(|draws| draws.signed() as i32),
                calling: draws.signed() as i16,
                called: draws.signed() as i16,
                nesting: draws.maybe(|draws| draws.signed() as i8),
                detail,
            };
            (Mms::Initiate(initiate), found(8))
        }
        _ => {
            let (error, code) = error(draws);
            match draws.maybe(|_| ()) {
                Some(()) => (Mms::InitiateError(error), Found { error: Some(code), ..found(10) }),
                None => (Mms::Conclude(()), found(11)),
            }
        }
    }
}

/// Values as this crate finds them.
pub(crate) fn found(pdu: &ours::Pdu<'_>) -> Found {
    let error = match pdu {
        ours::Pdu::ConfirmedError(pdu) => Some(pdu.error),
        ours::Pdu::InitiateError(error) => Some(*error),
        _ => None,
    };
    Found {
        kind: pdu.kind().number(),
        invoke: pdu.invoke(),
        service: pdu.service().map(|it| it.0),
        error: error.map(|it| (it.class, it.code)),
    }
}
