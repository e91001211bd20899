//! `tidewire relay`: a bridge between two interfaces with a bad path in it, and a log of its actions.

use crate::args::relay::{Relay as Options, Ways};
use crate::exit::{Exit, Failure};
use crate::interruptible_writer::Patient;
use crate::output::{self, Output};
use crate::{interrupt, output_file, port_options, quantity};
use anyhow::Context;
use bench::scenario::Span;
use bench::session::relay;
use live::clock::{self, Correlation};
use live::relay::{Counts, Event, Relay, Selection, Sent};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use wire::dissect::{Layer, Link, dissect};
use wire::pcapng::Writer;
use wire::time::Instant;
use wire::tp::Kind;

pub(crate) fn run(options: &Options, output: &Output) -> anyhow::Result<Exit> {
    let stop = output::install_interrupts()?;
    let is_piped = options.capture.as_deref().is_some_and(|path| path.as_os_str() == "-");
    if is_piped && output.json {
        let failure = Failure::usage("--capture -: --json writes records to standard output too");
        return Err(failure.with_fix("--capture FILE").into());
    }
    // Standard output belongs to the capture.
    let output = &Output { quiet: output.quiet || is_piped, ..*output };
    let line = |line: std::fmt::Arguments<'_>| {
        if is_piped {
            crate::output::say(line);
            return Ok(());
        }
        output.line(line)
    };
    let outputs = [("--log", &options.log), ("--capture", &options.capture)];
    output_file::refuse_same(outputs.map(|(option, path)| (option, path.as_deref())))?;
    let mut relay = open(options)?;
    let mut log = options.log.as_deref().map(Log::create).transpose()?;
    let [here, there] = relay.names().map(str::to_owned);
    let names = [here.as_str(), there.as_str()];
    let mut capture =
        options.capture.as_deref().map(|to| Capture::create(to, names)).transpose()?;
    output.record(&json!({ "type": "relaying", "here": here, "there": there }))?;
    line(format_args!("relaying between {here} and {there}; Ctrl-C ends it"))?;

    let until = match &options.time {
        Some(text) => clock::now() + quantity::option::<Span>("--time", text)?.0,
        None => Instant::MAX,
    };
    let mut tell_event = |event: &Event<'_>| {
        if let Some(log) = &mut log {
            log.tell(event);
        }
    };
    let ended = relay.run_watched(until, stop, &mut tell_event, &mut |sent| {
        if let Some(capture) = &mut capture {
            capture.write(sent);
        }
    });
    // What was counted and logged until then is kept however it ended.
    let logged = log.map_or(Ok(()), Log::finish);
    let captured = capture.map_or(Ok(()), Capture::finish);
    if !is_piped {
        tell(&mut relay, [&here, &there], output)?;
    }
    let complete = ended.is_ok() && !interrupt::requested();
    output.record(&json!({ "type": "end", "complete": complete }))?;
    ended.map_err(|error| port_options::explain(error.into()))?;
    logged.context("cannot write the log")?;
    captured.context("cannot write the capture")?;
    Ok(if interrupt::requested() { Exit::Interrupted } else { Exit::Ok })
}

fn open(options: &Options) -> anyhow::Result<Relay> {
    let faults = options.fault.as_deref().map(port_options::faults).transpose()?;
    let [there, back] = match options.way {
        Ways::Both => [true, true],
        Ways::There => [true, false],
        Ways::Back => [false, true],
    };
    let faults = [there, back].map(|befalls| faults.clone().filter(|_| befalls));
    let interfaces = [options.here.clone(), options.there.clone()];
    let selection = selection(&options.tpdus)?;
    relay::open(interfaces, faults, selection, options.seed).map_err(port_options::explain)
}

fn selection(only: &[String]) -> Result<Selection, Failure> {
    if only.is_empty() {
        return Ok(Selection::Every);
    }
    let kind = |name: &String| {
        let found =
            Kind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name.trim()));
        let names = Kind::ALL.map(|kind| kind.name().to_lowercase()).join(", ");
        found.ok_or_else(|| {
            Failure::usage(format!("--tpdus: no TPDU {name:?}")).with_fix(format!("one of {names}"))
        })
    };
    Ok(Selection::Tpdus(only.iter().map(kind).collect::<Result<_, _>>()?))
}

/// A record for each frame that a fault touched.
struct Log {
    out: BufWriter<Patient<File>>,
    correlation: Correlation,
    /// The first thing that went wrong; nothing is written after it.
    failed: Option<io::Error>,
}

impl Log {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let file =
            interrupt::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self {
            out: BufWriter::new(Patient::file(file)),
            correlation: Correlation::read(),
            failed: None,
        })
    }

    fn tell(&mut self, event: &Event<'_>) {
        if self.failed.is_none() {
            let record = self.record(event);
            self.failed = serde_json::to_writer(&mut self.out, &record)
                .map_err(io::Error::from)
                .and_then(|()| self.out.write_all(b"\n"))
                .and_then(|()| self.out.flush())
                .err();
        }
    }

    fn record(&self, event: &Event<'_>) -> Value {
        // A frame that came in lies in one piece.
        let octets = event.frame.payload();
        let dissection = dissect(Link::Ethernet, octets);
        let tpdus = dissection.layers.iter().filter_map(|layer| match layer {
            Layer::Tp(pdu, _) => Some(pdu.to_string()),
            _ => None,
        });
        let wall = |at| self.correlation.to_wall(at).as_nanos();
        json!({
            "type": "fault",
            "way": if event.side == 0 { "there" } else { "back" },
            "frame": event.number,
            "action": event.action.name(),
            "arrived_ns": wall(event.arrived),
            "late_ns": wire::time::nanos(event.leaves - event.arrived),
            "octets": octets.len(),
            "tpdus": tpdus.collect::<Vec<_>>(),
        })
    }

    fn finish(mut self) -> io::Result<()> {
        self.failed.map_or_else(|| self.out.flush(), Err)
    }
}

/// Capture of every frame that leaves the relay: of each way under the name of the interface that it came in at.
struct Capture {
    writer: Writer<Box<dyn Write>>,
    interfaces: [u32; 2],
    correlation: Correlation,
    /// The first failure; nothing is written after it.
    failed: Option<io::Error>,
}

impl Capture {
    fn create(path: &Path, names: [&str; 2]) -> anyhow::Result<Self> {
        let out: Box<dyn Write> = if path.as_os_str() == "-" {
            Box::new(io::stdout())
        } else {
            let file = interrupt::create(path);
            Box::new(file.with_context(|| format!("cannot write {}", path.display()))?)
        };
        let begin = || -> io::Result<Self> {
            let mut writer = Writer::new(out)?;
            let [here, there] = names;
            let interfaces =
                [writer.interface(Link::Ethernet, here)?, writer.interface(Link::Ethernet, there)?];
            writer.flush()?;
            Ok(Self { writer, interfaces, correlation: Correlation::read(), failed: None })
        };
        begin().context("cannot write the capture")
    }

    /// Writes a frame, and hands it on at once.
    fn write(&mut self, sent: &Sent<'_>) {
        if self.failed.is_some() {
            return;
        }
        let octets = sent.frame.to_bytes();
        let interface = self.interfaces[sent.side.min(1)];
        let at = self.correlation.to_wall(sent.at);
        let written = self.writer.write(interface, at, &octets, octets.len(), "");
        self.failed = written.and_then(|()| self.writer.flush()).err();
    }

    fn finish(mut self) -> io::Result<()> {
        self.failed.map_or_else(|| self.writer.flush(), Err)
    }
}

fn tell(relay: &mut Relay, names: [&str; 2], output: &Output) -> anyhow::Result<()> {
    let [here, there] = names;
    let ways = [("there", here, there), ("back", there, here)];
    for ((way, from, to), counts) in ways.into_iter().zip(relay.counts()) {
        output.record(&record(way, &counts))?;
        let Counts { received, local, relayed, faults, .. } = counts;
        output.line(format_args!("\n{from} to {to}"))?;
        output
            .line(format_args!("  {received} frames in, {local} of them local; {relayed} out"))?;
        output.line(format_args!(
            "  faults: {} frames, of which {} lost, {} with a wrong FCS, {} damaged, {} twice, \
             {} held back",
            faults.frames,
            faults.lost,
            faults.bad_fcs,
            faults.damaged,
            faults.duplicated,
            faults.held_back,
        ))?;
        let unmeant = [
            (counts.kernel_drops, "dropped by the kernel before the relay could take them"),
            (counts.no_room, "dropped, too many were held back"),
            (counts.not_sent, "dropped, the interface had no room"),
            (counts.held_back, "held back, from stations that send on both sides: look for a loop"),
            (counts.too_long, "dropped, too long: switch segmentation offload off (ethtool -K)"),
        ];
        for (frames, why) in unmeant.into_iter().filter(|(frames, _)| *frames > 0) {
            output.line(format_args!("  {frames} frames {why}"))?;
        }
    }
    Ok(())
}

fn record(way: &str, counts: &Counts) -> Value {
    let faults = counts.faults;
    json!({
        "type": "way", "way": way,
        "received": counts.received, "local": counts.local, "relayed": counts.relayed,
        "no_room": counts.no_room, "not_sent": counts.not_sent, "too_long": counts.too_long,
        "kernel_drops": counts.kernel_drops, "held_back": counts.held_back,
        "faults": {
            "frames": faults.frames, "lost": faults.lost, "bad_fcs": faults.bad_fcs,
            "damaged": faults.damaged, "duplicated": faults.duplicated,
            "held_back": faults.held_back,
        },
    })
}
