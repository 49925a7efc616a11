import {
  ArgumentError,
  parseSignature,
  type KernelConvention,
  type KernelSignature,
  type NativeLibrary,
} from '@tenon/core'
import { didYouMean } from '@tenon/core/internal'
import {
  ApiVersion,
  hostFunction,
  registeredHandler,
  targetCall,
  typedHandler,
  type Kernel,
  type KernelHandler,
} from '@tenon/custom-call'
import { DEFAULT_FRAMES } from '@tenon/custom-call/internal'
import type { PackedFunc } from '@tenon/packed-func'
import { packedName } from '../packed-functions.ts'
import type { FoundSignature } from '../signatures/read-signatures.ts'
import { unknownSignature } from '../signatures/unknown-signature.ts'
import { refuseUnreadable } from '../signatures/refuse-unreadable.ts'
import { readKernelOptions, type KernelOptions } from './kernel-options.ts'
import { packedKernel } from './packed-kernel.ts'
import { loadStringClass } from './string-class.ts'

const apiVersions = {
  host: ApiVersion.ORIGINAL,
  'host-status': ApiVersion.STATUS_RETURNING,
  'host-unified': ApiVersion.STATUS_RETURNING_UNIFIED,
} as const

/** The parts of a library that finding a kernel needs. */
export interface SearchedLibrary {
  readonly path: string
  /** Refuses a symbol that the library does not export. @throws {LoadError} with similar ones */
  checkSymbol(symbol: string): void
  /** Refuses a symbol that cannot be called with a convention. @throws {ArgumentError | LoadError} */
  checkConvention(symbol: string, convention: KernelConvention): void
}

/** The parts of a library that kernels are made of. */
export interface KernelLibrary extends SearchedLibrary {
  readonly native: NativeLibrary
  packed(name: string): PackedFunc
}

/** What is known about the kernels of a library. */
export interface KernelSources<Searched extends SearchedLibrary = SearchedLibrary> {
  readonly library: Searched
  readonly found: readonly FoundSignature[]
  /** The names of the handlers that the library has registered itself. */
  readonly registered: readonly string[]
}

/** A kernel that was found by its name, with the options of its calls. */
export interface FoundKernel {
  readonly signature: KernelSignature
  /** The symbol of the function or of the execute handler, or the registered name. */
  readonly symbol: string
  readonly isRegistered: boolean
  /** The most prepared calls that the kernel keeps. */
  readonly frames: number
  readonly options: Pick<KernelOptions, 'allowNewerApi' | 'platform'>
}

/** Finds a kernel by its name, and checks that it can be called by its convention. @throws see {@link Library.kernel} */
export function findKernel(sources: KernelSources, name: string, options?: KernelOptions): FoundKernel {
  const { library, found, registered } = sources
  const given = readKernelOptions(options)
  const known = found.find(({ signature }) => signature.name === name)
  const isRegistered =
    given.registered ??
    (known === undefined ? registered.includes(name) : known.symbol === undefined && known.platform !== undefined)
  const signature = signatureOf(sources, name, given, known, isRegistered)
  loadStringClass(signature)
  const { frames = DEFAULT_FRAMES, allowNewerApi, platform = known?.platform } = given
  // If the sidecar states a symbol, an exported function that has the name of the kernel is a different function.
  const symbol = known?.symbol ?? known?.statedSymbol ?? name
  if (!isRegistered && !isPacked(signature)) {
    library.checkConvention(symbol, signature.convention)
    for (const stage of Object.values<string>(signature.stages)) library.checkConvention(stage, 'typed')
  }
  return {
    signature,
    symbol: isRegistered ? name : symbol,
    isRegistered,
    frames,
    options: {
      ...(allowNewerApi === undefined ? {} : { allowNewerApi }),
      ...(platform === undefined ? {} : { platform }),
    },
  }
}

/** Whether a kernel is a packed function. */
export const isPacked = ({ convention }: KernelSignature): boolean => convention === 'packed' || convention === 'legacy'

/** Finds a kernel by its name and makes it callable. @throws see {@link Library.kernel} */
export function openKernel(
  sources: KernelSources<KernelLibrary>,
  name: string,
  options?: KernelOptions,
): Kernel<never, KernelHandler | PackedFunc> {
  const { library } = sources
  const { signature, symbol, isRegistered, frames, options: handlerOptions } = findKernel(sources, name, options)
  if (isPacked(signature)) {
    const packed = library.packed(packedName(symbol))
    return packedKernel({ signature, packed, gate: library.native.gate, frames }) as Kernel<never, PackedFunc>
  }
  const handler = (): KernelHandler => {
    if (isRegistered) return registeredHandler(symbol, handlerOptions)
    const { convention } = signature
    if (convention === 'typed') {
      return typedHandler(library.native, { ...signature.stages, execute: symbol }, handlerOptions)
    }
    return hostFunction(library.native, symbol, { apiVersion: apiVersions[convention as keyof typeof apiVersions] })
  }
  return targetCall(signature, handler(), { frames }) as Kernel<never>
}

function signatureOf(
  { library, found, registered }: KernelSources,
  name: string,
  { signature: text, convention }: KernelOptions,
  known: FoundSignature | undefined,
  isRegistered: boolean,
): KernelSignature {
  const own = known?.signature
  if (own !== undefined && convention !== undefined && convention !== own.convention) {
    throw new ArgumentError(`${name} must be called as a ${own.convention} kernel, got ${convention}`, {
      hint: 'Omit the option convention, because a different convention reads and writes arbitrary memory.',
      details: { path: library.path, name, expected: own.convention, received: convention },
    })
  }
  const chosen: KernelConvention | undefined = convention ?? own?.convention ?? (isRegistered ? 'typed' : undefined)
  if (text !== undefined) {
    return parseSignature(name, text, { source: 'option', ...(chosen === undefined ? {} : { convention: chosen }) })
  }
  if (known !== undefined && convention === undefined) refuseUnreadable(known)
  if (own !== undefined) return own
  if (chosen !== undefined) return unknownSignature(name, chosen)
  const names = [...found.map(({ signature }) => signature.name), ...registered]
  const renamed = found.find(({ symbol }) => symbol === name)
  // A symbol that the library does not export is refused with the similar ones.
  library.checkSymbol(name)
  throw new ArgumentError(`${name} must have a signature or a convention, and ${library.path} states neither`, {
    hint:
      renamed === undefined
        ? (didYouMean(name, names) ??
          `Call library.kernel(${JSON.stringify(name)}, { signature: '(x: f32[n]) -> (y: f32[n])' }) with its signature, or with { convention: 'typed' } for an XLA FFI handler.`)
        : `Call library.kernel(${JSON.stringify(renamed.signature.name)}), which is the name of this symbol in the sidecar.`,
    details: { path: library.path, name },
  })
}
