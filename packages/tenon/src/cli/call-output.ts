import { Tensor } from '@tenon/core'
import { formatTensor } from './format-tensor.ts'
import { jsonValues } from './json-values.ts'
import type { ResultSpec } from './tensor-spec.ts'
import { printData, printTalk } from './terminal.ts'
import type { StringResult } from './string-files.ts'
import { formatTiming, type Timing } from './timing.ts'

/** A result as the command prints it: a tensor, or strings that were made text. */
export type Shown = Tensor | StringResult

/** What is known about a result besides its tensor. */
export interface ShownResult extends Pick<ResultSpec, 'path'> {
  /** The name in the signature, if there is one. */
  readonly name?: string
}

export function printResults(specs: readonly ShownResult[], results: readonly Shown[]): void {
  results.forEach((result, index) => {
    const { path, name = `result ${index}` } = specs[index]!
    if (path !== undefined) printTalk(`${path}: ${String(result.type)}`)
    else {
      if (results.length > 1) printTalk(`${name}: ${String(result.type)}`)
      printData(result instanceof Tensor ? formatTensor(result) : result.text)
    }
  })
}

export function printTiming(timing: Timing | undefined): void {
  if (timing !== undefined) printTalk(formatTiming(timing))
}

export function jsonResults(specs: readonly ShownResult[], results: readonly Shown[]): unknown[] {
  return results.map((result, index) => {
    const { path, name } = specs[index]!
    const values = (): unknown => (result instanceof Tensor ? jsonValues(result) : result.values)
    return { name, type: String(result.type), ...(path === undefined ? { values: values() } : { path }) }
  })
}
