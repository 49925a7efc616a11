import type { Tensor } from '@tenon/core'
import { checkOptions, isPlainObject, wrongType, wrongValue } from '@tenon/core/internal'
import { ArrowExport } from './export/arrow-export.ts'
import {
  type ColumnValues,
  type ExportColumn,
  type ExportField,
  type ExportNode,
  exportNode,
} from './export/export-node.ts'
import { ExportedMemory } from './export/exported-memory.ts'
import { fillArray, fillSchema } from './export/fill-structs.ts'
import { createStruct, KIND, releaseStruct } from './import/owned.ts'

/** Columns by their names, all with the same number of rows. */
export type ExportColumns = Readonly<Record<string, ExportColumn>>

/** Options of {@link exportColumn}. */
export interface ExportColumnOptions {
  /** The name of the field. The default is the empty string. */
  readonly name?: string
  /** Which elements are not null, one for each along the first axis. */
  readonly validity?: Tensor<'bool'> | undefined
  /** Arrow's format string, for a type of the same memory: `tsu:UTC` for int64, `z` for bytes in a string tensor. */
  readonly format?: string | undefined
  /** The metadata of the field, as an imported field has them. */
  readonly metadata?: ReadonlyMap<string, string> | undefined
}

/**
 * Makes a record batch of Arrow over the memory of tensors, for a consumer in this process. On the main thread nothing is copied but booleans,
 * bitmaps, tensors with strides, and strings that do not lie in order; in a worker everything is, because the memory of a worker ends with it.
 *
 * @param columns the columns by name. Tensors with more axes than one become fixed-size lists.
 * @throws {ArgumentError} if a column is not valid, or the columns differ in length. @throws {UnsupportedError} if Arrow does not have a type.
 * @throws {ScopeClosedError} if memory is closed. @throws {AllocationError} if memory is exhausted.
 * @example
 * using exported = exportBatch({ x: tensor([1, 2, 3]) })
 * importBatch(exported.schema, exported.array).column('x').tensor().toArray() // [1, 2, 3]
 */
export function exportBatch(columns: ExportColumns): ArrowExport {
  return withStructs(() => describeColumns(columns))
}

/**
 * Makes an array of Arrow that is not in a batch, as {@link exportBatch}.
 *
 * @throws the errors of {@link exportBatch}
 */
export function exportColumn(values: ColumnValues, options?: ExportColumnOptions): ArrowExport {
  const { name = '', validity, format, metadata } = checkOptions(options, ['name', 'validity', 'format', 'metadata'])
  if (typeof name !== 'string') throw wrongType('name', 'a string', name)
  return withStructs(() => {
    const memory = new ExportedMemory()
    return guarded(memory, () => ({ ...exportNode(name, { values, validity, format, metadata }, memory), memory }))
  })
}

/** A described column or batch, from which the structs are filled. */
export interface Described {
  readonly field: ExportField
  readonly node: ExportNode
  readonly memory: ExportedMemory
}

/** Describes a batch, and adds the memory of its columns. @throws as {@link exportBatch} */
export function describeColumns(columns: ExportColumns): Described {
  if (!isPlainObject(columns)) throw wrongType('columns', 'an object with a tensor for each name', columns)
  const memory = new ExportedMemory()
  return guarded(memory, () => {
    const made = Object.entries(columns).map(([name, column]) => exportNode(name, column, memory))
    const length = made[0]?.node.length ?? 0
    made.forEach(({ field, node }) => {
      if (node.length !== length)
        throw wrongValue(`column ${JSON.stringify(field.name)}`, `${length} rows as the first column`, node.length)
    })
    const field = { name: '', format: '+s', children: made.map((column) => column.field) }
    const node = { length, nullCount: 0, buffers: [0], children: made.map((column) => column.node) }
    return { field, node, memory }
  })
}

function guarded(memory: ExportedMemory, describe: () => Described): Described {
  try {
    return describe()
  } catch (error) {
    memory.free()
    throw error
  }
}

function withStructs(describe: () => Described): ArrowExport {
  const { field, node, memory } = describe()
  const structs = []
  try {
    const schema = createStruct(KIND.schema)
    structs.push(schema)
    fillSchema(field, schema.address)
    const array = createStruct(KIND.array)
    structs.push(array)
    fillArray(node, memory, array.address)
    return new ArrowExport(schema, array)
  } catch (error) {
    for (const { handle } of structs) releaseStruct(handle)
    memory.free()
    throw error
  }
}
