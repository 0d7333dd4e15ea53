#include "native.h"

void bfs_native(const Graph &graph, int source, int *distances) {
    for (int v = 0; v < graph.vertices; ++v) distances[v] = -1;
    std::vector<int> queue(graph.vertices);
    int head = 0, tail = 0;
    queue[tail++] = source;
    distances[source] = 0;
    while (head < tail) {
        int v = queue[head++];
        for (int edge = graph.offsets[v]; edge < graph.offsets[v + 1]; ++edge) {
            int target = graph.targets[edge];
            if (distances[target] >= 0) continue;
            distances[target] = distances[v] + 1;
            queue[tail++] = target;
        }
    }
}
