import { names, type NativePackage, type SharedTarget } from '@tenon/build'

/** Describes a library that is compiled with the headers of the core. Sources and symbols are lists of names. */
function library(name: string, sources: string, needs: Partial<Needs> = {}): SharedTarget {
  const { imports = '', unresolved = '', ...rest } = needs
  const symbols = { imports: names(imports), unresolved: names(unresolved) }
  return {
    name,
    kind: 'shared',
    sources: names(sources),
    includes: ['../../packages/core/include'],
    ...symbols,
    ...rest,
  }
}

/** The symbols of the system, those of the runtime that loads the library, and further settings of the compiler. */
interface Needs extends Pick<SharedTarget, 'defines' | 'exports' | 'flags' | 'libraries'> {
  readonly imports: string
  readonly unresolved: string
}

const cxxRuntime = '_Unwind_* _ZN* _ZS* _ZT* _Zd* _Zn* __cxa_* __gxx_personality_v0'

/** Describes a library as a compiler of tvm-ffi generates it: 21 for TVM 0.21, 22 for 0.22 to 0.25, 26 for 0.26 and later. */
function compiled(generation: '21' | '22' | '26'): SharedTarget {
  return library(`packed_tvm_0${generation}`, 'src/packed/compiled.c', { defines: { TVM_GENERATION: generation } })
}

/** Describes a library of that generation with a module inside. */
function embedded(generation: '21' | '22' | '26'): SharedTarget {
  return library(`packed_embedded_0${generation}`, 'src/packed/embedded.c', {
    defines: { TVM_GENERATION: generation },
    imports: 'memcpy',
    unresolved: `
      TVMFFIEnvModRegisterSystemLibSymbol TVMFFIErrorSetRaisedFromCStr TVMFFIFunctionCall TVMFFIFunctionCreate
      TVMFFIFunctionGetGlobal TVMFFIFunctionSetGlobal TVMFFIObjectDecRef
    `,
  })
}

/** The kernel libraries. They do not link with Tenon, of which they use only the headers. */
export default {
  acyclic: true,
  targets: [
    library(
      'kernels',
      `
        src/broadcast_add.c src/call_function.c src/clip.c src/counter.c src/delegate.c src/describe_attrs.c
        src/describe_buffers.c src/failures.c src/lent_factor.c src/matmul.c src/optional_sum.c src/raw_memory.c
        src/reverse_in_scratch.c src/rms_norm.c src/run_facts.c src/saxpy.c src/scale_on_stream.c src/scale_later.c
        src/scale_shift.c src/softmax.c src/staged.c src/topk.c src/wait_for_flag.c src/weighted_sum.c
      `,
      {
        libraries: ['m', 'pthread'],
        imports: `
          expf fmaxf free malloc memcmp memcpy memset nanosleep pthread_create pthread_detach pthread_join snprintf sqrt
          strlen vsnprintf
        `,
      },
    ),
    // The first example of the README.
    library('softmax', 'src/softmax.c', {
      libraries: ['m'],
      imports: 'expf fmaxf memcmp memcpy snprintf strlen vsnprintf',
    }),
    library('kernels_cpp', 'src/throwing.cc', { imports: `${cxxRuntime} memcmp memcpy snprintf strlen vsnprintf` }),
    library('kernels_runtime', 'src/runtime.c src/untyped.c', {
      imports: 'fprintf fwrite memcmp memcpy memset snprintf stderr strlen vsnprintf',
      unresolved: 'XLA_FFI_GetApi XlaCustomCallStatusSetFailure XlaCustomCallStatusSetSuccess',
    }),
    library('kernels_registered', 'src/registered.c', {
      imports: 'memcmp memcpy memset snprintf strcmp strlen vsnprintf',
      unresolved: 'XLA_FFI_GetApi',
    }),
    library('kernels_early', 'src/early.cc', {
      exports: ['decoding_early*', 'silent_early*', '_ZNK3xla3ffi7Handler*'],
      imports: 'memcmp memcpy snprintf strlen vsnprintf',
    }),
    library('kernels_cuda', 'src/cuda/handlers.c', {
      imports: 'memcmp memcpy memset snprintf strlen vsnprintf',
      unresolved: 'XlaCustomCallStatusSetFailure',
    }),
    // Exports the functions of libcuda and simulates them on the Host, see src/simulated_cuda/simulated.h.
    library('simulated_cuda', 'src/simulated_cuda/*.c', {
      libraries: ['pthread'],
      // The attribute `cleanup` would need libgcc_s otherwise.
      flags: ['-fno-exceptions'],
      exports: ['cu*', 'simulated_*'],
      imports: `
        aligned_alloc calloc clock_gettime free malloc memcmp memcpy memmove memset pthread_cond_broadcast
        pthread_cond_wait pthread_create pthread_join pthread_mutex_lock pthread_mutex_unlock strcmp strcspn strdup
        strlen strncpy strstr
      `,
    }),
    library('packed', 'src/packed/basics.c src/packed/parallel.c', {
      libraries: ['pthread'],
      imports: 'free malloc memcpy memset nanosleep pthread_create pthread_join',
      unresolved: `
        TVMBackendParallelBarrier TVMBackendParallelLaunch TVMFFIAnyViewToOwnedAny TVMFFIEnvCheckSignals
        TVMFFIEnvTensorAlloc TVMFFIErrorMoveFromRaised TVMFFIErrorSetRaised TVMFFIErrorSetRaisedFromCStr
        TVMFFIErrorSetRaisedFromCStrParts TVMFFIFunctionCall TVMFFIObjectDecRef TVMFFIObjectIncRef
        TVMFFIStringFromByteArray
      `,
    }),
    library('packed_sources', 'src/packed/sources.c', {
      imports: 'memcpy strcmp strlen',
      unresolved: `
        TVMFFIEnvTensorAlloc TVMFFIErrorSetRaisedFromCStr TVMFFIFunctionCall TVMFFIFunctionGetGlobal
        TVMFFIObjectDecRef TVMFFIStringFromByteArray
      `,
    }),
    library('packed_cpp', 'src/packed/greeting.cc', {
      imports: `${cxxRuntime} memcpy memmove strlen`,
      unresolved: 'TVMFFIErrorSetRaisedFromCStr TVMFFIStringFromByteArray',
    }),
    library('packed_throwing', 'src/packed/throwing.cc', {
      imports: `${cxxRuntime} memcpy strlen`,
      unresolved: 'TVMBackendParallelBarrier TVMBackendParallelLaunch TVMBackendRunOnce TVMFFIFunctionCall',
    }),
    compiled('21'),
    compiled('22'),
    compiled('26'),
    embedded('21'),
    embedded('22'),
    embedded('26'),
    library('packed_embedded_legacy', 'src/packed/embedded_legacy.c', {
      unresolved: `
        TVMAPISetLastError TVMBackendRegisterSystemLibSymbol TVMCFuncSetReturn TVMFuncCall TVMFuncCreateFromCFunc
        TVMFuncFree TVMFuncGetGlobal TVMFuncRegisterGlobal TVMModFree
      `,
    }),
    library('packed_legacy_sources', 'src/packed/legacy_sources.c', {
      imports: 'strcmp',
      unresolved: `
        TVMAPISetLastError TVMArrayAlloc TVMArrayCopyFromBytes TVMArrayFree TVMCFuncSetReturn
        TVMFFIStringFromByteArray TVMFuncCall TVMFuncCreateFromCFunc TVMObjectFree
      `,
    }),
    library('packed_legacy_plain', 'src/packed/legacy_plain.c'),
    library('packed_legacy_llvm', 'src/packed/legacy_llvm.c'),
    library('packed_legacy_c', 'src/packed/legacy_c.c', {
      imports: 'free malloc strlen strncpy',
      unresolved: `
        TVMAPISetLastError TVMCFuncSetReturn TVMFuncCall TVMFuncCreateFromCFunc TVMFuncFree TVMFuncGetGlobal
        TVMGetLastError
      `,
    }),
    library('packed_objects', 'src/packed/objects.c', {
      imports: 'abort calloc free memcmp memcpy strcat strcpy strlen strncat',
      unresolved: `
        TVMFFIAnyViewToOwnedAny TVMFFIErrorSetRaisedFromCStr TVMFFIFunctionCall TVMFFIFunctionCreate
        TVMFFIFunctionGetGlobal TVMFFIFunctionSetGlobalFromMethodInfo TVMFFIObjectDecRef TVMFFIStringFromByteArray
        TVMFFITypeGetOrAllocIndex TVMFFITypeRegisterAttr TVMFFITypeRegisterField TVMFFITypeRegisterMetadata
        TVMFFITypeRegisterMethod
      `,
    }),
    library('packed_signals', 'src/packed/signals.c', { imports: '_Exit signal' }),
  ],
} satisfies NativePackage
