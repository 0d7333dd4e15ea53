#include "native.h"

void multiply_native(int size, const float *a, const float *b, float *c) {
    for (int row = 0; row < size; ++row)
        for (int column = 0; column < size; ++column) {
            float sum = 0;
            for (int k = 0; k < size; ++k) sum += a[row * size + k] * b[k * size + column];
            c[row * size + column] = sum;
        }
}

void multiply_tiled_native(int size, const float *a, const float *b, float *c) {
    const int tile = 16;
    for (int row0 = 0; row0 < size; row0 += tile)
        for (int column0 = 0; column0 < size; column0 += tile) {
            float sums[tile][tile] = {};
            for (int k0 = 0; k0 < size; k0 += tile)
                for (int row = 0; row < tile; ++row)
                    for (int k = 0; k < tile; ++k)
                        for (int column = 0; column < tile; ++column)
                            sums[row][column] += a[(row0 + row) * size + k0 + k] * b[(k0 + k) * size + column0 + column];
            for (int row = 0; row < tile; ++row)
                for (int column = 0; column < tile; ++column)
                    c[(row0 + row) * size + column0 + column] = sums[row][column];
        }
}
