//! Calls of an inquiry, and the contents of their answers.

use super::names::Item;
use core::time::Duration;
use stack::mms::client::Call;
use wire::ber::{List, Tag, Text, Writer};
use wire::mms::{
    AccessResult, Data, FileOpen, NameListRequest, Part, Pdu, ReadRequest, Request, Response,
    Scope, Unconfirmed, VariableAccess, WriteRequest, WriteResult, access_error_name,
};

/// Class of objects: named variables.
pub(crate) const VARIABLES: i64 = 0;
/// Class of objects: domains.
pub(crate) const DOMAINS: i64 = 9;

/// Reads variables.
pub(crate) fn read(items: &[Item], patience: Duration) -> Call {
    let mut room = Writer::new();
    let variables: Vec<_> = items.iter().map(Item::variable).collect();
    let variables = VariableAccess::Variables(List::encode(&variables, &mut room));
    Call::new(0, Request::Read(ReadRequest { with_specification: None, variables }), patience)
}

/// Reads a named variable list.
pub(crate) fn read_list(list: &Item, patience: Duration) -> Call {
    let variables = VariableAccess::Named(list.name());
    // Some servers tell a list from variables by this member.
    let with_specification = Some(true);
    Call::new(0, Request::Read(ReadRequest { with_specification, variables }), patience)
}

/// Writes a variable.
pub(crate) fn write(item: &Item, data: Data<'_>, patience: Duration) -> Call {
    let (mut room, mut values) = (Writer::new(), Writer::new());
    let variables = VariableAccess::Variables(List::encode(&[item.variable()], &mut room));
    let data = List::encode(&[data], &mut values);
    Call::new(0, Request::Write(WriteRequest { variables, data }), patience)
}

/// Asks for names.
pub(crate) fn names(class: i64, domain: Option<&str>, patience: Duration) -> Call {
    let scope = domain.map_or(Scope::Vmd, |domain| Scope::Domain(domain.as_bytes()));
    let request = NameListRequest { class, scope, continue_after: None };
    Call::new(0, Request::GetNameList(request), patience)
}

/// Opens a file.
pub(crate) fn file_open(name: &str, patience: Duration) -> Call {
    let mut room = Writer::new();
    // One part, with the separators of the server, as the common clients send it.
    let part = Part { tag: Tag::GRAPHIC_STRING, text: name.as_bytes() };
    let name = List::encode(&[part], &mut room);
    Call::new(0, Request::FileOpen(FileOpen { name, position: 0 }), patience)
}

/// Reads the next part of an open file.
pub(crate) fn file_read(machine: i64, patience: Duration) -> Call {
    Call::new(0, Request::FileRead(machine), patience)
}

/// Closes a file.
pub(crate) fn file_close(machine: i64, patience: Duration) -> Call {
    Call::new(0, Request::FileClose(machine), patience)
}

/// Contents of a response; an error says why it has none.
pub(crate) fn service(pdu: &[u8]) -> Result<Response<'_>, String> {
    match Pdu::decode(pdu) {
        Ok(Pdu::ConfirmedResponse(response)) => Ok(response.service),
        Ok(Pdu::ConfirmedError(error)) => Err(error.error.to_string()),
        Ok(other) => Err(format!("unexpected {}", other.kind())),
        Err(malformed) => Err(malformed.to_string()),
    }
}

/// Checks that all values were read, or written.
pub(crate) fn check(response: &Response<'_>) -> Result<(), String> {
    match response {
        Response::Read(read) => {
            let failed = read.results.iter().find_map(|result| match result {
                AccessResult::Failure(error) => Some(access_error_name(error)),
                AccessResult::Success(_) => None,
            });
            match failed {
                Some(error) => Err(error.to_owned()),
                None if read.results.is_empty() => Err("no value".to_owned()),
                None => Ok(()),
            }
        }
        Response::Write(results) => {
            let failed = results.iter().find_map(|result| match result {
                WriteResult::Failure(error) => Some(access_error_name(error).to_owned()),
                WriteResult::Success => None,
            });
            failed.map_or(Ok(()), Err)
        }
        _ => Ok(()),
    }
}

/// Names in a response.
pub(crate) fn names_of(response: &Response<'_>) -> Vec<String> {
    let Response::GetNameList(list) = response else { return Vec::new() };
    list.names.iter().map(|name| String::from_utf8_lossy(name.0).into_owned()).collect()
}

/// Vendor, model and revision in a response.
pub(crate) fn identity_of(response: &Response<'_>) -> Option<String> {
    let Response::Identify(it) = response else { return None };
    Some(format!("{} {} {}", Text(it.vendor), Text(it.model), Text(it.revision)))
}

/// First value in a response, as its element.
pub(crate) fn value_of(response: &Response<'_>) -> Option<Vec<u8>> {
    let Response::Read(read) = response else { return None };
    match read.results.iter().next() {
        Some(AccessResult::Success(data)) => {
            let mut room = Writer::new();
            Some(List::encode(&[data], &mut room).octets().to_vec())
        }
        _ => None,
    }
}

/// Report: identifier and sequence number.
pub(crate) struct Report {
    pub(crate) id: String,
    pub(crate) number: Option<u64>,
}

/// Report in an unconfirmed PDU (IEC 61850-8-1, 17.2.2): the identifier comes first, then the
/// optional fields that say whether a sequence number follows.
pub(crate) fn report_of(pdu: &[u8]) -> Option<Report> {
    let Ok(Pdu::Unconfirmed(Unconfirmed::InformationReport(report))) = Pdu::decode(pdu) else {
        return None;
    };
    let mut values = report.results.iter().map(|result| match result {
        AccessResult::Success(data) => Some(data),
        AccessResult::Failure(_) => None,
    });
    let Some(Some(Data::Visible(id))) = values.next() else { return None };
    let fields = values.next().flatten();
    let number = match (fields, values.next().flatten()) {
        (Some(Data::Bits(bits)), Some(Data::Unsigned(number))) if bits.bit(1) => Some(number),
        _ => None,
    };
    Some(Report { id: String::from_utf8_lossy(id).into_owned(), number })
}
