import type { NativePackage } from '@tenon/native-build'

const includes = ['../../packages/core/include']

/** The kernel libraries. They link with nothing of Tenon: only its headers are used. */
export default {
  targets: [
    {
      name: 'kernels',
      kind: 'shared',
      sources: [
        'src/broadcast_add.c',
        'src/call_function.c',
        'src/counter.c',
        'src/describe_attrs.c',
        'src/failures.c',
        'src/rms_norm.c',
        'src/saxpy.c',
        'src/scale_later.c',
        'src/scale_shift.c',
        'src/weighted_sum.c',
      ],
      includes,
      libraries: ['m', 'pthread'],
      imports: ['free', 'malloc', 'memcmp', 'memcpy', 'memset', 'pthread_create', 'pthread_detach', 'snprintf', 'sqrt', 'strlen', 'vsnprintf'],
    },
    {
      name: 'kernels_cpp',
      kind: 'shared',
      sources: ['src/throwing.cc'],
      includes,
      imports: ['_Unwind_*', '_ZN*', '_ZS*', '_ZT*', '_Zd*', '_Zn*', '__cxa_*', '__gxx_personality_v0', 'memcmp', 'memcpy', 'snprintf', 'strlen', 'vsnprintf'],
    },
    {
      name: 'kernels_runtime',
      kind: 'shared',
      sources: ['src/runtime.c'],
      includes,
      imports: ['fprintf', 'fwrite', 'memcmp', 'memcpy', 'snprintf', 'stderr', 'strlen', 'vsnprintf'],
      unresolved: ['XLA_FFI_GetApi', 'XlaCustomCallStatusSetFailure'],
    },
  ],
} satisfies NativePackage
