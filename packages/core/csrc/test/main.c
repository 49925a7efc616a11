/* Runs every registered test. Prints a plan, then the name of each test before it and its outcome after it, so that the
 * last name is that of a test that crashed. With the names of sources as arguments, runs only their tests, until one fails.
 * With --files, prints the names of these sources. */
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "check.h"

static check_test_t *first;
#if !defined(_WIN32)
static check_test_t **last = &first;
#endif
static atomic_flag failed_before = ATOMIC_FLAG_INIT;
static char failure[1024];

/* Tests run in the order of the sources, because some need what earlier tests of their file have registered. */
void check_register(check_test_t *test) {
#if defined(_WIN32)
  /* Constructors run from the last to the first. */
  test->next = first;
  first = test;
#else
  *last = test;
  last = &test->next;
#endif
}

void check_fail(const char *file, int line, const char *format, ...) {
  if (atomic_flag_test_and_set(&failed_before)) return;
  int length = snprintf(failure, sizeof failure, "%s:%d: ", file, line);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(failure + length, sizeof failure - (size_t)length, format, arguments);
  va_end(arguments);
}

static int is_selected(const check_test_t *test, int count, char **files) {
  for (int i = 0; i < count; i++)
    if (strcmp(files[i], test->file) == 0) return 1;
  return count == 0;
}

static int print_files(void) {
  const char *before = "";
  for (const check_test_t *test = first; test; test = test->next) {
    if (strcmp(before, test->file) != 0) printf("%s\n", test->file);
    before = test->file;
  }
  return 0;
}

int main(int argument_count, char **arguments) {
  const int count = argument_count < 2 ? 0 : argument_count - 1;
  char **files = arguments + 1;
  if (count == 1 && strcmp(files[0], "--files") == 0) return print_files();
  int planned = 0;
  for (check_test_t *test = first; test; test = test->next) planned += is_selected(test, count, files);
  printf("1..%d\n", planned);
  int failures = 0;
  for (check_test_t *test = first; test && (count == 0 || failures == 0); test = test->next) {
    if (!is_selected(test, count, files)) continue;
    failure[0] = '\0';
    atomic_flag_clear(&failed_before);
    printf("# %s\n", test->name);
    fflush(stdout);
    test->body();
    if (failure[0] == '\0') {
      printf("ok - %s\n", test->name);
    } else {
      printf("not ok - %s: %s\n", test->name, failure);
      failures++;
    }
    fflush(stdout);
  }
  return failures > 0;
}
