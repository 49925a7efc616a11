import { ArgumentError, parseSignature, SignatureError, type KernelConvention, type KernelSignature } from '@tenon/core'
import { readTextConstants, type BinaryInfo } from '@tenon/binary'
import { printedAsText, type SignatureSource } from '@tenon/core/internal'
import { isPackedSymbol } from '../packed-functions.ts'
import { contradicts } from './contradicts.ts'
import { handlerSignatures, templateText } from './handler-signatures.ts'
import { libraryKernels, onlyFunction, signedName, type LibraryKernel } from './library-kernels.ts'
import { metadataText } from './metadata-text.ts'
import { SidecarError } from './sidecar-error.ts'
import { readSidecar, sidecarPath, type SidecarKernel } from './sidecar.ts'
import { unknownSignature } from './unknown-signature.ts'

/** A text about a kernel that cannot be read, and why. */
export interface UnreadableText {
  readonly source: SignatureSource
  readonly reason: string
}

/** The signature of a kernel, and everything else that the library and its sidecar state about the kernel. */
export interface FoundSignature {
  /** The signature from the first source that has one. Its source is `none` if no source has one. */
  readonly signature: KernelSignature
  /** The exported symbol of the kernel. Undefined if the library does not export the kernel. */
  readonly symbol: string | undefined
  /** The symbol that the sidecar states, exported or not. */
  readonly statedSymbol: string | undefined
  /** The platform for which the library registers the handler itself, as the sidecar states it. */
  readonly platform: string | undefined
  /** The signatures from later sources that differ. They are not used. */
  readonly differing: readonly KernelSignature[]
  readonly unreadable: readonly UnreadableText[]
}

/** Further facts about a library. */
export interface ReadSignaturesOptions {
  /**
   * Returns the metadata of a packed function by its name. A function of the library makes the metadata, so it is available
   * only after loading.
   */
  readonly metadata?: (name: string) => string | undefined
  /** The only kernel to read. Default: all kernels. */
  readonly name?: string | undefined
  /** The kernels of the sidecar, instead of those in the file. */
  readonly sidecar?: readonly SidecarKernel[]
}

/** The text of a source, or the reason why it cannot be read. */
type SourceText = { readonly source: SignatureSource } & ({ readonly text: string } | { readonly reason: string })

/**
 * Reads the signatures of the kernels in a library. The library is not loaded.
 *
 * The sources are, in this order: `TN_SIGNATURE` in the library, the sidecar, the metadata of tvm-ffi, and the template
 * symbols of XLA's C++ header. The first source with a readable text determines the signature; sources are never merged. A
 * kernel that the library only marks has a signature without parameters, whose source is `none`. A handler that another
 * kernel names as that of a stage is not a kernel.
 *
 * @param path of the library
 * @param info the headers of the library, from `readBinary(path)`
 * @returns one entry for each kernel, sorted by name
 * @throws {SidecarError} if the sidecar of the library is damaged, or describes another library
 * @throws {BinaryFormatError} if the file has changed and is no library now
 */
export function readSignatures(path: string, info: BinaryInfo, options: ReadSignaturesOptions = {}): FoundSignature[] {
  const { metadata, name: only, sidecar: listed = readSidecar(path).kernels } = options
  const kernels = libraryKernels(info)
  const exported = new Set(info.exports.map(({ name }) => name))
  const sidecar = new Map(listed.map((kernel) => [kernel.name, kernel]))
  const inLibrary = new Map(libraryTexts(path, info, only))
  // A single kernel is read for its call, which uses only the first source.
  const isFound = only !== undefined && (inLibrary.has(only) || sidecar.has(only))
  const template = isFound ? undefined : templateOf(info, kernels)
  const names = new Set([...kernels.keys(), ...inLibrary.keys(), ...sidecar.keys(), ...(template?.keys() ?? [])])
  const wanted = only === undefined ? [...names].toSorted() : names.has(only) ? [only] : []
  const found = wanted.map((name): FoundSignature => {
    const described = sidecar.get(name)
    const kernel = placeOf(path, name, described, kernels, exported)
    const isPacked = kernel.convention === 'packed' || kernel.convention === 'legacy'
    const texts = [
      inLibrary.get(name),
      described && ({ source: 'sidecar', text: described.signature } as const),
      isPacked ? metadataOf(name, metadata) : undefined,
      template?.get(name),
    ].filter((text) => text !== undefined)
    const { symbol, platform } = kernel
    return { ...resolveTexts(name, kernel.convention, texts), symbol, statedSymbol: described?.symbol, platform }
  })
  const ofStages = new Set(found.flatMap(({ signature }) => Object.values<string | undefined>(signature.stages)))
  return found.filter(({ signature, symbol }) => signature.source !== 'none' || !ofStages.has(symbol))
}

function libraryTexts(path: string, { exports }: BinaryInfo, only?: string): [name: string, text: SourceText][] {
  const symbols = exports
    .filter(({ name }) => {
      const kernel = signedName(name)
      return kernel !== undefined && (only === undefined || kernel === only)
    })
    // Of two signatures of a packed function, the one beside its name is the last one, which is kept.
    .toSorted((a, b) => Number(isPackedSymbol(b.name)) - Number(isPackedSymbol(a.name)))
  if (symbols.length === 0) return []
  const texts = readTextConstants(path, symbols)
  return symbols.map((symbol, index) => {
    const text = texts[index]!
    return [
      signedName(symbol.name)!,
      typeof text === 'string' ? { source: 'library', text } : { source: 'library', reason: text.sentence },
    ]
  })
}

function metadataOf(name: string, metadata?: (name: string) => string | undefined): SourceText | undefined {
  const json = metadata?.(name)
  if (json === undefined) return undefined
  try {
    return { source: 'tvm-ffi', text: metadataText(json) }
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error
    return { source: 'tvm-ffi', reason: error.sentence }
  }
}

/** The text for the only function of a library with template symbols of exactly one execute handler. */
function templateOf(
  info: BinaryInfo,
  kernels: ReadonlyMap<string, LibraryKernel>,
): ReadonlyMap<string, SourceText> | undefined {
  const handlers = handlerSignatures(info.exports.map(({ name }) => name)).filter(({ stage }) => stage === 'execute')
  const name = onlyFunction(info)
  if (handlers.length !== 1 || name === undefined) return undefined
  const text = templateText(handlers[0]!)
  const convention = kernels.get(name)?.convention ?? 'typed'
  return text === undefined || convention !== 'typed' ? undefined : new Map([[name, { source: 'templates', text }]])
}

interface Place {
  readonly convention: KernelConvention
  readonly symbol: string | undefined
  readonly platform: string | undefined
}

function placeOf(
  path: string,
  name: string,
  sidecar: SidecarKernel | undefined,
  kernels: ReadonlyMap<string, LibraryKernel>,
  exported: ReadonlySet<string>,
): Place {
  if (sidecar?.isRegistered === true) {
    return { convention: 'typed', symbol: undefined, platform: sidecar.platform ?? 'Host' }
  }
  const symbol = sidecar?.symbol ?? name
  const known = kernels.get(symbol)
  const convention = sidecar?.convention ?? known?.convention ?? 'typed'
  if (known !== undefined && known.convention !== convention) {
    throw new SidecarError(
      `cannot read ${sidecarPath(path)}: the convention of ${JSON.stringify(name)} must be ${known.convention}, as in the library, got ${convention}`,
      { details: { path: sidecarPath(path) } },
    )
  }
  return { convention, symbol: known?.symbol ?? (exported.has(symbol) ? symbol : undefined), platform: undefined }
}

/** Parses the texts of a kernel in the order of their sources. */
function resolveTexts(
  name: string,
  convention: KernelConvention,
  texts: readonly SourceText[],
): Pick<FoundSignature, 'signature' | 'differing' | 'unreadable'> {
  const [signatures, unreadable]: [KernelSignature[], UnreadableText[]] = [[], []]
  for (const given of texts) {
    const { source } = given
    if ('reason' in given) {
      unreadable.push(given)
      continue
    }
    try {
      const signature = parseSignature(name, given.text, { convention, source })
      // The metadata of packed functions does not say which tensors are results.
      signatures.push(source === 'tvm-ffi' ? printedAsText({ ...signature, isComplete: false }) : signature)
    } catch (error) {
      if (!(error instanceof SignatureError)) throw error
      unreadable.push({ source, reason: error.sentence })
    }
  }
  const [signature = unknownSignature(name, convention), ...others] = signatures
  return { signature, differing: others.filter((other) => contradicts(signature, other)), unreadable }
}
