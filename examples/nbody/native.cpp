#include "native.h"

#include <cmath>

void accelerations_native(int count, const Body *bodies, Body *accelerations) {
    for (int i = 0; i < count; ++i) {
        float ax = 0, ay = 0, az = 0;
        for (int j = 0; j < count; ++j) {
            float dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y, dz = bodies[j].z - bodies[i].z;
            float inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01f);
            float pull = bodies[j].mass * inverse * inverse * inverse;
            ax += dx * pull, ay += dy * pull, az += dz * pull;
        }
        accelerations[i] = {ax, ay, az, 0};
    }
}
