//! One connection in depth: its ends and states, the counts of each side, and sequence numbers over
//! time.

use crate::panel::{Cell, Column, Panel, Row, shown};
use meter::observation::DelayKind;
use meter::registry::{KindCount, Measure};
use records::state::{Figures, Known, Model};
use records::{Counts, Identity, Replies, calendar, of_all_kinds, tpdus};
use serde::Serialize;
use wire::time::Instant;

/// One connection.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Detail {
    /// Number of the connection in the meter.
    pub id: u32,
    /// Properties: name and value.
    pub properties: Vec<(&'static str, String)>,
    /// Counts of each side.
    pub sides: Panel,
    /// Sequence numbers of each side that sent any DT.
    pub traces: Vec<Trace>,
}

/// Sequence numbers of a side over time; none where there is no number.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Trace {
    /// Side that sent.
    pub from: String,
    /// Seconds since measuring began.
    pub seconds: Vec<f64>,
    /// One past the highest DT seen.
    pub sent: Vec<Option<u64>>,
    /// DT that the peer expects next.
    pub acknowledged: Vec<Option<u64>>,
    /// One past the last DT that the peer's credit allows.
    pub allowed: Vec<Option<u64>>,
}

impl Detail {
    /// The connection with this number, if it is known and was reported.
    pub(crate) fn of(model: &Model, id: u32) -> Option<Self> {
        let known = model.connections.get(&id)?;
        let identity = known.identity.as_ref()?;
        Some(Self {
            id,
            properties: properties(identity, known),
            sides: sides(identity, known),
            traces: traces(identity, known, model.start_ns()),
        })
    }
}

fn properties(identity: &Identity, known: &Known) -> Vec<(&'static str, String)> {
    let at = |nanos: Option<u64>| nanos.map(|at| calendar::rfc_3339(Instant::from_nanos(at)));
    let reference = |side: usize| {
        let reference = identity.references.get(side).copied().flatten();
        reference.map(|reference| format!("{reference:#06x}"))
    };
    let each = [
        ("class", identity.class.map(|class| class.to_string())),
        ("user", Some(format!("{} ({})", identity.user, identity.confidence))),
        ("state", Some(Figures::of(known).outcome)),
        ("reference of the first side", reference(0)),
        ("reference of the second side", reference(1)),
        ("CR", at(identity.opening_ns)),
        ("CC", at(identity.established_ns)),
        ("DR", at(identity.closing_ns)),
        ("end", at(identity.closed_ns)),
        ("last TPDU", at(Some(identity.last_ns))),
    ];
    each.into_iter().filter_map(|(name, value)| Some((name, shown(&value?)))).collect()
}

fn sides(identity: &Identity, known: &Known) -> Panel {
    let columns = vec![
        Column::text("sent by", "side"),
        Column::measure("TPDUs", "sent by this side", Measure::Tpdus),
        Column::measure("DTs", "data PDUs", Measure::DtTpdus),
        Column::measure("retx", "retransmitted data PDUs", Measure::DtRetransmissions),
        Column::measure("AKs", "acknowledgements", Measure::AkTpdus),
        Column::measure("octets", "octets of user data", Measure::TpduDataOctets),
        Column::measure(
            "closed",
            "time for which it had no credit",
            DelayKind::ClosedWindow.total(),
        ),
        Column::measure("beyond", "data PDUs beyond its credit", Measure::DtIntoClosedWindow),
        Column::measure(
            "AK mean",
            "mean time until its data PDUs were acknowledged",
            DelayKind::Acknowledgement.total(),
        ),
        Column::measure("replies", "replies that it sent", DelayKind::Response.count()),
        Column::measure("reply max", "its greatest response time", DelayKind::Response.maximum()),
    ];
    let directions = known.directions();
    let rows = directions.iter().zip(&identity.ends).map(|(sent, end)| side(end, sent)).collect();
    let about = "a side's counts are those of what it sent".to_owned();
    Panel { id: "sides", title: "Sides", about, columns, rows }
}

fn side(end: &str, sent: &Counts) -> Row {
    let count = |measure| Cell::count(sent.count(measure));
    let mean = |of: DelayKind| sent.count(of.total()).checked_div(sent.count(of.count()));
    let replies = Replies::of(sent);
    let cells = vec![
        Cell::text(end),
        Cell::count(tpdus(sent)),
        count(Measure::DtTpdus),
        count(Measure::DtRetransmissions),
        count(Measure::AkTpdus),
        Cell::count(of_all_kinds(sent, KindCount::DataOctets)),
        Cell::span(sent.count(DelayKind::ClosedWindow.total())),
        count(Measure::DtIntoClosedWindow),
        Cell::optional_span(mean(DelayKind::Acknowledgement)),
        Cell::count(replies.count),
        Cell::optional_span((replies.count > 0).then_some(replies.max_ns)),
    ];
    Row::new(None, cells)
}

/// Sequence numbers of the sides that sent any DT.
fn traces(identity: &Identity, known: &Known, start_ns: u64) -> Vec<Trace> {
    let of_side = |side: usize| {
        let from = identity.ends.get(side).map_or_else(String::new, |end| shown(end));
        let mut trace = Trace { from, ..Trace::default() };
        for stand in &known.trace {
            let Some(numbers) = stand.sides.get(side) else { continue };
            trace.seconds.push(stand.at_ns.saturating_sub(start_ns) as f64 / 1e9);
            trace.sent.push(numbers.sent);
            trace.acknowledged.push(numbers.acknowledged);
            trace.allowed.push(numbers.allowed);
        }
        trace
    };
    let has_any = |numbers: &[Option<u64>]| numbers.iter().flatten().any(|number| *number > 0);
    let has_numbers = |trace: &Trace| has_any(&trace.sent) || has_any(&trace.acknowledged);
    [0, 1].map(of_side).into_iter().filter(has_numbers).collect()
}
