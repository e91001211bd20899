//! Rows of the measures that belong to no family.

use super::{Aggregation, Layer, Measure, Row, Unit};

/// Writes [`Count`] and its rows from one list: identifier, name, layer, unit, aggregation, help, and an accessor for each
/// scope that has the measure.
macro_rules! counts {
    ($($id:ident $name:literal $layer:ident $unit:ident $aggregation:ident $help:literal
        { $($scope:ident: $of:expr),* $(,)? })*) => {
        /// A measure that belongs to no family.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Count { $(#[doc = $help] $id,)* }

        impl Count {
            /// All of them, in the order of columns.
            pub const ALL: [Self; [$(Self::$id),*].len()] = [$(Self::$id),*];
        }

        #[expect(non_upper_case_globals, reason = "read and written as the variants that they stand for")]
        impl Measure {
            $(#[doc = $help] pub const $id: Self = Self::Count(Count::$id);)*
        }

        static ROWS: [Row; Count::ALL.len()] = [$(Row {
            $($scope: Some($of),)*
            ..Row::bare($name, Layer::$layer, Unit::$unit, Aggregation::$aggregation, $help)
        },)*];
    };
}

impl Row {
    /// Row of a measure that no scope has yet.
    const fn bare(
        name: &'static str,
        layer: Layer,
        unit: Unit,
        aggregation: Aggregation,
        help: &'static str,
    ) -> Self {
        Self { name, unit, aggregation, layer, help, network: None, host: None, side: None }
    }
}

impl Count {
    /// Row of this measure.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

#[rustfmt::skip]
counts! {
    Lpdus "lpdus" Link One Sum
    "link PDUs: frames with an LLC header, and frames that carry IP or OSI without one"
    { network: |m| m.link.lpdus }

    LpduOctets "lpdu_octets" Link Octets Sum
    "octets of the link header, the LLC header (14 and 3 on Ethernet) and of what they carry; preamble, padding, FCS and gaps are left out"
    { network: |m| m.link.octets }

    Npdus "npdus" Network One Sum
    "network PDUs: what a link PDU carries for the ISO network layer, or as a packet of IP"
    { network: |m| m.network.npdus }

    NpduOctets "npdu_octets" Network Octets Sum
    "octets of the network header and of what it carries"
    { network: |m| m.network.octets }

    Tpdus "tpdus" Transport One Sum
    "transport PDUs of all kinds"
    { network: |m| m.traffic.transport.all().tpdus, host: |t| t.transport.all().tpdus, side: |d| Some(d.all().tpdus) }

    TpduInformationOctets "tpdu_information_octets" Transport Octets Sum
    "octets of user data sent for the first time"
    { network: |m| m.traffic.transport.all().information_octets, host: |t| t.transport.all().information_octets, side: |d| Some(d.all().information_octets) }

    TpduOverheadOctets "tpdu_overhead_octets" Transport Octets Sum
    "the other octets of TPDUs: headers, and user data sent again"
    { network: |m| m.traffic.transport.all().overhead_octets() }

    TpduHeaderOctets "tpdu_header_octets" Transport Octets Sum
    "octets of the headers of TPDUs"
    { network: |m| m.traffic.transport.all().header_octets, host: |t| t.transport.all().header_octets, side: |d| Some(d.all().header_octets) }

    TpduDataOctets "tpdu_data_octets" Transport Octets Sum
    "octets of the user data of TPDUs, first sent or sent again"
    { network: |m| m.traffic.transport.all().data_octets, host: |t| t.transport.all().data_octets, side: |d| Some(d.all().data_octets) }

    TpduTotalOctets "tpdu_total_octets" Transport Octets Sum
    "tpdu_header_octets and tpdu_data_octets"
    { network: |m| m.traffic.transport.all().total_octets() }

    TpduRetransmissions "tpdu_retransmissions" Transport One Sum
    "TPDUs that had been sent before, of all kinds"
    { network: |m| m.traffic.transport.all().retransmissions, host: |t| t.transport.all().retransmissions, side: |d| Some(d.all().retransmissions) }

    Tsdus "tsdus" Transport One Sum
    "messages (TSDUs) whose every DT was seen"
    { network: |m| m.traffic.tsdus.tsdus, host: |t| t.tsdus.tsdus, side: |d| Some(d.tsdus) }

    TsduOctets "tsdu_octets" Transport Octets Sum
    "octets of these messages"
    { network: |m| m.traffic.tsdus.octets, host: |t| t.tsdus.octets, side: |d| Some(d.tsdu_octets) }

    TransportConnections "transport_connections" Transport One Sum
    "connections established: a CC was seen. Cannot tell whether the CC reached the other side"
    { network: |m| m.traffic.connections.established, host: |t| t.connections.established }

    ConnectionAttempts "connection_attempts" Transport One Sum
    "connections asked for: the first CR of each"
    { network: |m| m.traffic.connections.requested, host: |t| t.connections.requested }

    ConnectionRefusals "connection_refusals" Transport One Sum
    "connections refused: a DR answers the CR, or in class 0 the TCP connection ends"
    { network: |m| m.traffic.connections.refused, host: |t| t.connections.refused }

    ConnectionNegotiationFailures "connection_negotiation_failures" Transport One Sum
    "connections on which the sides could not agree: a DR gives negotiation as the reason"
    { network: |m| m.traffic.connections.not_agreed, host: |t| t.connections.not_agreed }

    ConnectionEnds "connection_ends" Transport One Sum
    "connections that ended, those found under way included"
    { network: |m| m.traffic.connections.ended, host: |t| t.connections.ended }

    ConnectionGracefulEnds "connection_graceful_ends" Transport One Sum
    "ends by a DR of reason 128 with every DT seen acknowledged; in class 0 by the end of the TCP connection between TPDUs. Cannot tell whether the users had agreed"
    { network: |m| m.traffic.connections.graceful, host: |t| t.connections.graceful }

    ConnectionAbruptEnds "connection_abrupt_ends" Transport One Sum
    "ends that are neither graceful nor erroneous"
    { network: |m| m.traffic.connections.abrupt, host: |t| t.connections.abrupt }

    ConnectionErroneousEnds "connection_erroneous_ends" Transport One Sum
    "ends by a DR that reports a protocol error, or after an ER"
    { network: |m| m.traffic.connections.erroneous, host: |t| t.connections.erroneous }

    ConnectionSilentEnds "connection_silent_ends" Transport One Sum
    "connections without a TPDU for five minutes. Cannot tell an end that was missed from a pause"
    { network: |m| m.traffic.connections.silent, host: |t| t.connections.silent }

    ConnectionsAdopted "connections_adopted" Transport One Sum
    "connections found under way: their CR was not seen"
    { network: |m| m.traffic.connections.adopted, host: |t| t.connections.adopted }

    PeakSecondLpdus "peak_second_lpdus" Link One Maximum
    "the most link PDUs in one whole second of the frames' time. Cannot tell a burst that straddles two seconds from two small ones; a second that two intervals share counts in each by its part"
    { network: |m| m.peak.pdus() }

    PeakSecondLpduOctets "peak_second_lpdu_octets" Link Octets Maximum
    "the most octets of link PDUs in one second, which need not be the same second"
    { network: |m| m.peak.octets() }

    PeakSecondTpdus "peak_second_tpdus" Transport One Maximum
    "the most TPDUs in one second. A TPDU in segments out of order counts when TCP's order is restored. Cannot tell whether two hosts or sides were busy in the same second"
    { network: |m| m.traffic.peak.pdus(), host: |t| t.peak.pdus(), side: |d| Some(d.peak.pdus()) }

    PeakSecondTpduOctets "peak_second_tpdu_octets" Transport Octets Maximum
    "the most octets of TPDUs, headers and data together, in one second"
    { network: |m| m.traffic.peak.octets(), host: |t| t.peak.octets(), side: |d| Some(d.peak.octets()) }

    AkAcknowledging "ak_acknowledging" Transport One Sum
    "AKs that acknowledge new data"
    { network: |m| m.traffic.roles.acknowledging, host: |t| t.roles.acknowledging, side: |d| Some(d.roles[0]) }

    AkCrediting "ak_crediting" Transport One Sum
    "of the other AKs, those that change the credit"
    { network: |m| m.traffic.roles.crediting, host: |t| t.roles.crediting, side: |d| Some(d.roles[1]) }

    AkConfirming "ak_confirming" Transport One Sum
    "of the other AKs, those with a flow control confirmation"
    { network: |m| m.traffic.roles.confirming, host: |t| t.roles.confirming, side: |d| Some(d.roles[2]) }

    AkKeepingAlive "ak_keeping_alive" Transport One Sum
    "the remaining AKs. Cannot tell an answer to a duplicate DT from keeping the connection alive"
    { network: |m| m.traffic.roles.keeping_alive, host: |t| t.roles.keeping_alive, side: |d| Some(d.roles[3]) }

    DtEmptyParts "dt_empty_parts" Transport One Sum
    "DTs without data and without EOT, as S7 stations send. They lower S_D and R_OM as data does not"
    { network: |m| m.traffic.roles.empty_parts, host: |t| t.roles.empty_parts, side: |d| Some(d.empty_parts) }

    DtIntoClosedWindow "dt_into_closed_window" Transport One Sum
    "DTs beyond the credit that was seen. Cannot tell whether the sender had received the AK"
    { network: |m| m.traffic.windows.into_closed, host: |t| t.windows.into_closed, side: |d| Some(d.into_closed_window) }

    UnassignedTpdus "unassigned_tpdus" Transport One Sum
    "TPDUs that belong to no known connection"
    { network: |m| m.traffic.windows.unassigned, host: |t| t.windows.unassigned }

    LlcDatagrams "llc_datagrams" Link One Sum
    "LLC PDUs of type 1 that carry data: UI"
    { network: |m| m.llc.datagrams }

    LlcExchanges "llc_exchanges" Link One Sum
    "LLC PDUs XID and TEST"
    { network: |m| m.llc.exchanges }

    LlcAcknowledged "llc_acknowledged" Link One Sum
    "LLC PDUs of type 3: AC0 and AC1"
    { network: |m| m.llc.acknowledged }

    LlcInformation "llc_information" Link One Sum
    "LLC PDUs of type 2 that carry data: I. Type 2 connections are not followed, so a retransmission counts again"
    { network: |m| m.llc.information }

    LlcSupervisory "llc_supervisory" Link One Sum
    "LLC PDUs RR, RNR and REJ"
    { network: |m| m.llc.supervisory }

    LlcModes "llc_modes" Link One Sum
    "LLC PDUs SABME, DISC, UA, DM and FRMR"
    { network: |m| m.llc.modes }

    LlcUnknown "llc_unknown" Link One Sum
    "U-format PDUs that IEEE 802.2 does not define"
    { network: |m| m.llc.unknown }

    TcpSegments "tcp_segments" Transport One Sum
    "segments of TCP connections that carry TPKTs"
    { network: |m| m.streams.segments }

    TcpOctets "tcp_octets" Transport Octets Sum
    "octets of their data"
    { network: |m| m.streams.octets }

    TcpSegmentsAgain "tcp_segments_again" Transport One Sum
    "segments whose octets had all been seen before"
    { network: |m| m.streams.again }

    TcpSegmentsAhead "tcp_segments_ahead" Transport One Sum
    "segments that leave a gap before them"
    { network: |m| m.streams.ahead }

    TcpSegmentsLate "tcp_segments_late" Transport One Sum
    "segments that fill a gap. Cannot tell a segment sent again after a loss on its way here from one overtaken"
    { network: |m| m.streams.late }

    TcpKeepAlives "tcp_keep_alives" Transport One Sum
    "segments that ask whether the peer is there"
    { network: |m| m.streams.keep_alives }

    TcpCopies "tcp_copies" Transport One Sum
    "the same packet within 10 ms, by IP identification, numbers and checksum: a mirror port made it. It still counts as an LPDU and an NPDU. Over IPv6, without an identification, one sent again this soon looks like a copy. On a LAN without IP nothing distinguishes a copy from a retransmission"
    { network: |m| m.streams.copies }

    ResponsesAmbiguous "responses_ambiguous" Transport One Sum
    "replies that pair with no single request: several were outstanding, or under one reference, or the request was not seen. They are in no response"
    { network: |m| m.delays.ambiguous_responses, host: |t| t.waits.ambiguous_responses, side: |d| Some(d.waits.ambiguous_responses) }

    MmsRequests "mms_requests" Transport One Sum
    "confirmed requests of MMS whose every octet was seen"
    { network: |m| m.mms.sum(|s| s.requests) }

    MmsErrors "mms_errors" Transport One Sum
    "answers to these requests that are errors; mms_responses counts all answers. A response that reports a failed access is none"
    { network: |m| m.mms.sum(|s| s.errors) }

    MmsFailedAccesses "mms_failed_accesses" Transport One Sum
    "responses to read and write whose first result is a data access error. Cannot tell the other results"
    { network: |m| m.mms.sum(|s| s.failed_accesses) }

    MmsRejects "mms_rejects" Transport One Sum
    "requests that the peer rejected"
    { network: |m| m.mms.sum(|s| s.rejects) }

    MmsUnanswered "mms_unanswered" Transport One Sum
    "requests whose connection ended, or whose invoke identifier was used again, before an answer was seen. Cannot tell an answer that was missed"
    { network: |m| m.mms.sum(|s| s.unanswered) }

    MmsReports "mms_reports" Transport One Sum
    "unconfirmed PDUs of MMS, which are information reports nearly always"
    { network: |m| m.mms.reports }

    AssociationsInferred "associations_inferred" Transport One Sum
    "associations found under way: their acceptance was not seen"
    { network: |m| m.mms.inferred }

    AssociationRefusals "association_refusals" Transport One Sum
    "associations refused: by a session, presentation, association or MMS PDU, or by the end of the connection"
    { network: |m| m.mms.refused }

    AssociationAborts "association_aborts" Transport One Sum
    "associations aborted: by a PDU, or by the end of the connection without a release"
    { network: |m| m.mms.aborted }

    WindowClosedSince "window_closed_since_ns" Transport Nanoseconds Latest
    "time since which the peer gives no credit; absent while it gives some"
    { side: |d| d.closed_since.map(wire::time::Instant::as_nanos) }

    SentNumber "sent_number" Transport Number Latest
    "one past the highest DT seen, counted on without wrapping"
    { side: |d| d.numbers.map(|numbers| numbers.sent) }

    AcknowledgedNumber "acknowledged_number" Transport Number Latest
    "the DT that the peer expects next"
    { side: |d| d.numbers?.acknowledged }

    AllowedNumber "allowed_number" Transport Number Latest
    "one past the last DT that the peer's credit allows"
    { side: |d| d.numbers?.allowed }
}
