//! `tidewire serve`: the peer of `measure`. It sends nothing but answers to its callers.

use crate::args::Serve;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::{interrupt, port_options, quantity};
use bench::analysis::Unit;
use bench::scenario::{Span, Transport};
use bench::session::SessionError;
use bench::session::foreign::is_near;
use bench::session::iso_tcp::{Class, End};
use bench::session::responder::{Responder, Served};
use bench::titles::{self, Entries};
use live::clock;
use serde_json::{Value, json};
use std::path::Path;
use wire::time::{Instant, nanos};
use wire::tp::Kind;

pub(crate) fn run(serve: &Serve, output: &Output) -> anyhow::Result<Exit> {
    let stop = output::install_interrupts()?;
    let until = match &serve.time {
        Some(text) => clock::now() + quantity::option::<Span>("--time", text)?.0,
        None => Instant::MAX,
    };
    let mut responder = listen(serve, output)?;
    let (mut sessions, mut lost) = (0, 0);
    while serve.runs == 0 || sessions < serve.runs {
        let served = responder.serve(until, stop).map_err(port_options::explain)?;
        let Some(served) = served else { break };
        sessions += 1;
        lost += u64::from(!served.complete);
        output.record(&record(&served))?;
        print(&served, output)?;
    }
    let echoed = responder.echoed();
    responder.close().map_err(port_options::explain)?;
    let interrupted = interrupt::requested();
    if serve.port.foreign_peer {
        output.line(format_args!("{echoed} messages echoed to foreign peers"))?;
    }
    output.record(&json!({
        "type": "end", "complete": !interrupted, "sessions": sessions, "lost": lost,
        "echoed": echoed,
    }))?;
    Ok(if interrupted { Exit::Interrupted } else { Exit::Ok })
}

/// Opens the port to serve on, and prints it.
fn listen(serve: &Serve, output: &Output) -> anyhow::Result<Responder> {
    let titles = serve.directory.as_deref().map(titles).transpose()?;
    let Some(url) = &serve.port.over else {
        let way = port_options::open(&serve.port, 2)?;
        let directory = titles.map(|titles| titles.directory_at(way.addr()));
        let (name, station) = (way.name().to_owned(), way.addr().to_string());
        output.record(&json!({ "type": "listening", "port": name, "station": station }))?;
        output.line(format_args!("serving on {name} as {station}; Ctrl-C ends it"))?;
        let responder = Responder::new(way, &Transport::lan()).map_err(port_options::explain)?;
        return Ok(match directory {
            Some(directory) => responder.with_directory(directory),
            None => responder,
        });
    };
    let address = port_options::over(url)?;
    if serve.port.foreign_peer && !is_near(address.ip()) {
        return Err(port_options::explain(SessionError::TooFar(address)));
    }
    let way = port_options::open_iso_tcp(&serve.port, End::Server(address), Class::Class0)?;
    let name = way.name().to_owned();
    output.record(&json!({ "type": "listening", "port": name }))?;
    output.line(format_args!("serving on {name}; Ctrl-C ends it"))?;
    Responder::iso_tcp(way).map_err(port_options::explain)
}

/// Titles of a file, each of which leads to a station.
fn titles(path: &Path) -> anyhow::Result<Entries> {
    let fix = "a title and its station on each line, or an SCL file: tidewire help scenario";
    let wrong = |message: String| Failure::usage(message).with_fix(fix);
    let entries = titles::read(path).map_err(|error| wrong(error.to_string()))?.entries;
    if let Some((title, line)) = entries.loops().next() {
        let lost = format!("the titles from \"{title}\" on lead to no station");
        return Err(wrong(format!("{}:{line}: {lost}", path.display())).into());
    }
    Ok(entries)
}

fn print(served: &Served, output: &Output) -> anyhow::Result<()> {
    let Served { peer, purpose, counts, took, .. } = served;
    output.line(format_args!("\n{peer}: {purpose}"))?;
    output.line(format_args!(
        "  {} messages delivered, {} octets, {} duplicated, {} damaged, in {}",
        counts.delivered,
        counts.octets,
        counts.duplicates,
        counts.damaged,
        quantity::span(nanos(*took)),
    ))?;
    let files = served.files;
    if files.files + files.failed > 0 {
        output.line(format_args!(
            "  {} files transferred, {} octets; {} failed",
            files.files, files.octets, files.failed
        ))?;
    }
    if served.delay.count() > 0 {
        let delay = &served.delay;
        let at = |share| quantity::quantile(share, delay.count(), delay.quantile(share).map(nanos));
        output.line(format_args!(
            "  one-way delay, same clock: p50 {}  p99 {}  max {}  (n = {})",
            at(0.5),
            at(0.99),
            quantity::span(delay.max().map_or(0, nanos)),
            delay.count(),
        ))?;
    }
    let bits = counts.octets as f64 * 8.0 / took.as_secs_f64().max(1e-9);
    output.line(format_args!("  {}", quantity::value(Unit::BitsPerSecond, bits)))?;
    if !served.complete {
        output.line("  the peer vanished: no frame arrived for a second")?;
    }
    Ok(())
}

/// Counts of TPDUs by their names.
pub(crate) fn by_kind(counts: [u64; 10]) -> Value {
    let pairs = Kind::ALL.into_iter().zip(counts);
    pairs.map(|(kind, count)| (kind.name().to_lowercase(), json!(count))).collect()
}

fn record(served: &Served) -> Value {
    let Served { counts, files, transport, .. } = served;
    let quantile = |share| served.delay.quantile(share).map(nanos);
    json!({
        "type": "session",
        "peer": served.peer.to_string(),
        "purpose": served.purpose,
        "complete": served.complete,
        "delivered": counts.delivered,
        "delivered_octets": counts.octets,
        "duplicates": counts.duplicates,
        "damaged": counts.damaged,
        "frames": counts.frames,
        "took_ns": nanos(served.took),
        "files": {
            "transferred": files.files,
            "octets": files.octets,
            "failed": files.failed,
        },
        "delay": {
            "count": served.delay.count(),
            "p50_ns": quantile(0.5),
            "p99_ns": quantile(0.99),
            "max_ns": quantile(1.0),
        },
        "transport": {
            "received": by_kind(transport.received),
            "sent": by_kind(transport.sent),
            "dt_duplicates": transport.duplicates,
            "frozen_reference": transport.frozen_reference,
            "dt_out_of_order": transport.out_of_order,
            "bad_checksum": transport.bad_checksum,
        },
    })
}
