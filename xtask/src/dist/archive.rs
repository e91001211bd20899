//! Archives in the format ustar (IEEE 1003.1), with the time and the owner of all entries equal.

use super::Entry;
use flate2::{Compression, GzBuilder};
use std::io::Write as _;
use tar::{Builder, EntryType, Header};

/// Archive of these entries, in their order.
pub(super) fn tar(entries: &[Entry], time: u64) -> Result<Vec<u8>, String> {
    let mut archive = Builder::new(Vec::new());
    for entry in entries {
        let octets = entry.octets.as_deref().unwrap_or_default();
        let is_folder = entry.octets.is_none();
        let mut header = Header::new_ustar();
        header.set_entry_type(if is_folder { EntryType::Directory } else { EntryType::Regular });
        header.set_mode(entry.mode);
        header.set_size(octets.len() as u64);
        header.set_mtime(time);
        let name = if is_folder { format!("{}/", entry.path) } else { entry.path.clone() };
        owned_by_root(&mut header)
            .and_then(|()| archive.append_data(&mut header, &name, octets))
            .map_err(|error| format!("{name}: {error}"))?;
    }
    archive.into_inner().map_err(|error| error.to_string())
}

fn owned_by_root(header: &mut Header) -> std::io::Result<()> {
    header.set_uid(0);
    header.set_gid(0);
    header.set_username("root")?;
    header.set_groupname("root")
}

/// Compresses octets, without a name and a time of its own.
pub(super) fn gzip(octets: &[u8]) -> Result<Vec<u8>, String> {
    let mut compressed = GzBuilder::new().write(Vec::new(), Compression::best());
    let written = compressed.write_all(octets).and_then(|()| compressed.finish());
    written.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_tar_of_the_system_reads_the_archive() {
        let entries = [
            Entry::folder("a", 0o755),
            Entry::file("a/program", 0o750, vec![7; 600]),
            Entry::file("a/empty", 0o644, Vec::new()),
        ];
        let archive = tar(&entries, 86_400).unwrap();
        let mut list = Command::new("tar");
        list.args(["--utc", "-tvf", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = list.spawn() else {
            println!("skipped: no tar");
            return;
        };
        child.stdin.take().unwrap().write_all(&archive).unwrap();
        let told = child.wait_with_output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let lines: Vec<&str> = told.lines().collect();
        let [folder, program, empty] = lines[..] else { panic!("{told}") };
        assert!(folder.starts_with("drwxr-xr-x root/root") && folder.ends_with(" a/"), "{told}");
        assert!(program.starts_with("-rwxr-x--- root/root"), "{told}");
        assert!(program.ends_with("600 1970-01-02 00:00 a/program"), "{told}");
        assert!(empty.contains(" 0 1970-01-02"), "{told}");
    }
}
