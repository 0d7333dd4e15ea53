/* Launches a graph whose `while` node never ends and prints the error's name; the exit status says whether a reset helped. */
#include "../c/cuda_api.h"

typedef void *cudaGraph_t, *cudaGraphExec_t, *cudaGraphNode_t;
typedef struct {
    int type, reserved[3];
    union {
        struct { uint64_t handle; int type; unsigned size; cudaGraph_t *graphs; void *context; } conditional;
        long long room[29];
    };
    long long reserved2;
} cudaGraphNodeParams;

int cudaGraphCreate(cudaGraph_t *, unsigned);
int cudaGraphConditionalHandleCreate(uint64_t *, cudaGraph_t, unsigned, unsigned);
int cudaGraphAddNode(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, const void *, size_t, cudaGraphNodeParams *);
int cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
int cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);

enum { CONDITIONAL = 13, WHILE = 1, ASSIGN_DEFAULT = 1 };

int main(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaGraphNode_t node;
    cudaGraphNodeParams parameters = {.type = CONDITIONAL};

    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphConditionalHandleCreate(&parameters.conditional.handle, graph, 1, ASSIGN_DEFAULT));
    parameters.conditional.type = WHILE;
    parameters.conditional.size = 1;
    OK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &parameters));
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphLaunch(executable, NULL));
    puts(cudaGetErrorName(cudaDeviceSynchronize()));
    OK(cudaDeviceReset());
    cudaGetLastError();
    return cudaDeviceSynchronize();
}
