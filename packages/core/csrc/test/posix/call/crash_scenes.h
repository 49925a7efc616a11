/* Processes that die in native calls. */
#pragma once

#include "tenon_call.h"

/* Sanitizers handle the same signals. */
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define HAS_CRASH_SCENES 1
#else
#define HAS_CRASH_SCENES 0
#endif

/* The variables of a process: its scene, as "name number", and the directory of its reports. */
#define SCENE "TENON_TEST_CRASH"
#define DIRECTORY "TENON_TEST_REPORTS"

/* Members of the report that are known beforehand. */
#define ABOUT "\"tenon\": \"1.0\""

/* The exit code at the end of a scene, the signals of a scene that survives them, and the depth of nested calls. */
enum { EXIT_CODE = 7, SURVIVED = 20, NESTED = TN_CRASH_CALLS + 2 };
