import type { BoundRecord, FunctionType, Model } from '../model/model.ts'

/** A function, or a function pointer of a table. */
export interface Callable {
  readonly name: string
  readonly type: FunctionType
  /** The close functions that are named without their table are looked up here first. */
  readonly table: string | undefined
}

/** The functions of a model, and the function pointers of its structs. */
export const callablesOf = ({ functions, records }: Model): Callable[] => [
  ...functions.map(({ name, type }) => ({ name, type, table: undefined })),
  ...records.flatMap((record) =>
    functionMembers(record).map(({ name, type }) => ({ name: `${record.id}.${name}`, type, table: record.id })),
  ),
]

/** The function pointers of a struct. */
export function functionMembers({ layout }: BoundRecord): { readonly name: string; readonly type: FunctionType }[] {
  return (layout?.members ?? []).flatMap((member) => {
    const type = member.kind === 'field' && member.type.kind === 'pointer' ? member.type.to : undefined
    return type?.kind === 'function' ? [{ name: member.name, type }] : []
  })
}
