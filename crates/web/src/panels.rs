//! The tables of the page: publishers, streams, requests, connections, services, hosts, delays and events.

use crate::panel::{Cell, Column, Panel, Row};
use core::cmp::Reverse;
use meter::metric::METRICS;
use meter::observation::DelayKind;
use meter::registry::{KindCount, Measure};
use records::calendar;
use records::findings::{Grade, is_bad_share};
use records::quantity::{counted, short, significant};
use records::state::{Figures, Known, Model};
use records::{
    CyclicStream, Identity, Publisher, Replies, Service, Services, Transactions, of_all_kinds, sum,
    tpdus,
};
use wire::time::Instant;

/// Most rows of a table; the text above it counts the rest.
const MOST_ROWS: usize = 500;
/// Most events.
const MOST_EVENTS: usize = 200;

/// The tables that have rows.
pub(crate) fn panels(model: &Model) -> Vec<Panel> {
    let all = [
        publishers(model),
        streams(model),
        transactions(model),
        connections(model),
        services(model),
        hosts(model),
        delays(model),
        metrics(model),
        events(model),
    ];
    all.into_iter().filter(|panel| !panel.rows.is_empty()).collect()
}

fn publishers(model: &Model) -> Panel {
    let columns = vec![
        Column::text("state", "as-declared, or what is wrong"),
        Column::text("protocol", "GOOSE or Sampled Values"),
        Column::text("publisher", "device and control block that the file declares"),
        Column::text("differences", "what frames have, not what the file has"),
        Column::text("address", "group and APPID, as seen, or else as declared"),
        Column::text("source", "address that sends the frames"),
        Column::number("frames", "frames seen"),
    ];
    let Some(publishers) = &model.publishers else {
        let about = String::new();
        return Panel { id: "publishers", title: "Publishers", about, columns, rows: Vec::new() };
    };
    let of = &publishers.totals;
    let all = of.declared + of.unexpected + of.incomplete;
    let left_out = all.saturating_sub(publishers.worst.len() as u64);
    let rest =
        if left_out > 0 { format!("; {left_out} better ones are left out") } else { String::new() };
    let about = format!(
        "{} in the file, {} seen; {} not seen, {} silent, {} unexpected, {} different{rest}",
        counted(of.declared, "publisher"),
        of.seen,
        of.not_seen,
        of.silent,
        of.unexpected,
        of.different
    );
    let rows = publishers.worst.iter().map(publisher).collect();
    Panel { id: "publishers", title: "Publishers", about, columns, rows }
}

fn publisher(it: &Publisher) -> Row {
    let cells = vec![
        Cell::text(it.state.word()),
        Cell::text(&it.protocol),
        Cell::text(it.label()),
        Cell::text(it.differences_text()),
        Cell::text(it.address()),
        Cell::text(it.source.as_deref().unwrap_or_default()),
        Cell::count(it.frames),
    ];
    Row::new(it.state.grade(), cells)
}

fn streams(model: &Model) -> Panel {
    let of = model.of_streams;
    let left_out = of.streams.saturating_sub(model.streams.len() as u64);
    let rest =
        if left_out > 0 { format!("; {left_out} better ones are left out") } else { String::new() };
    let about = format!(
        "{} of {} frames, {} missing, {} gaps longer than allowed{rest}",
        counted(of.streams, "stream"),
        of.frames,
        of.missing,
        of.silences
    );
    let columns = vec![
        Column::text("protocol", "protocol of the frames"),
        Column::text("publisher", "address that sends them"),
        Column::text("stream", "name of the stream, or its number"),
        Column::number("frames", "frames, without copies of a mirror port"),
        Column::number("missing", "frames that did not arrive, by their numbers"),
        Column::number("too long", "gaps longer than the frame before allowed"),
        Column::number("worst gap", "gap that used most of the time allowed"),
        Column::number("allowed", "time that was allowed for the worst gap"),
        Column::number("period", "learnt period"),
        Column::number("late p99", "99th percentile of what late frames were late by"),
        Column::number("late max", "most that a frame was late by"),
        Column::number("stamps to", "step of the tap's stamps: smaller deviations are none"),
        Column::number("answer max", "EtherCAT frame back, or PTP response, after this at most"),
        Column::number("no answer", "frames and requests without one"),
        Column::number("WKC low", "EtherCAT frames back with a working counter too low"),
        Column::number("transit max", "most that a frame took longer than the one before"),
        Column::number("correction", "greatest correction of Sync: time in bridges"),
        Column::text("grandmaster", "grandmaster of PTP that is announced, with its class"),
    ];
    let rows = model.streams.iter().map(stream).collect();
    Panel { id: "streams", title: "Cyclic streams", about, columns, rows }
}

fn stream(it: &CyclicStream) -> Row {
    let end = if it.silent_at_end { " and silent now" } else { "" };
    let cells = vec![
        Cell::text(&it.protocol),
        Cell::text(&it.source),
        Cell::text(it.label()),
        Cell::count(it.frames),
        Cell::count(it.missing),
        Cell(Some(it.silences), format!("{}{end}", it.silences)),
        Cell::optional_span(it.worst_gap_ns),
        Cell::optional_span(it.worst_allowed_ns),
        Cell::optional_span(it.period_ns),
        Cell::quantile(0.99, it.late_gaps.unwrap_or(0), it.late_p99_ns),
        Cell::optional_span(it.late_max_ns),
        Cell::optional_span(it.stamp_step_ns),
        Cell::optional_span(it.extra.round_trip_max_ns),
        Cell::count(it.extra.unanswered.unwrap_or(0)),
        Cell::count(it.extra.low_working_counters),
        Cell::optional_span(it.extra.transit_late_max_ns),
        Cell::optional_span(it.extra.correction_max_ns),
        Cell::text(grandmaster(it)),
    ];
    Row::new(it.grade(), cells)
}

/// Grandmaster that a stream announces, with its class; nothing of other streams.
fn grandmaster(it: &CyclicStream) -> String {
    match (&it.extra.grandmaster, it.extra.clock_class) {
        (Some(grandmaster), Some(class)) => format!("{grandmaster} class {class}"),
        _ => String::new(),
    }
}

fn transactions(model: &Model) -> Panel {
    let of = model.of_transactions;
    let left_out = of.functions.saturating_sub(model.transactions.len() as u64);
    let rest =
        if left_out > 0 { format!("; {left_out} faster ones are left out") } else { String::new() };
    let about = format!(
        "{} of devices, {}, {} without a reply, the slowest first{rest}",
        counted(of.functions, "function"),
        counted(of.requests, "request"),
        of.unanswered
    );
    let columns = vec![
        Column::text("protocol", "protocol of the requests"),
        Column::text("server", "address of the server"),
        Column::number("unit", "device at the server, or behind it"),
        Column::text("function", "function code and its name"),
        Column::number("requests", "requests, retries among them"),
        Column::number("replies", "replies, exceptions among them"),
        Column::number("exceptions", "replies that report an error"),
        Column::number("no reply", "requests without a reply in ten seconds, or at all"),
        Column::number("retries", "requests sent again before their reply"),
        Column::number("p50", "median response time"),
        Column::number("p99", "99th percentile of the response times"),
        Column::number("max", "greatest response time"),
        Column::number("period", "median time between polls of the same data"),
        Column::number("period max", "greatest time between polls of the same data"),
    ];
    let rows = model.transactions.iter().map(function).collect();
    Panel { id: "transactions", title: "Requests and replies", about, columns, rows }
}

fn function(it: &Transactions) -> Row {
    let cells = vec![
        Cell::text(&it.protocol),
        Cell::text(&it.server),
        Cell::count(it.unit.into()),
        Cell::text(it.function_label()),
        Cell::count(it.requests),
        Cell::count(it.replies),
        Cell::count(it.exceptions),
        Cell::count(it.unanswered),
        Cell::count(it.retries),
        Cell::quantile(0.5, it.responses, it.response_p50_ns),
        Cell::quantile(0.99, it.responses, it.response_p99_ns),
        Cell::optional_span(it.response_max_ns),
        Cell::quantile(0.5, it.periods, it.period_p50_ns),
        Cell::optional_span(it.period_max_ns),
    ];
    Row::new(it.grade(), cells)
}

/// Key by which the worst comes first.
fn severity(grade: Option<Grade>) -> Grade {
    grade.unwrap_or(Grade::Note)
}

fn connections(model: &Model) -> Panel {
    let known = model.connections.iter();
    let mut rows: Vec<_> = known
        .filter_map(|(id, known)| {
            let identity = known.identity.as_ref()?;
            let figures = Figures::of(known);
            let order = (severity(figures.grade()), Reverse(known.tpdus()), *id);
            Some((order, connection(*id, known, identity, &figures)))
        })
        .collect();
    rows.sort_by_key(|(order, _)| *order);
    let gone = if model.gone > 0 { format!(", {} more let go", model.gone) } else { String::new() };
    let cut = cut(rows.len(), MOST_ROWS, "those in order and quiet are left out");
    let about = format!("{}{gone}{cut}", counted(rows.len() as u64, "connection"));
    let columns = vec![
        Column::text("from", "side that asked for the connection"),
        Column::text("to", "side that was asked"),
        Column::text("user", "protocol above the transport"),
        Column::text("state", "state, or the kind of its end"),
        Column::measure("TPDUs", "transport PDUs of both sides", Measure::Tpdus),
        Column::measure("DTs", "data PDUs of both sides", Measure::DtTpdus),
        Column::measure("retx", "data PDUs that were retransmitted", Measure::DtRetransmissions),
        Column::measure(
            "closed",
            "time for which a receiver gave no credit",
            DelayKind::ClosedWindow.total(),
        ),
        Column::measure(
            "AK mean",
            "mean time from a data PDU to its acknowledgement",
            DelayKind::Acknowledgement.total(),
        ),
        Column::measure(
            "reply p99",
            "99th percentile of the response times",
            DelayKind::Response.p99(),
        ),
        Column::measure("reply max", "greatest response time", DelayKind::Response.maximum()),
    ];
    let rows = rows.into_iter().take(MOST_ROWS).map(|(_, row)| row).collect();
    Panel { id: "connections", title: "Connections", about, columns, rows }
}

/// Words for rows that are left out.
fn cut(rows: usize, most: usize, which: &str) -> String {
    if rows > most { format!("; {most} are listed, {which}") } else { String::new() }
}

fn connection(id: u32, known: &Known, identity: &Identity, figures: &Figures) -> Row {
    let [from, to] = &identity.ends;
    let closed = if figures.closed_ns == 0 { Cell::none() } else { Cell::span(figures.closed_ns) };
    let replies = (figures.replies.count > 0).then_some(figures.replies.max_ns);
    let cells = vec![
        Cell::text(from),
        Cell::text(to),
        Cell::text(&identity.user),
        Cell::text(&figures.outcome),
        Cell::count(known.tpdus()),
        Cell::count(figures.dts),
        Cell::count(figures.again),
        closed,
        Cell::optional_span(figures.delay_ns),
        Cell::quantile(0.99, figures.replies.count, figures.replies.p99_ns),
        Cell::optional_span(replies),
    ];
    Row::new(figures.grade(), cells).of_connection(id)
}

fn services(model: &Model) -> Panel {
    let found = Services::slowest_first(model.associations.values());
    let cut = cut(found.len(), MOST_ROWS, "the slowest");
    let about = format!(
        "{} of {}, the slowest first{cut}",
        counted(found.len() as u64, "service"),
        counted(model.associations.len() as u64, "association")
    );
    let columns = vec![
        Column::text("service", "name in the standard"),
        Column::text("server", "side that answers"),
        Column::number("answers", "responses and errors"),
        Column::number("failed", "errors, refused accesses, rejects and requests without answer"),
        Column::number("open", "requests outstanding"),
        Column::measure("p50", "median response time", DelayKind::MmsResponse.p50()),
        Column::measure(
            "p99",
            "99th percentile of the response times",
            DelayKind::MmsResponse.p99(),
        ),
        Column::measure("max", "greatest response time", DelayKind::MmsResponse.maximum()),
    ];
    let rows = found.into_iter().take(MOST_ROWS).map(|(of, it)| service(of.id, it)).collect();
    Panel { id: "services", title: "Services", about, columns, rows }
}

fn service(id: u32, it: &Service) -> Row {
    let cells = vec![
        Cell::text(&it.service),
        Cell::text(&it.server),
        Cell::count(it.answers),
        Cell::count(it.failed()),
        Cell::count(it.outstanding),
        Cell::quantile(0.5, it.answers, it.response_p50_ns),
        Cell::quantile(0.99, it.answers, it.response_p99_ns),
        Cell::optional_span(it.response_max_ns),
    ];
    Row::new(it.grade(), cells).of_connection(id)
}

fn hosts(model: &Model) -> Panel {
    let mut rows: Vec<_> = model
        .hosts()
        .map(|(host, [sent, received])| {
            let replies = Replies::of(sent);
            let (dts, again) =
                (sent.count(Measure::DtTpdus), sent.count(Measure::DtRetransmissions));
            let grade = is_bad_share(again, dts).then_some(Grade::Bad);
            let max = (replies.count > 0).then_some(replies.max_ns);
            let cells = vec![
                Cell::text(host.unwrap_or("others")),
                Cell::count(tpdus(sent)),
                Cell::count(tpdus(received)),
                Cell::count(of_all_kinds(sent, KindCount::DataOctets)),
                Cell::count(again),
                Cell::count(replies.count),
                Cell::optional_span(replies.mean_ns),
                Cell::quantile(0.99, replies.count, replies.p99_ns),
                Cell::optional_span(max),
            ];
            let order = (severity(grade), Reverse(sum([tpdus(sent), tpdus(received)])));
            (order, Row::new(grade, cells))
        })
        .collect();
    rows.sort_by_key(|(order, _)| *order);
    let cut = cut(rows.len(), MOST_ROWS, "the busiest");
    let about = format!("{}, the busiest first{cut}", counted(rows.len() as u64, "host"));
    let columns = vec![
        Column::text("host", "address"),
        Column::measure("sent", "TPDUs sent", Measure::Tpdus),
        Column::measure("received", "TPDUs received", Measure::Tpdus),
        Column::measure("octets", "octets of user data sent", Measure::TpduDataOctets),
        Column::measure("retx", "data PDUs that it sent again", Measure::DtRetransmissions),
        Column::measure("replies", "replies to requests", DelayKind::Response.count()),
        Column::measure("mean", "mean response time", DelayKind::Response.total()),
        Column::measure("p99", "99th percentile of its response times", DelayKind::Response.p99()),
        Column::measure("max", "its greatest response time", DelayKind::Response.maximum()),
    ];
    let rows = rows.into_iter().take(MOST_ROWS).map(|(_, row)| row).collect();
    Panel { id: "hosts", title: "Hosts", about, columns, rows }
}

fn delays(model: &Model) -> Panel {
    let measures = model.measures();
    let rows = DelayKind::ALL.into_iter().filter_map(|of| {
        let count = measures.count(of.count());
        let mean = measures.count(of.total()).checked_div(count)?;
        let at = |measure| Cell::optional_span(measures.get(measure));
        let cells = vec![
            Cell::text(of.label()),
            Cell::count(count),
            Cell::span(mean),
            at(of.p50()),
            at(of.p99()),
            at(of.maximum()),
        ];
        Some(Row::new(None, cells))
    });
    let columns = vec![
        Column::text("delay", "from one PDU to another"),
        Column::number("n", "number of delays"),
        Column::number("mean", "mean"),
        Column::number("p50", "median; known at the end, since those of intervals cannot be added"),
        Column::number("p99", "99th percentile; known at the end"),
        Column::number("max", "greatest"),
    ];
    let about = "of all connections".to_owned();
    Panel { id: "delays", title: "Delays", about, columns, rows: rows.collect() }
}

/// The metrics of the whole, or until the total is known those of the latest interval, with the text
/// of `tidewire help metrics`.
fn metrics(model: &Model) -> Panel {
    let total = model.total.as_ref().map(|it| &it.metrics);
    let latest = model.latest.as_ref().map(|it| &it.metrics);
    let values = total.or(latest);
    let rows = METRICS.iter().filter_map(|metric| {
        let value = values?.get(metric.symbol)?;
        let unit = if metric.unit == "1" { "" } else { metric.unit };
        let cells = vec![
            Cell::text(metric.symbol),
            Cell::text(metric.name),
            Cell::text(value.map_or_else(|| "n/a".to_owned(), |value| significant(value, 3))),
            Cell::text(unit),
            Cell::text(format!("= {}", metric.formula)),
            Cell::text(format!("Cannot tell {}.", metric.cannot_tell)),
            Cell::text(metric.source()),
        ];
        Some(Row::new(None, cells))
    });
    let columns = vec![
        Column::text("metric", "symbol in NBSIR 85-3104"),
        Column::text("name", "name of the metric"),
        Column::text("value", "n/a where it would divide by zero"),
        Column::text("unit", "none of a ratio"),
        Column::text("formula", "in names of the measures, which tidewire help metrics defines"),
        Column::text("limits", "limits of its interpretation"),
        Column::text("source", "equation and page of the paper"),
    ];
    let about = if total.is_some() { "of the whole" } else { "of the latest interval" };
    let about = about.to_owned();
    Panel { id: "metrics", title: "Metrics", about, columns, rows: rows.collect() }
}

fn events(model: &Model) -> Panel {
    let rows: Vec<Row> = model
        .told()
        .rev()
        .take(MOST_EVENTS)
        .map(|event| {
            let at = calendar::time_of_day(Instant::from_nanos(event.at_ns));
            let grade = event.is_bad.then_some(Grade::Look);
            Row::new(grade, vec![Cell(Some(event.at_ns), at), Cell::text(&event.text)])
        })
        .collect();
    let all = model.told().count() as u64;
    let gone = sum([model.events.gone, all.saturating_sub(rows.len() as u64)]);
    let gone =
        if gone > 0 { format!("; {} older ones are left out", short(gone)) } else { String::new() };
    let about = format!("the latest first{gone}");
    let columns = vec![
        Column::number("time", "time of day of the frame (UTC)"),
        Column::text("event", "change of a connection, oddity of frames, or loss"),
    ];
    Panel { id: "events", title: "Events", about, columns, rows }
}
