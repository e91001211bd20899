//! What is wrong, or looks so: the measures of everything so far, judged and ranked.
//!
//! Each finding says what was counted of how many. The limits are written here and in
//! `tidewire help screens`, and nothing is hidden below them: what is not bad is worth a look.

use super::event::ends;
use super::known::Known;
use super::model::Model;
use super::page::{Page, counted};
use crate::permission;
use crate::quantity::{self, significant};
use crate::stream::{self, Named, Replies, Slowness, sum};
use core::slice;

/// Frames whose headers are there and whose user data is not.
pub(super) const USER_DATA_CUT: &str = "truncated: user data";
/// A share from which losses, repetitions and refusals are bad.
const BAD_SHARE: f64 = 0.01;
/// A share of its connection's life from which a closed window is bad, and so is one this long.
const BAD_CLOSED_SHARE: f64 = 0.1;
const BAD_CLOSED_NS: u64 = 1_000_000_000;
/// Columns for the two ends of a connection.
const ENDS_COLUMNS: usize = 37;

/// How much it matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Grade {
    /// Something is wrong.
    Bad,
    /// It may be.
    Look,
    /// It is as well to know.
    Note,
}

impl Grade {
    /// What it looks like where there are no colours.
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Bad => "!!",
            Self::Look => "! ",
            Self::Note => "- ",
        }
    }
}

/// Something found.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Finding {
    pub(super) grade: Grade,
    /// What share of what it concerns, for the order.
    share: f64,
    pub(super) text: String,
    /// The worst of it, where that is one connection.
    pub(super) detail: Option<String>,
    /// Where to look on.
    pub(super) page: Page,
    pub(super) connection: Option<u32>,
}

impl Finding {
    /// The record of it; `source` is the interface or the files.
    fn record(&self, source: &Source<'_>) -> stream::Finding {
        let grade = match self.grade {
            Grade::Bad => "wrong",
            Grade::Look => "look",
            Grade::Note => "note",
        };
        stream::Finding {
            grade: grade.to_owned(),
            text: self.text.clone(),
            evidence: self.detail.clone(),
            id: self.connection,
            command: source.command(self.page),
        }
    }
}

/// Interface or files of a stream.
struct Source<'a>(&'a stream::Head);

impl Source<'_> {
    /// Command that shows more of what a page is about.
    fn command(&self, page: Page) -> String {
        let Self(head) = self;
        let from = match &head.files {
            None => format!("-i {}", permission::quoted(&head.source)),
            Some(files) => format!("-r {}", words(files)),
        };
        match page {
            Page::Connections => format!("tidewire watch {from} --events events.ndjson"),
            Page::Hosts => format!("tidewire watch {from} --csv FOLDER"),
            // It reads one file.
            Page::Capture if head.files.is_some() => {
                let first = head.files.iter().flatten().next();
                format!("tidewire dissect -r {}", words(first.map_or(&[], slice::from_ref)))
            }
            _ => format!("tidewire watch {from} --screen measures"),
        }
    }
}

/// Names of files as words of a shell; none looks like an option.
fn words(files: &[String]) -> String {
    let word = |name: &String| match name.strip_prefix('-') {
        Some("") => name.clone(),
        Some(_) => permission::quoted(&format!("./{name}")),
        None => permission::quoted(name),
    };
    files.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Findings of a stream as records, from the records of its end.
pub(crate) struct Findings {
    model: Model,
}

impl Findings {
    /// Nothing was taken in yet.
    pub(crate) fn new(head: &stream::Head) -> Self {
        Self { model: Model::new(head.clone()) }
    }

    /// Takes in a record of the whole; those of intervals are passed over.
    pub(crate) fn take(&mut self, record: &stream::Record) {
        use stream::Record::{Connection, End, Host, Total};
        if matches!(record, Total(_) | Connection(_) | Host(_) | End(_)) {
            self.model.take(record.clone());
        }
    }

    /// What is wrong, the worst first.
    pub(crate) fn records(&self) -> Vec<stream::Finding> {
        let source = Source(&self.model.head);
        findings(&self.model).iter().map(|finding| finding.record(&source)).collect()
    }
}

/// The judgement of a model under way.
struct Judge<'a> {
    model: &'a Model,
    measures: Named<u64>,
    oddities: Named<u64>,
    found: Vec<Finding>,
}

/// What is wrong, the worst first.
pub(super) fn findings(model: &Model) -> Vec<Finding> {
    let (measures, oddities) = (model.measures(), model.oddities());
    let mut judge = Judge { model, measures, oddities, found: Vec::new() };
    judge.capture();
    judge.replies();
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

/// A part of a whole; nothing of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0, 2))
}

fn graded(share: f64) -> Grade {
    if share >= BAD_SHARE { Grade::Bad } else { Grade::Look }
}

/// Whether so many of so many lost, repeated or refused are bad.
pub(super) fn is_bad_share(part: u64, whole: u64) -> bool {
    share(part, whole) >= BAD_SHARE
}

/// Whether a window was closed for too long, of a connection that lived so long.
pub(super) fn is_closed_long(closed_ns: u64, lived_ns: u64) -> bool {
    closed_ns >= BAD_CLOSED_NS || share(closed_ns, lived_ns) >= BAD_CLOSED_SHARE
}

impl Judge<'_> {
    fn count(&self, name: &str) -> u64 {
        self.measures.count(name)
    }

    fn odd(&self, name: &str) -> u64 {
        self.oddities.count(name)
    }

    fn push(&mut self, grade: Grade, share: f64, page: Page, text: String) {
        self.found.push(Finding { grade, share, text, detail: None, page, connection: None });
    }

    /// Names the connection that has most of it.
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
            self.push(Grade::Bad, 1.0 + share, Page::Capture, text);
        }
        let meter = self.odd_of("meter: ");
        if meter > 0 {
            let text = format!("the meter had no room {meter} times: see capture");
            self.push(Grade::Bad, 1.0, Page::Capture, text);
        }
        self.nothing_found(frames);
        // TPDUs without all of their user data count as whole ones do, but for their checksums.
        let data = self.odd(USER_DATA_CUT);
        if data > 0 {
            let text = format!("user data was not captured in {data} frames: no checksums there");
            self.push(Grade::Note, share(data, frames), Page::Capture, text);
        }
        let headers = self.odd_of("truncated: ").saturating_sub(data);
        if headers > 0 {
            let text = format!("{headers} frames were captured in part, too little to count");
            self.push(Grade::Look, share(headers, frames), Page::Capture, text);
        }
    }

    /// Where there are frames, but none that is of concern here, the tap may be at the wrong place.
    fn nothing_found(&mut self, frames: u64) {
        if frames == 0 || self.measures.get("tpdus") != Some(0) {
            return;
        }
        let text = format!("none of {frames} frames holds a TPDU: is this the right tap?");
        self.push(Grade::Bad, 1.0, Page::Capture, text);
        let most = self.oddities.iter().max_by_key(|(_, times)| *times);
        if let (Some((name, times)), Some(finding)) = (most, self.found.last_mut()) {
            finding.detail = Some(format!("{times} x {name}"));
        }
    }

    /// How often anything of this class was odd.
    fn odd_of(&self, class: &str) -> u64 {
        let of_class = self.oddities.iter().filter(|(name, _)| name.starts_with(class));
        sum(of_class.map(|(_, times)| times))
    }

    fn windows(&mut self) {
        let closed = |known: &Known| known.both("closed_window_ns");
        let (mut is_bad, mut of_life, mut closings, mut now) = (false, 0.0_f64, 0, 0);
        for known in self.model.connections.values() {
            is_bad |= is_closed_long(closed(known), known.lived_ns());
            of_life = of_life.max(share(closed(known), known.lived_ns()));
            closings = sum([closings, known.both("closed_windows")]);
            now += known.closed_since().iter().flatten().count();
        }
        if closings > 0 {
            let grade = if is_bad { Grade::Bad } else { Grade::Look };
            let still = if now > 0 { format!(", {now} still closed") } else { String::new() };
            let times = if closings == 1 { "once".to_owned() } else { format!("{closings} times") };
            let text = format!("windows were closed {times}{still}: receivers stall senders");
            self.push(grade, of_life, Page::Connections, text);
            self.worst(
                |known| closed(known) as f64,
                |known| {
                    let closed = closed(known);
                    let of_life = percent(share(closed, known.lived_ns()));
                    format!("{} closed, {of_life} of its life", quantity::span(closed))
                },
            );
        }
        let (into, dts) = (self.count("dt_into_closed_window"), self.count("dt_tpdus"));
        if into > 0 {
            let of_dts = share(into, dts);
            let text = format!("{into} of {dts} DTs were sent beyond the credit given");
            self.push(graded(of_dts), of_dts, Page::Connections, text);
            self.worst(
                |known| known.both("dt_into_closed_window") as f64,
                |known| format!("{} of them", known.both("dt_into_closed_window")),
            );
        }
    }

    /// Names the host that replies slowest, and replies that pair with no single request.
    fn replies(&mut self) {
        let hosts = self.model.hosts().filter_map(|(host, [sent, _])| {
            let slowness = Slowness::of_values(sent);
            slowness.has_enough().then_some((slowness, host?, Replies::of(sent)))
        });
        let slowest = hosts.max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(a.1)));
        if let Some((_, host, replies)) = slowest {
            let span = |nanos: Option<u64>| nanos.map_or_else(|| "-".to_owned(), quantity::span);
            let [p50, p99, max, mean] =
                [replies.p50_ns, replies.p99_ns, Some(replies.max_ns), replies.mean_ns].map(span);
            let n = replies.count;
            let text = format!("{host} replies slowest: p99 {p99}, max {max}");
            self.push(Grade::Note, 1.0, Page::Hosts, text);
            if let Some(finding) = self.found.last_mut() {
                finding.detail = Some(format!("{host}: mean {mean}, p50 {p50}, n {n}"));
            }
        }
        let ambiguous = self.count("responses_ambiguous");
        if ambiguous > 0 {
            let all = ambiguous.saturating_add(self.count("responses"));
            let text = format!("{ambiguous} of {all} replies pair with no single request");
            self.push(Grade::Note, share(ambiguous, all), Page::Connections, text);
            self.worst(
                |known| known.both("responses_ambiguous") as f64,
                |known| format!("{} of them", known.both("responses_ambiguous")),
            );
        }
    }

    fn retransmissions(&mut self) {
        let (again, dts) = (self.count("dt_retransmissions"), self.count("dt_tpdus"));
        if again > 0 {
            let ratio = share(again, dts);
            let text = format!("{again} of {dts} DTs were sent again, {}", percent(ratio));
            self.push(graded(ratio), ratio, Page::Connections, text);
            self.worst(
                |known| known.both("dt_retransmissions") as f64,
                |known| {
                    let (again, dts) = (known.both("dt_retransmissions"), known.both("dt_tpdus"));
                    format!("{again} of {dts}, {}", percent(share(again, dts)))
                },
            );
        }
        let unseen = self.odd("transport: DT never seen");
        if unseen > 0 {
            let ratio = share(unseen, dts.saturating_add(unseen));
            let text = format!("{unseen} DTs were never seen: lost before here, or by the capture");
            self.push(graded(ratio), ratio, Page::Capture, text);
        }
    }

    fn beginnings(&mut self) {
        let attempts = self.count("connection_attempts");
        let refused = self.count("connection_refusals");
        let failed = self.count("connection_negotiation_failures");
        let both = refused.saturating_add(failed);
        if both > 0 {
            let ratio = share(both, attempts.max(both));
            let why =
                if failed > 0 { format!(", {failed} could not agree") } else { String::new() };
            let text = format!("{refused} of {attempts} connections were refused{why}");
            self.push(graded(ratio), ratio, Page::Connections, text);
            let is_refused = |known: &Known| {
                known.identity.as_ref().is_some_and(|identity| identity.outcome() == "refused")
            };
            self.worst(|known| f64::from(is_refused(known)), |_| "refused".to_owned());
        }
        let again = self.count("cr_retransmissions");
        if again > 0 {
            let ratio = share(again, self.count("cr_tpdus"));
            let text = format!("{again} CRs were sent again: nobody answered in time");
            self.push(graded(ratio), ratio, Page::Connections, text);
            self.worst(
                |known| known.both("cr_retransmissions") as f64,
                |known| format!("{} CRs", known.both("cr_tpdus")),
            );
        }
        let under_way = self.odd("transport: connection found under way");
        if under_way > 0 {
            let found = counted(under_way, "connection");
            let text = format!("{found} found under way: no CR was seen");
            self.push(
                Grade::Note,
                share(under_way, under_way.saturating_add(attempts)),
                Page::Capture,
                text,
            );
        }
    }

    fn ends(&mut self) {
        let ends = self.count("connection_ends");
        let has_ended = |how: &'static str| {
            move |known: &Known| {
                let ending =
                    known.identity.as_ref().and_then(|identity| identity.ending.as_deref());
                f64::from(ending == Some(how))
            }
        };
        let erroneous = self.count("connection_erroneous_ends");
        if erroneous > 0 {
            let text = format!("{erroneous} of {ends} connections ended after a protocol error");
            self.push(Grade::Bad, share(erroneous, ends), Page::Connections, text);
            self.worst(has_ended("erroneous"), |_| "ended after an error".to_owned());
        }
        let abrupt = self.count("connection_abrupt_ends");
        if abrupt > 0 {
            let text = format!("{abrupt} of {ends} connections ended abruptly");
            self.push(Grade::Look, share(abrupt, ends), Page::Connections, text);
            self.worst(has_ended("abrupt"), |_| "ended abruptly".to_owned());
        }
        let silent = self.count("connection_silent_ends");
        if silent > 0 {
            let text = format!("{silent} connections fell silent without an end");
            self.push(
                Grade::Look,
                share(silent, silent.saturating_add(ends)),
                Page::Connections,
                text,
            );
        }
        let unassigned = self.count("unassigned_tpdus");
        if unassigned > 0 {
            let ratio = share(unassigned, self.count("tpdus"));
            let text = format!("{unassigned} TPDUs belong to no connection that is known");
            self.push(graded(ratio), ratio, Page::Capture, text);
        }
    }

    fn streams(&mut self) {
        let segments = self.count("tcp_segments");
        let again = self.count("tcp_segments_again");
        if again > 0 {
            let ratio = share(again, segments);
            let text = format!("TCP sent {again} of {segments} segments again, {}", percent(ratio));
            self.push(graded(ratio), ratio, Page::Capture, text);
        }
        let lost = self.odd("transport: TPKT stream lost its step");
        if lost > 0 {
            let ratio = share(lost, segments);
            let times = if lost == 1 { "once".to_owned() } else { format!("{lost} times") };
            let why = "TCP octets are missing or no TPKTs";
            let text = format!("TPKTs were lost track of {times}: {why}");
            self.push(graded(ratio), ratio, Page::Capture, text);
        }
        let copies = self.count("tcp_copies");
        if copies > 0 {
            let text = format!("{copies} packets came twice, as of a mirror port: counted once");
            self.push(Grade::Note, share(copies, segments), Page::Capture, text);
        }
    }

    fn oddities(&mut self) {
        let frames = self.model.frames();
        let malformed = self.odd_of("malformed: ");
        if malformed > 0 {
            let ratio = share(malformed, frames);
            let text = format!("{malformed} PDUs were malformed or had a bad checksum");
            self.push(graded(ratio), ratio, Page::Capture, text);
        }
        let early = self.odd("time: frame before the origin");
        if early > 0 {
            let ratio = share(early, frames.max(early));
            let text = format!("{early} frames are earlier than the first: are captures in order?");
            self.push(graded(ratio), ratio, Page::Capture, text);
        }
        let backwards = self.odd("time: time ran backwards");
        if backwards > 0 {
            let text = format!("time ran backwards {backwards} times in the capture");
            self.push(Grade::Look, share(backwards, frames), Page::Capture, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screens::model::tests::fed;

    #[test]
    fn losses_of_the_capture_come_before_what_it_shows() {
        let model = fed(&[("dt_tpdus", 1_000), ("dt_retransmissions", 5)], &[], Some(3), 97);
        let found = findings(&model);
        let told: Vec<(Grade, &str)> =
            found.iter().map(|finding| (finding.grade, finding.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (Grade::Bad, "3 frames were dropped, 3.0 %: every count is too low"),
                (Grade::Look, "5 of 1000 DTs were sent again, 0.50 %"),
            ]
        );
    }

    #[test]
    fn headers_without_user_data_are_as_well_to_know_and_less_than_headers_may_be_wrong() {
        let odd = [("truncated: TPDU header", 3), ("truncated: user data", 97)];
        let found = findings(&fed(&[("tpdus", 100)], &odd, None, 100));
        let told: Vec<(Grade, &str)> =
            found.iter().map(|finding| (finding.grade, finding.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (Grade::Look, "3 frames were captured in part, too little to count"),
                (Grade::Note, "user data was not captured in 97 frames: no checksums there"),
            ]
        );
    }

    #[test]
    fn commands_name_the_port_or_the_files() {
        let command = |files: Option<&[&str]>, page| {
            let mut head = fed(&[], &[], None, 0).head;
            head.source = "eth0".to_owned();
            head.files = files.map(|files| files.iter().map(|&name| name.to_owned()).collect());
            Source(&head).command(page)
        };
        let screen = "--screen measures";
        assert_eq!(command(None, Page::Capture), format!("tidewire watch -i eth0 {screen}"));
        let two = Some(&["a.pcap", "b c.pcap"][..]);
        assert_eq!(
            command(two, Page::Tpdus),
            format!("tidewire watch -r a.pcap 'b c.pcap' {screen}")
        );
        assert_eq!(command(two, Page::Capture), "tidewire dissect -r a.pcap");
        assert_eq!(command(Some(&["-x"]), Page::Capture), "tidewire dissect -r ./-x");
    }

    #[test]
    fn one_in_a_hundred_is_bad() {
        check(&[("dt_tpdus", 100), ("dt_retransmissions", 1)], Grade::Bad, "1 of 100 DTs");
        check(&[("dt_tpdus", 101), ("dt_retransmissions", 1)], Grade::Look, "1 of 101 DTs");
        let refusals = [("connection_attempts", 4), ("connection_refusals", 1)];
        check(&refusals, Grade::Bad, "1 of 4 connections were refused");
        check(&[("connection_ends", 9), ("connection_abrupt_ends", 1)], Grade::Look, "1 of 9");
        check(&[("tcp_segments", 50), ("tcp_copies", 20)], Grade::Note, "20 packets came twice");
    }

    #[track_caller]
    fn check(measures: &[(&'static str, u64)], grade: Grade, text: &str) {
        let found = findings(&fed(measures, &[], None, 1_000));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].grade, grade, "{found:?}");
        assert!(found[0].text.starts_with(text), "{found:?}");
    }

    #[test]
    fn a_window_that_is_still_closed_is_a_share_of_all_its_connection_lived() {
        let mut model = fed(&[("dt_tpdus", 10)], &[], None, 10);
        // Closed for 3 of 4 s, the last TPDU after 1 s.
        let text = r#"{"type":"connection","id":1,"ends":["a","b"],"references":[1,2],"class":4,
            "user":"unknown","confidence":"none","state":"established","ending":null,
            "opening_ns":null,"established_ns":0,"closing_ns":null,"closed_ns":null,
            "last_ns":1000000000,"until_ns":4000000000,"directions":[{"closed_windows":1,
            "closed_window_ns":3000000000,"window_closed_since_ns":1000000000},{}]}"#;
        model.take(serde_json::from_str(text).unwrap());
        let found = findings(&model);
        let text = "windows were closed once, 1 still closed: receivers stall senders";
        assert_eq!(found[0].text, text);
        assert_eq!(found[0].detail.as_deref(), Some("a>b: 3.00 s closed, 75 % of its life"));
    }

    #[test]
    fn captures_in_the_wrong_order_are_told_of() {
        let found =
            findings(&fed(&[("tpdus", 9)], &[("time: frame before the origin", 5)], None, 95));
        assert_eq!(found[0].text, "5 frames are earlier than the first: are captures in order?");
        assert_eq!(found[0].grade, Grade::Bad);
    }

    #[test]
    fn gaps_in_tcp_are_told_of() {
        let odd = [("transport: TPKT stream lost its step", 4)];
        let found = findings(&fed(&[("tpdus", 90), ("tcp_segments", 100)], &odd, None, 100));
        let text = "TPKTs were lost track of 4 times: TCP octets are missing or no TPKTs";
        assert_eq!((found[0].grade, found[0].text.as_str()), (Grade::Bad, text));
    }

    #[test]
    fn frames_of_which_none_is_metered_are_not_called_right() {
        let found = findings(&fed(&[("tpdus", 0)], &[("foreign: TCP", 9)], None, 10));
        assert_eq!(found[0].text, "none of 10 frames holds a TPDU: is this the right tap?");
        assert_eq!(
            (found[0].grade, found[0].detail.as_deref()),
            (Grade::Bad, Some("9 x foreign: TCP"))
        );
        assert_eq!(findings(&fed(&[("tpdus", 0)], &[], None, 0)), []);
    }

    #[test]
    fn nothing_wrong_is_no_finding() {
        assert_eq!(findings(&fed(&[("dt_tpdus", 100)], &[], Some(0), 100)), []);
    }
}
