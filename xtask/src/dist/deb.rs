//! Package for Debian and its relatives.
//!
//! Installing it makes `tidewire-tap` able to listen on ports, for members of the group `tidewire`
//! alone. The group is empty at first: the administrator of the machine decides who may listen. The
//! capability is set after owner and mode, because a change of owner drops it, and a mode that the
//! administrator set with `dpkg-statoverride` stays.

use super::{Built, Entry, Release, archive};
use crate::output;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Script that runs after the files are placed.
pub(super) const POSTINST: &str = include_str!("postinst.sh");

/// Makes the package; skipped without `dpkg-deb`.
pub(super) fn make(release: &Release, built: &Built<'_>) -> Result<(), String> {
    if output(Command::new("dpkg-deb").arg("--version")).is_err() {
        println!("   skipped: deb: no dpkg-deb");
        return Ok(());
    }
    let folder = release.root.join("target/deb");
    let _ = fs::remove_dir_all(&folder);
    let entries = entries(release, built)?;
    for entry in &entries {
        place(&folder, entry).map_err(|error| format!("{}: {error}", entry.path))?;
    }
    let name = format!("tidewire_{}_{}.deb", release.version, built.architecture.packaged);
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build"]).arg(&folder).arg(release.path(&name));
    output(build.env("SOURCE_DATE_EPOCH", release.time.to_string()))?;
    println!("   {name}");
    Ok(())
}

/// Writes a file of a package below a folder.
pub(super) fn place(folder: &Path, entry: &Entry) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join(&entry.path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&path, entry.octets.as_deref().unwrap_or_default())?;
    fs::set_permissions(&path, fs::Permissions::from_mode(entry.mode))
}

/// Files that a package places on a system, with the folder of zsh's completions by the system's custom.
pub(super) fn files(
    release: &Release,
    built: &Built<'_>,
    of_zsh: &str,
) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for (name, octets) in &built.programs {
        entries.push(Entry::file(format!("usr/bin/{name}"), 0o755, octets.clone()));
    }
    for (name, octets) in &built.documents.manual {
        let path = format!("usr/share/man/man1/{name}.gz");
        entries.push(Entry::file(path, 0o644, archive::gzip(octets)?));
    }
    let of_zsh = format!("zsh/{of_zsh}");
    let folders = ["bash-completion/completions", &of_zsh, "fish/vendor_completions.d"];
    for ((name, octets), folder) in built.documents.completions.iter().zip(folders) {
        entries.push(Entry::file(format!("usr/share/{folder}/{name}"), 0o644, octets.clone()));
    }
    let documents = "usr/share/doc/tidewire";
    let changes = archive::gzip(&release.read("CHANGELOG.md")?)?;
    entries.push(Entry::file(format!("{documents}/changelog.gz"), 0o644, changes));
    let copyright = [release.read("LICENSE-MIT")?, release.read("LICENSE-APACHE")?].join(&b'\n');
    entries.push(Entry::file(format!("{documents}/copyright"), 0o644, copyright));
    Ok(entries)
}

fn entries(release: &Release, built: &Built<'_>) -> Result<Vec<Entry>, String> {
    let mut entries = files(release, built, "vendor-completions")?;
    let octets = entries.iter().filter_map(|it| it.octets.as_ref()).map(Vec::len).sum::<usize>();
    let control = control(&release.version, built.architecture.packaged, octets.div_ceil(1024));
    entries.push(Entry::file("DEBIAN/control", 0o644, control.into_bytes()));
    entries.push(Entry::file("DEBIAN/postinst", 0o755, POSTINST.as_bytes().to_vec()));
    Ok(entries)
}

fn control(version: &str, architecture: &str, kilobytes: usize) -> String {
    format!(
        "Package: tidewire\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: The tidewire developers <tidewire@example.invalid>\n\
         Installed-Size: {kilobytes}\nRecommends: libcap2-bin, passwd\nSection: net\nPriority: optional\n\
         Description: predicts, measures and watches messages with deadlines on real-time LANs\n \
         Members of the group tidewire may listen on ports with watch and capture.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capability_is_set_after_owner_and_mode() {
        let place = |what: &str| POSTINST.find(what).unwrap_or_else(|| panic!("no {what}"));
        assert!(place("chown root:tidewire") < place("chmod 0750"));
        assert!(place("chmod 0750") < place("setcap cap_net_raw=ep"));
        assert!(place("dpkg-statoverride") < place("chown root:tidewire"));
        assert!(!POSTINST.contains("/usr/bin/tidewire\n"), "the program itself gets none");
    }

    #[test]
    fn a_control_file_has_no_empty_line() {
        let control = control("1.2.3", "arm64", 7);
        assert!(control.contains("Version: 1.2.3\nArchitecture: arm64\n"), "{control}");
        assert!(control.contains("Version: 1.2.3\n") && !control.contains("\n\n"), "{control}");
    }
}
