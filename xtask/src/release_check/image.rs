//! The image: its blobs are followed from the index, and its layer is tried as its user.

use super::roots::{Root, fresh};
use super::{Outcome, file, own, smoke};
use crate::dist::{Release, sha256};
use crate::output;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Checks this machine's image.
pub(super) fn check(release: &Release, place: &Path) -> Result<String, Outcome> {
    let name = file(release, &format!("-{}-oci.tar", own().packaged))?;
    let Unpacked { layer, entry } = unpack(release, &name, own().packaged, place)?;
    let root = Root::of(&layer, release)?;
    let seen = smoke(&root.by(65_534, 65_534), &entry, release)?;
    Ok(format!("{seen}, as user 65534 with nothing but the layer{}", loaded(release, &name)))
}

/// Image whose blobs are as described.
pub(super) struct Unpacked {
    /// Folder with the files of the layer.
    pub(super) layer: PathBuf,
    /// Path of the program within it.
    pub(super) entry: String,
}

/// Follows the blobs of an image from its index, and unpacks its layer.
pub(super) fn unpack(
    release: &Release,
    name: &str,
    architecture: &str,
    place: &Path,
) -> Result<Unpacked, Outcome> {
    let (image, layer) = (place.join("image"), place.join("layer"));
    fresh(&image)?;
    fresh(&layer)?;
    output(Command::new("tar").arg("-xf").arg(release.path(name)).arg("-C").arg(&image))?;
    let read = |path: &str| fs::read(image.join(path)).map_err(|error| format!("{path}: {error}"));
    let parsed = |octets: &[u8]| -> Result<Value, String> {
        serde_json::from_slice(octets).map_err(|error| error.to_string())
    };
    let follow = |descriptor: &Value| -> Result<Vec<u8>, String> {
        let digest = descriptor["digest"].as_str().and_then(|it| it.strip_prefix("sha256:"));
        let digest = digest.ok_or("a descriptor has no sum")?;
        let octets = read(&format!("blobs/sha256/{digest}"))?;
        let is_as_told = sha256(&octets) == digest && descriptor["size"] == octets.len();
        if is_as_told { Ok(octets) } else { Err(format!("blob {digest} is not as described")) }
    };
    let index = parsed(&read("index.json")?)?;
    let manifest = parsed(&follow(&index["manifests"][0])?)?;
    let configuration = parsed(&follow(&manifest["config"])?)?;
    if configuration["architecture"] != architecture {
        return Err(Outcome::Failed(format!("it is for {}", configuration["architecture"])));
    }
    let octets = follow(&manifest["layers"][0])?;
    if configuration["rootfs"]["diff_ids"][0] != format!("sha256:{}", sha256(&octets)) {
        return Err(Outcome::Failed(
            "the layer is another than the configuration names".to_owned(),
        ));
    }
    let archive = place.join("layer.tar");
    fs::write(&archive, octets).map_err(|error| error.to_string())?;
    output(Command::new("tar").args(["-xpf"]).arg(&archive).arg("-C").arg(&layer))?;
    let entry = configuration["config"]["Entrypoint"][0].as_str().unwrap_or_default().to_owned();
    Ok(Unpacked { layer, entry })
}

/// The result of a program for containers, if one works here.
fn loaded(release: &Release, name: &str) -> String {
    let skopeo = Command::new("skopeo")
        .arg("inspect")
        .arg(format!("oci-archive:{}", release.path(name).display()))
        .output();
    match skopeo {
        Ok(output) if output.status.success() => "; skopeo reads it".to_owned(),
        Ok(output) => format!("; skopeo: {}", String::from_utf8_lossy(&output.stderr).trim()),
        Err(_) => "; no skopeo here".to_owned(),
    }
}
