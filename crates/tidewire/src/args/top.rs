//! Number of flows with rows of their own.

use clap::Args;
use reports::study::TOP;

/// Option that limits the rows of results.
#[derive(Args, Default, Clone, Copy, Debug)]
pub(crate) struct TopOptions {
    /// Flows, or groups of them, with rows of their own, 20 without it: where there are more, the worst ones,
    /// and a line on all.
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

impl TopOptions {
    /// Number of flows, or groups of them, with rows of their own.
    pub(crate) fn rows(self) -> usize {
        self.top.unwrap_or(TOP)
    }

    /// True if it is given.
    pub(crate) fn is_given(self) -> bool {
        self.top.is_some()
    }
}
