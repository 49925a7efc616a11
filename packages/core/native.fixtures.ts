import { names, type NativeTarget } from '@tenon/build'

const includes = ['csrc/include', 'include']

/** The imports of the faults of faulty kernels. */
const faults = names(`
  _Unwind_* _ZNSt* _ZTISt* _ZTVN10__cxxabiv1* __cxa_* __gxx_personality_v0 _exit abort close dup execve exit fork free getpid kill malloc
  memset mkstemp mmap nanosleep pthread_barrier_init pthread_barrier_wait pthread_create pthread_exit pthread_join puts raise setrlimit snprintf tn_host_is_cancelled unlink write
`)

/** The common part of most. */
const fixture = { kind: 'shared', fixture: true, includes } as const

/** The libraries for tests of @tenon/core and of other packages. */
export const fixtures: readonly NativeTarget[] = [
  {
    name: 'stub_caller',
    kind: 'addon',
    fixture: true,
    sources: ['csrc/fixture/stub_caller.c'],
    includes: ['node_modules/node-api-headers/include'],
    defines: { NAPI_VERSION: '8' },
    imports: [],
  },
  {
    // The module tenon.node for a runtime without buffers over native memory.
    name: 'without_buffers',
    kind: 'addon',
    fixture: true,
    systems: ['linux', 'darwin'],
    sources: ['csrc/node/*.c', 'csrc/fixture/without_buffers.c'],
    includes: [...includes, 'node_modules/node-api-headers/include'],
    defines: {
      NAPI_VERSION: '8',
      napi_create_external_arraybuffer: 'refuse_buffer',
      dlsym: 'find_nothing',
      // Otherwise the module would export its own function.
      NAPI_EXTERN: '',
    },
    uses: ['tenon'],
    imports: ['calloc', 'free', 'getpid', 'malloc', 'memchr', 'memcpy', 'syscall', 'tn_*'],
  },
  {
    // Its threads are those of POSIX.
    name: 'core_fixture',
    systems: ['linux', 'darwin'],
    ...fixture,
    sources: ['csrc/fixture/{fixture,foreign_calls}.c'],
    uses: ['tenon'],
    libraries: ['pthread'],
    imports: names(
      '_exit fdopen fgetc free getenv malloc memset pipe pthread_create pthread_detach pthread_join tn_* usleep',
    ),
    systemImports: { darwin: ['__cxa_atexit'] },
  },
  {
    name: 'fast_math',
    ...fixture,
    sources: ['csrc/fixture/fast_math.c'],
    flags: ['-O3', '-ffast-math'],
    imports: [],
  },
  {
    name: 'overrun',
    systems: ['linux', 'darwin'],
    ...fixture,
    sources: ['csrc/fixture/overrun.c'],
    libraries: ['pthread'],
    imports: names('memcmp memcpy memset nanosleep pthread_create pthread_detach snprintf strlen vsnprintf'),
  },
  {
    // Kernels that crash. Workers run them.
    name: 'faulty',
    systems: ['linux'],
    ...fixture,
    sources: ['csrc/fixture/faulty/{faults,kernels,counter}.c', 'csrc/fixture/faulty/throw.cc'],
    libraries: ['pthread'],
    uses: ['tenon'],
    imports: [...faults, ...names('atoi memcmp memcpy strlen strtol vsnprintf XLA_FFI_GetApi XlaCustomCallStatus*')],
  },
  {
    name: 'faulty_packed',
    systems: ['linux'],
    ...fixture,
    sources: ['csrc/fixture/faulty/{faults,packed,values}.c', 'csrc/fixture/faulty/throw.cc'],
    libraries: ['pthread'],
    imports: faults,
    unresolved: ['TVMFFI*'],
  },
  {
    // Kernels that attack the client of their worker.
    name: 'hostile',
    ...fixture,
    systems: ['linux'],
    sources: ['csrc/fixture/hostile/*.c'],
    libraries: ['pthread'],
    imports: names(`
      __errno_location _exit abort close dup dup2 execve exit fallocate fcntl fork free ftruncate getenv getpgid getpid getppid
      madvise malloc memcmp memcpy memmove memset mmap mprotect munmap nanosleep open pause pthread_create pthread_detach pthread_exit
      raise read sched_setaffinity sched_setscheduler sendmsg setpriority setsid shutdown sigaltstack signal snprintf
      strchr strlen strncmp strtoull syscall TVMFFI* vsnprintf write
    `),
    unresolved: ['TVMFFIErrorSetRaisedFromCStr', 'TVMFFIObjectIncRef'],
  },
  {
    name: 'faulty_legacy',
    systems: ['linux'],
    ...fixture,
    sources: ['csrc/fixture/faulty/legacy.c'],
    imports: [],
    unresolved: ['TVMAPISetLastError'],
  },
  {
    name: 'structs',
    ...fixture,
    sources: ['csrc/fixture/structs.c'],
    imports: [],
  },
  {
    name: 'tstring_peers',
    ...fixture,
    sources: ['csrc/fixture/tstring_peers.c'],
    uses: ['tenon'],
    imports: ['memcpy', 'memset', 'tn_tstring_*'],
  },
  {
    name: 'arrow_peer',
    systems: ['linux', 'darwin'],
    ...fixture,
    sources: ['csrc/fixture/arrow_peer.c'],
    libraries: ['pthread'],
    imports: names('calloc free memset pthread_create pthread_join strncpy'),
  },
  {
    name: 'core_fixture_dependency',
    ...fixture,
    sources: ['csrc/fixture/dependency.c'],
    imports: [],
  },
  {
    name: 'core_fixture_dependent',
    ...fixture,
    sources: ['csrc/fixture/dependent.c'],
    uses: ['core_fixture_dependency'],
    imports: ['fixture_dependency'],
  },
  {
    name: 'core_fixture_unresolved',
    ...fixture,
    sources: ['csrc/fixture/unresolved.c'],
    imports: [],
    unresolved: ['fixture_nobody_has_this'],
  },
]
