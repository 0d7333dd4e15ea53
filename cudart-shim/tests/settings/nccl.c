/* Collective operations among ranks, each a process with a device of its own. The first argument names the case, the second is
 * the number of ranks. Prints nothing if all is right. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct { char bytes[128]; } ncclUniqueId;
typedef void *ncclComm_t;
typedef void *cudaStream_t;
enum { ncclInt32 = 2, ncclFloat32 = 7, ncclSum = 0, ncclMax = 2, ncclRemoteError = 6 };
int ncclGetUniqueId(ncclUniqueId *);
int ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int);
int ncclCommInitAll(ncclComm_t *, int, const int *);
int ncclCommSplit(ncclComm_t, int, int, ncclComm_t *, void *);
int ncclCommDestroy(ncclComm_t);
int ncclCommAbort(ncclComm_t);
int ncclCommCount(ncclComm_t, int *);
int ncclCommUserRank(ncclComm_t, int *);
int ncclCommGetAsyncError(ncclComm_t, int *);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclRedOpCreatePreMulSum(int *, void *, int, int, ncclComm_t);
int ncclAllReduce(const void *, void *, size_t, int, int, ncclComm_t, cudaStream_t);
int ncclAllGather(const void *, void *, size_t, int, ncclComm_t, cudaStream_t);
int ncclBroadcast(const void *, void *, size_t, int, int, ncclComm_t, cudaStream_t);
int ncclSend(const void *, size_t, int, int, ncclComm_t, cudaStream_t);
int ncclRecv(void *, size_t, int, int, ncclComm_t, cudaStream_t);
int cudaSetDevice(int);
int cudaMalloc(void **, size_t);
int cudaMemcpyAsync(void *, const void *, size_t, int, cudaStream_t);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaStreamCreate(cudaStream_t *);
int cudaStreamSynchronize(cudaStream_t);

#define COUNT 500000
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s\n", __LINE__, #condition); \
            fflush(stdout); \
            _exit(1); \
        } \
    } while (0)
#define OK(call) CHECK((call) == 0)

static float host[COUNT];

static void *device_floats(float value, cudaStream_t stream)
{
    void *memory;

    for (int i = 0; i < COUNT; ++i)
        host[i] = value + i % 7;
    OK(cudaMalloc(&memory, sizeof host));
    OK(cudaMemcpyAsync(memory, host, sizeof host, 1, stream));
    OK(cudaStreamSynchronize(stream));
    return memory;
}

static float read_float(const void *memory, int index)
{
    float value;

    OK(cudaMemcpy(&value, (const float *)memory + index, sizeof value, 2));
    return value;
}

static void operations(ncclComm_t comm, int rank, int ranks, cudaStream_t stream)
{
    void *send = device_floats(rank, stream), *receive = device_floats(-1, stream), *all;
    float factor = rank + 1;
    int scaled, number;
    ncclComm_t part;

    OK(ncclAllReduce(send, receive, COUNT, ncclFloat32, ncclSum, comm, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(read_float(receive, COUNT - 1) == ranks * (ranks - 1) / 2 + ranks * ((COUNT - 1) % 7));
    /* In place, and in the order of the stream: the maximum of sums. */
    OK(ncclAllReduce(send, send, COUNT, ncclFloat32, ncclSum, comm, stream));
    OK(ncclAllReduce(send, send, COUNT, ncclFloat32, ncclMax, comm, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(read_float(send, 8) == ranks * (ranks - 1) / 2 + ranks);
    OK(cudaMalloc(&all, ranks * sizeof host));
    OK(ncclAllGather(device_floats(rank, stream), all, COUNT, ncclFloat32, comm, stream));
    OK(cudaStreamSynchronize(stream));
    for (int other = 0; other < ranks; ++other)
        CHECK(read_float(all, other * COUNT + 1) == other + 1);
    OK(ncclBroadcast(device_floats(rank, stream), receive, COUNT, ncclFloat32, ranks - 1, comm, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(read_float(receive, 7) == ranks - 1);
    /* A ring: everyone sends at once. */
    OK(ncclGroupStart());
    OK(ncclSend(device_floats(10 * rank, stream), COUNT, ncclFloat32, (rank + 1) % ranks, comm, stream));
    OK(ncclRecv(receive, COUNT, ncclFloat32, (rank + ranks - 1) % ranks, comm, stream));
    OK(ncclGroupEnd());
    OK(cudaStreamSynchronize(stream));
    CHECK(read_float(receive, COUNT - 1) == 10 * ((rank + ranks - 1) % ranks) + (COUNT - 1) % 7);
    OK(ncclRedOpCreatePreMulSum(&scaled, &factor, ncclFloat32, 1, comm));
    OK(ncclAllReduce(device_floats(1, stream), receive, COUNT, ncclFloat32, scaled, comm, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(read_float(receive, 0) == ranks * (ranks + 1) / 2);
    /* Even and odd ranks, in reverse order. */
    OK(ncclCommSplit(comm, rank % 2, -rank, &part, NULL));
    OK(ncclCommCount(part, &number));
    CHECK(number == (ranks + 1 - rank % 2) / 2);
    OK(ncclCommUserRank(part, &number));
    CHECK(number == (ranks - 1 - rank) / 2);
    OK(ncclAllReduce(device_floats(rank, stream), receive, COUNT, ncclFloat32, ncclMax, part, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(read_float(receive, 0) == ((ranks - 1 - rank % 2) & ~1) + rank % 2);
    OK(ncclCommDestroy(part));
    CHECK(ncclAllReduce(send, receive, COUNT, ncclFloat32, 99, comm, stream) == 4);
    CHECK(ncclBroadcast(host, receive, COUNT, ncclFloat32, rank, comm, stream) == 4);
}

static void run(const char *name, ncclUniqueId id, int rank, int ranks)
{
    ncclComm_t comm;
    cudaStream_t stream;
    void *memory;
    int error = 0;

    alarm(60);
    OK(cudaSetDevice(strcmp(name, "twins") ? rank : 0));
    OK(cudaStreamCreate(&stream));
    if (!strcmp(name, "twins")) {
        CHECK(ncclCommInitRank(&comm, ranks, id, rank) == 5);
        return;
    }
    OK(ncclCommInitRank(&comm, ranks, id, rank));
    if (!strcmp(name, "operations")) {
        operations(comm, rank, ranks, stream);
        OK(ncclCommDestroy(comm));
        return;
    }
    memory = device_floats(rank, stream);
    OK(ncclAllReduce(memory, memory, COUNT, ncclFloat32, ncclSum, comm, stream));
    OK(cudaStreamSynchronize(stream));
    if (rank == 1 && !strcmp(name, "dies"))
        kill(getpid(), SIGKILL);
    if (rank == 1 && !strcmp(name, "aborts")) {
        OK(ncclCommAbort(comm));
        return;
    }
    OK(ncclAllReduce(memory, memory, COUNT, ncclFloat32, ncclSum, comm, stream));
    OK(cudaStreamSynchronize(stream));
    OK(ncclCommGetAsyncError(comm, &error));
    CHECK(error == ncclRemoteError);
    CHECK(ncclAllReduce(memory, memory, COUNT, ncclFloat32, ncclSum, comm, stream) == ncclRemoteError);
    OK(ncclCommAbort(comm));
}

/* All ranks in one thread of one process. */
static void one_process(int ranks)
{
    ncclComm_t comms[8];
    cudaStream_t streams[8];
    void *memory[8];

    OK(ncclCommInitAll(comms, ranks, NULL));
    for (int rank = 0; rank < ranks; ++rank) {
        OK(cudaSetDevice(rank));
        OK(cudaStreamCreate(&streams[rank]));
        memory[rank] = device_floats(rank, streams[rank]);
    }
    OK(ncclGroupStart());
    for (int rank = 0; rank < ranks; ++rank)
        OK(ncclAllReduce(memory[rank], memory[rank], COUNT, ncclFloat32, ncclSum, comms[rank], streams[rank]));
    OK(ncclGroupEnd());
    for (int rank = 0; rank < ranks; ++rank) {
        OK(cudaSetDevice(rank));
        OK(cudaStreamSynchronize(streams[rank]));
        CHECK(read_float(memory[rank], 0) == ranks * (ranks - 1) / 2);
    }
    for (int rank = 0; rank < ranks; ++rank)
        OK(ncclCommDestroy(comms[rank]));
}

int main(int count, char **words)
{
    int ranks = count > 2 ? atoi(words[2]) : 0, wrong = 0;
    ncclUniqueId id;

    if (ranks < 1 || ranks > 8)
        return 2;
    if (!strcmp(words[1], "one-process")) {
        one_process(ranks);
        return 0;
    }
    OK(ncclGetUniqueId(&id));
    for (int rank = 0; rank < ranks; ++rank)
        if (fork() == 0) {
            run(words[1], id, rank, ranks);
            return 0;
        }
    for (int rank = 0, status; rank < ranks; ++rank)
        if (wait(&status) < 0 || (status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)))
            wrong = 1;
    return wrong;
}
