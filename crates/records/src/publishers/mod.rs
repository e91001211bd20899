//! Publishers that a substation configuration file declares, next to those that were seen.
//!
//! ```text
//! SCL file ── declared ─┐
//!                       ├ pairing ── difference ── Publisher, Publishers (records) ── findings
//! streams ── seen ──────┘
//! ```
//!
//! A publisher is a control block of GOOSE (IEC 61850-8-1) or Sampled Values (IEC 61850-9-2). One that
//! the file declares was not seen only if it was watched for longer than its frames may be apart: before
//! that it may just not have been due. A frame without a VLAN tag says nothing of VLAN and priority,
//! because taps and interfaces remove tags.
//!
//! Memory is bounded: at most as many publishers as the meter follows streams.

mod declared;
mod difference;
mod pairing;

use crate::findings::Grade;
use crate::named::Named;
use declared::{Declared, NANOS_PER_MS};
pub(crate) use difference::Field;
use difference::{Difference, Fields};
use meter::{Protocol, Station, StreamKey, StreamReport};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::printable::Printable;
use wire::time::Instant;

/// Maximum number of publishers of a file: the number of streams that the meter follows.
const MOST_PUBLISHERS: usize = 16_384;
/// Number of publishers in the record of all, the worst.
pub(crate) const WORST: usize = 64;

/// State of a publisher, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PublisherState {
    /// Declared, and not seen, although it was due.
    NotSeen,
    /// Declared and seen, until the time that its last frame allowed ran out.
    Silent,
    /// Seen, and not declared.
    Unexpected,
    /// Declared and seen, with differences.
    Different,
    /// Declared and not seen, in a time in which it may send nothing.
    NotDue,
    /// Seen as declared.
    AsDeclared,
    /// Declared without an address or a data set, and not seen: it does not publish.
    Incomplete,
}

impl PublisherState {
    /// Word for it, as records have it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::NotSeen => "not-seen",
            Self::Silent => "silent",
            Self::Unexpected => "unexpected",
            Self::Different => "different",
            Self::NotDue => "not-due",
            Self::AsDeclared => "as-declared",
            Self::Incomplete => "incomplete",
        }
    }

    /// Severity; none if nothing is wrong.
    pub const fn grade(self) -> Option<Grade> {
        match self {
            Self::NotSeen | Self::Silent | Self::Unexpected | Self::Different => Some(Grade::Bad),
            Self::NotDue => Some(Grade::Look),
            Self::AsDeclared | Self::Incomplete => None,
        }
    }
}

/// A publisher as declared and as seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Publisher {
    /// Protocol.
    pub protocol: String,
    /// Device (IED) that the file declares; null of an unexpected publisher, unless it is a second source of a
    /// declared control block.
    pub ied: Option<String>,
    /// Reference of the control block; of an unexpected publisher of Sampled Values its svID.
    pub name: String,
    /// State.
    pub state: PublisherState,
    /// Differences from the file.
    pub differences: Vec<Difference>,
    /// True if the file declares a VLAN or a priority, and frames had no tag that shows them.
    pub without_tag: bool,
    /// Station that sends; null if it was not seen.
    pub source: Option<String>,
    /// Group that it sends to, as seen, or else as declared.
    pub destination: Option<String>,
    /// APPID as seen, or else as declared.
    pub appid: Option<u16>,
    /// Frames seen.
    pub frames: u64,
}

/// Publishers so far, or at the end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Publishers {
    /// Number of the interval.
    pub index: Option<u64>,
    /// True at the end of the measurement.
    pub complete: bool,
    /// Sums over all publishers.
    pub totals: PublisherTotals,
    /// The worst publishers.
    pub worst: Vec<Publisher>,
}

/// Sums over all publishers.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct PublisherTotals {
    /// Declared publishers, without incomplete ones.
    pub declared: u64,
    /// Publishers seen, declared or not.
    pub seen: u64,
    /// Declared publishers that were not seen, although they were due.
    pub not_seen: u64,
    /// Declared publishers that were not seen, and may not have been due.
    pub not_due: u64,
    /// Declared publishers that fell silent.
    pub silent: u64,
    /// Publishers that the file does not declare.
    pub unexpected: u64,
    /// Declared publishers with a difference.
    pub different: u64,
    /// Declared publishers whose VLAN and priority could not be seen, for lack of a tag.
    pub without_tag: u64,
    /// Control blocks without an address or a data set.
    pub incomplete: u64,
    /// Length of the watch, in nanoseconds.
    pub watched_ns: u64,
    /// Publishers with a difference in this field.
    pub differences: Named<u64>,
}

/// Publishers that a file declares, and streams that ended.
#[derive(Clone, Debug)]
pub struct Expectation {
    declared: Vec<Declared>,
    /// Place of the first of each name.
    names: BTreeMap<Box<[u8]>, usize>,
    ended: BTreeMap<StreamKey, StreamReport>,
}

/// A publisher that was judged.
#[derive(Clone, Copy)]
struct Judged<'a> {
    declared: Option<&'a Declared>,
    seen: Option<&'a StreamReport>,
    state: PublisherState,
    fields: Fields,
}

/// Times of a watch.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    /// Time of the first frame.
    pub(crate) began: Option<Instant>,
    /// Time up to which it was measured.
    pub(crate) until: Instant,
}

impl Watched {
    fn length_ns(self) -> u64 {
        let began = self.began.unwrap_or(self.until);
        self.until.as_nanos().saturating_sub(began.as_nanos())
    }
}

impl Expectation {
    /// Reads the publishers that an SCL file declares (SCD, CID or ICD of any edition).
    ///
    /// # Errors
    /// The file is no SCL, or declares no publisher, or too many: the reason, with its place.
    pub fn read(octets: &[u8]) -> Result<Self, scl::Error> {
        let document = scl::Document::read_publishers(octets)?;
        let declared: Vec<_> =
            document.publishers().take(MOST_PUBLISHERS + 1).map(|it| Declared::of(&it)).collect();
        let error = |reason: String| Err(scl::Error { place: None, reason });
        if declared.is_empty() {
            return error("the file declares no publisher of GOOSE or Sampled Values".to_owned());
        }
        if declared.len() > MOST_PUBLISHERS {
            return error(format!("more than {MOST_PUBLISHERS} publishers"));
        }
        let places = declared.iter().enumerate().rev();
        let names = places.map(|(place, it)| (it.name().into(), place)).collect();
        Ok(Self { declared, names, ended: BTreeMap::new() })
    }

    /// Takes the report of a stream that ended.
    pub(crate) fn take(&mut self, report: &StreamReport) {
        // Invented publishers displace none that is declared.
        let most = if self.declares(report) { 2 * MOST_PUBLISHERS } else { MOST_PUBLISHERS };
        let has_room = self.ended.len() < most || self.ended.contains_key(&report.key);
        if is_publisher(report) && has_room {
            self.ended.insert(report.key.clone(), report.clone());
        }
    }

    /// True if the file declares the name and the group of a stream.
    fn declares(&self, report: &StreamReport) -> bool {
        let declared =
            self.names.get(&*report.key.name).and_then(|place| self.declared.get(*place));
        let group =
            declared.and_then(|it| it.address).map(|address| Station::Lan(Mac(address.mac)));
        group == Some(report.key.destination)
    }

    /// Publishers so far, with the `top` worst ones.
    pub(crate) fn so_far<'a>(
        &'a self,
        followed: impl Iterator<Item = &'a StreamReport>,
        watched: Watched,
        index: Option<u64>,
        top: usize,
    ) -> Publishers {
        let mut seen: BTreeMap<&StreamKey, &StreamReport> = self.ended.iter().collect();
        let followed = followed.filter(|it| is_publisher(it));
        seen.extend(followed.map(|it| (&it.key, it)));
        let judged = self.judge(seen.into_values().collect(), watched);
        let worst = worst(&judged, top).into_iter().map(|it| it.record(self)).collect();
        Publishers { index, complete: false, totals: totals(&judged, watched), worst }
    }

    /// All publishers at the end, the worst first, behind the record of all.
    pub(crate) fn conclude(&self, watched: Watched) -> (Publishers, Vec<Publisher>) {
        let judged = self.judge(self.ended.values().collect(), watched);
        let all = judged.iter().map(|it| it.record(self)).collect();
        let worst = worst(&judged, WORST).into_iter().map(|it| it.record(self)).collect();
        let totals = totals(&judged, watched);
        (Publishers { index: None, complete: true, totals, worst }, all)
    }

    /// Publishers, the worst first.
    fn judge<'a>(&'a self, seen: Vec<&'a StreamReport>, watched: Watched) -> Vec<Judged<'a>> {
        let pairs = pairing::pairs(&self.declared, &seen);
        let mut of_declared: Vec<Option<&StreamReport>> = vec![None; self.declared.len()];
        let mut judged = Vec::new();
        for (report, place) in seen.into_iter().zip(pairs) {
            match place {
                Some(place) => of_declared[place] = Some(report),
                None => judged.push(Judged {
                    declared: None,
                    seen: Some(report),
                    state: PublisherState::Unexpected,
                    fields: Fields::default(),
                }),
            }
        }
        for (declared, seen) in self.declared.iter().zip(of_declared) {
            let fields = seen.map(|it| difference::of(declared, it)).unwrap_or_default();
            let state = state(declared, seen, fields, watched);
            judged.push(Judged { declared: Some(declared), seen, state, fields });
        }
        judged.sort_by_key(|it| (it.state, it.fields.worst()));
        judged
    }

    /// Device whose control block an unexpected publisher sends, too.
    fn is_second_of(&self, seen: &StreamReport) -> Option<&Declared> {
        let declared = self.declared.get(*self.names.get(&*seen.key.name)?)?;
        declared.has_name_of(seen).then_some(declared)
    }
}

/// State of a declared publisher.
fn state(
    declared: &Declared,
    seen: Option<&StreamReport>,
    fields: Fields,
    watched: Watched,
) -> PublisherState {
    match seen {
        Some(seen) if seen.is_silent(watched.until) => PublisherState::Silent,
        Some(_) if !fields.is_empty() => PublisherState::Different,
        Some(_) => PublisherState::AsDeclared,
        None if !declared.is_complete => PublisherState::Incomplete,
        None if watched.length_ns() > declared.due_ms() * NANOS_PER_MS => PublisherState::NotSeen,
        None => PublisherState::NotDue,
    }
}

/// True for a stream of GOOSE or Sampled Values on Ethernet; the file describes no routable ones.
fn is_publisher(report: &StreamReport) -> bool {
    let StreamKey { protocol, source, .. } = &report.key;
    matches!(protocol, Protocol::Goose | Protocol::SampledValues)
        && matches!(source, Station::Lan(_))
}

/// The `top` worst publishers, and the first in each state and with each difference, which findings name.
fn worst<'a, 'b>(judged: &'b [Judged<'a>], top: usize) -> Vec<&'b Judged<'a>> {
    let (mut state, mut seen) = (None, Fields::default());
    let is_named = |(place, it): (usize, &'b Judged<'a>)| {
        let is_first = state.replace(it.state) != Some(it.state);
        let has_more = seen.add(it.fields);
        (place < top || is_first || has_more).then_some(it)
    };
    judged.iter().enumerate().filter_map(is_named).collect()
}

fn totals(judged: &[Judged<'_>], watched: Watched) -> PublisherTotals {
    let count =
        |is_it: &dyn Fn(&Judged<'_>) -> bool| judged.iter().filter(|it| is_it(it)).count() as u64;
    let in_state = |state: PublisherState| count(&|it| it.state == state);
    let incomplete = in_state(PublisherState::Incomplete);
    let fields = Field::ALL
        .into_iter()
        .map(|field| (field.name().into(), count(&|it| it.fields.has(field))));
    PublisherTotals {
        declared: count(&|it| it.declared.is_some()) - incomplete,
        seen: count(&|it| it.seen.is_some()),
        not_seen: in_state(PublisherState::NotSeen),
        not_due: in_state(PublisherState::NotDue),
        silent: in_state(PublisherState::Silent),
        unexpected: in_state(PublisherState::Unexpected),
        different: count(&|it| !it.fields.is_empty()),
        without_tag: count(&|it| it.is_without_tag()),
        incomplete,
        watched_ns: watched.length_ns(),
        differences: Named(fields.filter(|(_, count)| *count > 0).collect()),
    }
}

impl Judged<'_> {
    /// True if the tag that the file declares was not seen.
    fn is_without_tag(&self) -> bool {
        let (Some(declared), Some(seen)) = (self.declared, self.seen) else { return false };
        declared.has_tag() && seen.tag.is_none()
    }

    fn record(&self, all: &Expectation) -> Publisher {
        let second = self.seen.filter(|_| self.declared.is_none());
        let second = second.and_then(|seen| all.is_second_of(seen));
        let ied = self.declared.or(second).map(|it| it.ied.clone());
        let key = self.seen.map(|it| &it.key);
        let name = match (self.declared, key) {
            (Some(declared), _) => declared.reference.clone(),
            (None, Some(key)) => text_of(&key.name),
            (None, None) => String::new(),
        };
        let declared = self.declared.and_then(|it| it.address);
        let appid = key.and_then(|key| u16::try_from(key.identifier).ok());
        Publisher {
            protocol: match (self.declared, key) {
                (Some(declared), _) => declared.protocol.name().to_owned(),
                (None, key) => key.map_or("", |key| key.protocol.name()).to_owned(),
            },
            ied,
            name,
            state: self.state,
            differences: match (self.declared, self.seen) {
                (Some(declared), Some(seen)) => difference::described(self.fields, declared, seen),
                _ => Vec::new(),
            },
            without_tag: self.is_without_tag(),
            source: key.map(|key| key.source.to_string()),
            destination: key
                .map(|key| key.destination.to_string())
                .or_else(|| declared.map(|it| wire::addr::Mac(it.mac).to_string())),
            appid: appid.or_else(|| declared.and_then(|it| it.appid)),
            frames: self.seen.map_or(0, |it| it.frames),
        }
    }
}

impl Publisher {
    /// Device and control block, for tables and findings.
    pub fn label(&self) -> String {
        match &self.ied {
            Some(ied) if self.name.starts_with(ied.as_str()) => self.name.clone(),
            Some(ied) => format!("{ied} {}", self.name),
            None => format!("{} {}", self.source.as_deref().unwrap_or("-"), self.name),
        }
    }

    /// Differences from the file, in words.
    pub fn differences_text(&self) -> String {
        let text = |it: &Difference| format!("{} {}, not {}", it.field, it.seen, it.declared);
        self.differences.iter().map(text).collect::<Vec<_>>().join("; ")
    }

    /// Destination and APPID, as far as they are known.
    pub fn address(&self) -> String {
        let destination = self.destination.as_deref().unwrap_or("no address");
        match self.appid {
            Some(appid) => format!("{destination} APPID {appid:04x}"),
            None => destination.to_owned(),
        }
    }
}

/// Name in a frame as text that is safe to print.
fn text_of(name: &[u8]) -> String {
    Printable(&String::from_utf8_lossy(name)).to_string()
}
