// Objects with virtual functions, created and used on the device; a warp holds objects of several classes.
#include "check.h"

class Shape {
public:
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const { return 4; }
};

class Rectangle : public Shape {
public:
    __device__ Rectangle(float width, float height) : width_(width), height_(height) {}
    __device__ float area() const override { return width_ * height_; }

protected:
    float width_, height_;
};

class Triangle : public Rectangle {
public:
    __device__ Triangle(float width, float height) : Rectangle(width, height) {}
    __device__ float area() const override { return 0.5f * Rectangle::area(); }
    __device__ int corners() const override { return 3; }
};

class Disc : public Shape {
public:
    __device__ explicit Disc(float radius) : radius_(radius) {}
    __device__ float area() const override { return 3.0f * radius_ * radius_; }  // in round numbers
    __device__ int corners() const override { return 0; }

private:
    float radius_;
};

__global__ void make(Shape **shapes, const int *kinds, const float *sizes, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    switch (kinds[i]) {
    case 0: shapes[i] = new Rectangle(sizes[i], 2); break;
    case 1: shapes[i] = new Triangle(sizes[i], 4); break;
    default: shapes[i] = new Disc(sizes[i]);
    }
}

__global__ void measure(Shape **shapes, float *areas, int *corners, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    areas[i] = shapes[i]->area();
    corners[i] = shapes[i]->corners();
    delete shapes[i];
}

int main() {
    const int count = 500;
    std::vector<int> kinds = random_values<int>(count, 0, 2), wanted_corners(count);
    std::vector<float> sizes = random_values<float>(count, 1, 10), wanted(count);
    for (int i = 0; i < count; ++i) {
        wanted[i] = kinds[i] == 0 ? sizes[i] * 2 : kinds[i] == 1 ? sizes[i] * 4 * 0.5f : 3.0f * sizes[i] * sizes[i];
        wanted_corners[i] = kinds[i] == 0 ? 4 : kinds[i] == 1 ? 3 : 0;
    }
    DeviceArray<int> device_kinds(kinds), corners(count);
    DeviceArray<float> device_sizes(sizes), areas(count);
    DeviceArray<Shape *> shapes(count);
    make<<<4, 128>>>(shapes, device_kinds, device_sizes, count);
    measure<<<4, 128>>>(shapes, areas, corners, count);
    CHECK_KERNEL();
    compare("areas", areas.download(), wanted, 1e-6);
    compare("corners", corners.download(), wanted_corners);
    return finish();
}
