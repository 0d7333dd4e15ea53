// Names that CUDA removed, in terms of their successors. `cargo xtask suites` includes this header
// ahead of every source that asks for it (`options = ["-include", "removed.h"]`).
#pragma once

#define cudaThreadExit cudaDeviceReset
#define cudaThreadSetCacheConfig cudaDeviceSetCacheConfig
#define cudaThreadSynchronize cudaDeviceSynchronize
