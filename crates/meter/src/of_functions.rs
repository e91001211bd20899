//! Reports of a meter on the functions of servers.

use crate::{Meter, TransactionKey, TransactionReport};

impl Meter {
    /// Keeps the times between the requests of each client from now on, for
    /// [`PollingClient::gaps`](crate::PollingClient::gaps). They take time and memory, so that a meter has
    /// none without this call.
    pub const fn keep_request_gaps(&mut self) {
        self.intervals.transactions().keep_gaps();
    }

    /// Transactions of each function of a unit of a server, since measuring began and in the latest
    /// interval, in the order of their keys.
    #[must_use]
    pub fn each_transaction(&self) -> Vec<TransactionReport> {
        let keys = self.transaction_keys();
        keys.iter().filter_map(|key| self.transaction(key)).collect()
    }

    /// Keys of these functions, in order.
    #[must_use]
    pub fn transaction_keys(&self) -> Vec<TransactionKey> {
        let mut keys: Vec<_> = self.intervals.known_transactions().keys().collect();
        keys.sort_unstable();
        keys
    }

    /// Transactions of one of these functions; none if it is not followed.
    #[must_use]
    pub fn transaction(&self, key: &TransactionKey) -> Option<TransactionReport> {
        self.intervals.known_transactions().whole(key)
    }

    /// Those of [`Meter::each_transaction`] in no order, without copies and without the times between requests of a client.
    pub fn transactions(&self) -> impl Iterator<Item = &TransactionReport> {
        self.intervals.known_transactions().each()
    }

    /// Takes the oldest function that was silent for long and made room for another. Call it
    /// regularly: a meter keeps some thousand.
    pub fn take_transaction(&mut self) -> Option<TransactionReport> {
        self.intervals.transactions().take_ended()
    }
}
