//! Package for Fedora, openSUSE and their relatives, with the same files and the same script as that for
//! Debian.

use super::deb::{POSTINST, files, place};
use super::{Built, Release};
use crate::output;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Settings without which the package would depend on this machine: its name, its time, its tools for
/// programs of another architecture.
const SETTINGS: [&str; 6] = [
    "_buildhost localhost",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "_build_id_links none",
    "__os_install_post %{nil}",
    "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
];

/// Makes the package; skipped without `rpmbuild`.
pub(super) fn make(release: &Release, built: &Built<'_>) -> Result<(), String> {
    if output(Command::new("rpmbuild").arg("--version")).is_err() {
        println!("   skipped: rpm: no rpmbuild");
        return Ok(());
    }
    let folder = release.root.join("target/rpm");
    let _ = fs::remove_dir_all(&folder);
    let entries = files(release, built, "site-functions")?;
    for entry in &entries {
        place(&folder.join("files"), entry).map_err(|error| format!("{}: {error}", entry.path))?;
    }
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    let text = spec(&release.version, &folder.join("files"), &paths);
    let spec = folder.join("tidewire.spec");
    fs::write(&spec, text).map_err(|error| format!("tidewire.spec: {error}"))?;
    let architecture = built.architecture.name;
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--quiet", "--target", &format!("{architecture}-linux")]);
    build.arg("--define").arg(format!("_topdir {}", folder.display()));
    build.arg("--define").arg(format!("_rpmdir {}", release.folder.display()));
    build.args(SETTINGS.iter().flat_map(|setting| ["--define", setting]));
    output(build.arg(&spec).env("SOURCE_DATE_EPOCH", release.time.to_string()))?;
    println!("   tidewire-{}-1.{architecture}.rpm", release.version);
    Ok(())
}

/// Description of the package for `rpmbuild`: `paths` are those of its files below `folder`.
fn spec(version: &str, folder: &Path, paths: &[&str]) -> String {
    let (_, script) = POSTINST.split_once('\n').unwrap_or_default();
    let listed: String = paths.iter().map(|path| format!("/{path}\n")).collect();
    format!(
        "Name: tidewire\nVersion: {version}\nRelease: 1\nLicense: MIT OR Apache-2.0\n\
         Summary: Predicts, measures and watches messages with deadlines on real-time LANs\n\
         AutoReqProv: no\nRecommends: libcap, shadow-utils\n\n\
         %description\nMembers of the group tidewire may listen on ports with watch and capture.\n\n\
         %install\ncp -a {}/. %{{buildroot}}/\n\n\
         %post\nset -- configure\n{script}\n\
         %files\n%defattr(-,root,root)\n{listed}",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_its_files_and_the_script_of_the_other_package() {
        let text =
            spec("1.2.3", Path::new("/files"), &["usr/bin/tidewire", "usr/bin/tidewire-tap"]);
        assert!(text.starts_with("Name: tidewire\nVersion: 1.2.3\n"), "{text}");
        let (_, script) = text.split_once("%post\nset -- configure\n").unwrap();
        let (script, listed) = script.split_once("%files\n").unwrap();
        assert!(script.contains("chown root:tidewire") && script.contains("setcap cap_net_raw=ep"));
        assert!(!script.contains("#!"), "the first line belongs to a file");
        assert_eq!(listed, "%defattr(-,root,root)\n/usr/bin/tidewire\n/usr/bin/tidewire-tap\n");
    }
}
