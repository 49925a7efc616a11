import type { BoundRecord } from '../model/model.ts'
import { type ValueMembers, type ValueShape, valueMembersOf } from '../model/value-layout.ts'
import { identifier, objectKey } from './identifiers.ts'

/** The texts of layouts, each written once: structs may contain each other many times over. */
const texts = new WeakMap<BoundRecord, string>()

/** The layout of a struct or union that can be passed by value: its members with their offsets. Undefined for others. */
export function structLayout(record: BoundRecord, records: ReadonlyMap<string, BoundRecord>): string | undefined {
  let text = texts.get(record)
  if (text === undefined) {
    const members = valueMembersOf(record, (id) => records.get(id))
    text = typeof members === 'string' ? '' : record.kind === 'struct' ? textOf(members) : groupText(members)
    texts.set(record, text)
  }
  return text === '' ? undefined : text
}

/** The members of a union, or of a struct without a name. `union` and `struct` are no names of members. */
const groupText = (members: ValueMembers): string => `{ ${members.kind}: ${textOf(members)} }`

const textOf = ({ members }: ValueMembers): string =>
  `{ ${members.map(({ name, byteOffset, shape }) => `${objectKey(name)}: [${byteOffset}, ${expressionOf(shape)}]`).join(', ')} }`

function expressionOf(shape: ValueShape): string {
  switch (shape.kind) {
    case 'scalar':
      return `'${shape.as}'`
    case 'array':
      return `[${shape.count}, ${expressionOf(shape.of)}]`
    case 'record':
      return `${identifier(shape.id)}.layout`
    case 'group':
      return groupText(shape.of)
  }
}
