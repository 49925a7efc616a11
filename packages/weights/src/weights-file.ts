import { ArgumentError, type NativeAllocator, type Tensor } from '@tenon/core'
import { checkOptions, describe, didYouMean, inspectAsText, wrongType } from '@tenon/core/internal'
import type { WeightsEntry } from './files/weights-entry.ts'

/** The contents of a file. */
export interface WeightsSource {
  entry(name: string): WeightsEntry
  tensor(name: string, allocator: NativeAllocator | undefined): Tensor
}

/**
 * The named tensors of a file, made by {@link openSafetensors}, {@link openGguf} and {@link readNpz}. Opening reads the header alone: the elements
 * are read from the file when a kernel or a view touches them. The scope in which the file was opened unmaps it. Without a scope, the garbage
 * collector does so after the file and all of its tensors.
 */
export class WeightsFile<Metadata = unknown> {
  /** The path of the file; undefined for bytes. */
  readonly path: string | undefined
  /** The names of the tensors, in the order of the file. */
  readonly names: readonly string[]
  /** The entries of the header that are not tensors. */
  readonly metadata: ReadonlyMap<string, Metadata>
  readonly #source: WeightsSource
  readonly #known: ReadonlySet<string>
  readonly #format: string

  /** @internal */
  constructor(
    {
      path,
      format,
      names,
      metadata,
    }: { path: string | undefined; format: string; names: readonly string[]; metadata: ReadonlyMap<string, Metadata> },
    source: WeightsSource,
  ) {
    this.path = path
    this.names = Object.freeze(names)
    this.metadata = metadata
    this.#known = new Set(names)
    this.#format = format
    this.#source = source
  }

  static {
    inspectAsText(this)
  }

  /** Whether the file has a tensor of this name. */
  has(name: string): boolean {
    return this.#known.has(name)
  }

  /**
   * Returns the type, shape and place of a tensor in the file.
   *
   * @throws {ArgumentError} if the file has no tensor of this name. @throws {WeightsFormatError} if a member of a `.npz` file is damaged.
   */
  entry(name: string): WeightsEntry {
    return this.#source.entry(this.#check(name))
  }

  /**
   * Returns a tensor. It is read-only and over the file, or a copy in memory of the allocator. Arrays of a `.npz` file that are compressed or not
   * aligned are always copies. A type that is stored in blocks becomes a uint8 tensor, whose last two axes are the blocks of a row and the bytes of a
   * block: {@link WeightsEntry.block}.
   *
   * @param options with an `allocator`, the elements are copied to its memory.
   * @throws {ArgumentError} if the file has no tensor of this name. @throws {AlignmentError} if the file does not align the elements, and no
   * allocator copies them. @throws {ScopeClosedError} once the scope is closed. @throws {AllocationError} if a copy has no memory.
   * @throws {WeightsFormatError} if a member of a `.npz` file is damaged.
   */
  tensor(name: string, options?: { readonly allocator?: NativeAllocator }): Tensor {
    const { allocator } = checkOptions(options, ['allocator'])
    return this.#source.tensor(this.#check(name), allocator)
  }

  #check(name: unknown): string {
    if (typeof name !== 'string') throw wrongType('name', 'a string', name)
    if (this.#known.has(name)) return name
    const names = this.names.length > MOST_SHOWN ? `${this.names.length} names` : `the names ${describe(this.names)}`
    throw new ArgumentError(`name must be that of a tensor of the file, got ${describe(name)}`, {
      hint: didYouMean(name, this.names.slice(0, MOST_COMPARED)) ?? `The file has ${names}. See its \`names\`.`,
      details: { received: name },
    })
  }

  toString(): string {
    return `WeightsFile ${this.#format} (${this.names.length} tensors${this.path === undefined ? '' : ` of ${this.path}`})`
  }
}

const MOST_SHOWN = 8
const MOST_COMPARED = 10_000
