//! Counters of a host's messaging service, transport, network layer and TCP, for the counts of a sample.

use stack::clnp::{Network, Subset};
use stack::host::Host;
use std::collections::BTreeMap;

/// Adds the counters of a host's messaging service, if it has one.
pub(crate) fn add_messaging(host: &Host, counts: &mut BTreeMap<String, u64>) {
    let Some(messaging) = host.messaging() else { return };
    let (own, link) = (messaging.counters(), messaging.acknowledged().counters());
    for (name, count) in [
        ("no-buffer", own.no_buffer + link.no_buffer),
        ("bad-crc", own.bad_crc),
        ("answers-dropped", own.answers_dropped),
        ("sent-again", link.sent_again),
        ("gave-up", link.gave_up),
        ("duplicates", link.duplicates),
        ("synchronizations", link.synchronizations),
    ] {
        *counts.entry(format!("messages.{name}")).or_insert(0) += count;
    }
}

/// Adds the retransmitted DTs of a host, if there are any.
pub(crate) fn add_transport(host: &Host, counts: &mut BTreeMap<String, u64>) {
    let again = host.transport().counters().sent_again;
    if again > 0 {
        *counts.entry("transport.sent-again".to_owned()).or_insert(0) += again;
    }
}

/// Adds the counters of a host's TCP, if it has one.
pub(crate) fn add_tcp(host: &Host, counts: &mut BTreeMap<String, u64>) {
    let Some(counters) = host.tcp() else { return };
    for (name, count) in [
        ("sent", counters.sent),
        ("received", counters.received),
        ("retransmitted", counters.retransmitted),
        ("duplicates", counters.duplicates),
        ("dropped", counters.dropped),
    ] {
        *counts.entry(format!("tcp.{name}")).or_insert(0) += count;
    }
}

/// Adds the counters of a host's network layer, if it sends full headers.
pub(crate) fn add_network(host: &Host, counts: &mut BTreeMap<String, u64>) {
    let has_headers = |network: &&Network| network.params().subset != Subset::Inactive;
    let Some(network) = host.network().filter(has_headers) else { return };
    let counters = network.counters();
    for (name, count) in [
        ("segments", counters.segments_sent),
        ("discarded", counters.discarded.values().sum()),
        ("reported", counters.reported.values().sum()),
        ("too-long", counters.too_long),
    ] {
        *counts.entry(format!("network.{name}")).or_insert(0) += count;
    }
}
