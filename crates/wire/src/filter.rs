//! Frame filters: a small language, its evaluation, and its translation to a program for the
//! kernel.
//!
//! ```text
//! filter   = { condition } joined by "or"; "and", or nothing, binds tighter, "not" tightest; ( )
//! condition = all
//!           | [ host | from | to ] STATION or INTERNET ADDRESS
//!           | [ from | to ] port NUMBER          of TCP
//!           | [ from | to ] nsap HEX or HEX*     exact, or a prefix with *
//!           | class 0..4                         of a CR or CC
//!           | tpdu cr|cc|dr|dc|dt|ed|ak|ea|rj|er
//!           | llc | iso | ip | tcp | vlan [ NUMBER ]
//! ```
//!
//! [`Filter::matches`] evaluates the decoded layers of a frame. [`Filter::program`] is coarser: it
//! passes every frame that `matches` accepts, and more.
//!
//! Left out: host names, which would need a resolver; earlier frames of a connection or TCP stream,
//! because each frame is judged by itself; ports of UDP.

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
use crate::leaf::Leaf;
use crate::tp::Kind;
use core::fmt;
use core::net::Ipv6Addr;
use core::str::FromStr;
use facts::Facts;

/// End of a frame to which a condition applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Either,
    From,
    To,
}

impl Way {
    /// Combines the results of a condition for the source and for the destination.
    const fn picks(self, [source, destination]: [bool; 2]) -> bool {
        match self {
            Self::Either => source || destination,
            Self::From => source,
            Self::To => destination,
        }
    }
}

/// Condition on a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Term {
    All,
    Station(Way, Mac),
    /// An IPv4 address is stored in its mapped form.
    Internet(Way, Ipv6Addr),
    /// True if the NSAP is a prefix.
    Nsap(Way, Nsap, bool),
    Port(Way, u16),
    Class(u8),
    Tpdu(Kind),
    /// PDU of a protocol that ends the frame.
    Leaf(&'static Leaf),
    Llc,
    Iso,
    Ip,
    Tcp,
    /// Any VLAN if no number is given.
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

    /// Returns true if the expression may hold although some conditions are unknown (`None`).
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

/// Filter of frames, with its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    text: Box<str>,
    expression: Expression,
}

impl Filter {
    /// Creates a filter that passes every frame.
    #[must_use]
    pub fn all() -> Self {
        Self { text: "all".into(), expression: Expression::Term(Term::All) }
    }

    /// Returns true if the filter passes every frame by definition.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.expression == Expression::Term(Term::All)
    }

    /// Returns a filter that passes the frames that both filters pass.
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

    /// Evaluates the filter for a frame that was `original_octets` long and of which `octets` were
    /// captured.
    #[must_use]
    pub fn matches(&self, link: Link, octets: &[u8], original_octets: usize) -> bool {
        if self.is_all() {
            return true;
        }
        let facts = Facts::of(link, octets, original_octets);
        self.expression.holds(&|term| facts.hold(term))
    }

    /// Returns true if frames between these two stations may pass, judged by station addresses
    /// alone.
    #[must_use]
    pub fn may_match_stations(&self, source: Mac, destination: Mac) -> bool {
        self.expression.may_hold(&|term| match term {
            Term::All => Some(true),
            Term::Station(way, mac) => Some(way.picks([source == mac, destination == mac])),
            _ => None,
        })
    }

    /// Compiles the filter to a classic BPF program for Ethernet frames. It returns `snap_octets`
    /// for every frame that [`Filter::matches`] accepts and for some that it rejects, and 0 for the
    /// rest. VLAN tags may be in the frame or in the kernel's metadata.
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
    /// Prints the filter's text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
