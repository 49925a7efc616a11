import type { TypeDescription } from '@tenon/packed-func'
import { ANY, readTypeSchema, schemaText, UNDECLARED, type TypeSchema, type Use } from '@tenon/packed-func/internal'
import type { Refinements } from './refinements.ts'

/** The names of members in declarations. */
export type MemberNaming = 'camel' | 'original'

/** What the declarations of a file share. It collects the type keys that have no class in the file. */
export class DeclarationContext {
  readonly naming: MemberNaming
  readonly #types: ReadonlyMap<string, TypeDescription>
  readonly #classes: ReadonlyMap<string, string>
  readonly #refinements: Refinements
  readonly #undeclared = new Set<string>()

  /** @param classes the names of the declared classes by type key */
  constructor(
    types: readonly TypeDescription[],
    classes: ReadonlyMap<string, string>,
    refinements: Refinements,
    naming: MemberNaming,
  ) {
    this.#types = new Map(types.map((type) => [type.key, type]))
    this.#classes = classes
    this.#refinements = refinements
    this.naming = naming
  }

  /** The keys that are `NativeObject` in the declarations, because the file has no class for them. */
  get undeclared(): readonly string[] {
    return [...this.#undeclared].toSorted()
  }

  /** A type whose class the file declares, with the class's name. */
  declared(key: string): { readonly type: TypeDescription; readonly name: string } | undefined {
    const [type, name] = [this.#types.get(key), this.#classes.get(key)]
    return type === undefined || name === undefined ? undefined : { type, name }
  }

  text(schema: TypeSchema, use: Use, of?: TypeSchema): string {
    return schemaText(schema, use, (key) => this.#textOf(key), of)
  }

  /** The type of what a function or field returns. @param place its name, such as `x.Grammar.fork` */
  resultText(place: string, schema: TypeSchema): string {
    return this.text(this.#refinements.get(place) ?? schema, 'result', schema)
  }

  /** The parameters `a0, a1, ...` of a function. @param mayOmit whether calls pass None for optional ones that are left out */
  parameters(schemas: readonly TypeSchema[], mayOmit: boolean): string {
    const fewest = schemas.findLastIndex(({ type }) => type !== 'Optional' && type !== 'None') + 1
    return schemas
      .map((schema, i) => `a${i}${mayOmit && i >= fewest ? '?' : ''}: ${this.text(schema, 'argument')}`)
      .join(', ')
  }

  #textOf(key: string): string {
    const name = this.#classes.get(key)
    if (name === undefined) this.#undeclared.add(key)
    return name ?? UNDECLARED
  }
}

/** The schema of a field. A field without one has any value. */
export const fieldSchema = (type: string | undefined): TypeSchema =>
  (type === undefined ? undefined : readTypeSchema(type)) ?? ANY

/** The result and the parameters of a function, or undefined if they are not known. */
export function signatureIn(type: string | undefined): readonly [TypeSchema, ...TypeSchema[]] | undefined {
  const schema = type === undefined ? undefined : readTypeSchema(type)
  return schema?.type === 'ffi.Function' && schema.args !== undefined
    ? (schema.args as [TypeSchema, ...TypeSchema[]])
    : undefined
}
