import { InvalidRequestError } from '../errors.ts'
import { isObject } from '../protocol/is-object.ts'
import { parseJson } from '../protocol/parse-json.ts'
import { BodyReader, type BodyLimits } from './body-reader.ts'
import type { Exchange } from './exchange.ts'

/** The JSON object of a small request, whose body may be empty. @throws (rejects with) {InvalidRequestError} */
export async function readObject(exchange: Exchange, state: BodyLimits): Promise<Readonly<Record<string, unknown>>> {
  const reader = new BodyReader(exchange, state)
  try {
    const bytes = await reader.read(undefined, state.limits.jsonBytes)
    const json = bytes.length === 0 ? {} : parseJson(bytes, false)
    if (isObject(json)) return json
    throw new InvalidRequestError('the request must be a JSON object')
  } finally {
    reader.release()
  }
}
