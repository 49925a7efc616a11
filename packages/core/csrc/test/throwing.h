/* posix/throwing.cc, win32/throwing.cc: C++ exceptions for tests in C. */
#ifndef TENON_TEST_THROWING_H
#define TENON_TEST_THROWING_H

#if defined(__cplusplus)
extern "C" {
#endif

void throw_bad_array_new_length(void);

/* macOS has no functions for these. */
void throw_bad_alloc(void);
void throw_logic_error(const char *text);

#if defined(__cplusplus)
}
#endif

#endif
