#pragma once

#include <vector>

// Multiplies every value by `factor` on the GPU. Throws std::runtime_error on an error of CUDA.
void scale(std::vector<float> &values, float factor);
