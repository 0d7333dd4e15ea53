// Attributes of memory: advice and prefetches of managed ranges, locations of
// their parts, pools by location, and queries that only special arrays support.
#include "check.h"

static int range_value(cudaMemRangeAttribute attribute, const void *data, size_t size) {
    int value = -77;
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value, attribute, data, size));
    return value;
}

int main() {
    const size_t page = 64 << 10, size = 8 * page;
    const cudaMemLocation device = {cudaMemLocationTypeDevice, {0}}, host = {cudaMemLocationTypeHost, {0}};
    char *data;
    CHECK(cudaMallocManaged(&data, size));

    EXPECT(range_value(cudaMemRangeAttributeReadMostly, data, size) == 0);
    EXPECT(range_value(cudaMemRangeAttributePreferredLocation, data, size) == cudaInvalidDeviceId);
    EXPECT(range_value(cudaMemRangeAttributeLastPrefetchLocation, data, size) == cudaInvalidDeviceId);

    // A range has an attribute only if all of it has.
    CHECK(cudaMemAdvise(data, size / 2, cudaMemAdviseSetReadMostly, device));
    EXPECT(range_value(cudaMemRangeAttributeReadMostly, data, size / 2) == 1);
    EXPECT(range_value(cudaMemRangeAttributeReadMostly, data, size) == 0);
    CHECK(cudaMemAdvise(data + page, page, cudaMemAdviseUnsetReadMostly, device));
    EXPECT(range_value(cudaMemRangeAttributeReadMostly, data, page) == 1);
    EXPECT(range_value(cudaMemRangeAttributeReadMostly, data, size / 2) == 0);

    CHECK(cudaMemAdvise(data, size, cudaMemAdviseSetPreferredLocation, host));
    EXPECT(range_value(cudaMemRangeAttributePreferredLocation, data, size) == cudaCpuDeviceId);
    EXPECT(range_value(cudaMemRangeAttributePreferredLocationType, data, size) == cudaMemLocationTypeHost);
    CHECK(cudaMemAdvise(data, page, cudaMemAdviseSetPreferredLocation, device));
    EXPECT(range_value(cudaMemRangeAttributePreferredLocation, data, page) == 0);
    EXPECT(range_value(cudaMemRangeAttributePreferredLocation, data, size) == cudaInvalidDeviceId);
    CHECK(cudaMemAdvise(data, size, cudaMemAdviseUnsetPreferredLocation, device));
    EXPECT(range_value(cudaMemRangeAttributePreferredLocation, data, page) == cudaInvalidDeviceId);

    CHECK(cudaMemAdvise(data, size, cudaMemAdviseSetAccessedBy, host));
    CHECK(cudaMemAdvise(data, page, cudaMemAdviseSetAccessedBy, device));
    int accessed[3];
    CHECK(cudaMemRangeGetAttribute(accessed, sizeof accessed, cudaMemRangeAttributeAccessedBy, data, page));
    EXPECT(accessed[0] == 0 && accessed[1] == cudaCpuDeviceId && accessed[2] == cudaInvalidDeviceId);
    CHECK(cudaMemRangeGetAttribute(accessed, sizeof accessed, cudaMemRangeAttributeAccessedBy, data, size));
    EXPECT(accessed[0] == cudaCpuDeviceId && accessed[1] == cudaInvalidDeviceId);

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemPrefetchAsync(data, size, device, 0, stream));
    EXPECT(range_value(cudaMemRangeAttributeLastPrefetchLocation, data, size) == 0);
    void *ranges[] = {data, data + 4 * page, data + 6 * page};
    size_t sizes[] = {page, page, page}, first[] = {0, 2};
    cudaMemLocation places[] = {host, device};
    CHECK(cudaMemPrefetchBatchAsync(ranges, sizes, 3, places, first, 2, 0, stream));
    EXPECT(range_value(cudaMemRangeAttributeLastPrefetchLocation, data, page) == cudaCpuDeviceId);
    EXPECT(range_value(cudaMemRangeAttributeLastPrefetchLocation, data + 4 * page, page) == cudaCpuDeviceId);
    EXPECT(range_value(cudaMemRangeAttributeLastPrefetchLocation, data + 6 * page, page) == 0);
    EXPECT(range_value(cudaMemRangeAttributeLastPrefetchLocation, data, size) == cudaInvalidDeviceId);
    cudaMemLocation parts[4];
    CHECK(cudaMemGetLocationInfo(data, 4 * page, page, 0, parts));
    EXPECT(parts[0].type == cudaMemLocationTypeHost && parts[1].type == cudaMemLocationTypeDevice);
    CHECK(cudaMemDiscardBatchAsync(ranges, sizes, 3, 0, stream));
    CHECK(cudaMemDiscardAndPrefetchBatchAsync(ranges, sizes, 3, places, first, 1, 0, stream));
    EXPECT(range_value(cudaMemRangeAttributeLastPrefetchLocation, data + 6 * page, page) == cudaCpuDeviceId);

    // Several attributes at once.
    int read_mostly, preferred;
    void *values[] = {&read_mostly, &preferred};
    size_t bytes[] = {4, 4};
    cudaMemRangeAttribute attributes[] = {cudaMemRangeAttributeReadMostly, cudaMemRangeAttributePreferredLocation};
    CHECK(cudaMemRangeGetAttributes(values, bytes, attributes, 2, data, page));
    EXPECT(read_mostly == 1 && preferred == cudaInvalidDeviceId);

    // A new allocation at the same address does not inherit attributes.
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(data));
    CHECK(cudaMallocManaged(&data, size));
    EXPECT(range_value(cudaMemRangeAttributeReadMostly, data, page) == 0);

    // Errors.
    DeviceArray<int> plain(100);
    int value;
    const auto wrong = cudaErrorInvalidValue;
    EXPECT_ERROR(wrong, cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, plain, 4));
    EXPECT_ERROR(wrong, cudaMemRangeGetAttribute(&value, 8, cudaMemRangeAttributeReadMostly, data, 4));
    EXPECT_ERROR(wrong, cudaMemRangeGetAttribute(&value, 3, cudaMemRangeAttributeAccessedBy, data, 4));
    EXPECT_ERROR(wrong, cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, data, 0));
    EXPECT_ERROR(wrong, cudaMemAdvise(plain, 4, cudaMemAdviseSetReadMostly, device));
    EXPECT_ERROR(wrong, cudaMemAdvise(data, 4, cudaMemoryAdvise(9), device));
    EXPECT_ERROR(wrong, cudaMemAdvise(data, size + 1, cudaMemAdviseSetReadMostly, device));
    const cudaMemLocation none = {cudaMemLocationTypeDevice, {99}};
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaMemAdvise(data, 4, cudaMemAdviseSetPreferredLocation, none));
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaMemPrefetchAsync(data, 4, none, 0, stream));
    EXPECT_ERROR(wrong, cudaMemPrefetchBatchAsync(ranges, sizes, 3, places, first, 2, 0, nullptr));
    first[0] = 1;
    EXPECT_ERROR(wrong, cudaMemPrefetchBatchAsync(ranges, sizes, 3, places, first, 2, 0, stream));
    EXPECT_ERROR(wrong, cudaMemGetLocationInfo(data, page, 2 * page, 0, parts));

    // Pools by location.
    cudaMemPool_t usual, current, own;
    cudaMemLocation where = device;
    CHECK(cudaMemGetDefaultMemPool(&usual, &where, cudaMemAllocationTypePinned));
    CHECK(cudaMemGetMemPool(&current, &where, cudaMemAllocationTypePinned));
    EXPECT(usual == current);
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location = device;
    CHECK(cudaMemPoolCreate(&own, &props));
    CHECK(cudaMemSetMemPool(&where, cudaMemAllocationTypePinned, own));
    CHECK(cudaDeviceGetMemPool(&current, 0));
    EXPECT(own == current);
    CHECK(cudaMemSetMemPool(&where, cudaMemAllocationTypePinned, usual));
    CHECK(cudaMemPoolDestroy(own));
    EXPECT_ERROR(wrong, cudaMemGetMemPool(&current, &where, cudaMemAllocationTypeInvalid));

    // A pool of managed memory, which the host can access.
    cudaMemLocation anywhere = {cudaMemLocationTypeNone, {0}};
    CHECK(cudaMemGetMemPool(&current, &anywhere, cudaMemAllocationTypeManaged));
    EXPECT(usual != current);
    int *shared;
    cudaPointerAttributes of_shared;
    CHECK(cudaMallocFromPoolAsync((void **)&shared, 4 * sizeof(int), current, stream));
    CHECK(cudaPointerGetAttributes(&of_shared, shared));
    EXPECT(of_shared.type == cudaMemoryTypeManaged);
    CHECK(cudaMemsetAsync(shared, 1, 4 * sizeof(int), stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(shared[3] == 0x01010101);
    CHECK(cudaFreeAsync(shared, stream));
    props.allocType = cudaMemAllocationTypeManaged;
    CHECK(cudaMemPoolCreate(&own, &props));
    EXPECT_ERROR(wrong, cudaMemSetMemPool(&where, cudaMemAllocationTypePinned, own));
    CHECK(cudaMemSetMemPool(&where, cudaMemAllocationTypeManaged, own));
    CHECK(cudaMemPoolDestroy(own));

    // An ordinary array has no planes and no tiles, and has memory from its creation on.
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array, plane;
    CHECK(cudaMallocArray(&array, &format, 64, 64));
    cudaArrayMemoryRequirements requirements;
    cudaArraySparseProperties sparse;
    EXPECT_ERROR(wrong, cudaArrayGetMemoryRequirements(&requirements, array, 0));
    EXPECT_ERROR(wrong, cudaArrayGetSparseProperties(&sparse, array));
    EXPECT_ERROR(wrong, cudaArrayGetPlane(&plane, array, 0));
    CHECK(cudaFreeArray(array));
    size_t width = 0;
    CHECK(cudaDeviceGetTexture1DLinearMaxWidth(&width, &format, 0));
    int limit = 0;
    CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxTexture1DLinearWidth, 0));
    EXPECT(width >= size_t(1) << 27 && width <= size_t(limit));
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
    return finish();
}
