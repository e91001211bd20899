//! Report control blocks (IEC 61850-7-2, 17.2; IEC 61850-8-1, 17): enabling, integrity, general
//! interrogation, data change.
//!
//! A client enables a block by writing `RptEna`; the block is then its own until it disables it or
//! its association ends. A buffered block goes on to store entries for data changes meanwhile
//! ([`super::buffer`]), and sends them to the client that enables it next: those behind the entry
//! whose identifier it writes, or all. Left out: integrity periods of a disabled block, segmentation
//! of reports, and reservation times.

use super::buffer::{Buffer, Entry};
use super::model::{List, Model, Named};
use super::value::{Packed, Value};
use crate::machine::Deadline;
use crate::transport::Endpoint;
use bytes::Bytes;
use core::time::Duration;
use std::collections::BTreeSet;
use wire::ber::{self, Item as _, Reader, Writer};
use wire::mms::{
    AccessResult, Data, InformationReport, ObjectName, Pdu, Unconfirmed, VariableAccess,
};
use wire::time::Instant;

/// Write result: the block is enabled, or another client's.
const UNAVAILABLE: u32 = 2;
/// Write result: the attribute cannot be written.
const DENIED: u32 = 3;
/// Write result: the value cannot be used.
const VALUE_INVALID: u32 = 11;
/// Write result: no such attribute.
const NON_EXISTENT: u32 = 10;
/// Shortest integrity period. A shorter one would let one request cause a flood.
const SHORTEST_PERIOD: Duration = Duration::from_millis(10);
/// Room for the entries of a buffered block, and of all blocks together, in octets.
const BUFFER_OCTETS: usize = 64 << 10;
const ALL_BUFFERS_OCTETS: usize = 8 << 20;
/// Days from 1970 to 1984, where binary time begins.
const DAYS_TO_1984: u64 = 5_113;

/// Bit of the trigger options and of the reasons: data change.
const DATA_CHANGE: usize = 1;
/// Bit of the trigger options and of the reasons: integrity.
const INTEGRITY: usize = 4;
/// Bit of the trigger options and of the reasons: general interrogation.
const INTERROGATION: usize = 5;

/// Report control block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) domain: String,
    /// Name of its variable.
    pub(super) item: String,
    owner: Option<Endpoint>,
    enabled: bool,
    number: u64,
    /// Entries of a buffered block.
    buffer: Buffer,
    /// Number of the last entry.
    entry: u64,
    integrity: Option<Instant>,
    /// Members that have changed, and the time at which they are reported.
    changed: BTreeSet<usize>,
    changed_due: Option<Instant>,
}

/// Report to be sent.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) owner: Endpoint,
    pub(super) pdu: Bytes,
}

/// Reports of a server.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    /// Wall-clock time at the origin of the instants, in nanoseconds since 1970.
    pub(super) epoch_ns: u64,
    /// Longest values of a report, in octets.
    longest: usize,
    /// Room for the entries of a buffered block, in octets.
    room_octets: usize,
}

/// Members of the data set that a report includes, and why.
#[derive(Clone)]
struct Inclusion {
    members: BTreeSet<usize>,
    reason: usize,
}

impl Block {
    fn new(domain: &str, item: &str) -> Self {
        Self {
            domain: domain.to_owned(),
            item: item.to_owned(),
            owner: None,
            enabled: false,
            number: 0,
            buffer: Buffer::default(),
            entry: 0,
            integrity: None,
            changed: BTreeSet::new(),
            changed_due: None,
        }
    }

    fn attribute<'a>(&self, model: &'a Model, name: &str) -> Option<&'a Value> {
        model.leaf(&self.domain, &format!("{}${name}", self.item))
    }

    fn set(&self, model: &mut Model, name: &str, value: &Value) {
        if let Some(own) = model.leaf_mut(&self.domain, &format!("{}${name}", self.item)) {
            *own = value.clone();
        }
    }

    fn bit(&self, model: &Model, name: &str, bit: usize) -> bool {
        match self.attribute(model, name) {
            Some(Value::Bits { bits, .. }) => bits.get(bit).copied().unwrap_or(false),
            _ => false,
        }
    }

    fn period(&self, model: &Model, name: &str) -> Duration {
        Duration::from_millis(self.attribute(model, name).map_or(0, Value::number))
    }

    fn text<'a>(&self, model: &'a Model, name: &str) -> &'a str {
        match self.attribute(model, name) {
            Some(Value::Visible { text, .. }) => text,
            _ => "",
        }
    }

    /// Members of its data set: `domain/node$name`.
    fn members<'a>(&self, model: &'a Model) -> Option<&'a [Named]> {
        let (domain, list) = self.text(model, "DatSet").split_once('/')?;
        let List { members, .. } = model.domains.get(domain)?.lists.get(list)?;
        Some(members)
    }

    fn is_buffered(&self) -> bool {
        self.item.split('$').nth(1) == Some("BR")
    }

    fn disable(&mut self, model: &mut Model) {
        (self.enabled, self.owner, self.integrity) = (false, None, None);
        self.buffer.rewind();
        if !self.is_buffered() {
            self.changed_due = None;
            self.changed.clear();
        }
        for name in ["RptEna", "Resv"] {
            self.set(model, name, &Value::Boolean(false));
        }
    }

    fn enable(&mut self, now: Instant, owner: Endpoint, model: &mut Model) -> Result<(), u32> {
        if self.members(model).is_none_or(<[Named]>::is_empty) {
            return Err(VALUE_INVALID);
        }
        (self.enabled, self.owner, self.number) = (true, Some(owner), 0);
        self.restart(now, model);
        self.set(model, "RptEna", &Value::Boolean(true));
        Ok(())
    }

    /// Starts the integrity period, if there is one.
    fn restart(&mut self, now: Instant, model: &Model) {
        let period = self.period(model, "IntgPd");
        let is_wanted = self.bit(model, "TrgOps", INTEGRITY) && period > Duration::ZERO;
        self.integrity = is_wanted.then(|| now + period.max(SHORTEST_PERIOD));
    }

    fn due(&self) -> Option<Instant> {
        let both = [self.integrity, self.changed_due];
        both.into_iter().flatten().min()
    }
}

impl Blocks {
    pub(super) fn of(model: &Model, epoch_ns: u64, longest: usize) -> Self {
        let domains = model.domains.iter();
        let blocks = domains.flat_map(|(name, domain)| {
            domain.blocks.iter().map(move |item| Block::new(name, item))
        });
        let blocks: Vec<Block> = blocks.collect();
        let buffered = blocks.iter().filter(|block| block.is_buffered()).count().max(1);
        let room_octets = (ALL_BUFFERS_OCTETS / buffered).min(BUFFER_OCTETS);
        Self { blocks, epoch_ns, longest, room_octets }
    }

    /// Place of the block of a variable, and the name of the attribute in it.
    pub(super) fn find<'a>(&self, domain: &str, item: &'a str) -> Option<(usize, &'a str)> {
        self.blocks.iter().enumerate().find_map(|(place, block)| {
            let rest = item.strip_prefix(&block.item)?.strip_prefix('$')?;
            (block.domain == domain).then_some((place, rest))
        })
    }

    /// Writes an attribute of a block; a general interrogation makes a report, and enabling sends
    /// what is buffered.
    pub(super) fn write(
        &mut self,
        now: Instant,
        model: &mut Model,
        writing: Writing<'_>,
    ) -> Result<Vec<Report>, u32> {
        let Writing { place, attribute, data, owner } = writing;
        let block = self.blocks.get_mut(place).ok_or(NON_EXISTENT)?;
        let mut value = block.attribute(model, attribute).cloned().ok_or(NON_EXISTENT)?;
        let is_others = block.owner.is_some_and(|it| it != owner);
        if is_others {
            return Err(UNAVAILABLE);
        }
        value.set(data)?;
        match attribute {
            "RptEna" if value.is_true() => {
                if !block.enabled {
                    block.enable(now, owner, model)?;
                    return Ok(self.buffered(model, place));
                }
            }
            "RptEna" => block.disable(model),
            "GI" if value.is_true() => {
                if !block.enabled {
                    return Err(UNAVAILABLE);
                }
                return Ok(self.all(now, model, place, INTERROGATION).into_iter().collect());
            }
            "GI" => {}
            "Resv" => {
                block.owner = value.is_true().then_some(owner);
                block.set(model, attribute, &value);
            }
            "PurgeBuf" | "RptID" | "DatSet" | "OptFlds" | "BufTm" | "TrgOps" | "IntgPd"
            | "EntryID"
                if block.enabled =>
            {
                return Err(UNAVAILABLE);
            }
            "PurgeBuf" if value.is_true() => block.purge(),
            "PurgeBuf" => {}
            "EntryID" => {
                if !value.entry().is_some_and(|entry| block.buffer.seek(entry)) {
                    return Err(VALUE_INVALID);
                }
                block.set(model, attribute, &value);
            }
            "RptID" | "DatSet" | "OptFlds" | "BufTm" | "TrgOps" | "IntgPd" => {
                // Entries have the members and reasons of these attributes (IEC 61850-7-2, 17.2.2).
                let is_changed = block.attribute(model, attribute) != Some(&value);
                if is_changed && attribute != "OptFlds" {
                    block.purge();
                }
                block.set(model, attribute, &value);
            }
            _ => return Err(DENIED),
        }
        Ok(Vec::new())
    }

    /// Ends the use of all blocks by a client.
    pub(super) fn release(&mut self, model: &mut Model, owner: Endpoint) {
        for block in self.blocks.iter_mut().filter(|block| block.owner == Some(owner)) {
            block.disable(model);
        }
    }

    /// Records the change of a variable in all blocks that report it.
    pub(super) fn changed(&mut self, now: Instant, model: &Model, changed: &Named) {
        for block in self.blocks.iter_mut().filter(|block| block.enabled || block.is_buffered()) {
            if !block.bit(model, "TrgOps", DATA_CHANGE) {
                continue;
            }
            let members = block.members(model).unwrap_or_default().iter().enumerate();
            let is_part = |whole: &Named| {
                whole.domain == changed.domain
                    && changed
                        .item
                        .strip_prefix(&whole.item)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('$'))
            };
            let found: Vec<usize> =
                members.filter(|(_, member)| is_part(member)).map(|(place, _)| place).collect();
            if !found.is_empty() {
                block.changed.extend(found);
                let due = now + block.period(model, "BufTm");
                block.changed_due.get_or_insert(due);
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let first = self.blocks.iter().filter_map(Block::due).min();
        first.map(|at| Deadline { at, timer: "report" })
    }

    /// Makes the reports that are due.
    pub(super) fn expire(&mut self, now: Instant, model: &mut Model) -> Vec<Report> {
        let mut reports = Vec::new();
        for place in 0..self.blocks.len() {
            let Some(block) = self.blocks.get_mut(place) else { continue };
            if block.changed_due.is_some_and(|due| due <= now) {
                block.changed_due = None;
                let members = core::mem::take(&mut block.changed);
                let inclusion = Inclusion { members, reason: DATA_CHANGE };
                reports.extend(self.report(now, model, place, &inclusion));
            }
            let Some(block) = self.blocks.get_mut(place) else { continue };
            if block.integrity.is_some_and(|due| due <= now) {
                // Periods that were missed are not made up for.
                let period = block.period(model, "IntgPd").max(SHORTEST_PERIOD);
                block.integrity = block.integrity.map(|due| (due + period).max(now));
                reports.extend(self.all(now, model, place, INTEGRITY));
            }
        }
        reports
    }

    /// Makes a report of all members.
    fn all(
        &mut self,
        now: Instant,
        model: &mut Model,
        place: usize,
        reason: usize,
    ) -> Option<Report> {
        let count = self.blocks.get(place)?.members(model)?.len();
        let inclusion = Inclusion { members: (0..count).collect(), reason };
        self.report(now, model, place, &inclusion)
    }

    /// Makes an entry of the members' values, and its report if the block is enabled.
    fn report(
        &mut self,
        now: Instant,
        model: &mut Model,
        place: usize,
        inclusion: &Inclusion,
    ) -> Option<Report> {
        let time = binary_time(self.epoch_ns.saturating_add(now.as_nanos()));
        let (longest, room) = (self.longest, self.room_octets);
        let block = self.blocks.get_mut(place)?;
        block.entry += 1;
        let entry = block.entry_of(model, inclusion, time, longest)?;
        if !block.is_buffered() {
            return block.send(model, &entry, false);
        }
        block.buffer.push(entry, room);
        let (entry, has_lost) = block.enabled.then(|| block.buffer.next())??;
        block.send(model, &entry, has_lost)
    }

    /// Reports of the entries that a block has buffered, from the one that its client asked for.
    fn buffered(&mut self, model: &mut Model, place: usize) -> Vec<Report> {
        let mut reports = Vec::new();
        let Some(block) = self.blocks.get_mut(place) else { return reports };
        while let Some((entry, has_lost)) = block.buffer.next() {
            reports.extend(block.send(model, &entry, has_lost));
        }
        reports
    }
}

impl Block {
    fn purge(&mut self) {
        self.buffer = Buffer::default();
        self.changed.clear();
        self.changed_due = None;
    }

    /// Entry with the values of the members now; `None` if they have more than `longest` octets.
    fn entry_of(
        &self,
        model: &Model,
        inclusion: &Inclusion,
        time: [u8; 6],
        longest: usize,
    ) -> Option<Entry> {
        let members = self.members(model)?;
        let mut values = Writer::new();
        for place in inclusion.members.iter().rev() {
            let Some(member) = members.get(*place) else { continue };
            match model.node(&member.domain, &member.item) {
                Some(node) => node.put(&mut values),
                None => AccessResult::Failure(NON_EXISTENT).put(&mut values),
            }
            if values.len() > longest {
                return None;
            }
        }
        Some(Entry {
            number: self.entry,
            time,
            members: inclusion.members.clone(),
            reason: inclusion.reason,
            values: Bytes::copy_from_slice(values.octets()),
        })
    }

    /// Report of an entry to the client of the block.
    fn send(&mut self, model: &mut Model, entry: &Entry, has_lost: bool) -> Option<Report> {
        let owner = self.owner?;
        let pdu = self.encode(model, entry, has_lost)?;
        let is_buffered = self.is_buffered();
        let (bits, wraps) = if is_buffered { (16, 1 << 16) } else { (8, 1 << 8) };
        self.number = (self.number + 1) % wraps;
        self.set(model, "SqNum", &Value::Unsigned { bits, value: self.number });
        if is_buffered {
            let octets = entry.number.to_be_bytes().to_vec();
            self.set(model, "EntryID", &Value::Octets { varies: false, most: 8, octets });
            self.set(model, "TimeOfEntry", &Value::BinaryTime(entry.time));
        }
        Some(Report { owner, pdu })
    }
}

impl Block {
    /// Encodes a report (IEC 61850-8-1, table 38), from its last value to its first.
    fn encode(&self, model: &Model, entry: &Entry, has_lost: bool) -> Option<Bytes> {
        let members = self.members(model)?;
        let has = |bit| self.bit(model, "OptFlds", bit);
        let mut out = Writer::new();
        let included = || entry.members.iter().rev().filter_map(|place| members.get(*place));
        if has(3) {
            let mut reasons = [false; 6];
            if let Some(bit) = reasons.get_mut(entry.reason) {
                *bit = true;
            }
            let reasons = Packed::new(&reasons);
            included().for_each(|_| Data::Bits(reasons.as_bits()).put(&mut out));
        }
        out.put(&entry.values);
        if has(5) {
            for member in included() {
                let name = format!("{}/{}", member.domain, member.item);
                Data::Visible(name.as_bytes()).put(&mut out);
            }
        }
        let places = (0..members.len()).map(|place| entry.members.contains(&place));
        let places: Vec<bool> = places.collect();
        Data::Bits(Packed::new(&places).as_bits()).put(&mut out);
        if has(8) {
            let revision = self.attribute(model, "ConfRev").map_or(0, Value::number);
            Data::Unsigned(revision).put(&mut out);
        }
        let is_buffered = self.is_buffered();
        if has(7) && is_buffered {
            Data::Octets(&entry.number.to_be_bytes()).put(&mut out);
        }
        if has(6) && is_buffered {
            Data::Boolean(has_lost).put(&mut out);
        }
        if has(4) {
            Data::Visible(self.text(model, "DatSet").as_bytes()).put(&mut out);
        }
        if has(2) {
            Data::BinaryTime(&entry.time).put(&mut out);
        }
        if has(1) {
            Data::Unsigned(self.number).put(&mut out);
        }
        let fields = self.fields(model);
        Data::Bits(Packed::new(&fields).as_bits()).put(&mut out);
        Data::Visible(self.text(model, "RptID").as_bytes()).put(&mut out);
        Some(informed(&out))
    }

    /// Optional fields of the reports: those of the block, without those that it cannot have.
    fn fields(&self, model: &Model) -> [bool; 10] {
        let is_buffered = self.is_buffered();
        core::array::from_fn(|bit| {
            let is_possible = match bit {
                0 | 9 => false,
                6 | 7 => is_buffered,
                _ => true,
            };
            is_possible && self.bit(model, "OptFlds", bit)
        })
    }
}

/// Information report of the values in `out`.
fn informed(out: &Writer) -> Bytes {
    let results = ber::List::decode(Reader::new(out.octets())).unwrap_or_default();
    let variables = VariableAccess::Named(ObjectName::Vmd(b"RPT"));
    let report = InformationReport { variables, results };
    super::super::initiate::encoded(&Pdu::Unconfirmed(Unconfirmed::InformationReport(report)))
}

/// Attribute of a block to be written.
pub(super) struct Writing<'a> {
    pub(super) place: usize,
    pub(super) attribute: &'a str,
    pub(super) data: Data<'a>,
    pub(super) owner: Endpoint,
}

/// Binary time of a wall-clock time in nanoseconds since 1970 (ISO 9506-2 7.5.5).
fn binary_time(wall_ns: u64) -> [u8; 6] {
    let millis = wall_ns / 1_000_000;
    let of_day = (millis % 86_400_000) as u32;
    let days = (millis / 86_400_000).saturating_sub(DAYS_TO_1984) as u16;
    let ([a, b, c, d], [e, f]) = (of_day.to_be_bytes(), days.to_be_bytes());
    [a, b, c, d, e, f]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_time_counts_from_1984() {
        // 1984-01-02 00:00:01 UTC: one day, one second.
        let seconds = (DAYS_TO_1984 + 1) * 86_400 + 1;
        assert_eq!(binary_time(seconds * 1_000_000_000), [0, 0, 3, 0xE8, 0, 1]);
    }
}
