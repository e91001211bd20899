//! Parser of filters: words, then recursive descent through "or", "and" and "not".

use super::{Expression, Term, Way};
use crate::addr::{Mac, Nsap};
use crate::next;
use crate::tp::Kind;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

/// Longest accepted text, in characters.
const MOST_CHARS: usize = 4_096;
/// Deepest accepted nesting of parentheses and "not".
const DEEPEST: usize = 32;
const CONDITION: &str = "a condition such as host, port, class, llc, iso, tcp, vlan or tpdu";

/// Error: a text is not a filter, with the problem and its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAFilter {
    text: Box<str>,
    /// Column of the first wrong character, counted from 1.
    column: usize,
    chars: usize,
    problem: Box<str>,
}

impl NotAFilter {
    /// Column of the first wrong character, counted from 1.
    #[must_use]
    pub const fn column(&self) -> usize {
        self.column
    }

    /// Column and problem, without the text.
    #[must_use]
    pub fn to_line(&self) -> String {
        format!("column {}: {}", self.column, self.problem)
    }

    /// Problem, without its position.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for NotAFilter {
    /// Prints the problem, the text, and carets below the position.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, column, chars, .. } = self;
        let carets = "^".repeat((*chars).max(1));
        writeln!(f, "{}", self.to_line())?;
        write!(f, "  {text}\n  {:>width$}{carets}", "", width = column - 1)
    }
}

impl core::error::Error for NotAFilter {}

/// Word and its column, in characters from 1.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    column: usize,
}

struct Words<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
    next: usize,
}

/// Splits a text at blanks. Parentheses and `!` are words of their own.
fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut begun: Option<(usize, usize)> = None;
    let mut end = |begun: &mut Option<(usize, usize)>, at: usize| {
        if let Some((from, column)) = begun.take() {
            words.push(Word { text: text.get(from..at).unwrap_or_default(), column });
        }
    };
    for (place, (at, c)) in text.char_indices().enumerate() {
        let is_sign = matches!(c, '(' | ')' | '!');
        if c.is_whitespace() || is_sign {
            end(&mut begun, at);
        }
        if is_sign {
            begun = Some((at, place + 1));
            end(&mut begun, at + 1);
        } else if !c.is_whitespace() && begun.is_none() {
            begun = Some((at, place + 1));
        }
    }
    end(&mut begun, text.len());
    words
}

/// Parses a filter; an empty text passes all frames.
pub(super) fn expression(text: &str) -> Result<Expression, NotAFilter> {
    let mut words = Words { text, words: words(text), next: 0 };
    if text.chars().count() > MOST_CHARS {
        return Err(words.wrong(0, format!("longer than {MOST_CHARS} characters")));
    }
    if words.words.is_empty() {
        return Ok(Expression::Term(Term::All));
    }
    let expression = words.either(0)?;
    match words.peek() {
        None => Ok(expression),
        Some(")") => Err(words.wrong(words.next, "a parenthesis that was not opened".to_owned())),
        Some(word) => Err(words.wrong(words.next, format!("not expected: {word:?}"))),
    }
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).map(|word| word.text)
    }

    fn take(&mut self) -> Option<&'a str> {
        let word = self.peek();
        self.next += usize::from(word.is_some());
        word
    }

    /// Error at a word, or at the end if there is no such word.
    fn wrong(&self, place: usize, problem: String) -> NotAFilter {
        let (column, chars) = match self.words.get(place) {
            Some(word) => (word.column, word.text.chars().count()),
            None => (self.text.trim_end().chars().count() + 1, 1),
        };
        NotAFilter { text: self.text.into(), column, chars, problem: problem.into() }
    }

    /// Error at the last word taken.
    fn wrong_last(&self, problem: String) -> NotAFilter {
        self.wrong(self.next.saturating_sub(1), problem)
    }

    fn either(&mut self, depth: usize) -> Result<Expression, NotAFilter> {
        let mut parts = vec![self.both(depth)?];
        while let Some("or" | "||") = self.peek() {
            self.next += 1;
            parts.push(self.both(depth)?);
        }
        Ok(one_or(parts, Expression::Either))
    }

    fn both(&mut self, depth: usize) -> Result<Expression, NotAFilter> {
        let mut parts = vec![self.negation(depth)?];
        loop {
            match self.peek() {
                None | Some("or" | "||" | ")") => return Ok(one_or(parts, Expression::Both)),
                Some("and" | "&&") => self.next += 1,
                Some(_) => {}
            }
            parts.push(self.negation(depth)?);
        }
    }

    fn negation(&mut self, depth: usize) -> Result<Expression, NotAFilter> {
        if depth > DEEPEST {
            return Err(self.wrong(self.next, format!("nested deeper than {DEEPEST}")));
        }
        let opened = self.next;
        match self.peek() {
            Some("not" | "!") => {
                self.next += 1;
                Ok(Expression::Not(Box::new(self.negation(depth + 1)?)))
            }
            Some("(") => {
                self.next += 1;
                let inner = self.either(depth + 1)?;
                match self.take() {
                    Some(")") => Ok(inner),
                    _ => Err(self.wrong(opened, "a parenthesis that is not closed".to_owned())),
                }
            }
            _ => self.term().map(Expression::Term),
        }
    }

    fn term(&mut self) -> Result<Term, NotAFilter> {
        let Some(word) = self.take() else {
            return Err(self.wrong(self.next, format!("the end; expected {CONDITION}")));
        };
        match word {
            "all" => Ok(Term::All),
            "llc" => Ok(Term::Llc),
            "iso" => Ok(Term::Iso),
            "ip" => Ok(Term::Ip),
            "tcp" => Ok(Term::Tcp),
            "host" => self.host(Way::Either),
            "from" => self.end(Way::From),
            "to" => self.end(Way::To),
            "port" => self.number("a port", 65_535).map(|n| Term::Port(Way::Either, n)),
            "nsap" => self.nsap(Way::Either),
            "class" => self.number("a class", 4).map(|n| Term::Class(n as u8)),
            "tpdu" => self.tpdu(),
            "vlan" => match self.peek() {
                Some(next) if next.starts_with(|c: char| c.is_ascii_digit()) => {
                    self.number("a VLAN", 4_095).map(|n| Term::Vlan(Some(n)))
                }
                _ => Ok(Term::Vlan(None)),
            },
            _ => match next::leaf(word) {
                Some(leaf) => Ok(Term::Leaf(leaf)),
                None => Err(self.wrong_last(not_expected(word, CONDITION))),
            },
        }
    }

    /// Parses the condition after `from` or `to`.
    fn end(&mut self, way: Way) -> Result<Term, NotAFilter> {
        match self.peek() {
            Some("port") => {
                self.next += 1;
                self.number("a port", 65_535).map(|number| Term::Port(way, number))
            }
            Some("nsap") => {
                self.next += 1;
                self.nsap(way)
            }
            Some("host") => {
                self.next += 1;
                self.host(way)
            }
            _ => self.host(way),
        }
    }

    /// Takes the next word, which must exist.
    fn word(&mut self, expected: &str) -> Result<&'a str, NotAFilter> {
        match self.take() {
            Some(word) => Ok(word),
            None => Err(self.wrong(self.next, format!("the end; expected {expected}"))),
        }
    }

    fn host(&mut self, way: Way) -> Result<Term, NotAFilter> {
        const EXPECTED: &str = "an address such as 02:00:00:00:00:01, 10.0.0.7 or fe80::1";
        let word = self.word(EXPECTED)?;
        if let Ok(mac) = word.parse::<Mac>() {
            return Ok(Term::Station(way, mac));
        }
        let internet: IpAddr =
            word.parse().map_err(|_| self.wrong_last(not_expected(word, EXPECTED)))?;
        Ok(Term::Internet(way, mapped(internet)))
    }

    fn number(&mut self, what: &str, most: u16) -> Result<u16, NotAFilter> {
        let expected = format!("{what} from 0 to {most}");
        let word = self.word(&expected)?;
        let is_plain = word.bytes().all(|octet| octet.is_ascii_digit());
        let number = word.parse().ok().filter(|number| is_plain && *number <= most);
        number.ok_or_else(|| self.wrong_last(not_expected(word, &expected)))
    }

    fn nsap(&mut self, way: Way) -> Result<Term, NotAFilter> {
        const EXPECTED: &str = "up to 20 octets in hexadecimal, and * where more may follow";
        let word = self.word(EXPECTED)?;
        let digits = word.strip_suffix('*');
        let nsap = octets(digits.unwrap_or(word)).and_then(|octets| Nsap::new(&octets));
        nsap.map(|nsap| Term::Nsap(way, nsap, digits.is_some()))
            .ok_or_else(|| self.wrong_last(not_expected(word, EXPECTED)))
    }

    fn tpdu(&mut self) -> Result<Term, NotAFilter> {
        const EXPECTED: &str = "one of cr, cc, dr, dc, dt, ed, ak, ea, rj and er";
        let word = self.word(EXPECTED)?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(word));
        kind.map(Term::Tpdu).ok_or_else(|| self.wrong_last(not_expected(word, EXPECTED)))
    }
}

fn not_expected(word: &str, expected: &str) -> String {
    format!("not expected: {word:?}; expected {expected}")
}

fn one_or(mut parts: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            many(parts)
        }
    }
}

const fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Parses octets in hexadecimal, with or without points between them.
fn octets(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> =
        text.chars().filter(|c| *c != '.').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let is_some = !pairs.is_empty() && rest.is_empty();
    is_some.then(|| pairs.iter().map(|[high, low]| (high << 4 | low) as u8).collect())
}
