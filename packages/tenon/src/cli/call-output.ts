import type { Tensor } from '@tenon/core'
import { formatTensor } from './format-tensor.ts'
import { jsonValues } from './json-values.ts'
import type { ResultSpec } from './tensor-spec.ts'
import { printData, printTalk } from './terminal.ts'
import { formatTiming, type Timing } from './timing.ts'

export function printResults(specs: readonly ResultSpec[], results: readonly Tensor[]): void {
  results.forEach((result, index) => {
    const { path } = specs[index]!
    if (path !== undefined) printTalk(`${path}: ${result.type}`)
    else {
      if (results.length > 1) printTalk(`result ${index}: ${result.type}`)
      printData(formatTensor(result))
    }
  })
}

export function printTiming(timing: Timing | undefined): void {
  if (timing !== undefined) printTalk(formatTiming(timing))
}

export function jsonResults(specs: readonly ResultSpec[], results: readonly Tensor[]): unknown[] {
  return results.map((result, index) => {
    const { path } = specs[index]!
    return { type: String(result.type), ...(path === undefined ? { values: jsonValues(result) } : { path }) }
  })
}
