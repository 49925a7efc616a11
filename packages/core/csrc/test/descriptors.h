/* How many descriptors this process has open: what tests find back at the end. */
#ifndef TENON_TEST_DESCRIPTORS_H
#define TENON_TEST_DESCRIPTORS_H

#include <fcntl.h>
#include <unistd.h>

static int open_descriptors(void) {
  int total = 0;
  for (int i = 0; i < 256; i++) total += fcntl(i, F_GETFD) >= 0;
  return total;
}

/* Whether this process comes to have that many: some are closed on other threads. */
static int comes_to(int expected) {
  for (int i = 0; i < 5000 && open_descriptors() != expected; i++) usleep(1000);
  return open_descriptors() == expected;
}

#endif
