"""Every convolution algorithm of cuDNN 7, beside a direct convolution: which are right, which cuDNN refuses, and which
exist only as machine code.

    cudnn_algorithms.py list --voltsim VOLTSIM --library libcudnn.so.7 [--only PATTERN] [--accept] [--details FILE]
    cudnn_algorithms.py times FILE

`list` prints what it finds, a line a case, and with --accept writes the whole list; `times` tells what takes longest of
what `--details` has kept.
"""

import argparse
import fnmatch
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import convolution
import cudnn

HERE = Path(__file__).resolve().parent
LIST = HERE / "cudnn-algorithms.tsv"
# Reported compute capability, with its device.
DEVICES = {capability: HERE / f"capability-{capability}.toml" for capability in ("3.0", "7.0", "8.0")}
# Types of the data and of the computation.
TYPES = [("float", "float"), ("double", "double"), ("half", "float"), ("half", "half")]
# Seconds after which a worker counts as hanging.
TIME_LIMIT = 3600

RIGHT, UNSUPPORTED, NOTHING, MACHINE_CODE, WRONG = "right", "unsupported", "nothing", "machine code", "wrong"
OUTCOMES = [RIGHT, UNSUPPORTED, NOTHING, MACHINE_CODE, WRONG]
# cuDNN's status codes for unsupported shapes and devices.
REFUSALS = (cudnn.NOT_SUPPORTED, cudnn.ARCH_MISMATCH)

NOTES = """\
# What cuDNN 7.6.5's convolution algorithms do. Made by cudnn_algorithms.py, which see; convolution.py has the shapes.
# capability: the compute capability that cuDNN is told. data, compute: types. math: cudnnMathType_t.
# Then the shapes for which the result is right; that cuDNN says it does not support; for which it says that it has done it,
# and launches nothing; of which a kernel exists only as machine code, so that its launch is refused; and for which the
# result is wrong. Kernels that were launched, and kernels of which there is only machine code.
#
# nothing: implicit_precomp_gemm has a table of kernels by architecture, which ends at 7.5.
# wrong: dgrad2d_alg1_1_half adds the offset of a texture twice to one index and not at all to the next, so that it reads
# elsewhere where an operand does not begin at a multiple of 512 bytes, as that of a second group here. This is in the PTX.
"""


@dataclass(frozen=True)
class Case:
    """Key of a line of the list."""

    capability: str
    direction: str
    algorithm: str
    data_type: str
    compute_type: str
    math: str

    @property
    def name(self):
        return "/".join(vars(self).values())


def cases():
    for capability, (direction, algorithms) in itertools.product(DEVICES, cudnn.ALGORITHMS.items()):
        for algorithm, types, math in itertools.product(algorithms, TYPES, cudnn.MATHS):
            yield Case(capability, direction, algorithm, *types, math)


def plain_name(kernel):
    """Returns the name of a kernel without its types: `cudnn::winograd::winograd3x3Kernel` of
    `void cudnn::winograd::winograd3x3Kernel<float>(int)`."""
    name, depth = "", 0
    for character in kernel.replace("(anonymous namespace)::", ""):
        depth -= character in ">)"
        if depth == 0 and character not in ">)<(":
            name += character
        depth += character in "<("
    return name.split()[-1]


class Log:
    """Reader of new lines in Voltsim's log."""

    def __init__(self):
        self.file = open(os.environ["VOLTSIM_LOG"], encoding="utf-8", errors="replace")

    def kernels(self):
        """Returns the kernels that were launched and those that were refused."""
        ran, refused = set(), set()
        for line in self.file:
            if launched := re.search(r"\] kernel (.+): grid \(", line):
                ran.add(plain_name(launched.group(1)))
            elif missing := re.search(r"\] kernel (.+?)(?: of \S+)? exists only as machine code", line):
                refused.add(plain_name(missing.group(1)))
        return ran, refused


def data(seed, shape, types, of_integers):
    """Returns an array of integers with exact sums, or of numbers between -1 and 1."""
    generator = np.random.RandomState(seed)
    if of_integers:
        return generator.randint(-2, 3, shape).astype(cudnn.NUMPY_TYPES[types[0]])
    return generator.uniform(-1, 1, shape).astype(cudnn.NUMPY_TYPES[types[0]])


def attempt(library, log, case, shape, of_integers):
    """Runs one convolution. Returns the outcome, the observations, the kernels, and the error relative to the bound."""
    types = (case.data_type, case.compute_type)
    arrays = [data(seed, extent, types, of_integers) for seed, extent in
              enumerate((shape.image, shape.filter, shape.output))]
    operands, before = convolution.operands_and_result(case.direction, *arrays)
    number = cudnn.ALGORITHMS[case.direction].index(case.algorithm)
    log.kernels()
    start = time.monotonic()
    query, status, result = library.convolve(case.direction, number, shape, types, case.math, operands, before)
    seconds = time.monotonic() - start
    ran, refused = log.kernels()
    outcome = {"seconds": seconds, "ran": sorted(ran), "refused": sorted(refused), "error": 0.0}
    if refused:
        return {**outcome, "outcome": MACHINE_CODE, "seen": f"cuDNN answered {query} and {status}"}
    if query == status and status in REFUSALS:
        return {**outcome, "outcome": UNSUPPORTED, "seen": f"cuDNN answered {status}"}
    if query != cudnn.SUCCESS or status != cudnn.SUCCESS:
        return {**outcome, "outcome": WRONG, "seen": f"cuDNN answered {query} for the workspace and {status}"}
    if not ran:
        return {**outcome, "outcome": NOTHING, "seen": "cuDNN answers that it has done it, and launches nothing"}
    true = convolution.direct(case.direction, shape, *operands)
    bound = abs(shape.alpha) * convolution.allowed(case.direction, case.algorithm, shape, types, *operands)
    expected = shape.alpha * true + shape.beta * before.astype(np.float64)
    bound = bound + 3 * convolution.UNIT[types[1]] * (np.abs(true) + np.abs(shape.beta * before))
    if of_integers and case.algorithm in convolution.DIRECT:
        bound = np.zeros(1)
    else:
        # The result is rounded to its type; below the smallest normal number, to 2**-25.
        bound = bound + convolution.UNIT[types[0]] * np.abs(expected) + (2.0**-25 if types[0] == "half" else 0)
    error = np.abs(result.astype(np.float64) - expected)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error == 0, 0.0, error / bound)
    largest = float(np.nan_to_num(ratio, nan=np.inf).max())
    outcome["error"] = min(largest, 1e30)
    if largest > 1:
        place = tuple(int(index) for index in np.unravel_index(np.argmax(ratio), ratio.shape))
        seen = f"at {place}: {result[place]} instead of {expected[place]}, {largest:.3g} times the error allowed"
        return {**outcome, "outcome": WRONG, "seen": seen}
    return {**outcome, "outcome": RIGHT, "seen": ""}


def work(library, tasks):
    """Inside of `voltsim run`: executes the tasks, one JSON line each."""
    library, log = cudnn.Cudnn(library), Log()
    by_name = {shape.name: shape for shape in convolution.SHAPES}
    for case, shape in tasks:
        case, shape = Case(*case), by_name[shape]
        try:
            # Sums of integers are exact, and so are algorithms that use only integers.
            kinds = [False, True] if case.algorithm in convolution.DIRECT else [False]
            results = [attempt(library, log, case, shape, kind) for kind in kinds]
            result = max(results, key=lambda found: OUTCOMES.index(found["outcome"]))
            result["seconds"] = results[0]["seconds"]
            result["error"] = results[0]["error"]
        except cudnn.Fault as fault:
            ran, refused = log.kernels()
            result = {"outcome": WRONG, "seen": str(fault), "ran": sorted(ran), "refused": sorted(refused),
                      "seconds": 0.0, "error": 0.0}
            print(json.dumps(result), flush=True)
            # The fault is sticky. The parent process continues with the next task.
            os._exit(1)
        print(json.dumps(result), flush=True)


def run(voltsim, library, capability, tasks):
    """Returns the results of the tasks in order, restarting processes as needed."""
    results = []
    while len(results) < len(tasks):
        left = tasks[len(results) :]
        with tempfile.TemporaryDirectory() as folder:
            described = Path(folder) / "tasks.json"
            described.write_text(json.dumps([[list(vars(case).values()), shape.name] for case, shape in left]))
            worker = [sys.executable, __file__, "work", "--library", library, "--tasks", described]
            command = [voltsim, "run", "--device", DEVICES[capability], "--", *worker]
            environment = {**os.environ, "VOLTSIM_LOG": str(Path(folder) / "log")}
            ended = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIME_LIMIT, check=False
            )
        found = [json.loads(line) for line in ended.stdout.splitlines()]
        if not found:
            message = ended.stderr.decode(errors="replace")[-500:]
            found = [{"outcome": WRONG, "seen": f"the process ended: {message}", "ran": [], "refused": [],
                      "seconds": 0.0, "error": 0.0}]
        results += found
    return results


COLUMNS = ["capability", "direction", "algorithm", "data", "compute", "math", *OUTCOMES, "kernels", "machine code only"]


def line(case, results):
    """Formats the line of a case from the result for each shape."""
    of = {outcome: [shape for shape, result in results.items() if result["outcome"] == outcome] for outcome in OUTCOMES}
    names = {key: sorted({name for result in results.values() for name in result[key]}) for key in ("ran", "refused")}
    shapes = [" ".join(of[outcome]) if len(of[outcome]) < len(results) else "all" for outcome in OUTCOMES]
    fields = [*vars(case).values(), *shapes, " ".join(names["ran"]), " ".join(names["refused"])]
    return [field or "-" for field in fields]


def read_list():
    """Returns the lines of the list by case."""
    lines = [text.split("\t") for text in LIST.read_text(encoding="utf-8").splitlines() if text[:1] != "#"]
    return {Case(*fields[:6]): fields for fields in lines[1:]}


def survey(voltsim, library, wanted):
    """Runs cases; gives, for each, the result by shape. Each algorithm has a process of its own, as cuDNN asks for some
    kernels only when it first needs them."""
    found = {}
    for (capability, *_), group in itertools.groupby(wanted, lambda case: tuple(vars(case).values())[:3]):
        tasks = [(case, shape) for case in group for shape in convolution.SHAPES]
        for (case, shape), result in zip(tasks, run(voltsim, library, capability, tasks)):
            found.setdefault(case, {})[shape.name] = result
    return found


def times(details):
    """Prints for each algorithm the slowest shape and the largest error relative to the bound."""
    longest = {}
    for name, results in details.items():
        for shape, result in results.items():
            algorithm = "/".join(name.split("/")[:5])
            if result["outcome"] == RIGHT:
                seconds, where, error = longest.get(algorithm, (0, "", 0))
                if result["seconds"] > seconds:
                    seconds, where = result["seconds"], shape
                longest[algorithm] = (seconds, where, max(error, result["error"]))
    for algorithm, (seconds, where, error) in sorted(longest.items(), key=lambda one: -one[1][0]):
        print(f"{seconds:8.3f} s {error:8.3f} {algorithm} {where}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["list", "times", "work"])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--library", default="libcudnn.so.7")
    parser.add_argument("--voltsim", default="voltsim")
    parser.add_argument("--tasks", type=Path)
    parser.add_argument("--only", default="*", help="cases, as capability/direction/algorithm/data/compute/math")
    parser.add_argument("--accept", action="store_true", help="write the list")
    parser.add_argument("--details", type=Path, help="file for every result, as JSON")
    options = parser.parse_args()
    if options.what == "work":
        work(options.library, json.loads(options.tasks.read_text()))
        return
    if options.what == "times":
        times(json.loads(options.file.read_text()))
        return
    wanted = [case for case in cases() if fnmatch.fnmatch(case.name, options.only)]
    found = survey(options.voltsim, options.library, wanted)
    for case, results in found.items():
        print("\t".join(line(case, results)))
        for shape, result in results.items():
            if result["outcome"] == WRONG:
                print(f"  {shape}: {result['seen']}", file=sys.stderr)
    if options.details:
        details = {case.name: results for case, results in found.items()}
        options.details.write_text(json.dumps(details, indent=1))
    if options.accept:
        known = read_list() if LIST.exists() else {}
        known.update((case, line(case, results)) for case, results in found.items())
        lines = ["\t".join(fields) + "\n" for fields in [COLUMNS, *(known[case] for case in cases() if case in known)]]
        LIST.write_text(NOTES + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
