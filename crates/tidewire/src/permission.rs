//! Obstacles to opening a port, and their fixes.

use crate::exit::Failure;
use crate::host;
use live::interface::Interface;
use live::port::PortError;
pub(crate) use records::findings::quoted;
use std::path::Path;

/// A port that cannot be opened or used, as a failure with its fix.
pub(crate) fn failure(error: &PortError) -> Failure {
    match error {
        PortError::NotPermitted { capability, .. } => {
            let wanted = capability.split(", ").flat_map(|part| part.split(" and "));
            let names: Vec<String> = wanted.map(str::to_lowercase).collect();
            Failure::permission(error.to_string()).with_fix(give_all(&names, &host::program()))
        }
        PortError::NotForXdp { .. } => Failure::failed(error.to_string())
            .with_fix("use the interface with -i, which needs no more than a packet socket"),
        PortError::NoSuchInterface(_) => match names() {
            Some(names) => Failure::failed(error.to_string()).with_fix(format!("one of {names}")),
            None => Failure::failed(error.to_string()),
        },
        PortError::Down(name) if is_gone(name) => {
            let gone = Failure::failed(format!("interface {name} was removed"));
            match names() {
                Some(names) => gone.with_fix(format!("create {name} again, or use one of {names}")),
                None => gone.with_fix(format!("create {name} again")),
            }
        }
        PortError::Down(name) => {
            let name = quoted(name);
            Failure::failed(error.to_string()).with_fix(format!("sudo ip link set {name} up"))
        }
        _ => Failure::failed(error.to_string()),
    }
}

/// True if there is no interface of this name any more.
pub(crate) fn is_gone(interface: &str) -> bool {
    matches!(Interface::named(interface), Err(PortError::NoSuchInterface(_)))
}

/// The command that gives this program what listening and sending on a LAN takes.
pub(crate) fn give(program: &Path) -> String {
    give_all(&["cap_net_raw".to_owned()], program)
}

/// The command that gives it several capabilities.
fn give_all(names: &[String], program: &Path) -> String {
    format!("sudo setcap {}=ep {}", names.join(","), quoted(&program.display().to_string()))
}

fn names() -> Option<String> {
    let names: Vec<String> =
        Interface::all().ok()?.into_iter().map(|interface| interface.name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_can_be_pasted_wherever_the_program_lies() {
        assert_eq!(give(Path::new("/usr/bin/x")), "sudo setcap cap_net_raw=ep /usr/bin/x");
        assert_eq!(give(Path::new("/a b/it's")), r"sudo setcap cap_net_raw=ep '/a b/it'\''s'");
    }
}
