import { checkOptions } from '@tenon/core/internal'
import { invalid, violationOf } from '@tenon/pools/internal'
import type { PoolsError } from '@tenon/pools'
import { checkIndex, type ValidationOptions } from './check-numbers.ts'
import { checkModelForm, type Model, type Subgraph } from './model.ts'
import { checkOperand } from './validate-operand.ts'

/**
 * Checks a model by the rules M1 to M18, without reading memory. The check uses only the sizes of the pools.
 *
 * @returns the error for the first rule that is broken; undefined for a valid model.
 * @example
 * validateModel(model)?.rule // undefined
 */
export function validateModel(model: Model, options: ValidationOptions = {}): PoolsError | undefined {
  checkOptions(options, ['strictAlignment'])
  checkModelForm(model)
  return violationOf(() => checkModel(model, options))
}

export function checkModel(model: Model, options: ValidationOptions = {}): void {
  checkSubgraph(model, model.main, 'main', options)
  model.referenced.forEach((subgraph, i) => checkSubgraph(model, subgraph, `referenced[${i}]`, options))
  checkNoCycles(model)
}

function checkSubgraph(model: Model, subgraph: Subgraph, path: string, options: ValidationOptions): void {
  for (const list of ['operands', 'operations', 'inputIndexes', 'outputIndexes'] as const)
    if (subgraph[list].length === 0) throw invalid('M1', `${path}.${list}`, 'must not be empty')
  subgraph.operands.forEach((operand, i) => checkOperand(model, operand, `${path}.operands[${i}]`, options))
  checkIndexes(subgraph, 'inputIndexes', path)
  checkIndexes(subgraph, 'outputIndexes', path)
  checkOrder(subgraph, path)
}

/** Checks that a list names every operand of a lifetime once (M16). */
function checkIndexes(subgraph: Subgraph, list: 'inputIndexes' | 'outputIndexes', path: string): void {
  const { operands } = subgraph
  const lifetime = list === 'inputIndexes' ? 'SUBGRAPH_INPUT' : 'SUBGRAPH_OUTPUT'
  const seen = new Set<number>()
  subgraph[list].forEach((index, i) => {
    const at = `${path}.${list}[${i}]`
    checkIndex('M16', at, index, operands.length)
    if (operands[index]!.lifetime !== lifetime)
      throw invalid('M16', at, `must name an operand with lifetime ${lifetime}`)
    if (seen.has(index)) throw invalid('M16', at, `must not name operand ${index} twice`)
    seen.add(index)
  })
  const missing = operands.findIndex((operand, i) => operand.lifetime === lifetime && !seen.has(i))
  if (missing !== -1)
    throw invalid('M16', `${path}.${list}`, `must name operand ${missing}, whose lifetime is ${lifetime}`)
}

/** Checks that operands are written before they are read, and that each is written exactly once (M17). */
function checkOrder({ operands, operations }: Subgraph, path: string): void {
  const isWritten = operands.map(({ lifetime }) => lifetime !== 'TEMPORARY_VARIABLE' && lifetime !== 'SUBGRAPH_OUTPUT')
  operations.forEach(({ inputs, outputs }, i) => {
    const at = `${path}.operations[${i}]`
    if (outputs.length === 0) throw invalid('M17', `${at}.outputs`, 'must not be empty')
    inputs.forEach((index, k) => {
      checkIndex('M17', `${at}.inputs[${k}]`, index, operands.length)
      if (!isWritten[index]) throw invalid('M17', `${at}.inputs[${k}]`, `reads operand ${index} before it is written`)
    })
    outputs.forEach((index, k) => {
      checkIndex('M17', `${at}.outputs[${k}]`, index, operands.length)
      if (isWritten[index])
        throw invalid('M17', `${at}.outputs[${k}]`, `writes operand ${index}, which has a value already`)
      isWritten[index] = true
    })
  })
  const unwritten = isWritten.indexOf(false)
  if (unwritten !== -1) throw invalid('M17', `${path}.operands[${unwritten}]`, 'is never written')
}

function checkNoCycles(model: Model): void {
  const state = model.referenced.map((): 'new' | 'open' | 'done' => 'new')
  const visit = (subgraph: Subgraph, path: string): void => {
    subgraph.operands.forEach(({ lifetime, location: { offset } }, i) => {
      if (lifetime !== 'SUBGRAPH' || state[offset] === 'done') return
      if (state[offset] === 'open') throw invalid('M15', `${path}.operands[${i}]`, 'makes a cycle of subgraphs')
      state[offset] = 'open'
      visit(model.referenced[offset]!, `referenced[${offset}]`)
      state[offset] = 'done'
    })
  }
  visit(model.main, 'main')
}
