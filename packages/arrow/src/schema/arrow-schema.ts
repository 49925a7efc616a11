import { inspectAsText } from '@tenon/core/internal'
import type { Layout } from './format.ts'

/** A column of a schema, or a part of one. */
export interface ArrowField {
  readonly name: string
  /** Arrow's format string, such as `l` for int64 and `u` for utf8. */
  readonly format: string
  readonly isNullable: boolean
  readonly metadata: ReadonlyMap<string, string>
  readonly children: readonly ArrowField[]
  /** The field of the values, if the column has indices of a dictionary. */
  readonly dictionary: ArrowField | undefined
}

/** A field with what its format means. */
export interface KnownField extends ArrowField {
  readonly layout: Layout
  readonly children: readonly KnownField[]
  readonly dictionary: KnownField | undefined
}

/**
 * The columns of batches, read out of an `ArrowSchema` struct. It has no native memory, so it is not closed. {@link importSchema} makes one.
 */
export class ArrowSchema {
  readonly fields: readonly ArrowField[]
  readonly metadata: ReadonlyMap<string, string>
  /** @internal the field of the struct, or of a column that stands alone */
  readonly root: KnownField

  static {
    inspectAsText(this)
  }

  /** @internal */
  constructor(root: KnownField) {
    this.root = root
    this.fields = root.layout.kind === 'struct' ? root.children : [root]
    this.metadata = root.metadata
  }

  toString(): string {
    return `ArrowSchema [${this.fields.map(({ name, format }) => `${JSON.stringify(name)} ${format}`).join(', ')}]`
  }
}
