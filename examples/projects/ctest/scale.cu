#include "scale.h"

#include <stdexcept>

static __global__ void scale_kernel(float *values, float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

static void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

void scale(std::vector<float> &values, float factor) {
  float *device = nullptr;
  size_t bytes = values.size() * sizeof(float);
  check(cudaMalloc(&device, bytes));
  check(cudaMemcpy(device, values.data(), bytes, cudaMemcpyHostToDevice));
  int blocks = (static_cast<int>(values.size()) + 255) / 256;
  scale_kernel<<<blocks, 256>>>(device, factor, static_cast<int>(values.size()));
  check(cudaGetLastError());
  check(cudaMemcpy(values.data(), device, bytes, cudaMemcpyDeviceToHost));
  check(cudaFree(device));
}
