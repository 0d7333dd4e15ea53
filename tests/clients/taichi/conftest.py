"""Forces Taichi to use the device, without its cache of compiled kernels."""

import os

os.environ["TI_ARCH"] = "cuda"
os.environ["TI_OFFLINE_CACHE"] = "0"
