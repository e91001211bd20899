//! Papers reproduced: published figures next to ours, and the experiments behind them.
//!
//! Each paper has a folder, with its rows in `reproduce/*.toml`. [`published`] has the common parts: rows, results,
//! verdicts, figures. [`layers`] measures or computes the cost of each layer of a station (TR-88-08), [`transfer`]
//! compares datagrams with virtual circuits (TR-88-04).
#![forbid(unsafe_code)]

pub mod layers;
pub mod nbs_1986;
pub mod nbsir_85_3104;
pub mod published;
pub mod tr_88_04;
pub mod tr_88_08;
pub mod tr_88_17;
pub mod transfer;

use published::Paper;

/// Papers that can be reproduced, in the order of lists.
pub const PAPERS: [Paper; 5] =
    [tr_88_08::PAPER, tr_88_04::PAPER, nbs_1986::PAPER, nbsir_85_3104::PAPER, tr_88_17::PAPER];

/// Paper with this name.
#[must_use]
pub fn paper(name: &str) -> Option<Paper> {
    PAPERS.into_iter().find(|paper| paper.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_is_found_by_its_name() {
        for listed in PAPERS {
            assert_eq!(paper(listed.name).map(|found| found.title), Some(listed.title));
        }
        assert!(paper("tr-88-99").is_none());
    }
}
