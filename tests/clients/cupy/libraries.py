"""Creates a folder with the CUDA 10.2 libraries that CuPy requires.

`libraries.py WHEEL FOLDER` takes cuBLAS out of a wheel. `libraries.py WHEEL FOLDER PACKAGES` takes the runtime and NVRTC out
of one, and cuRAND, whose name has not changed since, out of CUDA 13's package. In place of the others there are stand-ins with
the functions that CuPy looks up; each tells its name and fails.
"""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

CUBLAS = ["libcublas.so.10", "libcublasLt.so.10"]
COMPILER_AND_RUNTIME = ["libcudart.so.10.2", "libnvrtc.so.10.2", "libnvrtc-builtins.so"]
# Status of each library for unsupported calls.
STAND_INS = {"libcublas.so.10": 15, "libcufft.so.10": 16, "libcusparse.so.10": 10, "libcusolver.so.10": 9}


def take(wheel, names, folder):
    """Extracts libraries from a wheel and removes the hashes from their names."""
    with zipfile.ZipFile(wheel) as archive:
        for path in archive.namelist():
            name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", Path(path).name)
            for wanted in names:
                if f"{name}.".startswith(f"{wanted}."):
                    (folder / wanted).write_bytes(archive.read(path))


def functions(modules, library):
    """Returns the functions of a library that extension modules import."""
    found = set()
    for module in modules:
        symbols = subprocess.run(["nm", "--dynamic", "--undefined-only", module], check=True, capture_output=True, text=True)
        found.update(re.findall(rf" U (\w+)@{re.escape(library)}$", symbols.stdout, re.MULTILINE))
    return sorted(found)


def stand_in(library, names, status, folder):
    """Creates a library whose functions write their name to standard error and fail."""
    source = "#include <stdio.h>\n"
    for name in names:
        # Functions that return an error's name must return text.
        kind, value = ("const char *", f'"{library} is a stand-in"') if "GetError" in name else ("int ", status)
        source += f'{kind}{name}(void) {{ fputs("{name}: {library} is a stand-in\\n", stderr); return {value}; }}\n'
    versions = folder / f"{library}.map"
    versions.write_text(f"{library} {{ *; }};\n")
    link = [f"-Wl,-soname,{library}", f"-Wl,--version-script={versions}"]
    command = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", folder / library, *link]
    subprocess.run(command, input=source, text=True, check=True)


def main():
    wheel, folder, *packages = map(Path, sys.argv[1:])
    take(wheel, COMPILER_AND_RUNTIME if packages else CUBLAS, folder)
    for path in packages:
        (folder / "libcurand.so.10").symlink_to(path.resolve() / "nvidia/cu13/lib/libcurand.so.10")
        modules = sorted(path.glob("cupy*/**/*.so"))
        for library, status in STAND_INS.items():
            stand_in(library, functions(modules, library), status, folder)


if __name__ == "__main__":
    main()
