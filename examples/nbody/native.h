#pragma once

// Position and mass of a body, and an acceleration, each with four floats for aligned access.
struct Body {
    float x, y, z, mass;
};

// Acceleration of each body by the gravity of all.
void accelerations_native(int count, const Body *bodies, Body *accelerations);
