//! Order of an inquiry.

use crate::mms::Item;
use crate::mms::services;
use crate::mms::{Found, Pipelining, Reports, Rung};
use bytes::Bytes;
use core::net::SocketAddr;
use core::time::Duration;
use stack::acse::Entity;
use stack::mms::Proposal;
use stack::mms::client::{Call, Params};
use stack::presentation::{self, Addresses};
use stack::upper::Tsaps;
use std::collections::VecDeque;
use wire::mms::Request;
use wire::time::Instant;

/// Presentation context of MMS: the second that the presentation layer proposes.
const CONTEXT: i64 = 3;
/// AE qualifier of both ends.
const QUALIFIER: u32 = 12;

/// Names of the steps in which an association opens.
pub const RUNGS_OF_OPENING: [&str; 3] = ["TCP connect", "CR, CC", "association"];

/// Inquiry of an MMS server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inquiry {
    /// Address of the server.
    pub remote: SocketAddr,
    /// Selectors of this side.
    pub calling: Selectors,
    /// Selectors of the server.
    pub called: Selectors,
    /// Associations opened one after the other; the services use the last one.
    pub associations: u64,
    /// Requests of each step.
    pub messages: u64,
    /// Time from one request to the next; `None` for that of the highest rate.
    pub period: Option<Duration>,
    /// Highest number of requests in a second.
    pub per_second: u32,
    /// Time-out of each service.
    pub patience: Duration,
    /// Variables to read; without any, up to five are chosen from the server's names.
    pub items: Vec<Item>,
    /// Named variable list to read.
    pub list: Option<Item>,
    /// File to read, by its name in the server.
    pub file: Option<String>,
    /// Report control block to enable. It has to be in `writable`.
    pub report: Option<Item>,
    /// Time for which reports are received.
    pub reporting: Duration,
    /// Variables that may be written: with the value that they have.
    pub writable: Vec<Item>,
    /// Numbers of outstanding requests to compare.
    pub outstanding: Vec<u16>,
}

/// Selectors of one end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selectors {
    /// TSAP-ID.
    pub transport: Vec<u8>,
    /// SSAP selector.
    pub session: Vec<u8>,
    /// PSAP selector.
    pub presentation: Vec<u8>,
}

impl Selectors {
    /// Selectors that every known server accepts: 0001, 0001, 00000001.
    #[must_use]
    pub fn usual() -> Self {
        Self { transport: vec![0, 1], session: vec![0, 1], presentation: vec![0, 0, 0, 1] }
    }
}

/// Transport addresses of a call.
pub(super) fn tsaps(inquiry: &Inquiry) -> Tsaps {
    let octets = |selectors: &Selectors| Bytes::from(selectors.transport.clone());
    Tsaps { calling: octets(&inquiry.calling), called: octets(&inquiry.called) }
}

/// Parameters of the client.
pub(super) fn client(inquiry: &Inquiry) -> Params {
    let end = |selectors: &Selectors| presentation::Selectors {
        presentation: selectors.presentation.clone().into(),
        session: selectors.session.clone().into(),
    };
    let most = inquiry.outstanding.iter().copied().max().unwrap_or(1);
    let usual = Proposal::usual();
    Params {
        addresses: Addresses { calling: end(&inquiry.calling), called: end(&inquiry.called) },
        // Some servers close the connection of a caller without titles.
        calling: Entity::new(&[1, 1, 1, 999], Some(QUALIFIER)),
        called: Entity::new(&[1, 1, 1, 999, 1], Some(QUALIFIER)),
        context: CONTEXT,
        proposal: Proposal { outstanding: usual.outstanding.max(most), ..usual },
        patience: inquiry.patience,
        waiting: usize::from(most),
    }
}

/// Task of the client.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Open an association.
    Associate,
    /// Ask for the names of domains.
    Domains,
    /// Ask for the names of the variables in a domain.
    Variables(String),
    /// Make calls, one after the other.
    Calls(Calls),
    /// Make calls in bursts.
    Bursts(Bursts),
    /// Read a variable, then write its value back several times.
    WriteBack(Item),
    /// Enable a control block, receive reports, disable it.
    Report(Item),
    /// Begin to read a file.
    OpenFile(String),
    /// Read the file that was begun.
    File(Reading),
    /// Conclude and release.
    Release,
}

/// File that is being read.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) name: String,
    pub(super) stage: Stage,
    /// Place of the first of the three steps.
    pub(super) rung: usize,
    pub(super) began: Instant,
}

/// Stage of a file that is being read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Opening it.
    Opening,
    /// Reading, by the identifier of the read state machine.
    Reading(i64),
    /// Closing it.
    Closing(i64),
}

impl Stage {
    /// Place of its step among the three.
    pub(super) const fn place(self) -> usize {
        match self {
            Self::Opening => 0,
            Self::Reading(_) => 1,
            Self::Closing(_) => 2,
        }
    }
}

/// Calls of a step.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    pub(super) rung: usize,
    pub(super) call: Call,
    pub(super) left: u64,
}

/// Calls in bursts.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    pub(super) place: usize,
    pub(super) call: Call,
    pub(super) left: u64,
}

/// Tasks of an inquiry up to the reads, which may need names first.
pub(super) fn begin(inquiry: &Inquiry, found: &mut Found) -> VecDeque<Task> {
    found.rungs = RUNGS_OF_OPENING.map(Rung::new).to_vec();
    let mut tasks = VecDeque::new();
    for number in 1..=inquiry.associations.max(1) {
        tasks.push_back(Task::Associate);
        if number < inquiry.associations {
            tasks.push_back(Task::Release);
        }
    }
    for (name, request) in [("identify", Request::Identify), ("status", Request::Status(false))] {
        let call = Call::new(0, request, inquiry.patience);
        tasks.push_back(calls(name.to_owned(), call, inquiry, found));
    }
    if inquiry.items.is_empty() {
        tasks.push_back(Task::Domains);
    } else {
        tasks.extend(reads(inquiry, &inquiry.items, found));
    }
    tasks
}

fn calls(name: String, call: Call, inquiry: &Inquiry, found: &mut Found) -> Task {
    found.rungs.push(Rung::new(name));
    Task::Calls(Calls { rung: found.rungs.len() - 1, call, left: inquiry.messages })
}

/// Tasks from the reads to the end.
pub(super) fn reads(inquiry: &Inquiry, items: &[Item], found: &mut Found) -> Vec<Task> {
    found.items = items.iter().map(Item::to_string).collect();
    let mut tasks = Vec::new();
    if let [first, rest @ ..] = items {
        let one = services::read(core::slice::from_ref(first), inquiry.patience);
        tasks.push(calls("read 1 variable".to_owned(), one.clone(), inquiry, found));
        if !rest.is_empty() {
            let name = format!("read {} variables", items.len());
            let all = services::read(items, inquiry.patience);
            tasks.push(calls(name, all, inquiry, found));
        }
        for outstanding in &inquiry.outstanding {
            found.pipelining.push(Pipelining::new(*outstanding));
            let place = found.pipelining.len() - 1;
            let (call, left) = (one.clone(), inquiry.messages);
            tasks.push(Task::Bursts(Bursts { place, call, left }));
        }
    }
    if let Some(list) = &inquiry.list {
        let call = services::read_list(list, inquiry.patience);
        tasks.push(calls("read data set".to_owned(), call, inquiry, found));
    }
    if let Some(name) = &inquiry.file {
        tasks.push(Task::OpenFile(name.clone()));
    }
    let is_block = |item: &&Item| matches!(item.constraint(), Some("RP" | "BR"));
    for item in inquiry.writable.iter().filter(|item| !is_block(item)) {
        tasks.push(Task::WriteBack(item.clone()));
    }
    if let Some(block) = &inquiry.report {
        found.reports = Some(Reports::new(block.to_string()));
        tasks.push(Task::Report(block.clone()));
    }
    tasks.push(Task::Release);
    tasks
}
