//! Architectures that a release has programs for: this machine's, and the other.

use crate::ci::targets::installed;

/// Architecture of a processor, by the names that it has in targets and in packages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Architecture {
    /// Name in targets of Rust.
    pub(crate) name: &'static str,
    /// Name in Debian's packages and in images for containers.
    pub(crate) packaged: &'static str,
}

/// All, this machine's among them.
const ALL: [Architecture; 2] = [
    Architecture { name: "x86_64", packaged: "amd64" },
    Architecture { name: "aarch64", packaged: "arm64" },
];

impl Architecture {
    /// All architectures, this machine's first.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = ALL.to_vec();
        all.sort_by_key(|it| !it.is_own());
        all
    }

    /// True of this machine's.
    pub(crate) fn is_own(self) -> bool {
        self.name == std::env::consts::ARCH
    }

    /// Target of the static programs.
    pub(super) fn target(self) -> String {
        format!("{}-unknown-linux-musl", self.name)
    }

    /// Reason why a target cannot be built here; none if it can.
    pub(super) fn lack(self, target: &str) -> Option<String> {
        let lacks = !installed(target);
        lacks.then(|| format!("no libraries for {target}: rustup target add {target}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_own_architecture_is_first() {
        let all = Architecture::all();
        assert!(all[0].is_own() && !all[1].is_own());
        assert_eq!(all.len(), ALL.len());
    }
}
