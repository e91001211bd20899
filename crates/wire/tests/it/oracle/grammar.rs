//! MMS PDUs as the grammar of ISO 9506-2 defines them.

use rasn::prelude::*;

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum Data {
    #[rasn(tag(1))]
    Array(SequenceOf<Self>),
    #[rasn(tag(2))]
    Structure(SequenceOf<Self>),
    #[rasn(tag(3))]
    Boolean(bool),
    #[rasn(tag(4))]
    Bits(BitString),
    #[rasn(tag(5))]
    Integer(Integer),
    #[rasn(tag(6))]
    Unsigned(u64),
    #[rasn(tag(7))]
    Float(OctetString),
    #[rasn(tag(9))]
    Octets(OctetString),
    #[rasn(tag(10))]
    Visible(OctetString),
    #[rasn(tag(12))]
    BinaryTime(OctetString),
    #[rasn(tag(15))]
    Oid(ObjectIdentifier),
    #[rasn(tag(16))]
    Text(Utf8String),
    #[rasn(tag(17))]
    UtcTime(OctetString),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct InDomain {
    pub(crate) domain: VisibleString,
    pub(crate) item: VisibleString,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum Name {
    #[rasn(tag(0))]
    Vmd(VisibleString),
    #[rasn(tag(1))]
    Domain(InDomain),
    #[rasn(tag(2))]
    Association(VisibleString),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum Specification {
    #[rasn(tag(explicit(0)))]
    Name(Name),
    #[rasn(tag(4))]
    Invalidated(()),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    pub(crate) specification: Specification,
    #[rasn(tag(5))]
    pub(crate) alternate: Option<SequenceOf<OctetString>>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum Access {
    #[rasn(tag(0))]
    Variables(SequenceOf<Variable>),
    #[rasn(tag(explicit(1)))]
    Named(Name),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum AccessResult {
    #[rasn(tag(0))]
    Failure(u8),
    #[rasn(tag(1))]
    Array(SequenceOf<Data>),
    #[rasn(tag(2))]
    Structure(SequenceOf<Data>),
    #[rasn(tag(3))]
    Boolean(bool),
    #[rasn(tag(5))]
    Integer(Integer),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum ObjectClass {
    #[rasn(tag(0))]
    Basic(u8),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum Scope {
    #[rasn(tag(0))]
    Vmd(()),
    #[rasn(tag(1))]
    Domain(VisibleString),
    #[rasn(tag(2))]
    Association(()),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct NameListRequest {
    #[rasn(tag(explicit(0)))]
    pub(crate) class: ObjectClass,
    #[rasn(tag(explicit(1)))]
    pub(crate) scope: Scope,
    #[rasn(tag(2))]
    pub(crate) after: Option<VisibleString>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct ReadRequest {
    #[rasn(tag(0))]
    pub(crate) with: Option<bool>,
    #[rasn(tag(explicit(1)))]
    pub(crate) access: Access,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct WriteRequest {
    pub(crate) access: Access,
    #[rasn(tag(0))]
    pub(crate) data: SequenceOf<Data>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct DefineList {
    pub(crate) name: Name,
    #[rasn(tag(0))]
    pub(crate) variables: SequenceOf<Variable>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct FileOpen {
    #[rasn(tag(0))]
    pub(crate) name: SequenceOf<GraphicString>,
    #[rasn(tag(1))]
    pub(crate) position: u32,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum Request {
    #[rasn(tag(0))]
    Status(bool),
    #[rasn(tag(1))]
    NameList(NameListRequest),
    #[rasn(tag(2))]
    Identify(()),
    #[rasn(tag(4))]
    Read(ReadRequest),
    #[rasn(tag(5))]
    Write(WriteRequest),
    #[rasn(tag(explicit(6)))]
    Attributes(Specification),
    #[rasn(tag(11))]
    DefineList(DefineList),
    #[rasn(tag(explicit(12)))]
    ListAttributes(Name),
    #[rasn(tag(30))]
    UploadSegment(i32),
    #[rasn(tag(31))]
    TerminateUpload(i32),
    #[rasn(tag(72))]
    FileOpen(FileOpen),
    #[rasn(tag(73))]
    FileRead(i32),
    #[rasn(tag(77))]
    Directory(Directory),
    #[rasn(tag(200))]
    Unknown(OctetString),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct Directory {
    #[rasn(tag(0))]
    pub(crate) specification: Option<SequenceOf<GraphicString>>,
    #[rasn(tag(1))]
    pub(crate) after: Option<SequenceOf<GraphicString>>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct StatusResponse {
    #[rasn(tag(0))]
    pub(crate) logical: u8,
    #[rasn(tag(1))]
    pub(crate) physical: u8,
    #[rasn(tag(2))]
    pub(crate) local: Option<BitString>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct NameList {
    #[rasn(tag(0))]
    pub(crate) names: SequenceOf<VisibleString>,
    #[rasn(tag(1))]
    pub(crate) more: Option<bool>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct Identification {
    #[rasn(tag(0))]
    pub(crate) vendor: VisibleString,
    #[rasn(tag(1))]
    pub(crate) model: VisibleString,
    #[rasn(tag(2))]
    pub(crate) revision: VisibleString,
    #[rasn(tag(3))]
    pub(crate) syntaxes: Option<SequenceOf<ObjectIdentifier>>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct ReadResponse {
    #[rasn(tag(explicit(0)))]
    pub(crate) access: Option<Access>,
    #[rasn(tag(1))]
    pub(crate) results: SequenceOf<AccessResult>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum WriteResult {
    #[rasn(tag(0))]
    Failure(u8),
    #[rasn(tag(1))]
    Success(()),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct FileData {
    #[rasn(tag(0))]
    pub(crate) octets: OctetString,
    #[rasn(tag(1))]
    pub(crate) more: Option<bool>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum Response {
    #[rasn(tag(0))]
    Status(StatusResponse),
    #[rasn(tag(1))]
    NameList(NameList),
    #[rasn(tag(2))]
    Identify(Identification),
    #[rasn(tag(4))]
    Read(ReadResponse),
    #[rasn(tag(5))]
    Write(SequenceOf<WriteResult>),
    #[rasn(tag(11))]
    DefineList(()),
    #[rasn(tag(73))]
    FileRead(FileData),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct ConfirmedRequest {
    pub(crate) invoke: u32,
    pub(crate) service: Request,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct ConfirmedResponse {
    pub(crate) invoke: u32,
    pub(crate) service: Response,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum ErrorClass {
    #[rasn(tag(0))]
    Vmd(i8),
    #[rasn(tag(3))]
    Resource(i8),
    #[rasn(tag(7))]
    Access(i8),
    #[rasn(tag(12))]
    Others(i8),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct ServiceError {
    #[rasn(tag(explicit(0)))]
    pub(crate) class: ErrorClass,
    #[rasn(tag(1))]
    pub(crate) additional: Option<i32>,
    #[rasn(tag(2))]
    pub(crate) description: Option<VisibleString>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct ConfirmedError {
    #[rasn(tag(0))]
    pub(crate) invoke: u32,
    #[rasn(tag(1))]
    pub(crate) modifier: Option<u32>,
    #[rasn(tag(2))]
    pub(crate) error: ServiceError,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) access: Access,
    #[rasn(tag(0))]
    pub(crate) results: SequenceOf<AccessResult>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum UnconfirmedService {
    #[rasn(tag(0))]
    Report(Report),
    #[rasn(tag(1))]
    Status(StatusResponse),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct Unconfirmed {
    pub(crate) service: UnconfirmedService,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum RejectReason {
    #[rasn(tag(1))]
    Request(i8),
    #[rasn(tag(5))]
    Pdu(i8),
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct Reject {
    #[rasn(tag(0))]
    pub(crate) invoke: Option<u32>,
    pub(crate) reason: RejectReason,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct InitiateDetail {
    #[rasn(tag(0))]
    pub(crate) version: i16,
    #[rasn(tag(1))]
    pub(crate) parameters: BitString,
    #[rasn(tag(2))]
    pub(crate) services: BitString,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct Initiate {
    #[rasn(tag(0))]
    pub(crate) local_detail: Option<i32>,
    #[rasn(tag(1))]
    pub(crate) calling: i16,
    #[rasn(tag(2))]
    pub(crate) called: i16,
    #[rasn(tag(3))]
    pub(crate) nesting: Option<i8>,
    #[rasn(tag(4))]
    pub(crate) detail: InitiateDetail,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(choice)]
pub(crate) enum Mms {
    #[rasn(tag(0))]
    Request(ConfirmedRequest),
    #[rasn(tag(1))]
    Response(ConfirmedResponse),
    #[rasn(tag(2))]
    Error(ConfirmedError),
    #[rasn(tag(3))]
    Unconfirmed(Unconfirmed),
    #[rasn(tag(4))]
    Reject(Reject),
    #[rasn(tag(5))]
    Cancel(u32),
    #[rasn(tag(8))]
    Initiate(Initiate),
    #[rasn(tag(10))]
    InitiateError(ServiceError),
    #[rasn(tag(11))]
    Conclude(()),
}
