//! Confirmed services of a server.

use super::files::{directory, listed};
use super::model::{List as Names, Named, Node};
use super::reports::Writing;
use super::{Association, Indication, Server};
use crate::mms::initiate::encoded;
use crate::transport::Endpoint;
use bytes::Bytes;
use core::str;
use wire::ber::{Item as _, List, Reader, Writer};
use wire::mms::{
    AccessResult, ConfirmedError, ConfirmedRequest, ConfirmedResponse, Data, Deleted,
    Identification, Identifier, ListAttributes, ListDefinition, ListDeletion, NameList,
    NameListRequest, ObjectName, Pdu, ReadRequest, ReadResponse, Reject, Request, Response, Scope,
    Service, ServiceError, Specification, Status, TypeDescription, Variable, VariableAccess,
    VariableAttributes, WriteRequest, WriteResult,
};
use wire::time::Instant;

/// Octets of a response around its contents, at most.
const AROUND_OCTETS: usize = 64;
/// Maximum number of lists that clients define, in a domain or an association.
const MOST_LISTS: usize = 32;
/// Maximum number of members of a list that a client defines.
const MOST_MEMBERS: usize = 512;
/// Access error: the object is not to be written.
const DENIED: u32 = 3;
/// Access error: the way of access is not supported.
const UNSUPPORTED: u32 = 9;
/// Access error: no such object.
const NON_EXISTENT: u32 = 10;
/// Write result: the number of values is not that of the variables.
const INCONSISTENT: u32 = 7;

/// Error of a service, by class and code (ISO 9506-2 7.4.5).
#[derive(Clone, Copy)]
struct Failure {
    class: u32,
    code: i64,
}

/// No such object.
const ABSENT: Failure = Failure { class: 7, code: 2 };
/// The object is not to be used so.
const ACCESS_DENIED: Failure = Failure { class: 7, code: 3 };
/// The object exists.
const EXISTS: Failure = Failure { class: 2, code: 5 };
/// There is no room for the response, or for the object.
const NO_ROOM: Failure = Failure { class: 3, code: 0 };

/// Class of the errors of files.
const FILE: u32 = 11;

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// Name in a domain; `None` for other scopes.
fn named(name: &ObjectName<'_>) -> Option<Named> {
    match name {
        ObjectName::Domain { domain, item } => {
            Some(Named { domain: text(domain), item: text(item) })
        }
        ObjectName::Vmd(_) | ObjectName::Association(_) => None,
    }
}

/// Name of a variable that is accessed as a whole.
fn variable(variable: &Variable<'_>) -> Result<Named, u32> {
    match (variable.alternate, variable.specification) {
        (None, Specification::Name(name)) => named(&name).ok_or(NON_EXISTENT),
        (Some(_), _) | (None, Specification::Other { .. }) => Err(UNSUPPORTED),
    }
}

impl Server {
    /// Answers a confirmed request.
    pub(super) fn serve(&mut self, now: Instant, endpoint: Endpoint, pdu: &ConfirmedRequest<'_>) {
        let invoke = pdu.invoke;
        let most = self.associations.get(&endpoint).map_or(0, |it| it.agreement.pdu_octets);
        let answered = self.answer(now, endpoint, pdu, most);
        let answer = match answered {
            Ok(octets) if octets.len() <= most => octets,
            Ok(_) => failed(invoke, NO_ROOM),
            Err(Refusal::Failure(failure)) => failed(invoke, failure),
            Err(Refusal::Unknown) => {
                encoded(&Pdu::Reject(Reject { invoke: Some(invoke), kind: 1, reason: 1 }))
            }
        };
        self.data(endpoint, answer);
        // A general interrogation is answered before its report.
        let later = core::mem::take(&mut self.later);
        self.send(later);
    }

    fn answer(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        pdu: &ConfirmedRequest<'_>,
        most: usize,
    ) -> Result<Bytes, Refusal> {
        let invoke = pdu.invoke;
        match &pdu.service {
            Request::Status(_) => {
                let status = Status { logical: 0, physical: 0, local: None };
                Ok(response(invoke, Response::Status(status)))
            }
            Request::Identify => {
                let identification = Identification {
                    vendor: self.model.vendor.as_bytes(),
                    model: self.model.model.as_bytes(),
                    revision: self.model.revision.as_bytes(),
                    syntaxes: None,
                };
                Ok(response(invoke, Response::Identify(identification)))
            }
            Request::GetNameList(request) => self.name_list(endpoint, invoke, request, most),
            Request::Read(request) => self.read(endpoint, invoke, request, most),
            Request::Write(request) => Ok(self.write(now, endpoint, invoke, request)),
            Request::GetVariableAccessAttributes(specification) => {
                self.attributes(invoke, specification)
            }
            Request::GetNamedVariableListAttributes(name) => {
                self.list_attributes(endpoint, invoke, name)
            }
            Request::DefineNamedVariableList(definition) => {
                self.define(endpoint, definition)?;
                Ok(response(invoke, Response::Done(Service(11))))
            }
            Request::DeleteNamedVariableList(deletion) => {
                let deleted = self.delete(endpoint, deletion);
                Ok(response(invoke, Response::DeleteNamedVariableList(deleted)))
            }
            Request::FileOpen(_)
            | Request::FileRead(_)
            | Request::FileClose(_)
            | Request::FileDirectory(_) => self.file(endpoint, pdu, most),
            Request::InitiateDownloadSequence(_)
            | Request::DownloadSegment(_)
            | Request::TerminateDownloadSequence(_)
            | Request::InitiateUploadSequence(_)
            | Request::UploadSegment(_)
            | Request::TerminateUploadSequence(_)
            | Request::ObtainFile(_)
            | Request::FileRename(_)
            | Request::FileDelete(_)
            | Request::Other { .. } => Err(Refusal::Unknown),
        }
    }

    // ---- names ----------------------------------------------------------------------------------

    fn name_list(
        &mut self,
        endpoint: Endpoint,
        invoke: u32,
        request: &NameListRequest<'_>,
        most: usize,
    ) -> Result<Bytes, Refusal> {
        let after = request.continue_after.map(text);
        let is_next = |name: &&String| after.as_ref().is_none_or(|after| *name > after);
        let domain = match request.scope {
            Scope::Domain(name) => Some(text(name)),
            Scope::Vmd | Scope::Association => None,
        };
        let association = self.associations.get(&endpoint);
        let names: Vec<&String> = match (request.class, request.scope, &domain) {
            (9, Scope::Vmd, _) => self.model.domains.keys().filter(is_next).collect(),
            (0, _, Some(domain)) => {
                let found = self.model.domains.get(domain).ok_or(ABSENT)?;
                let names = self.names.entry(domain.clone()).or_insert_with(|| found.names());
                let start = names.partition_point(|name| !is_next(&name));
                names.iter().skip(start).collect()
            }
            (2, _, Some(domain)) => {
                let found = self.model.domains.get(domain).ok_or(ABSENT)?;
                found.lists.keys().filter(is_next).collect()
            }
            (2, Scope::Association, _) => {
                association.iter().flat_map(|it| it.lists.keys()).filter(is_next).collect()
            }
            _ => Vec::new(),
        };
        let (mut octets, mut taken) = (AROUND_OCTETS, 0);
        for name in &names {
            octets += name.len() + 4;
            if octets > most {
                break;
            }
            taken += 1;
        }
        let mut room = Writer::new();
        names.iter().take(taken).rev().for_each(|name| Identifier(name.as_bytes()).put(&mut room));
        let list = NameList { names: decoded(&room), more_follows: Some(taken < names.len()) };
        Ok(response(invoke, Response::GetNameList(list)))
    }

    fn attributes(&self, invoke: u32, specification: &Specification<'_>) -> Result<Bytes, Refusal> {
        let Specification::Name(name) = specification else { return Err(ABSENT.into()) };
        let name = named(name).ok_or(ABSENT)?;
        let node = self.model.node(&name.domain, &name.item).ok_or(ABSENT)?;
        let mut room = Writer::new();
        node.put_type(&mut room);
        let description = TypeDescription::take(&mut Reader::new(room.octets()));
        let description = description.map_err(|_| NO_ROOM)?;
        let attributes = VariableAttributes { deletable: false, address: None, description };
        Ok(response(invoke, Response::GetVariableAccessAttributes(attributes)))
    }

    // ---- reads and writes -----------------------------------------------------------------------

    /// Names of the variables that a service writes.
    fn accessed(
        &self,
        endpoint: Endpoint,
        variables: &VariableAccess<'_>,
    ) -> Result<Vec<Result<Named, u32>>, Refusal> {
        match variables {
            VariableAccess::Variables(list) => Ok(list.iter().map(|it| variable(&it)).collect()),
            VariableAccess::Named(name) => {
                let list = self.list(endpoint, name).ok_or(ABSENT)?;
                Ok(list.members.iter().cloned().map(Ok).collect())
            }
        }
    }

    /// Variables that a service reads.
    fn found(
        &self,
        endpoint: Endpoint,
        variables: &VariableAccess<'_>,
    ) -> Result<Vec<Result<&Node, u32>>, Refusal> {
        match variables {
            VariableAccess::Variables(list) => Ok(list.iter().map(|it| self.one(&it)).collect()),
            VariableAccess::Named(name) => {
                let list = self.list(endpoint, name).ok_or(ABSENT)?;
                let node = |it: &Named| self.model.node(&it.domain, &it.item).ok_or(NON_EXISTENT);
                Ok(list.members.iter().map(node).collect())
            }
        }
    }

    /// Variable that is read as a whole.
    fn one(&self, variable: &Variable<'_>) -> Result<&Node, u32> {
        let (None, Specification::Name(name)) = (variable.alternate, variable.specification) else {
            return Err(UNSUPPORTED);
        };
        let ObjectName::Domain { domain, item } = name else { return Err(NON_EXISTENT) };
        let (domain, item) = (str::from_utf8(domain), str::from_utf8(item));
        let (Ok(domain), Ok(item)) = (domain, item) else { return Err(NON_EXISTENT) };
        self.model.node(domain, item).ok_or(NON_EXISTENT)
    }

    fn read(
        &self,
        endpoint: Endpoint,
        invoke: u32,
        request: &ReadRequest<'_>,
        most: usize,
    ) -> Result<Bytes, Refusal> {
        let found = self.found(endpoint, &request.variables)?;
        let mut room = Writer::new();
        for node in found.iter().rev() {
            match node {
                Ok(node) => node.put(&mut room),
                Err(error) => AccessResult::Failure(*error).put(&mut room),
            }
            // A short request can name long variables often.
            if room.len() > most {
                return Err(NO_ROOM.into());
            }
        }
        let is_wanted = request.with_specification == Some(true);
        let variables = Some(request.variables).filter(|_| is_wanted);
        Ok(response(invoke, Response::Read(ReadResponse { variables, results: decoded(&room) })))
    }

    fn write(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        invoke: u32,
        request: &WriteRequest<'_>,
    ) -> Bytes {
        let names = self.accessed(endpoint, &request.variables).unwrap_or_default();
        let mut values = request.data.iter();
        let mut results = Vec::with_capacity(names.len());
        for name in names {
            let result = match (name, values.next()) {
                (Ok(name), Some(data)) => self.write_one(now, endpoint, &name, data),
                (Ok(_), None) => Err(INCONSISTENT),
                (Err(error), _) => Err(error),
            };
            results.push(match result {
                Ok(()) => WriteResult::Success,
                Err(error) => WriteResult::Failure(error),
            });
        }
        let mut room = Writer::new();
        response(invoke, Response::Write(List::encode(&results, &mut room)))
    }

    fn write_one(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        name: &Named,
        data: Data<'_>,
    ) -> Result<(), u32> {
        if let Some((place, attribute)) = self.blocks.find(&name.domain, &name.item) {
            let writing = Writing { place, attribute, data, owner: endpoint };
            let report = self.blocks.write(now, &mut self.model, writing)?;
            self.later.extend(report);
            return Ok(());
        }
        if !self.params.writable.contains(name) {
            let exists = self.model.node(&name.domain, &name.item).is_some();
            return Err(if exists { DENIED } else { NON_EXISTENT });
        }
        self.model.leaf_mut(&name.domain, &name.item).ok_or(NON_EXISTENT)?.set(data)?;
        self.blocks.changed(now, &self.model, name);
        self.deliver(Indication::Written { endpoint, name: name.clone() });
        Ok(())
    }

    // ---- lists ----------------------------------------------------------------------------------

    fn list(&self, endpoint: Endpoint, name: &ObjectName<'_>) -> Option<&Names> {
        match name {
            ObjectName::Domain { domain, item } => {
                let domain = self.model.domains.get(str::from_utf8(domain).ok()?)?;
                domain.lists.get(str::from_utf8(item).ok()?)
            }
            ObjectName::Association(item) => {
                let Association { lists, .. } = self.associations.get(&endpoint)?;
                lists.get(str::from_utf8(item).ok()?)
            }
            ObjectName::Vmd(_) => None,
        }
    }

    fn list_attributes(
        &self,
        endpoint: Endpoint,
        invoke: u32,
        name: &ObjectName<'_>,
    ) -> Result<Bytes, Refusal> {
        let list = self.list(endpoint, name).ok_or(ABSENT)?;
        let mut room = Writer::new();
        for Named { domain, item } in list.members.iter().rev() {
            let name = ObjectName::Domain { domain: domain.as_bytes(), item: item.as_bytes() };
            let (specification, alternate) = (Specification::Name(name), None);
            Variable { specification, alternate }.put(&mut room);
        }
        let (deletable, variables) = (list.deletable, decoded(&room));
        let attributes = ListAttributes { deletable, variables };
        Ok(response(invoke, Response::GetNamedVariableListAttributes(attributes)))
    }

    fn define(
        &mut self,
        endpoint: Endpoint,
        definition: &ListDefinition<'_>,
    ) -> Result<(), Refusal> {
        let mut members = Vec::new();
        for member in definition.variables.iter() {
            let name = variable(&member).map_err(|_| ABSENT)?;
            if self.model.node(&name.domain, &name.item).is_none() {
                return Err(ABSENT.into());
            }
            if members.len() >= MOST_MEMBERS {
                return Err(NO_ROOM.into());
            }
            members.push(name);
        }
        let lists = match definition.name {
            ObjectName::Domain { domain, .. } => {
                &mut self.model.domains.get_mut(&text(domain)).ok_or(ABSENT)?.lists
            }
            ObjectName::Association(_) => {
                &mut self.associations.get_mut(&endpoint).ok_or(ABSENT)?.lists
            }
            ObjectName::Vmd(_) => return Err(ACCESS_DENIED.into()),
        };
        let name = text(definition.name.item());
        if lists.contains_key(&name) {
            return Err(EXISTS.into());
        }
        if lists.values().filter(|list| list.deletable).count() >= MOST_LISTS {
            return Err(NO_ROOM.into());
        }
        lists.insert(name, Names { members, deletable: true });
        Ok(())
    }

    fn delete(&mut self, endpoint: Endpoint, deletion: &ListDeletion<'_>) -> Deleted {
        let (mut matched, mut deleted) = (0, 0);
        for name in deletion.names.iter().flat_map(|names| names.iter()) {
            let Some(list) = self.list(endpoint, &name) else { continue };
            matched += 1;
            if !list.deletable {
                continue;
            }
            let item = text(name.item());
            let removed = match name {
                ObjectName::Domain { domain, .. } => {
                    let domain = self.model.domains.get_mut(&text(domain));
                    domain.and_then(|domain| domain.lists.remove(&item))
                }
                ObjectName::Association(_) => {
                    let association = self.associations.get_mut(&endpoint);
                    association.and_then(|association| association.lists.remove(&item))
                }
                ObjectName::Vmd(_) => None,
            };
            deleted += u32::from(removed.is_some());
        }
        Deleted { matched, deleted }
    }

    // ---- files ----------------------------------------------------------------------------------

    fn file(
        &mut self,
        endpoint: Endpoint,
        pdu: &ConfirmedRequest<'_>,
        most: usize,
    ) -> Result<Bytes, Refusal> {
        let Association { files, .. } = self.associations.get_mut(&endpoint).ok_or(ABSENT)?;
        let of_file = |code| Failure { class: FILE, code };
        let mut room = Writer::new();
        let service = match &pdu.service {
            Request::FileOpen(request) => files.open(&self.params.files, request),
            Request::FileRead(machine) => files.read(*machine, most),
            Request::FileClose(machine) => files.close(*machine),
            Request::FileDirectory(request) => {
                let more = directory(&self.params.files, request, most, &mut room);
                Ok(listed(&room, more))
            }
            _ => return Err(Refusal::Unknown),
        };
        let service = service.map_err(of_file)?;
        Ok(response(pdu.invoke, service))
    }
}

/// Reason why a request has no response.
enum Refusal {
    /// Error of the service.
    Failure(Failure),
    /// Service that this server does not have.
    Unknown,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// List of the items in `room`.
fn decoded<'a, T: wire::ber::Item<'a>>(room: &'a Writer) -> List<'a, T> {
    List::decode(Reader::new(room.octets())).unwrap_or_default()
}

fn response(invoke: u32, service: Response<'_>) -> Bytes {
    encoded(&Pdu::ConfirmedResponse(ConfirmedResponse { invoke, service, detail: &[] }))
}

fn failed(invoke: u32, failure: Failure) -> Bytes {
    let Failure { class, code } = failure;
    let (additional, description, information) = (None, None, None);
    let error = ServiceError { class, code, additional, description, information };
    encoded(&Pdu::ConfirmedError(ConfirmedError { invoke, modifier: None, error }))
}
