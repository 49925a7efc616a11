import { wrongType } from '@tenon/core/internal'
import { checkForm } from '../check-form.ts'
import { invalid, violationOf, isU32 } from '@tenon/pools/internal'
import type { PoolsError } from '@tenon/pools'
import { checkIndex, checkU32s } from '../model/check-numbers.ts'
import type { Model, Operand } from '../model/model.ts'
import { combineDimensions, isFullySpecified, operandTypes } from '../model/operand-types.ts'

/** One use of a device buffer. */
export interface BufferRole {
  /** The index of the prepared model. */
  readonly modelIndex: number
  /** The index among its inputs or outputs. */
  readonly ioIndex: number
  /** The frequency of this role relative to the others: above 0, at most 1. (AIDL: `probability`.) */
  readonly frequency: number
}

/** A request for a device buffer in the form of NNAPI's HAL. */
export interface AllocateDescription {
  /** The dimensions, where 0 is open and settled by the roles. No dimensions leave everything to the roles. */
  readonly dimensions: readonly number[]
  readonly inputRoles: readonly BufferRole[]
  readonly outputRoles: readonly BufferRole[]
}

/** The models of prepared models; undefined for a prepared model of another driver. */
export type Models = readonly (Model | undefined)[]

export interface BufferShape {
  readonly operand: Operand
  readonly dimensions: readonly number[]
}

/**
 * Checks a request for a device buffer by the rules D1 to D10.
 *
 * @returns the error for the first rule that is broken; undefined for a valid request.
 */
export function validateAllocate(models: Models, description: AllocateDescription): PoolsError | undefined {
  if (!Array.isArray(models)) throw wrongType('models', 'an array of models', models)
  checkForm(description, 'description', ['dimensions', 'inputRoles', 'outputRoles'])
  return violationOf(() => checkAllocate(models, description))
}

export function checkAllocate(models: Models, description: AllocateDescription): BufferShape {
  const { dimensions, inputRoles, outputRoles } = description
  if (models.length === 0) throw invalid('D1', 'preparedModels', 'must not be empty: each role is of one')
  if (inputRoles.length + outputRoles.length === 0) throw invalid('D2', 'roles', 'must not be empty')
  checkU32s(dimensions, 'dimensions')
  const seen = new Set<string>()
  const found = [
    ...inputRoles.map((role, i) => checkRole(models, role, true, `inputRoles[${i}]`, seen)),
    ...outputRoles.map((role, i) => checkRole(models, role, false, `outputRoles[${i}]`, seen)),
  ]
  const first = found[0]!.operand
  let combined: readonly number[] | undefined = dimensions
  for (const { operand, path } of found) {
    const { type, scale, zeroPoint } = operand
    if (type !== first.type || scale !== first.scale || zeroPoint !== first.zeroPoint)
      throw invalid(
        'D8',
        path,
        `must name an operand of ${first.type} of scale ${first.scale}, as the others do`,
        `${type} of scale ${scale}`,
      )
    if (!operandTypes[type].isTensor && dimensions.length > 0)
      throw invalid('D10', 'dimensions', 'must be empty for a scalar', dimensions)
    combined = combineDimensions(combined, operand.dimensions)
    if (combined === undefined)
      throw invalid('D9', path, 'must name an operand whose dimensions fit the others', operand.dimensions)
  }
  return { operand: first, dimensions: combined }
}

function checkRole(
  models: Models,
  { modelIndex, ioIndex, frequency }: BufferRole,
  isInput: boolean,
  path: string,
  seen: Set<string>,
): { readonly operand: Operand; readonly path: string } {
  checkIndex('D3', `${path}.modelIndex`, modelIndex, models.length)
  const model = models[modelIndex]
  if (model === undefined) throw invalid('D4', `${path}.modelIndex`, 'must name a prepared model of this driver')
  const indexes = isInput ? model.main.inputIndexes : model.main.outputIndexes
  checkIndex('D5', `${path}.ioIndex`, ioIndex, indexes.length)
  if (!(frequency > 0 && frequency <= 1))
    throw invalid('D6', `${path}.frequency`, 'must be above 0 and at most 1', frequency)
  // The same model may be listed twice, and is then one model.
  const key = `${models.indexOf(model)} ${isInput} ${ioIndex}`
  if (seen.has(key)) throw invalid('D7', path, 'must not name a role twice')
  seen.add(key)
  return { operand: model.main.operands[indexes[ioIndex]!]!, path }
}

/** Returns the dimensions of a device buffer after a copy into it (D23, D24). @throws {PoolsError} */
export function checkCopyFrom(
  { operand, dimensions: initial }: { readonly operand: Pick<Operand, 'type'>; readonly dimensions: readonly number[] },
  given: readonly number[],
): readonly number[] {
  if (given.length === 0) {
    if (isFullySpecified(operand.type, initial)) return initial
    throw invalid('D24', 'dimensions', 'must complete the open ones of the buffer', given)
  }
  const bad = given.findIndex((size) => !isU32(size) || size === 0)
  if (bad !== -1) throw invalid('D24', `dimensions[${bad}]`, 'must be from 1 to 2^32 - 1', given[bad])
  const combined = operandTypes[operand.type].isTensor ? combineDimensions(initial, given) : undefined
  if (combined === undefined)
    throw invalid('D24', 'dimensions', `must fit those of the buffer, [${initial.join(', ')}]`, given)
  return combined
}
