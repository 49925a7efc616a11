import type { KernelConvention } from '@tenon/core'
import type { BinaryInfo } from '@tenon/binary'
import { packedFunctions, packedName, packedSymbol } from '../packed-functions.ts'
import { isSignatureSymbol, readMark, SIGNATURE_SUFFIX } from './marks.ts'

/** A function of a library whose convention the library's symbols determine. */
export interface LibraryKernel {
  readonly convention: KernelConvention
  /** The exported symbol. */
  readonly symbol: string
  /** Whether a mark or a signature beside the function states the convention. Otherwise it follows from the kind of the library. */
  readonly isStated: boolean
}

/** AddressSanitizer exports a byte beside each exported variable, with this prefix. clang continues it with `_gen_`, and gcc with a dot. */
const ODR_INDICATOR = '__odr_asan'

/**
 * The name of the kernel whose signature a symbol is, or undefined for other symbols. The signature of a packed function is beside
 * its name or beside its symbol.
 */
export function signedName(symbol: string): string | undefined {
  if (symbol.startsWith(ODR_INDICATOR)) return undefined
  return (isSignatureSymbol(symbol) && packedName(symbol.slice(0, -SIGNATURE_SUFFIX.length))) || undefined
}

/** The functions that are marked as custom calls, and the packed functions, by their names. No function is called. */
export function libraryKernels(info: BinaryInfo): ReadonlyMap<string, LibraryKernel> {
  const kernels = new Map<string, LibraryKernel>()
  const exported = new Set(info.exports.map(({ name }) => name))
  const { generation, names } = packedFunctions(info)
  const signed = new Set([...exported].map(signedName))
  const convention = generation === 'TVM to 0.20' ? 'legacy' : 'packed'
  for (const name of names) {
    const symbol = exported.has(packedSymbol(name)) ? packedSymbol(name) : name
    kernels.set(name, { convention, symbol, isStated: signed.has(name) })
  }
  for (const name of signed) {
    // A function with a signature and without a mark is a typed handler, unless it is a packed function.
    if (name !== undefined && exported.has(name) && !kernels.has(name)) {
      kernels.set(name, { convention: 'typed', symbol: name, isStated: true })
    }
  }
  for (const symbol of exported) {
    const mark = readMark(symbol)
    if (mark !== undefined && exported.has(mark.name)) {
      kernels.set(mark.name, { convention: mark.convention, symbol: mark.name, isStated: true })
    }
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
