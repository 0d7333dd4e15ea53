//@ mistakes: threads read levels that other threads are writing; the old level and the new one both lead to the result
//@ args: 3000
// Breadth-first search in a random graph of `racing_bfs [vertices]`, one launch per level, with races:
// threads read levels that other CTAs write in the same launch. Distances do not depend on the order of
// threads; executed instructions and the order of the queue do. The program prints a digest of that order.
#include "check.h"

__global__ void bfs_levels(const int *offsets, const int *targets, int vertices, int *distances, int level,
                           int *found) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices || distances[v] != level - 1) return;
    for (int edge = offsets[v]; edge < offsets[v + 1]; ++edge) {
        int target = targets[edge];
        if (distances[target] >= 0) continue;
        // Other threads that reach the vertex now write the same value.
        distances[target] = level;
        *found = 1;
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
        if (distances[target] < 0 && atomicCAS(&distances[target], -1, level) == -1) next[atomicAdd(next_size, 1)] = target;
    }
}

// Directed graph: the neighbours of vertex v are targets[offsets[v]] to targets[offsets[v + 1]] (exclusive).
struct Graph {
    int vertices;
    std::vector<int> offsets, targets;
};

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

static std::vector<int> distances_of(const Graph &graph) {
    std::vector<int> distances(graph.vertices, -1), queue = {0};
    distances[0] = 0;
    for (size_t head = 0; head < queue.size(); ++head) {
        int v = queue[head];
        for (int edge = graph.offsets[v]; edge < graph.offsets[v + 1]; ++edge) {
            int target = graph.targets[edge];
            if (distances[target] >= 0) continue;
            distances[target] = distances[v] + 1;
            queue.push_back(target);
        }
    }
    return distances;
}

int main(int argc, char **argv) {
    Graph graph = random_graph(argc > 1 ? std::atoi(argv[1]) : 3000);
    std::vector<int> wanted = distances_of(graph);

    DeviceArray<int> offsets(graph.offsets), targets(graph.targets), distances(graph.vertices), found(1);
    auto start = [&] {
        distances.fill(0xff);
        CHECK(cudaMemset(distances, 0, sizeof(int)));
    };

    start();
    for (int level = 1, more = 1; more; ++level) {
        found.fill(0);
        bfs_levels<<<(graph.vertices + 255) / 256, 256>>>(offsets, targets, graph.vertices, distances, level, found);
        CHECK_KERNEL();
        more = found.download()[0];
    }
    compare("distances by levels", distances.download(), wanted);

    DeviceArray<int> frontier(graph.vertices), next(graph.vertices), next_size(1);
    start();
    CHECK(cudaMemset(frontier, 0, sizeof(int)));
    int *from = frontier, *to = next, size = 1;
    unsigned digest = 0;
    for (int level = 1; size > 0; ++level) {
        next_size.fill(0);
        bfs_queue<<<(size + 255) / 256, 256>>>(offsets, targets, from, size, to, next_size, distances, level);
        CHECK_KERNEL();
        size = next_size.download()[0];
        std::swap(from, to);
        std::vector<int> queue(graph.vertices);
        CHECK(cudaMemcpy(queue.data(), from, size * sizeof(int), cudaMemcpyDeviceToHost));
        for (int place = 0; place < size; ++place) digest = digest * 31 + queue[place];
    }
    compare("distances by queue", distances.download(), wanted);
    std::printf("order of the queue: %08x\n", digest);
    return finish();
}
