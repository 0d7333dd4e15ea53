//! PyTorch 2.6 of Debian 13, in a private root: packages are unpacked, not installed, and run on
//! any Linux of x86-64.
//!
//! Debian's build has PTX for every kernel. The root's own loader starts Python, which searches the
//! root's folders; everything else is the host's. CUDA's libraries are linked again from their
//! static forms, because the dynamic ones contain a runtime of their own. They select kernels with
//! PTX when the device is newer than all their machine code.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::download::Download;
use super::{Contents, Recipe, Site, run, write_whole};
use crate::failure::Failure;
use crate::libraries;

pub(super) const RECIPE: Recipe = Recipe {
    name: "pytorch-2.6",
    version: 2,
    contents: "PyTorch 2.6.0 of Debian 13, cuBLAS 12.4, Python 3.13",
    bytes: 4_400 << 20,
    is_compiler: false,
    downloads,
    make,
};

const DEVICE: &str = "\
# What programs of this environment are told they run on. Libraries take kernels with PTX on a device that is newer than
# their machine code.
base = \"titan-v\"
[device]
driver_version = { value = \"12.9\", unit = \"text\", source = \"the newest CUDA 12, as that of Debian 13\" }
compute_capability_major = { value = 12, unit = \"version\", source = \"newer than all machine code\" }
compute_capability_minor = { value = 0, unit = \"version\", source = \"newer than all machine code\" }
";

/// Has a package until Debian puts a newer one in its place.
const MIRROR: &str = "https://deb.debian.org/debian/";
/// Has every package there was on that day.
const ARCHIVE: &str = "https://snapshot.debian.org/archive/debian/20261121T000000Z/";

/// Where the root has its libraries.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
/// Where the root has Python's packages.
const PACKAGES: &str = "usr/lib/python3/dist-packages";

/// Links with their targets: those of a Debian system, names under which PyTorch looks for its
/// parts, and libraries of OpenBLAS's LAPACK. LAPACK looks in its own folder and in the host's.
const LINKS: [(&str, &str); 8] = [
    ("bin", "usr/bin"),
    ("include", "usr/include"),
    ("lib", "usr/lib"),
    ("lib64", "usr/lib64"),
    ("usr/bin/python", "python3.13"),
    (
        "usr/lib/python3/dist-packages/torch/lib/libtorch_python.so.2.6",
        "../../../../x86_64-linux-gnu/libtorch_python.so.2.6",
    ),
    ("usr/lib/x86_64-linux-gnu/libtorch_cuda_linalg.so", "libtorch_cuda_linalg.so.2.6"),
    ("usr/lib/x86_64-linux-gnu/openblas-pthread/libgfortran.so.5", "../libgfortran.so.5"),
];

/// Libraries of which PyTorch needs the names and no more, by their soname.
const ABSENT: [(&str, &str); 3] = [
    ("libcudnn.so.9", include_str!("debian_13/libcudnn.so.9.c")),
    ("libcufft.so.11", include_str!("debian_13/libcufft.so.11.c")),
    ("libnccl.so.2", include_str!("debian_13/libnccl.so.2.c")),
];

/// A library that is linked from static ones.
struct Relinked {
    soname: &'static str,
    /// All of these is in it.
    whole: &'static str,
    /// Used parts of the packages.
    used: &'static [&'static str],
    /// Libraries of the root that it needs.
    needed: &'static [&'static str],
}

/// In an order in which each finds what it needs.
const RELINKED: [Relinked; 5] = [
    Relinked {
        soname: "libcublasLt.so.12",
        whole: "libcublasLt_static.a",
        used: &["libculibos.a"],
        needed: &[],
    },
    Relinked {
        soname: "libcublas.so.12",
        whole: "libcublas_static.a",
        used: &["libculibos.a"],
        needed: &["libcublasLt.so.12"],
    },
    Relinked { soname: "libcurand.so.10", whole: "libcurand_static.a", used: &["libculibos.a"], needed: &[] },
    Relinked {
        soname: "libcusparse.so.12",
        whole: "libcusparse_static.a",
        used: &["libculibos.a"],
        needed: &["libnvJitLink.so.12"],
    },
    Relinked {
        soname: "libcusolver.so.11",
        whole: "libcusolver_static.a",
        used: &[
            "libcusolver_lapack_static.a",
            "libcusolver_metis_static.a",
            "libmetis_static.a",
            "libculibos.a",
        ],
        needed: &["libcublas.so.12", "libcublasLt.so.12", "libcusparse.so.12", "libgomp.so.1"],
    },
];

/// Downloads of the recipe.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    packages: Vec<Download>,
    static_libraries: Vec<StaticLibraries>,
}

/// Files out of the data of a package.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StaticLibraries {
    /// Whole blocks of an xz stream.
    blocks: Download,
    /// Where the files lie in what the blocks become, by their names.
    members: BTreeMap<String, Member>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    offset: u64,
    bytes: u64,
}

fn parts() -> Result<Parts, Failure> {
    let mut parts: Parts = toml::from_str(include_str!("debian_13.toml"))
        .map_err(|error| Failure::new(format_args!("debian_13.toml: {error}")))?;
    let blocks = parts.static_libraries.iter_mut().map(|libraries| &mut libraries.blocks);
    for download in parts.packages.iter_mut().chain(blocks) {
        download.archived = download.url.strip_prefix(MIRROR).map(|path| format!("{ARCHIVE}{path}"));
    }
    Ok(parts)
}

fn downloads() -> Result<Vec<Download>, Failure> {
    let Parts { packages, static_libraries } = parts()?;
    Ok(packages.into_iter().chain(static_libraries.into_iter().map(|libraries| libraries.blocks)).collect())
}

fn make(site: &Site<'_>) -> Result<Contents, Failure> {
    let Parts { packages, static_libraries } = parts()?;
    check_tools()?;
    for package in &packages {
        let mut unpack = Command::new("dpkg-deb");
        unpack.arg("--extract").arg(site.downloads.fetch(package)?).arg(site.folder);
        run(unpack, "unpacking")?;
    }
    for (link, target) in LINKS {
        replace_link(&site.folder.join(link), target)?;
    }
    for (soname, source) in ABSENT {
        compile_absent(site.folder, soname, source)?;
    }
    relink_all(site, &static_libraries)?;
    bind_python(site.folder)?;
    bind_scripts(site.folder)?;
    make_own(site.folder)?;
    let packages = site.folder.join(PACKAGES);
    write_whole(&packages.join("voltsim_torch.py"), include_str!("debian_13/voltsim_torch.py"))?;
    write_whole(&packages.join("voltsim.pth"), "import voltsim_torch\n")?;
    compile_packages(site.folder)?;
    write_whole(&site.folder.join("device.toml"), DEVICE)?;
    Ok(Contents { device: "device.toml".into(), preload: Vec::new() })
}

/// Programs of the host that are needed are told of before anything is unpacked.
fn check_tools() -> Result<(), Failure> {
    for (tool, package) in [("dpkg-deb", "dpkg"), ("xz", "xz-utils"), ("cc", "gcc libc6-dev")] {
        let started =
            Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if started.is_err() {
            return Err(Failure::new(format_args!("{tool} is not there"))
                .remedy(format!("Install it: apt-get install {package}")));
        }
    }
    Ok(())
}

fn replace_link(link: &Path, target: &str) -> Result<(), Failure> {
    let failed = |error| Failure::in_file(link, error);
    if link.is_symlink() {
        fs::remove_file(link).map_err(failed)?;
    }
    symlink(target, link).map_err(failed)
}

/// Python is started by the root's loader, and finds the root's libraries before the host's but
/// behind preloaded ones.
fn bind_python(root: &Path) -> Result<(), Failure> {
    let programs = root.join("usr/bin");
    let loader = root.join("usr/lib64/ld-linux-x86-64.so.2");
    let folder = "$ORIGIN/../lib/x86_64-linux-gnu";
    let folders = format!("{folder}:{folder}/openblas-pthread:$ORIGIN/../lib");
    // In two runs and this order: patchelf 0.18 makes a file that cannot be loaded of the other.
    let with_folders = programs.join("python3.13.folders");
    let mut patch = patchelf(root, &programs.join("python3.13"), &with_folders);
    patch.args(["--force-rpath", "--set-rpath", &folders]);
    run(patch, "telling Python where its libraries are")?;
    let whole = programs.join("python3.13.part");
    let mut patch = patchelf(root, &with_folders, &whole);
    patch.arg("--set-interpreter").arg(&loader);
    run(patch, "telling Python what loads it")?;
    let mut start = Command::new(&whole);
    start.args(["-c", "import ctypes, lzma, sqlite3, ssl"]);
    run(start, "starting Python")?;
    let put = fs::remove_file(&with_folders).and_then(|()| fs::rename(&whole, programs.join("python3.13")));
    put.map_err(|error| Failure::in_file(&programs, error))
}

/// Makes the root's Python start the root's scripts of Python, such as torchrun. A script that is a
/// link belongs to another folder and stays.
fn bind_scripts(root: &Path) -> Result<(), Failure> {
    let programs = root.join("usr/bin");
    // Python takes the folder above this link for its own, and finds what pip installs there.
    let python = root.join("bin/python3.13");
    let failed = |error| Failure::in_file(&programs, error);
    for entry in fs::read_dir(&programs).map_err(failed)? {
        let script = entry.map_err(failed)?.path();
        if script.is_symlink() || !script.is_file() {
            continue;
        }
        let failed = |error| Failure::in_file(&script, error);
        let bytes = fs::read(&script).map_err(failed)?;
        let Some(bound) = bound_script(&bytes, &python) else { continue };
        // Writing keeps the permissions.
        fs::write(&script, bound).map_err(failed)?;
    }
    Ok(())
}

/// Lets pip install into the environment and compilers find Python's headers, and makes
/// `bin/activate`.
fn make_own(root: &Path) -> Result<(), Failure> {
    let managed = root.join("usr/lib/python3.13/EXTERNALLY-MANAGED");
    match fs::remove_file(&managed) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Failure::in_file(&managed, error));
        }
        _ => {}
    }
    // Debian's file includes one of a folder that compilers search by default on Debian alone.
    let include = "#include \"../x86_64-linux-gnu/python3.13/pyconfig.h\"\n";
    write_whole(&root.join("usr/include/python3.13/pyconfig.h"), include)?;
    let quoted = format!("'{}'", root.display().to_string().replace('\'', "'\\''"));
    let script = include_str!("debian_13/activate").replace("@ROOT@", &quoted);
    write_whole(&root.join("usr/bin/activate"), &script)
}

/// A script with `python` as its interpreter; `None` for a file that is no script of Python 3.
fn bound_script(script: &[u8], python: &Path) -> Option<Vec<u8>> {
    let end = script.iter().position(|byte| *byte == b'\n')?;
    let (first, rest) = script.split_at(end);
    let interpreter = first.strip_prefix(b"#!")?.trim_ascii();
    let mut words = interpreter.split(|byte| *byte == b' ');
    let named = match words.next()? {
        b"/usr/bin/env" => words.next()?.to_vec(),
        path => path.strip_prefix(b"/usr/bin/")?.to_vec(),
    };
    if !named.starts_with(b"python3") {
        return None;
    }
    let options: Vec<u8> = words.flat_map(|word| [b" ".as_slice(), word].concat()).collect();
    Some([b"#!", python.as_os_str().as_bytes(), &options, rest].concat())
}

/// The root's patchelf, which writes a changed copy of a program.
fn patchelf(root: &Path, program: &Path, copy: &Path) -> Command {
    let mut patch = Command::new(root.join("usr/lib64/ld-linux-x86-64.so.2"));
    patch.arg("--library-path").arg(root.join(LIBRARIES)).arg(root.join("usr/bin/patchelf"));
    patch.arg("--output").arg(copy).arg(program);
    patch
}

/// Compiles Python's modules, which the packages have as sources, so that PyTorch is imported in a
/// third of the time.
fn compile_packages(root: &Path) -> Result<(), Failure> {
    eprintln!("compiling Python's modules");
    let mut compile = Command::new(root.join("bin/python"));
    compile.env_remove("PYTHONDONTWRITEBYTECODE").args(["-m", "compileall", "-q", "-j", "0"]);
    compile.arg(root.join(PACKAGES)).arg(root.join("usr/lib/python3.13"));
    run(compile, "compiling Python's modules")
}

fn compile_absent(root: &Path, soname: &str, source: &str) -> Result<(), Failure> {
    let file = root.join(LIBRARIES).join(format!("{soname}.c"));
    write_whole(&file, source)?;
    let mut compile = link_command(root, soname)?;
    compile.args(["-fPIC", "-O1", "-nostdlib"]).arg(&file);
    finish_library(root, soname, compile)?;
    fs::remove_file(&file).map_err(|error| Failure::in_file(&file, error))
}

/// Links all libraries of CUDA that are not there yet. Static ones are on disk while they are
/// needed.
fn relink_all(site: &Site<'_>, sources: &[StaticLibraries]) -> Result<(), Failure> {
    let folder = site.folder.join("static");
    let front = libraries::folder()?.join("libcudart.so.12");
    for library in RELINKED {
        if site.folder.join(LIBRARIES).join(library.soname).exists() {
            continue;
        }
        eprintln!("linking {}", library.soname);
        fs::create_dir_all(&folder).map_err(|error| Failure::in_file(&folder, error))?;
        for name in library.used.iter().chain([&library.whole]) {
            extract(site, sources, name, &folder.join(name))?;
        }
        relink(site.folder, &library, &folder, &front)?;
        fs::remove_dir_all(&folder).map_err(|error| Failure::in_file(&folder, error))?;
    }
    Ok(())
}

fn relink(root: &Path, library: &Relinked, folder: &Path, front: &Path) -> Result<(), Failure> {
    let of_root = |name: &&str| root.join(LIBRARIES).join(name);
    let mut link = link_command(root, library.soname)?;
    link.args(["-nodefaultlibs", "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--whole-archive"]);
    link.arg(folder.join(library.whole)).arg("-Wl,--no-whole-archive");
    link.args(library.used.iter().map(|name| folder.join(name)));
    link.args(library.needed.iter().map(of_root)).arg(front);
    let usual = ["libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6"];
    link.args(usual.iter().map(of_root)).arg(root.join("usr/lib64/ld-linux-x86-64.so.2"));
    // The host's C library has the functions that are never shared, such as atexit. The loader
    // finds the dependencies of the needed libraries later.
    link.args(["-lc", "-Wl,--allow-shlib-undefined"]);
    finish_library(root, library.soname, link)
}

/// A linker's command for a library of this soname, whose symbols have the soname as their version,
/// as CUDA's have.
fn link_command(root: &Path, soname: &str) -> Result<Command, Failure> {
    let versions = unfinished(root, soname).with_extension("map");
    write_whole(&versions, &format!("{soname} {{ *; }};\n"))?;
    let mut link = Command::new("cc");
    link.arg("-shared").arg(format!("-Wl,-soname,{soname}"));
    link.arg(format!("-Wl,--version-script={}", versions.display()));
    link.arg("-o").arg(unfinished(root, soname));
    Ok(link)
}

/// Runs the linker; the library has its name only when it is whole.
fn finish_library(root: &Path, soname: &str, link: Command) -> Result<(), Failure> {
    run(link, "linking")?;
    let (new, library) = (unfinished(root, soname), root.join(LIBRARIES).join(soname));
    let finished = fs::remove_file(new.with_extension("map")).and_then(|()| fs::rename(&new, &library));
    finished.map_err(|error| Failure::in_file(&library, error))
}

fn unfinished(root: &Path, soname: &str) -> PathBuf {
    root.join(LIBRARIES).join(format!("{soname}.part"))
}

/// Writes a static library.
fn extract(site: &Site<'_>, sources: &[StaticLibraries], name: &str, path: &Path) -> Result<(), Failure> {
    let found = sources.iter().find_map(|source| Some((source, *source.members.get(name)?)));
    let (source, member) = found.ok_or_else(|| Failure::new(format_args!("debian_13.toml has no {name}")))?;
    let blocks = site.downloads.fetch(&source.blocks)?;
    decompress(&blocks, member, path).map_err(|error| Failure::in_file(&blocks, error))
}

/// Writes a part of what blocks of an xz stream become.
///
/// The stream's header stands before the blocks, with CRC64 as their check (xz file format, 2.1.1).
/// There is no index behind them, at which xz fails when all they hold is written.
fn decompress(blocks: &Path, member: Member, path: &Path) -> io::Result<()> {
    const HEADER: [u8; 12] = *b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46";
    let mut blocks = File::open(blocks)?;
    let mut xz = Command::new("xz")
        .args(["--decompress", "--stdout", "--threads=1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(mut input), Some(mut output)) = (xz.stdin.take(), xz.stdout.take()) else {
        return Err(io::Error::other("xz has no input"));
    };
    // The process ends when xz has gone.
    let feeder =
        std::thread::spawn(move || input.write_all(&HEADER).and_then(|()| io::copy(&mut blocks, &mut input)));
    io::copy(&mut output.by_ref().take(member.offset), &mut io::sink())?;
    let written = io::copy(&mut output.by_ref().take(member.bytes), &mut File::create(path)?)?;
    drop(output);
    xz.wait()?;
    let fed = feeder.join();
    if written == member.bytes {
        return Ok(());
    }
    Err(fed.ok().and_then(Result::err).unwrap_or_else(|| io::Error::other("xz wrote less than was expected")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_python_get_the_interpreter_of_the_root() {
        let bound = |script: &str| {
            let bound = bound_script(script.as_bytes(), Path::new("/root/bin/python3.13"));
            bound.map(|script| String::from_utf8_lossy(&script).into_owned())
        };
        let expected = Some("#!/root/bin/python3.13 -s\nimport sys\n".to_owned());
        assert_eq!(bound("#!/usr/bin/python3.13 -s\nimport sys\n"), expected);
        assert_eq!(bound("#! /usr/bin/env python3 -s\nimport sys\n"), expected);
        assert_eq!(bound("#!/bin/sh\nexit\n"), None);
        assert_eq!(bound("#!/usr/bin/perl\n"), None);
        assert_eq!(bound("\x7fELF"), None);
    }
}
