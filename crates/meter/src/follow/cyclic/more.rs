//! Frames of UADP, AVTP, CC-Link IE Field Basic, POWERLINK, SOME/IP and test load.
//!
//! | | stream | number | allowed until the next frame | state |
//! |---|---|---|---|---|
//! | UADP | publisher, group, message | SequenceNumber | three periods | |
//! | AVTP | subtype, stream | sequence_num | three periods | mr |
//! | CC-Link | group, request or response | frameSequenceNo | of requests the timeout | end code |
//! | POWERLINK | message, node | none: PReq has its PRes | three periods | |
//! | SOME/IP | service, method, type | session, unless it is zero | three periods | return code |
//! | test load | flow | number | three periods | |

use super::clock::Stamp;
use super::counter::{Rule, WHOLE};
use super::frame::{Detail, Frame, Name, Number, PairKey, Part, Protocol, Sending};
use wire::powerlink::Kind;
use wire::someip::{self, Kind as Message};
use wire::{avtp, cc_link, load, powerlink, uadp};

/// Longest time between requests of CC-Link that is believed: ten minutes.
const MOST_ALLOWED_MS: u32 = 600_000;

impl Frame<'_> {
    pub(super) fn of_uadp(self, pdu: &uadp::Pdu<'_>, mut each: impl FnMut(Frame<'_>)) -> bool {
        let uadp::Pdu { publisher, group, message, sequence, writer, time_ns } = *pdu;
        // Without a group the writer tells streams apart.
        let of_group = group.or(writer).unwrap_or(0);
        let name = Name::of(format_args!("{publisher}/{of_group}/{}", message.unwrap_or(0)));
        let number = |it| Number::Counter(Rule::Sequence(WHOLE), it);
        let stamp = time_ns.map(|nanos| Stamp { nanos, is_short: false });
        each(Frame {
            identifier: of_group.into(),
            name: name.octets(),
            number: sequence.map_or(Number::Index(0), number),
            detail: Detail::Sent(&Sending { stamp, part: None }),
            ..self
        });
        true
    }

    pub(super) fn of_avtp(self, pdu: &avtp::Pdu, mut each: impl FnMut(Frame<'_>)) -> bool {
        let name = Name::of(format_args!("{:016x}", pdu.stream));
        let is_short = !pdu.has_whole_time();
        let stamp = pdu.time.map(|nanos| Stamp { nanos, is_short });
        each(Frame {
            identifier: pdu.subtype.into(),
            name: name.octets(),
            number: Number::Counter(Rule::Sequence(256), pdu.sequence.into()),
            state: Some(pdu.media_restart.into()),
            is_unsynchronised: pdu.is_uncertain,
            detail: Detail::Sent(&Sending { stamp, part: None }),
            ..self
        });
        true
    }

    pub(super) fn of_cc_link(self, pdu: &cc_link::Pdu, mut each: impl FnMut(Frame<'_>)) {
        let cc_link::Pdu { is_response, group, sequence, end_code, clock_ms, allowed_ms } = *pdu;
        let [destination, source] = self.ends;
        let from = Some(if is_response { destination } else { source });
        let key = PairKey {
            protocol: Protocol::CcLink,
            from,
            node: group.into(),
            number: sequence.into(),
        };
        let (name, part): (&'static [u8], _) = if is_response {
            (b"response", Part::OneAnswer(key))
        } else {
            (b"request", Part::Request(key))
        };
        let stamp = clock_ms.and_then(|ms| ms.checked_mul(1_000_000));
        let allowed_ms = allowed_ms.filter(|ms| (1..=MOST_ALLOWED_MS).contains(ms));
        let stamp = stamp.map(|nanos| Stamp { nanos, is_short: false });
        let sending = Sending { stamp, part: Some(part) };
        each(Frame {
            identifier: group.into(),
            name,
            number: Number::Counter(Rule::Sequence(WHOLE), sequence),
            allowed_ns: allowed_ms.map(|ms| u64::from(ms) * 1_000_000),
            state: Some(end_code.into()),
            is_invalid: end_code != 0,
            detail: Detail::Sent(&sending),
            ..self
        });
    }

    /// The lower 16 bits of the number show all losses but those of 65,536 frames.
    pub(super) fn of_load(self, pdu: &load::Pdu, mut each: impl FnMut(Frame<'_>)) {
        let stamp = Some(Stamp { nanos: pdu.planned_ns, is_short: false });
        each(Frame {
            identifier: pdu.flow.into(),
            number: Number::Counter(Rule::Sequence(WHOLE), pdu.sequence as u16),
            detail: Detail::Sent(&Sending { stamp, part: None }),
            ..self
        });
    }

    /// Returns false, without a call, for asynchronous messages.
    pub(super) fn of_powerlink(
        self,
        pdu: &powerlink::Pdu,
        mut each: impl FnMut(Frame<'_>),
    ) -> bool {
        let powerlink::Pdu { kind, destination, source, time_ns } = *pdu;
        let node = match kind {
            Kind::Other => return false,
            Kind::PollRequest => destination,
            Kind::StartOfCycle | Kind::StartOfAsynchronous | Kind::PollResponse => source,
        };
        let key =
            PairKey { protocol: Protocol::Powerlink, from: None, node: node.into(), number: 0 };
        let part = match kind {
            Kind::PollRequest => Some(Part::Request(key)),
            Kind::PollResponse => Some(Part::Answer(key)),
            Kind::StartOfCycle | Kind::StartOfAsynchronous | Kind::Other => None,
        };
        let name = Name::of(format_args!("{} {node}", kind.name()));
        let stamp = time_ns.map(|nanos| Stamp { nanos, is_short: false });
        each(Frame {
            identifier: node.into(),
            name: name.octets(),
            number: Number::Index(0),
            detail: Detail::Sent(&Sending { stamp, part }),
            ..self
        });
        true
    }

    /// Messages of a datagram. A session counts the messages of a sender, from 1 to 65,535; zero, or the
    /// same each time, counts nothing.
    pub(super) fn of_someip(
        self,
        messages: someip::Messages<'_>,
        mut each: impl FnMut(Frame<'_>),
    ) -> bool {
        let [destination, source] = self.ends;
        for pdu in messages.filter(|pdu| !pdu.is_continued) {
            let someip::Pdu { service, method, client, session, interface, kind, .. } = pdu;
            let words = format_args!("{service:04x}.{method:04x} v{interface} {}", kind.name());
            let name = Name::of(words);
            let identifier = u32::from(service) << 16 | u32::from(method);
            let key = |from| PairKey {
                protocol: Protocol::SomeIp,
                from: Some(from),
                node: identifier,
                number: u32::from(client) << 16 | u32::from(session),
            };
            let part = match kind {
                Message::Request => Some(Part::Request(key(source))),
                Message::Response => Some(Part::Answer(key(destination))),
                Message::FireAndForget | Message::Notification => None,
            };
            // Behind 65,535 comes 1.
            let number =
                session.checked_sub(1).map(|it| Number::Counter(Rule::Sequence(WHOLE - 1), it));
            each(Frame {
                identifier,
                name: name.octets(),
                number: number.unwrap_or(Number::Index(0)),
                // Requests come when a client needs them.
                is_periodic: kind == Message::Notification,
                state: Some(pdu.return_code.into()),
                is_invalid: pdu.return_code != 0,
                detail: Detail::Sent(&Sending { stamp: None, part }),
                ..self
            });
        }
        true
    }
}
