/* The options of the sanitizers in a worker, whose environment has no variables for them. They read these at the start. */
#if defined(__SANITIZE_ADDRESS__)
#define TN_EXPORT __attribute__((visibility("default")))

extern const char *__asan_default_options(void), *__ubsan_default_options(void);

TN_EXPORT const char *__asan_default_options(void) {
  /* Kernels may end the process without freeing their memory, and the exit code must stay theirs. */
  return "detect_leaks=0:"
         /* A fault must stay a signal, of which the worker writes a record. */
         "handle_segv=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0:handle_abort=0:"
         /* A report ends the process with SIGABRT, so that it has such a record, too. */
         "abort_on_error=1:"
         /* An allocation that is too large must fail, as without the sanitizer. */
         "allocator_may_return_null=1";
}

TN_EXPORT const char *__ubsan_default_options(void) { return "print_stacktrace=1:abort_on_error=1"; }
#endif
