//@ modes: shared static clang
// Every thread of launches in one, two and three dimensions writes its position and index.
#include "check.h"

struct Place {
    unsigned block[3], thread[3], grid[3], size[3];
};

__global__ void note_place(Place *places) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned per_block = blockDim.x * blockDim.y * blockDim.z;
    places[block * per_block + thread] = {{blockIdx.x, blockIdx.y, blockIdx.z},
                                          {threadIdx.x, threadIdx.y, threadIdx.z},
                                          {gridDim.x, gridDim.y, gridDim.z},
                                          {blockDim.x, blockDim.y, blockDim.z}};
}

static void launch(dim3 grid, dim3 block) {
    size_t threads = size_t(grid.x) * grid.y * grid.z * block.x * block.y * block.z;
    DeviceArray<Place> places(threads);
    places.fill(0xff);
    note_place<<<grid, block>>>(places);
    CHECK_KERNEL();
    std::vector<Place> got = places.download();
    size_t i = 0, wrong = 0;
    for (unsigned bz = 0; bz < grid.z; ++bz)
        for (unsigned by = 0; by < grid.y; ++by)
            for (unsigned bx = 0; bx < grid.x; ++bx)
                for (unsigned tz = 0; tz < block.z; ++tz)
                    for (unsigned ty = 0; ty < block.y; ++ty)
                        for (unsigned tx = 0; tx < block.x; ++tx, ++i) {
                            const unsigned wanted[12] = {bx, by, bz, tx, ty, tz, grid.x, grid.y, grid.z,
                                                         block.x, block.y, block.z};
                            const Place &place = got[i];
                            for (int j = 0; j < 3; ++j)
                                wrong += place.block[j] != wanted[j] || place.thread[j] != wanted[3 + j] ||
                                         place.grid[j] != wanted[6 + j] || place.size[j] != wanted[9 + j];
                        }
    if (wrong == 0) return;
    std::printf("grid (%u, %u, %u), block (%u, %u, %u): %zu wrong\n", grid.x, grid.y, grid.z, block.x, block.y, block.z, wrong);
    ++failures;
}

int main() {
    launch(1, 1);
    launch(3, 33);
    launch(70000, 1);
    launch(2, 1024);
    launch(dim3(5, 3), dim3(7, 9));
    launch(dim3(2, 3, 4), dim3(4, 5, 6));
    launch(dim3(1, 1, 7), dim3(1, 1, 64));
    launch(dim3(1, 65, 2), dim3(16, 16, 2));
    return finish();
}
