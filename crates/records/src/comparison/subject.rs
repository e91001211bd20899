//! Identity of a stream or poller, by which a prediction is matched with watched traffic.

use crate::{CyclicStream, StreamInterval, Text, Transactions};
use core::fmt;
use core::net::SocketAddr;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Stream of cyclic data, function of a server, or connection that polls.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(rename = "StreamOrPoller")]
pub enum Subject {
    /// Stream of cyclic data.
    Stream {
        /// Protocol.
        protocol: String,
        /// Publisher.
        source: String,
        /// Station or group that it sends to.
        destination: String,
        /// APPID, FrameID and so on.
        identifier: u32,
        /// gocbRef, svID and so on; null where the stream has none.
        name: Option<String>,
    },
    /// Function of a unit of a server.
    Function {
        /// Protocol.
        protocol: String,
        /// Server.
        server: String,
        /// Unit at the server or behind it.
        unit: u32,
        /// Function code.
        function: u16,
    },
    /// Transport connection whose requests are answered.
    Poller {
        /// Station that sends the requests.
        client: String,
        /// Station that answers.
        server: String,
        /// Number of the connection among those of the two stations, from 1.
        number: u64,
    },
}

impl Subject {
    pub(super) fn of_stream(stream: &CyclicStream) -> Self {
        let CyclicStream { protocol, source, destination, identifier, name, .. } = stream.clone();
        Self::Stream { protocol, source, destination, identifier, name }
    }

    pub(super) fn of_interval(stream: &StreamInterval) -> Self {
        let StreamInterval { protocol, source, destination, identifier, name, .. } = stream.clone();
        Self::Stream { protocol, source, destination, identifier, name }
    }

    pub(super) fn of_function(of: &Transactions) -> Self {
        let (protocol, server) = (of.protocol.clone(), of.server.clone());
        Self::Function { protocol, server, unit: of.unit, function: of.function }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream { protocol, source, identifier, name: None, .. } => {
                write!(f, "{protocol} {source} {identifier:04x}")
            }
            Self::Stream { protocol, source, name: Some(name), .. } => {
                write!(f, "{protocol} {source} {name}")
            }
            Self::Function { protocol, server, unit, function } => {
                write!(f, "{protocol} {server} unit {unit} function {function}")
            }
            Self::Poller { client, server, number: 1 } => write!(f, "{client} polls {server}"),
            Self::Poller { client, server, number } => {
                write!(f, "{client} polls {server}, connection {number}")
            }
        }
    }
}

/// Names of simulated stations by their MAC addresses; empty for traffic that was watched.
pub type Stations = BTreeMap<String, String>;

/// Numbers the connections of each pair of stations.
#[derive(Default, Debug)]
pub(super) struct Pollers {
    known: BTreeMap<u32, Subject>,
    counts: BTreeMap<(String, String), u64>,
}

impl Pollers {
    /// The connection with this number and these ends.
    pub(super) fn of(&mut self, id: u32, ends: &[Text; 2], stations: &Stations) -> Subject {
        let Self { known, counts } = self;
        let make = || {
            let [client, server] = stations_of(ends, stations);
            let count = counts.entry((client.clone(), server.clone())).or_default();
            *count += 1;
            Subject::Poller { client, server, number: *count }
        };
        known.entry(id).or_insert_with(make).clone()
    }
}

/// Stations at the ends of a connection, as scenarios of watched traffic name them: by their addresses,
/// and programs of one host by their ports, too.
fn stations_of(ends: &[Text; 2], stations: &Stations) -> [String; 2] {
    let host = |end: &Text| match end.parse::<SocketAddr>() {
        Ok(socket) => socket.ip().to_string(),
        Err(_) => end.to_string(),
    };
    let mut named = ends.each_ref().map(host);
    if named[0] == named[1] {
        named = ends.each_ref().map(Text::to_string);
    }
    named.map(|end| {
        let address = end.split_once('/').map_or(end.as_str(), |(address, _)| address);
        stations.get(address).cloned().unwrap_or(end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poller_is_named_by_its_stations() {
        let none = Stations::new();
        let names = Stations::from([("02:00:00:00:00:01".to_owned(), "10.0.0.1".to_owned())]);
        let of = |ends: [&str; 2], stations: &Stations| {
            Pollers::default().of(7, &ends.map(Text::from), stations).to_string()
        };
        assert_eq!(of(["10.0.0.1:4711", "10.0.0.9:102"], &none), "10.0.0.1 polls 10.0.0.9");
        assert_eq!(
            of(["127.0.0.1:47", "127.0.0.1:102"], &none),
            "127.0.0.1:47 polls 127.0.0.1:102"
        );
        let ends = ["02:00:00:00:00:01/49", "02:00:00:00:00:02"];
        assert_eq!(of(ends, &names), "10.0.0.1 polls 02:00:00:00:00:02");
    }
}
