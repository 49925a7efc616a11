import type { BinaryInfo, KernelConvention } from '@tenon/core'
import { markedCalls } from '../marked-calls.ts'
import { packedFunctions } from '../packed-functions.ts'

/** A function of a library whose convention the library's symbols determine. */
export interface LibraryKernel {
  readonly convention: KernelConvention
  /** The exported symbol. */
  readonly symbol: string
}

/** The functions that are marked as custom calls, and the packed functions, by their names. No function is called. */
export function libraryKernels(info: BinaryInfo): Map<string, LibraryKernel> {
  const kernels = new Map<string, LibraryKernel>()
  const exported = new Set(info.exports.map(({ name }) => name))
  const { generation, names } = packedFunctions(info)
  for (const name of names) {
    const prefixed = `__tvm_ffi_${name}`
    const convention = generation === 'TVM to 0.20' ? 'legacy' : 'packed'
    kernels.set(name, { convention, symbol: exported.has(prefixed) ? prefixed : name })
  }
  for (const { name, convention } of markedCalls(info)) {
    // In a library of TVM, a signature without a mark describes a packed function.
    const isMarked = convention !== 'typed' || exported.has(`${name}__xla_ffi`)
    if (isMarked || !kernels.has(name)) kernels.set(name, { convention, symbol: name })
  }
  // A hostile file can export an empty name.
  kernels.delete('')
  return kernels
}

/**
 * The only function that a library exports under a plain name, or undefined if it exports none or several. It can be the
 * handler to which the template symbols of the library belong.
 */
export function onlyFunction({ exports }: BinaryInfo): string | undefined {
  const functions = exports.filter(({ name, kind, weak }) => kind === 'function' && !weak && /^[A-Za-z]\w*$/.test(name))
  return functions.length === 1 ? functions[0]!.name : undefined
}
