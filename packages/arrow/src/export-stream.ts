import { ArgumentError } from '@tenon/core'
import { checkOptions, coreFunctions, makeHold, wrongType } from '@tenon/core/internal'
import { ArrowStreamExport } from './export/arrow-export.ts'
import type { ExportField } from './export/export-node.ts'
import { fillArray, fillSchema } from './export/fill-structs.ts'
import { addSource, removeSource, type StreamSource, streamStubs } from './export/stream-stubs.ts'
import { type Described, describeColumns, type ExportColumns } from './export-batch.ts'
import { checkFilled, createStruct, KIND, releaseStruct } from './import/owned.ts'
import { type ArrowField, ArrowSchema } from './schema/arrow-schema.ts'

/** Options of {@link exportStream}. */
export interface ExportStreamOptions {
  /** The columns; by default those of the first batch, which is then read when the consumer asks for the schema. */
  readonly schema?: ArrowSchema
}

/**
 * Makes a stream of Arrow whose batches come from an iterable, which is read as the consumer asks for them. Each batch is as one of
 * `exportBatch()`. When the consumer releases the stream, the iterator is returned, so that a generator runs its `finally`. An error of the
 * iterable is the error of the stream, with the text of the error.
 *
 * The consumer can read from any thread, which then waits for the event loop of this one. So consume the stream in an asynchronous call
 * if the consumer has threads of its own.
 *
 * @param batches columns by name, as those of `exportBatch()`, with the same names and types in all of them.
 * @throws {ArgumentError} if the value is not an iterable, or an option is not valid. @throws {AllocationError} if memory is exhausted.
 * @example
 * using exported = exportStream([{ x: tensor([1, 2]) }, { x: tensor([3]) }])
 * Array.from(importStream(exported.stream), (batch) => batch.length) // [2, 1]
 */
export function exportStream(batches: Iterable<ExportColumns>, options?: ExportStreamOptions): ArrowStreamExport {
  const { schema } = checkOptions(options, ['schema'])
  if (schema !== undefined && !(schema instanceof ArrowSchema && schema.root.layout.kind === 'struct'))
    throw wrongType('schema', 'a schema of columns', schema)
  const make = (batches as Iterable<ExportColumns> | null | undefined)?.[Symbol.iterator]
  if (typeof make !== 'function')
    throw wrongType(
      'batches',
      'an iterable of columns',
      batches,
      'Pass an array or a generator. A consumer does not wait for promises.',
    )
  const made = createStruct(KIND.stream)
  try {
    const source = new IterableSource(make.call(batches), schema && fieldOf(schema))
    const id = addSource(source)
    const { getSchema, getNext } = streamStubs()
    const hold = makeHold(() => {
      removeSource(id)
      source.end()
    })
    const core = coreFunctions()
    const status = core.tn_arrow_export_stream(getSchema.address, getNext.address, id, hold, made.address)
    checkFilled(status, 'exporting a stream')
    return new ArrowStreamExport(made)
  } catch (error) {
    releaseStruct(made.handle)
    throw error
  }
}

/** A field as exports describe it. */
function copyField({ name, format, metadata, children }: ArrowField): ExportField {
  return { name, format, metadata, children: children.map(copyField) }
}

/** Whether fields have the same names and types. Their metadata can differ. */
const areAlike = (one: ExportField, other: ExportField): boolean =>
  one.name === other.name &&
  one.format === other.format &&
  one.children.length === other.children.length &&
  one.children.every((child, i) => areAlike(child, other.children[i]!))

const fieldOf = ({ root }: ArrowSchema): ExportField => copyField(root)

/** The batches of an iterable. */
class IterableSource implements StreamSource {
  readonly #iterator: Iterator<ExportColumns>
  #field: ExportField | undefined
  /** The first batch, if it was read for the schema. */
  #first: Described | undefined
  #isDone = false

  constructor(iterator: Iterator<ExportColumns>, field: ExportField | undefined) {
    this.#iterator = iterator
    this.#field = field
  }

  fillSchema(address: number): void {
    if (this.#field === undefined) {
      this.#first = this.#read()
      if (this.#first === undefined)
        throw new ArgumentError('a stream without batches must have a schema', {
          hint: 'Pass the option schema to exportStream().',
        })
      this.#field = this.#first.field
    }
    fillSchema(this.#field, address)
  }

  fillNext(address: number): void {
    const next = this.#first ?? this.#read()
    this.#first = undefined
    if (next === undefined) return
    this.#checkField(next)
    fillArray(next.node, next.memory, address)
  }

  #read(): Described | undefined {
    if (this.#isDone) return undefined
    const { done, value } = this.#iterator.next()
    if (done !== true) return describeColumns(value)
    this.#isDone = true
    return undefined
  }

  #checkField({ field, memory }: Described): void {
    this.#field ??= field
    if (areAlike(field, this.#field)) return
    memory.free()
    const shown = ({ children }: ExportField): string => children.map((one) => `${one.name} ${one.format}`).join(', ')
    throw new ArgumentError(`all batches must have the columns ${shown(this.#field)}, got ${shown(field)}`)
  }

  /** The consumer has released the stream. Nobody can be told of an error of the iterator, so it is an uncaught exception. */
  end(): void {
    this.#first?.memory.free()
    if (this.#isDone) return
    this.#isDone = true
    try {
      this.#iterator.return?.()
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }
}
