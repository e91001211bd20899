//! Services that carry the messages of flows, one file each.
//!
//! Each service does three tasks for a flow, in its `serve_…` function. To add one: a file here, a
//! variant of [`Service`], and an arm of [`Host::serve`]. A transport protocol that provides the
//! service of [`crate::transport`] is an arm of [`crate::transport::Transport`] instead; then
//! `connection` serves its flows.

mod association;
mod case;
mod connection;
mod datagram;
mod files;
mod lines;
mod mms;
mod network;
mod published;
pub(super) mod sockets;
mod titles;

pub(super) use association::Associated;
pub use files::FilesServed;
pub(super) use files::Filing;
pub(super) use lines::Lines;
pub(super) use mms::Manufacturing;
pub use mms::MmsParams;
pub(super) use published::Published;
pub use published::Subscriptions;
pub(super) use titles::Titles;

use super::Host;
use crate::load::Service;
use wire::time::Instant;

/// Task of a service for a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Task {
    /// Open what the flow needs.
    Start,
    /// Pass one message on, if one waits and the service accepts it.
    HandOver,
    /// Release what the flow has opened; waiting messages are dropped.
    Close,
}

impl Host {
    /// Has the service of the flow at this place do a task; returns true if it did any of it.
    #[inline]
    pub(super) fn serve(&mut self, now: Instant, place: usize, task: Task) -> bool {
        match self.users.flow(place).service {
            Service::Class4 => self.serve_connection(now, place, task),
            Service::Case { eot } => self.serve_case(now, place, task, eot),
            Service::Mms { outstanding } => self.serve_mms(now, place, task, outstanding),
            Service::File(options) => self.serve_files(now, place, task, options),
            Service::Datagram => self.serve_datagrams(now, place, task),
            Service::Message(options) => self.serve_socket(now, place, task, options),
            Service::Published => self.serve_published(now, place, task),
        }
    }
}
