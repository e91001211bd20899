//! Confirmed services: requests and responses (ISO 9506-2 7).

use super::data::{Printed, WriteResult};
use super::domain::{DownloadEnd, DownloadRequest, Segment, Upload};
use super::file::{
    Directory, DirectoryRequest, FileData, FileName, FileOpen, FileRename, ObtainFile, OpenedFile,
};
use super::kind::Service;
use super::names::{ObjectName, Specification};
use super::variables::{
    Deleted, ListAttributes, ListDefinition, ListDeletion, ReadRequest, ReadResponse,
    VariableAttributes, WriteRequest,
};
use super::vmd::{Identification, NameList, NameListRequest, Status};
use crate::ber::{Element, Hex, Item, List, Tag, Text, Writer};
use crate::read::Malformed;
use core::fmt;

/// Request of a confirmed service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request<'a> {
    /// Status; true for an extended derivation.
    Status(bool),
    /// Names of objects.
    GetNameList(NameListRequest<'a>),
    /// Identification.
    Identify,
    /// Read.
    Read(ReadRequest<'a>),
    /// Write.
    Write(WriteRequest<'a>),
    /// Attributes of a variable.
    GetVariableAccessAttributes(Specification<'a>),
    /// Definition of a named variable list.
    DefineNamedVariableList(ListDefinition<'a>),
    /// Attributes of a named variable list.
    GetNamedVariableListAttributes(ObjectName<'a>),
    /// Deletion of named variable lists.
    DeleteNamedVariableList(ListDeletion<'a>),
    /// Beginning of a download.
    InitiateDownloadSequence(DownloadRequest<'a>),
    /// Device asks for the next part of a domain.
    DownloadSegment(&'a [u8]),
    /// Device ends a download.
    TerminateDownloadSequence(DownloadEnd<'a>),
    /// Beginning of an upload of a domain.
    InitiateUploadSequence(&'a [u8]),
    /// Next part, of an upload state machine.
    UploadSegment(i64),
    /// End of an upload, of an upload state machine.
    TerminateUploadSequence(i64),
    /// Copy of a file to the device.
    ObtainFile(ObtainFile<'a>),
    /// Opening of a file.
    FileOpen(FileOpen<'a>),
    /// Next part, of a file read state machine.
    FileRead(i64),
    /// Closing, of a file read state machine.
    FileClose(i64),
    /// New name of a file.
    FileRename(FileRename<'a>),
    /// Deletion of a file.
    FileDelete(FileName<'a>),
    /// Directory.
    FileDirectory(DirectoryRequest<'a>),
    /// Another service.
    Other {
        /// Tag.
        tag: Tag,
        /// Contents.
        content: &'a [u8],
    },
}

impl<'a> Request<'a> {
    pub(super) fn decode(element: &Element<'a>) -> Result<Self, Malformed> {
        let reader = element.reader();
        Ok(match element.tag {
            Tag(0x80) => Self::Status(element.boolean("extended derivation")?),
            Tag(0xA1) => Self::GetNameList(NameListRequest::decode(reader)?),
            Tag(0x82) => element.null("identify").map(|()| Self::Identify)?,
            Tag(0xA4) => Self::Read(ReadRequest::decode(reader)?),
            Tag(0xA5) => Self::Write(WriteRequest::decode(reader)?),
            Tag(0xA6) => {
                Self::GetVariableAccessAttributes(Specification::take(&mut element.reader())?)
            }
            Tag(0xAB) => Self::DefineNamedVariableList(ListDefinition::decode(reader)?),
            Tag(0xAC) => {
                Self::GetNamedVariableListAttributes(ObjectName::take(&mut element.reader())?)
            }
            Tag(0xAD) => Self::DeleteNamedVariableList(ListDeletion::decode(reader)?),
            Tag(0xBA) => Self::InitiateDownloadSequence(DownloadRequest::decode(reader)?),
            Tag(0x9B) => Self::DownloadSegment(element.content),
            Tag(0xBC) => Self::TerminateDownloadSequence(DownloadEnd::decode(reader)?),
            Tag(0x9D) => Self::InitiateUploadSequence(element.content),
            Tag(0x9E) => Self::UploadSegment(element.integer("ULSM identifier")?),
            Tag(0x9F1F) => Self::TerminateUploadSequence(element.integer("ULSM identifier")?),
            Tag(0xBF2E) => Self::ObtainFile(ObtainFile::decode(reader)?),
            Tag(0xBF48) => Self::FileOpen(FileOpen::decode(reader)?),
            Tag(0x9F49) => Self::FileRead(element.integer("FRSM identifier")?),
            Tag(0x9F4A) => Self::FileClose(element.integer("FRSM identifier")?),
            Tag(0xBF4B) => Self::FileRename(FileRename::decode(reader)?),
            Tag(0xBF4C) => Self::FileDelete(List::decode(reader)?),
            Tag(0xBF4D) => Self::FileDirectory(DirectoryRequest::decode(reader)?),
            tag if tag.is_context() => Self::Other { tag, content: element.content },
            _ => return Err(element.malformed("confirmed service request")),
        })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        let before = out.len();
        let tag = self.tag();
        match self {
            Self::Status(extended) => return out.boolean(tag, *extended),
            Self::UploadSegment(machine)
            | Self::TerminateUploadSequence(machine)
            | Self::FileRead(machine)
            | Self::FileClose(machine) => return out.integer(tag, *machine),
            Self::Identify => {}
            Self::GetNameList(it) => it.encode(out),
            Self::Read(it) => it.encode(out),
            Self::Write(it) => it.encode(out),
            Self::GetVariableAccessAttributes(it) => it.put(out),
            Self::DefineNamedVariableList(it) => it.encode(out),
            Self::GetNamedVariableListAttributes(it) => it.put(out),
            Self::DeleteNamedVariableList(it) => it.encode(out),
            Self::InitiateDownloadSequence(it) => it.encode(out),
            Self::TerminateDownloadSequence(it) => it.encode(out),
            Self::ObtainFile(it) => it.encode(out),
            Self::FileOpen(it) => it.encode(out),
            Self::FileRename(it) => it.encode(out),
            Self::FileDelete(it) => out.put(it.octets()),
            Self::FileDirectory(it) => it.encode(out),
            Self::DownloadSegment(octets)
            | Self::InitiateUploadSequence(octets)
            | Self::Other { content: octets, .. } => out.put(octets),
        }
        out.close(tag, before);
    }

    /// Tag in the CHOICE.
    #[must_use]
    pub const fn tag(&self) -> Tag {
        Tag(match self {
            Self::Status(_) => 0x80,
            Self::GetNameList(_) => 0xA1,
            Self::Identify => 0x82,
            Self::Read(_) => 0xA4,
            Self::Write(_) => 0xA5,
            Self::GetVariableAccessAttributes(_) => 0xA6,
            Self::DefineNamedVariableList(_) => 0xAB,
            Self::GetNamedVariableListAttributes(_) => 0xAC,
            Self::DeleteNamedVariableList(_) => 0xAD,
            Self::InitiateDownloadSequence(_) => 0xBA,
            Self::DownloadSegment(_) => 0x9B,
            Self::TerminateDownloadSequence(_) => 0xBC,
            Self::InitiateUploadSequence(_) => 0x9D,
            Self::UploadSegment(_) => 0x9E,
            Self::TerminateUploadSequence(_) => 0x9F1F,
            Self::ObtainFile(_) => 0xBF2E,
            Self::FileOpen(_) => 0xBF48,
            Self::FileRead(_) => 0x9F49,
            Self::FileClose(_) => 0x9F4A,
            Self::FileRename(_) => 0xBF4B,
            Self::FileDelete(_) => 0xBF4C,
            Self::FileDirectory(_) => 0xBF4D,
            Self::Other { tag, .. } => return *tag,
        })
    }

    /// Service.
    #[must_use]
    pub const fn service(&self) -> Service {
        Service(self.tag().number())
    }
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.service())?;
        match self {
            Self::Status(false) | Self::Identify => Ok(()),
            Self::Status(true) => f.write_str(" extended"),
            Self::UploadSegment(machine)
            | Self::TerminateUploadSequence(machine)
            | Self::FileRead(machine)
            | Self::FileClose(machine) => write!(f, " {machine}"),
            Self::GetNameList(it) => write!(f, " {it}"),
            Self::Read(it) => write!(f, " {it}"),
            Self::Write(it) => write!(f, " {it}"),
            Self::GetVariableAccessAttributes(it) => write!(f, " {it}"),
            Self::DefineNamedVariableList(it) => write!(f, " {it}"),
            Self::GetNamedVariableListAttributes(it) => write!(f, " {it}"),
            Self::DeleteNamedVariableList(it) => write!(f, " {it}"),
            Self::InitiateDownloadSequence(it) => write!(f, " {it}"),
            Self::TerminateDownloadSequence(it) => write!(f, " {it}"),
            Self::ObtainFile(it) => write!(f, " {it}"),
            Self::FileOpen(it) => write!(f, " {it}"),
            Self::FileRename(it) => write!(f, " {it}"),
            Self::FileDelete(it) => write!(f, " {}", Printed(*it)),
            Self::FileDirectory(it) => write!(f, " {it}"),
            Self::DownloadSegment(name) | Self::InitiateUploadSequence(name) => {
                write!(f, " {}", Text(name))
            }
            Self::Other { content, .. } => write!(f, " {}", Hex(content)),
        }
    }
}

/// Response of a confirmed service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Response<'a> {
    /// Status.
    Status(Status<'a>),
    /// Names of objects.
    GetNameList(NameList<'a>),
    /// Identification.
    Identify(Identification<'a>),
    /// Values.
    Read(ReadResponse<'a>),
    /// Results of writing.
    Write(List<'a, WriteResult>),
    /// Attributes of a variable.
    GetVariableAccessAttributes(VariableAttributes<'a>),
    /// Attributes of a named variable list.
    GetNamedVariableListAttributes(ListAttributes<'a>),
    /// Deleted named variable lists.
    DeleteNamedVariableList(Deleted),
    /// Part of a download.
    DownloadSegment(Segment<'a>),
    /// Beginning of an upload.
    InitiateUploadSequence(Upload<'a>),
    /// Part of an upload.
    UploadSegment(Segment<'a>),
    /// Opened file.
    FileOpen(OpenedFile<'a>),
    /// Part of a file.
    FileRead(FileData<'a>),
    /// Directory.
    FileDirectory(Directory<'a>),
    /// Success of a service whose response is NULL: 11 `defineNamedVariableList`, 26, 28 and 31 of
    /// up- and downloads, 46 `obtainFile`, 74 to 76 of files.
    Done(Service),
    /// Another service.
    Other {
        /// Tag.
        tag: Tag,
        /// Contents.
        content: &'a [u8],
    },
}

impl<'a> Response<'a> {
    pub(super) fn decode(element: &Element<'a>) -> Result<Self, Malformed> {
        let reader = element.reader();
        Ok(match element.tag {
            Tag(0xA0) => Self::Status(Status::decode(reader)?),
            Tag(0xA1) => Self::GetNameList(NameList::decode(reader)?),
            Tag(0xA2) => Self::Identify(Identification::decode(reader)?),
            Tag(0xA4) => Self::Read(ReadResponse::decode(reader)?),
            Tag(0xA5) => Self::Write(List::decode(reader)?),
            Tag(0xA6) => Self::GetVariableAccessAttributes(VariableAttributes::decode(reader)?),
            Tag(0xAC) => Self::GetNamedVariableListAttributes(ListAttributes::decode(reader)?),
            Tag(0xAD) => Self::DeleteNamedVariableList(Deleted::decode(reader)?),
            Tag(0xBB) => Self::DownloadSegment(Segment::decode(reader)?),
            Tag(0xBD) => Self::InitiateUploadSequence(Upload::decode(reader)?),
            Tag(0xBE) => Self::UploadSegment(Segment::decode(reader)?),
            Tag(0xBF48) => Self::FileOpen(OpenedFile::decode(reader)?),
            Tag(0xBF49) => Self::FileRead(FileData::decode(reader)?),
            Tag(0xBF4D) => Self::FileDirectory(Directory::decode(reader)?),
            tag if tag.is_context() && tag.is_constructed() => {
                Self::Other { tag, content: element.content }
            }
            tag if tag.is_context() && element.content.is_empty() => {
                Self::Done(Service(tag.number()))
            }
            tag if tag.is_context() => Self::Other { tag, content: element.content },
            _ => return Err(element.malformed("confirmed service response")),
        })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        let before = out.len();
        match self {
            Self::Status(it) => it.encode(out),
            Self::GetNameList(it) => it.encode(out),
            Self::Identify(it) => it.encode(out),
            Self::Read(it) => it.encode(out),
            Self::Write(it) => out.put(it.octets()),
            Self::GetVariableAccessAttributes(it) => it.encode(out),
            Self::GetNamedVariableListAttributes(it) => it.encode(out),
            Self::DeleteNamedVariableList(it) => it.encode(out),
            Self::DownloadSegment(it) | Self::UploadSegment(it) => it.encode(out),
            Self::InitiateUploadSequence(it) => it.encode(out),
            Self::FileOpen(it) => it.encode(out),
            Self::FileRead(it) => it.encode(out),
            Self::FileDirectory(it) => it.encode(out),
            Self::Done(_) => {}
            Self::Other { content, .. } => out.put(content),
        }
        out.close(self.tag(), before);
    }

    /// Tag in the CHOICE.
    #[must_use]
    pub const fn tag(&self) -> Tag {
        Tag(match self {
            Self::Status(_) => 0xA0,
            Self::GetNameList(_) => 0xA1,
            Self::Identify(_) => 0xA2,
            Self::Read(_) => 0xA4,
            Self::Write(_) => 0xA5,
            Self::GetVariableAccessAttributes(_) => 0xA6,
            Self::GetNamedVariableListAttributes(_) => 0xAC,
            Self::DeleteNamedVariableList(_) => 0xAD,
            Self::DownloadSegment(_) => 0xBB,
            Self::InitiateUploadSequence(_) => 0xBD,
            Self::UploadSegment(_) => 0xBE,
            Self::FileOpen(_) => 0xBF48,
            Self::FileRead(_) => 0xBF49,
            Self::FileDirectory(_) => 0xBF4D,
            Self::Done(service) => return Tag::primitive(service.0),
            Self::Other { tag, .. } => return *tag,
        })
    }

    /// Service.
    #[must_use]
    pub const fn service(&self) -> Service {
        Service(self.tag().number())
    }
}

impl fmt::Display for Response<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.service())?;
        match self {
            Self::Status(it) => write!(f, " {it}"),
            Self::GetNameList(it) => write!(f, " {it}"),
            Self::Identify(it) => write!(f, " {it}"),
            Self::Read(it) => write!(f, " {it}"),
            Self::Write(it) => write!(f, " {}", Printed(*it)),
            Self::GetVariableAccessAttributes(it) => write!(f, " {it}"),
            Self::GetNamedVariableListAttributes(it) => write!(f, " {it}"),
            Self::DeleteNamedVariableList(it) => write!(f, " {it}"),
            Self::DownloadSegment(it) | Self::UploadSegment(it) => write!(f, " {it}"),
            Self::InitiateUploadSequence(it) => write!(f, " {it}"),
            Self::FileOpen(it) => write!(f, " {it}"),
            Self::FileRead(it) => write!(f, " {it}"),
            Self::FileDirectory(it) => write!(f, " {it}"),
            Self::Done(_) => Ok(()),
            Self::Other { content, .. } => write!(f, " {}", Hex(content)),
        }
    }
}
