//! Traffic matrix: TPDUs from each host to each other host, over the connections that are kept.

use super::{Room, Row, Sheet, counted, short};
use records::state::Model;
use records::{shortened, sum, tpdus};
use std::collections::BTreeMap;

/// Columns of a host's name, and of a number.
const NAME: usize = 20;
const CELL: usize = 6;

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

pub(super) fn sheet(model: &Model, room: Room) -> Sheet {
    let mut cells: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    for known in model.connections.values() {
        let Some(identity) = &known.identity else { continue };
        let [from, to] = identity.ends.each_ref().map(|end| host_of(end).to_owned());
        let [there, back] = known.directions().each_ref().map(tpdus);
        add(cells.entry((from.clone(), to.clone())).or_default(), there);
        add(cells.entry((to.clone(), from.clone())).or_default(), back);
        for host in [from, to] {
            add(sizes.entry(host).or_default(), sum([there, back]));
        }
    }
    let mut hosts: Vec<(u64, String)> =
        sizes.into_iter().map(|(host, size)| (size, host)).collect();
    hosts.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let name = NAME.min(room.columns / 2);
    let fitting = (room.columns.saturating_sub(name + 4) / (CELL + 1)).clamp(1, 26);
    let shown: Vec<&String> = hosts.iter().take(fitting).map(|(_, host)| host).collect();
    let letter = |place: usize| char::from(b'A' + (place % 26) as u8);
    let mut heading = format!("  {:<name$}  ", "from \\ to");
    for place in 0..shown.len() {
        heading.push_str(&format!("{:>CELL$} ", letter(place)));
    }
    let rows = shown.iter().enumerate().map(|(place, from)| {
        let mut text = format!("{} {:<name$}  ", letter(place), shortened(from, name));
        for to in &shown {
            let tpdus = cells.get(&((*from).clone(), (*to).clone())).copied().unwrap_or(0);
            let cell = if tpdus == 0 { "·".to_owned() } else { short(tpdus) };
            text.push_str(&format!("{cell:>CELL$} "));
        }
        Row::plain(text.trim_end())
    });
    let rows = rows.collect();
    let more = hosts.len() - shown.len();
    let more = if more > 0 {
        format!(", {} not shown", counted(more as u64, "quieter host"))
    } else {
        String::new()
    };
    let all = counted(model.connections.len() as u64, "connection");
    let about = format!("TPDUs between hosts, of {all}{more}");
    Sheet { about, heading: Some(heading.trim_end().to_owned()), rows }
}

/// Returns the host of an end, without its port.
pub(super) fn host_of(end: &str) -> &str {
    if let Some((host, _)) = end.strip_prefix('[').and_then(|end| end.split_once(']')) {
        return host;
    }
    match end.split_once(':') {
        // Only an IPv4 address has dots and a single colon.
        Some((host, port)) if host.contains('.') && !port.contains(':') => host,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_its_end_without_the_port() {
        for (end, host) in [
            ("10.0.0.1:102", "10.0.0.1"),
            ("10.0.0.1", "10.0.0.1"),
            ("[fe80::1]:102", "fe80::1"),
            ("fe80::1", "fe80::1"),
            ("02:00:00:00:00:01", "02:00:00:00:00:01"),
            ("02:00:00:00:00:01/490001", "02:00:00:00:00:01/490001"),
        ] {
            assert_eq!(host_of(end), host);
        }
    }
}
