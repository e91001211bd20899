//! Maintenance of the logical ring: stations enter, leave, and fail.
//!
//! Not modelled: claimants of a lost token that begin at different times (each detects the silence
//! at its own time), a claim of other than 24 passes, a station that fails while it repairs the
//! ring, lost responses, and a token that is lost twice at once.

use super::contention::{Answerer, Outcome, Times};
use super::{CLASSES, Change, Entity, Kind, Presence, Queued, Rotation, Sent, Token, TokenBus};
use crate::medium::round_robin::{Picos, bits, span};
use stack::station::{PRIORITIES, Transmission};
use std::cmp::Reverse;

impl TokenBus {
    /// Returns whether each token is an event, because the ring may change.
    pub(super) const fn is_kept(&self) -> bool {
        self.params.maintenance.is_some() || !self.params.changes.is_empty()
    }

    pub(super) fn times(&self) -> Times {
        let frame = |data| bits(self.params.rate, self.params.frame_bits(data));
        Times {
            empty: frame(0),
            set_successor: frame(super::params::ADDRESS_OCTETS),
            slot: self.params.slot_time().as_nanos() * 1_000,
            station_delay: self.params.station_delay.as_nanos() * 1_000,
        }
    }

    /// Rebuilds the ring from its members, including failed ones that still have a place.
    pub(super) fn form(&mut self) {
        let is_in = |entity: &Entity| match entity.presence {
            Presence::Member => true,
            // The failure has not been detected yet.
            Presence::Failed => entity.place.is_some(),
            Presence::Wanting | Presence::Outside => false,
        };
        let members = (0..self.entities.len()).filter(|station| is_in(&self.entities[*station]));
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

    /// Passes the token on from the ring's first station at the beginning.
    pub(super) fn begin(&mut self) {
        let Some(first) = self.stations.first().copied() else {
            self.token = Token::None;
            return;
        };
        self.entities[first].visited = Some(0);
        if self.is_kept() {
            self.send_token(0, first, self.after(first));
        }
    }

    /// Passes the token on from `station`, after any maintenance that is due.
    pub(super) fn pass_on(&mut self, at: Picos, station: usize) {
        if self.entities[station].leaves {
            return self.leave(at, station);
        }
        let at = self.solicit(at, station);
        self.send_token(at, station, self.after(station));
    }

    /// Sends the token from `from` to `to`, beginning at `begun`.
    fn send_token(&mut self, begun: Picos, from: usize, to: usize) {
        let times = self.times();
        let way = self.way(self.params.positions_metres[from], self.params.positions_metres[to]);
        let arrives = begun + times.empty + times.station_delay + way;
        self.note_pass(begun, from);
        self.token = Token::Sent(Sent { from, to, begun, arrives });
    }

    /// Next station in the ring.
    fn after(&self, station: usize) -> usize {
        let place = self.entities[station].place.expect("the station is in the ring");
        self.stations[(place + 1) % self.stations.len()]
    }

    /// Sends set_successor to the predecessor, and passes the token on for the last time.
    fn leave(&mut self, at: Picos, station: usize) {
        let next = self.after(station);
        self.entities[station].leaves = false;
        self.entities[station].presence = Presence::Outside;
        self.statistics.departures += 1;
        self.give_up(station);
        self.form();
        if next == station {
            self.token = Token::None;
            self.awaken(at);
        } else {
            self.send_token(at + self.times().set_successor, station, next);
        }
    }

    /// Discards a station's waiting frames.
    fn give_up(&mut self, station: usize) {
        for queue in 0..PRIORITIES {
            let waiting = core::mem::take(&mut self.entities[station].queues[queue]);
            for Queued { priority, frame } in waiting {
                self.statistics.given_up += 1;
                if self.is_told(&frame) {
                    self.tell(station, priority, Transmission::GivenUp);
                }
            }
        }
    }

    /// Applies the next change, which is due at `now`.
    pub(super) fn change(&mut self, now: Picos) {
        let Some(Change { station, kind, .. }) = self.changes.pop() else { return };
        let entity = &mut self.entities[station];
        match (kind, entity.presence) {
            (Kind::Join, Presence::Outside) => entity.presence = Presence::Wanting,
            (Kind::Join, Presence::Failed) => {
                let is_in = entity.place.is_some();
                entity.presence = if is_in { Presence::Member } else { Presence::Wanting };
            }
            (Kind::Join, Presence::Member) => entity.leaves = false,
            (Kind::Leave, Presence::Member) => entity.leaves = true,
            (Kind::Leave, Presence::Wanting) => {
                entity.presence = Presence::Outside;
                self.give_up(station);
            }
            (Kind::Fail, Presence::Member | Presence::Wanting | Presence::Outside) => {
                entity.presence = Presence::Failed;
                self.fail(now, station);
            }
            (Kind::LoseToken, Presence::Member) => entity.loses_token = true,
            (Kind::Join, Presence::Wanting)
            | (Kind::Leave, Presence::Outside | Presence::Failed)
            | (Kind::Fail, Presence::Failed)
            | (Kind::LoseToken, Presence::Wanting | Presence::Outside | Presence::Failed) => {}
        }
        self.awaken(now);
    }

    /// Handles the loss of the token, and of the frame being sent, with a failed station that has
    /// them.
    fn fail(&mut self, now: Picos, station: usize) {
        self.entities[station].leaves = false;
        let has_token = match self.token {
            Token::Held(hold) => self.stations[hold.place] == station,
            Token::Sent(sent) => sent.from == station && now < sent.begun + self.times().empty,
            Token::Free(..) | Token::Lost(..) | Token::None => false,
        };
        self.fall_silent(now, station);
        if has_token {
            if matches!(self.token, Token::Held(_)) {
                self.note_hold(now, station);
            }
            self.exchange = None;
            if let Some(Queued { priority, .. }) = self.sending.take() {
                self.statistics.given_up += 1;
                self.tell(station, priority, Transmission::GivenUp);
            }
            self.lose(now);
        }
        self.give_up(station);
    }

    /// Loses the token. The stations detect silence when the last signal has reached the farthest
    /// of them, and claim the token after 7 slot times of it.
    fn lose(&mut self, at: Picos) {
        self.statistics.tokens_lost += 1;
        let silent = at + self.params.longest_way().as_nanos() * 1_000;
        self.token = Token::Lost(silent + 7 * self.times().slot, None);
    }

    /// If there is no ring, starts the wait for 7 slot times of silence of a station that requests
    /// one.
    fn awaken(&mut self, now: Picos) {
        let wants = |entity: &Entity| entity.presence == Presence::Wanting;
        if matches!(self.token, Token::None) && self.entities.iter().any(wants) {
            self.token = Token::Lost(now + 7 * self.times().slot, None);
        }
    }

    /// Claims the token. The highest address in the ring wins, or, without a ring, the highest of
    /// those that request to join. A winner that was in the ring already has its successor's
    /// address.
    pub(super) fn claim(&mut self, at: Picos) {
        let Token::Lost(_, only) = self.token else { return };
        let is = |presence| {
            let of = |station: &usize| self.entities[*station].presence == presence;
            let all = (0..self.entities.len()).filter(of);
            all.max_by_key(|station| self.addresses[*station])
        };
        let only = only.filter(|it| self.entities[*it].presence == Presence::Member);
        let winner = only.or_else(|| is(Presence::Member)).or_else(|| is(Presence::Wanting));
        let Some(winner) = winner else {
            self.bury_failed();
            self.token = Token::None;
            return;
        };
        self.statistics.claims += 1;
        let arrives = at + self.times().claim(self.addresses[winner]);
        if self.entities[winner].presence == Presence::Wanting {
            self.bury_failed();
            self.enter(Outcome { successor: Some(winner), until: arrives, passes: 0 });
        }
        self.token = Token::Sent(Sent { from: winner, to: winner, begun: arrives, arrives });
    }

    /// Dissolves a ring in which no station works.
    fn bury_failed(&mut self) {
        self.entities.iter_mut().for_each(|entity| entity.place = None);
        self.form();
    }

    /// Handles the arrival of the token at `place`; returns whether the station there accepts it.
    /// If it failed, its predecessor repairs the ring, unless that failed too.
    pub(super) fn takes_token(&mut self, at: Picos, place: usize) -> bool {
        let Token::Sent(sent) = self.token else { return true };
        let entity = &mut self.entities[self.stations[place]];
        if entity.presence == Presence::Member {
            let loses = core::mem::take(&mut entity.loses_token);
            if loses {
                self.statistics.tokens_lost += 1;
                // The last holder of the token waits one slot time less.
                self.token = Token::Lost(at + 6 * self.times().slot, Some(sent.to));
            }
            return !loses;
        }
        if self.entities[sent.from].presence == Presence::Failed {
            self.lose(at);
        } else {
            self.bridge(sent);
        }
        false
    }

    /// Repairs the ring. A token without activity after it is repeated after a slot time. Then its
    /// sender asks who_follows; the successor of the failed station responds in the first of three
    /// windows, which leave time to compare the address. If that fails too, the sender repeats
    /// who_follows, and then solicits all stations that request to be in the ring, in two windows.
    fn bridge(&mut self, Sent { from, to, begun, .. }: Sent) {
        self.statistics.bridges += 1;
        let times = self.times();
        let asked = begun + 2 * (times.empty + times.slot);
        let next = self.after(to);
        if next != from && self.entities[next].presence == Presence::Member {
            let answerer = self.answerer(from, next);
            let windows = [vec![answerer], Vec::new(), Vec::new()];
            let outcome = times.windows(asked + times.set_successor, &windows);
            self.entities[to].place = None;
            self.form();
            return self.send_token(outcome.until, from, next);
        }
        let at = asked + 2 * (times.set_successor + 3 * times.slot) + times.empty;
        let found = times.windows(at, &self.living(from));
        self.statistics.contentions += u64::from(found.passes > 0);
        let next = found.successor.unwrap_or(from);
        self.skip_to(to, next);
        if self.entities[next].presence == Presence::Wanting {
            self.enter(found);
        }
        self.form();
        if self.entities[next].place.is_some() {
            self.send_token(found.until, from, next);
        } else {
            self.token = Token::None;
            self.awaken(found.until);
        }
    }

    /// Stations that would be in the ring, with addresses below and above this station's.
    fn living(&self, station: usize) -> [Vec<Answerer>; 2] {
        let here = self.addresses[station];
        let lives = |other: &usize| {
            let presence = self.entities[*other].presence;
            *other != station && matches!(presence, Presence::Member | Presence::Wanting)
        };
        let all = (0..self.entities.len()).filter(lives).map(|other| self.answerer(station, other));
        let (below, above) = all.partition(|other| other.address < here);
        [below, above]
    }

    /// Removes the failed stations from `from` up to `to`, exclusive, from the ring.
    fn skip_to(&mut self, from: usize, to: usize) {
        let start = self.entities[from]
            .place
            .expect("a station that does not accept the token has a place");
        let count = self.stations.len();
        for place in (0..count).map(|steps| (start + steps) % count) {
            let station = self.stations[place];
            if station == to || self.entities[station].presence != Presence::Failed {
                break;
            }
            self.entities[station].place = None;
        }
    }

    /// Opens a window for stations that request a place between this station and its successor, if
    /// one is due; returns the time at which the station is done.
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

    /// Stations that request the place after `station`: in one window those between it and its
    /// successor; or, after the lowest address, in two windows those below it and those above the
    /// highest.
    fn wanting(&self, station: usize) -> Vec<Vec<Answerer>> {
        let here = self.addresses[station];
        let place = self.entities[station].place.expect("the holder of the token has a place");
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

    /// Admits the station that responded alone to the ring.
    fn enter(&mut self, outcome: Outcome) {
        self.statistics.contentions += u64::from(outcome.passes > 0);
        let Some(station) = outcome.successor else { return };
        let tokens = self.params.maintenance.map_or(0, |it| it.tokens_between_windows);
        let entity = &mut self.entities[station];
        entity.presence = Presence::Member;
        entity.visited = None;
        entity.served = [outcome.until; CLASSES - 1];
        entity.maintained = outcome.until;
        entity.tokens_to_window = tokens;
        self.statistics.entries += 1;
        self.statistics.latest_entry = span(outcome.until);
        self.form();
    }
}
