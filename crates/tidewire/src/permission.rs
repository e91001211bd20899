//! Obstacles to opening a port, and their fixes.

use crate::exit::Failure;
use crate::host;
use live::hardware_clock::HardwareStamps;
use live::interface::Interface;
use live::port::PortError;
pub(crate) use records::findings::quoted;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A port that cannot be opened or used, as a failure with its fix.
pub(crate) fn failure(error: &PortError) -> Failure {
    match error {
        PortError::NotPermitted { capability, .. } => {
            let wanted = capability.split(", ").flat_map(|part| part.split(" and "));
            let names: Vec<String> = wanted.map(str::to_lowercase).collect();
            Failure::permission(error.to_string()).with_fix(give_all(&names, &Surroundings::read()))
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
        PortError::NoHardwareStamps { interface, why: HardwareStamps::Off } => {
            Failure::failed(error.to_string()).with_fix(turn_on_stamps(interface))
        }
        _ => Failure::failed(error.to_string()),
    }
}

/// The command that has an interface stamp every frame that it receives.
pub(crate) fn turn_on_stamps(interface: &str) -> String {
    format!("sudo hwstamp_ctl -i {} -r 1", quoted(interface))
}

/// True if the bounding set in a text of `/proc/self/status` has CAP_NET_RAW, which is number 13.
fn may_gain_raw_sockets(status: &str) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("CapBnd:"));
    set.is_some_and(|set| u64::from_str_radix(set.trim(), 16).is_ok_and(|set| set & (1 << 13) != 0))
}

/// True if there is no interface of this name any more.
pub(crate) fn is_gone(interface: &str) -> bool {
    matches!(Interface::named(interface), Err(PortError::NoSuchInterface(_)))
}

/// The command that gives this program what listening and sending on a LAN takes.
pub(crate) fn give(program: &Path) -> String {
    let surroundings = Surroundings { program: program.to_owned(), ..Surroundings::read() };
    give_all(&["cap_net_raw".to_owned()], &surroundings)
}

/// Place of a program, and the form in which it is installed.
#[derive(Clone, Default, Debug)]
struct Surroundings {
    program: PathBuf,
    /// Name of the snap that it is part of.
    snap: Option<String>,
    /// AppImage file, and the folder at which it is mounted.
    app_image: Option<(PathBuf, PathBuf)>,
    /// True within a container.
    is_contained: bool,
}

impl Surroundings {
    /// Those of this process.
    fn read() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let exists = |path: &str| Path::new(path).exists();
        let around = Self::of(host::program(), variable, exists);
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        // A file's capability takes effect in a container that was started with it.
        Self { is_contained: around.is_contained && !may_gain_raw_sockets(&status), ..around }
    }

    /// Those that variables and files show.
    fn of(
        program: PathBuf,
        variable: impl Fn(&str) -> Option<String>,
        exists: impl Fn(&str) -> bool,
    ) -> Self {
        let is_within = |folder: &str| program.starts_with(folder);
        let app_image = variable("APPIMAGE").zip(variable("APPDIR"));
        let app_image = app_image.filter(|(_, folder)| is_within(folder));
        Self {
            snap: variable("SNAP")
                .filter(|folder| is_within(folder))
                .and_then(|_| variable("SNAP_INSTANCE_NAME").or_else(|| variable("SNAP_NAME"))),
            app_image: app_image.map(|(file, folder)| (file.into(), folder.into())),
            // Docker, Podman, and what systemd-nspawn and LXC set for the first process.
            is_contained: exists("/.dockerenv")
                || exists("/run/.containerenv")
                || variable("container").is_some(),
            program,
        }
    }
}

/// The command that lets this user listen through the helper: membership in the group that may start
/// it, or the capability that it lacks.
pub(crate) fn give_to_helper(helper: &Path) -> String {
    group_of(helper).map_or_else(|| give(helper), |group| join(&group))
}

/// The command that makes this user a member of a group.
fn join(group: &str) -> String {
    format!("sudo usermod -aG {} \"$USER\", and log in again", quoted(group))
}

/// Group whose members may start a program that this user may not start.
pub(crate) fn group_of(program: &Path) -> Option<String> {
    let about = fs::metadata(program).ok()?;
    let may = rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok();
    if may || about.mode() & 0o010 == 0 {
        return None;
    }
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    Some(name_of(about.gid(), &groups))
}

/// Name of a group in the text of `/etc/group`; its number if it has none there.
fn name_of(group: u32, groups: &str) -> String {
    let mut lines = groups.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = lines.find(|fields| fields.get(2) == Some(&group.to_string().as_str()));
    found.and_then(|fields| fields.first().copied().map(str::to_owned)).unwrap_or(group.to_string())
}

/// The command that gives a program several capabilities, in the form in which it is installed.
fn give_all(names: &[String], around: &Surroundings) -> String {
    let program = around.program.display().to_string();
    let setcap = |path: &str| format!("sudo setcap {}=ep {}", names.join(","), quoted(path));
    if let Some(snap) = &around.snap {
        return format!("sudo snap connect {}:network-control", quoted(snap));
    }
    if let Some((file, folder)) = &around.app_image {
        // A mounted AppImage is read-only, and its user may give it nothing.
        let within = around.program.strip_prefix(folder).unwrap_or(&around.program);
        let file = quoted(&file.display().to_string());
        let copy = Path::new("squashfs-root").join(within).display().to_string();
        return format!("{file} --appimage-extract && {}, and run that copy", setcap(&copy));
    }
    if around.program.starts_with("/nix/store") {
        // The store is read-only: the wrapper in /run/wrappers/bin has the capability.
        let name = around.program.file_name().unwrap_or_default().to_string_lossy();
        let capabilities = names.join(",");
        return format!(
            "in configuration.nix: security.wrappers.{name} = {{ source = \"{program}\"; \
             capabilities = \"{capabilities}+ep\"; owner = \"root\"; group = \"root\"; }};"
        );
    }
    if around.is_contained {
        let adds = names.iter().map(|name| {
            let name = name.strip_prefix("cap_").unwrap_or(name).to_uppercase();
            format!("--cap-add {name}")
        });
        let adds: Vec<String> = adds.collect();
        return format!("start the container with {} --network host", adds.join(" "));
    }
    setcap(&program)
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
    fn the_group_that_may_start_the_helper_is_named() {
        let groups = "root:x:0:\ntidewire:x:998:anna\n";
        assert_eq!(name_of(998, groups), "tidewire");
        assert_eq!(name_of(997, groups), "997");
        assert_eq!(join("tidewire"), "sudo usermod -aG tidewire \"$USER\", and log in again");
        // The shell may be started by all users.
        assert_eq!(group_of(Path::new("/bin/sh")), None);
        assert_eq!(give_to_helper(Path::new("/bin/sh")), give(Path::new("/bin/sh")));
    }

    /// Asserts the fix for a program where these variables and files are there.
    #[track_caller]
    fn check(program: &str, variables: &[(&str, &str)], files: &[&str], expected: &str) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let around = Surroundings::of(program.into(), variable, |path| files.contains(&path));
        assert_eq!(give_all(&["cap_net_raw".to_owned()], &around), expected);
    }

    #[test]
    fn a_fix_can_be_pasted_wherever_the_program_lies() {
        check("/usr/bin/x", &[], &[], "sudo setcap cap_net_raw=ep /usr/bin/x");
        check("/a b/it's", &[], &[], r"sudo setcap cap_net_raw=ep '/a b/it'\''s'");
    }

    #[test]
    fn the_bounding_set_decides_what_a_container_may_gain() {
        assert!(may_gain_raw_sockets("Name:\tx\nCapBnd:\t000001fffeffffff\n"));
        // All but number 13.
        assert!(!may_gain_raw_sockets("CapBnd:\t000001fffeffdfff\n"));
        assert!(!may_gain_raw_sockets(""));
    }

    #[test]
    fn a_fix_is_that_of_the_form_of_installation() {
        let contained = "start the container with --cap-add NET_RAW --network host";
        check("/usr/bin/x", &[], &["/.dockerenv"], contained);
        check("/usr/bin/x", &[], &["/run/.containerenv"], contained);
        check("/usr/bin/x", &[("container", "lxc")], &[], contained);
        let snap = [("SNAP", "/snap/tidewire/7"), ("SNAP_NAME", "tidewire")];
        let connect = "sudo snap connect tidewire:network-control";
        check("/snap/tidewire/7/bin/tidewire", &snap, &[], connect);
        // A shell that is a snap starts programs that are none.
        check("/usr/bin/x", &snap, &[], "sudo setcap cap_net_raw=ep /usr/bin/x");
        let image = [("APPIMAGE", "/opt/t.AppImage"), ("APPDIR", "/tmp/.mount_t1")];
        check(
            "/tmp/.mount_t1/usr/bin/tidewire",
            &image,
            &[],
            "/opt/t.AppImage --appimage-extract && sudo setcap cap_net_raw=ep \
             squashfs-root/usr/bin/tidewire, and run that copy",
        );
        check(
            "/nix/store/0a-tidewire/bin/tidewire",
            &[],
            &[],
            "in configuration.nix: security.wrappers.tidewire = { source = \
             \"/nix/store/0a-tidewire/bin/tidewire\"; capabilities = \"cap_net_raw+ep\"; owner = \"root\"; \
             group = \"root\"; };",
        );
    }
}
