import type { BoundRecord } from '../model/model.ts'
import { type ValueShape, valueMembersOf } from '../model/value-layout.ts'
import { identifier, objectKey } from './identifiers.ts'

/** The texts of layouts, each written once: structs may contain each other many times over. */
const texts = new WeakMap<BoundRecord, string>()

/** The layout of a struct that can be passed by value: its members with their offsets. Undefined for others. */
export function structLayout(record: BoundRecord, records: ReadonlyMap<string, BoundRecord>): string | undefined {
  let text = texts.get(record)
  if (text === undefined) {
    const members = valueMembersOf(record, (id) => records.get(id))
    text =
      typeof members === 'string'
        ? ''
        : `{ ${members.map(({ name, byteOffset, shape }) => `${objectKey(name)}: [${byteOffset}, ${expressionOf(shape)}]`).join(', ')} }`
    texts.set(record, text)
  }
  return text === '' ? undefined : text
}

function expressionOf(shape: ValueShape): string {
  if (shape.kind === 'scalar') return `'${shape.as}'`
  return shape.kind === 'array' ? `[${shape.count}, ${expressionOf(shape.of)}]` : `${identifier(shape.id)}.layout`
}
