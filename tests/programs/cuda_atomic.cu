// cuda::atomic and cuda::atomic_ref of all sizes, scopes and orders: fetch operations, exchange,
// compare-and-exchange loops, wait and notify, messages between blocks, semaphores and latches.
#include "check.h"

#include <cuda/atomic>
#include <cuda/latch>
#include <cuda/semaphore>

#include <algorithm>

static const int threads = 128, blocks = 8, count_of_threads = threads * blocks;

struct Counters {
    cuda::atomic<int, cuda::thread_scope_device> sum, difference, all_bits, any_bits, parity, largest, smallest;
    cuda::atomic<unsigned long long, cuda::thread_scope_system> wide;
    cuda::atomic<double, cuda::thread_scope_device> real;
    cuda::atomic<unsigned char, cuda::thread_scope_device> byte;
    cuda::atomic<short, cuda::thread_scope_device> half_word;
    cuda::atomic<unsigned, cuda::thread_scope_device> product;
};

__global__ void count(Counters *counters, unsigned *tickets) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    counters->sum.fetch_add(i, cuda::std::memory_order_relaxed);
    counters->difference -= i;
    counters->all_bits.fetch_and(~(1 << i % 20), cuda::std::memory_order_acquire);
    counters->any_bits.fetch_or(1 << i % 25, cuda::std::memory_order_release);
    counters->parity.fetch_xor(i * 77, cuda::std::memory_order_acq_rel);
    counters->largest.fetch_max(i * 13 % 1009, cuda::std::memory_order_seq_cst);
    counters->smallest.fetch_min(-(i * 17 % 1013));
    counters->real.fetch_add(0.5 * i);
    counters->byte.fetch_add(3, cuda::std::memory_order_relaxed);
    counters->half_word.fetch_sub(5);
    unsigned old = counters->product.load(cuda::std::memory_order_relaxed);
    while (!counters->product.compare_exchange_weak(old, old * (2 * i + 1), cuda::std::memory_order_acq_rel)) {
    }
    unsigned long long ticket = counters->wide++;
    tickets[ticket] = i;
}

static void test_counters() {
    DeviceArray<Counters> counters(1);
    DeviceArray<unsigned> tickets(count_of_threads);
    counters.fill(0), tickets.fill(0xff);
    int full = 0xfffff;
    unsigned one = 1;
    CHECK(cudaMemcpy(&counters.get()->all_bits, &full, sizeof full, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(&counters.get()->product, &one, sizeof one, cudaMemcpyHostToDevice));
    count<<<blocks, threads>>>(counters, tickets);
    CHECK_KERNEL();
    int sum = 0, parity = 0, largest = 0, smallest = 0;
    unsigned product = 1;
    for (int i = 0; i < count_of_threads; ++i) {
        sum += i, parity ^= i * 77, product *= 2 * i + 1;
        largest = std::max(largest, i * 13 % 1009), smallest = std::min(smallest, -(i * 17 % 1013));
    }
    Counters *got;
    CHECK(cudaMallocHost(&got, sizeof *got));
    CHECK(cudaMemcpy((void *)got, counters.get(), sizeof *got, cudaMemcpyDeviceToHost));
    EXPECT(got->sum == sum && got->difference == -sum);
    EXPECT(got->all_bits == 0 && got->any_bits == (1 << 25) - 1);
    EXPECT(got->parity == parity && got->product == product);
    EXPECT(got->largest == largest && got->smallest == smallest);
    EXPECT(got->wide == count_of_threads && got->real == 0.5 * sum);
    EXPECT(got->byte == (unsigned char)(3 * count_of_threads) && got->half_word == (short)(-5 * count_of_threads));
    CHECK(cudaFreeHost(got));
    std::vector<unsigned> taken = tickets.download();
    std::sort(taken.begin(), taken.end());
    for (int i = 0; i < count_of_threads; ++i) EXPECT(taken[i] == unsigned(i));
}

// References to ordinary memory: in shared memory with block scope, then across blocks.
__global__ void histogram(const int *values, int *bins, float *total) {
    __shared__ int local[16];
    if (threadIdx.x < 16) local[threadIdx.x] = 0;
    __syncthreads();
    int value = values[blockIdx.x * blockDim.x + threadIdx.x];
    cuda::atomic_ref<int, cuda::thread_scope_block>(local[value % 16]).fetch_add(1, cuda::std::memory_order_relaxed);
    __syncthreads();
    if (threadIdx.x < 16)
        cuda::atomic_ref<int, cuda::thread_scope_device>(bins[threadIdx.x]).fetch_add(local[threadIdx.x]);
    cuda::atomic_ref<float, cuda::thread_scope_system>(*total).fetch_add(float(value), cuda::std::memory_order_relaxed);
}

static void test_references() {
    std::vector<int> values = random_values<int>(count_of_threads, 0, 1000), wanted(16);
    float sum = 0;
    for (int value : values) ++wanted[value % 16], sum += value;
    DeviceArray<int> in(values), bins(16);
    DeviceArray<float> total(1);
    bins.fill(0), total.fill(0);
    histogram<<<blocks, threads>>>(in, bins, total);
    CHECK_KERNEL();
    compare("histogram", bins.download(), wanted);
    EXPECT(total.download()[0] == sum);
}

using Flag = cuda::atomic<int, cuda::thread_scope_device>;

// Each block waits for its predecessor's number, and passes on the predecessor's value plus its own.
__global__ void relay(Flag *turn, int *sums) {
    if (threadIdx.x != 0) return;
    int block = blockIdx.x;
    for (int now = turn->load(cuda::std::memory_order_acquire); now != block; now = turn->load(cuda::std::memory_order_acquire))
        turn->wait(now, cuda::std::memory_order_acquire);
    sums[block] = (block == 0 ? 0 : sums[block - 1]) + block + 1;
    turn->store(block + 1, cuda::std::memory_order_release);
    turn->notify_all();
}

// One flag with fences only.
__global__ void publish(int *data, int *flag, int *seen) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = 1000 + threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) {
            cuda::atomic_thread_fence(cuda::std::memory_order_release, cuda::thread_scope_device);
            cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).store(1, cuda::std::memory_order_relaxed);
        }
    } else {
        if (threadIdx.x == 0) {
            while (cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).load(cuda::std::memory_order_relaxed) == 0) __nanosleep(50);
            cuda::atomic_thread_fence(cuda::std::memory_order_acquire, cuda::thread_scope_device);
        }
        __syncthreads();
        seen[threadIdx.x] = data[threadIdx.x];
    }
}

static void test_messages() {
    DeviceArray<Flag> turn(1);
    DeviceArray<int> sums(blocks);
    turn.fill(0);
    relay<<<blocks, 32>>>(turn, sums);
    CHECK_KERNEL();
    std::vector<int> wanted;
    for (int i = 0; i < blocks; ++i) wanted.push_back((i + 1) * (i + 2) / 2);
    compare("relay", sums.download(), wanted);

    DeviceArray<int> data(threads), flag(1), seen(threads);
    flag.fill(0);
    publish<<<2, threads>>>(data, flag, seen);
    CHECK_KERNEL();
    wanted.clear();
    for (int i = 0; i < threads; ++i) wanted.push_back(1000 + i);
    compare("published", seen.download(), wanted);
}

// At most three threads at a time are between acquire and release; a latch holds all threads until all have arrived.
__global__ void guarded(int *inside, int *most, int *after) {
    using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 3>;
    using Latch = cuda::latch<cuda::thread_scope_block>;
    __shared__ alignas(Semaphore) unsigned char semaphore[sizeof(Semaphore)];
    __shared__ alignas(Latch) unsigned char latch[sizeof(Latch)];
    Semaphore &places = *reinterpret_cast<Semaphore *>(semaphore);
    Latch &done = *reinterpret_cast<Latch *>(latch);
    if (threadIdx.x == 0) {
        new (&places) Semaphore(3);
        new (&done) Latch(blockDim.x);
    }
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_block> here(*inside), maximum(*most), finished(after[blockDim.x]);
    places.acquire();
    maximum.fetch_max(here.fetch_add(1) + 1);
    here.fetch_sub(1);
    places.release();
    finished.fetch_add(1);
    done.arrive_and_wait();
    after[threadIdx.x] = finished.load();
}

static void test_semaphores() {
    DeviceArray<int> inside(1), most(1), after(65);
    inside.fill(0), most.fill(0), after.fill(0);
    guarded<<<1, 64>>>(inside, most, after);
    CHECK_KERNEL();
    EXPECT(inside.download()[0] == 0);
    EXPECT(most.download()[0] >= 1 && most.download()[0] <= 3);
    compare("after the latch", after.download(), std::vector<int>(65, 64));
}

int main() {
    test_counters();
    test_references();
    test_messages();
    test_semaphores();
    return finish();
}
