//! Records as lines of NDJSON: the octets that serde writes, with less work.
//!
//! Most of a stream is names of measures, which are part of the program and need no escape. They are
//! copied with their values; all else is left to serde. A test compares the octets of each kind.

use super::record::{Connection, ConnectionInterval, Host, HostInterval, Interval, Rest};
use super::{Counts, Named, Record};
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
            other => serde_json::to_writer(&mut *line, other)?,
        }
        line.push(b'\n');
        Ok(())
    }
}

fn interval(it: &Interval, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let Interval { index, intervals, start_ns, length_ns, complete, frames, .. } = it;
    let Interval { dropped_by_kernel, collection, measures, metrics, oddities, .. } = it;
    let mut object = Object::begin("interval", line);
    object.field("index", index)?;
    object.field("intervals", intervals)?;
    object.field("start_ns", start_ns)?;
    object.field("length_ns", length_ns)?;
    object.field("complete", complete)?;
    object.field("frames", frames)?;
    object.field("dropped_by_kernel", dropped_by_kernel)?;
    if let Some(collection) = collection {
        object.field("collection", collection)?;
    }
    object.counts("measures", measures);
    object.metrics("metrics", metrics)?;
    object.field("oddities", oddities)?;
    object.end();
    Ok(())
}

fn host_interval(it: &HostInterval, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let HostInterval { index, host, hosts, sent, received, metrics } = it;
    let mut object = Object::begin("host-interval", line);
    object.field("index", index)?;
    object.field("host", host)?;
    object.field("hosts", hosts)?;
    object.counts("sent", sent);
    object.counts("received", received);
    object.metrics("metrics", metrics)?;
    object.end();
    Ok(())
}

fn host(it: &Host, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let Host { host, sent, received, metrics } = it;
    let mut object = Object::begin("host", line);
    object.field("host", host)?;
    object.counts("sent", sent);
    object.counts("received", received);
    object.metrics("metrics", metrics)?;
    object.end();
    Ok(())
}

fn connection_interval(it: &ConnectionInterval, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let ConnectionInterval { index, connection, directions, metrics } = it;
    let mut object = Object::begin("connection-interval", line);
    object.field("index", index)?;
    object.fields_of(connection)?;
    object.list_of_counts("directions", directions.each_ref());
    object.list_of_metrics("metrics", metrics.each_ref())?;
    object.end();
    Ok(())
}

fn connection(it: &Connection, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let Connection { connection, directions, metrics } = it;
    let mut object = Object::begin("connection", line);
    object.fields_of(connection)?;
    object.list_of_counts("directions", directions.each_ref());
    object.list_of_metrics("metrics", metrics.each_ref())?;
    object.end();
    Ok(())
}

fn rest(it: &Rest, line: &mut Vec<u8>) -> serde_json::Result<()> {
    let Rest { index, connections, directions } = it;
    let mut object = Object::begin("connections-rest", line);
    object.field("index", index)?;
    object.field("connections", connections)?;
    object.list_of_counts("directions", directions.each_ref());
    object.end();
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

    fn name(&mut self, name: &str) {
        self.line.extend_from_slice(b",\"");
        self.line.extend_from_slice(name.as_bytes());
        self.line.extend_from_slice(b"\":");
    }

    fn field(&mut self, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
        self.name(name);
        serde_json::to_writer(&mut *self.line, value)
    }

    /// Adds the fields of a structure, which has at least one.
    fn fields_of(&mut self, of: &impl Serialize) -> serde_json::Result<()> {
        let at = self.line.len();
        serde_json::to_writer(&mut *self.line, of)?;
        // Its first brace becomes a comma; the last one goes.
        if let Some(brace) = self.line.get_mut(at) {
            *brace = b',';
        }
        self.line.pop();
        Ok(())
    }

    fn counts(&mut self, name: &str, counts: &Counts) {
        self.name(name);
        push_counts(counts, self.line);
    }

    fn list_of_counts(&mut self, name: &str, counts: [&Counts; 2]) {
        self.name(name);
        self.line.push(b'[');
        push_counts(counts[0], self.line);
        self.line.push(b',');
        push_counts(counts[1], self.line);
        self.line.push(b']');
    }

    fn metrics(&mut self, name: &str, metrics: &Named<Option<f64>>) -> serde_json::Result<()> {
        self.name(name);
        push_metrics(metrics, self.line)
    }

    fn list_of_metrics(
        &mut self,
        name: &str,
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

/// Names of measures with a comma before them and a colon behind, by their numbers.
static NAMES: LazyLock<Vec<String>> =
    LazyLock::new(|| Measure::numbered().map(|measure| format!(",\"{measure}\":")).collect());

/// Appends values of measures, whose names consist of letters, digits and underscores.
fn push_counts(counts: &Counts, line: &mut Vec<u8>) {
    let (names, at) = (&**NAMES, line.len());
    let mut digits = itoa::Buffer::new();
    for (measure, value) in &counts.0 {
        match measure.number().and_then(|number| names.get(number)) {
            Some(name) => line.extend_from_slice(name.as_bytes()),
            None => push_made_name(*measure, line),
        }
        match u8::try_from(*value) {
            // Most values are zero.
            Ok(digit @ 0..=9) => line.push(b'0' + digit),
            _ => line.extend_from_slice(digits.format(*value).as_bytes()),
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
        serde_json::to_writer(&mut *line, value)?;
    }
    line.push(b'}');
    Ok(())
}
