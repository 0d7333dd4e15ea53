// Loads through the read-only path and loads and stores with every cache operator, scalar and vector.
#include "check.h"

template <class T>
__global__ void load_all_ways(const T *__restrict__ in, T *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[5 * i] = __ldg(in + i);
    out[5 * i + 1] = __ldcg(in + i);
    out[5 * i + 2] = __ldca(in + i);
    out[5 * i + 3] = __ldcs(in + i);
    out[5 * i + 4] = __ldcv(in + i);
}

template <class T>
__global__ void store_all_ways(const T *__restrict__ in, T *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    T value = in[i];
    __stwb(out + 4 * i, value);
    __stcg(out + 4 * i + 1, value);
    __stcs(out + 4 * i + 2, value);
    __stwt(out + 4 * i + 3, value);
}

// `T` is compared word by word.
template <class T, class Word>
void check_type(const char *what, int count) {
    const int words = sizeof(T) / sizeof(Word);
    std::vector<Word> values = random_values<Word>(count * words, 0, 100), loaded, stored;
    for (int i = 0; i < count; ++i)
        for (int copy = 0; copy < 9; ++copy)
            (copy < 5 ? loaded : stored).insert((copy < 5 ? loaded : stored).end(), &values[i * words], &values[i * words] + words);
    DeviceArray<Word> in(values), out(values.size() * 5), out4(values.size() * 4);
    load_all_ways<<<(count + 63) / 64, 64>>>((const T *)in.get(), (T *)out.get(), count);
    store_all_ways<<<(count + 63) / 64, 64>>>((const T *)in.get(), (T *)out4.get(), count);
    CHECK_KERNEL();
    compare(what, out.download(), loaded);
    compare(what, out4.download(), stored);
}

int main() {
    check_type<char, char>("char", 500);
    check_type<short, short>("short", 500);
    check_type<int, int>("int", 500);
    check_type<long long, long long>("long long", 500);
    check_type<float, float>("float", 500);
    check_type<double, double>("double", 500);
    check_type<uchar4, unsigned char>("uchar4", 500);
    check_type<short2, short>("short2", 500);
    check_type<float2, float>("float2", 500);
    check_type<int4, int>("int4", 500);
    check_type<float4, float>("float4", 500);
    check_type<double2, double>("double2", 500);
    return finish();
}
