//! Delays, hosts and connections, as tables of 80 columns and as records.

use super::tell::Named;
use crate::quantity::significant;
use crate::table::{Align, Table};
use meter::measure::Volume;
use meter::sight::Ending;
use meter::{Address, Connection, Direction, Host, Report, State};
use serde::Serialize;
use wire::time::nanos;
use wire::tp::Kind;

/// Hosts, and connections, that lines show.
const SHOWN: usize = 10;
/// Connections kept for the table.
const KEPT: usize = 64;
/// Columns for the two ends of a connection.
const ENDS_COLUMNS: usize = 41;

/// The connections with most TPDUs, of all that were told of.
pub(super) struct Busiest {
    kept: Vec<Connection>,
    all: u64,
}

impl Busiest {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), all: 0 }
    }

    /// Takes notice of one.
    pub(super) fn add(&mut self, connection: Connection) {
        self.all += 1;
        self.kept.push(connection);
        if self.kept.len() >= KEPT {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.kept.sort_by_cached_key(|connection| {
            (u64::MAX - connection.tpdus(), connection.start(), connection.ends)
        });
        self.kept.truncate(SHOWN);
    }

    /// The busiest, and how many there were.
    pub(super) fn table(&mut self) -> String {
        self.sort();
        let mut table = Table::new([
            ("connection", Align::Left),
            ("user", Align::Left),
            ("state", Align::Left),
            ("TPDUs", Align::Right),
            ("back", Align::Right),
        ]);
        for connection in &self.kept {
            let [there, back] = &connection.directions;
            table.row([
                shortened(&ends(connection)),
                connection.user.name().to_owned(),
                state(connection).to_owned(),
                there.all().tpdus.to_string(),
                back.all().tpdus.to_string(),
            ]);
        }
        let shown = self.kept.len() as u64;
        match self.all - shown {
            0 => table.to_string(),
            more => format!("{table}\n  and {more} more connections"),
        }
    }
}

pub(super) fn end((address, port): (Address, u16)) -> String {
    match (address, port) {
        (_, 0) => address.to_string(),
        (Address::Internet(internet), _) if internet.to_ipv4_mapped().is_none() => {
            format!("[{address}]:{port}")
        }
        _ => format!("{address}:{port}"),
    }
}

pub(super) fn ends(connection: &Connection) -> String {
    let [from, to] = connection.ends.map(end);
    format!("{from}>{to}")
}

/// As much of it as has room.
fn shortened(text: &str) -> String {
    if text.chars().count() <= ENDS_COLUMNS {
        return text.to_owned();
    }
    let half = (ENDS_COLUMNS - 2) / 2;
    let front: String = text.chars().take(half).collect();
    let back: String = text.chars().skip(text.chars().count() - half).collect();
    format!("{front}..{back}")
}

fn state(connection: &Connection) -> &'static str {
    match connection.ending {
        Some(ending) => ending_name(ending),
        None if connection.state == State::Closed && connection.history[1].is_none() => "refused",
        None => connection.state.name(),
    }
}

pub(super) const fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Graceful => "graceful",
        Ending::Abrupt => "abrupt",
        Ending::Erroneous => "erroneous",
    }
}

/// The hosts that sent and received most.
pub(super) fn host_table(mut hosts: Vec<Host>) -> String {
    let tpdus = |host: &Host| host.sent.transport.all().tpdus + host.received.transport.all().tpdus;
    hosts.sort_by_key(|host| (u64::MAX - tpdus(host), host.address));
    let mut table = Table::new([
        ("host", Align::Left),
        ("sent", Align::Right),
        ("data octets", Align::Right),
        ("again", Align::Right),
        ("received", Align::Right),
        ("data octets", Align::Right),
    ]);
    for host in hosts.iter().take(SHOWN) {
        let (sent, received) = (host.sent.transport.all(), host.received.transport.all());
        let address = host.address.map_or_else(|| "others".to_owned(), |a| a.to_string());
        table.row([
            shortened(&address),
            sent.tpdus.to_string(),
            sent.data_octets.to_string(),
            sent.retransmissions.to_string(),
            received.tpdus.to_string(),
            received.data_octets.to_string(),
        ]);
    }
    match hosts.len().saturating_sub(SHOWN) {
        0 => table.to_string(),
        more => format!("{table}\n  and {more} more hosts"),
    }
}

/// The delays that were seen; nothing where there were none.
pub(super) fn delay_table(total: &Report) -> Option<Table> {
    let mut table = Table::new([
        ("delay", Align::Left),
        ("count", Align::Right),
        ("mean", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("max", Align::Right),
        ("", Align::Left),
    ]);
    let mut is_empty = true;
    for (name, delays) in total.measures.delays.each() {
        let Some(mean) = delays.mean_ns() else { continue };
        is_empty = false;
        let ms = |nanos: u64| significant(nanos as f64 / 1e6, 3);
        table.row([
            name.to_owned(),
            delays.count.to_string(),
            ms(mean),
            ms(delays.quantile_ns(500)),
            ms(delays.quantile_ns(990)),
            ms(delays.max_ns),
            "ms".to_owned(),
        ]);
    }
    (!is_empty).then_some(table)
}

/// A connection as NDJSON has it.
#[derive(Serialize)]
pub(super) struct ConnectionRecord {
    ends: [String; 2],
    references: [Option<u16>; 2],
    class: Option<u8>,
    user: &'static str,
    confidence: &'static str,
    state: &'static str,
    ending: Option<&'static str>,
    opening_ns: Option<u64>,
    established_ns: Option<u64>,
    closing_ns: Option<u64>,
    closed_ns: Option<u64>,
    last_ns: u64,
    directions: [Named<'static, u64>; 2],
}

impl ConnectionRecord {
    pub(super) fn of(connection: &Connection) -> Self {
        let [opening, established, closing, closed] =
            connection.history.map(|at| at.map(wire::time::Instant::as_nanos));
        Self {
            ends: connection.ends.map(end),
            references: connection.references.map(|reference| reference.map(|known| known.0)),
            class: connection.class,
            user: connection.user.name(),
            confidence: connection.confidence.name(),
            state: connection.state.name(),
            ending: connection.ending.map(ending_name),
            opening_ns: opening,
            established_ns: established,
            closing_ns: closing,
            closed_ns: closed,
            last_ns: connection.last.as_nanos(),
            directions: [0, 1].map(|side: usize| direction(&connection.directions[side])),
        }
    }
}

fn direction(direction: &Direction) -> Named<'static, u64> {
    let mut values = Vec::new();
    for (kind, volume) in Kind::ALL.into_iter().zip(&direction.volumes) {
        if volume.tpdus > 0 {
            let kind = kind.name().to_lowercase();
            let Volume { tpdus, header_octets, data_octets, information_octets, retransmissions } =
                *volume;
            for (what, value) in [
                ("tpdus", tpdus),
                ("header_octets", header_octets),
                ("data_octets", data_octets),
                ("information_octets", information_octets),
                ("retransmissions", retransmissions),
            ] {
                values.push((format!("{kind}_{what}").into(), value));
            }
        }
    }
    let [acknowledging, crediting, confirming, keeping_alive] = direction.roles;
    let rest = [
        ("tsdus", direction.tsdus),
        ("tsdu_octets", direction.tsdu_octets),
        ("ak_acknowledging", acknowledging),
        ("ak_crediting", crediting),
        ("ak_confirming", confirming),
        ("ak_keeping_alive", keeping_alive),
        ("dt_into_closed_window", direction.into_closed_window),
        ("dt_empty_parts", direction.empty_parts),
        ("closed_window_ns", nanos(direction.closed_window)),
        ("ack_delays", direction.acknowledgement_delays),
        ("ack_delay_total_ns", nanos(direction.acknowledgement_delay_total)),
        ("ack_delay_max_ns", nanos(direction.acknowledgement_delay_max)),
    ];
    values.extend(rest.map(|(name, value)| (name.into(), value)));
    Named(values)
}
