//! Which frames are wanted: a small language, its meaning, and a program for the kernel.
//!
//! ```text
//! filter   = { condition } joined by "or"; "and", or nothing, binds tighter, "not" tightest; ( )
//! condition = all
//!           | [ host | from | to ] STATION or INTERNET ADDRESS
//!           | [ from | to ] port NUMBER          of TCP
//!           | [ from | to ] nsap HEX or HEX*     exact, or what an NSAP begins with
//!           | class 0..4                         a CR or CC says it
//!           | tpdu cr|cc|dr|dc|dt|ed|ak|ea|rj|er
//!           | llc | iso | ip | tcp | vlan [ NUMBER ]
//! ```
//!
//! [`Filter::matches`] decides on what the frame decodes to, layer by layer. [`Filter::program`] is
//! coarser: it passes everything that `matches` does, and more.
//!
//! Left out: names of hosts, which would have to be asked for; what a connection or a TCP stream
//! told earlier, since each frame is judged by itself; ports of UDP.

mod assembler;
mod facts;
mod parse;
mod program;
#[cfg(test)]
mod tests;

pub use assembler::Instruction;
pub use parse::NotAFilter;

use crate::addr::{Mac, Nsap};
use crate::dissect::Link;
use crate::tp::Kind;
use core::fmt;
use core::net::Ipv6Addr;
use core::str::FromStr;
use facts::Facts;

/// Which end of a frame a condition is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Either,
    From,
    To,
}

impl Way {
    /// Whether it holds of an end, given what holds of the source and of the destination.
    const fn picks(self, [source, destination]: [bool; 2]) -> bool {
        match self {
            Self::Either => source || destination,
            Self::From => source,
            Self::To => destination,
        }
    }
}

/// A condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Term {
    All,
    Station(Way, Mac),
    /// An address of IPv4 stands for itself in its mapped form.
    Internet(Way, Ipv6Addr),
    /// Whether it is only what the NSAP begins with.
    Nsap(Way, Nsap, bool),
    Port(Way, u16),
    Class(u8),
    Tpdu(Kind),
    Llc,
    Iso,
    Ip,
    Tcp,
    /// Any VLAN where none is named.
    Vlan(Option<u16>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Expression {
    Term(Term),
    Not(Box<Self>),
    Both(Vec<Self>),
    Either(Vec<Self>),
}

impl Expression {
    fn holds(&self, term: &impl Fn(Term) -> bool) -> bool {
        match self {
            Self::Term(one) => term(*one),
            Self::Not(inner) => !inner.holds(term),
            Self::Both(parts) => parts.iter().all(|part| part.holds(term)),
            Self::Either(parts) => parts.iter().any(|part| part.holds(term)),
        }
    }

    /// Whether it may hold where of some conditions nothing is known (`None`).
    fn may_hold(&self, term: &impl Fn(Term) -> Option<bool>) -> bool {
        match self {
            Self::Term(one) => term(*one).unwrap_or(true),
            Self::Not(inner) => !inner.must_hold(term),
            Self::Both(parts) => parts.iter().all(|part| part.may_hold(term)),
            Self::Either(parts) => parts.iter().any(|part| part.may_hold(term)),
        }
    }

    fn must_hold(&self, term: &impl Fn(Term) -> Option<bool>) -> bool {
        match self {
            Self::Term(one) => term(*one).unwrap_or(false),
            Self::Not(inner) => !inner.may_hold(term),
            Self::Both(parts) => parts.iter().all(|part| part.must_hold(term)),
            Self::Either(parts) => parts.iter().any(|part| part.must_hold(term)),
        }
    }
}

/// Which frames are wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    text: Box<str>,
    expression: Expression,
}

impl Filter {
    /// One that every frame passes.
    #[must_use]
    pub fn all() -> Self {
        Self { text: "all".into(), expression: Expression::Term(Term::All) }
    }

    /// Whether every frame passes, as the text says.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.expression == Expression::Term(Term::All)
    }

    /// One that only frames pass that pass both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if self.is_all() {
            return other;
        }
        if other.is_all() {
            return self;
        }
        let text = [&self, &other].map(|one| match one.expression {
            Expression::Either(_) => format!("({one})"),
            Expression::Term(_) | Expression::Not(_) | Expression::Both(_) => one.to_string(),
        });
        let parts = vec![self.expression, other.expression];
        Self { text: text.join(" ").into(), expression: Expression::Both(parts) }
    }

    /// Whether a frame passes that was `original_octets` long, and of which `octets` were captured.
    #[must_use]
    pub fn matches(&self, link: Link, octets: &[u8], original_octets: usize) -> bool {
        if self.is_all() {
            return true;
        }
        let facts = Facts::of(link, octets, original_octets);
        self.expression.holds(&|term| facts.hold(term))
    }

    /// Whether something between these two stations may pass, as far as stations tell.
    #[must_use]
    pub fn may_match_stations(&self, source: Mac, destination: Mac) -> bool {
        self.expression.may_hold(&|term| match term {
            Term::All => Some(true),
            Term::Station(way, mac) => Some(way.picks([source == mac, destination == mac])),
            _ => None,
        })
    }

    /// A program of the classic packet filter for Ethernet frames. It returns `snap_octets` for every
    /// frame that [`Filter::matches`] keeps and for some that it does not, and 0 for the rest. VLAN tags
    /// may stand in the frame or beside it.
    #[must_use]
    pub fn program(&self, snap_octets: u32) -> Vec<Instruction> {
        program::of(&self.expression, snap_octets)
    }
}

impl FromStr for Filter {
    type Err = NotAFilter;

    fn from_str(text: &str) -> Result<Self, NotAFilter> {
        let expression = parse::expression(text)?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = if words.is_empty() { "all".into() } else { words.join(" ").into() };
        Ok(Self { text, expression })
    }
}

impl fmt::Display for Filter {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
