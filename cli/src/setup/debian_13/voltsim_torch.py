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


class AfterTorch:
    """Finds torch as ever, and sets what has to be set once it is there."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_set(module):
            load_nccl()
            execute(module)
            module.backends.cudnn.enabled = False
            if module.distributed.is_available():
                store_without_libuv(module.distributed)
            warnings.filterwarnings("ignore", message=r"\s*.* with CUDA capability sm_120 is not compatible")

        spec.loader.exec_module = execute_and_set
        return spec


sys.meta_path.insert(0, AfterTorch())
os.environ.setdefault("USE_LIBUV", "0")
os.environ.setdefault("VOLTSIM_NVRTC", os.path.join(sys.prefix, "lib/x86_64-linux-gnu/libnvrtc.so.12"))
