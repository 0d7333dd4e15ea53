// Breadth-first search in a random graph of `bfs [vertices]`, level by level. In the first search, every
// vertex checks whether the previous level reached it. Two arrays of distances alternate, so no thread
// reads another's writes of the same launch. The second search keeps the current level in a queue.
#include "check.h"
#include "native.h"
#include "time_native.h"

// Reads the distances of earlier launches and adds those of this launch to `next`, which lacks the previous launch's.
__global__ void bfs_levels(const int *offsets, const int *targets, int vertices, const int *distances, int *next,
                           int level, int *found) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices || distances[v] != level - 1) return;
    atomicMax(&next[v], level - 1);
    for (int edge = offsets[v]; edge < offsets[v + 1]; ++edge) {
        int target = targets[edge];
        if (distances[target] >= 0) continue;
        atomicMax(&next[target], level);
        atomicOr(found, 1);
    }
}

__global__ void bfs_queue(const int *offsets, const int *targets, const int *frontier, int frontier_size, int *next,
                          int *next_size, int *distances, int level) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= frontier_size) return;
    int v = frontier[i];
    for (int edge = offsets[v]; edge < offsets[v + 1]; ++edge) {
        int target = targets[edge];
        // The first thread to reach the vertex appends it.
        if (atomicCAS(&distances[target], -1, level) == -1) next[atomicAdd(next_size, 1)] = target;
    }
}

// Each vertex has 2 to 10 neighbours, half of them nearby.
static Graph random_graph(int vertices) {
    std::mt19937 engine(7);
    Graph graph = {vertices, {0}, {}};
    for (int v = 0; v < vertices; ++v) {
        for (int edges = 2 + engine() % 9; edges > 0; --edges) {
            int target = edges % 2 ? engine() % vertices : (v + engine() % 1000) % vertices;
            graph.targets.push_back(target);
        }
        graph.offsets.push_back(int(graph.targets.size()));
    }
    return graph;
}

int main(int argc, char **argv) {
    Graph graph = random_graph(size_argument(argc, argv, 20000));
    std::vector<int> wanted(graph.vertices);
    bfs_native(graph, 0, wanted.data());

    DeviceArray<int> offsets(graph.offsets), targets(graph.targets), distances(graph.vertices), found(1);
    DeviceArray<int> others(graph.vertices);
    auto start = [&] {
        distances.fill(0xff);
        CHECK(cudaMemset(distances, 0, sizeof(int)));
    };

    start();
    others.fill(0xff);
    int *known = distances, *added = others;
    for (int level = 1, more = 1; more; ++level) {
        found.fill(0);
        bfs_levels<<<(graph.vertices + 255) / 256, 256>>>(offsets, targets, graph.vertices, known, added, level, found);
        CHECK_KERNEL();
        more = found.download()[0];
        std::swap(known, added);
    }
    compare("distances by levels", (known == distances ? distances : others).download(), wanted);

    DeviceArray<int> frontier(graph.vertices), next(graph.vertices), next_size(1);
    start();
    CHECK(cudaMemset(frontier, 0, sizeof(int)));
    int *from = frontier, *to = next, size = 1;
    for (int level = 1; size > 0; ++level) {
        next_size.fill(0);
        bfs_queue<<<(size + 255) / 256, 256>>>(offsets, targets, from, size, to, next_size, distances, level);
        CHECK_KERNEL();
        size = next_size.download()[0];
        std::swap(from, to);
    }
    compare("distances by queue", distances.download(), wanted);

    if (wants_native(argc, argv)) {
        for (const char *kernel : {"bfs_levels", "bfs_queue"})
            time_native(kernel, [&] { bfs_native(graph, 0, wanted.data()); });
    }
    return finish();
}
