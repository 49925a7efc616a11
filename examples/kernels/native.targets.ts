import { names, type NativePackage } from '@tenon/build'

const includes = ['../../packages/core/include']

/** What the libraries with a module inside need of tvm-ffi. */
const embeddedNeeds = names(`
  TVMFFIEnvModRegisterSystemLibSymbol TVMFFIErrorSetRaisedFromCStr TVMFFIFunctionCall TVMFFIFunctionCreate
  TVMFFIFunctionGetGlobal TVMFFIFunctionSetGlobal TVMFFIObjectDecRef
`)

/** The kernel libraries. They link with nothing of Tenon: only its headers are used. */
export default {
  targets: [
    {
      name: 'kernels',
      kind: 'shared',
      sources: names(`
        src/broadcast_add.c src/call_function.c src/clip.c src/counter.c src/delegate.c src/describe_attrs.c
        src/describe_buffers.c src/failures.c src/lent_factor.c src/optional_sum.c src/reverse_in_scratch.c
        src/rms_norm.c src/run_facts.c src/saxpy.c src/scale_on_stream.c src/scale_later.c src/scale_shift.c
        src/staged.c src/wait_for_flag.c src/weighted_sum.c
      `),
      includes,
      libraries: ['m', 'pthread'],
      imports: names(`
        free malloc memcmp memcpy memset nanosleep pthread_create pthread_detach pthread_join snprintf sqrt strlen
        vsnprintf
      `),
    },
    {
      name: 'kernels_cpp',
      kind: 'shared',
      sources: ['src/throwing.cc'],
      includes,
      imports: names(`
        _Unwind_* _ZN* _ZS* _ZT* _Zd* _Zn* __cxa_* __gxx_personality_v0 memcmp memcpy snprintf strlen vsnprintf
      `),
    },
    {
      name: 'kernels_runtime',
      kind: 'shared',
      sources: ['src/runtime.c', 'src/untyped.c'],
      includes,
      imports: ['fprintf', 'fwrite', 'memcmp', 'memcpy', 'memset', 'snprintf', 'stderr', 'strlen', 'vsnprintf'],
      unresolved: ['XLA_FFI_GetApi', 'XlaCustomCallStatusSetFailure', 'XlaCustomCallStatusSetSuccess'],
    },
    {
      name: 'kernels_cuda',
      kind: 'shared',
      sources: ['src/cuda/handlers.c'],
      includes,
      imports: ['memcmp', 'memcpy', 'memset', 'snprintf', 'strlen', 'vsnprintf'],
      unresolved: ['XlaCustomCallStatusSetFailure'],
    },
    {
      // Has the names of libcuda's functions, and simulates them on the Host: see src/simulated_cuda/simulated.h.
      name: 'simulated_cuda',
      kind: 'shared',
      sources: ['src/simulated_cuda/*.c'],
      libraries: ['pthread'],
      exports: ['cu*', 'simulated_*'],
      imports: names(`
        aligned_alloc calloc clock_gettime free malloc memcmp memcpy memmove memset pthread_cond_broadcast
        pthread_cond_wait pthread_create pthread_join pthread_mutex_lock pthread_mutex_unlock strcmp strcspn strdup
        strlen strncpy strstr
      `),
    },
    {
      name: 'packed',
      kind: 'shared',
      sources: ['src/packed/basics.c', 'src/packed/parallel.c'],
      includes,
      libraries: ['pthread'],
      imports: ['free', 'malloc', 'memcpy', 'memset', 'nanosleep', 'pthread_create', 'pthread_join'],
      unresolved: names(`
        TVMBackendParallelBarrier TVMBackendParallelLaunch TVMFFIAnyViewToOwnedAny TVMFFIEnvCheckSignals
        TVMFFIEnvTensorAlloc TVMFFIErrorMoveFromRaised TVMFFIErrorSetRaised TVMFFIErrorSetRaisedFromCStr
        TVMFFIErrorSetRaisedFromCStrParts TVMFFIFunctionCall TVMFFIObjectDecRef TVMFFIObjectIncRef
        TVMFFIStringFromByteArray
      `),
    },
    {
      name: 'packed_sources',
      kind: 'shared',
      sources: ['src/packed/sources.c'],
      includes,
      imports: ['memcpy', 'strcmp', 'strlen'],
      unresolved: names(`
        TVMFFIEnvTensorAlloc TVMFFIErrorSetRaisedFromCStr TVMFFIFunctionCall TVMFFIFunctionGetGlobal
        TVMFFIObjectDecRef TVMFFIStringFromByteArray
      `),
    },
    {
      name: 'packed_cpp',
      kind: 'shared',
      sources: ['src/packed/greeting.cc'],
      includes,
      imports: names(`
        _Unwind_* _ZN* _ZS* _ZT* _Zd* _Zn* __cxa_* __gxx_personality_v0 memcpy memmove strlen
      `),
      unresolved: ['TVMFFIErrorSetRaisedFromCStr', 'TVMFFIStringFromByteArray'],
    },
    {
      name: 'packed_tvm_021',
      kind: 'shared',
      sources: ['src/packed/tvm_021.c'],
      includes,
      imports: [],
    },
    {
      name: 'packed_tvm_022',
      kind: 'shared',
      sources: ['src/packed/tvm_022.c'],
      includes,
      imports: [],
    },
    {
      name: 'packed_tvm_026',
      kind: 'shared',
      sources: ['src/packed/tvm_026.c'],
      includes,
      imports: [],
    },
    {
      name: 'packed_embedded_021',
      kind: 'shared',
      sources: ['src/packed/embedded.c'],
      includes,
      defines: { TVM_GENERATION: '21' },
      imports: ['memcpy'],
      unresolved: embeddedNeeds,
    },
    {
      name: 'packed_embedded_022',
      kind: 'shared',
      sources: ['src/packed/embedded.c'],
      includes,
      defines: { TVM_GENERATION: '22' },
      imports: ['memcpy'],
      unresolved: embeddedNeeds,
    },
    {
      name: 'packed_embedded_026',
      kind: 'shared',
      sources: ['src/packed/embedded.c'],
      includes,
      defines: { TVM_GENERATION: '26' },
      imports: ['memcpy'],
      unresolved: embeddedNeeds,
    },
    {
      name: 'packed_embedded_legacy',
      kind: 'shared',
      sources: ['src/packed/embedded_legacy.c'],
      includes,
      imports: [],
      unresolved: names(`
        TVMAPISetLastError TVMBackendRegisterSystemLibSymbol TVMCFuncSetReturn TVMFuncCall TVMFuncCreateFromCFunc
        TVMFuncFree TVMFuncGetGlobal TVMFuncRegisterGlobal TVMModFree
      `),
    },
    {
      name: 'packed_legacy_sources',
      kind: 'shared',
      sources: ['src/packed/legacy_sources.c'],
      includes,
      imports: ['strcmp'],
      unresolved: names(`
        TVMAPISetLastError TVMArrayAlloc TVMArrayCopyFromBytes TVMArrayFree TVMCFuncSetReturn
        TVMFFIStringFromByteArray TVMFuncCall TVMFuncCreateFromCFunc TVMObjectFree
      `),
    },
    {
      name: 'packed_legacy_plain',
      kind: 'shared',
      sources: ['src/packed/legacy_plain.c'],
      includes,
      imports: [],
    },
    {
      name: 'packed_signals',
      kind: 'shared',
      sources: ['src/packed/signals.c'],
      imports: ['_Exit', 'signal'],
    },
    {
      name: 'packed_legacy_llvm',
      kind: 'shared',
      sources: ['src/packed/legacy_llvm.c'],
      includes,
      imports: [],
    },
    {
      name: 'packed_legacy_c',
      kind: 'shared',
      sources: ['src/packed/legacy_c.c'],
      includes,
      imports: ['free', 'malloc', 'strlen', 'strncpy'],
      unresolved: names(`
        TVMAPISetLastError TVMCFuncSetReturn TVMFuncCall TVMFuncCreateFromCFunc TVMFuncFree TVMFuncGetGlobal
        TVMGetLastError
      `),
    },
  ],
} satisfies NativePackage
