import type { Tensor } from '@tenon/core'
import type { ParameterValue } from '../model/run-context.ts'
import type { Cancellation } from '../service/cancellation.ts'

/** One request that waits for its turn, or runs. */
export interface Job {
  readonly inputs: readonly Tensor[]
  /** The size along the first axis in a model with batches, or 1. */
  readonly size: number
  /** Requests with the same key can be one batch. */
  readonly key: string
  readonly level: number
  /** When it came, in milliseconds of `performance.now()`. */
  readonly since: number
  readonly parameters: Readonly<Record<string, ParameterValue>>
  readonly cancellation: Cancellation
  /** Called when an instance begins with it. */
  begin(): void
  resolve(outputs: JobOutputs): void
  reject(reason: unknown): void
}

/** The outputs of one request. */
export interface JobOutputs {
  readonly tensors: readonly Tensor[]
  /** Called once when the tensors are not used any more. */
  release(): void
}

/** Requests with equal keys have the same shapes behind the first axis, and the same parameters. */
export function keyOf(inputs: readonly Tensor[], parameters: Readonly<Record<string, ParameterValue>>): string {
  const shapes = inputs.map(({ shape }) => shape.slice(1).join('x'))
  const given = Object.entries(parameters).map(([name, value]) => [name, typeof value, String(value)])
  return JSON.stringify([shapes, given.toSorted(([a], [b]) => (a! < b! ? -1 : 1))])
}
