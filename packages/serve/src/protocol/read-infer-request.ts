import { InvalidRequestError } from '../errors.ts'
import type { RegionRange } from '../shared-memory/region-place.ts'
import type { ParameterValue } from '../model/run-context.ts'
import type { InferInput, InferRequest, RequestedOutput } from './infer-request.ts'
import { isSize } from './json-elements.ts'
import { readSequencePlace } from './sequence-place.ts'
import { cutOff, wrong } from './wrong-field.ts'

type Json = Readonly<Record<string, unknown>>

const HIGHEST_RANK = 32

/**
 * Reads the JSON of a request. Unknown fields are ignored.
 *
 * @throws {InvalidRequestError} with the path of the field that is missing or wrong.
 */
export function readInferRequest(json: unknown): InferRequest {
  const request = readObject(json, 'the request')
  const id = own(request, 'id')
  if (id !== undefined && typeof id !== 'string') throw wrong('id', 'a text', id)
  const given = readParameters(own(request, 'parameters'), 'parameters')
  const inputs = readArray(own(request, 'inputs'), 'inputs').map((input, i) => readInput(input, `inputs[${i}]`))
  checkDistinct(inputs, 'inputs')
  const asked = own(request, 'outputs')
  const outputs = asked === undefined ? undefined : readOutputs(asked)
  return { id, inputs, outputs: outputs?.length === 0 ? undefined : outputs, ...splitParameters(given) }
}

function readOutputs(value: unknown): RequestedOutput[] {
  const outputs = readArray(value, 'outputs').map((output, i) => readOutput(output, `outputs[${i}]`))
  checkDistinct(outputs, 'outputs')
  return outputs
}

function readInput(value: unknown, path: string): InferInput {
  const input = readObject(value, path)
  const name = readText(own(input, 'name'), `${path}.name`)
  const datatype = readText(own(input, 'datatype'), `${path}.datatype`)
  const shape = readShape(own(input, 'shape'), `${path}.shape`)
  const parameters = readParameters(own(input, 'parameters'), `${path}.parameters`)
  const range = readRange(parameters, `${path}.parameters`)
  const data = own(input, 'data')
  const size = parameters['binary_data_size']
  if ([data, size, range].filter((one) => one !== undefined).length !== 1) {
    throw new InvalidRequestError(
      `the input ${cutOff(name)} must have either data, the parameter binary_data_size or shared memory`,
    )
  }
  if (range !== undefined) return { name, datatype, shape, source: range }
  if (size === undefined) return { name, datatype, shape, source: { data } }
  if (!isSize(size)) throw wrong(`${path}.parameters.binary_data_size`, 'a number of bytes', size)
  return { name, datatype, shape, source: { byteSize: size } }
}

function readOutput(value: unknown, path: string): RequestedOutput {
  const output = readObject(value, path)
  const name = readText(own(output, 'name'), `${path}.name`)
  const parameters = readParameters(own(output, 'parameters'), `${path}.parameters`)
  const { binary_data, classification } = parameters
  if (binary_data !== undefined && typeof binary_data !== 'boolean') {
    throw wrong(`${path}.parameters.binary_data`, 'true or false', binary_data)
  }
  if (classification !== undefined && classification !== 0) {
    throw new InvalidRequestError(
      `the output ${cutOff(name)} must not ask for classification, which this server does not have`,
    )
  }
  return { name, isBinary: binary_data, range: readRange(parameters, `${path}.parameters`) }
}

/** The shared memory of a tensor, or undefined. */
function readRange(parameters: Readonly<Record<string, ParameterValue>>, path: string): RegionRange | undefined {
  const { shared_memory_region: region, shared_memory_offset: offset, shared_memory_byte_size: byteSize } = parameters
  if (region === undefined && offset === undefined && byteSize === undefined) return undefined
  if (typeof region !== 'string' || region === '') throw wrong(`${path}.shared_memory_region`, 'a text', region)
  if (!isSize(byteSize)) throw wrong(`${path}.shared_memory_byte_size`, 'a number of bytes', byteSize)
  if (!isSize(offset ?? 0)) throw wrong(`${path}.shared_memory_offset`, 'a number of bytes', offset)
  return { region, offset: (offset ?? 0) as number, byteSize }
}

/** Takes those parameters out that the protocol reserves. */
function splitParameters(
  given: Readonly<Record<string, ParameterValue>>,
): Omit<InferRequest, 'id' | 'inputs' | 'outputs'> {
  const { binary_data_output: isBinary = false, timeout = 0, priority = 0, headers: _, ...others } = given
  const { sequence_id, sequence_start, sequence_end, ...own } = others
  const { triton_enable_empty_final_response: wantsEmptyFinal = false } = given
  if (typeof isBinary !== 'boolean') throw wrong('parameters.binary_data_output', 'true or false', isBinary)
  if (typeof wantsEmptyFinal !== 'boolean') {
    throw wrong('parameters.triton_enable_empty_final_response', 'true or false', wantsEmptyFinal)
  }
  if (!isSize(timeout)) throw wrong('parameters.timeout', 'a whole number of microseconds', timeout)
  if (!isSize(priority)) throw wrong('parameters.priority', 'a whole number', priority)
  const parameters: Record<string, ParameterValue> = {}
  for (const [name, value] of Object.entries(own)) if (!name.startsWith('triton_')) parameters[name] = value
  const sequence = readSequencePlace(sequence_id, sequence_start, sequence_end)
  // Later requests with the same JSON get the same object.
  return { parameters: Object.freeze(parameters), sequence, priority, timeout, isBinary, wantsEmptyFinal }
}

function readParameters(value: unknown, path: string): Readonly<Record<string, ParameterValue>> {
  if (value === undefined) return {}
  const parameters = readObject(value, path)
  for (const [name, one] of Object.entries(parameters)) {
    if (!['boolean', 'number', 'bigint', 'string'].includes(typeof one)) {
      throw wrong(`${path}.${cutOff(name)}`, 'a boolean, a number or a text', one)
    }
  }
  return parameters as Readonly<Record<string, ParameterValue>>
}

function readShape(value: unknown, path: string): readonly number[] {
  const shape = readArray(value, path)
  if (shape.length > HIGHEST_RANK) throw wrong(path, `at most ${HIGHEST_RANK} sizes`, shape.length)
  return shape.map((size, i) => {
    // JSON has a -0.
    if (isSize(size)) return size === 0 ? 0 : size
    throw wrong(`${path}[${i}]`, 'a whole number from 0', size)
  })
}

/** Reads a field without those that objects inherit. */
const own = (object: Json, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined)

function readObject(value: unknown, path: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json
  throw wrong(path, 'an object', value)
}

function readArray(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw wrong(path, 'an array', value)
}

function readText(value: unknown, path: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw wrong(path, 'a text', value)
}

function checkDistinct(named: readonly { readonly name: string }[], path: string): void {
  const seen = new Set<string>()
  for (const { name } of named) {
    if (seen.has(name))
      throw new InvalidRequestError(`${path} must have each name once, got ${JSON.stringify(cutOff(name))} twice`)
    seen.add(name)
  }
}
