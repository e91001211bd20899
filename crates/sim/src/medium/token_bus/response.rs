//! Request with response (IEEE 802.4): a station that holds the token requests, and the requested
//! station responds at once, without the token.
//!
//! ```text
//!   holder     request ──────▶           ▲              two slot times without a response:
//!   requested          ◀── station delay ─ response      the request again, up to the limit
//! ```
//!
//! The holder listens for two slot times after its request; a response must begin by then. The
//! exchange counts as part of the frame: if it began in time it is completed, repetitions included.
//! A response that comes later waits for the token like any frame.
//!
//! Assumed: repetitions ignore the holding time, and a response follows the request after the
//! station's delay. Not modelled: loss on a bad path of a response that the holder has received.

use super::{Hold, Queued, Token, TokenBus};
use crate::medium::framing::data_octets;
use crate::medium::round_robin::{Picos, bits, span};
use core::time::Duration;
use stack::profile::Framing;
use stack::station::{self, Frame, Transmission};

/// Maximum number of repetitions of a request (IEEE 802.4: max_retry_limit has three bits).
pub const MOST_RETRIES: u32 = 7;

/// Request in progress.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// Station that is requested to respond.
    asked: usize,
    /// Remaining repetitions.
    left: u32,
    stage: Stage,
}

/// Progress of a request.
#[derive(Clone, Debug)]
enum Stage {
    /// The request is being sent.
    Asking,
    /// The request was sent; the response must begin before the holder stops listening.
    Awaiting,
    /// This response is being sent, from the first time to the second.
    Answering(Frame, Picos, Picos),
}

impl super::Params {
    /// Maximum time of a request of `data_octets` with a response of `answer_octets`, all
    /// repetitions included, rounded up to a nanosecond.
    #[must_use]
    pub fn longest_exchange(&self, data_octets: usize, answer_octets: usize) -> Duration {
        let nanos = |octets| {
            let bits = u128::from(self.frame_bits(octets));
            let rate = u128::from(self.rate.bits_per_second()).max(1);
            let nanos = (bits * 1_000_000_000).div_ceil(rate);
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        let asked = nanos(data_octets).saturating_add(self.slot_time().saturating_mul(2));
        let times = self.request_with_response.unwrap_or_default().saturating_add(1);
        asked.saturating_mul(times).saturating_add(nanos(answer_octets))
    }
}

impl TokenBus {
    /// Exchange that this frame begins, if it requests a response of one other station.
    pub(super) fn asks(&self, station: usize, frame: &Frame) -> Option<Exchange> {
        let left = self.params.request_with_response.filter(|_| Framing::asks(frame))?;
        let destination = station::destination(frame).filter(|address| !address.is_group())?;
        let asked = self.directory.recipients(station, destination).next()?;
        Some(Exchange { asked, left, stage: Stage::Asking })
    }

    /// Returns whether the station is notified of this frame's outcome. It is not for responses,
    /// which the MAC sends without the token.
    pub(super) fn is_told(&self, frame: &Frame) -> bool {
        self.params.request_with_response.is_none() || !Framing::answers(frame)
    }

    /// Sends `frame` if it is the awaited response; otherwise returns it.
    pub(super) fn answer(&mut self, now: Picos, station: usize, frame: Frame) -> Option<Frame> {
        let (Some(exchange), Token::Held(mut hold)) = (&mut self.exchange, self.token) else {
            return Some(frame);
        };
        let holder = self.stations[hold.place];
        let is_awaited = matches!(exchange.stage, Stage::Awaiting) && exchange.asked == station;
        let is_for_holder = station::destination(&frame) == Some(self.addresses[holder]);
        let begun = now + self.params.station_delay.as_nanos() * 1_000;
        let metres = &self.params.positions_metres;
        let way = self.way(metres[station], metres[holder]);
        if !is_awaited || !is_for_holder || !Framing::answers(&frame) || begun + way > hold.until {
            return Some(frame);
        }
        let octets = data_octets(frame.len());
        let ends = begun + bits(self.params.rate, self.params.frame_bits(octets));
        hold.until = ends + way;
        self.token = Token::Held(hold);
        if let Some(exchange) = &mut self.exchange {
            exchange.stage = Stage::Answering(frame, begun, ends);
        }
        None
    }

    /// Continues an exchange: the request was sent, no response came in time, or the response is
    /// complete.
    pub(super) fn go_on(&mut self, at: Picos, mut hold: Hold, mut exchange: Exchange) {
        let holder = self.stations[hold.place];
        let Queued { priority, frame: request } =
            self.sending.clone().expect("the request is kept until it is over");
        match exchange.stage {
            Stage::Asking => {
                self.passes(holder, hold.begun, at, &request);
                self.statistics.requests += 1;
                hold.until = at + 2 * self.times().slot;
                exchange.stage = Stage::Awaiting;
            }
            Stage::Awaiting if exchange.left > 0 => {
                let octets = data_octets(request.len());
                let takes = bits(self.params.rate, self.params.frame_bits(octets));
                self.statistics.carried += span(takes);
                (hold.begun, hold.until) = (at, at + takes);
                exchange.left -= 1;
                exchange.stage = Stage::Asking;
            }
            Stage::Awaiting => {
                self.sending = None;
                self.statistics.unanswered += 1;
                self.statistics.given_up += 1;
                self.tell(holder, priority, Transmission::GivenUp);
                return self.serve(at);
            }
            Stage::Answering(answer, begun, ends) => {
                self.sending = None;
                self.statistics.sent += 2;
                self.statistics.answers += 1;
                self.statistics.carried += span(ends - begun);
                self.tell(holder, priority, Transmission::Sent);
                self.passes(exchange.asked, begun, ends, &answer);
                return self.serve(at);
            }
        }
        self.token = Token::Held(hold);
        self.exchange = Some(exchange);
    }

    /// Handles the failure of a station: its response is lost, and the holder receives no response.
    pub(super) fn fall_silent(&mut self, now: Picos, station: usize) {
        let slot = self.times().slot;
        if let (Some(exchange), Token::Held(hold)) = (&mut self.exchange, &mut self.token)
            && exchange.asked == station
            && matches!(exchange.stage, Stage::Answering(..))
        {
            self.statistics.given_up += 1;
            exchange.stage = Stage::Awaiting;
            hold.until = now + 2 * slot;
        }
    }
}
