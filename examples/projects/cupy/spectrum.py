"""Power of a signal in bands: a CuPy kernel of its own beside CuPy's arrays."""

import cupy as cp

band_power = cp.RawKernel(
    r"""
extern "C" __global__ void band_power(const float* signal, float* power, int width, int bands) {
    int band = blockIdx.x * blockDim.x + threadIdx.x;
    if (band >= bands) return;
    float sum = 0;
    for (int i = 0; i < width; ++i) {
        float value = signal[band * width + i];
        sum += value * value;
    }
    power[band] = sum / width;
}
""",
    "band_power",
)


def powers(signal: cp.ndarray, bands: int) -> cp.ndarray:
    """Return the mean square of each of `bands` equal parts of the signal."""
    width = signal.size // bands
    power = cp.empty(bands, dtype=cp.float32)
    band_power((-(-bands // 64),), (64,), (signal, power, cp.int32(width), cp.int32(bands)))
    return power


def loudest(signal: cp.ndarray, bands: int) -> int:
    """Return the index of the part with the greatest power."""
    return int(cp.argmax(powers(signal, bands)))
