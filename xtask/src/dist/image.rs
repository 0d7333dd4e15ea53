//! `voltsim-VERSION-oci.tar`: an OCI image layout, which `podman load` and `skopeo` read.
//!
//! The layout follows the OCI image specification 1.1: `oci-layout`, `index.json`, and blobs named
//! by their SHA-256. The first layer is the given root file system; the last one puts the stage at
//! `/usr/local`.

use super::{Build, tar};
use crate::error::{Error, Result};
use crate::{files, process};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) fn make(build: &Build<'_>, base: Option<&Path>) -> Result<PathBuf> {
    let layout = build.output.join("oci");
    files::remove_folder(&layout)?;
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs).map_err(Error::file(&blobs))?;
    let own = build.output.join("image");
    files::remove_folder(&own)?;
    files::copy_tree(&build.stage, &own.join("usr/local"))?;
    let mut layers = Vec::new();
    for folder in base.into_iter().chain([own.as_path()]) {
        layers.push(layer(build, folder, &blobs)?);
    }
    files::remove_folder(&own)?;
    let diff_ids: Vec<_> = layers.iter().map(|layer| &layer.diff_id).collect();
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": ["voltsim"],
            "Cmd": ["--help"],
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        },
        "rootfs": { "type": "layers", "diff_ids": diff_ids },
    });
    let config = blob(&blobs, "application/vnd.oci.image.config.v1+json", &config)?;
    let descriptors: Vec<_> = layers.into_iter().map(|layer| layer.descriptor).collect();
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest =
        json!({ "schemaVersion": 2, "mediaType": media_type, "config": config, "layers": descriptors });
    let mut manifest = blob(&blobs, media_type, &manifest)?;
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": build.version });
    write(&layout.join("index.json"), &json!({ "schemaVersion": 2, "manifests": [manifest] }))?;
    write(&layout.join("oci-layout"), &json!({ "imageLayoutVersion": "1.0.0" }))?;
    let archive = build.artefact(&format!("voltsim-{}-oci.tar", build.version));
    process::quiet(tar(build, &layout, &archive).args(["blobs", "index.json", "oci-layout"]))?;
    files::remove_folder(&layout)?;
    Ok(archive)
}

struct Layer {
    descriptor: Value,
    /// Digest of the uncompressed archive.
    diff_id: String,
}

fn layer(build: &Build<'_>, folder: &Path, blobs: &Path) -> Result<Layer> {
    let plain = build.output.join("layer.tar");
    process::quiet(tar(build, folder, &plain).arg("."))?;
    let diff_id = format!("sha256:{}", digest(&read(&plain)?));
    // `-n` leaves name and time out of the header.
    process::quiet(Command::new("gzip").args(["-n", "--force"]).arg(&plain))?;
    let packed = build.output.join("layer.tar.gz");
    let bytes = read(&packed)?;
    let name = digest(&bytes);
    let target = blobs.join(&name);
    fs::rename(&packed, &target).map_err(Error::file(&target))?;
    let descriptor = json!({
        "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
        "digest": format!("sha256:{name}"),
        "size": bytes.len(),
    });
    Ok(Layer { descriptor, diff_id })
}

/// Writes a JSON blob and returns its descriptor.
fn blob(blobs: &Path, media_type: &str, value: &Value) -> Result<Value> {
    let text = value.to_string();
    let name = digest(text.as_bytes());
    let file = blobs.join(&name);
    fs::write(&file, &text).map_err(Error::file(&file))?;
    Ok(json!({ "mediaType": media_type, "digest": format!("sha256:{name}"), "size": text.len() }))
}

fn write(file: &Path, value: &Value) -> Result<()> {
    fs::write(file, value.to_string()).map_err(Error::file(file))
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).map_err(Error::file(file))
}

/// SHA-256 in hexadecimal digits.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Unpacks the layers of an image into `folder`, in order.
pub(super) fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    let layout = folder.with_extension("layout");
    files::remove_folder(&layout)?;
    fs::create_dir_all(&layout).map_err(Error::file(&layout))?;
    process::quiet(Command::new("tar").arg("-C").arg(&layout).arg("-xf").arg(archive))?;
    let parsed = |file: &Path| -> Result<Value> {
        serde_json::from_slice(&read(file)?)
            .map_err(|error| Error::Artefact { artefact: file.to_owned(), reason: error.to_string() })
    };
    let named = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap_or_default();
        layout.join("blobs").join(digest.replace(':', "/"))
    };
    let index = parsed(&layout.join("index.json"))?;
    let manifest = parsed(&named(&index["manifests"][0]))?;
    for layer in manifest["layers"].as_array().into_iter().flatten() {
        process::quiet(Command::new("tar").arg("-C").arg(folder).arg("-xzf").arg(named(layer)))?;
    }
    files::remove_folder(&layout)
}
