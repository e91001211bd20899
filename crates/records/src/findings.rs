//! Findings: the measures of the whole stream so far, judged and ranked.
//!
//! Each finding gives a count and its total. The limits are defined here and listed in `tidewire
//! help screens`. Findings below a limit are still shown, as worth a look.

mod cyclic;
mod publishers;
mod services;
mod transactions;

use crate::origin::DEMO;
use crate::quantity::{self, agreed, counted_short as counted, significant};
use crate::state::Known;
use crate::state::Model;
use crate::state::event::{USER_DATA_CUT, ends};
use crate::{Counts, Head, Item, Named, Record, Replies, Slowness, sum};
use core::slice;
use meter::observation::DelayKind;
use meter::registry::{KindCount, Measure};
use wire::tp::Kind;

/// Share from which losses, retransmissions and refusals are bad.
const BAD_SHARE: f64 = 0.01;
/// Share of a connection's lifetime from which a closed window is bad; a closed window this long is
/// bad too.
const BAD_CLOSED_SHARE: f64 = 0.1;
const BAD_CLOSED_NS: u64 = 1_000_000_000;
/// Columns for the two ends of a connection.
const ENDS_COLUMNS: usize = 37;

/// Subject of a finding; selects the command or the page that shows more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Connections.
    Connections,
    /// Hosts.
    Hosts,
    /// Associations and services.
    Services,
    /// Streams of cyclic data.
    Streams,
    /// Publishers that a file declares.
    Publishers,
    /// Requests and replies.
    Transactions,
    /// The capture: frames that were dropped, truncated or odd.
    Capture,
}

/// Severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grade {
    /// Something is wrong.
    Bad,
    /// Something may be wrong.
    Look,
    /// For information.
    Note,
}

impl Grade {
    /// Returns the sign shown where there are no colours.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Bad => "!!",
            Self::Look => "! ",
            Self::Note => "- ",
        }
    }
}

/// A judgement with its evidence.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Severity.
    pub grade: Grade,
    /// Share of the total affected; orders findings of equal grade.
    share: f64,
    /// The finding in one sentence, with its counts.
    pub text: String,
    /// Worst case, where it is one connection.
    pub detail: Option<String>,
    /// Subject, which selects the command or page that shows more.
    pub topic: Topic,
    /// Number of the connection that accounts for most of it.
    pub connection: Option<u32>,
}

impl Finding {
    /// Converts the finding to a record; `source` is the interface or the files.
    fn record(&self, source: &Source<'_>) -> crate::Finding {
        let grade = match self.grade {
            Grade::Bad => "wrong",
            Grade::Look => "look",
            Grade::Note => "note",
        };
        crate::Finding {
            grade: grade.to_owned(),
            text: self.text.clone(),
            evidence: self.detail.clone(),
            id: self.connection,
            command: source.command(self.topic),
        }
    }
}

/// Interface or files of a stream.
struct Source<'a>(&'a Head);

impl Source<'_> {
    /// Returns the command that shows more about a topic.
    fn command(&self, topic: Topic) -> String {
        let Self(head) = self;
        let from = match &head.files {
            None => format!("-i {}", quoted(&head.source)),
            Some(files) if *files == [DEMO] => DEMO.to_owned(),
            Some(files) => format!("-r {}", words(files)),
        };
        match topic {
            Topic::Connections => format!("tidewire watch {from} --events events.ndjson"),
            Topic::Streams => format!("tidewire watch {from} --json"),
            Topic::Publishers => {
                let expect = head.expect.as_deref().unwrap_or_default();
                format!("tidewire watch {from} --expect {} --json", quoted(expect))
            }
            Topic::Services | Topic::Hosts | Topic::Transactions => {
                format!("tidewire watch {from} --csv FOLDER")
            }
            // The command reads one file.
            Topic::Capture if head.files.is_some() && from != DEMO => {
                let first = head.files.iter().flatten().next();
                format!("tidewire dissect -r {}", words(first.map_or(&[], slice::from_ref)))
            }
            Topic::Capture => format!("tidewire watch {from} --screen measures"),
        }
    }
}

/// Quotes a word for a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:@%=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Quotes file names for a shell, so that none looks like an option.
fn words(files: &[String]) -> String {
    let word = |name: &String| match name.strip_prefix('-') {
        Some("") => name.clone(),
        Some(_) => quoted(&format!("./{name}")),
        None => quoted(name),
    };
    files.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// True for the measures of a connection on which findings and its weight rest. A finding that reads another one adds it here.
pub(crate) fn is_judged(measure: Measure) -> bool {
    match measure {
        Measure::OfKind(kind, KindCount::Retransmissions) => matches!(kind, Kind::Cr | Kind::Dt),
        Measure::OfKind(_, count) => count == KindCount::Tpdus,
        Measure::Delay(DelayKind::ClosedWindow, _)
        | Measure::WindowClosedSince
        | Measure::DtIntoClosedWindow
        | Measure::ResponsesAmbiguous => true,
        _ => false,
    }
}

/// True for the measures of what a host sent on which findings rest, likewise.
const fn is_judged_of_host(measure: Measure) -> bool {
    matches!(measure, Measure::Delay(DelayKind::Response, _))
}

/// Findings of a stream as records, from the records of its end.
pub struct Findings {
    model: Model,
}

impl Findings {
    /// Creates an empty collector.
    pub fn new(head: &Head) -> Self {
        Self { model: Model::new(head.clone()) }
    }

    /// Adds the record of an item that [`Findings::judges`].
    pub fn take(&mut self, record: Record) {
        match record {
            // No finding needs the event, or the other measures of thousands of connections.
            Record::Connection(mut whole) => {
                for sent in &mut whole.directions {
                    sent.0.retain(|(measure, _)| is_judged(*measure));
                }
                self.model.conclude_connection(*whole);
            }
            Record::Host(mut host) => {
                host.sent.0.retain(|(measure, _)| is_judged_of_host(*measure));
                host.received.0.clear();
                self.model.take(Record::Host(host));
            }
            record => self.model.take(record),
        }
    }

    /// Returns true for an item of the whole measurement.
    pub fn judges(&self, item: &Item) -> bool {
        match item {
            // The associations of a connection follow it; those of an interval come before the whole.
            Item::Services(of) | Item::ControlBlocks(of) => {
                self.model.connections.contains_key(&of.serial)
            }
            Item::Publishers(of) => of.complete,
            Item::Total(_)
            | Item::Connection(_)
            | Item::CyclicStream(_)
            | Item::Transactions(_)
            | Item::Host(_)
            | Item::End(_) => true,
            _ => false,
        }
    }

    /// Returns the findings, the worst first.
    pub fn records(&self) -> Vec<crate::Finding> {
        let source = Source(&self.model.head);
        findings(&self.model).iter().map(|finding| finding.record(&source)).collect()
    }
}

/// Judgement of a model in progress.
struct Judge<'a> {
    model: &'a Model,
    measures: Counts,
    oddities: Named<u64>,
    found: Vec<Finding>,
}

/// Returns the findings of a model, the worst first.
pub fn findings(model: &Model) -> Vec<Finding> {
    let (measures, oddities) = (model.measures(), model.oddities());
    let mut judge = Judge { model, measures, oddities, found: Vec::new() };
    judge.capture();
    judge.replies();
    judge.services();
    judge.publishers();
    judge.cyclic();
    judge.transactions();
    judge.windows();
    judge.retransmissions();
    judge.beginnings();
    judge.ends();
    judge.streams();
    judge.oddities();
    let mut found = judge.found;
    found.sort_by(|a, b| a.grade.cmp(&b.grade).then(b.share.total_cmp(&a.share)));
    found
}

/// Returns `part / whole`, zero if `whole` is zero.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0, 2))
}

fn graded(share: f64) -> Grade {
    if share >= BAD_SHARE { Grade::Bad } else { Grade::Look }
}

/// Returns true if this share of losses, retransmissions or refusals is bad.
pub fn is_bad_share(part: u64, whole: u64) -> bool {
    share(part, whole) >= BAD_SHARE
}

/// Returns true if a window was closed too long for the lifetime of its connection.
pub fn is_closed_long(closed_ns: u64, lived_ns: u64) -> bool {
    closed_ns >= BAD_CLOSED_NS || share(closed_ns, lived_ns) >= BAD_CLOSED_SHARE
}

impl Judge<'_> {
    fn count(&self, measure: Measure) -> u64 {
        self.measures.count(measure)
    }

    fn odd(&self, name: &str) -> u64 {
        self.oddities.count(name)
    }

    fn push(&mut self, grade: Grade, share: f64, topic: Topic, text: String) {
        let text = agreed(&text);
        self.found.push(Finding { grade, share, text, detail: None, topic, connection: None });
    }

    /// Names the connection that accounts for most of it.
    fn worst(&mut self, size: impl Fn(&Known) -> f64, told: impl Fn(&Known) -> String) {
        let worst = self
            .model
            .connections
            .iter()
            .map(|(id, known)| (size(known), *id, known))
            .filter(|(size, ..)| *size > 0.0)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let (Some((_, id, known)), Some(finding)) = (worst, self.found.last_mut()) else { return };
        let Some(identity) = &known.identity else { return };
        let ends = ends(identity, ENDS_COLUMNS);
        finding.detail = Some(format!("{ends}: {}", told(known)));
        finding.connection = Some(id);
    }

    fn capture(&mut self) {
        let (frames, dropped) = (self.model.frames(), self.model.dropped().unwrap_or(0));
        if dropped > 0 {
            let share = share(dropped, frames.saturating_add(dropped));
            let text = format!(
                "{dropped} frames were dropped, {}: every count is too low",
                percent(share)
            );
            self.push(Grade::Bad, 1.0 + share, Topic::Capture, text);
        }
        let meter = self.odd_of("meter: ");
        if meter > 0 {
            let text = format!("the meter had no room {meter} times: see capture");
            self.push(Grade::Bad, 1.0, Topic::Capture, text);
        }
        self.nothing_found(frames);
        // TPDUs with truncated user data count like complete ones, except for their checksums.
        let data = self.odd(USER_DATA_CUT);
        if data > 0 {
            let text = format!("user data was not captured in {data} frames: no checksums there");
            self.push(Grade::Note, share(data, frames), Topic::Capture, text);
        }
        let headers = self.odd_of("truncated: ").saturating_sub(data);
        if headers > 0 {
            let text = format!("{headers} frames were captured in part, too little to count");
            self.push(Grade::Look, share(headers, frames), Topic::Capture, text);
        }
    }

    /// Reports frames without any relevant protocol: the tap may be at the wrong place.
    fn nothing_found(&mut self, frames: u64) {
        let has_streams = !self.model.streams.is_empty() || !self.model.transactions.is_empty();
        if frames == 0 || has_streams || self.measures.get(Measure::Tpdus) != Some(0) {
            return;
        }
        let text = format!("none of {frames} frames holds a TPDU: is this the right tap?");
        self.push(Grade::Bad, 1.0, Topic::Capture, text);
        let most = self.oddities.iter().max_by_key(|(_, times)| *times);
        if let (Some((name, times)), Some(finding)) = (most, self.found.last_mut()) {
            finding.detail = Some(format!("{times} x {name}"));
        }
    }

    /// Returns the number of oddities of this class.
    fn odd_of(&self, class: &str) -> u64 {
        let of_class = self.oddities.iter().filter(|(name, _)| name.starts_with(class));
        sum(of_class.map(|(_, times)| times))
    }

    fn windows(&mut self) {
        let closed = |known: &Known| known.both(DelayKind::ClosedWindow.total());
        let (mut is_bad, mut of_life, mut closings, mut now) = (false, 0.0_f64, 0, 0);
        for known in self.model.connections.values() {
            is_bad |= is_closed_long(closed(known), known.lived_ns());
            of_life = of_life.max(share(closed(known), known.lived_ns()));
            closings = sum([closings, known.both(DelayKind::ClosedWindow.count())]);
            now += known.closed_since().iter().flatten().count();
        }
        if closings > 0 {
            let grade = if is_bad { Grade::Bad } else { Grade::Look };
            let still = if now > 0 { format!(", {now} still closed") } else { String::new() };
            let times = if closings == 1 { "once".to_owned() } else { format!("{closings} times") };
            let text = format!("windows were closed {times}{still}: receivers stall senders");
            self.push(grade, of_life, Topic::Connections, text);
            self.worst(
                |known| closed(known) as f64,
                |known| {
                    let closed = closed(known);
                    let of_life = percent(share(closed, known.lived_ns()));
                    format!("{} closed, {of_life} of its life", quantity::span(closed))
                },
            );
        }
        let (into, dts) = (self.count(Measure::DtIntoClosedWindow), self.count(Measure::DtTpdus));
        if into > 0 {
            let of_dts = share(into, dts);
            let text = format!("{into} of {dts} DTs were sent beyond the credit given");
            self.push(graded(of_dts), of_dts, Topic::Connections, text);
            self.worst(
                |known| known.both(Measure::DtIntoClosedWindow) as f64,
                |known| format!("{} of them", known.both(Measure::DtIntoClosedWindow)),
            );
        }
    }

    /// Names the host with the slowest replies, and reports replies that pair with no single
    /// request.
    fn replies(&mut self) {
        let hosts = self.model.hosts().filter_map(|(host, [sent, _])| {
            let replies = Replies::of(sent);
            let slowness = Slowness::of_replies(&replies);
            slowness.has_enough().then_some((slowness, host?, replies))
        });
        let slowest = hosts.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(a.1)));
        if let Some((_, host, replies)) = slowest {
            let span = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), quantity::span);
            let [p50, mean] = [replies.p50_ns, replies.mean_ns].map(span);
            let n = replies.count;
            let longest = quantity::longest(n, replies.p99_ns.unwrap_or(0), replies.max_ns);
            let text = format!("{host} replies slowest: {longest}");
            self.push(Grade::Note, 1.0, Topic::Hosts, text);
            if let Some(finding) = self.found.last_mut() {
                finding.detail = Some(format!("{host}: mean {mean}, p50 {p50}, n {n}"));
            }
        }
        let ambiguous = self.count(Measure::ResponsesAmbiguous);
        if ambiguous > 0 {
            let all = ambiguous.saturating_add(self.count(DelayKind::Response.count()));
            let text = format!("{ambiguous} of {all} replies pair with no single request");
            self.push(Grade::Note, share(ambiguous, all), Topic::Connections, text);
            self.worst(
                |known| known.both(Measure::ResponsesAmbiguous) as f64,
                |known| format!("{} of them", known.both(Measure::ResponsesAmbiguous)),
            );
        }
    }

    fn retransmissions(&mut self) {
        let (again, dts) = (self.count(Measure::DtRetransmissions), self.count(Measure::DtTpdus));
        if again > 0 {
            let ratio = share(again, dts);
            let text = format!("{again} of {dts} DTs were retransmitted, {}", percent(ratio));
            self.push(graded(ratio), ratio, Topic::Connections, text);
            self.worst(
                |known| known.both(Measure::DtRetransmissions) as f64,
                |known| {
                    let (again, dts) =
                        (known.both(Measure::DtRetransmissions), known.both(Measure::DtTpdus));
                    format!("{again} of {dts}, {}", percent(share(again, dts)))
                },
            );
        }
        let unseen = self.odd("transport: DT never seen");
        if unseen > 0 {
            let ratio = share(unseen, dts.saturating_add(unseen));
            let text = format!("{unseen} DTs were never seen: lost before here, or by the capture");
            self.push(graded(ratio), ratio, Topic::Capture, text);
        }
    }

    fn beginnings(&mut self) {
        let attempts = self.count(Measure::ConnectionAttempts);
        let refused = self.count(Measure::ConnectionRefusals);
        let failed = self.count(Measure::ConnectionNegotiationFailures);
        let both = refused.saturating_add(failed);
        if both > 0 {
            let ratio = share(both, attempts.max(both));
            let why =
                if failed > 0 { format!(", {failed} could not agree") } else { String::new() };
            let text = format!("{refused} of {attempts} connections were refused{why}");
            self.push(graded(ratio), ratio, Topic::Connections, text);
            let is_refused = |known: &Known| {
                known.identity.as_ref().is_some_and(|identity| identity.outcome() == "refused")
            };
            self.worst(|known| f64::from(is_refused(known)), |_| "refused".to_owned());
        }
        let again = self.count(Measure::CrRetransmissions);
        if again > 0 {
            let ratio = share(again, self.count(Measure::CrTpdus));
            let text = format!("{again} CRs were retransmitted: no answer came in time");
            self.push(graded(ratio), ratio, Topic::Connections, text);
            self.worst(
                |known| known.both(Measure::CrRetransmissions) as f64,
                |known| format!("{} CRs", known.both(Measure::CrTpdus)),
            );
        }
        let under_way = self.odd("transport: connection found under way");
        if under_way > 0 {
            let found = counted(under_way, "connection");
            let text = format!("{found} found under way: no CR was seen");
            self.push(
                Grade::Note,
                share(under_way, under_way.saturating_add(attempts)),
                Topic::Capture,
                text,
            );
        }
    }

    fn ends(&mut self) {
        let ends = self.count(Measure::ConnectionEnds);
        let has_ended = |how: &'static str| {
            move |known: &Known| {
                let ending =
                    known.identity.as_ref().and_then(|identity| identity.ending.as_deref());
                f64::from(ending == Some(how))
            }
        };
        let erroneous = self.count(Measure::ConnectionErroneousEnds);
        if erroneous > 0 {
            let text = format!("{erroneous} of {ends} connections ended after a protocol error");
            self.push(Grade::Bad, share(erroneous, ends), Topic::Connections, text);
            self.worst(has_ended("erroneous"), |_| "ended after an error".to_owned());
        }
        let abrupt = self.count(Measure::ConnectionAbruptEnds);
        if abrupt > 0 {
            let text = format!("{abrupt} of {ends} connections ended abruptly");
            self.push(Grade::Look, share(abrupt, ends), Topic::Connections, text);
            self.worst(has_ended("abrupt"), |_| "ended abruptly".to_owned());
        }
        let silent = self.count(Measure::ConnectionSilentEnds);
        if silent > 0 {
            let text = format!("{silent} connections fell silent without an end");
            self.push(
                Grade::Look,
                share(silent, silent.saturating_add(ends)),
                Topic::Connections,
                text,
            );
        }
        let unassigned = self.count(Measure::UnassignedTpdus);
        if unassigned > 0 {
            let ratio = share(unassigned, self.count(Measure::Tpdus));
            let text = format!("{unassigned} TPDUs belong to no connection that is known");
            self.push(graded(ratio), ratio, Topic::Capture, text);
        }
    }

    fn streams(&mut self) {
        let segments = self.count(Measure::TcpSegments);
        let again = self.count(Measure::TcpSegmentsAgain);
        if again > 0 {
            let ratio = share(again, segments);
            let text = format!("TCP sent {again} of {segments} segments again, {}", percent(ratio));
            self.push(graded(ratio), ratio, Topic::Capture, text);
        }
        let lost = self.odd("transport: TPKT stream lost its step");
        if lost > 0 {
            let ratio = share(lost, segments);
            let times = if lost == 1 { "once".to_owned() } else { format!("{lost} times") };
            let why = "TCP octets are missing or no TPKTs";
            let text = format!("TPKTs were lost track of {times}: {why}");
            self.push(graded(ratio), ratio, Topic::Capture, text);
        }
        let copies = self.count(Measure::TcpCopies);
        if copies > 0 {
            let text = format!("{copies} packets came twice, as of a mirror port: counted once");
            self.push(Grade::Note, share(copies, segments), Topic::Capture, text);
        }
    }

    fn oddities(&mut self) {
        let frames = self.model.frames();
        let malformed = self.odd_of("malformed: ");
        if malformed > 0 {
            let ratio = share(malformed, frames);
            let text = format!("{malformed} PDUs were malformed or had a bad checksum");
            self.push(graded(ratio), ratio, Topic::Capture, text);
        }
        let early = self.odd("time: frame before the origin");
        if early > 0 {
            let ratio = share(early, frames.max(early));
            let text = format!("{early} frames are earlier than the first: are captures in order?");
            self.push(graded(ratio), ratio, Topic::Capture, text);
        }
        let backwards = self.odd("time: time ran backwards");
        if backwards > 0 {
            let text = format!("time ran backwards {backwards} times in the capture");
            self.push(Grade::Look, share(backwards, frames), Topic::Capture, text);
        }
    }
}

#[cfg(test)]
mod tests;
