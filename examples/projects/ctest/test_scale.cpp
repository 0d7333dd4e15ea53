#include "scale.h"

#include <cstdio>
#include <cstdlib>

// Scales as many values as the argument says, and compares each with the host's product.
int main(int, char **arguments) {
  std::vector<float> values(std::atoi(arguments[1]));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  scale(values, 0.5f);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0.5f * static_cast<float>(i)) {
      std::printf("value %zu is %g\n", i, values[i]);
      return 1;
    }
  }
  std::printf("%zu values are right\n", values.size());
}
