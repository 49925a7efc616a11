import { readFileSync, writeFileSync } from 'node:fs'
import { describeMachine } from './machine.ts'
import { InputError } from '../cli/input-error.ts'
import { packageVersion } from '../version.ts'
import type { Distribution } from './measure.ts'
import type { Sizes } from './size-range.ts'

/** The measurement of the contestants with one combination of sizes. */
export interface BenchPoint {
  readonly sizes: Sizes
  /** The types of the operands, such as `float32[1000]`. */
  readonly operands: readonly string[]
  /** The bytes of all operands and results. */
  readonly byteSize: number
  readonly contestants: readonly Distribution[]
}

/** The document of `--json` and `--save`. */
export interface BenchResult {
  readonly kernel: string
  readonly signature: string
  readonly date: string
  readonly machine: Readonly<Record<string, string | number>>
  readonly points: readonly BenchPoint[]
}

/** A result of this machine, without its points. */
export function describeRun(kernel: string, signature: string): Omit<BenchResult, 'points'> {
  const { cpu, cores, platform, load } = describeMachine()
  const { release, versions } = process
  const runtime = `${release.name} ${versions.node}`
  return {
    kernel,
    signature,
    date: new Date().toISOString(),
    machine: { cpu, cores, platform, load, runtime, tenon: packageVersion() },
  }
}

export const writeResult = (path: string, result: BenchResult): void =>
  writeFileSync(path, `${JSON.stringify(result, undefined, 2)}\n`)

/** Reads a file of `--save`. @throws {InputError} if the file is not one. @throws system errors if it cannot be read. */
export function readResult(path: string): BenchResult {
  const text = readFileSync(path, 'utf8')
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    document = undefined
  }
  if (isResult(document)) return document
  throw new InputError(`${path} is not a result of tenon bench`, 'Write one with tenon bench --save.')
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

function isResult(value: unknown): value is BenchResult {
  return (
    isRecord(value) &&
    typeof value['kernel'] === 'string' &&
    Array.isArray(value['points']) &&
    value['points'].every(isPoint)
  )
}

function isPoint(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value['sizes']) || !Array.isArray(value['contestants'])) return false
  return value['contestants'].every(
    (one) => isRecord(one) && typeof one['name'] === 'string' && isPositive(one['p50Ns']) && isRange(one['medianNs']),
  )
}

const isPositive = (value: unknown): boolean => typeof value === 'number' && value > 0 && Number.isFinite(value)
const isRange = (value: unknown): boolean => Array.isArray(value) && value.length === 2 && value.every(isPositive)

/** The measurement of a baseline with the same sizes, and the contestant of the same name or else its only one. */
export function findBaseline(baseline: BenchResult, { sizes }: BenchPoint, name: string): Distribution | undefined {
  const point = baseline.points.find((one) => isSame(one.sizes, sizes))
  return (
    point?.contestants.find((one) => one.name === name) ??
    (point?.contestants.length === 1 ? point.contestants[0] : undefined)
  )
}

function isSame(a: Sizes, b: Sizes): boolean {
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name])
}
