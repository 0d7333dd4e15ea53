#pragma once

#include <vector>

// Directed graph: the neighbours of vertex v are targets[offsets[v]] to targets[offsets[v + 1]] (exclusive).
struct Graph {
    int vertices;
    std::vector<int> offsets, targets;
};

// Computes the distance of every vertex from `source` in edges, -1 if unreachable.
void bfs_native(const Graph &graph, int source, int *distances);
