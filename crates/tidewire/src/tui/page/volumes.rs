//! Volume of traffic by host, by kind of TPDU, and by size.

use super::{Room, Row, Sheet, bar, counted, percent, short};
use crate::quantity::{enough, span};
use core::cmp::Reverse;
use meter::registry::{KindCount, Measure, SizeBound, SizeCount};
use records::findings::{Grade, is_bad_share};
use records::state::Model;
use records::{Replies, Slowness, of_all_kinds, shortened, sum, tpdus as tpdus_of};
use wire::tp::Kind;

/// Returns the hosts, those with the slowest replies first, then the busiest.
pub(super) fn hosts(model: &Model, room: Room) -> Sheet {
    let width = room.columns.saturating_sub(59).clamp(12, 45);
    let mut rows: Vec<((Slowness, u64), Row)> = model
        .hosts()
        .map(|(host, [sent, received])| {
            let (dts, again) =
                (sent.count(Measure::DtTpdus), sent.count(Measure::DtRetransmissions));
            let grade = is_bad_share(again, dts).then_some(Grade::Bad);
            let replies = Replies::of(sent);
            let text = format!(
                "{} {:<width$} {:>7} {:>8} {:>6} {:>7} {:>8} {:>6} {:>7}",
                grade.map_or("  ", Grade::sign),
                shortened(host.unwrap_or("others"), width),
                short(tpdus_of(sent)),
                short(of_all_kinds(sent, KindCount::DataOctets)),
                percent(again, dts),
                short(tpdus_of(received)),
                short(of_all_kinds(received, KindCount::DataOctets)),
                short(sum([sent, received].map(|way| way.count(Measure::TransportConnections)))),
                enough(0.99, replies.count, replies.p99_ns)
                    .map_or_else(|| "-".to_owned(), |p99| span(p99).replace(' ', "")),
            );
            let order = (Slowness::of_values(sent), sum([tpdus_of(sent), tpdus_of(received)]));
            (order, Row { text, grade, host: host.map(str::to_owned), ..Row::default() })
        })
        .collect();
    rows.sort_by_key(|(order, _)| Reverse(*order));
    let heading = format!(
        "   {:<width$} {:>7} {:>8} {:>6} {:>7} {:>8} {:>6} {:>7}",
        "host", "sent", "octets", "retx", "recvd", "octets", "conn.", "reply"
    );
    let about = format!(
        "{}, the slowest replies (p99) first; Enter for connections",
        counted(rows.len() as u64, "host")
    );
    Sheet { about, heading: Some(heading), rows: rows.into_iter().map(|(_, row)| row).collect() }
}

/// Returns the TPDUs by kind.
pub(super) fn tpdus(model: &Model, room: Room) -> Sheet {
    let measures = model.measures();
    let of = |kind: Kind, count| measures.count(Measure::OfKind(kind, count));
    let all: u64 = measures.count(Measure::Tpdus);
    let greatest = Kind::ALL.into_iter().map(|kind| of(kind, KindCount::Tpdus)).max().unwrap_or(0);
    let columns = room.columns.saturating_sub(52).min(40);
    let mut rows: Vec<Row> = Kind::ALL
        .into_iter()
        .map(|kind| {
            let (tpdus, again) = (of(kind, KindCount::Tpdus), of(kind, KindCount::Retransmissions));
            Row::plain(format!(
                "   {:<4} {:>7} {:>6} {:>7} {:>8} {:>9}  {}",
                kind.name(),
                short(tpdus),
                percent(tpdus, all),
                short(again),
                short(of(kind, KindCount::HeaderOctets)),
                short(of(kind, KindCount::DataOctets)),
                bar(tpdus, greatest, columns, room.symbols),
            ))
        })
        .collect();
    let count = |name| short(measures.count(name));
    rows.extend([
        Row::default(),
        Row::plain(format!(
            "   AKs that acknowledge {}, credit {}, confirm {}, keep alive {}",
            count(Measure::AkAcknowledging),
            count(Measure::AkCrediting),
            count(Measure::AkConfirming),
            count(Measure::AkKeepingAlive),
        )),
        Row::plain(format!(
            "   empty DT parts {}, DTs beyond credit {}, unassigned TPDUs {}",
            count(Measure::DtEmptyParts),
            count(Measure::DtIntoClosedWindow),
            count(Measure::UnassignedTpdus),
        )),
    ]);
    let heading = format!(
        "   {:<4} {:>7} {:>6} {:>7} {:>8} {:>9}",
        "TPDU", "count", "share", "retx", "headers", "data"
    );
    let about = format!("{} by kind; octets of headers and of data", counted(all, "TPDU"));
    Sheet { about, heading: Some(heading), rows }
}

/// Returns TPDUs, DTs and TSDUs by size.
pub(super) fn sizes(model: &Model, room: Room) -> Sheet {
    let measures = model.measures();
    let bounds = &model.head.bounds_octets;
    let names = bounds.iter().map(|bound| (format!("to {bound}"), SizeBound::To(*bound)));
    let last = bounds.last().map_or(0, |last| *last);
    let beyond = (format!("beyond {last}"), SizeBound::Beyond(last));
    let classes: Vec<(String, [u64; 4])> = names
        .chain([beyond])
        .map(|(label, bound)| {
            (label, SizeCount::ALL.map(|count| measures.count(Measure::OfSize(count, bound))))
        })
        .collect();
    let greatest = classes.iter().map(|(_, [_, dts, ..])| *dts).max().unwrap_or(0);
    let columns = room.columns.saturating_sub(48).min(40);
    let rows = classes.into_iter().map(|(label, [tpdus, dts, again, tsdus])| {
        let grade = is_bad_share(again, dts).then_some(Grade::Bad);
        let text = format!(
            "{} {label:<12} {:>7} {:>7} {:>6} {:>7}  {}",
            grade.map_or("  ", Grade::sign),
            short(tpdus),
            short(dts),
            percent(again, dts),
            short(tsdus),
            bar(dts, greatest, columns, room.symbols),
        );
        Row { text, grade, ..Row::default() }
    });
    let heading =
        format!("   {:<12} {:>7} {:>7} {:>6} {:>7}", "octets", "TPDUs", "DTs", "retx", "TSDUs");
    let about = "by size: TPDUs whole, DTs by their data, TSDUs by theirs".to_owned();
    Sheet { about, heading: Some(heading), rows: rows.collect() }
}
