#pragma once

// c = a b for square row-major matrices, one dot product per element as in the naive kernel.
void multiply_native(int size, const float *a, const float *b, float *c);

// Computes the same in tiles of 16 by 16, like the tiled kernel; `size` is a multiple of 16.
void multiply_tiled_native(int size, const float *a, const float *b, float *c);
