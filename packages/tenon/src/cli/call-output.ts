import type { Tensor } from '@tenon/core'
import { formatTensor } from './format-tensor.ts'
import { jsonValues } from './json-values.ts'
import type { ResultSpec } from './tensor-spec.ts'
import { printData, printTalk } from './terminal.ts'
import { formatTiming, type Timing } from './timing.ts'

/** What is known about a result besides its tensor. */
export interface ShownResult extends Pick<ResultSpec, 'path'> {
  /** The name in the signature, if there is one. */
  readonly name?: string
}

export function printResults(specs: readonly ShownResult[], results: readonly Tensor[]): void {
  results.forEach((result, index) => {
    const { path, name = `result ${index}` } = specs[index]!
    if (path !== undefined) printTalk(`${path}: ${result.type}`)
    else {
      if (results.length > 1) printTalk(`${name}: ${result.type}`)
      printData(formatTensor(result))
    }
  })
}

export function printTiming(timing: Timing | undefined): void {
  if (timing !== undefined) printTalk(formatTiming(timing))
}

export function jsonResults(specs: readonly ShownResult[], results: readonly Tensor[]): unknown[] {
  return results.map((result, index) => {
    const { path, name } = specs[index]!
    return { name, type: String(result.type), ...(path === undefined ? { values: jsonValues(result) } : { path }) }
  })
}
