import type { Lifetime, Segment } from '@tenon/core'
import { gcAllocator, Segment as CoreSegment } from '@tenon/core'
import {
  Block,
  Cleaner,
  expose,
  type Gate,
  lentBuffer,
  type LentBuffer,
  ManagedLifetime,
  READ_ONLY,
  wrongType,
} from '@tenon/core/internal'
import { releaseStruct, type Owned } from './owned.ts'

const collected = new Cleaner<number>(releaseStruct)

/** The memory of an imported array. Its segments end before the array is released. */
export class ImportedMemory {
  readonly gate: Gate
  readonly #flags: number
  readonly #blocks = new Map<number, Block>()
  readonly #lent: LentBuffer[] = []

  constructor(gate: Gate, isWritable: boolean) {
    this.gate = gate
    this.#flags = isWritable ? 0 : READ_ONLY
  }

  /** Whether segments are read-only. */
  get isReadOnly(): boolean {
    return this.#flags !== 0
  }

  /** Returns memory that was checked. @throws {NativeError} if the engine refuses a buffer of this size */
  segment(address: number, byteSize: number): Segment {
    if (byteSize === 0) return gcAllocator.allocate(0)
    return new CoreSegment(this.#block(address, byteSize), 0, byteSize, this.#flags)
  }

  /** Returns the bytes of memory, for functions of other packages, which end with the lifetime as well. */
  bytes(address: number, byteSize: number): Uint8Array<ArrayBuffer> {
    if (byteSize === 0) return new Uint8Array(0)
    const block = this.#block(address, byteSize)
    expose(block)
    return new Uint8Array(block.view.buffer as ArrayBuffer, block.view.byteOffset, byteSize)
  }

  #block(address: number, byteSize: number): Block {
    const known = this.#blocks.get(address)
    if (known !== undefined && known.bytes.length === byteSize) return known
    const lent = lentBuffer(address, byteSize, true)
    this.#lent.push(lent)
    const block = new Block(this.gate, new DataView(lent.buffer), Buffer.from(lent.buffer), lent.address)
    this.#blocks.set(address, block)
    return block
  }

  /** Detaches all buffers. */
  end(): void {
    for (const lent of this.#lent) lent.end()
    this.#lent.length = 0
    this.#blocks.clear()
  }
}

/** The lifetime of an imported array that is not attached to a scope. The collector also releases the array. */
export class ImportLifetime extends ManagedLifetime {
  readonly memory: ImportedMemory
  readonly #handle: number

  constructor({ handle }: Owned, isWritable: boolean) {
    super()
    this.memory = new ImportedMemory(this.gate, isWritable)
    this.#handle = handle
    collected.watch(this, handle, this)
  }

  protected override get label(): string {
    return 'the Arrow batch'
  }

  protected override release(): void {
    this.memory.end()
    collected.forget(this)
    releaseStruct(this.#handle)
  }
}

/** Attaches an imported array to a scope, whose end releases it. @param scope one that {@link checkScope} has checked */
export function attach(scope: ManagedLifetime, { handle }: Owned, isWritable: boolean): ImportedMemory {
  const memory = new ImportedMemory(scope.gate, isWritable)
  scope.addLastAction(() => {
    memory.end()
    releaseStruct(handle)
  })
  return memory
}

/** @throws {ArgumentError} if the value is not a scope that is closed. @throws {ScopeClosedError} once closing has begun. */
export function checkScope(scope: Lifetime): ManagedLifetime {
  if (scope instanceof ManagedLifetime) {
    scope.checkOpen()
    return scope
  }
  throw wrongType('scope', 'a scope that is closed', scope, 'Open a scope with NativeScope.ofConfined().')
}
