import { TensorFlowError } from '../errors/tensorflow-error.ts'
import { readBytes, type Host } from './host.ts'

/** Takes a failure from native code, and returns it as an error. */
export function takeFailure({ functions }: Host, failure: number, operation: string, path: string): TensorFlowError {
  const bytes = readBytes(4096, (...place) => void functions.tn_tf_failure(failure, ...place))
  return readFailure(bytes, operation, path)
}

const HEAD_SIZE = 12
const PAYLOAD_SIZE = 8

/** Reads a failure as `tn_tf_failure()` writes it. The end may be missing. */
export function readFailure(bytes: Buffer, operation: string, path: string): TensorFlowError {
  const word = (at: number): number => (at + 4 <= bytes.length ? bytes.readUInt32LE(at) : 0)
  let at = HEAD_SIZE
  const text = (size: number): string => bytes.toString('utf8', at, (at += size))
  const message = text(word(4))
  const payloads: Record<string, string> = {}
  for (let left = word(8); left > 0 && at + PAYLOAD_SIZE <= bytes.length; left--) {
    const [key, value] = [word(at), word(at + 4)]
    at += PAYLOAD_SIZE
    payloads[text(key)] = text(value)
  }
  return new TensorFlowError({ code: word(0) | 0, text: message, operation, path, payloads })
}
