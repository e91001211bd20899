//! `tidewire dissect`: every layer of frames, one line each.

mod tsdus;

use super::watch::{name_of, open};
use crate::args::Dissect;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, Output};
use serde::Serialize;
use std::io;
use std::path::Path;
use tsdus::{Reassembled, Tsdus};
use wire::dissect::{Link, dissect_cut};
use wire::read::Malformed;
use wire::time::Instant;

/// A line of NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Record<'a> {
    Frame {
        number: u64,
        at_ns: Option<u64>,
        octets: usize,
        original_octets: usize,
        layers: Vec<String>,
        /// TSDUs that end with the frame, of several DTs or TCP segments.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tsdus: Vec<Reassembled>,
        fault: Option<Fault>,
    },
    End {
        complete: bool,
        frames: u64,
        error: Option<&'a str>,
    },
}

/// Error that stopped the reading of a frame, with its offset from the start.
#[derive(Serialize)]
struct Fault {
    field: &'static str,
    offset: usize,
}

/// Frame to print.
struct Frame<'a> {
    number: u64,
    /// Time of the frame, and time since the first.
    at: Option<(Instant, f64)>,
    link: Link,
    octets: &'a [u8],
    original_octets: usize,
}

pub(crate) fn run(options: &Dissect, output: &Output) -> anyhow::Result<Exit> {
    let told = match (&options.read, &options.hex) {
        (Some(path), _) => {
            output::install_interrupts()?;
            capture(path, options.count.unwrap_or(u64::MAX), output)?
        }
        (None, Some(hex)) => {
            let octets = octets(hex).map_err(|failure| no_octets(hex, failure))?;
            let original_octets = octets.len();
            let link = Link::Ethernet;
            let frame = Frame { number: 1, at: None, link, octets: &octets, original_octets };
            tell(&frame, &mut Tsdus::new(), output)?;
            (1, None)
        }
        (None, None) => return Err(Failure::usage("--read or octets are needed").into()),
    };
    let (frames, failure) = told;
    let interrupted = interrupt::requested();
    let error = match (&failure, interrupted) {
        (_, true) => Some("interrupted".to_owned()),
        (Some(failure), false) => Some(failure.to_string()),
        (None, false) => None,
    };
    output.record(&Record::End { complete: error.is_none(), frames, error: error.as_deref() })?;
    match (failure, interrupted) {
        (_, true) => Ok(Exit::Interrupted),
        (Some(failure), false) => Err(failure.into()),
        (None, false) => Ok(Exit::Ok),
    }
}

/// Prints the first frames of a capture. Returns their number and the error that stopped it.
fn capture(path: &Path, count: u64, output: &Output) -> anyhow::Result<(u64, Option<Failure>)> {
    // Frames scroll past, so no bar is drawn.
    let quiet = Output { json: output.json, quiet: true };
    let mut capture = match open(path, &quiet) {
        Ok(capture) => capture,
        Err(failure) => return Ok((0, Some(failure))),
    };
    let (mut number, mut first, mut tsdus) = (0, None, Tsdus::new());
    while number < count && !interrupt::requested() {
        let record = match capture.next() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => {
                let failure = Failure::failed(format!("{}: {error}", name_of(path)));
                return Ok((number, Some(failure)));
            }
        };
        number += 1;
        // Frames need not come in the order of their times.
        let nanos = |at: Instant| at.as_nanos() as i128;
        let since = nanos(record.at) - nanos(*first.get_or_insert(record.at));
        tell(
            &Frame {
                number,
                at: Some((record.at, since as f64 / 1e9)),
                link: record.link,
                octets: record.octets,
                original_octets: record.original_octets,
            },
            &mut tsdus,
            output,
        )?;
    }
    Ok((number, None))
}

fn tell(frame: &Frame<'_>, tsdus: &mut Tsdus, output: &Output) -> io::Result<()> {
    let &Frame { number, at, link, octets, original_octets } = frame;
    let dissection = dissect_cut(link, octets, original_octets);
    let layers: Vec<String> = dissection.layers.iter().map(ToString::to_string).collect();
    let fault = dissection.fault;
    let tsdus = tsdus.observe(frame, &dissection);
    if output.json {
        return output.record(&Record::Frame {
            number,
            at_ns: at.map(|(at, _)| at.as_nanos()),
            octets: octets.len(),
            original_octets,
            layers,
            tsdus,
            fault: fault.map(|Malformed { field, offset }| Fault { field, offset }),
        });
    }
    let cut = if octets.len() < original_octets {
        format!(" of {original_octets}")
    } else {
        String::new()
    };
    let since = at.map(|(_, seconds)| format!("{seconds:.9} s, ")).unwrap_or_default();
    output.line(format_args!("{number}: {since}{}{cut} octets", octets.len()))?;
    for layer in layers {
        output.line(format_args!("    {layer}"))?;
    }
    for tsdu in &tsdus {
        output.line(format_args!("    {}", tsdu.title()))?;
        tsdu.layers.iter().try_for_each(|layer| output.line(format_args!("      {layer}")))?;
    }
    fault.iter().try_for_each(|fault| output.line(format_args!("    {fault}")))
}

/// Failure of an argument that is no octets. It may be the path of a capture: it has a slash or a dot, or begins with
/// another sign than a digit.
fn no_octets(hex: &str, failure: Failure) -> Failure {
    let is_digit = |c: char| c.is_ascii_hexdigit() || c.is_whitespace() || ":-".contains(c);
    let is_hex = !hex.contains(['/', '.']) && hex.chars().next().is_none_or(is_digit);
    let path = Path::new(hex);
    match path.exists() {
        true if path.is_dir() => Failure::usage(format!("{hex} is a folder"))
            .with_fix("tidewire dissect -r FILE reads a capture"),
        true => failure.with_fix(format!("tidewire dissect -r {hex} reads the file")),
        false if is_hex => failure,
        false => Failure::usage(format!("no such file, and no octets in hexadecimal: {hex:?}"))
            .with_fix("tidewire dissect -r FILE reads a capture; octets have the digits 0 to f"),
    }
}

/// Octets written in hexadecimal; spaces, colons and hyphens may stand between them.
fn octets(hex: &str) -> Result<Vec<u8>, Failure> {
    let digits: Vec<char> =
        hex.chars().filter(|c| !c.is_whitespace() && !":-".contains(*c)).collect();
    let complain = |what: String| Failure::usage(format!("octets in hexadecimal: {what}"));
    let mut values = Vec::with_capacity(digits.len());
    for (place, digit) in digits.iter().enumerate() {
        let value = digit.to_digit(16).and_then(|value| u8::try_from(value).ok());
        let value = value
            .ok_or_else(|| complain(format!("{digit:?} in octet {} is no digit", place / 2)))?;
        values.push(value);
    }
    let (pairs, rest) = values.as_chunks::<2>();
    match (pairs, rest) {
        (_, [_, ..]) => Err(complain("the last octet has one digit".to_owned())),
        ([], []) => Err(complain("there are none".to_owned())),
        (pairs, []) => Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_read_however_they_are_set() {
        assert_eq!(octets("02fe: 7A-00").unwrap(), [2, 0xFE, 0x7A, 0]);
        for (text, expected) in [
            ("", "octets in hexadecimal: there are none"),
            ("02f", "octets in hexadecimal: the last octet has one digit"),
            ("02 fg", "octets in hexadecimal: 'g' in octet 1 is no digit"),
        ] {
            assert_eq!(octets(text).unwrap_err().to_string(), expected);
        }
    }
}
