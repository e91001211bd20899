//! Host: users that generate traffic, the services that carry it, and the link or the network
//! connections below.
//!
//! ```text
//!   users ── flows, replies, echo, control session            users, waiting, replies
//!     │  work: time that the machine takes for each layer     work
//!   services: connection ─ transport │ datagram │ sockets     services
//!   │   CASE or MMS on a connection, titles, files            services::{association, titles, files}
//!     │   class 4 over CLNP, or class 0 and 2
//!   link ── CLNP, LLC, framing, order of frames               link, frames
//!   │   of class 0: its own TCP                               services::lines
//!    or network connections, which a driver provides          services::network
//! ```
//!
//! A host on a LAN is a [`Station`](crate::station::Station), and a host over connections is a
//! [`NetworkStation`](crate::network::NetworkStation). The users are the same above both, and so are their
//! messages and records. A host without a link ignores frames; a host of class 4 refuses network
//! connections.

mod frames;
mod link;
pub(crate) mod pdu_work;
mod replies;
mod services;
mod users;
mod waiting;
pub(crate) mod work;

pub use services::sockets::{CHECKED_SAP, MESSAGE_FLOWS};
pub use services::{FilesServed, MmsParams, Subscriptions};

use crate::clnp::{self, Network};
use crate::load::jitter::Jitter;
use crate::load::{Absence, Flow, FlowId, Record, Stage};
use crate::machine::{Machine as _, Output};
use crate::messaging::{self, Messaging, Priority};
use crate::network::NetworkConnectionId;
use crate::profile::Framing;
use crate::station::MacQueues;
use crate::transport::{Endpoint, Transport};
use crate::{tp0, tp4};
use link::Link;
use services::sockets::Sockets;
use services::{Associated, Filing, Lines, Manufacturing, Published, Titles};
use std::collections::{BTreeMap, VecDeque};
use users::Users;
use wire::addr::{Mac, Sap};
use wire::packet::Packet;
use wire::time::Instant;
use work::Works;

/// Maximum number of frames of bulk datagram flows at the medium.
const FRAMES_AHEAD: usize = 4;
/// LSAP of messages sent without a connection.
pub const MESSAGE_SAP: Sap = Sap(0x5C);

/// Parameters of a host on a LAN.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostParams {
    /// MAC address.
    pub address: Mac,
    /// Parameters of the transport entity.
    pub transport: tp4::Params,
    /// Parameters of the network layer. Peers have the NSAP of [`wire::addr::Nsap::of_station`].
    pub network: clnp::Params,
    /// Reference before the first one that it assigns.
    pub last_reference: u16,
    /// True to accept connections and answer requests.
    pub accepts: bool,
    /// Further SAPs, whose LSDUs are fetched with [`Host::unitdata`].
    pub saps: Vec<Sap>,
    /// Frame format.
    pub framing: Framing,
    /// Parameters of the messaging service, if there is one.
    pub messaging: Option<messaging::Params>,
}

/// Parameters of a host over network connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectedParams {
    /// Parameters of the transport entity.
    pub transport: tp0::Params,
    /// True to accept load, and to answer requests.
    pub accepts: bool,
    /// True to accept calls for any other TSAP, or for none, and to echo every TSDU.
    pub echoes: bool,
}

/// Destination and priority of a message.
#[derive(Clone, Copy, Debug)]
struct To {
    /// Destination station.
    station: Mac,
    /// Priority in its frames.
    priority: Priority,
}

/// An LSDU from or to one of the further SAPs; over network connections, a PDU of the control
/// session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unitdata {
    /// Other station.
    pub station: Mac,
    /// SAP, the same at both ends.
    pub sap: Sap,
    /// The LSDU.
    pub data: Packet,
}

/// Users, services and link of a host.
#[derive(Clone, Debug)]
pub struct Host {
    users: Users,
    transport: Transport,
    /// Associations, by the endpoint of their transport connection.
    associations: BTreeMap<Endpoint, Associated>,
    /// Boxed, because most hosts have none.
    mms: Option<Box<Manufacturing>>,
    /// Boxed, because most hosts have none.
    titles: Option<Box<Titles>>,
    /// File transfers. Boxed, because most hosts have none.
    files: Option<Box<Filing>>,
    /// Boxed, because most hosts of a large network have none.
    sockets: Option<Box<Sockets>>,
    /// Streams of cyclic data. Boxed, because most hosts have none.
    published: Option<Box<Published>>,
    link: Option<Link>,
    /// Network connections over its own TCP. Boxed, because most hosts have none.
    lines: Option<Box<Lines>>,
    /// Actions on network connections.
    actions: VecDeque<(NetworkConnectionId, tp0::Network)>,
    /// Work that takes time on its machine, if there is any.
    works: Option<Works>,
}

impl Host {
    /// Creates a host on a LAN, with `flows`.
    ///
    /// # Panics
    /// The parameters of the messaging service are invalid.
    #[must_use]
    pub fn new(params: HostParams, flows: Vec<Flow>) -> Self {
        let sockets = params
            .messaging
            .map(|messaging| Sockets::new(messaging).expect("the parameters were checked").into());
        let entity = tp4::Entity::new(params.transport.clone(), params.last_reference);
        let mut host = Self {
            users: Users { accepts: params.accepts, ..Users::default() },
            transport: Transport::Class4(entity),
            associations: BTreeMap::new(),
            mms: None,
            titles: None,
            files: None,
            sockets,
            published: None,
            link: Some(Link::new(params)),
            lines: None,
            actions: VecDeque::new(),
            works: None,
        };
        host.users.reserve(flows.len());
        flows.into_iter().for_each(|flow| host.add(flow));
        host
    }

    /// Creates a host over network connections, without flows.
    #[must_use]
    pub fn connected(params: ConnectedParams) -> Self {
        let ConnectedParams { transport, accepts, echoes } = params;
        Self {
            users: Users { accepts, echoes, ..Users::default() },
            transport: Transport::Network(tp0::Entity::new(transport)),
            associations: BTreeMap::new(),
            mms: None,
            titles: None,
            files: None,
            sockets: None,
            published: None,
            link: None,
            lines: None,
            actions: VecDeque::new(),
            works: None,
        }
    }

    /// Resets a host on a LAN: no flows, connections or pending data, as after a loss of power. Its
    /// MMS server, its directory and its subscriptions remain.
    ///
    /// `last_reference` is the reference before the first one that it assigns from now on.
    pub fn restart(&mut self, last_reference: u16) {
        let Some(link) = &self.link else { return };
        let queues = link.queues;
        let params = HostParams { last_reference, ..link.params.clone() };
        let mms = self.mms.take().map(|mms| Box::new(Manufacturing::new(mms.params)));
        let directory = self.take_directory();
        let tcp = self.lines.take().map(|lines| lines.tcp.params().clone());
        let subscriptions = self.published.take().unwrap_or_default().subscriptions;
        let restarted = Self::new(params, Vec::new());
        let restarted = match tcp {
            Some(tcp) => restarted.over_tcp(tcp),
            None => restarted,
        };
        let mut restarted = Self { mms, ..restarted }.with_queues(queues);
        restarted.subscribe(subscriptions);
        *self = match directory {
            Some(directory) => restarted.with_directory(directory),
            None => restarted,
        };
    }

    /// Sets the periods in which its users offer nothing.
    #[must_use]
    pub fn absent(mut self, absences: &[Absence]) -> Self {
        let senders = self.users.flows.iter_mut().map(|flowing| &mut flowing.sender);
        senders.for_each(|sender| sender.absent(absences));
        self
    }

    /// Sets the queues of its MAC.
    #[must_use]
    pub fn above(self, queues: MacQueues) -> Self {
        self.with_queues(Some(queues))
    }

    fn with_queues(mut self, queues: Option<MacQueues>) -> Self {
        if let Some(link) = &mut self.link {
            link.queues = queues;
        }
        self
    }

    /// Next record of its users.
    pub fn record(&mut self) -> Option<Record> {
        self.users.records.pop_front()
    }

    /// Next LSDU for one of the further SAPs.
    pub fn unitdata(&mut self) -> Option<Unitdata> {
        self.users.unitdata.pop_front()
    }

    /// Sends an LSDU from one of the further SAPs. Over network connections, it goes over the
    /// connection of the control session with the station if there is one, else over a new one.
    pub fn send_unitdata(&mut self, now: Instant, unitdata: Unitdata) {
        match &mut self.link {
            Some(link) => link.send_unitdata(now, unitdata),
            None => self.send_control(now, unitdata),
        }
        self.drain(now);
    }

    /// Adds a flow; it begins at its start time, or at once if that is past.
    pub fn add(&mut self, flow: Flow) {
        self.users.add(flow);
    }

    /// Draws the intervals of a flow from this table, before its first message. A flow whose pattern
    /// has no period ignores it.
    pub fn deviate(&mut self, flow: FlowId, jitter: Jitter) {
        self.users.deviate(flow, jitter);
    }

    /// Stops further messages from becoming due: flows end when the messages already handed over
    /// are delivered.
    pub fn wind_up(&mut self, now: Instant) {
        for place in 0..self.users.flows.len() {
            let sender = &mut self.users.flows[place].sender;
            match sender.stage() {
                // The flow has not begun, and will not.
                Stage::Waiting => self.users.end(place),
                // Its connection is no longer needed.
                Stage::Opening => self.abandon(now, place),
                Stage::Running | Stage::Finishing | Stage::Over => {
                    sender.wind_up();
                    self.users.waiting.wake(place);
                }
            }
        }
        self.drain(now);
    }

    /// Ends all flows: connections are released, waiting messages are dropped.
    pub fn stop(&mut self, now: Instant) {
        for place in 0..self.users.flows.len() {
            self.abandon(now, place);
        }
        self.drain(now);
    }

    /// Returns true if every flow has ended. Over network connections, those of the flows are then
    /// closed: all sent data was read by the peer's host, or is known to be lost.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.users.under_way == 0
    }

    /// Number of times a flow was examined for pending work: the cost of its users.
    #[must_use]
    pub const fn looks(&self) -> u64 {
        self.users.looks
    }

    /// Number of TSDUs echoed.
    #[must_use]
    pub const fn echoed(&self) -> u64 {
        self.users.echoed
    }

    /// Read access to its transport entity.
    #[must_use]
    pub const fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Read access to its messaging service.
    #[must_use]
    pub fn messaging(&self) -> Option<&Messaging> {
        self.sockets.as_deref().map(Sockets::messaging)
    }

    /// Read access to its network layer, if it is on a LAN.
    #[must_use]
    pub fn network(&self) -> Option<&Network> {
        self.link.as_ref().map(|link| &link.network)
    }

    // ---- the loop ---------------------------------------------------------------------------------

    /// Forwards the outputs of all machines until there are none.
    fn drain(&mut self, now: Instant) {
        while self.poll_transport(now)
            || self.poll_lines(now)
            || self.poll_link(now)
            || self.poll_sockets(now)
            || self.pump(now)
            || self.confirm(now)
        {}
    }

    /// Forwards the next output of the transport entity, if any.
    fn poll_transport(&mut self, now: Instant) -> bool {
        let indication = match &mut self.transport {
            Transport::Class4(entity) => match entity.poll() {
                Some(Output::Deliver(indication)) => indication,
                Some(Output::Send(nsdu)) => {
                    self.send_nsdu(now, nsdu);
                    return true;
                }
                Some(Output::Note(_)) => return true,
                None => return false,
            },
            Transport::Network(entity) => match entity.poll() {
                Some(Output::Deliver(indication)) => indication,
                Some(Output::Send((line, action))) => {
                    match self.lines {
                        Some(_) => self.act_on_line(now, line, action),
                        None => self.actions.push_back((line, action)),
                    }
                    return true;
                }
                Some(Output::Note(_)) => return true,
                None => return false,
            },
        };
        self.indicate(now, indication);
        true
    }

    /// Delivers the next LSDU that waits in the link, if any.
    fn poll_link(&mut self, now: Instant) -> bool {
        let Some(lsdu) = self.link.as_mut().and_then(Link::poll_lsdu) else { return false };
        self.receive_lsdu(now, lsdu.station, lsdu.sap, lsdu.data);
        true
    }

    /// Delivers a received LSDU to the user of its SAP.
    #[inline]
    fn receive_lsdu(&mut self, now: Instant, station: Mac, sap: Sap, data: Packet) {
        match sap {
            Sap::ISO_NETWORK => self.receive_npdu(now, station, data),
            MESSAGE_SAP => self.datagram(now, station, &data),
            _ => self.users.keep_unitdata(Unitdata { station, sap, data }),
        }
    }
}
