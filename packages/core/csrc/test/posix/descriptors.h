/* Returns how many descriptors this process has open, so that tests find leaks. */
#ifndef TENON_TEST_DESCRIPTORS_H
#define TENON_TEST_DESCRIPTORS_H

#include <fcntl.h>
#include <unistd.h>

static int open_descriptors(void) {
  int total = 0;
  for (int i = 0; i < 256; i++) total += fcntl(i, F_GETFD) >= 0;
  return total;
}

/* Waits until this process has so many descriptors, because other threads close some. Returns whether it has. */
static int comes_to(int expected) {
  for (int i = 0; i < 5000 && open_descriptors() != expected; i++) usleep(1000);
  return open_descriptors() == expected;
}

#endif
