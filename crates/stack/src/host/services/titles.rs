//! Associations by title: a flow of CASE whose receiver the directory names.
//!
//! A title that the cache does not know is asked for over an association with the directory's station,
//! which is released after the answer. An answer of the cache that proves false is dropped, and the
//! directory is asked once more.

use super::super::Host;
use super::super::replies::{Conversation, Role};
use crate::acse;
use crate::case::Request;
use crate::directory::{Directory, Resolver};
use crate::load::{Event, FlowId, Stage};
use crate::machine::Deadline;
use crate::transport::Endpoint;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use wire::addr::Mac;
use wire::directory::Pdu;
use wire::time::Instant;

/// TSAP-ID of the directory.
pub(super) const DIRECTORY_TSAP: &[u8] = b"tidewire-directory";

/// Entries of a directory, and titles that the flows of a host associate by.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Titles {
    directory: Option<Directory>,
    resolver: Option<Resolver>,
    of_flows: BTreeMap<FlowId, String>,
    /// Queries by the endpoint of their association: the place of the flow, and the time at which it
    /// gives up.
    queries: BTreeMap<Endpoint, Query>,
    /// Places of flows whose station the cache named.
    cached: BTreeSet<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Query {
    place: usize,
    until: Instant,
}

impl Host {
    /// Adds a directory that answers the queries of other stations.
    #[must_use]
    pub fn with_directory(mut self, directory: Directory) -> Self {
        self.set_directory(directory);
        self
    }

    /// Sets the directory that answers the queries of other stations.
    pub fn set_directory(&mut self, directory: Directory) {
        self.titles.get_or_insert_default().directory = Some(directory);
    }

    /// Adds a resolver, and the titles by which flows of CASE find their receivers.
    #[must_use]
    pub fn with_titles(mut self, resolver: Resolver, titles: BTreeMap<FlowId, String>) -> Self {
        self.set_titles(resolver, titles);
        self
    }

    /// Sets the resolver, and the titles by which flows of CASE find their receivers.
    pub fn set_titles(&mut self, resolver: Resolver, titles: BTreeMap<FlowId, String>) {
        let own = self.titles.get_or_insert_default();
        (own.resolver, own.of_flows) = (Some(resolver), titles);
    }

    /// Directory of the station, if it has one.
    pub(in crate::host) fn take_directory(&mut self) -> Option<Directory> {
        self.titles.take()?.directory
    }

    /// Resolver of titles, if there is one.
    #[must_use]
    pub fn resolver(&self) -> Option<&Resolver> {
        self.titles.as_ref()?.resolver.as_ref()
    }

    /// Returns true if the station has a directory.
    pub(super) fn has_directory(&self) -> bool {
        self.titles.as_ref().is_some_and(|titles| titles.directory.is_some())
    }

    /// Begins the association of a flow: at once, or once its title has a station.
    pub(super) fn call(&mut self, now: Instant, place: usize) {
        self.users.flows[place].sender.opening(now);
        let Some((resolver, title)) = self.title_of(place) else {
            return self.associate(now, place);
        };
        match resolver.known(now, title) {
            Some(Some(station)) => {
                if let Some(titles) = &mut self.titles {
                    titles.cached.insert(place);
                }
                self.associate_with(now, place, station);
            }
            Some(None) => self.title_unknown(now, place),
            None => self.ask(now, place),
        }
    }

    fn title_of(&mut self, place: usize) -> Option<(&mut Resolver, &str)> {
        let id = self.users.flow(place).id;
        let titles = self.titles.as_deref_mut()?;
        Some((titles.resolver.as_mut()?, titles.of_flows.get(&id)?.as_str()))
    }

    fn associate_with(&mut self, now: Instant, place: usize, station: Mac) {
        let only = self.resolver().and_then(|resolver| resolver.params.only);
        if only.is_some_and(|only| only != station) {
            return self.title_lost(
                now,
                place,
                "its title is that of a station that has not agreed",
            );
        }
        self.users.flows[place].sender.redirect(station);
        self.associate(now, place);
    }

    /// Opens an association with the directory for the title of a flow.
    fn ask(&mut self, now: Instant, place: usize) {
        let endpoint = self.transport.endpoint(self.users.flow(place).priority);
        let Some(titles) = self.titles.as_deref_mut() else { return };
        let Some(resolver) = &titles.resolver else { return };
        let until = now + resolver.params.patience;
        titles.queries.insert(endpoint, Query { place, until });
        let conversation = Conversation::new(Role::Query, None);
        self.users.conversations.insert(endpoint, Box::new(conversation));
        self.request_association(now, endpoint);
    }

    /// Station of the directory, for the connection of a query.
    pub(super) fn directory_of(&self, endpoint: Endpoint) -> Option<Mac> {
        let titles = self.titles.as_deref()?;
        let resolver = titles.resolver.as_ref()?;
        titles.queries.contains_key(&endpoint).then_some(resolver.params.directory)
    }

    /// Sends the query of an association that is open.
    pub(super) fn query_opened(&mut self, now: Instant, endpoint: Endpoint) {
        let query = self.titles.as_deref().and_then(|it| it.queries.get(&endpoint)).copied();
        let Some(Query { place, .. }) = query else { return };
        let Some((_, title)) = self.title_of(place) else { return };
        let query = Bytes::from(Pdu::Query(title).encode());
        self.send_tsdu(now, endpoint, query, false);
    }

    /// Answers a query, or uses the answer to one.
    pub(super) fn directory_message(&mut self, now: Instant, endpoint: Endpoint, data: &[u8]) {
        let pdu = Pdu::decode(data);
        let Some(titles) = self.titles.as_deref_mut() else { return };
        let Some(query) = titles.queries.remove(&endpoint) else {
            let Ok(Pdu::Query(title)) = pdu else { return self.drop_query(now, endpoint) };
            let found = titles.directory.as_ref().map(|directory| directory.station(title));
            let answer = match found {
                Some(Ok(station)) => Pdu::Address { title, station },
                _ => Pdu::Unknown(title),
            };
            return self.send_tsdu(now, endpoint, Bytes::from(answer.encode()), false);
        };
        if let Some(conversation) = self.users.conversations.get_mut(&endpoint) {
            conversation.role = Role::Accepted;
        }
        self.release_case(now, endpoint);
        self.answered(now, query.place, pdu.ok());
    }

    /// Uses the answer to the query of a flow.
    fn answered(&mut self, now: Instant, place: usize, answer: Option<Pdu<'_>>) {
        let is_opening = self.users.flows[place].sender.stage() == Stage::Opening;
        let Some((resolver, asked)) = self.title_of(place) else { return };
        let asked = asked.to_owned();
        let station = match answer {
            Some(Pdu::Address { title, station }) if title == asked => Some(station),
            Some(Pdu::Unknown(title)) if title == asked => None,
            _ => return self.title_lost(now, place, "invalid answer of the directory"),
        };
        resolver.cache.put(now, &asked, station);
        match station {
            Some(station) if is_opening => self.associate_with(now, place, station),
            None if is_opening => self.title_unknown(now, place),
            _ => {}
        }
    }

    fn title_unknown(&mut self, now: Instant, place: usize) {
        let took = self.users.flows[place].sender.opening_for(now);
        let id = self.users.flow(place).id;
        self.users.record(now, id, Event::Unresolved { took });
        self.title_lost(now, place, "title unknown to the directory");
    }

    fn title_lost(&mut self, now: Instant, place: usize, reason: &'static str) {
        if self.users.flows[place].sender.stage() == Stage::Opening {
            self.refuse(now, place, reason);
        }
    }

    /// Ends the query of an association that was lost; returns true if it had one.
    pub(super) fn query_lost(&mut self, now: Instant, endpoint: Endpoint) -> bool {
        let query = self.titles.as_deref_mut().and_then(|it| it.queries.remove(&endpoint));
        let Some(Query { place, .. }) = query else { return false };
        self.title_lost(now, place, "no association with the directory");
        true
    }

    /// Asks the directory about a flow whose station, which the cache named, did not accept it;
    /// returns true if it does.
    pub(super) fn ask_again(&mut self, now: Instant, place: usize) -> bool {
        let is_opening = self.users.flows[place].sender.stage() == Stage::Opening;
        let was_cached = self.titles.as_deref_mut().is_some_and(|it| it.cached.remove(&place));
        if !(is_opening && was_cached) {
            return false;
        }
        let Some((resolver, title)) = self.title_of(place) else { return false };
        let title = title.to_owned();
        resolver.cache.remove(&title);
        self.users.flows[place].endpoint = None;
        self.ask(now, place);
        true
    }

    fn drop_query(&mut self, now: Instant, endpoint: Endpoint) {
        let abort = acse::Primitive::Abort { source: acse::Source::User };
        self.request_case(now, endpoint, Request::Association(abort));
    }

    /// Time at which the first query gives up.
    pub(super) fn query_deadline(&self) -> Option<Deadline> {
        let queries = self.titles.iter().flat_map(|titles| titles.queries.values());
        let at = queries.map(|query| query.until).min()?;
        Some(Deadline { at, timer: "directory" })
    }

    /// Gives up queries without an answer.
    pub(super) fn expire_queries(&mut self, now: Instant) {
        let Some(titles) = self.titles.as_deref_mut() else { return };
        let due = titles.queries.iter().filter(|(_, query)| query.until <= now);
        for endpoint in due.map(|(endpoint, _)| *endpoint).collect::<Vec<_>>() {
            let query = self.titles.as_deref_mut().and_then(|it| it.queries.remove(&endpoint));
            if let Some(conversation) = self.users.conversations.get_mut(&endpoint) {
                conversation.role = Role::Accepted;
            }
            self.drop_query(now, endpoint);
            if let Some(Query { place, .. }) = query {
                self.title_lost(now, place, "no answer of the directory");
            }
        }
    }
}
