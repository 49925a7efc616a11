import { Attribute, Form } from './constants.ts'
import { DieCursor, type DieAttributes } from './die-cursor.ts'
import type { DwarfFile } from './dwarf-file.ts'
import type { FormValue } from './forms.ts'
import { openUnit, textOf, type Unit } from './unit.ts'
import { unitAt } from './units.ts'

/** The most entries in a chain of references. Real chains have three. */
const MAX_REFERENCES = 16

export interface FunctionNames {
  /** The name in the source, without the namespace or class. */
  readonly name: string | undefined
  /** The name in the symbol table. */
  readonly linkageName: string | undefined
}

/** An entry, and its unit. */
interface Place {
  readonly unit: Unit
  readonly attributes: DieAttributes
}

/** The names of a function, which may be in the entry that the function is an instance of, or in its declaration. */
export function namesOf(unit: Unit, attributes: DieAttributes, supplement: DwarfFile | undefined): FunctionNames {
  let name: string | undefined
  let linkageName: string | undefined
  let place: Place | undefined = { unit, attributes }
  for (let left = MAX_REFERENCES; place !== undefined && left > 0; left -= 1) {
    const { unit: home, attributes: found }: Place = place
    const inHome = home.header.file === supplement ? undefined : supplement
    name ??= textOf(home, found.get(Attribute.name), inHome)
    const linkage = found.get(Attribute.linkageName) ?? found.get(Attribute.mipsLinkageName)
    linkageName ??= textOf(home, linkage, inHome)
    if (linkageName !== undefined && name !== undefined) break
    const reference: FormValue | undefined = found.get(Attribute.abstractOrigin) ?? found.get(Attribute.specification)
    place = reference && follow(home, reference, inHome)
  }
  return { name, linkageName }
}

function follow(unit: Unit, { form, value }: FormValue, supplement: DwarfFile | undefined): Place | undefined {
  const { header } = unit
  const isLocal = form >= Form.ref1 && form <= Form.refUdata
  const file = isSupplementary(form) ? supplement : form === Form.refAddr ? header.file : undefined
  if (!isLocal && file === undefined) return undefined
  const target = isLocal ? header : unitAt(file!, value)
  const offset = isLocal ? header.offset + value : value
  if (offset < target.diesAt || offset >= target.end) return undefined
  const dies = new DieCursor(target, offset)
  if (!dies.next()) return undefined
  return { unit: target === header ? unit : openUnit(target), attributes: dies.attributes() }
}

const isSupplementary = (form: number): boolean =>
  form === Form.gnuRefAlt || form === Form.refSup4 || form === Form.refSup8
