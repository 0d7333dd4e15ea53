// Boost's streams on paths, in terms of those of C++17.
#pragma once

#include "boost/filesystem/operations.hpp"
#include <fstream>
