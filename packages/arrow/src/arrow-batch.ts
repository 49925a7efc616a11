import type { Lifetime } from '@tenon/core'
import { ArgumentError } from '@tenon/core'
import { didYouMean, inspectAsText, type Gate, wrongType } from '@tenon/core/internal'
import { ArrowColumn } from './arrow-column.ts'
import { malformed } from './errors/arrow-error.ts'
import { ImportLifetime, type ImportedMemory } from './import/import-owner.ts'
import { closeLater } from './import/passed-batches.ts'
import type { Node } from './import/read-array.ts'

/**
 * Named columns of one length, in memory of the library that made them. The memory is released when the batch is closed, and otherwise when
 * the garbage collector has found it; a batch that was imported with a `scope` ends with the scope. While a call or a hold uses one of
 * its tensors, closing throws `ScopeHeldError`.
 */
export class ArrowBatch {
  /** The number of rows. */
  readonly length: number
  readonly columns: readonly ArrowColumn[]
  /** The lifetime of the memory: the batch itself, or its scope. */
  readonly lifetime: Lifetime
  /** @internal */
  readonly gate: Gate
  /** @internal Whether a loop over a stream leaves the batch open. */
  isKept = false

  static {
    inspectAsText(this)
  }

  /** @internal */
  constructor(node: Node, memory: ImportedMemory) {
    const isStruct = node.field.layout.kind === 'struct'
    this.gate = memory.gate
    this.lifetime = memory.gate.owner
    this.length = node.length
    const column = new ArrowColumn(node, memory)
    if (isStruct && column.nullCount > 0) throw malformed(node.path, 'must not have rows that are null')
    this.columns = isStruct ? column.children : Object.freeze([column])
  }

  /**
   * Returns the column of a name, the first one if several have it.
   *
   * @throws {ArgumentError} if there is none.
   */
  column(name: string): ArrowColumn {
    if (typeof name !== 'string') throw wrongType('name', 'the name of a column', name)
    const found = this.columns.find((column) => column.name === name)
    if (found !== undefined) return found
    const names = this.columns.map((column) => column.name)
    throw new ArgumentError(`the batch has no column ${JSON.stringify(name)}`, {
      hint: didYouMean(name, names) ?? `Its columns are ${names.map((one) => JSON.stringify(one)).join(', ')}.`,
    })
  }

  get isAlive(): boolean {
    return this.gate.open
  }

  /** Keeps a batch open that a loop over a stream has passed, which would close it when it goes on. Returns the batch. */
  keep(): this {
    this.isKept = true
    return this
  }

  /**
   * Releases the memory, so that its tensors cannot be used any more.
   *
   * @throws {ScopeHeldError} if calls or holds use it; it stays open. @throws {ScopeClosedError} if it is closed.
   * @throws {ArgumentError} if the batch has a scope, which releases it.
   */
  close(): void {
    const { lifetime } = this
    if (!(lifetime instanceof ImportLifetime))
      throw new ArgumentError('the batch ends with its scope', {
        hint: 'Close the scope, or import the batch without one.',
      })
    lifetime.close()
  }

  /**
   * Closes the batch as soon as no call, hold or consumer of an export uses it: now, or when a later call of this package or the event loop
   * finds it unused. Ignored if it is closed or has a scope.
   */
  closeSoon(): void {
    if (this.lifetime instanceof ImportLifetime) closeLater(this.lifetime)
  }

  /** Closes the batch if it is open and has no scope. @throws {ScopeHeldError} if it is used. */
  [Symbol.dispose](): void {
    if (this.lifetime instanceof ImportLifetime) this.lifetime[Symbol.dispose]()
  }

  toString(): string {
    const columns = this.columns.map(({ name, field }) => `${JSON.stringify(name)} ${field.format}`)
    return `ArrowBatch of ${this.length} rows [${columns.join(', ')}]`
  }
}
