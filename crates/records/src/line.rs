//! Records as lines of NDJSON: the octets that serde writes, with less work.
//!
//! Most of a stream is names of measures, which are part of the program and need no escape. They are
//! copied with their values; all else is left to serde. A test compares the octets of each kind.

use super::record::{Connection, ConnectionInterval, Host, HostInterval, Identity, Interval, Rest};
use super::responses::is_without_responses;
use super::{
    Block, ControlBlocks, Counts, Named, Record, Service, Services, ServicesInterval, Text,
};
use meter::registry::Measure;
use serde::Serialize;
use std::borrow::Cow;
use std::sync::LazyLock;

impl Record {
    /// Appends the record to `line`, with the end of its line.
    ///
    /// # Errors
    /// Fails if a value cannot be JSON, which no record has.
    pub fn write_line(&self, line: &mut Vec<u8>) -> serde_json::Result<()> {
        match self {
            Self::Interval(it) => interval(it, line)?,
            Self::HostInterval(it) => host_interval(it, line)?,
            Self::ConnectionInterval(it) => connection_interval(it, line)?,
            Self::ConnectionsRest(it) => rest(it, line)?,
            Self::Host(it) => host(it, line)?,
            Self::Connection(it) => connection(it, line)?,
            Self::Services(it) => services(it, line)?,
            Self::ServicesInterval(it) => services_interval(it, line)?,
            Self::ControlBlocks(it) => control_blocks(it, line)?,
            other => serde_json::to_writer(&mut *line, other)?,
        }
        line.push(b'\n');
        Ok(())
    }
}

fn interval(it: &Interval, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let Interval { index, intervals, start_ns, length_ns, complete, frames, .. } = it;
    let Interval { dropped_by_kernel, collection, stamps, measures, metrics, oddities, .. } = it;
    let mut object = Object::begin("interval", line);
    object.field(b",\"index\":", index)?;
    object.field(b",\"intervals\":", intervals)?;
    object.field(b",\"start_ns\":", start_ns)?;
    object.field(b",\"length_ns\":", length_ns)?;
    object.field(b",\"complete\":", complete)?;
    object.field(b",\"frames\":", frames)?;
    object.field(b",\"dropped_by_kernel\":", dropped_by_kernel)?;
    if let Some(collection) = collection {
        object.field(b",\"collection\":", collection)?;
    }
    if let Some(stamps) = stamps {
        object.field(b",\"stamps\":", stamps)?;
    }
    object.counts(b",\"measures\":", measures);
    object.metrics(b",\"metrics\":", metrics)?;
    object.field(b",\"oddities\":", oddities)?;
    if let Some(histograms) = &it.histograms {
        object.field(b",\"histograms\":", histograms)?;
    }
    object.end();
    Ok(())
}

fn host_interval(it: &HostInterval, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let HostInterval { index, host, hosts, sent, received, metrics } = it;
    let mut object = Object::begin("host-interval", line);
    object.field(b",\"index\":", index)?;
    object.field(b",\"host\":", host)?;
    object.field(b",\"hosts\":", hosts)?;
    object.counts(b",\"sent\":", sent);
    object.counts(b",\"received\":", received);
    object.metrics(b",\"metrics\":", metrics)?;
    object.end();
    Ok(())
}

fn host(it: &Host, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let Host { host, sent, received, metrics } = it;
    let mut object = Object::begin("host", line);
    object.field(b",\"host\":", host)?;
    object.counts(b",\"sent\":", sent);
    object.counts(b",\"received\":", received);
    object.metrics(b",\"metrics\":", metrics)?;
    object.end();
    Ok(())
}

fn connection_interval(it: &ConnectionInterval, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let ConnectionInterval { index, connection, directions, metrics, responses } = it;
    let mut object = Object::begin("connection-interval", line);
    object.field(b",\"index\":", index)?;
    identity(connection, &mut object)?;
    object.list_of_counts(b",\"directions\":", directions.each_ref());
    object.list_of_metrics(b",\"metrics\":", metrics.each_ref())?;
    if !is_without_responses(responses) {
        object.field(b",\"responses\":", responses)?;
    }
    object.end();
    Ok(())
}

fn connection(it: &Connection, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let Connection { connection, directions, metrics } = it;
    let mut object = Object::begin("connection", line);
    identity(connection, &mut object)?;
    object.list_of_counts(b",\"directions\":", directions.each_ref());
    object.list_of_metrics(b",\"metrics\":", metrics.each_ref())?;
    object.end();
    Ok(())
}

fn identity(it: &Identity, object: &mut Object<'_>) -> serde_json::Result<()> {
    let Identity { id, ends, references, class, user, confidence, state, ending, .. } = it;
    let Identity { opening_ns, established_ns, closing_ns, closed_ns, last_ns, until_ns, .. } = it;
    object.number(b",\"id\":", (*id).into());
    object.ends(ends)?;
    let [first, second] = references.map(|it| it.map(u64::from));
    object.number_or_null(b",\"references\":[", first);
    object.number_or_null(b",", second);
    object.number_or_null(b"],\"class\":", class.map(u64::from));
    object.text(b",\"user\":", user)?;
    object.text(b",\"confidence\":", confidence)?;
    object.text(b",\"state\":", state)?;
    match ending {
        Some(ending) => object.text(b",\"ending\":", ending)?,
        None => object.field(b",\"ending\":", ending)?,
    }
    object.number_or_null(b",\"opening_ns\":", *opening_ns);
    object.number_or_null(b",\"established_ns\":", *established_ns);
    object.number_or_null(b",\"closing_ns\":", *closing_ns);
    object.number_or_null(b",\"closed_ns\":", *closed_ns);
    object.number(b",\"last_ns\":", *last_ns);
    if let Some(until_ns) = until_ns {
        object.number(b",\"until_ns\":", *until_ns);
    }
    Ok(())
}

fn rest(it: &Rest, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let Rest { index, connections, directions } = it;
    let mut object = Object::begin("connections-rest", line);
    object.field(b",\"index\":", index)?;
    object.field(b",\"connections\":", connections)?;
    object.list_of_counts(b",\"directions\":", directions.each_ref());
    object.end();
    Ok(())
}

fn services(it: &Services, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let Services { id, ends, user, state, inferred, set_up_ns, cause, outstanding, .. } = it;
    let Services { most_outstanding, odd, dropped, services, .. } = it;
    let mut object = Object::begin("services", line);
    object.number(b",\"id\":", (*id).into());
    object.ends(ends)?;
    object.text(b",\"user\":", user)?;
    object.text(b",\"state\":", state)?;
    object.field(b",\"inferred\":", inferred)?;
    object.field(b",\"set_up_ns\":", set_up_ns)?;
    object.field(b",\"cause\":", cause)?;
    object.number(b",\"outstanding\":", *outstanding);
    object.number(b",\"most_outstanding\":", *most_outstanding);
    object.number(b",\"odd\":", *odd);
    object.number(b",\"dropped\":", *dropped);
    object.list(b",\"services\":", services, service)?;
    object.end();
    Ok(())
}

fn services_interval(it: &ServicesInterval, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let ServicesInterval { index, id, ends, outstanding, most_outstanding, services } = it;
    let mut object = Object::begin("services-interval", line);
    object.field(b",\"index\":", index)?;
    object.number(b",\"id\":", (*id).into());
    object.ends(ends)?;
    object.number(b",\"outstanding\":", *outstanding);
    object.number(b",\"most_outstanding\":", *most_outstanding);
    object.list(b",\"services\":", services, service)?;
    object.end();
    Ok(())
}

fn service(it: &Service, object: &mut Object<'_>) -> serde_json::Result<()> {
    let Service { service, server, requests, answers, errors, failed_accesses, .. } = it;
    let Service { rejects, unanswered, outstanding, response_total_ns, .. } = it;
    let Service { response_min_ns, response_p50_ns, response_p99_ns, .. } = it;
    let Service { response_max_ns, failures, .. } = it;
    object.text(b",\"service\":", service)?;
    object.text(b",\"server\":", server)?;
    object.number(b",\"requests\":", *requests);
    object.number(b",\"answers\":", *answers);
    object.number(b",\"errors\":", *errors);
    object.number(b",\"failed_accesses\":", *failed_accesses);
    object.number(b",\"rejects\":", *rejects);
    object.number(b",\"unanswered\":", *unanswered);
    object.number(b",\"outstanding\":", *outstanding);
    object.number(b",\"response_total_ns\":", *response_total_ns);
    object.number_or_null(b",\"response_min_ns\":", *response_min_ns);
    object.number_or_null(b",\"response_p50_ns\":", *response_p50_ns);
    object.number_or_null(b",\"response_p99_ns\":", *response_p99_ns);
    object.number_or_null(b",\"response_max_ns\":", *response_max_ns);
    if failures.0.is_empty() {
        object.name(b",\"failures\":");
        object.line.extend_from_slice(b"{}");
        return Ok(());
    }
    object.field(b",\"failures\":", failures)
}

fn control_blocks(it: &ControlBlocks, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let ControlBlocks { id, ends, control_blocks } = it;
    let mut object = Object::begin("control-blocks", line);
    object.number(b",\"id\":", (*id).into());
    object.ends(ends)?;
    object.list(b",\"control_blocks\":", control_blocks, block)?;
    object.end();
    Ok(())
}

fn block(it: &Block, object: &mut Object<'_>) -> serde_json::Result<()> {
    let Block { name, server, reports, intervals, interval_total_ns, .. } = it;
    let Block { interval_min_ns, interval_p50_ns, interval_max_ns, .. } = it;
    match name {
        Some(name) => object.text(b",\"name\":", name)?,
        None => object.field(b",\"name\":", name)?,
    }
    object.text(b",\"server\":", server)?;
    object.number(b",\"reports\":", *reports);
    object.number(b",\"intervals\":", *intervals);
    object.number(b",\"interval_total_ns\":", *interval_total_ns);
    object.number_or_null(b",\"interval_min_ns\":", *interval_min_ns);
    object.number_or_null(b",\"interval_p50_ns\":", *interval_p50_ns);
    object.number_or_null(b",\"interval_max_ns\":", *interval_max_ns);
    Ok(())
}

/// An object of JSON in progress. Names need no escape.
struct Object<'a> {
    line: &'a mut Vec<u8>,
}

impl<'a> Object<'a> {
    /// Begins a record of this type.
    fn begin(kind: &str, line: &'a mut Vec<u8>) -> Self {
        line.extend_from_slice(b"{\"type\":\"");
        line.extend_from_slice(kind.as_bytes());
        line.push(b'"');
        Self { line }
    }

    fn end(self) {
        self.line.push(b'}');
    }

    /// Adds a name, which comes with its comma, quotation marks and colon. Its length is known where it is used, so
    /// that it is copied without a call.
    #[inline(always)]
    fn name<const N: usize>(&mut self, name: &[u8; N]) {
        self.line.extend_from_slice(name);
    }

    #[inline(always)]
    fn field<const N: usize>(
        &mut self,
        name: &[u8; N],
        value: &impl Serialize,
    ) -> serde_json::Result<()> {
        self.name(name);
        serde_json::to_writer(&mut *self.line, value)
    }

    #[inline(always)]
    fn number<const N: usize>(&mut self, name: &[u8; N], value: u64) {
        self.name(name);
        push_number(value, self.line);
    }

    /// Adds a number, or null.
    #[inline(always)]
    fn number_or_null<const N: usize>(&mut self, name: &[u8; N], value: Option<u64>) {
        self.name(name);
        match value {
            Some(value) => push_number(value, self.line),
            None => self.line.extend_from_slice(b"null"),
        }
    }

    /// Adds a text, which needs an escape only if a station has chosen it.
    #[inline(always)]
    fn text<const N: usize>(&mut self, name: &[u8; N], text: &str) -> serde_json::Result<()> {
        self.name(name);
        push_text(text, self.line)
    }

    fn ends(&mut self, [first, second]: &[Text; 2]) -> serde_json::Result<()> {
        self.name(b",\"ends\":[");
        push_text(first, self.line)?;
        self.line.push(b',');
        push_text(second, self.line)?;
        self.line.push(b']');
        Ok(())
    }

    /// Adds a list of objects, each of which `write` fills with one field at least.
    fn list<const N: usize, T>(
        &mut self,
        name: &[u8; N],
        all: &[T],
        write: fn(&T, &mut Object<'_>) -> serde_json::Result<()>,
    ) -> serde_json::Result<()> {
        self.name(name);
        self.line.push(b'[');
        for (place, each) in all.iter().enumerate() {
            if place > 0 {
                self.line.push(b',');
            }
            let at = self.line.len();
            write(each, &mut Object { line: self.line })?;
            // The comma before its first name becomes a brace.
            if let Some(comma) = self.line.get_mut(at) {
                *comma = b'{';
            }
            self.line.push(b'}');
        }
        self.line.push(b']');
        Ok(())
    }

    fn counts<const N: usize>(&mut self, name: &[u8; N], counts: &Counts) {
        self.name(name);
        push_counts(counts, self.line);
    }

    fn list_of_counts<const N: usize>(&mut self, name: &[u8; N], counts: [&Counts; 2]) {
        self.name(name);
        self.line.push(b'[');
        push_counts(counts[0], self.line);
        self.line.push(b',');
        push_counts(counts[1], self.line);
        self.line.push(b']');
    }

    fn metrics<const N: usize>(
        &mut self,
        name: &[u8; N],
        metrics: &Named<Option<f64>>,
    ) -> serde_json::Result<()> {
        self.name(name);
        push_metrics(metrics, self.line)
    }

    fn list_of_metrics<const N: usize>(
        &mut self,
        name: &[u8; N],
        metrics: [&Named<Option<f64>>; 2],
    ) -> serde_json::Result<()> {
        self.name(name);
        self.line.push(b'[');
        push_metrics(metrics[0], self.line)?;
        self.line.push(b',');
        push_metrics(metrics[1], self.line)?;
        self.line.push(b']');
        Ok(())
    }
}

/// The bits of 1.0.
const ONE: u64 = 1.0_f64.to_bits();

/// Octets that any name of a measure has room in, with a comma, two quotation marks, a colon and a
/// digit.
const NAME_OCTETS: usize = 48;

/// Name with a zero behind it, padded to a fixed length, so that it is copied without a loop.
struct Padded {
    octets: [u8; NAME_OCTETS],
    length: usize,
}

/// Names of measures with a comma before them and a colon behind, by their numbers.
static NAMES: LazyLock<Vec<Option<Padded>>> = LazyLock::new(|| {
    let padded = |name: String| {
        let mut octets = [b'0'; NAME_OCTETS];
        octets.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
        (name.len() < NAME_OCTETS).then_some(Padded { octets, length: name.len() })
    };
    Measure::numbered().map(|measure| padded(format!(",\"{measure}\":"))).collect()
});

/// Appends a number.
fn push_number(value: u64, line: &mut Vec<u8>) {
    match u8::try_from(value) {
        Ok(digit @ 0..=9) => line.push(b'0' + digit),
        _ => line.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
    }
}

/// Appends a text in quotation marks.
fn push_text(text: &str, line: &mut Vec<u8>) -> serde_json::Result<()> {
    if !is_plain(text.as_bytes()) {
        return serde_json::to_writer(line, text);
    }
    line.push(b'"');
    line.extend_from_slice(text.as_bytes());
    line.push(b'"');
    Ok(())
}

/// Returns true if a text is ASCII and needs no escape.
fn is_plain(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk() else {
        return text.iter().all(|octet| marks(u64::from(*octet) | SPACES << 8) == 0);
    };
    let (words, _) = text.as_chunks();
    // The last word has octets of the one before it too.
    let words = words.iter().chain([last]).map(|word| u64::from_le_bytes(*word));
    words.fold(0, |all, word| all | marks(word)) == 0
}

/// A word of eight octets with the value 1, and one of eight spaces.
const ONES: u64 = u64::from_le_bytes([1; 8]);
const SPACES: u64 = ONES * b' ' as u64;

/// Returns zero if no octet of a word is beyond ASCII, a control, a quotation mark or a backslash.
const fn marks(word: u64) -> u64 {
    // Subtraction sets the highest bit of an octet below 32 that had it not, and of one that is zero after the
    // exclusive or. A borrow may set more of them, but none where there is no such octet.
    let [quotes, slashes] = [word ^ (ONES * b'"' as u64), word ^ (ONES * b'\\' as u64)];
    let controls = word.wrapping_sub(SPACES) & !word;
    let quotes = quotes.wrapping_sub(ONES) & !quotes;
    let slashes = slashes.wrapping_sub(ONES) & !slashes;
    (word | controls | quotes | slashes) & (ONES << 7)
}

/// Appends values of measures, whose names consist of letters, digits and underscores.
fn push_counts(counts: &Counts, line: &mut Vec<u8>) {
    let (names, at) = (&**NAMES, line.len());
    for (measure, value) in &counts.0 {
        let Some(name) = measure.number().and_then(|number| names.get(number)?.as_ref()) else {
            push_made_name(*measure, line);
            push_number(*value, line);
            continue;
        };
        let end = line.len() + name.length;
        line.extend_from_slice(&name.octets);
        if *value == 0 {
            // Most values are.
            line.truncate(end + 1);
        } else {
            line.truncate(end);
            push_number(*value, line);
        }
    }
    match line.get_mut(at) {
        Some(comma) => *comma = b'{',
        None => line.push(b'{'),
    }
    line.push(b'}');
}

/// Appends a name that depends on the bounds of size classes, like those in [`NAMES`].
fn push_made_name(measure: Measure, line: &mut Vec<u8>) {
    let mut name = String::from(",\"");
    measure.push_name(&mut name);
    name.push_str("\":");
    line.extend_from_slice(name.as_bytes());
}

/// Appends a metric, or null. Most shares are zero or one.
fn push_share(value: Option<f64>, line: &mut Vec<u8>) -> serde_json::Result<()> {
    match value.map(f64::to_bits) {
        None => line.extend_from_slice(b"null"),
        Some(0) => line.extend_from_slice(b"0.0"),
        Some(ONE) => line.extend_from_slice(b"1.0"),
        Some(_) => serde_json::to_writer(line, &value)?,
    }
    Ok(())
}

/// Appends metrics by their symbols; those of another process may need an escape.
fn push_metrics(metrics: &Named<Option<f64>>, line: &mut Vec<u8>) -> serde_json::Result<()> {
    line.push(b'{');
    for (place, (name, value)) in metrics.0.iter().enumerate() {
        if place > 0 {
            line.push(b',');
        }
        match name {
            Cow::Borrowed(symbol) => {
                line.push(b'"');
                line.extend_from_slice(symbol.as_bytes());
                line.push(b'"');
            }
            Cow::Owned(other) => serde_json::to_writer(&mut *line, other)?,
        }
        line.push(b':');
        push_share(*value, line)?;
    }
    line.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_blocks_with_any_name_have_the_octets_of_serde() {
        let block = |name: Option<&str>| Block {
            name: name.map(Text::from),
            server: "10.0.0.1:102".into(),
            reports: 10,
            intervals: 9,
            interval_total_ns: u64::MAX,
            interval_min_ns: None,
            interval_p50_ns: Some(1),
            interval_max_ns: Some(256),
        };
        let names =
            ["", "IED1/LLN0$BR$one", "a\"b", "a\\b", "tab\t", "\u{1f}\u{7f}", "Schütz", "\u{2028}"];
        let each = names.map(Some).into_iter().chain([None]);
        for control_blocks in [Vec::new(), each.map(block).collect()] {
            let ends = ["10.0.0.1:102".into(), "[fd00::1]:9".into()];
            let of = ControlBlocks { id: 7, ends, control_blocks };
            let (record, mut line) = (Record::ControlBlocks(Box::new(of)), Vec::new());
            record.write_line(&mut line).unwrap();
            let expected = format!("{}\n", serde_json::to_string(&record).unwrap());
            assert_eq!(String::from_utf8(line).unwrap(), expected);
        }
    }

    #[test]
    fn texts_need_an_escape_as_serde_says() {
        for octet in 0..=0x7F_u8 {
            for length in 0..20 {
                for place in 0..length {
                    let mut text = vec![b'!'; length];
                    text[place] = octet;
                    let text = String::from_utf8(text).unwrap();
                    let escaped = serde_json::to_string(&text).unwrap().len() > length + 2;
                    assert_eq!(is_plain(text.as_bytes()), !escaped, "{text:?}");
                    let mut line = Vec::new();
                    push_text(&text, &mut line).unwrap();
                    assert_eq!(line, serde_json::to_vec(&text).unwrap());
                }
            }
        }
        assert!(is_plain(b"") && !is_plain("Schütz, Ost".as_bytes()));
    }

    #[test]
    fn connections_in_any_state_have_the_octets_of_serde() {
        let named = |value| Named(vec![(Cow::Borrowed("R_OM"), value)]);
        for (place, value) in
            [None, Some(0.0), Some(-0.0), Some(1.0), Some(0.1), Some(1e300), Some(f64::NAN)]
                .into_iter()
                .enumerate()
        {
            let time = Some(place as u64).filter(|place| *place % 2 == 1);
            let identity = Identity {
                id: u32::MAX,
                ends: ["a\"b".into(), "[fd00::1]:9".into()],
                references: [time.map(|time| time as u16), Some(u16::MAX)],
                class: time.map(|_| 4),
                user: "S7".into(),
                confidence: "likely".into(),
                state: "closed".into(),
                ending: time.map(|_| "graceful".into()),
                opening_ns: time,
                established_ns: Some(u64::MAX),
                closing_ns: None,
                closed_ns: time,
                last_ns: 7,
                until_ns: time,
            };
            let (directions, metrics) = (Default::default(), [named(value), named(None)]);
            let of = Connection { connection: identity, directions, metrics };
            let (record, mut line) = (Record::Connection(Box::new(of)), Vec::new());
            record.write_line(&mut line).unwrap();
            let expected = format!("{}\n", serde_json::to_string(&record).unwrap());
            assert_eq!(String::from_utf8(line).unwrap(), expected);
        }
    }
}
