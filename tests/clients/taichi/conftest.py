"""Taichi on the device, whatever a program asks for, and without its cache of compiled kernels."""

import os

os.environ["TI_ARCH"] = "cuda"
os.environ["TI_OFFLINE_CACHE"] = "0"
