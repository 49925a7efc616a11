import { invalid, type PoolsError, violationOf } from '../error-status.ts'
import type { Model, Operand } from '../model/model.ts'
import { combineDimensions, isFullySpecified, isU32, operandTypes } from '../model/operand-types.ts'

/** One use that a device buffer is for. */
export interface BufferRole {
  /** Which of the prepared models. */
  readonly modelIndex: number
  /** Which of its inputs or outputs. */
  readonly ioIndex: number
  /** How often the buffer has this role, relative to its others: above 0, at most 1. (AIDL: `probability`.) */
  readonly frequency: number
}

/** A request for a device buffer as NNAPI's HAL has it. */
export interface AllocateDescription {
  /** 0 is an axis that the roles settle; none at all leaves everything to them. */
  readonly dimensions: readonly number[]
  readonly inputRoles: readonly BufferRole[]
  readonly outputRoles: readonly BufferRole[]
}

/** What a device buffer of a valid description will hold. */
export interface BufferShape {
  readonly operand: Operand
  readonly dimensions: readonly number[]
}

/**
 * Checks a request for a device buffer by the rules D1 to D10.
 *
 * @param models the models behind the prepared models; undefined for what is not one of this driver's.
 * @returns the first rule that is broken, with its place; undefined for a valid request.
 */
export function validateAllocate(
  models: readonly (Model | undefined)[],
  description: AllocateDescription,
): PoolsError | undefined {
  return violationOf(() => checkAllocate(models, description))
}

/** As {@link validateAllocate}. @throws {PoolsError} */
export function checkAllocate(models: readonly (Model | undefined)[], description: AllocateDescription): BufferShape {
  const { dimensions, inputRoles, outputRoles } = description
  if (models.length === 0) throw invalid('D1', 'preparedModels', 'must not be empty')
  if (inputRoles.length + outputRoles.length === 0) throw invalid('D2', 'roles', 'must not be empty')
  const bad = dimensions.findIndex((size) => !isU32(size))
  if (bad !== -1) throw invalid('Q20', `dimensions[${bad}]`, 'must be from 0 to 2^32 - 1', dimensions[bad])
  const seen = new Set<string>()
  const found = [
    ...inputRoles.map((role, i) => checkRole(models, role, true, `inputRoles[${i}]`, seen)),
    ...outputRoles.map((role, i) => checkRole(models, role, false, `outputRoles[${i}]`, seen)),
  ]
  const first = found[0]!.operand
  let combined: readonly number[] | undefined = dimensions
  for (const { operand, path } of found) {
    if (operand.type !== first.type || operand.scale !== first.scale || operand.zeroPoint !== first.zeroPoint) {
      throw invalid(
        'D8',
        path,
        `must name an operand like the others: ${first.type} of scale ${first.scale}, got ${operand.type} of scale ${operand.scale}`,
      )
    }
    if (!operandTypes[operand.type].isTensor && dimensions.length > 0)
      throw invalid('D10', 'dimensions', 'must be empty for a scalar')
    combined = combineDimensions(combined, operand.dimensions)
    if (combined === undefined)
      throw invalid('D9', path, "must name an operand whose dimensions fit the others'", operand.dimensions)
  }
  return { operand: first, dimensions: combined }
}

function checkRole(
  models: readonly (Model | undefined)[],
  { modelIndex, ioIndex, frequency }: BufferRole,
  isInput: boolean,
  path: string,
  seen: Set<string>,
): { readonly operand: Operand; readonly path: string } {
  if (!isU32(modelIndex) || modelIndex >= models.length) {
    throw invalid('D3', `${path}.modelIndex`, `must be below ${models.length}`, modelIndex)
  }
  const model = models[modelIndex]
  if (model === undefined) throw invalid('D4', `${path}.modelIndex`, 'must name a prepared model of this driver')
  const indexes = isInput ? model.main.inputIndexes : model.main.outputIndexes
  if (!isU32(ioIndex) || ioIndex >= indexes.length)
    throw invalid('D5', `${path}.ioIndex`, `must be below ${indexes.length}`, ioIndex)
  if (!(frequency > 0 && frequency <= 1))
    throw invalid('D6', `${path}.frequency`, 'must be above 0 and at most 1', frequency)
  // The same model may be listed twice: what counts is which it is.
  const key = `${models.indexOf(model)} ${isInput} ${ioIndex}`
  if (seen.has(key)) throw invalid('D7', path, 'must not name a role twice')
  seen.add(key)
  return { operand: model.main.operands[indexes[ioIndex]!]!, path }
}

/** Checks the sizes of a copy into a device buffer (D23, D24) and returns the dimensions it will have. @throws {PoolsError} */
export function checkCopyFrom(
  { operand, dimensions: initial }: { readonly operand: Pick<Operand, 'type'>; readonly dimensions: readonly number[] },
  given: readonly number[],
): readonly number[] {
  const isKnown = isFullySpecified(operand.type, initial)
  if (given.length === 0) {
    if (!isKnown) throw invalid('D24', 'dimensions', 'must be given, since those of the buffer are open')
    return initial
  }
  const bad = given.findIndex((size) => !isU32(size) || size === 0)
  if (bad !== -1) throw invalid('D24', `dimensions[${bad}]`, 'must be from 1 to 2^32 - 1', given[bad])
  const combined = operandTypes[operand.type].isTensor ? combineDimensions(initial, given) : undefined
  if (combined === undefined)
    throw invalid('D24', 'dimensions', `must fit those of the buffer, [${initial.join(', ')}]`, given)
  return combined
}
