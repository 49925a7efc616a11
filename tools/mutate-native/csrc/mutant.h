/* Included by each file that has mutants. TENON_MUTANT is the number of the mutant that the process has, and TENON_MUTANTS_RUN a file that
 * gets a 1 at the number of each mutant whose code runs. Definitions are weak, so that each library and program has one of each. */
#ifndef TENON_MUTANT_H
#define TENON_MUTANT_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TN__WEAK __attribute__((weak, visibility("hidden")))

TN__WEAK volatile int tn__mutant;
TN__WEAK volatile unsigned char *tn__mutants_run;

TN__WEAK __attribute__((constructor(101))) void tn__mutant_read(void) {
  struct stat status;
  const char *number = getenv("TENON_MUTANT"), *path = getenv("TENON_MUTANTS_RUN");
  if (number != NULL) tn__mutant = atoi(number);
  if (path == NULL || tn__mutants_run != NULL) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0 || fstat(file, &status) != 0) return;
  void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (bytes != MAP_FAILED) tn__mutants_run = (unsigned char *)bytes;
}

static inline int tn__mutated(int number) {
  if (tn__mutants_run != NULL) tn__mutants_run[number] = 1;
  return tn__mutant == number;
}

#endif
