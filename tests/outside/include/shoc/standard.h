// Headers and names that SHOC's Utility.h takes for granted.
#pragma once

#include <assert.h>
#include <string>
#include <vector>

using namespace std;
