//! A trace with exactly the volumes of the paper's Table 4, TPDU by TPDU.
//!
//! Each connection of the [`plan`](super::plan) behaves as in class 4: a three-way handshake; one
//! DT under way at a time; for each DT an AK, and a second one with taut flow control;
//! retransmitted DTs; window timers on the idle connection; a release. Intervals 4 to 6 are in the
//! extended format without checksum, the others in the normal one with it. Remaining header octets
//! go into the parameters that the paper names, subsequence number and flow control confirmation,
//! and into TSAP-IDs.
//!
//! Not modelled: hosts, media and loss; no TPDU depends on another. The trace is constructed, and
//! shows only that the meter counts as the paper defines.

use super::plan::{Transfers, connections, share};
use super::volumes::{VOLUMES, Volumes};
use core::time::Duration;
use wire::addr::Mac;
use wire::encapsulation;
use wire::time::Instant;
use wire::tp::{
    Acknowledgement, ClassOption, Connect, Data, Disconnect, DisconnectConfirm,
    FlowControlConfirmation, Format, Kind, Parameter, ParameterBuffer, Pdu, Reference, seal,
};

/// Length of an interval.
pub(super) const INTERVAL: Duration = Duration::from_secs(900);
/// Period within which connections begin, one after the other.
const BEGINNINGS: Duration = Duration::from_secs(600);
/// Time between TPDUs of a connection.
const STEP: Duration = Duration::from_millis(2);
/// Time until a CR or DT is retransmitted.
const RETRANSMISSION: Duration = Duration::from_secs(1);
/// Time until an AK is repeated on an idle connection (W).
const WINDOW: Duration = Duration::from_secs(10);
/// User data of a DT of the called host: a command of a file protocol.
const COMMAND_OCTETS: u64 = 30;
/// Octets of a subsequence number and a flow control confirmation parameter.
const CONFIRMATION_OCTETS: u64 = 14;
/// User data: an octet that begins no protocol recognised above class 4.
const FILL: u8 = 0xF0;
/// Longest TSAP-ID that is used.
const MAXIMUM_TSAP: usize = 32;
/// 2,048 octets as the parameter encodes it, of which a frame holds 1,496.
const TPDU_SIZE: u8 = 11;

/// TPDU of the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passage {
    /// Time.
    pub at: Instant,
    /// Number of the sending host.
    pub from: u32,
    /// Number of the receiving host.
    pub to: u32,
    /// Header and user data.
    pub tpdu: Vec<u8>,
}

impl Passage {
    /// Ethernet frame with LLC and the inactive network layer, padded to 60 octets.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        let llc = [0xFE, 0xFE, 0x03, 0x00];
        let length = (llc.len() + self.tpdu.len()) as u16;
        let mut frame = [Mac::local(self.to).0, Mac::local(self.from).0].concat();
        frame.extend(length.to_be_bytes());
        frame.extend(llc);
        frame.extend(&self.tpdu);
        frame.resize(frame.len().max(wire::mac::MIN_OCTETS), 0);
        frame
    }

    /// Frame of the link type of exported PDUs, as a test centre delivers it from between transport
    /// and network, with hosts as 192.0.2.N.
    #[must_use]
    pub fn exported(&self) -> Vec<u8> {
        let address = |host: u32| [192, 0, 2, host as u8];
        let mut octets = Vec::new();
        encapsulation::exported(address(self.from), address(self.to), &mut octets);
        octets.extend(&self.tpdu);
        octets
    }
}

/// Complete trace from this time on, in the order of time.
#[must_use]
pub fn trace(origin: Instant) -> Vec<Passage> {
    let mut first_reference = 1;
    let mut trace = Vec::new();
    for (interval, volumes) in VOLUMES.iter().enumerate() {
        let start = origin + INTERVAL * interval as u32;
        let mut writer = Writer::new(interval, volumes);
        let plan = connections(interval);
        let dialogues: Vec<Vec<Event>> = plan.iter().map(dialogue).collect();
        writer.budget(&plan, &dialogues);
        let mut passages = Vec::new();
        let apart = BEGINNINGS / plan.len().max(1) as u32;
        for (place, (transfers, events)) in plan.iter().zip(dialogues).enumerate() {
            let begins = start + Duration::from_secs(1) + apart * place as u32;
            let references = [first_reference, first_reference + 1].map(Reference);
            first_reference += 2;
            passages.extend(writer.connection(begins, transfers, references, events));
        }
        // Stable sort: TPDUs of the same time stay in the order of the connections.
        passages.sort_by_key(|passage: &Passage| passage.at);
        trace.extend(passages);
    }
    trace
}

/// TPDU to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Cr,
    Cc,
    /// DT, and whether it is retransmitted.
    Dt {
        number: u32,
        is_repeated: bool,
        is_first: bool,
    },
    Ak {
        next: u32,
        credit: u16,
    },
    Dr,
    Dc,
}

/// TPDU of a connection: time after its beginning, side, and content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Event {
    after: Duration,
    side: usize,
    what: What,
}

/// One side of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    /// DTs sent.
    sent: u64,
    /// Window that it grants.
    window: u16,
    /// Acknowledgement and credit of its last AK.
    granted: (u32, u16),
}

/// Connection under way.
struct Dialogue<'a> {
    transfers: &'a Transfers,
    sides: [Side; 2],
    now: Duration,
    events: Vec<Event>,
}

/// TPDUs of a connection, in order of time.
fn dialogue(transfers: &Transfers) -> Vec<Event> {
    let side = Side { window: 1, ..Side::default() };
    let mut dialogue =
        Dialogue { transfers, sides: [side; 2], now: Duration::ZERO, events: Vec::new() };
    dialogue.open();
    let [there, back] = transfers.dts;
    for place in 0..there {
        dialogue.data(0);
        for _ in 0..share(back, there, place) {
            dialogue.data(1);
        }
    }
    dialogue.idle();
    dialogue.say(0, What::Dr);
    dialogue.say(1, What::Dc);
    let mut events = dialogue.events;
    events.sort_by_key(|event| event.after);
    events
}

impl Dialogue<'_> {
    fn say(&mut self, side: usize, what: What) {
        self.events.push(Event { after: self.now, side, what });
        self.now += STEP;
    }

    /// Adds CR, its retransmissions, CC, and the AK that ends the handshake and grants the first
    /// credit.
    fn open(&mut self) {
        for _ in 0..self.transfers.repeated_crs {
            self.say(0, What::Cr);
            self.now += RETRANSMISSION;
        }
        self.say(0, What::Cr);
        self.say(1, What::Cc);
        self.acknowledge(0, 0, 1);
    }

    fn acknowledge(&mut self, side: usize, next: u32, credit: u16) {
        self.sides[side].granted = (next, credit);
        self.say(side, What::Ak { next, credit });
    }

    /// Adds a DT, with retransmission if required, and its AKs: one that leaves the window
    /// unchanged, or one that closes it by one and one that reopens it, and possibly one that opens
    /// it wider from then on. So no credit is withdrawn.
    fn data(&mut self, side: usize) {
        let place = self.sides[side].sent;
        let (number, total) = (place as u32, self.transfers.dts[side]);
        let repeated = if side == 0 { self.transfers.repeated_dts } else { 0 };
        let is_repeated = share(repeated, total, place) > 0;
        self.say(side, What::Dt { number, is_repeated, is_first: true });
        if is_repeated {
            self.now += RETRANSMISSION;
            self.say(side, What::Dt { number, is_repeated, is_first: false });
        }
        self.sides[side].sent += 1;
        let receiver = 1 - side;
        let further = share(self.transfers.further_aks[receiver], total, place);
        let window = self.sides[receiver].window;
        match further {
            0 => self.acknowledge(receiver, number + 1, window),
            _ => {
                self.acknowledge(receiver, number + 1, window - 1);
                self.acknowledge(receiver, number + 1, window);
            }
        }
        for wider in 1..further as u16 {
            self.sides[receiver].window = window + wider;
            self.acknowledge(receiver, number + 1, window + wider);
        }
    }

    /// Adds AKs of window timers on both sides of the idle connection.
    fn idle(&mut self) {
        let begins = self.now;
        let [caller, called] = self.transfers.repeated_aks;
        for (side, count) in [(0, caller), (1, called)] {
            let (next, credit) = self.sides[side].granted;
            for turn in 1..=count {
                self.now = begins + WINDOW * turn as u32 + STEP * side as u32;
                self.say(side, What::Ak { next, credit });
            }
        }
        self.now = begins + WINDOW * (caller.max(called) + 1) as u32;
    }
}

/// Distribution of a total over all connections of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Shared {
    total: u64,
    count: u64,
    place: u64,
}

impl Shared {
    const fn new(total: u64, count: u64) -> Self {
        Self { total, count, place: 0 }
    }

    /// Share of the next connection.
    const fn next(&mut self) -> u64 {
        self.place += 1;
        share(self.total, self.count, self.place - 1)
    }
}

/// Encodes the TPDUs of an interval so that their octets have the required sums.
struct Writer<'a> {
    volumes: &'a Volumes,
    format: Format,
    /// User data of retransmitted DTs.
    repeated: Shared,
    /// User data of the caller's other DTs.
    records: Shared,
    /// DTs without EOT, among those of the caller that another follows.
    parts: Shared,
    /// Connections before the one whose last TSDU is never finished; none without such a TSDU.
    until_unfinished: Option<usize>,
    /// AKs with a subsequence number and a flow control confirmation.
    confirmations: Shared,
    /// Octets of TSAP-IDs above the minimum.
    identifiers: Shared,
}

impl<'a> Writer<'a> {
    fn new(interval: usize, volumes: &'a Volumes) -> Self {
        let format = if (4..=6).contains(&interval) { Format::Extended } else { Format::Normal };
        let none = Shared::default();
        Self {
            volumes,
            format,
            repeated: none,
            records: none,
            parts: none,
            until_unfinished: None,
            confirmations: none,
            identifiers: none,
        }
    }

    /// Computes the distributions.
    fn budget(&mut self, plan: &[Transfers], dialogues: &[Vec<Event>]) {
        let volumes = self.volumes;
        let sum = |count: fn(&Transfers) -> u64| plan.iter().map(count).sum::<u64>();
        let [there, back] = [sum(|t| t.dts[0]), sum(|t| t.dts[1])];
        let repeated = volumes.data_octets - volumes.information_octets;
        let [unfinished, its_dts] = [volumes.unfinished_octets(), volumes.unfinished_dts()];
        self.repeated = Shared::new(repeated - unfinished, volumes.repeated_dts - its_dts);
        let records = volumes.information_octets - repeated - COMMAND_OCTETS * back;
        self.records = Shared::new(records, there - volumes.repeated_dts);
        // The last DT of a connection with retransmissions is retransmitted, so that its octets
        // count among those.
        let repeats = |transfers: &Transfers| its_dts > 0 && transfers.repeated_dts > 0;
        self.until_unfinished = plan.iter().position(repeats);
        let parts = volumes.original_dts() - volumes.possible_tsdus() - its_dts;
        self.parts = Shared::new(parts, there - volumes.connections);
        let events = dialogues.iter().flatten();
        let least: usize = events.map(|event| self.least_header(event.what)).sum();
        let left = volumes.header_octets - least as u64;
        let confirmations = (left / CONFIRMATION_OCTETS).min(volumes.aks);
        self.confirmations = Shared::new(confirmations, volumes.aks);
        let identifiers = left - CONFIRMATION_OCTETS * confirmations;
        self.identifiers = Shared::new(identifiers, volumes.connections);
    }

    /// Minimal header of a TPDU.
    fn least_header(&self, what: What) -> usize {
        let ends = [Reference(1); 2];
        self.encoded(what, ends, &Extra::default()).len()
    }

    fn connection(
        &mut self,
        begins: Instant,
        transfers: &Transfers,
        references: [Reference; 2],
        events: Vec<Event>,
    ) -> Vec<Passage> {
        let hosts = [transfers.from, transfers.to].map(super::plan::Host::number);
        let identifier_octets = self.identifiers.next() as usize;
        let mut heard = [NOTHING; 2];
        let mut latest = (Vec::new(), true);
        let unfinished = self.until_unfinished == Some(0);
        self.until_unfinished = self.until_unfinished.and_then(|before| before.checked_sub(1));
        let passage = |event: Event| {
            let side = event.side;
            let ends = [references[side], references[1 - side]];
            let mut extra = Extra::default();
            match event.what {
                What::Dt { is_first, number, is_repeated } => {
                    if is_first {
                        let is_last = side == 1 || u64::from(number) + 1 == transfers.dts[0];
                        latest = if unfinished && is_last && side == 0 {
                            (vec![FILL; self.volumes.unfinished_octets() as usize], false)
                        } else {
                            let ends_tsdu = is_last || self.parts.next() == 0;
                            (vec![FILL; self.data_octets(side, is_repeated)], ends_tsdu)
                        };
                    }
                    (extra.data, extra.end_of_tsdu) = latest.clone();
                }
                What::Ak { next, credit } => {
                    extra.confirms = (self.confirmations.next() > 0).then_some(heard[side]);
                    let lower_window_edge = next % self.format.modulus();
                    heard[1 - side] =
                        FlowControlConfirmation { lower_window_edge, subsequence: 0, credit };
                }
                What::Cc => extra.identifier_octets = identifier_octets,
                What::Cr | What::Dr | What::Dc => {}
            }
            let tpdu = self.encoded(event.what, ends, &extra);
            Passage { at: begins + event.after, from: hosts[side], to: hosts[1 - side], tpdu }
        };
        events.into_iter().map(passage).collect()
    }

    const fn data_octets(&mut self, side: usize, is_repeated: bool) -> usize {
        let octets = match (side, is_repeated) {
            (1, _) => COMMAND_OCTETS,
            (_, true) => self.repeated.next(),
            (_, false) => self.records.next(),
        };
        octets as usize
    }

    /// TPDU from one side to the other, with its checksum if there is one.
    fn encoded(&self, what: What, [from, to]: [Reference; 2], extra: &Extra) -> Vec<u8> {
        let (kind, format) = (what.kind(), self.format);
        let has_checksum = format == Format::Normal || kind == Kind::Cr;
        let buffer = parameters(what, format, has_checksum, extra);
        let parameters = buffer.parameters(kind);
        let connect = |credit, destination_reference| Connect {
            credit,
            destination_reference,
            source_reference: from,
            class: ClassOption::class4(format == Format::Extended),
            parameters,
            data: &[],
        };
        let pdu = match what {
            What::Cr => Pdu::Cr(connect(0, Reference(0))),
            What::Cc => Pdu::Cc(connect(1, to)),
            What::Dt { number, .. } => Pdu::Dt(Data {
                format,
                destination_reference: to,
                number,
                end_of_tsdu: extra.end_of_tsdu,
                acknowledgement_requested: false,
                parameters,
                data: &extra.data,
            }),
            What::Ak { next, credit } => Pdu::Ak(Acknowledgement {
                format,
                destination_reference: to,
                next,
                credit,
                parameters,
            }),
            What::Dr => Pdu::Dr(Disconnect {
                destination_reference: to,
                source_reference: from,
                reason: NORMAL,
                parameters,
                data: &[],
            }),
            What::Dc => Pdu::Dc(DisconnectConfirm {
                destination_reference: to,
                source_reference: from,
                parameters,
            }),
        };
        let mut octets = Vec::new();
        pdu.encode_header(&mut octets);
        if has_checksum {
            // It is first among the parameters, after its code and length.
            let at = octets.len() - parameters.octets().len() + 2;
            seal(&mut octets, at, &extra.data);
        }
        octets.extend(&extra.data);
        octets
    }
}

/// Reason of a DR: requested by the session entity (ISO 8073 13.5.3).
const NORMAL: u8 = 128;
/// Flow control confirmation before any AK of the peer.
const NOTHING: FlowControlConfirmation =
    FlowControlConfirmation { lower_window_edge: 0, subsequence: 0, credit: 1 };

impl What {
    const fn kind(self) -> Kind {
        match self {
            Self::Cr => Kind::Cr,
            Self::Cc => Kind::Cc,
            Self::Dt { .. } => Kind::Dt,
            Self::Ak { .. } => Kind::Ak,
            Self::Dr => Kind::Dr,
            Self::Dc => Kind::Dc,
        }
    }
}

/// Optional content of a TPDU.
#[derive(Clone, Debug, Default)]
struct Extra {
    data: Vec<u8>,
    end_of_tsdu: bool,
    confirms: Option<FlowControlConfirmation>,
    identifier_octets: usize,
}

/// Variable part of a header; the checksum, if there is one, is first and zero.
fn parameters(what: What, format: Format, has_checksum: bool, extra: &Extra) -> ParameterBuffer {
    let mut buffer = ParameterBuffer::new();
    let mut push = |parameter: &Parameter<'_>| {
        buffer.push(parameter).expect("a header of less than a hundred octets has room");
    };
    if has_checksum {
        push(&Parameter::Checksum([0; 2]));
    }
    match what {
        What::Cr | What::Cc => {
            push(&Parameter::TpduSize(TPDU_SIZE));
            if format == Format::Extended {
                push(&Parameter::AdditionalOptions(WITHOUT_CHECKSUM));
            }
            let calling_octets = 2 + extra.identifier_octets.min(MAXIMUM_TSAP - 2);
            let called_octets = 4 + extra.identifier_octets - calling_octets;
            let identifier = [b'F'; 2 * MAXIMUM_TSAP];
            push(&Parameter::CallingTsap(&identifier[..calling_octets]));
            push(&Parameter::CalledTsap(&identifier[..called_octets]));
            push(&Parameter::AcknowledgeTime(100));
            push(&Parameter::Priority(0));
        }
        What::Ak { .. } => {
            if let Some(confirmation) = extra.confirms {
                push(&Parameter::Subsequence(0));
                push(&Parameter::FlowControlConfirmation(confirmation));
            }
        }
        What::Dt { .. } | What::Dr | What::Dc => {}
    }
    buffer
}

/// Bit 2 of the additional options: checksums are not used.
const WITHOUT_CHECKSUM: u8 = 2;
