//@ mistakes: CTAs race for words, bytes and tickets; each kernel's checks hold for every order
// CTAs race in global memory: results depend on the order of stores and atomics.
// The program checks order-independent facts and prints a digest of the rest.
#include "check.h"

const int CTAS = 96, THREADS = 64, ITEMS = 4096, WORDS = 256;

// Threads draw items and mix values that other threads may or may not have written.
__global__ void draw_items(unsigned *next, unsigned *results, unsigned *owners) {
    for (;;) {
        unsigned item = atomicAdd(next, 1);
        if (item >= ITEMS) return;
        unsigned value = blockIdx.x * 2654435761u + threadIdx.x;
        for (unsigned step = 0; step < item % 5 * 4; ++step) value = value * 69069 + results[(value >> 7) % ITEMS];
        results[item] = value;
        owners[item] += 1 + blockIdx.x;
    }
}

// All threads write a few words, bytes and quads, each after an individual delay.
__global__ void write_last(unsigned *words, unsigned char *bytes, uint4 *quads) {
    unsigned number = blockIdx.x * THREADS + threadIdx.x;
    for (unsigned round = 0; round < 4; ++round) {
        __nanosleep(number * 37 % 101);
        words[(number + round) % WORDS] = number;
        bytes[number * 5 % 97] = (unsigned char)(number + round);
        quads[number % 13] = make_uint4(number, number + 1, number + 2, number + 3);
    }
}

// Each thread reads a counter after adding to it, while others also add.
__global__ void count_and_read(unsigned *counters, unsigned *seen) {
    unsigned number = blockIdx.x * THREADS + threadIdx.x, sum = 0;
    for (unsigned round = 0; round < 4; ++round) {
        unsigned *counter = &counters[(number + round) % 7];
        atomicAdd(counter, 1u);
        sum = sum * 31 + *counter;
    }
    seen[number] = sum;
}

// A private word of the thread: atomic, store and load take effect in program order.
__global__ void own_words(unsigned *words, unsigned *wrong) {
    unsigned number = blockIdx.x * THREADS + threadIdx.x;
    unsigned *word = &words[number];
    *word = 5;
    atomicAdd(word, 2u);
    unsigned first = *word;
    *word = first * 10;
    unsigned old = atomicExch(word, 4u);
    *word += 1;
    atomicAdd(word, 1u);
    if (first != 7 || old != 70 || *word != 6) atomicAdd(wrong, 1u);
}

// Threads of a CTA read their neighbours' stores of all widths.
__global__ void exchange(unsigned long long *longs, unsigned short *shorts, unsigned *wrong) {
    unsigned base = blockIdx.x * THREADS, own = base + threadIdx.x, other = base + (threadIdx.x * 7 + 3) % THREADS;
    for (unsigned round = 0; round < 3; ++round) {
        longs[own] = own * 3ull + round;
        shorts[own] = (unsigned short)(own + round);
        __syncthreads();
        if (longs[other] != other * 3ull + round || shorts[other] != (unsigned short)(other + round)) atomicAdd(wrong, 1u);
        __syncthreads();
    }
}

// Each CTA waits for its predecessor and passes the data on.
__global__ void pass_on(unsigned *data, volatile unsigned *flags, unsigned *wrong) {
    if (threadIdx.x == 0 && blockIdx.x > 0) {
        while (flags[blockIdx.x - 1] == 0) {}
        __threadfence();
    }
    __syncthreads();
    unsigned before = blockIdx.x == 0 ? 0 : data[(blockIdx.x - 1) * THREADS + threadIdx.x];
    if (before != blockIdx.x * 3) atomicAdd(wrong, 1u);
    data[blockIdx.x * THREADS + threadIdx.x] = before + 3;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) flags[blockIdx.x] = 1;
}

// Device heap memory passes from CTA to CTA.
__global__ void take_memory(unsigned **blocks, unsigned *sizes) {
    unsigned number = blockIdx.x;
    unsigned *block = (unsigned *)malloc(64 + number % 5 * 32);
    if (block) block[0] = number;
    unsigned *other = (unsigned *)atomicExch((unsigned long long *)&blocks[number % 8], (unsigned long long)block);
    sizes[number] = other ? other[0] : ~0u;
    free(other);
}

static unsigned digest(const std::vector<unsigned> &values) {
    unsigned digest = 0;
    for (unsigned value : values) digest = digest * 31 + value;
    return digest;
}

int main() {
    const int all = CTAS * THREADS;
    DeviceArray<unsigned> counters(16), results(ITEMS), owners(ITEMS), words(all), seen(all), wrong(1), flags(CTAS);
    for (auto *array : {&counters, &results, &owners, &words, &seen, &wrong, &flags}) array->fill(0);

    draw_items<<<CTAS, THREADS>>>(counters, results, owners);
    CHECK_KERNEL();
    std::printf("items %08x %08x\n", digest(results.download()), digest(owners.download()));
    int drawn = 0;
    for (unsigned owner : owners.download()) drawn += owner >= 1 && owner <= CTAS;
    EXPECT(drawn == ITEMS);

    DeviceArray<unsigned char> bytes(97);
    DeviceArray<unsigned> quads(4 * 13);
    write_last<<<CTAS, THREADS>>>(words, bytes, (uint4 *)quads.get());
    CHECK_KERNEL();
    std::vector<unsigned> last_bytes;
    for (unsigned char byte : bytes.download()) last_bytes.push_back(byte);
    std::printf("last %08x %08x %08x\n", digest(words.download()), digest(last_bytes), digest(quads.download()));
    std::vector<unsigned> quad = quads.download();
    for (int i = 0; i < 13; ++i) EXPECT(quad[4 * i] % 13 == unsigned(i));

    counters.fill(0);
    count_and_read<<<CTAS, THREADS>>>(counters, seen);
    CHECK_KERNEL();
    std::printf("seen %08x\n", digest(seen.download()));
    unsigned total = 0;
    for (unsigned counter : counters.download()) total += counter;
    EXPECT(total == 4 * all);

    own_words<<<CTAS, THREADS>>>(words, wrong);
    CHECK_KERNEL();
    EXPECT(wrong.download()[0] == 0);

    DeviceArray<unsigned long long> longs(all);
    DeviceArray<unsigned short> shorts(all);
    exchange<<<CTAS, THREADS>>>(longs, shorts, wrong);
    CHECK_KERNEL();
    EXPECT(wrong.download()[0] == 0);

    pass_on<<<CTAS, THREADS>>>(words, flags, wrong);
    CHECK_KERNEL();
    EXPECT(wrong.download()[0] == 0);

    DeviceArray<unsigned *> blocks(8);
    blocks.fill(0);
    take_memory<<<CTAS, 1>>>(blocks, seen);
    CHECK_KERNEL();
    std::printf("blocks %08x\n", digest(seen.download()));
    return finish();
}
