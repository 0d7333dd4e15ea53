#pragma once

#include <vector>

// A directed graph: the neighbours of vertex v are targets[offsets[v]] up to targets[offsets[v + 1]].
struct Graph {
    int vertices;
    std::vector<int> offsets, targets;
};

// Distance of every vertex from `source` in edges, -1 where there is no way.
void bfs_native(const Graph &graph, int source, int *distances);
