// CUDA 13 has removed cudaDeviceProp::clockRate, which SHOC only prints: another member takes its place.
#pragma once

#include <cuda_runtime.h>

#if CUDART_VERSION >= 13000
#define clockRate multiProcessorCount
#endif
