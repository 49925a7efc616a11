import { requestOf } from './exchange.ts'

/** A request that a server must refuse. */
export interface HostileRequest {
  readonly name: string
  /** The bytes to write to the connection. */
  readonly parts: readonly (string | Uint8Array)[]
  readonly isHalfClosed?: boolean
  readonly status: number
  /** A part of the message, which says what is wrong. */
  readonly error: string
}

/** A request for an inference. @param body JSON as text or as an object, or bytes. */
export const inferOf = (
  model: string,
  body: string | Uint8Array | object,
  headers: Readonly<Record<string, string | number>> = {},
): Buffer =>
  requestOf(
    `/v2/models/${model}/infer`,
    typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    headers,
  )

/** The only input of a request for the model `floats`, with some fields replaced. */
export const input = (fields: object = {}): object => ({
  name: 'x',
  datatype: 'FP32',
  shape: [2],
  data: [1, 2],
  ...fields,
})

/** Refuses a request. */
export const refused = (
  name: string,
  status: number,
  error: string,
  ...parts: readonly (string | Uint8Array)[]
): HostileRequest => ({ name, status, error, parts })
