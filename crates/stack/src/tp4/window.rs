//! The two windows of a connection: what may be sent, and what may be received.
//!
//! Sequence numbers count modulo the format's modulus. Between two of them only distances mean
//! anything, and windows are far shorter than half the modulus, so a distance tells old from new.

use bytes::Bytes;
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use wire::time::Instant;

/// `number + count`, modulo. Both formats' moduli are powers of two, so that nothing is divided.
const fn advance(number: u32, count: u32, modulus: u32) -> u32 {
    number.wrapping_add(count) & (modulus - 1)
}

/// How far `number` lies after `from`, modulo.
const fn distance(from: u32, number: u32, modulus: u32) -> u32 {
    number.wrapping_sub(from) & (modulus - 1)
}

/// The largest credit of the normal format.
const NORMAL_CREDIT: usize = 15;

/// After how many DTs a number may be mistaken for a later one: the normal format's modulus less a window.
/// The extended format's numbers do not come back for hours at any rate a LAN has.
const fn reuse_after(modulus: u32) -> usize {
    if modulus == 128 { 128 - NORMAL_CREDIT } else { 0 }
}

/// A DT that was sent and is kept until it is acknowledged (retention, ISO 8073 6.13).
#[derive(Clone, Debug)]
pub(super) struct Retained {
    pub(super) data: Bytes,
    pub(super) end_of_tsdu: bool,
    pub(super) transmissions: u32,
}

/// What an AK did to the send window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Acknowledged {
    /// It is older than one already received, or names a DT never sent: ignored.
    OutOfSequence,
    /// It was in sequence and acknowledged so many DTs, perhaps none.
    InSequence {
        newly: u32,
        /// Whether a window that had been closed opened.
        opened: bool,
        /// What of it the peer may want to have confirmed.
        news: News,
    },
}

/// Whether an AK is one that 12.2.3.9 has answered with a flow control confirmation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum News {
    /// It is not.
    None,
    /// It says what the one before it said (12.2.3.9 a).
    Duplicate,
    /// It opened a closed window, or one that had been reduced, without acknowledging (12.2.3.9 b, c).
    Opened,
}

/// The sending side: lower window edge to upper window edge.
#[derive(Clone, Debug)]
pub(super) struct SendWindow {
    modulus: u32,
    /// LWE: the first DT not acknowledged.
    lower_edge: u32,
    /// UWE, as a distance from the lower edge.
    credit: u32,
    /// The subsequence number and credit of the latest AK with the current lower edge.
    latest: (u16, u32),
    /// Whether the peer closed or reduced its window and may be waiting to hear that its AKs arrive.
    in_doubt: bool,
    /// The highest upper edge ever received, as a distance from the lower edge (12.2.3.9 c).
    highest: u32,
    retained: VecDeque<Retained>,
    retained_octets: usize,
    /// How many octets may be retained.
    most_octets: usize,
    tsdus: VecDeque<Bytes>,
    queued_octets: usize,
    /// When each of the latest DTs was last sent, as far as their numbers may be mistaken for later ones.
    sent_at: VecDeque<Instant>,
    /// How many that is; 0 where numbers do not come back while anything of them can be alive.
    reuse_after: usize,
}

impl SendWindow {
    pub(super) fn new(modulus: u32, credit: u32) -> Self {
        Self {
            modulus,
            lower_edge: 0,
            credit,
            latest: (0, credit),
            in_doubt: false,
            highest: credit,
            retained: VecDeque::new(),
            retained_octets: 0,
            most_octets: usize::MAX,
            tsdus: VecDeque::new(),
            queued_octets: 0,
            sent_at: VecDeque::new(),
            reuse_after: reuse_after(modulus),
        }
    }

    /// Starts it off with the peer's first credit; what the user queued already stays queued.
    /// At most `most_octets` are ever sent and not acknowledged.
    pub(super) fn open(&mut self, modulus: u32, credit: u32, most_octets: usize) {
        (self.modulus, self.credit, self.latest) = (modulus, credit, (0, credit));
        (self.highest, self.most_octets) = (credit, most_octets);
        self.reuse_after = reuse_after(modulus);
    }

    /// Queues a TSDU to be cut into DTs (segmenting, 6.3). An empty one still takes one DT.
    pub(super) fn queue(&mut self, tsdu: Bytes) {
        self.queued_octets += tsdu.len();
        self.tsdus.push_back(tsdu);
    }

    /// Octets accepted from the user and not yet sent for the first time.
    pub(super) const fn queued_octets(&self) -> usize {
        self.queued_octets
    }

    pub(super) fn is_drained(&self) -> bool {
        self.retained.is_empty() && self.tsdus.is_empty()
    }

    /// Whether there is something to send that the peer's credit does not allow.
    pub(super) fn is_blocked(&self) -> bool {
        !self.tsdus.is_empty() && self.retained.len() as u32 >= self.credit
    }

    /// When the next new DT may be sent at the earliest, given how long an NSDU may live (M_LR).
    ///
    /// 12.2.3.5: a number may not come back while a DT that had it may still be on its way. The peer takes
    /// any number within its window, so that a number counts as back one window before it is sent again.
    pub(super) fn reusable_at(&self, lifetime: Duration) -> Option<Instant> {
        let full = self.reuse_after > 0 && self.sent_at.len() >= self.reuse_after;
        self.sent_at.front().filter(|_| full).map(|oldest| *oldest + lifetime)
    }

    /// Whether there is a new DT to send and credit for it.
    pub(super) fn has_new(&self) -> bool {
        !self.tsdus.is_empty()
            && (self.retained.len() as u32) < self.credit
            && self.retained_octets < self.most_octets
    }

    /// Whether the DT that [`SendWindow::take_new`] is about to take is the last for now: nothing is left
    /// to be sent behind it, or no credit.
    pub(super) fn next_is_last(&self, octets: usize) -> bool {
        let all = self.tsdus.len() == 1 && self.queued_octets <= octets;
        all || self.retained.len() as u32 + 1 >= self.credit
    }

    /// Takes the next new DT of at most `octets` of user data, if there is one and credit for it.
    pub(super) fn take_new(&mut self, now: Instant, octets: usize) -> Option<(u32, &Retained)> {
        if !self.has_new() || octets == 0 {
            return None;
        }
        let number = advance(self.lower_edge, self.retained.len() as u32, self.modulus);
        let tsdu = self.tsdus.front_mut()?;
        let end_of_tsdu = tsdu.len() <= octets;
        let data = tsdu.split_to(octets.min(tsdu.len()));
        if end_of_tsdu {
            self.tsdus.pop_front();
        }
        self.queued_octets -= data.len();
        if self.reuse_after > 0 {
            if self.sent_at.len() >= self.reuse_after {
                self.sent_at.pop_front();
            }
            self.sent_at.push_back(now);
        }
        self.retained_octets += data.len();
        self.retained.push_back(Retained { data, end_of_tsdu, transmissions: 1 });
        self.retained.back().map(|retained| (number, retained))
    }

    /// The retained DT at `place`, 0 the oldest, counted as sent once more; only within the window.
    pub(super) fn take_again(&mut self, now: Instant, place: usize) -> Option<(u32, &Retained)> {
        if place as u32 >= self.credit {
            return None;
        }
        let number = advance(self.lower_edge, place as u32, self.modulus);
        let outstanding = self.retained.len();
        let retained = self.retained.get_mut(place)?;
        retained.transmissions += 1;
        let index = (self.sent_at.len() + place).checked_sub(outstanding);
        if let Some(sent_at) = index.and_then(|index| self.sent_at.get_mut(index)) {
            *sent_at = now;
        }
        Some((number, retained))
    }

    /// How often the oldest retained DT has been sent; `None` where nothing is outstanding.
    pub(super) fn oldest_transmissions(&self) -> Option<u32> {
        self.retained.front().map(|retained| retained.transmissions)
    }

    pub(super) fn outstanding(&self) -> usize {
        self.retained.len()
    }

    /// Takes an AK, in sequence or not (12.2.3.7 a to c).
    pub(super) fn acknowledge(&mut self, next: u32, subsequence: u16, credit: u32) -> Acknowledged {
        let newly = distance(self.lower_edge, next, self.modulus);
        // 12.2.3.6: it cannot acknowledge what was never sent; a greater distance is an old number.
        if newly > self.retained.len() as u32 {
            return Acknowledged::OutOfSequence;
        }
        if newly == 0 && (subsequence, credit) < self.latest {
            return Acknowledged::OutOfSequence;
        }
        let was_closed = self.retained.len() as u32 >= self.credit;
        let news = self.news(newly, subsequence, credit);
        for retained in self.retained.drain(..newly as usize) {
            self.retained_octets -= retained.data.len();
        }
        self.lower_edge = next;
        // A credit of zero closes it; an upper edge that moves back reduces it. Later DTs settle it.
        let reduces = credit == 0 || newly + credit < self.credit;
        self.highest = self.highest.saturating_sub(newly).max(credit);
        self.in_doubt = reduces || (self.in_doubt && (newly == 0 || self.highest > credit));
        self.credit = credit;
        self.latest = (subsequence, credit);
        let opened = was_closed && (self.retained.len() as u32) < credit;
        Acknowledged::InSequence { newly, opened, news }
    }

    fn news(&self, newly: u32, subsequence: u16, credit: u32) -> News {
        if newly > 0 {
            return News::None;
        }
        if (subsequence, credit) == self.latest {
            // Without a reduction nobody waits for a confirmation: the duplicate is one of W's, and to
            // answer each would double what an idle connection sends.
            return if self.in_doubt { News::Duplicate } else { News::None };
        }
        let raises = credit > self.credit;
        if raises && (self.credit == 0 || self.highest > self.credit) {
            News::Opened
        } else {
            News::None
        }
    }

    /// The latest AK in sequence, as a flow control confirmation repeats it: YR-TU-NR, subsequence
    /// number, CDT.
    pub(super) const fn latest(&self) -> (u32, u16, u32) {
        (self.lower_edge, self.latest.0, self.latest.1)
    }

    /// Whether any DT is outstanding that the window allows to be sent again.
    pub(super) fn may_send_again(&self) -> bool {
        !self.retained.is_empty() && self.credit > 0
    }

    /// Whether numbers start over between the lower edge before and after `newly` acknowledgements.
    pub(super) const fn wrapped(&self, newly: u32) -> bool {
        newly > self.lower_edge
    }
}

/// What became of a DT that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// It was the one expected, and so many can be delivered now.
    InSequence,
    /// It is kept until those before it arrive (resequencing, 6.20).
    OutOfOrder,
    /// It had arrived before.
    Duplicate,
    /// It lies beyond the credit granted.
    OutsideWindow,
}

/// The receiving side: what is expected, what waits, what was granted.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    modulus: u32,
    /// The DT expected next.
    next: u32,
    /// Buffers that nobody holds.
    free: u32,
    /// The upper edge granted so far, as a distance from `next`.
    granted: u32,
    /// DTs beyond a gap, by their distance from `origin`, which is the number expected when it was 0.
    waiting: BTreeMap<u64, (Bytes, bool)>,
    /// DTs delivered so far: the unwrapped form of `next`.
    delivered: u64,
}

impl ReceiveWindow {
    /// With so many buffers, so much of which the CR or CC granted.
    pub(super) const fn new(modulus: u32, window: u32, granted: u32) -> Self {
        let waiting = BTreeMap::new();
        Self { modulus, next: 0, free: window, granted, waiting, delivered: 0 }
    }

    /// YR-TU-NR of an AK sent now.
    pub(super) const fn next(&self) -> u32 {
        self.next
    }

    /// CDT of an AK sent now, never less than was granted before and at most `max`.
    ///
    /// Every DT takes a buffer when it is delivered, so the upper edge never moves back.
    pub(super) fn grant(&mut self, max: u32) -> u32 {
        self.granted = self.granted.max(self.free.min(max));
        self.granted
    }

    /// Whether the peer has used up what it was granted.
    pub(super) const fn is_closed(&self) -> bool {
        self.granted == 0
    }

    /// Buffers that could be granted beyond what has been.
    pub(super) const fn ungranted(&self) -> u32 {
        self.free.saturating_sub(self.granted)
    }

    /// DTs delivered since the connection opened: YR-TU-NR, unwrapped.
    pub(super) const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Takes buffers back that nobody holds; whether credit granted goes with them (credit reduction).
    /// DTs that wait beyond the new upper edge are forgotten: their sender keeps them.
    pub(super) fn withdraw(&mut self, buffers: u32) -> bool {
        self.free = self.free.saturating_sub(buffers);
        let reduced = self.granted > self.free;
        if reduced {
            self.granted = self.free;
            let edge = self.delivered + u64::from(self.granted);
            drop(self.waiting.split_off(&edge));
        }
        reduced
    }

    /// Takes a DT's number, and its content if it is new; deliver with [`ReceiveWindow::pop`].
    pub(super) fn arrive(&mut self, number: u32, data: Bytes, end: bool) -> Arrival {
        let ahead = distance(self.next, number, self.modulus);
        if ahead >= self.granted {
            // Anything up to half the numbers back has been here before.
            let old = ahead >= self.modulus / 2;
            return if old { Arrival::Duplicate } else { Arrival::OutsideWindow };
        }
        let place = self.delivered + u64::from(ahead);
        if self.waiting.contains_key(&place) {
            return Arrival::Duplicate;
        }
        self.waiting.insert(place, (data, end));
        if ahead == 0 { Arrival::InSequence } else { Arrival::OutOfOrder }
    }

    /// Whether a DT with this number is the one expected and nothing waits behind a gap: the common case,
    /// which [`ReceiveWindow::pass`] takes without storing anything.
    pub(super) fn passes(&self, number: u32) -> bool {
        number == self.next && self.granted > 0 && self.waiting.is_empty()
    }

    /// Counts the DT expected next as delivered.
    pub(super) const fn pass(&mut self) {
        self.next = advance(self.next, 1, self.modulus);
        self.delivered += 1;
        self.granted -= 1;
        self.free -= 1;
    }

    /// The next DT in sequence, if it is here.
    pub(super) fn pop(&mut self) -> Option<(Bytes, bool)> {
        let first = self.waiting.remove(&self.delivered)?;
        self.pass();
        Some(first)
    }

    /// Gives back buffers of delivered DTs; at most `window` are ever free.
    pub(super) fn give_back(&mut self, buffers: u32, window: u32) {
        self.free = self.free.saturating_add(buffers).min(window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send_window(credit: u32) -> SendWindow {
        let mut window = SendWindow::new(128, credit);
        for _ in 0..300 {
            window.queue(Bytes::from_static(b"tsdu"));
        }
        window
    }

    fn numbers(window: &mut SendWindow) -> Vec<u32> {
        std::iter::from_fn(|| window.take_new(Instant::ZERO, 1_000).map(|(number, _)| number))
            .collect()
    }

    #[test]
    fn no_more_is_sent_than_there_is_credit_for() {
        let mut window = send_window(3);
        assert_eq!(numbers(&mut window), [0, 1, 2]);
        assert!(window.is_blocked());
        let opened = Acknowledged::InSequence { newly: 2, opened: true, news: News::None };
        assert_eq!(window.acknowledge(2, 0, 3), opened);
        assert_eq!(numbers(&mut window), [3, 4]);
    }

    #[test]
    fn numbers_start_over_after_the_modulus() {
        let mut window = send_window(15);
        let mut sent = Vec::new();
        while sent.len() < 150 {
            let new = numbers(&mut window);
            let next = new.last().map_or(0, |last| (last + 1) % 128);
            sent.extend(new);
            window.acknowledge(next, 0, 15);
        }
        assert_eq!(sent[126..131], [126, 127, 0, 1, 2]);
    }

    #[test]
    fn a_number_of_the_normal_format_comes_back_only_after_a_lifetime() {
        let lifetime = Duration::from_secs(1);
        let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
        let mut window = send_window(15);
        for number in 0..113 {
            assert_eq!(window.reusable_at(lifetime), None, "{number} is new");
            window.take_new(at(number), 10);
            window.acknowledge((number as u32 + 1) % 128, 0, 15);
        }
        // 113 = 128 - 15: the peer would take a late copy of number 0 for number 128.
        assert_eq!(window.reusable_at(lifetime), Some(at(1)));
        window.take_new(at(200), 10);
        assert_eq!(window.reusable_at(lifetime), Some(at(2)), "now number 1 is the oldest");
        window.take_again(at(300), 0);
        for number in 114..=226 {
            window.acknowledge(number % 128, 0, 15);
            assert_eq!(window.take_new(at(400), 10).map(|(n, _)| n), Some(number % 128));
        }
        assert_eq!(window.reusable_at(lifetime), Some(at(401)), "113 was sent again at 300");
    }

    #[test]
    fn acks_out_of_sequence_change_nothing() {
        let mut window = send_window(8);
        assert_eq!(numbers(&mut window).len(), 8);
        assert_ne!(window.acknowledge(4, 0, 2), Acknowledged::OutOfSequence);
        // Older; never sent; same number and less credit without a higher subsequence number.
        assert_eq!(window.acknowledge(3, 0, 9), Acknowledged::OutOfSequence);
        assert_eq!(window.acknowledge(9, 0, 9), Acknowledged::OutOfSequence);
        assert_eq!(window.acknowledge(4, 0, 1), Acknowledged::OutOfSequence);
        // 12.2.3.7 b and c: reduced with a higher subsequence, equal credit, more credit.
        for (subsequence, credit) in [(1, 1), (1, 1), (1, 5), (2, 0)] {
            let in_sequence = window.acknowledge(4, subsequence, credit);
            assert_ne!(in_sequence, Acknowledged::OutOfSequence, "{subsequence} {credit}");
        }
    }

    #[test]
    fn an_ak_that_opens_or_repeats_is_news_and_one_that_acknowledges_is_not() {
        let mut window = send_window(8);
        numbers(&mut window);
        let news = |window: &mut SendWindow, next, subsequence, credit| match window.acknowledge(
            next,
            subsequence,
            credit,
        ) {
            Acknowledged::InSequence { news, .. } => news,
            Acknowledged::OutOfSequence => panic!("out of sequence"),
        };
        assert_eq!(news(&mut window, 2, 0, 6), News::None);
        assert_eq!(news(&mut window, 2, 0, 6), News::None, "nothing was reduced");
        assert_eq!(news(&mut window, 2, 0, 7), News::None, "the upper edge was never reduced");
        assert_eq!(news(&mut window, 2, 1, 3), News::None, "a reduction is no opening");
        assert_eq!(news(&mut window, 2, 1, 4), News::Opened, "12.2.3.9 c: it had been 9");
        assert_eq!(news(&mut window, 2, 1, 4), News::Duplicate, "12.2.3.9 a");
        assert_eq!(news(&mut window, 3, 0, 0), News::None);
        assert_eq!(news(&mut window, 3, 0, 1), News::Opened, "12.2.3.9 b: it had been closed");
    }

    #[test]
    fn what_is_retained_is_bounded_whatever_credit_the_peer_gives() {
        let mut window = SendWindow::new(1 << 31, 0);
        window.open(1 << 31, 65_535, 100);
        window.queue(Bytes::from_static(&[7; 1_000]));
        let sent = std::iter::from_fn(|| window.take_new(Instant::ZERO, 30).map(|(n, _)| n));
        // Three pieces are 90 octets; the one that crosses 100 is still sent.
        assert_eq!(sent.count(), 4);
    }

    #[test]
    fn credit_can_be_taken_back_and_what_waits_beyond_goes_with_it() {
        let mut window = ReceiveWindow::new(128, 6, 6);
        let data = Bytes::from_static(b"x");
        for number in [1, 4] {
            assert_eq!(window.arrive(number, data.clone(), true), Arrival::OutOfOrder);
        }
        assert!(window.withdraw(3));
        assert_eq!(window.grant(15), 3);
        assert_eq!(window.arrive(4, data.clone(), true), Arrival::OutsideWindow);
        assert_eq!(window.arrive(1, data.clone(), true), Arrival::Duplicate, "it still waits");
        assert!(!window.withdraw(0));
        window.give_back(3, 6);
        assert_eq!(window.grant(15), 6);
        assert_eq!(window.arrive(4, data, true), Arrival::OutOfOrder);
    }

    #[test]
    fn reduced_credit_stops_retransmission_too() {
        let mut window = send_window(4);
        numbers(&mut window);
        assert!(window.take_again(Instant::ZERO, 3).is_some());
        window.acknowledge(1, 0, 1);
        assert!(
            window.take_again(Instant::ZERO, 0).is_some()
                && window.take_again(Instant::ZERO, 1).is_none()
        );
    }

    #[test]
    fn a_long_tsdu_is_cut_and_only_its_last_piece_ends_it() {
        let mut window = SendWindow::new(128, 9);
        window.queue(Bytes::from_static(b"0123456789"));
        window.queue(Bytes::new());
        let mut pieces = Vec::new();
        while let Some((_, piece)) = window.take_new(Instant::ZERO, 4) {
            pieces.push((piece.data.clone(), piece.end_of_tsdu));
        }
        let pieces: Vec<_> = pieces.iter().map(|(data, end)| (&data[..], *end)).collect();
        let expected: [(&[u8], bool); 4] =
            [(b"0123", false), (b"4567", false), (b"89", true), (b"", true)];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn what_arrives_out_of_order_waits_and_comes_once() {
        let mut window = ReceiveWindow::new(128, 4, 4);
        let data = |text: &'static str| Bytes::from_static(text.as_bytes());
        assert_eq!(window.arrive(1, data("b"), true), Arrival::OutOfOrder);
        assert_eq!(window.arrive(1, data("b"), true), Arrival::Duplicate);
        assert_eq!(window.arrive(4, data("e"), true), Arrival::OutsideWindow);
        assert_eq!(window.pop(), None);
        assert_eq!(window.arrive(0, data("a"), true), Arrival::InSequence);
        assert_eq!(window.pop(), Some((data("a"), true)));
        assert_eq!(window.pop(), Some((data("b"), true)));
        assert_eq!(window.pop(), None);
        assert_eq!(window.arrive(0, data("a"), true), Arrival::Duplicate);
        assert_eq!((window.next(), window.grant(15)), (2, 2), "two buffers are still held");
        window.give_back(2, 4);
        assert_eq!((window.next(), window.grant(15)), (2, 4));
    }

    #[test]
    fn the_upper_edge_granted_never_moves_back() {
        let mut window = ReceiveWindow::new(128, 2, 2);
        let mut upper = 2;
        for number in 0..300_u32 {
            assert!(window.passes(number % 128));
            window.pass();
            window.give_back(number % 3, 2);
            let edge = number + 1 + window.grant(15);
            assert!(edge >= upper, "moved from {upper} to {edge}");
            upper = edge;
            if window.is_closed() {
                window.give_back(2, 2);
                upper = number + 1 + window.grant(15);
            }
        }
    }
}
