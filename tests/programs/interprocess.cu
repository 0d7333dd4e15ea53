//@ link: -lcuda
// Two processes share memory, events, a pool and unmapped memory. The child is forked before either uses CUDA.
#include "check_driver.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

const int count = 10000;
const int blocks = (count + 255) / 256;

__global__ void fill(int *data, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] = value + i;
}

__global__ void add(int *data, int count, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += value;
}

static void send_bytes(int to, const void *data, size_t size) {
    if (write(to, data, size) != ssize_t(size)) std::exit(2);
}

static void receive_bytes(int from, void *data, size_t size) {
    for (size_t got = 0; got < size;) {
        ssize_t now = read(from, static_cast<char *>(data) + got, size - got);
        if (now <= 0) std::exit(3);
        got += size_t(now);
    }
}

template <class T> static void send(int to, const T &value) { send_bytes(to, &value, sizeof(T)); }
template <class T> static T receive(int from) {
    T value;
    receive_bytes(from, &value, sizeof(T));
    return value;
}

static void send_descriptor(int to, int descriptor) {
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {};
    iovec data = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof(room);
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    if (sendmsg(to, &message, 0) != 1) std::exit(4);
}

static int receive_descriptor(int from) {
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {};
    iovec data = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof(room);
    if (recvmsg(from, &message, 0) != 1) std::exit(5);
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    return descriptor;
}

static std::vector<int> wanted(int value) {
    std::vector<int> values(count);
    for (int i = 0; i < count; ++i) values[i] = value + i;
    return values;
}

static std::vector<int> download(const int *data) {
    std::vector<int> values(count);
    CHECK(cudaMemcpy(values.data(), data, count * sizeof(int), cudaMemcpyDeviceToHost));
    return values;
}

static CUmemAllocationProp properties() {
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
}

static int *map(CUmemGenericAllocationHandle handle, size_t size) {
    CUdeviceptr address;
    DRIVER(cuMemAddressReserve(&address, size, 0, 0, 0));
    DRIVER(cuMemMap(address, size, 0, handle, 0));
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(cuMemSetAccess(address, size, &access, 1));
    return reinterpret_cast<int *>(address);
}

static int child(int parent) {
    // Memory of the parent's cudaMalloc.
    auto handle = receive<cudaIpcMemHandle_t>(parent);
    int *data, *again;
    CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void **>(&data), handle, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void **>(&again), handle, cudaIpcMemLazyEnablePeerAccess));
    EXPECT(data == again);
    compare("child sees the parent's values", download(data), wanted(100));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(data, 0, count * sizeof(int) + 1));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(data));
    cudaGetLastError();
    add<<<blocks, 256>>>(data, count, 1000);
    CHECK_KERNEL();
    send(parent, 'a');

    // The parent's record of an event orders the child's work.
    auto event_handle = receive<cudaIpcEventHandle_t>(parent);
    cudaEvent_t event;
    CHECK(cudaIpcOpenEventHandle(&event, event_handle));
    cudaStream_t stream, other;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    EXPECT_ERROR(cudaErrorNotReady, cudaEventQuery(event));
    CHECK(cudaStreamWaitEvent(stream, event, 0));
    add<<<blocks, 256, 0, stream>>>(data, count, 10);
    CHECK(cudaStreamSynchronize(other));
    EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(stream));
    send(parent, 'b');
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventQuery(event));
    compare("child's work came after the parent's", download(data), wanted(5010));
    CHECK(cudaEventRecord(event, stream));
    send(parent, 'c');
    CHECK(cudaIpcCloseMemHandle(data));
    CHECK(cudaIpcCloseMemHandle(data));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaIpcCloseMemHandle(data));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(data, 0, 4));
    CHECK(cudaEventDestroy(event));

    // A pool and its memory.
    int descriptor = receive_descriptor(parent);
    cudaMemPool_t pool;
    CHECK(cudaMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void *>(intptr_t(descriptor)),
                                               cudaMemHandleTypePosixFileDescriptor, 0));
    close(descriptor);
    auto exported = receive<cudaMemPoolPtrExportData>(parent);
    int *from_pool;
    CHECK(cudaMemPoolImportPointer(reinterpret_cast<void **>(&from_pool), pool, &exported));
    compare("child sees the pool's memory", download(from_pool), wanted(7));
    void *refused;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&refused, 4, pool, stream));
    cudaGetLastError();
    add<<<blocks, 256, 0, stream>>>(from_pool, count, 1);
    CHECK(cudaFreeAsync(from_pool, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    send(parent, 'd');

    // Unmapped memory.
    descriptor = receive_descriptor(parent);
    auto size = receive<size_t>(parent);
    CUmemGenericAllocationHandle physical;
    DRIVER(cuMemImportFromShareableHandle(&physical, reinterpret_cast<void *>(intptr_t(descriptor)),
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    int *mapped = map(physical, size);
    compare("child sees the mapped memory", download(mapped), wanted(3));
    add<<<blocks, 256>>>(mapped, count, 30);
    CHECK_KERNEL();
    send(parent, 'e');
    return finish();
}

static void parent(int child) {
    int *before, *data, *after;
    CHECK(cudaMalloc(&before, 100));
    CHECK(cudaMalloc(&data, count * sizeof(int)));
    CHECK(cudaMalloc(&after, 100));
    CHECK(cudaMemset(before, 1, 100));
    CHECK(cudaMemset(after, 2, 100));
    fill<<<blocks, 256>>>(data, count, 100);
    cudaIpcMemHandle_t handle;
    CHECK(cudaIpcGetMemHandle(&handle, data));
    void *own;
    EXPECT_ERROR(cudaErrorDeviceUninitialized, cudaIpcOpenMemHandle(&own, handle, cudaIpcMemLazyEnablePeerAccess));
    void *managed;
    CHECK(cudaMallocManaged(&managed, 100));
    cudaIpcMemHandle_t none;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaIpcGetMemHandle(&none, managed));
    compare("contents are kept", download(data), wanted(100));
    send(child, handle);
    EXPECT(receive<char>(child) == 'a');
    compare("parent sees the child's values", download(data), wanted(1100));

    cudaEvent_t event, local;
    EXPECT_ERROR(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    CHECK(cudaEventCreate(&local));
    cudaIpcEventHandle_t event_handle;
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaIpcGetEventHandle(&event_handle, local));
    CHECK(cudaIpcGetEventHandle(&event_handle, event));
    CHECK(cudaEventQuery(event));
    // The event is reached once the host has set the word, by which time the child's wait has been submitted.
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    volatile unsigned *word;
    CHECK(cudaMallocHost((void **)&word, sizeof(unsigned)));
    *word = 0;
    DRIVER(cuStreamWaitValue32(stream, CUdeviceptr(word), 1, CU_STREAM_WAIT_VALUE_EQ));
    fill<<<blocks, 256, 0, stream>>>(data, count, 5000);
    CHECK(cudaEventRecord(event, stream));
    send(child, event_handle);
    EXPECT(receive<char>(child) == 'b');
    EXPECT_ERROR(cudaErrorNotReady, cudaEventQuery(event));
    *word = 1;
    EXPECT(receive<char>(child) == 'c');
    CHECK(cudaEventSynchronize(event));
    compare("parent sees the child's record", download(data), wanted(5010));
    CHECK(cudaEventDestroy(event));
    std::vector<char> neighbour(100);
    CHECK(cudaMemcpy(neighbour.data(), before, 100, cudaMemcpyDeviceToHost));
    compare("before", neighbour, std::vector<char>(100, 1));
    CHECK(cudaMemcpy(neighbour.data(), after, 100, cudaMemcpyDeviceToHost));
    compare("after", neighbour, std::vector<char>(100, 2));
    CHECK(cudaFree(data));

    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &props));
    int descriptor;
    cudaMemPool_t usual;
    CHECK(cudaDeviceGetDefaultMemPool(&usual, 0));
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemPoolExportToShareableHandle(
        &descriptor, usual, cudaMemHandleTypePosixFileDescriptor, 0));
    cudaGetLastError();
    CHECK(cudaMemPoolExportToShareableHandle(&descriptor, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    int *from_pool;
    CHECK(cudaMallocFromPoolAsync(&from_pool, count * sizeof(int), pool, stream));
    fill<<<blocks, 256, 0, stream>>>(from_pool, count, 7);
    cudaMemPoolPtrExportData exported;
    CHECK(cudaMemPoolExportPointer(&exported, from_pool));
    send_descriptor(child, descriptor);
    close(descriptor);
    CHECK(cudaStreamSynchronize(stream));
    send(child, exported);
    EXPECT(receive<char>(child) == 'd');
    compare("parent sees the pool's memory", download(from_pool), wanted(8));
    CHECK(cudaFreeAsync(from_pool, stream));
    CHECK(cudaMemPoolDestroy(pool));

    CUmemAllocationProp prop = properties();
    size_t size = 0;
    DRIVER(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUmemGenericAllocationHandle physical;
    DRIVER(cuMemCreate(&physical, size, &prop, 0));
    int *mapped = map(physical, size);
    fill<<<blocks, 256>>>(mapped, count, 3);
    CHECK_KERNEL();
    DRIVER(cuMemExportToShareableHandle(&descriptor, physical, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_descriptor(child, descriptor);
    close(descriptor);
    send(child, size);
    EXPECT(receive<char>(child) == 'e');
    compare("parent sees the mapped memory", download(mapped), wanted(33));
}

int main() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        return child(ends[1]);
    }
    close(ends[1]);
    parent(ends[0]);
    int status = 0;
    waitpid(process, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return finish();
}
