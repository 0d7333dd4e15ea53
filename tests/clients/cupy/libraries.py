"""Puts the libraries of CUDA 10.2 that CuPy asks for into a folder: libraries.py WHEEL PACKAGES FOLDER.

The runtime, NVRTC and cuBLAS come out of PyTorch's wheel, cuRAND, whose name has not changed since, from a package of its
own. The others of 10.2 are in no package: stand-ins have the functions that CuPy looks up, and each tells its name and fails.
"""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

# What PyPI's copies are called, without the numbers that were put into their names.
TAKEN = ["libcudart.so.10.2", "libnvrtc.so.10.2", "libnvrtc-builtins.so", "libcublas.so.10", "libcublasLt.so.10"]
# Each library's status for what is not supported.
STAND_INS = {"libcufft.so.10": 16, "libcusparse.so.10": 10, "libcusolver.so.10": 9}


def take(wheel, folder):
    """Takes the libraries of CUDA out of PyTorch's wheel."""
    with zipfile.ZipFile(wheel) as archive:
        for path in archive.namelist():
            name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", Path(path).name)
            if name in TAKEN:
                (folder / name).write_bytes(archive.read(path))


def functions(modules, library):
    """The functions of a library that extension modules have no definition of."""
    found = set()
    for module in modules:
        symbols = subprocess.run(["nm", "--dynamic", "--undefined-only", module], check=True, capture_output=True, text=True)
        found.update(re.findall(rf" U (\w+)@{re.escape(library)}$", symbols.stdout, re.MULTILINE))
    return sorted(found)


def stand_in(library, names, status, folder):
    """Makes a library in which every function writes its name to standard error and fails."""
    source = "#include <stdio.h>\n"
    for name in names:
        # Those that give an error's name have text to return.
        kind, value = ("const char *", f'"{library} is a stand-in"') if "GetError" in name else ("int ", status)
        source += f'{kind}{name}(void) {{ fputs("{name}: {library} is a stand-in\\n", stderr); return {value}; }}\n'
    versions = folder / f"{library}.map"
    versions.write_text(f"{library} {{ *; }};\n")
    link = [f"-Wl,-soname,{library}", f"-Wl,--version-script={versions}"]
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", folder / library, *link]
    subprocess.run(command, input=source, text=True, check=True)


def main():
    wheel, packages, folder = map(Path, sys.argv[1:])
    take(wheel, folder)
    (folder / "libcurand.so.10").symlink_to(packages.resolve() / "nvidia/cu13/lib/libcurand.so.10")
    modules = sorted(packages.glob("cupy*/**/*.so"))
    for library, status in STAND_INS.items():
        stand_in(library, functions(modules, library), status, folder)


if __name__ == "__main__":
    main()
