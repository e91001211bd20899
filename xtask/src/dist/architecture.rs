//! Architectures that a release has programs for: this machine's, and the other by a cross compiler.

use crate::ci::targets::installed;
use crate::output;
use std::process::Command;

/// Architecture of a processor, by the names that it has in targets and in packages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Architecture {
    /// Name in targets of Rust, and in names of compilers.
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

    /// C compiler for this architecture, which links too.
    fn compiler(self) -> String {
        format!("{}-linux-gnu-gcc", self.name)
    }

    /// Missing tool for building a target; none if all are there.
    pub(super) fn lack(self, target: &str) -> Option<String> {
        if !installed(target) {
            return Some(format!("no libraries for {target}: rustup target add {target}"));
        }
        let compiler = self.compiler();
        let works = self.is_own() || output(Command::new(&compiler).arg("--version")).is_ok();
        (!works).then(|| format!("no {compiler}, a C compiler for {}", self.name))
    }

    /// Names compiler and linker to a build for another architecture than this machine's.
    pub(super) fn cross(self, command: &mut Command, target: &str) {
        if self.is_own() {
            return;
        }
        let variable = target.replace('-', "_");
        command.env(format!("CC_{variable}"), self.compiler());
        command.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), self.compiler());
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

    #[test]
    fn another_architecture_gets_its_own_compiler_and_linker() {
        let set = |architecture: Architecture| {
            let mut command = Command::new("cargo");
            architecture.cross(&mut command, &architecture.target());
            command.get_envs().count()
        };
        assert_eq!(Architecture::all().into_iter().map(set).collect::<Vec<_>>(), [0, 2]);
    }
}
