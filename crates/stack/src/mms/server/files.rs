//! File services: open, read, close, directory (ISO 9506-2 annex D). Files are in memory.

use bytes::Bytes;
use std::collections::BTreeMap;
use wire::ber::{List, Tag, Writer};
use wire::mms::{
    Directory, DirectoryEntry, DirectoryRequest, FileAttributes, FileData, FileName, FileOpen,
    OpenedFile, Part, Response, Service,
};

/// Files that an association may have open.
const MOST_OPEN: usize = 8;
/// Longest part of a file in one response, in octets.
const LONGEST_PART: usize = 8_192;
/// Octets around the entries of a directory, and around one entry.
const AROUND_OCTETS: usize = 48;
/// Error of the file class: not found.
const NOT_FOUND: i64 = 7;
/// Error of the file class: the state of the file, or too many are open.
const BUSY: i64 = 2;
/// Error of the file class: position invalid.
const POSITION_INVALID: i64 = 5;

/// Files of a server, by name.
pub type Files = BTreeMap<String, Bytes>;

/// File that an association has open.
#[derive(Clone, Debug)]
struct Open {
    content: Bytes,
    position: usize,
}

/// Files that an association has open.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenFiles {
    last: i64,
    open: BTreeMap<i64, Open>,
}

fn name_of(name: FileName<'_>) -> String {
    let parts: Vec<_> = name.iter().map(|part| String::from_utf8_lossy(part.text)).collect();
    parts.join("/")
}

impl OpenFiles {
    pub(super) fn open(
        &mut self,
        files: &Files,
        request: &FileOpen<'_>,
    ) -> Result<Response<'static>, i64> {
        let content = files.get(&name_of(request.name)).ok_or(NOT_FOUND)?;
        let position = request.position as usize;
        if position > content.len() {
            return Err(POSITION_INVALID);
        }
        if self.open.len() >= MOST_OPEN {
            return Err(BUSY);
        }
        self.last += 1;
        self.open.insert(self.last, Open { content: content.clone(), position });
        let attributes = FileAttributes { size_octets: size(content), modified: None };
        Ok(Response::FileOpen(OpenedFile { machine: self.last, attributes }))
    }

    pub(super) fn read(&mut self, machine: i64, pdu_octets: usize) -> Result<Response<'_>, i64> {
        let open = self.open.get_mut(&machine).ok_or(BUSY)?;
        let most = LONGEST_PART.min(pdu_octets.saturating_sub(AROUND_OCTETS));
        let from = open.position;
        let to = open.content.len().min(from + most);
        open.position = to;
        let octets = open.content.get(from..to).unwrap_or_default();
        let more_follows = Some(to < open.content.len());
        Ok(Response::FileRead(FileData { octets, more_follows }))
    }

    pub(super) fn close(&mut self, machine: i64) -> Result<Response<'static>, i64> {
        self.open.remove(&machine).ok_or(BUSY)?;
        Ok(Response::Done(Service(74)))
    }
}

fn size(content: &Bytes) -> u32 {
    u32::try_from(content.len()).unwrap_or(u32::MAX)
}

/// Writes the entries of a directory to `room`; returns true if more follow.
pub(super) fn directory(
    files: &Files,
    request: &DirectoryRequest<'_>,
    pdu_octets: usize,
    room: &mut Writer,
) -> bool {
    let prefix = request.specification.map(name_of).unwrap_or_default();
    let prefix = prefix.trim_matches('/');
    let after = request.continue_after.map(name_of);
    let is_wanted = |name: &str| {
        let below = name.strip_prefix(prefix);
        let is_below =
            below.is_some_and(|rest| prefix.is_empty() || rest.is_empty() || rest.starts_with('/'));
        is_below && after.as_ref().is_none_or(|after| name > after.as_str())
    };
    let wanted = files.iter().filter(|(name, _)| is_wanted(name));
    let (mut taken, mut octets, mut more) = (Vec::new(), AROUND_OCTETS, false);
    for (name, content) in wanted {
        octets += name.len() + AROUND_OCTETS;
        if octets > pdu_octets {
            more = true;
            break;
        }
        taken.push((name, size(content)));
    }
    room.clear();
    for (name, size_octets) in taken.into_iter().rev() {
        let mut parts = Writer::new();
        let part = Part { tag: Tag::GRAPHIC_STRING, text: name.as_bytes() };
        let name = List::encode(&[part], &mut parts);
        let attributes = FileAttributes { size_octets, modified: None };
        wire::ber::Item::put(&DirectoryEntry { name, attributes }, room);
    }
    more
}

/// Response with the entries in `room`.
pub(super) fn listed(room: &Writer, more: bool) -> Response<'_> {
    let entries = List::decode(wire::ber::Reader::new(room.octets())).unwrap_or_default();
    Response::FileDirectory(Directory { is_explicit: true, entries, more_follows: Some(more) })
}
