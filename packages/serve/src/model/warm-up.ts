import { ArgumentError, dtypeInfo, Tensor } from '@tenon/core'
import { checkName, checkOptions, describe, wrongType } from '@tenon/core/internal'
import type { ParameterValue } from './run-context.ts'

/** An input of a warm-up request, which has either `data`, `zeroData` or `randomData`. */
export interface WarmUpInput {
  readonly name: string
  /** The datatype of the protocol, such as `FP32`. Default: that of the model. */
  readonly datatype?: string
  /** The sizes of all axes. Default: those of the model if none of them differs between requests, or those of the tensor `data`. */
  readonly shape?: readonly number[]
  /** The elements: a tensor, or an array of numbers, booleans or texts, which may be nested. */
  readonly data?: unknown
  /** Zeros, or empty texts. */
  readonly zeroData?: boolean
  /** Random elements. Floating-point numbers are from 1 to 2. */
  readonly randomData?: boolean
}

/** A request that a model answers before it is ready, with some of the words of Triton's `ModelWarmup`. */
export interface WarmUpRequest {
  /** For messages. Default: the number of the request, from 1. */
  readonly name?: string
  /** How often each worker answers it. Default: 1. */
  readonly count?: number
  readonly inputs: readonly WarmUpInput[]
  /** The parameters of the request. */
  readonly parameters?: Readonly<Record<string, ParameterValue>>
}

/** A warm-up request whose options were read once. */
export interface WarmUp {
  readonly name: string
  readonly count: number
  readonly inputs: readonly WarmUpInput[]
  readonly parameters: Readonly<Record<string, ParameterValue>>
}

const REQUEST = ['count', 'inputs', 'name', 'parameters'] as const
const INPUT = ['data', 'datatype', 'name', 'randomData', 'shape', 'zeroData'] as const

/** The most times that each worker answers a request. A warm-up of more would rather be a load test. */
const MOST_RUNS = 1000

/** Reads the option `warmUp`. Requests are compared with their model when it is loaded. @throws {ArgumentError} */
export function readWarmUps(value: unknown): readonly WarmUp[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw wrongType('warmUp', 'an array of requests', value)
  return value.map((one: WarmUpRequest, i): WarmUp => {
    const path = `warmUp[${i}]`
    if (one === undefined) throw wrongType(path, 'a request', one)
    const { name, count = 1, inputs, parameters = {} } = checkOptions<WarmUpRequest>(one, REQUEST, path)
    if (!Number.isSafeInteger(count) || count < 1 || count > MOST_RUNS) {
      throw wrongType(`${path}.count`, `a whole number from 1 to ${MOST_RUNS}`, count)
    }
    if (!Array.isArray(inputs)) throw wrongType(`${path}.inputs`, 'an array of inputs', inputs)
    return {
      name: name === undefined ? `${i + 1}` : checkName(name, `${path}.name`),
      count,
      inputs: inputs.map((input: WarmUpInput, at) => readInput(input, `${path}.inputs[${at}]`)),
      parameters,
    }
  })
}

function readInput(value: WarmUpInput, path: string): WarmUpInput {
  if (value === undefined) throw wrongType(path, 'an input', value)
  const given = checkOptions<WarmUpInput>(value, INPUT, path)
  const { data, datatype, shape, zeroData, randomData } = given
  for (const [option, flag] of Object.entries({ zeroData, randomData })) {
    if (flag !== undefined && flag !== true) throw wrongType(`${path}.${option}`, 'true, or absent', flag)
  }
  if ([data, zeroData, randomData].filter((one) => one !== undefined).length !== 1) {
    throw new ArgumentError(`${path} must have either data, zeroData or randomData`)
  }
  const name = checkName(given.name, `${path}.name`)
  if (data instanceof Tensor) {
    if (dtypeInfo(data.dtype).openInference !== undefined) return { name, shape: data.shape, data }
    throw new ArgumentError(`${path}.data must have an element type of the protocol, got ${describe(data.dtype)}`)
  }
  return {
    name,
    ...(datatype === undefined ? {} : { datatype }),
    ...(shape === undefined ? {} : { shape }),
    ...(data === undefined ? {} : { data }),
    ...(zeroData === true ? { zeroData } : {}),
    ...(randomData === true ? { randomData } : {}),
  }
}
