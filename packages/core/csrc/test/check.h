/* The test framework of the core. A file of tests includes this header and contains
 *
 *   TEST(memory_is_zeroed) {
 *     ...
 *     CHECK(block[0] == 0);
 *   }
 *
 * Tests register themselves and run on one thread, but a CHECK on another thread may fail the running test. */
#ifndef TENON_CHECK_H
#define TENON_CHECK_H

#include <stdio.h>

typedef struct check_test {
  const char *name;
  const char *file; /* the source, as the compiler knows it */
  void (*body)(void);
  struct check_test *next;
} check_test_t;

/* Appends a test, which must never be freed, to the list. */
void check_register(check_test_t *test);

#if defined(__MINGW_PRINTF_FORMAT)
#define CHECK_FORMAT __MINGW_PRINTF_FORMAT
#else
#define CHECK_FORMAT printf
#endif

/* Marks the running test as failed and keeps the place and the reason of the first failure (printf-like). */
__attribute__((format(CHECK_FORMAT, 3, 4))) void check_fail(const char *file, int line, const char *format, ...);

#define TEST(name)                                                       \
  static void test_##name(void);                                         \
  __attribute__((constructor)) static void register_##name(void) {       \
    static check_test_t test = {#name, __FILE__, test_##name, NULL};     \
    check_register(&test);                                               \
  }                                                                      \
  static void test_##name(void)

/* Fails the running test and returns from the function if the condition is false. */
#define CHECK(condition)                                 \
  do {                                                   \
    if (!(condition)) {                                  \
      check_fail(__FILE__, __LINE__, "%s", #condition);  \
      return;                                            \
    }                                                    \
  } while (0)

#endif
