// Breadth-first search in a random graph of `bfs [vertices]`: one launch per level over the vertices found last, which
// are kept in a queue.
#include "check.h"
#include "native.h"
#include "time_native.h"

__global__ void bfs(const int *offsets, const int *targets, const int *frontier, int frontier_size, int *next,
                    int *next_size, int *distances, int level) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= frontier_size) return;
    int v = frontier[i];
    for (int edge = offsets[v]; edge < offsets[v + 1]; ++edge) {
        int target = targets[edge];
        // Who finds the vertex first appends it.
        if (distances[target] < 0 && atomicCAS(&distances[target], -1, level) == -1) next[atomicAdd(next_size, 1)] = target;
    }
}

// Each vertex has 2 to 10 neighbours, half of them near by.
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
    DeviceArray<int> offsets(graph.offsets), targets(graph.targets), distances(graph.vertices);
    DeviceArray<int> frontier(graph.vertices), next(graph.vertices), next_size(1);

    distances.fill(0xff);
    CHECK(cudaMemset(frontier, 0, sizeof(int)));
    CHECK(cudaMemset(distances, 0, sizeof(int)));
    int *from = frontier, *to = next, size = 1;
    for (int level = 1; size > 0; ++level) {
        next_size.fill(0);
        bfs<<<(size + 255) / 256, 256>>>(offsets, targets, from, size, to, next_size, distances, level);
        CHECK_KERNEL();
        size = next_size.download()[0];
        std::swap(from, to);
    }

    std::vector<int> wanted(graph.vertices);
    bfs_native(graph, 0, wanted.data());
    compare("distances", distances.download(), wanted);
    if (wants_native(argc, argv)) time_native("bfs", [&] { bfs_native(graph, 0, wanted.data()); });
    return finish();
}
