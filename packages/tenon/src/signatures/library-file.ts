import { resolve } from 'node:path'
import { ArgumentError, type KernelConvention, type KernelSignature } from '@tenon/core'
import { readBinary, type BinaryInfo } from '@tenon/binary'
import { checkFileIdentity, fileIdentity } from '@tenon/core/internal'
import { libraryKernels, type LibraryKernel } from './library-kernels.ts'
import { readSignatures, type FoundSignature } from './read-signatures.ts'
import { readSidecar, type SidecarDefinition } from './sidecar.ts'
import { unknownSignature } from './unknown-signature.ts'

/**
 * What the file of a library states about its kernels. Nothing is read before it is needed, and nothing is loaded. What is read comes
 * from the file that was at the path at first, or is refused.
 */
export class LibraryFile {
  readonly path: string
  /** The identity of the file when it was opened; undefined for a library that the loader finds by a bare name. */
  readonly identity: string | undefined
  /** The identity of the file, which a copy of the same build may have replaced. */
  #current: string | undefined
  /** The path that does not depend on the working directory, or the bare name that the loader searches for. */
  readonly #absolutePath: string
  #info: BinaryInfo | undefined
  #kernels: ReadonlyMap<string, LibraryKernel> | undefined
  #found: readonly FoundSignature[] | undefined
  /** What is known about single kernels, without the others. */
  #some: readonly FoundSignature[]

  /** @param info the headers, if they were read already. @param some the signatures of some kernels. */
  constructor(path: string, info?: BinaryInfo, some: readonly FoundSignature[] = []) {
    this.path = path
    this.identity = this.#current = fileIdentity(path)
    this.#absolutePath = /[/\\]/.test(path) ? resolve(path) : path
    this.#info = info
    this.#some = some
  }

  /** The headers; undefined for a library that the loader finds by a bare name. */
  get info(): BinaryInfo | undefined {
    if (this.identity !== undefined) this.#info ??= this.read((path) => readBinary(path))
    return this.#info
  }

  get #known(): ReadonlyMap<string, LibraryKernel> {
    const { info } = this
    this.#kernels ??= info === undefined ? new Map() : libraryKernels(info)
    return this.#kernels
  }

  /** The signatures of all kernels. @throws {SidecarError} */
  signatures(): readonly FoundSignature[] {
    const { info } = this
    this.#found ??= info === undefined ? [] : this.read((path) => readSignatures(path, info))
    return this.#found
  }

  /** The signature of one kernel, or those of all if it has none. Most programs use few of the kernels of a large library. */
  signaturesFor(name: string): readonly FoundSignature[] {
    if (this.#found !== undefined) return this.#found
    const known = this.#some.filter(({ signature }) => signature.name === name)
    if (known.length > 0) return known
    const { info } = this
    const read = info === undefined ? [] : this.read((path) => readSignatures(path, info, { name }))
    if (read.every(({ signature }) => signature.source === 'none')) return this.signatures()
    this.#some = [...this.#some, ...read]
    return read
  }

  /**
   * The signatures of the kernels that the file and its sidecar state, and those of registered handlers, sorted by name.
   *
   * @param registered the names of handlers that the library has registered itself. @throws {SidecarError}
   */
  kernels(registered: readonly string[]): readonly KernelSignature[] {
    const found = this.signatures().map(({ signature }) => signature)
    const known = new Set(found.map(({ name }) => name))
    const others = registered.filter((name) => !known.has(name))
    return [...found, ...others.map((name) => unknownSignature(name, 'typed'))].toSorted((a, b) =>
      a.name < b.name ? -1 : 1,
    )
  }

  /** The definition of an operation of TensorFlow that the sidecar states. @throws {SidecarError} */
  definitionOf(name: string): SidecarDefinition['definition'] | undefined {
    if (this.info === undefined) return undefined
    return this.read((path) => readSidecar(path).definitions.find((one) => one.name === name)?.definition)
  }

  /** @throws {LoadError} if there is another file at the path now */
  checkSame(): void {
    checkFileIdentity(this.#absolutePath, this.refresh())
  }

  /** Returns the identity of the file, also after a copy of the same build has replaced it, as when a package is installed again. */
  refresh(): string | undefined {
    const found = this.#current === undefined ? undefined : fileIdentity(this.#absolutePath)
    if (found !== undefined && found !== this.#current && this.#isSameBuild()) this.#current = found
    return this.#current
  }

  #isSameBuild(): boolean {
    const buildId = this.#info?.buildId
    if (buildId === undefined) return false
    try {
      return readBinary(this.#absolutePath).buildId === buildId
    } catch {
      return false
    }
  }

  /** Reads the file, or a part of it. The file may be replaced meanwhile. @throws {LoadError} as {@link checkSame} */
  read<T>(read: (path: string) => T): T {
    try {
      return read(this.#absolutePath)
    } finally {
      this.checkSame()
    }
  }

  /** Refuses data, and a symbol that the library marks for another convention. @throws {ArgumentError} */
  checkConvention(symbol: string, convention: KernelConvention): void {
    const { path } = this
    const exports = this.info?.exports ?? []
    if (exports.some(({ name, kind }) => name === symbol && kind === 'object')) {
      throw new ArgumentError(`${symbol} must be a function, got data`, { details: { path, symbol } })
    }
    const known = this.#known.get(symbol)
    if (known?.isStated === true && known.symbol === symbol && known.convention !== convention) {
      throw new ArgumentError(`${symbol} must be called as a ${known.convention} kernel, got ${convention}`, {
        hint: 'Call it by the convention that its library marks, because another one reads and writes arbitrary memory.',
        details: { path, symbol, expected: known.convention, received: convention },
      })
    }
  }
}
