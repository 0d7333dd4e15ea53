// Managed memory: allocations and variables, accessed by host and device alternately.
#include "check.h"

__managed__ int counter = 40;
__managed__ float table[256];

struct Tree {
    int value;
    Tree *left, *right;
};

__global__ void scale(float *data, float factor, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] *= factor;
}

__global__ void use_variables() {
    atomicAdd(&counter, 1);
    table[threadIdx.x] += threadIdx.x;
}

// Follows pointers that the host has set.
__global__ void sum_tree(const Tree *root, int *sum) {
    const Tree *stack[32];
    int depth = 0, total = 0;
    stack[depth++] = root;
    while (depth > 0) {
        const Tree *node = stack[--depth];
        if (!node) continue;
        total += node->value;
        stack[depth++] = node->left;
        stack[depth++] = node->right;
    }
    *sum = total;
}

int main() {
    const int count = 5000;
    float *data;
    CHECK(cudaMallocManaged(&data, count * sizeof(float)));
    std::vector<float> wanted = random_values<float>(count, -1, 1);
    for (int i = 0; i < count; ++i) data[i] = wanted[i];
    for (int round = 0; round < 3; ++round) {
        scale<<<(count + 255) / 256, 256>>>(data, 2, count);
        CHECK_KERNEL();
        for (int i = 0; i < count; ++i) data[i] += 1, wanted[i] = wanted[i] * 2 + 1;
    }
    compare("in turn", std::vector<float>(data, data + count), wanted);

    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, data));
    EXPECT(attributes.type == cudaMemoryTypeManaged);
    CHECK(cudaFree(data));

    for (int i = 0; i < 256; ++i) table[i] = 0.5f * i;
    counter += 1;
    use_variables<<<1, 256>>>();
    CHECK_KERNEL();
    EXPECT(counter == 40 + 1 + 256);
    std::vector<float> sums(256);
    for (int i = 0; i < 256; ++i) sums[i] = 1.5f * i;
    compare("variable", table, sums.data(), 256);

    const int nodes = 100;
    Tree *tree;
    int *sum, total = 0;
    CHECK(cudaMallocManaged(&tree, nodes * sizeof(Tree)));
    CHECK(cudaMallocManaged(&sum, sizeof(int)));
    for (int i = 0; i < nodes; ++i) {
        auto child = [&](int index) { return index < nodes ? &tree[index] : nullptr; };
        tree[i] = {i * i, child(2 * i + 1), child(2 * i + 2)};
        total += i * i;
    }
    sum_tree<<<1, 1>>>(tree, sum);
    CHECK_KERNEL();
    EXPECT(*sum == total);
    CHECK(cudaFree(tree));
    CHECK(cudaFree(sum));
    return finish();
}
