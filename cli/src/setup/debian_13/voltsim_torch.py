"""Settings that a user of PyTorch on Voltsim would have to make.

cuDNN is not there, so PyTorch is told to use its own kernels. NCCL is Voltsim's, if Voltsim started the program. The device's capability is above all that PyTorch has machine
code for, on purpose, so the warning of that is left out. NVRTC is the root's. Debian builds PyTorch without libuv.
"""

import ctypes
import importlib.util
import os
import sys
import warnings


def load_nccl():
    """Loads Voltsim's NCCL, before PyTorch finds the root's, which only has the names."""
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        library = os.path.join(folder, "libnccl.so.2")
        if os.path.exists(os.path.join(folder, "libvoltsim_core.so")) and os.path.exists(library):
            ctypes.CDLL(library)
            return


def store_without_libuv(distributed):
    """Makes stores of the network without libuv where the caller does not say: static rendezvous of torchrun never does."""
    original = distributed.TCPStore

    class TCPStore(original):
        def __init__(self, *arguments, **options):
            options.setdefault("use_libuv", False)
            super().__init__(*arguments, **options)

    # Modules that are loaded already have the original by name.
    for name, module in list(sys.modules.items()):
        if name.startswith("torch.distributed") and getattr(module, "TCPStore", None) is original:
            module.TCPStore = TCPStore


def compile_for_known_target(triton):
    """Makes Triton compile for 8.9 on a newer device: Triton 3.2, which fits PyTorch 2.6, does not know 12.0."""
    backend = triton.backends.backends["nvidia"].compiler
    original = backend.__init__

    def initialise(self, target):
        original(self, type(target)(target.backend, min(target.arch, 89), target.warp_size))

    backend.__init__ = initialise


def set_up_torch(torch):
    torch.backends.cudnn.enabled = False
    if torch.distributed.is_available():
        store_without_libuv(torch.distributed)
    warnings.filterwarnings("ignore", message=r"\s*.* with CUDA capability sm_120 is not compatible")


class Around:
    """Finds modules as ever, and does what has to be done before and after one of them is loaded."""

    def __init__(self, actions):
        self.actions = actions

    def find_spec(self, name, path=None, target=None):
        if name not in self.actions:
            return None
        before, after = self.actions.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def execute_between(module):
            before()
            execute(module)
            after(module)

        spec.loader.exec_module = execute_between
        return spec


def nothing():
    pass


sys.meta_path.insert(0, Around({"torch": (load_nccl, set_up_torch), "triton": (nothing, compile_for_known_target)}))
# The release whose PTX Triton 3.2 knows how to write.
os.environ.setdefault("VOLTSIM_PTXAS_RELEASE", "12.4")
os.environ.setdefault("USE_LIBUV", "0")
os.environ.setdefault("VOLTSIM_NVRTC", os.path.join(sys.prefix, "lib/x86_64-linux-gnu/libnvrtc.so.12"))
