//! How the logical ring is kept: who comes, who leaves, and what is done about those who fail.
//!
//! Not modelled: a station that fails while it mends the ring, answers that are lost, and a token that
//! is lost twice at once.

use super::contention::{Answerer, Outcome, Times};
use super::{Presence, Rotation, Token, TokenBus};
use crate::medium::rotation::{Picos, bits, span};
use std::cmp::Reverse;

impl TokenBus {
    /// Whether each token is looked at on its way, since the ring may change.
    pub(super) const fn is_kept(&self) -> bool {
        self.params.maintenance.is_some() || !self.params.changes.is_empty()
    }

    fn times(&self) -> Times {
        let frame = |data| bits(self.params.rate, self.params.frame_bits(data));
        Times {
            empty: frame(0),
            set_successor: frame(super::params::ADDRESS_OCTETS),
            slot: self.params.slot_time().as_nanos() * 1_000,
            station_delay: self.params.station_delay.as_nanos() * 1_000,
        }
    }

    /// Makes the ring of the stations that are in it.
    pub(super) fn form(&mut self) {
        let members = (0..self.entities.len())
            .filter(|station| self.entities[*station].presence == Presence::Member);
        self.stations = members.collect();
        self.stations.sort_by_key(|station| Reverse(self.addresses[*station]));
        self.entities.iter_mut().for_each(|entity| entity.place = None);
        for (place, station) in self.stations.iter().enumerate() {
            self.entities[*station].place = Some(place);
        }
        self.rotation = if self.stations.is_empty() {
            Rotation::default()
        } else {
            self.rotation(&self.stations)
        };
        if self.is_kept() {
            self.alert = (0..self.stations.len()).collect();
        }
    }

    /// The station of this place passes the token on, but for what it has to do before.
    pub(super) fn pass_on(&mut self, at: Picos, place: usize) {
        let station = self.stations[place];
        let at = self.solicit(at, station);
        self.hand_on(at, station);
    }

    /// This station sends the token at this time.
    fn hand_on(&mut self, at: Picos, station: usize) {
        self.token = match self.entities[station].place {
            Some(place) => Token::Free(at, place),
            None => Token::None,
        };
    }

    /// Opens a window for those who want to be between this station and its successor, if it is time
    /// to, and tells when the station is done with that.
    fn solicit(&mut self, at: Picos, station: usize) -> Picos {
        let Some(maintenance) = self.params.maintenance else { return at };
        let entity = &mut self.entities[station];
        let since = at - core::mem::replace(&mut entity.maintained, at);
        entity.tokens_to_window = entity.tokens_to_window.saturating_sub(1);
        if entity.tokens_to_window > 0
            || since >= maintenance.target_rotation_time.as_nanos() * 1_000
        {
            return at;
        }
        entity.tokens_to_window = maintenance.tokens_between_windows;
        self.statistics.windows += 1;
        let groups = self.wanting(station);
        let times = self.times();
        let outcome = times.windows(at + times.empty, &groups);
        self.enter(outcome);
        outcome.until
    }

    /// Who wants to be next after this station: in one window those between it and its successor, or
    /// after the lowest address in two, those below it and those above the highest.
    fn wanting(&self, station: usize) -> Vec<Vec<Answerer>> {
        let here = self.addresses[station];
        let place = self.entities[station].place.expect("who has the token has a place");
        let wants = |other: &usize| self.entities[*other].presence == Presence::Wanting;
        let of = |allowed: &dyn Fn(usize) -> bool| {
            let all = (0..self.entities.len()).filter(wants).filter(|other| allowed(*other));
            all.map(|other| self.answerer(station, other)).collect()
        };
        match self.stations.get(place + 1) {
            Some(next) => {
                let next = self.addresses[*next];
                vec![of(&|other| (next..=here).contains(&self.addresses[other]))]
            }
            None => {
                let highest = self.addresses[self.stations[0]];
                let below = |other: usize| self.addresses[other] < here;
                let above = |other: usize| self.addresses[other] > highest;
                vec![of(&below), of(&above)]
            }
        }
    }

    fn answerer(&self, asks: usize, station: usize) -> Answerer {
        let metres = &self.params.positions_metres;
        let way = self.way(metres[asks], metres[station]);
        Answerer { station, address: self.addresses[station], way }
    }

    /// Takes whoever answered alone into the ring.
    fn enter(&mut self, outcome: Outcome) {
        self.statistics.contentions += u64::from(outcome.passes > 0);
        let Some(station) = outcome.successor else { return };
        let tokens = self.params.maintenance.map_or(0, |it| it.tokens_between_windows);
        let entity = &mut self.entities[station];
        entity.presence = Presence::Member;
        entity.visited = None;
        entity.tokens_to_window = tokens;
        self.statistics.entries += 1;
        self.statistics.latest_entry = span(outcome.until);
        self.form();
    }
}
