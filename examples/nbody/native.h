#pragma once

// Position and mass of a body, or an acceleration, as four floats for aligned access.
struct Body {
    float x, y, z, mass;
};

// Computes the gravitational acceleration of each body by all others.
void accelerations_native(int count, const Body *bodies, Body *accelerations);
