//! `voltsim-VERSION-x86_64-linux.tar.gz`: the stage and a script that copies it to a prefix.

use super::{Build, tar};
use crate::error::{Error, Result};
use crate::{files, process};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Copies the tree to a prefix, or removes what it copied.
const INSTALL: &str = r#"#!/bin/sh
# Installs Voltsim to a prefix: ./install.sh [PREFIX], by default ~/.local. Needs no root.
# ./install.sh --remove [PREFIX] removes the files again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
remove=
if [ "${1:-}" = --remove ]; then remove=1; shift; fi
prefix=${1:-${HOME:+$HOME/.local}}
if [ -z "$prefix" ]; then
    echo "install.sh: HOME is not set; name a prefix: ./install.sh PREFIX" >&2
    exit 2
fi
if [ -n "$remove" ]; then
    (cd "$here/tree" && find . ! -type d) | while read -r file; do rm -f "$prefix/$file"; done
    rmdir "$prefix/lib/voltsim/stand-ins" "$prefix/lib/voltsim" "$prefix/share/doc/voltsim" 2>/dev/null || :
    echo "removed from $prefix"
    exit 0
fi
mkdir -p "$prefix"
cp -RP "$here/tree/." "$prefix/"
echo "installed: $prefix/bin/voltsim"
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) echo "add to PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
"#;

pub(super) fn make(build: &Build<'_>) -> Result<PathBuf> {
    let name = format!("voltsim-{}-x86_64-linux", build.version);
    let parent = build.output.join("archive");
    let folder = parent.join(&name);
    files::remove_folder(&parent)?;
    fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    let script = folder.join("install.sh");
    fs::write(&script, INSTALL).map_err(Error::file(&script))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).map_err(Error::file(&script))?;
    files::copy_tree(&build.stage, &folder.join("tree"))?;
    let archive = build.artefact(&format!("{name}.tar.gz"));
    process::quiet(tar(build, &parent, &archive).arg("--gzip").arg(&name))?;
    Ok(archive)
}
