//! Stage of a dialogue: the entity, its peers, its user and its clock.

use super::words::{
    Defaults, duration, fits, octets, of_indication, of_tpdu, params, small, tpdu, user_data, value,
};
use crate::lone::{PEER, station};
use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine, Output};
use stack::tp4::{
    Acknowledgement, Endpoint, Entity, Indication, Note, Nsdu, Params, Request, Retransmission,
};
use std::collections::VecDeque;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{Format, tpdus};

type Done = Result<(), String>;

/// Class 4 entity whose first reference is 1.
pub(super) struct Stage {
    entity: Entity,
    now: Instant,
    /// Format selected by the first CC.
    format: Option<Format>,
    /// Connection of the latest indication.
    endpoint: Option<Endpoint>,
    /// TPDUs sent and not yet expected by a line: the station, and whether it shares the NSDU
    /// before.
    sent: VecDeque<(u32, bool, Vec<String>)>,
    told: VecDeque<Vec<String>>,
    /// Notes since the last line that acted; they need not be expected.
    noted: VecDeque<Note>,
    /// NSDU of the peer under construction.
    nsdu: Option<(u32, Vec<u8>)>,
    is_untouched: bool,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self {
            entity: Entity::new(base(), 0),
            now: Instant::ZERO,
            format: None,
            endpoint: None,
            sent: VecDeque::new(),
            told: VecDeque::new(),
            noted: VecDeque::new(),
            nsdu: None,
            is_untouched: true,
        }
    }

    /// Executes or checks one line; `next_joins` if the next line adds to the same NSDU.
    pub(super) fn line(&mut self, words: &[String], next_joins: bool) -> Done {
        let Some((verb, rest)) = words.split_first() else { return Ok(()) };
        let (verb, number) = verb.split_once('@').unwrap_or((verb, "1"));
        let number = small(number)?;
        if !matches!(verb, "sends" | "with" | "told" | "noted") {
            self.nothing_is_left()?;
            self.noted.clear();
        }
        let untouched = core::mem::replace(&mut self.is_untouched, false);
        match (verb, rest) {
            ("params", _) if untouched => {
                self.entity = Entity::new(params(base(), rest)?, 0);
                Ok(())
            }
            ("opened", [by, the, who, more @ ..]) if by == "by" && the == "the" => {
                self.opened(who, more)
            }
            ("peer", _) => {
                self.nsdu = Some((number, self.peer(rest)?));
                self.arrive(next_joins)
            }
            ("with", _) if self.nsdu.is_some() => {
                let added = self.peer(rest)?;
                self.nsdu.as_mut().map(|(_, octets)| octets.extend(added)).ok_or("no NSDU")?;
                self.arrive(next_joins)
            }
            ("user", [what, more @ ..]) => self.user(what, more),
            ("sends", _) => self.sends(number, false, rest),
            ("with", _) => self.sends(number, true, rest),
            ("told", _) => self.is_told(rest),
            ("noted", [what, detail]) => self.is_noted(what, detail),
            ("pass", _) => self.pass(duration(rest)?),
            ("expire", [timer, after, time @ ..]) if after == "after" => {
                self.expire(timer, duration(time)?)
            }
            ("state", [state]) => {
                let endpoint = self.endpoint.ok_or("there is no connection")?;
                same(state, &format!("{:?}", self.entity.state(endpoint)))
            }
            ("connections", [count]) => same(count, &self.entity.connections().to_string()),
            ("count", [name, count]) => self.count(name, count),
            _ => Err("unknown line".to_owned()),
        }
    }

    /// Checks that every output of the entity was expected before the next action.
    pub(super) fn nothing_is_left(&self) -> Done {
        if let Some((_, _, words)) = self.sent.front() {
            return Err(format!("no line expects that it sends {}", words.join(" ")));
        }
        match self.told.front() {
            Some(words) => {
                Err(format!("no line expects that it gives the user {}", words.join(" ")))
            }
            None => Ok(()),
        }
    }

    // ---- inputs of the entity -----------------------------------------------------------------

    fn peer(&self, words: &[String]) -> Result<Vec<u8>, String> {
        match words {
            [first, digits @ ..] if first == "octets" => octets(&digits.concat()),
            _ => {
                let format = self.format.unwrap_or(Format::Normal);
                tpdu(words, &Defaults { to: 1, from: PEER, format })
            }
        }
    }

    fn arrive(&mut self, next_joins: bool) -> Done {
        let Some((number, octets)) = self.nsdu.take_if(|_| !next_joins) else { return Ok(()) };
        let packet = Packet::new(Bytes::from(octets));
        self.settle_format(&packet);
        self.entity.receive(self.now, Nsdu { peer: station(number), packet });
        self.drain()
    }

    /// From the first CC on, numbers are in the format it selects.
    fn settle_format(&mut self, packet: &Packet) {
        let octets = packet.to_bytes();
        if self.format.is_none()
            && let [_, 0xD0..=0xDF, _, _, _, _, class, ..] = octets[..]
        {
            let extended = class & 0x02 != 0;
            self.format = Some(if extended { Format::Extended } else { Format::Normal });
        }
    }

    fn user(&mut self, what: &str, words: &[String]) -> Done {
        let named =
            |key| value(words, key).map_or(Ok(Bytes::new()), |it| octets(it).map(Bytes::from));
        if what == "serve" {
            self.entity.serve(named("called")?);
            return Ok(());
        }
        if what == "connect" {
            let endpoint = self.entity.endpoint();
            self.endpoint = Some(endpoint);
            let [called, calling, data] = [named("called")?, named("calling")?, named("data")?];
            return self.request(Request::Connect {
                endpoint,
                peer: station(1),
                called,
                calling,
                data,
            });
        }
        let endpoint = self.endpoint.ok_or("there is no connection")?;
        let first = words.first().map_or("", String::as_str);
        let request = match what {
            "accept" => Request::Accept { endpoint, data: named("data")? },
            "data" => Request::Data { endpoint, tsdu: user_data(words)?.into() },
            "expedite" => Request::Expedited { endpoint, data: user_data(words)?.into() },
            "withdraw" => Request::Withdraw { endpoint, buffers: small(first)? },
            "give-back" => Request::GiveBack { endpoint, buffers: small(first)? },
            "disconnect" => Request::Disconnect { endpoint, reason: small(first)? },
            _ => return Err(format!("users do not {what}")),
        };
        self.request(request)
    }

    fn request(&mut self, request: Request) -> Done {
        self.entity.request(self.now, request);
        self.drain()
    }

    /// Advances the time, timer by timer.
    fn pass(&mut self, time: Duration) -> Done {
        let end = self.now + time;
        while let Some(deadline) = self.entity.deadline().filter(|deadline| deadline.at <= end) {
            self.now = self.now.max(deadline.at);
            self.entity.expire(self.now);
            self.drain()?;
        }
        self.now = end;
        Ok(())
    }

    /// Advances the time by `time` without any output, after which exactly this timer must expire.
    fn expire(&mut self, timer: &str, time: Duration) -> Done {
        let end = self.now + time;
        let mut symbols = Vec::new();
        while let Some(deadline) = self.entity.deadline().filter(|deadline| deadline.at <= end) {
            if deadline.at == end {
                symbols.push(deadline.timer);
            }
            self.now = self.now.max(deadline.at);
            self.entity.expire(self.now);
            self.drain()?;
            if self.now < end {
                self.nothing_is_left().map_err(|what| format!("{what}, before {timer}"))?;
            }
        }
        self.now = end;
        if symbols == [timer] { Ok(()) } else { Err(format!("the expired timers are {symbols:?}")) }
    }

    fn drain(&mut self) -> Done {
        while let Some(output) = self.entity.poll() {
            match output {
                Output::Send(Nsdu { peer, packet }) => {
                    self.settle_format(&packet);
                    let number = (1..100).find(|number| station(*number) == peer);
                    let number = number.ok_or("sent to an unknown station")?;
                    let octets = packet.to_bytes();
                    for (place, raw) in tpdus(&octets).enumerate() {
                        let raw = raw.map_err(|e| format!("it sends an invalid TPDU: {e}"))?;
                        let words = of_tpdu(&raw, self.format.unwrap_or(Format::Normal))?;
                        self.sent.push_back((number, place > 0, words));
                    }
                }
                Output::Deliver(indication) => {
                    if let Indication::Connect { endpoint, .. } = indication {
                        self.endpoint = Some(endpoint);
                    }
                    self.told.push_back(of_indication(&indication));
                }
                Output::Note(note) => self.noted.push_back(note),
            }
        }
        Ok(())
    }

    /// The three parts of the handshake, according to the parameters of the entity.
    fn opened(&mut self, who: &str, more: &[String]) -> Done {
        let ours = self.entity.params();
        let options = u8::from(ours.expedited)
            | u8::from(!ours.checksum) << 1
            | u8::from(ours.retransmission == Retransmission::Missing) << 4
            | u8::from(ours.acknowledgement == Acknowledgement::OnRequest) << 5;
        let (extended, sealed) = (ours.extended, ours.checksum);
        let checksum = if sealed { " checksum" } else { "" };
        let size = 1 << ours.tpdu_octets.ilog2();
        let mut terms = format!("tpdu-size={size} options={options:02x}");
        terms.push_str(if extended { " extended" } else { "" });
        let credit = value(more, "credit").unwrap_or("8");
        let more = more.join(" ");
        let lines = match who {
            "peer" => vec![
                format!("peer CR {terms} {more}"),
                "told Connect".to_owned(),
                "user accept".to_owned(),
                "sends CC".to_owned(),
                format!("peer AK nr=0 credit={credit}{checksum}"),
                "told Established".to_owned(),
            ],
            "user" => vec![
                "user connect".to_owned(),
                "sends CR".to_owned(),
                format!("peer CC {terms} {more}{checksum}"),
                "sends AK nr=0".to_owned(),
                "told Confirm".to_owned(),
            ],
            _ => return Err("opened by the peer, or by the user".to_owned()),
        };
        lines.iter().try_for_each(|line| {
            self.line(&super::words::words(line), false).map_err(|what| format!("{line}: {what}"))
        })
    }

    // ---- expected outputs ----------------------------------------------------------------------

    fn sends(&mut self, number: u32, joined: bool, words: &[String]) -> Done {
        let mut expected = words.to_vec();
        let ours = matches!(words.first().map(String::as_str), Some("CR" | "CC" | "DR" | "DC"));
        let is_cr = words.first().is_some_and(|kind| kind == "CR");
        if value(words, "to").is_none() {
            let to = if is_cr { 0 } else { PEER };
            expected.push(format!("to=0x{to:04x}"));
        }
        if ours && value(words, "from").is_none() {
            expected.push("from=0x0001".to_owned());
        }
        let Some((to, shares, found)) = self.sent.pop_front() else {
            return Err("it sends nothing".to_owned());
        };
        if (to, shares) != (number, joined) || !fits(&expected, &found) {
            let how = if shares { "with" } else { "sends" };
            return Err(format!("it {how}@{to} {}", found.join(" ")));
        }
        Ok(())
    }

    fn is_told(&mut self, words: &[String]) -> Done {
        let found = self.told.pop_front().ok_or("the user gets no indication")?;
        if fits(words, &found) {
            return Ok(());
        }
        Err(format!("the user gets {}", found.join(" ")))
    }

    fn is_noted(&mut self, what: &str, detail: &str) -> Done {
        let found = self.noted.pop_front().ok_or("nothing is noted")?;
        let (name, found) = match found {
            Note::SentAgain { endpoint, kind } if Some(endpoint) == self.endpoint => {
                ("SentAgain", format!("{kind:?}"))
            }
            Note::SentAgain { .. } => ("SentAgain", "of another connection".to_owned()),
            Note::Discarded { reason, .. } => ("Discarded", format!("\"{reason}\"")),
        };
        same(&format!("{what} {detail}"), &format!("{name} {found}"))
    }

    fn count(&self, name: &str, count: &str) -> Done {
        let all = format!("{:?}", self.entity.counters());
        let found = all.split([',', '{', '}']).find_map(|field| {
            let (key, value) = field.trim().split_once(": ")?;
            (key == name).then(|| value.to_owned())
        });
        same(count, &found.ok_or("there is no such counter")?)
    }
}

/// Initial parameters of scripts: the LAN values in the normal format without checksum.
fn base() -> Params {
    Params { extended: false, checksum: false, ..Params::lan() }
}

fn same(expected: &str, found: &str) -> Done {
    if expected == found { Ok(()) } else { Err(format!("it is {found}")) }
}
