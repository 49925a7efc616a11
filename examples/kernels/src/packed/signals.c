/* A library that installs its own handler of SIGSEGV when it is loaded, as some builds of tvm-ffi do. */
#include <signal.h>
#include <stdlib.h>

static void handle(int number) {
  (void)number;
  _Exit(99);
}

__attribute__((constructor)) static void install(void) { signal(SIGSEGV, handle); }
