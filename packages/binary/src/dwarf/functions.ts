import { BinaryFormatError } from '../binary-format-error.ts'
import { DwarfTag } from './constants.ts'
import { DieCursor, type DieAttributes } from './die-cursor.ts'
import { forEachRange, hasRange } from './ranges.ts'
import { RangeTable } from './range-table.ts'
import type { Unit } from './unit.ts'

/** The deepest nesting of entries. Those of real programs are some tens deep. */
const MAX_DEPTH = 10_000

/** The functions of a unit, by the ranges of their code. */
export class FunctionIndex {
  readonly #unit: Unit
  /** The offsets of their entries. */
  readonly #offsets = new RangeTable()

  constructor(unit: Unit) {
    this.#unit = unit
    const { header } = unit
    const dies = new DieCursor(header, header.diesAt)
    for (let tag = dies.next(); tag !== undefined; tag = dies.next()) {
      if (tag !== DwarfTag.subprogram) continue
      const { offset } = dies
      forEachRange(unit, dies.attributes(), (low, high) => this.#offsets.add(low, high, offset))
    }
  }

  /** The entries of the function at an address, and of the functions that are inlined into it there, outermost first. */
  find(address: number): readonly DieAttributes[] {
    // Of several functions that contain the address, the smallest counts.
    const [offset] = this.#offsets.find(address)
    return offset === undefined ? [] : readChain(this.#unit, offset, address)
  }
}

function readChain(unit: Unit, offset: number, address: number): DieAttributes[] {
  const dies = new DieCursor(unit.header, offset)
  dies.next()
  const hasChildren = dies.hasChildren
  const chain = [dies.attributes()]
  /** The depth of the innermost entry of the chain. */
  let chainDepth = 0
  let depth = hasChildren ? 1 : 0
  while (depth > chainDepth) {
    const tag = dies.next()
    if (tag === undefined) break
    if (tag === 0) {
      depth -= 1
      continue
    }
    if (tag === DwarfTag.subprogram) {
      dies.skipChildren()
      continue
    }
    if (tag === DwarfTag.inlinedSubroutine) {
      const attributes = dies.attributes()
      if (!hasRange(unit, attributes, address)) {
        dies.skipChildren()
        continue
      }
      chain.push(attributes)
      chainDepth = depth
    }
    if (dies.hasChildren) depth += 1
    else if (chainDepth === depth) break
    if (depth > MAX_DEPTH)
      throw new BinaryFormatError(`the entries of a function are nested more than ${MAX_DEPTH} deep`)
  }
  return chain
}
