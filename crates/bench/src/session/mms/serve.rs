//! MMS server over TCP, for clients of any make.

use super::super::SessionError;
use super::super::foreign::is_near;
use crate::mms::Item;
use core::net::SocketAddr;
use core::sync::atomic::AtomicBool;
use live::clock;
use live::iso_tcp::{IsoTcp, IsoTcpParams};
use live::runner::Control;
use stack::machine::{Deadline, Machine as _, Output};
use stack::mms::server::{Files, Indication, Model, Named, Node, Note, Params};
use stack::mms::{Proposal, Server};
use stack::network::{Network, NetworkConnectionId, NetworkStation};
use stack::tp0;
use stack::transport::{Endpoint, Transport};
use stack::upper::{self, Entity, EntityParams, Lower};
use std::collections::{BTreeSet, VecDeque};
use wire::time::Instant;

/// Maximum number of connections at a time.
const CONNECTIONS: usize = 64;
/// Maximum number of requests of an association that may be outstanding.
const OUTSTANDING: u16 = 16;

/// Contents of a server.
#[derive(Clone, PartialEq, Debug)]
pub struct Offer {
    /// Objects.
    pub model: Model,
    /// Variables that clients may write.
    pub writable: BTreeSet<Named>,
    /// Files.
    pub files: Files,
}

impl From<Model> for Offer {
    /// Objects that clients may only read.
    fn from(model: Model) -> Self {
        Self { model, writable: BTreeSet::new(), files: Files::new() }
    }
}

impl Offer {
    /// Permits clients to write a leaf; returns false if the model has none of this name.
    pub fn permit(&mut self, item: &Item) -> bool {
        let Item { domain, item } = item.clone();
        let is_leaf = matches!(self.model.node(&domain, &item), Some(Node::Leaf(_)));
        if is_leaf {
            self.writable.insert(Named { domain, item });
        }
        is_leaf
    }
}

/// Event of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Served {
    /// An association has opened.
    Opened,
    /// An association has ended.
    Closed,
    /// A client has written a variable.
    Written(Named),
}

/// MMS server, listening.
#[derive(Debug)]
pub struct MmsServer {
    wire: IsoTcp,
    host: Host,
}

impl MmsServer {
    /// Starts to listen.
    ///
    /// # Errors
    /// [`SessionError::TooFar`] for an address that is neither on this host nor in a private
    /// network, or the system's error.
    pub fn open(listen: SocketAddr, offer: Offer) -> Result<Self, SessionError> {
        if !is_near(listen.ip()) {
            return Err(SessionError::TooFar(listen));
        }
        let Offer { model, writable, files } = offer;
        let wire = IsoTcp::open(IsoTcpParams { listen: Some(listen), remote: None })?;
        let params = tp0::Params { connections: CONNECTIONS, ..tp0::Params::class0() };
        let transport = Transport::Network(tp0::Entity::new(params));
        let joint = EntityParams { joint: upper::Params::mms(), accepts: true };
        let wall = u64::try_from(clock::wall().as_nanos()).unwrap_or(u64::MAX);
        let server = Server::new(
            Params {
                proposal: Proposal { outstanding: OUTSTANDING, ..Proposal::usual() },
                associations: CONNECTIONS,
                writable,
                files,
                epoch_ns: wall.saturating_sub(clock::now().as_nanos()),
            },
            model,
        );
        let entity = Entity::new(joint, transport);
        let (outputs, events) = (VecDeque::new(), VecDeque::new());
        Ok(Self { wire, host: Host { entity, server, outputs, events, odd: 0 } })
    }

    /// Address at which it listens, with the port that the system chose.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        self.wire.address()
    }

    /// Number of requests answered so far.
    #[must_use]
    pub const fn served(&self) -> u64 {
        self.host.server.served()
    }

    /// Number of PDUs that were not decodable, or of a kind that no client sends.
    #[must_use]
    pub const fn odd(&self) -> u64 {
        self.host.odd
    }

    /// Number of leaves in its model, and of named variable lists.
    #[must_use]
    pub fn size(&self) -> Size {
        let model = self.host.server.model();
        let lists = model.domains.values().map(|domain| domain.lists.len()).sum();
        Size { domains: model.domains.len(), leaves: model.leaves(), lists }
    }

    /// Serves until `until`, or until `stop` is set, and passes each event to `on_event`.
    ///
    /// # Errors
    /// The system's error.
    pub fn serve(
        &mut self,
        until: Instant,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Served),
    ) -> Result<(), SessionError> {
        self.wire.run(&mut self.host, until, stop, |host, _| {
            host.events.drain(..).for_each(&mut *on_event);
            Control::Continue
        })?;
        Ok(())
    }
}

/// Size of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Domains.
    pub domains: usize,
    /// Leaves of all variables.
    pub leaves: usize,
    /// Named variable lists.
    pub lists: usize,
}

/// Server with the layers below.
#[derive(Debug)]
struct Host {
    entity: Entity,
    server: Server,
    outputs: VecDeque<(NetworkConnectionId, Network)>,
    events: VecDeque<Served>,
    /// PDUs of clients that were out of place or not decodable.
    odd: u64,
}

impl Host {
    fn drain(&mut self, now: Instant) {
        loop {
            if let Some(output) = self.server.poll() {
                match output {
                    Output::Send(addressed) => self.entity.request(now, addressed),
                    Output::Deliver(Indication::Opened(_)) => {
                        self.events.push_back(Served::Opened);
                    }
                    Output::Deliver(Indication::Closed(_)) => {
                        self.events.push_back(Served::Closed);
                    }
                    Output::Deliver(Indication::Written { name, .. }) => {
                        self.events.push_back(Served::Written(name));
                    }
                    Output::Note(Note::Malformed(_) | Note::OutOfPlace(_)) => self.odd += 1,
                    Output::Note(Note::Refused) => {}
                }
            } else if let Some(addressed) = self.entity.poll() {
                self.server.receive(now, addressed);
            } else if let Some(Lower::Network(line, network)) = self.entity.poll_below() {
                self.outputs.push_back((line, network));
            } else {
                return;
            }
        }
    }
}

impl NetworkStation for Host {
    fn incoming(&mut self, now: Instant) -> Option<NetworkConnectionId> {
        let line = self.entity.incoming(now);
        self.drain(now);
        line
    }

    fn receive(&mut self, now: Instant, line: NetworkConnectionId, network: Network) {
        self.entity.receive(now, line, network);
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        self.entity.expire(now);
        self.server.expire(now);
        self.drain(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.entity.deadline(), self.server.deadline())
    }

    fn poll(&mut self) -> Option<(NetworkConnectionId, Network)> {
        self.outputs.pop_front()
    }

    fn takes_input(&self, line: NetworkConnectionId) -> bool {
        !self.entity.is_congested(Endpoint::from(line))
    }

    fn is_idle(&self, line: NetworkConnectionId) -> bool {
        self.entity.transport().is_idle(line.into())
    }

    fn is_control(&self, _line: NetworkConnectionId) -> bool {
        false
    }
}
