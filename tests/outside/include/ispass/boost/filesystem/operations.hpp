// Boost's paths and file sizes, in terms of those of C++17.
#pragma once

#include <cstdint>
#include <filesystem>

namespace boost {
namespace filesystem = std::filesystem;
using std::intmax_t;
} // namespace boost
