import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { inferOf, input, refused, type HostileRequest } from './hostile-request.ts'

const json = JSON.stringify({ inputs: [input()] })

const encoded = (name: string, status: number, error: string, encoding: string, body: Uint8Array): HostileRequest =>
  refused(name, status, error, inferOf('floats', body, { 'content-encoding': encoding }))

const bomb = Buffer.alloc(64 * 2 ** 20, ' ')
const tooLarge = 'at most 1048576 bytes'
const broken = 'the body must be compressed as its content-encoding states'
const unknown = 'the content-encoding must be gzip, deflate or identity'
const zipped = gzipSync(json)
const middle = zipped.length >> 1

/** Bodies that are compressed wrongly, or that are larger than they seem. */
export const compression: readonly HostileRequest[] = [
  encoded('a bomb of gzip', 413, tooLarge, 'gzip', gzipSync(bomb)),
  encoded('a bomb of deflate', 413, tooLarge, 'deflate', deflateSync(bomb)),
  encoded(
    'a bomb of several members',
    413,
    tooLarge,
    'gzip',
    Buffer.concat(Array.from({ length: 20 }, () => gzipSync(bomb.subarray(0, 2 ** 17)))),
  ),
  refused(
    'a bomb behind the JSON',
    413,
    tooLarge,
    inferOf('floats', gzipSync(Buffer.concat([Buffer.from(json), bomb])), {
      'content-encoding': 'gzip',
      'inference-header-content-length': 2 ** 20 + 1,
    }),
  ),
  refused(
    'a bomb of bytes alone',
    413,
    tooLarge,
    inferOf('floats', gzipSync(bomb), { 'content-encoding': 'gzip', 'inference-header-content-length': 0 }),
  ),
  encoded('gzip that ends early', 400, broken, 'gzip', zipped.subarray(0, middle)),
  encoded('gzip without its checksum', 400, broken, 'gzip', zipped.subarray(0, -8)),
  encoded('gzip with a wrong checksum', 400, broken, 'gzip', Buffer.concat([zipped.subarray(0, -8), Buffer.alloc(8)])),
  encoded(
    'gzip with a wrong byte',
    400,
    '',
    'gzip',
    Buffer.concat([zipped.subarray(0, middle), Buffer.from([zipped[middle]! ^ 0xff]), zipped.subarray(middle + 1)]),
  ),
  encoded('the header of gzip alone', 400, broken, 'gzip', zipped.subarray(0, 10)),
  encoded('no bytes of gzip', 400, '', 'gzip', new Uint8Array()),
  encoded('JSON that is called gzip', 400, broken, 'gzip', Buffer.from(json)),
  encoded('JSON that is called deflate', 400, broken, 'deflate', Buffer.from(json)),
  encoded('deflate that is called gzip', 400, broken, 'gzip', deflateSync(json)),
  encoded('gzip that is called deflate', 400, broken, 'deflate', zipped),
  encoded('deflate without its frame', 400, broken, 'deflate', deflateRawSync(json)),
  encoded('deflate that ends early', 400, broken, 'deflate', deflateSync(json).subarray(0, -6)),
  encoded('gzip twice', 400, 'must be JSON', 'gzip', gzipSync(zipped)),
  encoded('gzip that nobody mentions', 400, 'must be JSON', 'identity', zipped),
  encoded('two encodings', 415, unknown, 'gzip, gzip', gzipSync(zipped)),
  encoded('gzip and identity', 415, unknown, 'gzip, identity', zipped),
  encoded('brotli', 415, unknown, 'br', zipped),
  encoded('zstd', 415, unknown, 'zstd', zipped),
  encoded('compress', 415, unknown, 'compress', zipped),
  encoded('an encoding of the prototype', 415, unknown, '__proto__', zipped),
  encoded('an empty encoding', 415, unknown, '', zipped),
]
