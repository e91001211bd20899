//! Connectionless network protocol of an end system (ISO 8473, RFC 994), over one subnetwork.
//!
//! An NSDU is sent with a full header or, in the inactive subset, after one octet 00 without
//! addresses. An NSDU longer than the subnetwork accepts is segmented, if permitted. Both forms are
//! received, whichever is sent. Segments are reassembled, within a bounded time and a bounded
//! number of data units.
//!
//! ```text
//!   NSDU ─▶ header ─▶ longer than the subnetwork takes? ─▶ segments ─▶ subnetwork
//!   NSDU ◀─ reassembly ◀─ segment? ◀─ for this NSAP, alive, sums right? ◀─ subnetwork
//! ```
//!
//! Discarded PDUs are counted by reason (7.9.1.4). An error report goes to the sender if it
//! requested one and the discarded PDU was not an error report itself.
//!
//! Left out: forwarding, which is a function of intermediate systems; routing (the user names the
//! destination station of an NSDU); options, which are ignored; security, quality of service.

mod discard;
mod reassembly;
#[cfg(test)]
mod tests;

pub use discard::{Counters, Reason};

use crate::machine::{Deadline, Machine, Output};
use bytes::{BufMut, BytesMut};
use core::convert::Infallible;
use core::time::Duration;
use reassembly::{Reassembly, Taken};
use std::collections::{BTreeMap, VecDeque};
use wire::addr::{Mac, Nsap};
use wire::clnp::{CLNP, Checksum, INACTIVE, Kind, LIFETIME_UNIT, Pdu, Segmentation, VERSION, seal};
use wire::packet::Packet;
use wire::time::Instant;

/// Data of all segments but the last is a multiple of this, and no segment has less (6.7).
const SEGMENT_UNIT: usize = 8;

/// Form in which NSDUs are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subset {
    /// Inactive subset: one octet in front; for stations of one LAN.
    Inactive,
    /// Full header.
    Full {
        /// The header has a checksum.
        checksum: bool,
        /// SP: an NSDU may be segmented.
        segmentation: bool,
        /// E/R: error reports are requested.
        error_report: bool,
    },
}

/// Parameters of an end system's network layer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// NSAP address; not needed for the inactive subset.
    pub address: Nsap,
    /// Form in which NSDUs are sent.
    pub subset: Subset,
    /// Lifetime of PDUs: at most 127.5 s, in steps of 500 ms rounded up. It also limits the
    /// reassembly time of a segmented NSDU.
    pub lifetime: Duration,
    /// Maximum octets per subnetwork data unit: information field of the LLC PDU, 1497 on 802.3
    /// with LLC.
    pub subnetwork_octets: usize,
    /// Maximum number of concurrent reassemblies; a further one evicts the oldest.
    pub reassemblies: usize,
    /// Maximum number of stations that are answered in kind: stations that sent full headers
    /// receive full headers with the same options, although this station sends the inactive subset.
    pub in_kind: usize,
}

impl Params {
    /// Inactive subset on an 802.3 LAN; full headers are received for this address.
    #[must_use]
    pub const fn inactive(address: Nsap) -> Self {
        Self {
            address,
            subset: Subset::Inactive,
            lifetime: Duration::from_secs(8),
            subnetwork_octets: 1_497,
            reassemblies: 16,
            in_kind: 0,
        }
    }

    /// Full headers with checksum on an 802.3 LAN, segmentation if needed, and error reports.
    #[must_use]
    pub const fn full(address: Nsap) -> Self {
        let subset = Subset::Full { checksum: true, segmentation: true, error_report: true };
        Self { subset, ..Self::inactive(address) }
    }
}

/// NPDU with its destination or source station.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Npdu {
    /// Other station of the subnetwork.
    pub station: Mac,
    /// Octets of the NPDU.
    pub packet: Packet,
}

/// N-UNITDATA request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Station that has the destination address or leads to it.
    pub station: Mac,
    /// Destination NSAP; unused in the inactive subset.
    pub destination: Nsap,
    /// The NSDU.
    pub data: Packet,
}

/// Indication to the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// N-UNITDATA indication.
    Unitdata {
        /// Source station.
        station: Mac,
        /// Source NSAP; none in the inactive subset.
        source: Option<Nsap>,
        /// The NSDU.
        data: Packet,
    },
    /// An error report: a PDU sent from here was discarded.
    Reported {
        /// NSAP that reports the discard.
        reporter: Nsap,
        /// Reason for the discard.
        reason: Reason,
    },
    /// The NSDU is too long for any PDU, or too long for the subnetwork without segmentation.
    TooLong {
        /// Length of the NSDU in octets.
        octets: usize,
    },
}

/// Network layer of an end system.
#[derive(Clone, Debug)]
pub struct Network {
    params: Params,
    identifier: u16,
    reassembly: Reassembly,
    /// Form used for stations that are answered in kind.
    in_kind: BTreeMap<Mac, Subset>,
    outputs: VecDeque<Output<Npdu, Indication, Infallible>>,
    counters: Counters,
}

impl Network {
    /// Creates a network layer whose first data unit identifier is 1.
    #[must_use]
    pub const fn new(params: Params) -> Self {
        let reassembly = Reassembly::new(params.reassemblies);
        let counters = Counters::new();
        let outputs = VecDeque::new();
        Self { params, identifier: 0, reassembly, in_kind: BTreeMap::new(), outputs, counters }
    }

    /// Parameters of the network layer.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Event counters.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Number of NSDUs under reassembly.
    #[must_use]
    pub fn incomplete(&self) -> usize {
        self.reassembly.len()
    }

    /// Fast path: turns an NSDU into an NPDU of the inactive subset without passing through the
    /// output queue. Returns `false` and does nothing if the NSDU must be requested instead.
    pub(crate) fn send_inactive(&self, station: Mac, data: &mut Packet) -> bool {
        let subset = self.in_kind.get(&station).copied().unwrap_or(self.params.subset);
        let is_simple = subset == Subset::Inactive && self.outputs.is_empty();
        let fits = data.len() < self.params.subnetwork_octets;
        if is_simple && fits {
            data.prepend(&[INACTIVE]);
        }
        is_simple && fits
    }

    /// Fast path: turns an NPDU of the inactive subset into the NSDU that would be delivered.
    /// Returns `false` and does nothing if the NPDU must be received instead.
    pub(crate) fn receive_inactive(&mut self, station: Mac, packet: &mut Packet) -> bool {
        let is_simple = packet.first::<1>() == Some([INACTIVE])
            && self.outputs.is_empty()
            && packet.strip(1).is_some();
        if is_simple {
            self.in_kind.remove(&station);
        }
        is_simple
    }

    /// Header of a DT to this address, before segmentation and checksum.
    fn header(&mut self, destination: Nsap, subset: Subset) -> Pdu<'static> {
        let (segmentation, error_report) = match subset {
            Subset::Full { segmentation, error_report, .. } => (segmentation, error_report),
            Subset::Inactive => (false, false),
        };
        let part = segmentation.then(|| {
            self.identifier = self.identifier.wrapping_add(1);
            Segmentation { identifier: self.identifier, offset: 0, total_octets: 0 }
        });
        let mut pdu = Pdu {
            version: VERSION,
            lifetime: units(self.params.lifetime),
            segmentation_permitted: segmentation,
            more_segments: false,
            error_report,
            kind: Kind::Data,
            segment_octets: 0,
            checksum: [0; 2],
            destination,
            source: self.params.address,
            segmentation: part,
            options: &[],
            data: &[],
            header_octets: 0,
        };
        pdu.header_octets = pdu.encoded_header_octets();
        pdu
    }

    /// Sends an NSDU with a full header, in one or more segments.
    fn send(&mut self, request: Request, subset: Subset, checksum: bool) {
        let Request { station, destination, data } = request;
        let pdu = self.header(destination, subset);
        let total = pdu.header_octets + data.len();
        let Ok(total_octets) = u16::try_from(total) else {
            return self.too_long(data.len());
        };
        let most = self.params.subnetwork_octets.saturating_sub(pdu.header_octets);
        if data.len() <= most {
            let segmentation = pdu.segmentation.map(|part| Segmentation { total_octets, ..part });
            return self.send_segment(station, Pdu { segmentation, ..pdu }, data, checksum);
        }
        let room = most / SEGMENT_UNIT * SEGMENT_UNIT;
        let Some(part) = pdu.segmentation.filter(|_| room >= 2 * SEGMENT_UNIT) else {
            return self.too_long(data.len());
        };
        let whole = data.to_bytes();
        let mut offset = 0;
        while offset < whole.len() {
            let left = whole.len() - offset;
            // The octets left for the last segment must not be less than a unit either.
            let octets = match left {
                left if left <= most => left,
                left if left - room < SEGMENT_UNIT => room - SEGMENT_UNIT,
                _ => room,
            };
            let segmentation = Some(Segmentation { offset: offset as u16, total_octets, ..part });
            let more_segments = octets < left;
            let data = Packet::new(whole.slice(offset..offset + octets));
            self.send_segment(station, Pdu { segmentation, more_segments, ..pdu }, data, checksum);
            self.counters.segments_sent += 1;
            offset += octets;
        }
    }

    fn too_long(&mut self, octets: usize) {
        self.counters.too_long += 1;
        self.outputs.push_back(Output::Deliver(Indication::TooLong { octets }));
    }

    fn send_segment(&mut self, station: Mac, pdu: Pdu<'_>, mut packet: Packet, checksum: bool) {
        let segment_octets = (pdu.header_octets + packet.len()).min(0xFFFF) as u16;
        let mut header = BytesMut::with_capacity(pdu.header_octets);
        Pdu { segment_octets, ..pdu }.encode(&mut header);
        if checksum {
            seal(&mut header);
        }
        packet.prepend(&header);
        self.outputs.push_back(Output::Send(Npdu { station, packet }));
    }

    /// Receives a PDU with a full header.
    fn take(&mut self, now: Instant, station: Mac, octets: &[u8]) {
        let Ok(pdu) = Pdu::decode(octets) else {
            // The address for a report cannot be determined.
            return self.counters.discard(Reason::HEADER_SYNTAX_ERROR);
        };
        if let Some(reason) = self.objection(&pdu, octets) {
            return self.discard(station, &pdu, octets, reason);
        }
        if pdu.kind == Kind::Error {
            return self.reported(&pdu);
        }
        self.remember(station, &pdu);
        if !pdu.is_segment() {
            let data = Packet::new(bytes::Bytes::copy_from_slice(pdu.data));
            return self.deliver(station, pdu.source, data);
        }
        let ends = now + LIFETIME_UNIT * u32::from(pdu.lifetime);
        match self.reassembly.take(&pdu, station, ends, octets) {
            Taken::Whole(data) => self.deliver(station, pdu.source, Packet::new(data)),
            Taken::Kept => {}
            Taken::Interference => {
                self.discard(station, &pdu, octets, Reason::REASSEMBLY_INTERFERENCE);
            }
            Taken::Displaced(held) => self.report(held.station, &held.first, Reason::CONGESTION),
        }
    }

    /// Records the form in which a station is to be answered.
    fn remember(&mut self, station: Mac, pdu: &Pdu<'_>) {
        let is_known = self.in_kind.contains_key(&station);
        if is_known || self.in_kind.len() < self.params.in_kind {
            let form = Subset::Full {
                checksum: pdu.checksum != [0, 0],
                segmentation: pdu.segmentation.is_some(),
                error_report: pdu.error_report,
            };
            self.in_kind.insert(station, form);
        }
    }

    /// Returns the reason to discard a PDU, if any (6.3, 6.9).
    fn objection(&self, pdu: &Pdu<'_>, octets: &[u8]) -> Option<Reason> {
        if pdu.version != VERSION {
            return Some(Reason::UNSUPPORTED_VERSION);
        }
        if pdu.verify(octets) == Checksum::Bad {
            return Some(Reason::INCORRECT_CHECKSUM);
        }
        if pdu.lifetime == 0 {
            return Some(Reason::LIFETIME_EXPIRED_IN_TRANSIT);
        }
        if pdu.destination != self.params.address {
            return Some(Reason::DESTINATION_UNKNOWN);
        }
        match pdu.kind {
            Kind::Data if pdu.more_segments && pdu.segmentation.is_none() => {
                Some(Reason::PROTOCOL_PROCEDURE_ERROR)
            }
            Kind::Data | Kind::Error => None,
            Kind::Other(_) => Some(Reason::HEADER_SYNTAX_ERROR),
        }
    }

    fn deliver(&mut self, station: Mac, source: Nsap, data: Packet) {
        let indication = Indication::Unitdata { station, source: Some(source), data };
        self.outputs.push_back(Output::Deliver(indication));
    }

    fn reported(&mut self, pdu: &Pdu<'_>) {
        let reason = discard::reason_of(pdu.options);
        *self.counters.reported.entry(reason).or_default() += 1;
        let indication = Indication::Reported { reporter: pdu.source, reason };
        self.outputs.push_back(Output::Deliver(indication));
    }

    /// Discards a PDU, and sends an error report if permitted (6.10.2).
    fn discard(&mut self, station: Mac, pdu: &Pdu<'_>, octets: &[u8], reason: Reason) {
        self.counters.discard(reason);
        // The source address in a corrupt header cannot be trusted.
        let wanted = pdu.error_report && pdu.kind == Kind::Data;
        if wanted && reason != Reason::INCORRECT_CHECKSUM && station_is_single(station) {
            let header = octets.get(..pdu.header_octets).unwrap_or(octets);
            self.send_report(station, pdu.source, header, reason);
        }
    }

    /// Like [`Network::discard`], for a PDU of which only the header is left.
    fn report(&mut self, station: Mac, header: &[u8], reason: Reason) {
        self.counters.discard(reason);
        // Decodes the header alone; its data was discarded.
        if let Ok(pdu) = Pdu::decode_cut(header, usize::from(u16::MAX))
            && pdu.error_report
            && station_is_single(station)
        {
            self.send_report(station, pdu.source, header, reason);
        }
    }

    /// Sends an error report: the reason as an option, the header of the discarded PDU as data.
    fn send_report(&mut self, station: Mac, destination: Nsap, header: &[u8], reason: Reason) {
        let mut options = BytesMut::new();
        options.put_slice(&discard::option(reason));
        let report = Pdu {
            kind: Kind::Error,
            segmentation: None,
            segmentation_permitted: false,
            error_report: false,
            options: &options,
            ..self.header(destination, Subset::Inactive)
        };
        let report = Pdu { header_octets: report.encoded_header_octets(), ..report };
        let most = self.params.subnetwork_octets.saturating_sub(report.header_octets);
        let data = bytes::Bytes::copy_from_slice(&header[..header.len().min(most)]);
        self.counters.reports_sent += 1;
        self.send_segment(station, report, Packet::new(data), true);
    }
}

/// Lifetime in PDU units, rounded up, at least one. A PDU with no lifetime would be expired on
/// arrival.
fn units(lifetime: Duration) -> u8 {
    let units = lifetime.as_nanos().div_ceil(LIFETIME_UNIT.as_nanos());
    u8::try_from(units).unwrap_or(u8::MAX).max(1)
}

/// Returns true if a report to the station reaches only that station.
const fn station_is_single(station: Mac) -> bool {
    !station.is_group()
}

impl Machine for Network {
    type Request = Request;
    type Indication = Indication;
    type Pdu = Npdu;
    type Note = Infallible;

    fn request(&mut self, _now: Instant, mut request: Request) {
        let subset = self.in_kind.get(&request.station).copied().unwrap_or(self.params.subset);
        match subset {
            Subset::Inactive => {
                if request.data.len() + 1 > self.params.subnetwork_octets {
                    return self.too_long(request.data.len());
                }
                request.data.prepend(&[INACTIVE]);
                let npdu = Npdu { station: request.station, packet: request.data };
                self.outputs.push_back(Output::Send(npdu));
            }
            Subset::Full { checksum, .. } => self.send(request, subset, checksum),
        }
    }

    fn receive(&mut self, now: Instant, Npdu { station, mut packet }: Npdu) {
        match packet.first::<1>() {
            Some([INACTIVE]) if packet.strip(1).is_some() => {
                self.in_kind.remove(&station);
                let indication = Indication::Unitdata { station, source: None, data: packet };
                self.outputs.push_back(Output::Deliver(indication));
            }
            Some([CLNP]) => self.take(now, station, &packet.to_bytes()),
            _ => self.counters.foreign += 1,
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some(held) = self.reassembly.expire(now) {
            self.report(held.station, &held.first, Reason::LIFETIME_EXPIRED_IN_REASSEMBLY);
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        self.reassembly.deadline().map(|at| Deadline { at, timer: "reassembly" })
    }

    fn poll(&mut self) -> Option<Output<Npdu, Indication, Infallible>> {
        self.outputs.pop_front()
    }
}
