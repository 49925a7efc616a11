import { TenonError } from '@tenon/core'
import { readFileSync, statSync } from 'node:fs'
import { isAbsolute, join, normalize } from 'node:path'
import { readNpy } from 'tenon'
import { ModelLoadError } from '../errors.ts'

type Json = Readonly<Record<string, unknown>>

/** The most bytes of a file with a request. */
const MOST_BYTES = 16 * 2 ** 20

/**
 * Replaces the files that warm-up requests of `model.json` name by their contents: `file` of a request, which has the JSON of a request of the
 * protocol, and `inputDataFile` of an input, which is a tensor in NumPy's format.
 *
 * @param directory the folder of the model, in which the files are. @throws {ModelLoadError} if a file cannot be read.
 */
export function readWarmUpFiles(requests: readonly Json[], directory: string): readonly Json[] {
  return requests.map(({ file, ...request }) => {
    const described = file === undefined ? request : { ...readRequest(pathOf(file, directory)), name: file, ...request }
    const { inputs } = described as Json
    if (!Array.isArray(inputs)) return described
    return { ...described, inputs: inputs.map((input: unknown) => readInput(input, directory)) }
  })
}

function readRequest(path: string): Json {
  let json: unknown
  try {
    const { size } = statSync(path)
    if (size > MOST_BYTES) throw new Error(`it must have at most ${MOST_BYTES} bytes, got ${size}`)
    json = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw unreadable(path, error)
  }
  const { inputs, parameters } = (json ?? {}) as Json
  if (!Array.isArray(inputs)) throw unreadable(path, new Error('it must have the inputs of a request'))
  return { inputs, ...(parameters === undefined ? {} : { parameters }) }
}

function readInput(input: unknown, directory: string): unknown {
  if (!isObject(input) || input['inputDataFile'] === undefined) return input
  const { inputDataFile, ...others } = input
  const path = pathOf(inputDataFile, directory)
  try {
    return { ...others, data: readNpy(path) }
  } catch (error) {
    throw unreadable(path, error)
  }
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

function pathOf(file: unknown, directory: string): string {
  const path = typeof file === 'string' ? normalize(file) : undefined
  if (path !== undefined && path !== '.' && !isAbsolute(path) && !path.startsWith('..')) return join(directory, path)
  throw new ModelLoadError(`a file of a warm-up request must be in ${directory}, got ${JSON.stringify(file)}`, {
    hint: 'Write the path from the folder of the model.',
  })
}

function unreadable(path: string, error: unknown): ModelLoadError {
  const reason = error instanceof TenonError ? error.sentence : (error as Error).message
  return new ModelLoadError(`the file ${path} of a warm-up request cannot be read: ${reason}`, {
    details: { path },
    cause: error,
  })
}
