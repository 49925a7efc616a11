import type { Layouts } from '../probe/layouts.ts'
import {
  type CType,
  type EnumDeclaration,
  type FunctionCType,
  type MemberDeclaration,
  type Place,
  type RecordDeclaration,
  withoutTypedefs,
} from '../read/c-types.ts'
import {
  type BoundEnum,
  type BoundRecord,
  type FunctionType,
  type Member,
  type MemberGroup,
  type RecordLayout,
  scalarKind,
  type Type,
} from './model.ts'

/** Scalars that neither a call nor memory can have in TypeScript, although the compiler knows their size. */
const UNSUPPORTED =
  /^(?:long double|.*_Complex|_Float(?:16|64x|128).*|__float(?:80|128)|__bf16|__fp16|_Decimal.*|(?:unsigned )?__int128)$/

/**
 * Turns types as headers spell them into those of the model, and collects the structs and enumerations that they reach. Each has one name,
 * which no function or constant has.
 */
export class TypeBuilder {
  readonly #layouts: Layouts
  readonly #names: ReadonlyMap<RecordDeclaration | EnumDeclaration, string>
  readonly #records = new Map<RecordDeclaration, BoundRecord>()
  readonly #withLayout = new Set<RecordDeclaration>()
  readonly #recordsById = new Map<string, BoundRecord>()
  readonly #enums = new Map<EnumDeclaration, BoundEnum>()

  readonly #types = new Map<CType, Type>()
  readonly #pointees = new Map<CType, Type>()
  readonly #isOwned: (place: Place) => boolean

  /**
   * @param names the name of each struct, union and enumeration that has one.
   * @param isOwned whether a place is in the headers that are bound. Other structs stay opaque while there are only pointers to them.
   */
  constructor(
    layouts: Layouts,
    names: ReadonlyMap<RecordDeclaration | EnumDeclaration, string>,
    isOwned: (place: Place) => boolean,
  ) {
    this.#layouts = layouts
    this.#names = names
    this.#isOwned = isOwned
  }

  /** The structs and unions that the types of the model reach. */
  get records(): BoundRecord[] {
    return [...this.#records.values()]
  }

  /** A struct or union by its name. */
  recordOf(id: string): BoundRecord | undefined {
    return this.#recordsById.get(id)
  }

  get enums(): BoundEnum[] {
    return [...this.#enums.values()]
  }

  /**
   * Each type is built once: typedefs of functions may have each other as parameters, many times over.
   *
   * @param isPointee whether only a pointer to the type is needed, so that it may stay opaque.
   */
  typeOf(type: CType, isPointee = false): Type {
    const known = isPointee ? this.#pointees : this.#types
    let built = known.get(type)
    if (!built) {
      built = this.#build(type, isPointee)
      known.set(type, built)
    }
    return built
  }

  #build(type: CType, isPointee: boolean): Type {
    switch (type.kind) {
      case 'void':
      case 'va_list':
        return { kind: type.kind }
      case 'unsupported':
        return { kind: 'unsupported', c: type.text }
      case 'typedef': {
        const named = this.typeOf(withoutTypedefs(type), isPointee)
        return named.kind === 'scalar' ? { ...named, typedef: type.name } : named
      }
      case 'scalar':
        return this.#scalar(type.name)
      case 'pointer':
        return { kind: 'pointer', to: this.typeOf(type.to, true), isConst: type.toConst }
      case 'array':
        return {
          kind: 'array',
          of: this.typeOf(type.of),
          count: type.count === undefined ? undefined : this.#layouts.counts.get(type.count),
        }
      case 'function':
        return this.functionType(type)
      case 'enum':
        return this.#enum(type.enumeration)
      case 'record':
        return this.#record(type.record, isPointee)
    }
  }

  functionType({ result, parameters, isVariadic }: FunctionCType): FunctionType {
    return {
      kind: 'function',
      result: this.typeOf(result),
      parameters: parameters.map(({ name, type }) => ({ name, type: this.typeOf(type) })),
      isVariadic,
    }
  }

  #scalar(c: string): Type {
    const facts = this.#layouts.scalars.get(c)
    if (!facts || UNSUPPORTED.test(c) || facts.byteSize > 8) return { kind: 'unsupported', c }
    if (c === '_Bool') return { kind: 'scalar', as: 'bool', c }
    return { kind: 'scalar', as: scalarKind(facts.byteSize, facts.isSigned, facts.isReal), c }
  }

  #enum(declaration: EnumDeclaration): Type {
    const facts = this.#layouts.enums.get(declaration)
    const { enumerators, tag, place } = declaration
    // An enumeration that is only named is an int to its users.
    if (!facts || !enumerators)
      return tag === undefined && enumerators
        ? { kind: 'scalar', as: 'int32', c: 'int' }
        : { kind: 'unsupported', c: `enum ${tag}` }
    const id = this.#names.get(declaration)
    const as = scalarKind(facts.byteSize, facts.isSigned, false)
    if (id !== undefined && !this.#enums.has(declaration))
      this.#enums.set(declaration, { id, as, names: enumerators.map(({ name }) => name), place })
    return { kind: 'enum', as, id }
  }

  #record(declaration: RecordDeclaration, isPointee: boolean): Type {
    const { keyword: kind, place, spelling } = declaration
    const id = this.#names.get(declaration)
    if (id === undefined) return { kind: 'unsupported', c: `a ${kind} without a name` }
    const known = this.#records.get(declaration)
    const isOpaque = isPointee && !this.#isOwned(place)
    if (!known) this.#keep(declaration, { id, c: spelling ?? id, kind, layout: undefined, place })
    if (!isOpaque && !this.#withLayout.has(declaration)) {
      // Before the members, which may point to the struct itself.
      this.#withLayout.add(declaration)
      const layout = this.#layoutOf(declaration)
      this.#keep(declaration, { ...this.#records.get(declaration)!, layout })
    }
    return { kind: 'record', id }
  }

  #keep(declaration: RecordDeclaration, record: BoundRecord): void {
    this.#records.set(declaration, record)
    this.#recordsById.set(record.id, record)
  }

  #layoutOf(declaration: RecordDeclaration): RecordLayout | undefined {
    const facts = this.#layouts.records.get(declaration)
    if (!facts || !declaration.members) return undefined
    const members: Member[] = []
    const groups: MemberGroup[] = []
    const add = ({ name, type, isConst }: MemberDeclaration): void => {
      if (name === undefined) {
        if (type.kind !== 'record' || !type.record.members) return
        const index = groups.length
        const first = members.length
        groups.push({ kind: type.record.keyword, first, count: 0 })
        for (const inner of type.record.members) add(inner)
        groups[index] = { kind: type.record.keyword, first, count: members.length - first }
        return
      }
      const bits = facts.bits.get(name)
      const byteOffset = facts.offsets.get(name)
      if (bits) {
        const scalar = this.typeOf(type)
        const as = scalar.kind === 'scalar' || scalar.kind === 'enum' ? scalar.as : 'uint32'
        members.push({ kind: 'bits', name, as, isConst, ...bits })
      } else if (byteOffset !== undefined) {
        members.push({ kind: 'field', name, type: this.typeOf(type), isConst, byteOffset })
      }
    }
    for (const member of declaration.members) add(member)
    return { byteSize: facts.byteSize, byteAlignment: facts.byteAlignment, members, groups }
  }
}
