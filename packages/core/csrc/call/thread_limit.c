#include "thread_limit.h"

#define FEWEST_THREADS 4

static size_t limit_of(size_t processors) {
  if (processors < FEWEST_THREADS) return FEWEST_THREADS;
  return processors > TN__MOST_THREADS ? TN__MOST_THREADS : processors;
}

size_t tn__thread_limit(const char *text, size_t processors) {
  if (text == NULL || *text == '\0') return limit_of(processors);
  size_t value = 0;
  for (; *text != '\0'; text++) {
    if (*text < '0' || *text > '9') return 0;
    value = value * 10 + (size_t)(*text - '0');
    if (value > TN__MOST_THREADS) return 0;
  }
  return value;
}
