import { ArgumentError, Segment, type Tensor } from '@tenon/core'
import { Block, Cleaner, describe, didYouMean, ManagedLifetime, READ_ONLY, wrongType } from '@tenon/core/internal'
import type { Chunk } from './chunk.ts'
import { locateTensor, tensorAt, type TensorLocation } from './tensor-location.ts'

/** The chunks of imported memory. Nothing in it refers to the memory, so a cleaner can have it. */
export interface ImportedChunks {
  open: boolean
  readonly chunks: Map<number, Chunk>
}

const cleaner = new Cleaner<ImportedChunks>(closeChunks)

/** Adds a chunk, which is closed if the memory has another one with its number. @throws {ArgumentError} */
export function addChunk({ chunks }: ImportedChunks, chunk: Chunk): void {
  if (!chunks.has(chunk.id)) return void chunks.set(chunk.id, chunk)
  chunk.close()
  throw new ArgumentError(`the chunks of a memory must have different numbers, got ${chunk.id} twice`)
}

/** Copies the locations of named tensors, which are checked when a tensor is made. @throws {ArgumentError} */
export function copyLocations(tensors: unknown): Readonly<Record<string, TensorLocation>> {
  if (typeof tensors !== 'object' || tensors === null) throw wrongType('tensors', 'an object of locations', tensors)
  const copy: Record<string, TensorLocation> = Object.create(null) as Record<string, TensorLocation>
  for (const [name, location] of Object.entries(tensors as Record<string, TensorLocation>)) copy[name] = location
  return Object.freeze(copy)
}

function closeChunks({ chunks }: ImportedChunks): void {
  const all = [...chunks.values()]
  chunks.clear()
  for (const chunk of all) chunk.close()
}

/**
 * Shared memory of another thread or process. Its tensors are made of locations, because only the owner of the memory allocates and
 * frees in it. Made by {@link SharedMemory.ofHandle} and {@link SharedMemory.openNamed}, and closed by the caller.
 *
 * @example
 * using memory = await SharedMemory.openNamed('images')
 * memory.tensor('image').toArray()
 */
export class ImportedMemory extends ManagedLifetime {
  /** Identifies the memory: the same as that of its owner. */
  readonly identity: string
  /** The tensors that the owner has named. */
  readonly locations: Readonly<Record<string, TensorLocation>>
  readonly #name: string
  readonly #parts: ImportedChunks
  readonly #blocks = new Map<Chunk, Block>()

  /** @internal */
  constructor(
    {
      identity,
      label,
      tensors,
    }: { identity: string; label: string; tensors: Readonly<Record<string, TensorLocation>> },
    open: (parts: ImportedChunks) => void,
  ) {
    super()
    this.gate.notCloneable = NOT_CLONEABLE
    this.identity = identity
    this.locations = tensors
    this.#name = label
    this.#parts = { open: true, chunks: new Map() }
    try {
      open(this.#parts)
    } catch (error) {
      closeChunks(this.#parts)
      throw error
    }
    cleaner.watch(this, this.#parts, this.#parts)
  }

  /**
   * Returns the tensor at a place, over the memory itself. It is dead once this memory is closed. The owner decides how long its
   * memory is not used for something else.
   *
   * @param place a location that the owner has sent, or the name of one of {@link locations}.
   * @throws {ArgumentError | ArgumentRangeError | BoundsError} if the place is not valid. @throws {ScopeClosedError}
   */
  tensor(place: string | TensorLocation): Tensor {
    this.checkOpen()
    if (typeof place !== 'string') return tensorAt(place, (chunk) => this.#segmentOf(chunk))
    const { locations } = this
    if (Object.hasOwn(locations, place)) return tensorAt(locations[place]!, (chunk) => this.#segmentOf(chunk))
    const names = Object.keys(locations)
    throw new ArgumentError(`the memory must have a tensor ${describe(place)}, got the names ${describe(names)}`, {
      hint: didYouMean(place, names) ?? 'Ask for a name that the owner of the memory has given.',
    })
  }

  /** Returns the location of a tensor in this memory, for others who have it. @throws {ArgumentError} */
  locate(x: Tensor): TensorLocation {
    return locateTensor(x, this.#parts.chunks)
  }

  #segmentOf(number: number): Segment | undefined {
    const chunk = this.#parts.chunks.get(number)
    if (chunk === undefined) return undefined
    let block = this.#blocks.get(chunk)
    if (block === undefined) this.#blocks.set(chunk, (block = Block.ofPart(this.gate, chunk, 0, chunk.byteSize)))
    return new Segment(block, 0, chunk.byteSize, chunk.isWritable ? 0 : READ_ONLY)
  }

  protected override get label(): string {
    return this.#name === '' ? 'the imported memory' : `the imported memory ${describe(this.#name)}`
  }

  protected override seal(): void {
    this.#parts.open = false
  }

  protected override release(): void {
    cleaner.forget(this.#parts)
    for (const [chunk, block] of this.#blocks) chunk.isExposed = block.exposed
    closeChunks(this.#parts)
  }

  override toString(): string {
    const name = this.#name === '' ? '' : `${describe(this.#name)} `
    const bytes = [...this.#parts.chunks.values()].reduce((sum, { byteSize }) => sum + byteSize, 0)
    return `ImportedMemory ${name}(${this.isAlive ? `${bytes} bytes` : 'closed'})`
  }
}

const NOT_CLONEABLE = Symbol('shared memory cannot be posted: post the handle() of its owner')
