import type { NativePackage } from '@tenon/native-build'

const includes = ['csrc/include', 'include']

/** Every native artifact of @tenon/core. The platform packages carry the shared ones. */
export default {
  platformPackages: 'npm',
  statusTable: { source: 'csrc/include/status.def', output: 'src/generated/status.ts' },
  targets: [
    {
      name: 'tenon',
      kind: 'shared',
      sources: ['csrc/*.c', 'csrc/{posix|win32}/*.c'],
      includes,
      libraries: ['dl', 'pthread'],
      exports: ['tn_*'],
      imports: [
        // memory and strings
        ...['calloc', 'free', 'malloc', 'posix_memalign'],
        ...['memchr', 'memcpy', 'memset', 'strlen', 'vsnprintf'],
        // the loader
        ...['dladdr', 'dlerror', 'dlopen', 'dlsym'],
        // threads
        ...['pthread_cond_broadcast', 'pthread_cond_wait', 'pthread_mutex_lock', 'pthread_mutex_unlock'],
      ],
    },
    {
      name: 'tenon_guard',
      kind: 'shared',
      sources: ['csrc/guard/guard.cc'],
      includes,
      imports: [
        // the C++ runtime: unwinding, and the types of exceptions
        ...['_Unwind_*', '__cxa_*', '__gxx_personality_v0', '_ZTIN10__cxxabiv1*', '_ZTVN10__cxxabiv1*'],
        ...['_ZNSt*', '_ZNKSt*', '_ZTISt*', '_ZSt*'],
        ...['memcpy', 'strnlen'],
      ],
    },
    {
      name: 'core_test',
      kind: 'test',
      sources: ['csrc/test/*.c'],
      includes: [...includes, 'csrc'],
      uses: ['tenon', 'tenon_guard'],
      libraries: ['dl', 'pthread', 'm'],
    },
  ],
} satisfies NativePackage
