//! Signature of the list of sums, by which users know that all files of a release are those of its
//! maintainers.
//!
//! The key is an SSH key of a maintainer, whose file `TIDEWIRE_SIGNING_KEY` names; it is not part of the
//! project. `ssh-keygen` makes and checks signatures (the format is in its PROTOCOL.sshsig).

use super::Release;
use crate::output;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Variable with the path of the private key.
pub(crate) const KEY: &str = "TIDEWIRE_SIGNING_KEY";
/// Name of the signed list.
const SUMS: &str = "SHA256SUMS";
/// Use of the signature: one made for another use is refused.
const USE: &str = "file";
/// Name of the signer in the list of keys that are trusted.
const SIGNER: &str = "tidewire";

/// Signs the sums if a key is named, which is said otherwise.
pub(super) fn make(release: &Release) -> Result<(), String> {
    let Some(key) = std::env::var_os(KEY) else {
        println!("   skipped: signature: {KEY} names no key");
        return Ok(());
    };
    sign(&release.path(SUMS), Path::new(&key))?;
    println!("   {SUMS}.sig");
    Ok(())
}

/// Writes the signature of a file next to it.
fn sign(file: &Path, key: &Path) -> Result<(), String> {
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-Y", "sign", "-n", USE, "-f"]).arg(key).arg(file).stdin(Stdio::null());
    output(&mut command).map(drop)
}

/// Checks the signature next to a list of sums with the public key next to `key`.
///
/// # Errors
/// Returns what `ssh-keygen` says of a wrong signature, or why there is none.
pub(crate) fn verify(sums: &Path, key: &Path) -> Result<(), String> {
    let named = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let public = key.with_added_extension("pub");
    let trusted = fs::read_to_string(&public).map_err(|error| named(&public, error))?;
    let keys = sums.with_file_name("allowed-signers");
    fs::write(&keys, format!("{SIGNER} {trusted}")).map_err(|error| named(&keys, error))?;
    let text = fs::File::open(sums).map_err(|error| named(sums, error))?;
    let mut command = Command::new("ssh-keygen");
    command.args(["-q", "-Y", "verify", "-n", USE, "-I", SIGNER, "-f"]).arg(&keys).arg("-s");
    let result = output(command.arg(sums.with_added_extension("sig")).stdin(text));
    let _ = fs::remove_file(&keys);
    result.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_list_or_another_key_is_refused() {
        if Command::new("ssh-keygen").arg("-?").output().is_err() {
            println!("skipped: no ssh-keygen");
            return;
        }
        let folder = std::env::temp_dir().join(format!("signature-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let sums = folder.join(SUMS);
        fs::write(&sums, "ba78  file\n").unwrap();
        let keys = ["one", "other"].map(|name| folder.join(name));
        for key in &keys {
            let mut make = Command::new("ssh-keygen");
            output(make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(key)).unwrap();
        }
        sign(&sums, &keys[0]).unwrap();
        assert_eq!(verify(&sums, &keys[0]), Ok(()));
        assert!(verify(&sums, &keys[1]).is_err(), "another key");
        fs::write(&sums, "ba79  file\n").unwrap();
        assert!(verify(&sums, &keys[0]).is_err(), "a changed list");
        fs::remove_dir_all(&folder).unwrap();
    }
}
