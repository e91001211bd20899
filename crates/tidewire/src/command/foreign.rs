//! `tidewire measure --foreign-peer`: connections to a peer that is no tidewire, over TCP.

use crate::args::Measure;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::{interrupt, port_options, quantity};
use bench::scenario::Span;
use bench::session::foreign::{Found, Inquiry, inquire};
use bench::session::iso_tcp::Class;
use serde_json::{Value, json};
use stats::histogram::Histogram;
use std::time::Duration;
use wire::time::nanos;

/// Default number of connections without --messages.
const CONNECTIONS: u64 = 10;
/// Timeout of every step of a peer.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn run(measure: &Measure, output: &Output) -> anyhow::Result<Exit> {
    let inquiry = inquiry(measure)?;
    let stop = output::install_interrupts()?;
    let found = inquire(&inquiry, stop).map_err(port_options::explain)?;
    let interrupted = interrupt::requested();
    output.record(&record(&inquiry, &found, !interrupted))?;
    print(&inquiry, &found, output)?;
    if interrupted {
        return Ok(Exit::Interrupted);
    }
    if found.opened == 0 {
        let why = found.failure.map_or_else(String::new, |reason| reason.to_string());
        let message = format!("no connection to iso-tcp://{} opened: {why}", inquiry.remote);
        return Err(Failure::failed(message).into());
    }
    Ok(Exit::Ok)
}

fn inquiry(measure: &Measure) -> anyhow::Result<Inquiry> {
    if measure.scenario.is_some() || measure.datagram || measure.bytes.is_some() {
        let fix = "--messages, --period, --echoes and --size say what it gets";
        let message = "a foreign peer has agreed to no load";
        return Err(Failure::usage(message).with_fix(fix).into());
    }
    let url = measure.port.over.as_deref().unwrap_or_default();
    let pause: Span = quantity::option("--period", &measure.period)?;
    Ok(Inquiry {
        remote: port_options::over(url)?,
        class: port_options::class(measure.class)?,
        called: tsap("--called", &measure.foreign.called)?,
        calling: tsap("--calling", &measure.foreign.calling)?,
        connections: measure.messages.unwrap_or(CONNECTIONS),
        pause: pause.0,
        echoes: measure.foreign.echoes,
        echo_octets: port_options::size("--size", &measure.size)?,
        patience: PATIENCE,
    })
}

/// A TSAP-ID in hexadecimal.
pub(super) fn tsap(name: &str, text: &str) -> Result<Vec<u8>, Failure> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0 && digits.len() <= 64);
    let octets = digits.map(|digits| digits.chunks(2).map(|two| two[0] << 4 | two[1]).collect());
    octets.ok_or_else(|| {
        let fix = "two hexadecimal digits for each octet, of which there are 32 at most";
        Failure::usage(format!("{name} {text:?} is not a TSAP-ID")).with_fix(fix)
    })
}

const fn class_name(class: Class) -> &'static str {
    match class {
        Class::Class0 => "class 0",
        Class::Class2 { flow_control: false } => "class 2 without flow control",
        Class::Class2 { flow_control: true } => "class 2 with flow control",
    }
}

fn print(inquiry: &Inquiry, found: &Found, output: &Output) -> anyhow::Result<()> {
    output.line(format_args!(
        "iso-tcp://{}: {} of {} connections opened",
        inquiry.remote, found.opened, found.asked
    ))?;
    if let Some(class) = found.class {
        let octets = found.tpdu_octets;
        output.line(format_args!("  {}, TPDUs of up to {octets} octets", class_name(class)))?;
    }
    spread("set-up", &found.setup, output)?;
    spread("response", &found.response, output)?;
    if found.differing + found.unanswered > 0 {
        output.line(format_args!(
            "  {} messages came back changed or unasked, {} did not come back",
            found.differing, found.unanswered
        ))?;
    }
    if let Some(reason) = found.failure {
        output.line(format_args!("  a connection failed: {reason}"))?;
    }
    Ok(())
}

fn spread(name: &str, histogram: &Histogram, output: &Output) -> anyhow::Result<()> {
    if histogram.is_empty() {
        return Ok(());
    }
    let at =
        |share| quantity::quantile(share, histogram.count(), histogram.quantile(share).map(nanos));
    Ok(output.line(format_args!(
        "  {name:9} p50 {}  p99 {}  max {}  (n = {})",
        at(0.5),
        at(0.99),
        quantity::span(histogram.max().map_or(0, nanos)),
        histogram.count()
    ))?)
}

fn record(inquiry: &Inquiry, found: &Found, complete: bool) -> Value {
    let spread = |histogram: &Histogram| {
        let quantile = |share| histogram.quantile(share).map(nanos);
        json!({
            "count": histogram.count(),
            "p50_ns": quantile(0.5),
            "p99_ns": quantile(0.99),
            "max_ns": quantile(1.0),
        })
    };
    json!({
        "type": "foreign",
        "peer": format!("iso-tcp://{}", inquiry.remote),
        "complete": complete,
        "asked": found.asked,
        "opened": found.opened,
        "class": found.class.map(class_name),
        "tpdu_octets": found.tpdu_octets,
        "setup": spread(&found.setup),
        "response": spread(&found.response),
        "differing": found.differing,
        "unanswered": found.unanswered,
        "failure": found.failure.map(|reason| reason.to_string()),
    })
}
