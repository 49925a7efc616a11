/** The messages of the loaders of glibc, musl and macOS for a symbol that no loaded library exports. */
const MESSAGES: readonly RegExp[] = [
  /undefined symbol: ([^\s,]+)/,
  /Error relocating .*: (\S+): symbol not found/,
  /symbol not found(?: in flat namespace|:) '?_([^\s']+)/i,
]

const MATHEMATICS =
  /^(a?(cos|sin|tan)h?|atan2|sincos|cbrt|ceil|copysign|erfc?|exp2?|expm1|f(abs|dim|loor|ma|max|min|mod)|frexp|hypot|[lt]gamma|ldexp|log(10|1p|2|b)?|l?l?r(int|ound)|i?logb|modf|nearbyint|nextafter|pow|remainder|rint|round|sqrt|trunc)[fl]?$/

/** Hints by the names of symbols, without the prefix that C++ gives them. */
const PROVIDERS: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [MATHEMATICS, 'Link the library with -lm.'],
  [
    /^TVM(FFI|API|Func)|^_Z.*3tvm/,
    'Open the library with Library.open() of tenon, which loads the runtime of TVM first. If this call was used, set TENON_TVM_FFI_LIBRARY to a libtvm_ffi that exports the symbol.',
  ],
  [
    /24CustomCallTargetRegistry/,
    'Compile the source with the include directory of @tenon/core, which has xla/service/custom_call_target_registry.h, or with libstdc++.',
  ],
  [
    /^(XLA_FFI_|XlaCustomCallStatus)|^_Z.*3xla/,
    'Use functions that the headers of XLA define. Of the other ones, Tenon exports XLA_FFI_GetApi and those of XlaCustomCallStatus and CustomCallTargetRegistry.',
  ],
  [
    /^_Z\w*(10tensorflow|3tsl)/,
    "Write the kernel with TensorFlow's C API (tenon/tf_kernel.h), or for XLA or tvm-ffi. The library uses TensorFlow's C++ interface, which exists only inside TensorFlow.",
  ],
  [
    /^TF_[A-Z]/,
    "Open the library with Library.open() of tenon, which has the functions of TensorFlow's C API for kernels, but none for graphs and sessions.",
  ],
  [
    /^_Z\w*(2at|3c10|5torch)/,
    'Write the kernel for XLA or tvm-ffi, because operations of PyTorch need its libraries, which Tenon does not have.',
  ],
  [
    /^(__cxa_|__gxx_|_ZNK?(S|10__cxxabi)|_ZS|_Zn[aw]|_Zd[al]|_ZT[ISV](S|NS|N10__cxxabi))/,
    'Link the library with a C++ compiler, or with -lstdc++.',
  ],
  [/^(__kmpc_|GOMP_|omp_)/, 'Link the library with -fopenmp.'],
  [
    /^__(asan|hwasan|lsan|msan|sanitizer|tsan|ubsan)_/,
    'Link the library with the flag -fsanitize that it was compiled with.',
  ],
  [/^(cuda[A-Z]|__cuda)/, 'Link the library with -lcudart.'],
  [/^(cblas_|[cdsz]ge\w+_$)/, 'Link the library with the one that has BLAS and LAPACK, such as -lopenblas.'],
]

const OTHER =
  'Link the library with the library or the object file that defines the symbol. If a C file defines the symbol, declare it in C++ as extern "C".'

/**
 * Returns what to do about a library that needs a symbol which no loaded library exports, or undefined if the loader reports
 * another problem.
 *
 * @param reason the message of the loader.
 */
export function undefinedSymbolHint(reason: string): string | undefined {
  for (const message of MESSAGES) {
    const name = message.exec(reason)?.[1]
    if (name !== undefined) return PROVIDERS.find(([pattern]) => pattern.test(name))?.[1] ?? OTHER
  }
  return undefined
}
