/** The status codes of the C core, by name. Made from csrc/include/status.def by native-build: do not edit. */
export const STATUS = {
  OK: { value: 0, text: 'success' },
  INVALID_ARGUMENT: { value: -1, text: 'an argument is not valid' },
  OUT_OF_MEMORY: { value: -2, text: 'memory could not be allocated' },
  NOT_FOUND: { value: -3, text: 'the thing asked for does not exist' },
  LOAD_FAILED: { value: -4, text: "the system's loader refused a library" },
  UNSUPPORTED: { value: -5, text: "this platform or build can't do it" },
  EXCEPTION: { value: -6, text: 'native code threw a C++ exception' },
  KERNEL_FAILED: { value: -7, text: 'a kernel reported an error' },
  CALLBACK_FAILED: { value: -8, text: 'a TypeScript callback threw' },
  WRONG_THREAD: { value: -9, text: 'a TypeScript callback was called from a foreign thread' },
  CLOSED: { value: -10, text: 'the thing is closed' },
  VERSION_MISMATCH: { value: -11, text: 'two parts were built for different versions' },
  SYSTEM: { value: -12, text: 'a system call failed' },
  TIMED_OUT: { value: -13, text: 'nothing came in time' },
} as const

/** The name of a status code of the C core, without `TN_`. */
export type StatusName = keyof typeof STATUS
