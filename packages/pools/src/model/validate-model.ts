import { checkOptions } from '@tenon/core/internal'
import { invalid, type PoolsError, violationOf } from '../error-status.ts'
import type { Model, OperandLifetime, Subgraph } from './model.ts'
import { isU32 } from './operand-types.ts'
import { checkOperand, type ValidationOptions } from './validate-operand.ts'

/**
 * Checks a model by the rules M1 to M18, without touching memory: pools are only asked for their sizes.
 *
 * @returns the first rule that is broken, with its place; undefined for a valid model.
 * @example
 * validateModel(model)?.rule // undefined
 */
export function validateModel(model: Model, options: ValidationOptions = {}): PoolsError | undefined {
  checkOptions(options, ['strictAlignment'])
  return violationOf(() => checkModel(model, options))
}

/** As {@link validateModel}. @throws {PoolsError} */
export function checkModel(model: Model, options: ValidationOptions = {}): void {
  checkSubgraph(model, model.main, 'main', options)
  model.referenced.forEach((subgraph, i) => checkSubgraph(model, subgraph, `referenced[${i}]`, options))
  checkNoCycles(model)
}

function checkSubgraph(model: Model, subgraph: Subgraph, path: string, options: ValidationOptions): void {
  const { operands, operations, inputIndexes, outputIndexes } = subgraph
  if (operands.length === 0) throw invalid('M1', `${path}.operands`, 'must not be empty')
  if (operations.length === 0) throw invalid('M1', `${path}.operations`, 'must not be empty')
  if (inputIndexes.length === 0) throw invalid('M1', `${path}.inputIndexes`, 'must not be empty')
  if (outputIndexes.length === 0) throw invalid('M1', `${path}.outputIndexes`, 'must not be empty')
  operands.forEach((operand, i) => checkOperand(model, operand, `${path}.operands[${i}]`, options))
  checkIndexes(subgraph, inputIndexes, 'SUBGRAPH_INPUT', `${path}.inputIndexes`)
  checkIndexes(subgraph, outputIndexes, 'SUBGRAPH_OUTPUT', `${path}.outputIndexes`)
  checkOrder(subgraph, path)
}

/** The list names every operand of a lifetime, once (M16). */
function checkIndexes(
  { operands }: Subgraph,
  indexes: readonly number[],
  lifetime: OperandLifetime,
  path: string,
): void {
  const seen = new Set<number>()
  indexes.forEach((index, i) => {
    if (!isU32(index) || index >= operands.length)
      throw invalid('M16', `${path}[${i}]`, `must be below ${operands.length}`, index)
    if (operands[index]!.lifetime !== lifetime)
      throw invalid('M16', `${path}[${i}]`, `must name an operand with lifetime ${lifetime}`)
    if (seen.has(index)) throw invalid('M16', `${path}[${i}]`, `must not name operand ${index} twice`)
    seen.add(index)
  })
  const missing = operands.findIndex((operand, i) => operand.lifetime === lifetime && !seen.has(i))
  if (missing !== -1) throw invalid('M16', path, `must name operand ${missing}, whose lifetime is ${lifetime}`)
}

/** Nothing is read before it is written, nothing is written twice, everything is written (M17). */
function checkOrder({ operands, operations }: Subgraph, path: string): void {
  const isWritten = operands.map(({ lifetime }) => lifetime !== 'TEMPORARY_VARIABLE' && lifetime !== 'SUBGRAPH_OUTPUT')
  operations.forEach((operation, i) => {
    const at = `${path}.operations[${i}]`
    if (operation.outputs.length === 0) throw invalid('M17', `${at}.outputs`, 'must not be empty')
    operation.inputs.forEach((index, k) => {
      if (!isU32(index) || index >= operands.length)
        throw invalid('M17', `${at}.inputs[${k}]`, `must be below ${operands.length}`, index)
      if (!isWritten[index]) throw invalid('M17', `${at}.inputs[${k}]`, `reads operand ${index} before it is written`)
    })
    operation.outputs.forEach((index, k) => {
      if (!isU32(index) || index >= operands.length)
        throw invalid('M17', `${at}.outputs[${k}]`, `must be below ${operands.length}`, index)
      if (isWritten[index])
        throw invalid('M17', `${at}.outputs[${k}]`, `writes operand ${index}, which has a value already`)
      isWritten[index] = true
    })
  })
  const unwritten = isWritten.indexOf(false)
  if (unwritten !== -1) throw invalid('M17', `${path}.operands[${unwritten}]`, 'is never written')
}

/** Subgraphs must not reach themselves (M15). */
function checkNoCycles(model: Model): void {
  const state = model.referenced.map((): 'new' | 'open' | 'done' => 'new')
  const visit = (subgraph: Subgraph, path: string): void => {
    subgraph.operands.forEach(({ lifetime, location }, i) => {
      if (lifetime !== 'SUBGRAPH' || state[location.offset] === 'done') return
      if (state[location.offset] === 'open')
        throw invalid('M15', `${path}.operands[${i}]`, 'makes a cycle of subgraphs')
      state[location.offset] = 'open'
      visit(model.referenced[location.offset]!, `referenced[${location.offset}]`)
      state[location.offset] = 'done'
    })
  }
  visit(model.main, 'main')
}
