//! Ports by their text form: the second argument of LLCon.

use core::net::SocketAddr;
use live::port::{
    AfPacket, AfPacketParams, Hub, Port, PortError, Reach, Stamp, Udp, UdpParams, Wait,
};
use std::sync::LazyLock;
use wire::addr::Mac;

/// Maximum number of frames that wait for a station of this process.
const HUB_FRAMES: usize = 1_024;

/// LAN of this process.
static HUB: LazyLock<Hub> = LazyLock::new(|| Hub::new(HUB_FRAMES));

/// Error in opening a port.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("a port begins with in-process, udp or ethernet, and not with {0:?}")]
    NoSuchKind(String),
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("{word:?}: {complaint}")]
    Word { word: String, complaint: String },
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Options of a port's text form.
struct Words {
    station: Option<Mac>,
    peers: Vec<(Mac, SocketAddr)>,
    groups: Vec<Mac>,
    namespace: Option<String>,
    learn: bool,
    reach: Reach,
    wait: Wait,
}

/// Options allowed for each kind of port.
const OF_HUB: &[&str] = &["station"];
const OF_UDP: &[&str] = &["station", "peer", "learn", "any-host", "spin"];
const OF_ETHERNET: &[&str] = &["station", "group", "namespace", "spin"];

impl Words {
    fn read<'a>(words: impl Iterator<Item = &'a str>, known: &[&str]) -> Result<Self, OpenError> {
        let mut this = Self {
            station: None,
            peers: Vec::new(),
            groups: Vec::new(),
            namespace: None,
            learn: false,
            reach: Reach::ThisHost,
            wait: Wait::Block,
        };
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let complaint = if known.contains(&name) {
                this.word(name, value).err()
            } else {
                Some(format!("the words of this port are {}", known.join(", ")))
            };
            if let Some(complaint) = complaint {
                return Err(OpenError::Word { word: word.to_owned(), complaint });
            }
        }
        Ok(this)
    }

    fn word(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "station" => self.station = Some(individual(value)?),
            "peer" => {
                let (station, address) =
                    value.split_once('@').ok_or("a peer is STATION@ADDRESS:PORT")?;
                self.peers.push((individual(station)?, socket_address(address)?));
            }
            "group" => {
                let group = mac(value)?;
                if !group.is_group() {
                    return Err("not the address of a group".to_owned());
                }
                self.groups.push(group);
            }
            "namespace" => self.namespace = Some(value.to_owned()),
            "learn" => self.learn = true,
            "any-host" => self.reach = Reach::AnyHost,
            _ => self.wait = Wait::Spin,
        }
        Ok(())
    }
}

fn mac(text: &str) -> Result<Mac, String> {
    text.parse().map_err(|error: wire::addr::NotAnAddress| error.to_string())
}

fn individual(text: &str) -> Result<Mac, String> {
    let station = mac(text)?;
    if station.is_group() { Err("a group is not a station".to_owned()) } else { Ok(station) }
}

fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("{text:?} is not an address such as 127.0.0.1:5001"))
}

/// Opens the port that `text` names.
pub(crate) fn open(text: &str) -> Result<Box<dyn Port>, OpenError> {
    let mut words = text.split_whitespace();
    match words.next().unwrap_or("") {
        "in-process" => {
            let words = Words::read(words, OF_HUB)?;
            let station = words.station.ok_or(OpenError::Missing("station=ADDRESS"))?;
            Ok(Box::new(HUB.port(station)))
        }
        "udp" => {
            let address = words.next().ok_or(OpenError::Missing("the socket's ADDRESS:PORT"))?;
            let address = socket_address(address)
                .map_err(|complaint| OpenError::Word { word: address.to_owned(), complaint })?;
            let words = Words::read(words, OF_UDP)?;
            let Words { peers, learn, reach, wait, .. } = words;
            let station = words.station.ok_or(OpenError::Missing("station=ADDRESS"))?;
            Ok(Box::new(Udp::open(UdpParams { address, station, peers, learn, reach, wait })?))
        }
        "ethernet" => {
            let interface = words.next().ok_or(OpenError::Missing("the interface's name"))?;
            let Words { station, groups, namespace, wait, .. } = Words::read(words, OF_ETHERNET)?;
            let interface = interface.to_owned();
            // Arrival times are not used here.
            let stamp = Stamp::User;
            let params = AfPacketParams { interface, namespace, station, groups, wait, stamp };
            Ok(Box::new(AfPacket::open(&params)?))
        }
        other => Err(OpenError::NoSuchKind(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, complaint: &str) {
        assert_eq!(open(text).err().map(|error| error.to_string()).as_deref(), Some(complaint));
    }

    #[test]
    fn a_text_that_names_no_port_is_refused_with_its_reason() {
        check("", "a port begins with in-process, udp or ethernet, and not with \"\"");
        check("tcp 1", "a port begins with in-process, udp or ethernet, and not with \"tcp\"");
        check("in-process", "station=ADDRESS is missing");
        check("in-process spin", "\"spin\": the words of this port are station");
        check(
            "in-process station=01:00:5e:00:00:01",
            "\"station=01:00:5e:00:00:01\": a group is not a station",
        );
        check("udp", "the socket's ADDRESS:PORT is missing");
        check("udp here", "\"here\": \"here\" is not an address such as 127.0.0.1:5001");
        check("udp 127.0.0.1:0 learn", "station=ADDRESS is missing");
        check(
            "udp 192.0.2.1:0 station=02:00:00:00:00:01",
            "192.0.2.1:0 is not a loopback address; other hosts must be allowed explicitly",
        );
        check(
            "udp 127.0.0.1:0 station=02:00:00:00:00:01 peer=02:00:00:00:00:02",
            "\"peer=02:00:00:00:00:02\": a peer is STATION@ADDRESS:PORT",
        );
        check("ethernet", "the interface's name is missing");
        check("ethernet no-such0", "no such interface: \"no-such0\"");
        check(
            "ethernet lo group=02:00:00:00:00:01",
            "\"group=02:00:00:00:00:01\": not the address of a group",
        );
    }

    #[test]
    fn stations_of_this_process_and_of_this_host_have_ports() {
        let hub = open("in-process station=02-00-00-00-00-09").unwrap();
        assert_eq!(hub.addr(), Mac::local(9));
        let peer = "peer=02:00:00:00:00:02@127.0.0.1:9";
        let udp = open(&format!(" udp  127.0.0.1:0 station=2:0:0:0:0:1 {peer} spin ")).unwrap();
        assert_eq!((udp.addr(), udp.is_unbounded()), (Mac::local(1), true));
    }
}
