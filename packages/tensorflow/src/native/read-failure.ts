import { addressOf } from '@tenon/core/internal'
import { TensorFlowError } from '../errors/tensorflow-error.ts'
import type { Host } from './host.ts'

/** Takes a failure from native code, and returns it as an error. */
export function takeFailure({ functions }: Host, failure: number, operation: string, path: string): TensorFlowError {
  const length = new BigUint64Array(1)
  let out = Buffer.alloc(4096)
  functions.tn_tf_failure(failure, addressOf(out), out.length, addressOf(length))
  if (Number(length[0]) > out.length) {
    out = Buffer.alloc(Number(length[0]))
    functions.tn_tf_failure(failure, addressOf(out), out.length, addressOf(length))
  }
  let at = 12
  const text = (size: number): string => out.toString('utf8', at, (at += size))
  const message = text(out.readUInt32LE(4))
  const payloads = Array.from({ length: out.readUInt32LE(8) }, () => {
    const [key, value] = [out.readUInt32LE(at), out.readUInt32LE(at + 4)]
    at += 8
    return [text(key), text(value)] as const
  })
  return new TensorFlowError({
    code: out.readInt32LE(0),
    text: message,
    operation,
    path,
    payloads: Object.fromEntries(payloads),
  })
}
