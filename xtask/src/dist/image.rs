//! Image for containers, in the layout of OCI: the static programs, and nothing else.
//!
//! It follows the OCI image specification 1.1: `oci-layout`, `index.json`, and the blobs of a
//! manifest, a configuration and one layer, which is not compressed. The user is 65534, so that a
//! live port needs `--user 0` and the network of the host.

use super::{Built, Entry, Release, archive, sha256};
use serde_json::{Value, json};

/// Makes the image as one archive, for `podman load` and `skopeo copy oci-archive:`.
pub(super) fn make(release: &Release, built: &Built<'_>) -> Result<(), String> {
    let layer = archive::tar(&layer(built), release.time)?;
    let archive = archive::tar(&image(layer, release, built.architecture.packaged), release.time)?;
    let name = format!("tidewire-{}-{}-oci.tar", release.version, built.architecture.packaged);
    release.write(&name, &archive)
}

/// Files of the layer.
fn layer(built: &Built<'_>) -> Vec<Entry> {
    let mut entries = vec![Entry::folder("usr", 0o755), Entry::folder("usr/bin", 0o755)];
    for (name, octets) in &built.programs {
        entries.push(Entry::file(format!("usr/bin/{name}"), 0o755, octets.clone()));
    }
    // Folders of the user: for run folders, and for files that are written in parts.
    entries.extend([Entry::folder("tmp", 0o1777), Entry::folder("work", 0o1777)]);
    entries
}

/// Files of the archive, for an architecture by its name in images.
fn image(layer: Vec<u8>, release: &Release, architecture: &str) -> Vec<Entry> {
    let title = json!({
        "org.opencontainers.image.title": "tidewire",
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.revision": release.commit,
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    });
    let configuration = json!({
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": "65534:65534",
            "Entrypoint": ["/usr/bin/tidewire"],
            "Cmd": ["--help"],
            "WorkingDir": "/work",
            "Env": ["PATH=/usr/bin"],
            "Labels": title,
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256(&layer))] },
    });
    let configuration = configuration.to_string().into_bytes();
    let kind = |name: &str| format!("application/vnd.oci.image.{name}");
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": kind("manifest.v1+json"),
        "config": descriptor(&kind("config.v1+json"), &configuration),
        "layers": [descriptor(&kind("layer.v1.tar"), &layer)],
        "annotations": title,
    });
    let manifest = manifest.to_string().into_bytes();
    let mut listed = descriptor(&kind("manifest.v1+json"), &manifest);
    listed["annotations"] = json!({ "org.opencontainers.image.ref.name": release.version });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": kind("index.v1+json"),
        "manifests": [listed],
    });
    let blob =
        |octets: Vec<u8>| Entry::file(format!("blobs/sha256/{}", sha256(&octets)), 0o644, octets);
    let layout = json!({ "imageLayoutVersion": "1.0.0" }).to_string().into_bytes();
    vec![
        Entry::file("oci-layout", 0o644, layout),
        Entry::file("index.json", 0o644, index.to_string().into_bytes()),
        Entry::folder("blobs", 0o755),
        Entry::folder("blobs/sha256", 0o755),
        blob(manifest),
        blob(configuration),
        blob(layer),
    ]
}

/// Reference to a blob.
fn descriptor(kind: &str, octets: &[u8]) -> Value {
    json!({
        "mediaType": kind,
        "digest": format!("sha256:{}", sha256(octets)),
        "size": octets.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn every_descriptor_names_a_blob_of_its_size_and_sum() {
        let release = Release {
            version: "1.2.3".to_owned(),
            commit: "abc".to_owned(),
            time: 0,
            folder: PathBuf::new(),
            root: PathBuf::new(),
        };
        let entries = image(b"layer".to_vec(), &release, "arm64");
        let read = |path: &str| -> &[u8] {
            let found = entries.iter().find(|it| it.path == path);
            found.and_then(|it| it.octets.as_deref()).unwrap_or_else(|| panic!("no {path}"))
        };
        let follow = |descriptor: &Value| -> Vec<u8> {
            let digest = descriptor["digest"].as_str().unwrap().replace("sha256:", "");
            let octets = read(&format!("blobs/sha256/{digest}"));
            assert_eq!(descriptor["size"], octets.len());
            assert_eq!(sha256(octets), digest);
            octets.to_vec()
        };
        let parsed = |octets: &[u8]| serde_json::from_slice::<Value>(octets).unwrap();
        let index = parsed(read("index.json"));
        let manifest = parsed(&follow(&index["manifests"][0]));
        let configuration = parsed(&follow(&manifest["config"]));
        let layer = follow(&manifest["layers"][0]);
        assert_eq!(layer, b"layer");
        let of_layer = format!("sha256:{}", sha256(&layer));
        assert_eq!(configuration["rootfs"]["diff_ids"][0], of_layer);
        assert_eq!(configuration["architecture"], "arm64");
        assert_eq!(configuration["config"]["User"], "65534:65534");
    }
}
