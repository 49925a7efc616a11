import {
  ArgumentError,
  ArgumentRangeError,
  cpu,
  type DType,
  Segment,
  Tensor,
  tensor,
  type TensorLike,
  type TensorType,
  UnsupportedError,
} from '@tenon/core'
import {
  allocateFrom,
  asTensor,
  type AllocatingLayout,
  Block,
  checkAlignment,
  checkOptions,
  checkSize,
  checkUsable,
  Cleaner,
  describe,
  ManagedLifetime,
  pageSize,
  READ_ONLY,
  type ValueAllocator,
  wrongType,
} from '@tenon/core/internal'
import { byteCount } from './byte-count.ts'
import { ArenaWitnesses } from './arena-witness.ts'
import type { Chunk } from './chunk.ts'
import { ChunkHeap } from './chunk-heap.ts'
import { closeDescriptor } from './descriptor.ts'
import { roundUp, type Span, SPAN_UNIT } from './free-list.ts'
import { FrozenPart } from './frozen-part.ts'
import type { ImportedMemory } from './imported-memory.ts'
import { MemoryArena } from './memory-arena.ts'
import { checkBacking } from './memory-backing.ts'
import { type ExportedMessages, MemoryExport } from './memory-export.ts'
import { chunkHandle, type MemoryHandle, openHandle } from './memory-handle.ts'
import { locateTensor, type TensorLocation } from './tensor-location.ts'
import { MemoryRange } from './memory-range.ts'
import { encodeDescription } from './named-message.ts'
import { openByName, type OpenNamedOptions } from './open-named.ts'
import { type OwnFile, removeOwn } from './own-file.ts'
import {
  type ArenaOptions,
  byteLimit,
  checkSystem,
  chunkSize,
  type ExportOptions,
  type HandleOptions,
  type MemoryUsage,
  type SharedMemoryOptions,
  usualLimit,
} from './shared-memory-options.ts'
import { createShmFile } from './shm-file.ts'

const OPTIONS = ['chunk', 'limit', 'label', 'guard', 'backing', 'name'] as const

const NO_OPTIONS: ArenaOptions = Object.freeze({})

/** The bytes of the range that small tensors share, and the largest one of them, as for those of the garbage collector. */
const SLAB_SIZE = 16384
const LARGEST_PART = SLAB_SIZE / 8

/** The size of the first block of an arena in bytes. */
const FIRST_BLOCK = 2 ** 16

const ranges = new Cleaner<{ readonly heap: ChunkHeap; readonly span: Span<Chunk> }>(({ heap, span }) =>
  heap.give(span),
)

const frozen = new Cleaner<{ readonly heap: ChunkHeap; readonly chunk: Chunk }>(({ heap, chunk }) => heap.forget(chunk))

const heaps = new Cleaner<{ readonly heap: ChunkHeap; readonly file: OwnFile | undefined }>(closeHeap)

function closeHeap({ heap, file }: { readonly heap: ChunkHeap; readonly file: OwnFile | undefined }): void {
  if (file !== undefined) removeOwn(file)
  heap.close()
}

/**
 * Memory that other threads and processes can map: an allocator of tensors that isolated libraries, workers and other programs use
 * without copying. Only the one who opened it allocates. A tensor's memory is free again when the garbage collector has collected
 * it, and with an {@link arena} when the arena is closed. The list of free memory is not part of the shared memory.
 *
 * | who                             | how it gets the memory                      | allocates |
 * | ------------------------------- | ------------------------------------------- | --------- |
 * | the owner                       | `SharedMemory.open()`                       | yes       |
 * | another thread                  | `handle()`, then `SharedMemory.ofHandle()`  | no        |
 * | a program of the same user      | `export()`, then `SharedMemory.openNamed()` | no        |
 * | a worker of an isolated library | with the call; each chunk is mapped once    | no        |
 *
 * @example
 * using memory = SharedMemory.open({ chunk: '64 MiB', limit: '16 GiB', label: 'batch' })
 * const x = tensor('f32', [4, 1024], undefined, { allocator: memory })
 */
export class SharedMemory extends ManagedLifetime implements ValueAllocator {
  /** Identifies the memory, also in other processes. */
  readonly identity: string = crypto.randomUUID()
  readonly #name: string
  readonly #heap: ChunkHeap
  readonly #witnesses: ArenaWitnesses
  readonly #exports = new Set<MemoryExport>()
  /** The file in `/dev/shm`. */
  readonly #file: OwnFile | undefined
  /** The range that the next small tensors share, and its bytes that are handed out. */
  #slab: MemoryRange | undefined
  #slabUsed = 0
  /** @internal The bytes that were taken, and that nobody uses at present. Who keeps them changes it. */
  idleBytes = 0

  private constructor(name: string, heap: ChunkHeap, file?: OwnFile) {
    super()
    if (!(heap instanceof ChunkHeap))
      throw wrongType('heap', 'a ChunkHeap', heap, 'Open memory with SharedMemory.open().')
    this.#file = file
    this.gate.notCloneable = NOT_CLONEABLE
    this.#name = name
    this.#heap = heap
    this.#witnesses = new ArenaWitnesses(heap)
    heaps.watch(this, { heap, file }, heap)
  }

  /**
   * Opens new memory, which the caller closes. It takes no memory of the machine until something is allocated.
   *
   * @throws {ArgumentError | ArgumentRangeError} if an option is not valid. @throws {UnsupportedError} on Windows and in Electron.
   */
  static open(options?: SharedMemoryOptions): SharedMemory {
    checkSystem()
    const given = checkOptions(options, OPTIONS)
    const { chunk, limit, label = '', guard = false, backing = 'memfd' } = given
    if (typeof label !== 'string' || label.includes('\0')) throw wrongType('label', 'a string without NUL', label)
    if (typeof guard !== 'boolean') throw wrongType('guard', 'true or false', guard)
    if (checkBacking(backing) === 'shm') return SharedMemory.#openShm(given)
    if (given.name !== undefined) {
      throw new ArgumentError('only memory in /dev/shm must have a name, got one of sealed memory', {
        hint: 'Give the name to export(), or pass a label.',
      })
    }
    const most = limit === undefined ? usualLimit() : byteLimit(limit)
    const size = chunkSize(chunk, most)
    return new SharedMemory(label, new ChunkHeap({ chunk: size, limit: most, label: label.slice(0, 60), guard }))
  }

  static #openShm({ name, limit, chunk, label = '', guard = false }: SharedMemoryOptions): SharedMemory {
    if (name === undefined || limit === undefined || chunk !== undefined) {
      throw new ArgumentError('memory in /dev/shm must have a name and a limit, which is its size, and no chunk', {
        hint: "Open it with { backing: 'shm', name: 'images', limit: '64 MiB' }.",
      })
    }
    const byteSize = roundUp(byteLimit(limit), pageSize())
    const shm = createShmFile(name, byteSize)
    try {
      const heap = new ChunkHeap({ chunk: byteSize, limit: byteSize, label, guard, descriptor: shm.descriptor })
      return new SharedMemory(label === '' ? name : label, heap, shm.file)
    } catch (error) {
      closeDescriptor(shm.descriptor)
      removeOwn(shm.file)
      throw error
    }
  }

  /**
   * Opens memory that another thread of this process has posted as a `handle`. The caller closes it.
   *
   * @throws {ArgumentError | ArgumentRangeError} if it is not a handle. @throws {PoolsError} if the memory was closed, and the
   * runtime cannot share buffers between threads.
   */
  static ofHandle(handle: MemoryHandle): ImportedMemory {
    checkSystem()
    return openHandle(handle)
  }

  /** The memory in use. */
  get usage(): MemoryUsage {
    const { chunks, byteSize, usedBytes, limit } = this.#heap
    return { chunks: chunks.size, byteSize, usedBytes: Math.max(usedBytes - this.idleBytes, 0), limit }
  }

  /**
   * Allocates zeroed memory, which is free again when the last segment, tensor or raw view over it was collected and the event loop
   * runs. A loop that does not return to the event loop uses an {@link arena}.
   *
   * @param byteAlignment a power of two, by default and at least 64.
   * @throws {AllocationError} if the limit would be exceeded, or the system has no memory. @throws {ScopeClosedError}
   */
  allocate(byteSize: number, byteAlignment: number = SPAN_UNIT): Segment {
    const size = checkSize(byteSize, 'byteSize')
    const range = this.#takeZeroed(size, checkAlignment(byteAlignment))
    return new Segment(Block.ofPart(this.gate, range, 0, Math.max(size, 1)), 0, size, 0)
  }

  /** Takes memory of zeros, which the garbage collector gives back. */
  #takeZeroed(byteSize: number, byteAlignment: number): MemoryRange {
    const range = this.take(byteSize, byteAlignment)
    this.#heap.zero(range.span)
    ranges.watch(range, { heap: this.#heap, span: range.span })
    return range
  }

  /**
   * @internal Makes a tensor of zeros. Small ones share a range, which is free again when all of them were collected. Guarded memory has a
   * range for each. @throws as {@link allocate}
   */
  newTensor(type: TensorType): Tensor {
    const { byteSize } = type
    if (!this.gate.open) this.checkOpen()
    if (byteSize > LARGEST_PART || this.#heap.isGuarded) return new Tensor(this.allocate(byteSize), type, cpu)
    const room = byteSize === 0 ? 1 : byteSize
    let slab = this.#slab
    if (slab === undefined || this.#slabUsed + room > SLAB_SIZE) {
      slab = this.#slab = this.#takeZeroed(SLAB_SIZE, SPAN_UNIT)
      this.#slabUsed = 0
    }
    const offset = this.#slabUsed
    this.#slabUsed = (offset + room + SPAN_UNIT - 1) & -SPAN_UNIT
    return new Tensor(new Segment(Block.ofPart(this.gate, slab, offset, room), 0, byteSize, 0), type, cpu)
  }

  /**
   * Allocates memory for values of a layout of `@tenon/scope`, and writes the values.
   *
   * @throws the errors of {@link allocate}. @throws {ArgumentError} if a value does not fit the layout.
   */
  allocateFrom<Value, Made extends Segment>(
    layout: AllocatingLayout<Value, Made>,
    ...values: readonly NoInfer<Value>[]
  ): Made {
    return allocateFrom(this, layout, values)
  }

  /**
   * Makes an allocator whose memory is freed as a whole, when it is closed. It holds this memory open.
   *
   * @throws {ArgumentError | ArgumentRangeError} if an option is not valid. @throws {ScopeClosedError}
   */
  arena(options?: ArenaOptions): MemoryArena {
    const { byteSize = FIRST_BLOCK } = options === undefined ? NO_OPTIONS : checkOptions(options, ['byteSize'])
    const size = byteSize === FIRST_BLOCK ? FIRST_BLOCK : byteCount(byteSize, 'byteSize')
    if (size < 1) throw new ArgumentRangeError('byteSize must be at least 1, got 0')
    return new MemoryArena(this.#heap, this.#witnesses, this.acquire(), size)
  }

  /**
   * Copies a tensor to memory that nobody can write any more, which the kernel enforces. The copy has a chunk of its own, and other
   * memory stays writable.
   *
   * @returns a read-only tensor with the same elements, row-major. Its memory is free when it is collected.
   * @throws {ArgumentError} if the tensor is not on the CPU. @throws as {@link allocate}
   */
  freeze<D extends DType>(source: TensorLike<D>): Tensor<D> {
    const x = asTensor(source, 'source') as Tensor<D>
    const { block, base, type } = x.isContiguous && x.device.type === cpu.type ? x : x.copy()
    checkUsable(block)
    this.checkOpen()
    const chunk = this.#heap.addFrozen(block.bytes.subarray(base, base + type.byteSize))
    const place = new FrozenPart(chunk)
    frozen.watch(place, { heap: this.#heap, chunk })
    const memory = new Segment(Block.ofPart(this.gate, place, 0, chunk.byteSize), 0, type.byteSize, READ_ONLY)
    return tensor(type.dtype, type.shape, memory, { packing: type.packing }) as Tensor<D>
  }

  /**
   * Keeps others from writing the memory, which the kernel enforces: threads and processes that open it from now on can only read,
   * also the chunks that are added later. This object goes on to write. Isolated libraries cannot write results to it any more, and
   * pages of free memory are given back only with their chunk.
   *
   * @throws {ScopeClosedError} @throws {PoolsError} if the system refuses.
   */
  readOnly(): void {
    this.checkOpen()
    this.#heap.sealForOthers()
  }

  /**
   * Returns a plain object that can be posted to other threads of the process, where {@link ofHandle} opens it. It describes the
   * chunks of now; memory that is added later needs a new handle.
   *
   * @throws {ArgumentError} if a tensor is not in this memory. @throws {ScopeClosedError}
   * @example
   * worker.postMessage(memory.handle({ tensors: { image } }))
   */
  handle(options?: HandleOptions): MemoryHandle {
    const { tensors = {} } = checkOptions(options, ['tensors'])
    this.#checkSealed('posted')
    const locations = this.#locationsOf(tensors)
    this.checkOpen()
    const chunks = [...this.#heap.chunks.values()].map(chunkHandle)
    return { kind: 'tenon.memory', identity: this.identity, label: this.#name, chunks, tensors: locations }
  }

  /**
   * Gives the memory a name, by which programs of the same user open it with {@link openNamed} as long as the export is open. They get
   * the chunks of the time when they open it. The export is closed with this memory at the latest, and keeps named tensors alive.
   *
   * @throws {ArgumentError} if an option is not valid, or others can enter the directory. @throws {PoolsError} if the name is in use.
   * @throws {UnsupportedError} on systems other than Linux. @throws {ScopeClosedError}
   */
  async export(options: ExportOptions): Promise<MemoryExport> {
    if (options === undefined) throw wrongType('options', 'an object with a name', options)
    const { name, directory, tensors = {} } = checkOptions(options, ['name', 'directory', 'tensors'])
    this.#checkSealed('exported')
    const named = { ...(tensors as Record<string, Tensor>) }
    this.#locationsOf(named)
    this.checkOpen()
    const made: MemoryExport = new MemoryExport(
      { name: name!, directory },
      () => this.#messages(named),
      () => this.#exports.delete(made),
    )
    this.#exports.add(made)
    return made
  }

  /**
   * Opens memory that a program of this user has exported, or a file in `/dev/shm`. The caller closes it.
   *
   * @throws {PoolsError} if no program has the name, does not answer in time, or describes its memory wrongly.
   * @throws {ArgumentError} if an option is not valid. @throws {UnsupportedError} on systems other than Linux.
   */
  static async openNamed(name: string, options?: OpenNamedOptions): Promise<ImportedMemory> {
    checkSystem()
    return await openByName(name, options)
  }

  #messages(tensors: Readonly<Record<string, Tensor>>): ExportedMessages {
    const chunks = [...this.#heap.chunks.values()]
    const messages = encodeDescription({
      identity: this.identity,
      label: this.#name,
      chunks: chunks.map(({ id, byteSize }) => ({ id, byteSize })),
      // Those of closed arenas are left out.
      tensors: this.#locationsOf(Object.fromEntries(Object.entries(tensors).filter(([, { gate }]) => gate.alive))),
    })
    return { messages, descriptors: chunks.map(({ descriptor }) => descriptor) }
  }

  #checkSealed(what: string): void {
    if (this.#file === undefined) return
    throw new UnsupportedError(`memory in /dev/shm must be opened by its name, and cannot be ${what}`, {
      hint: "Use SharedMemory.openNamed(name, { backing: 'shm' }).",
    })
  }

  /**
   * Returns the place of a tensor in this memory as a plain object, with which others who have the memory make the tensor. The owner
   * keeps the tensor alive as long as they use it.
   *
   * @throws {ArgumentError} if the tensor is not in this memory.
   */
  locate(x: Tensor): TensorLocation {
    return locateTensor(x, this.#heap.chunks)
  }

  #locationsOf(tensors: unknown): Record<string, TensorLocation> {
    if (typeof tensors !== 'object' || tensors === null) throw wrongType('tensors', 'an object of tensors', tensors)
    return Object.fromEntries(Object.entries(tensors).map(([name, x]) => [name, this.locate(x as Tensor)]))
  }

  /**
   * @internal Takes memory with undefined contents, which the caller gives back with {@link give}, exactly once and while nobody
   * uses it.
   */
  take(byteSize: number, byteAlignment: number = SPAN_UNIT): MemoryRange {
    this.checkOpen()
    const { span, offset } = this.#heap.take(byteSize, byteAlignment)
    return new MemoryRange(this.gate, span, offset, byteSize)
  }

  /** @internal Gives memory of {@link take} back. */
  give(range: MemoryRange): void {
    this.#heap.give(range.span)
  }

  protected override get label(): string {
    return this.#name === '' ? 'the shared memory' : `the shared memory ${describe(this.#name)}`
  }

  protected override seal(): void {
    this.#heap.open = false
  }

  protected override release(): void {
    heaps.forget(this.#heap)
    for (const each of this.#exports) each.close()
    closeHeap({ heap: this.#heap, file: this.#file })
  }

  override toString(): string {
    const name = this.#name === '' ? '' : `${describe(this.#name)} `
    const { usedBytes, byteSize } = this.usage
    return `SharedMemory ${name}(${this.isAlive ? `${usedBytes} of ${byteSize} bytes in use` : 'closed'})`
  }
}

const NOT_CLONEABLE = Symbol('shared memory cannot be posted: post its handle(), and use SharedMemory.ofHandle() there')
