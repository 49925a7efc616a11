/**
 * The status codes of the C core, by name.
 *
 * Generated from the C headers by tenon-build. Do not edit.
 */
export const STATUS = {
  OK: { value: 0, text: 'success' },
  INVALID_ARGUMENT: { value: -1, text: 'an argument is not valid' },
  OUT_OF_MEMORY: { value: -2, text: 'memory could not be allocated' },
  NOT_FOUND: { value: -3, text: 'not found' },
  LOAD_FAILED: { value: -4, text: 'the loader refused a library' },
  UNSUPPORTED: { value: -5, text: 'not supported on this platform or by this build' },
  EXCEPTION: { value: -6, text: 'native code threw a C++ exception' },
  KERNEL_FAILED: { value: -7, text: 'a kernel reported an error' },
  CALLBACK_FAILED: { value: -8, text: 'a TypeScript function threw' },
  WRONG_THREAD: { value: -9, text: 'a TypeScript function was called from a foreign thread' },
  CLOSED: { value: -10, text: 'closed' },
  VERSION_MISMATCH: { value: -11, text: 'two components have different versions' },
  SYSTEM: { value: -12, text: 'a system call failed' },
  TIMED_OUT: { value: -13, text: 'timed out' },
  DEADLOCK: { value: -14, text: 'a call was refused because it would have waited for itself' },
} as const

/** The name of a status code of the C core, without `TN_`. */
export type StatusName = keyof typeof STATUS
