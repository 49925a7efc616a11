// A function that throws, for runner.c.
#include <stdexcept>

extern "C" void fuzz_throw(void (*before)()) {
  before();
  throw std::runtime_error("thrown by the target");
}
