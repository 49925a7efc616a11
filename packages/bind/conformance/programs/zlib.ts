/** Compresses with a stream of zlib, and reads that with Node.js, and the other way round. */
import assert from 'node:assert/strict'
import { deflateSync, inflateSync } from 'node:zlib'
import { MemoryLayout, MemorySegment, NativeScope } from 'tenon/scope'
import * as zlib from './zlib/index.js'

const scope = NativeScope.ofConfined()
const text = new TextEncoder().encode('Überlingen am Bodensee, '.repeat(500))

// A struct that the library keeps between calls.
const stream = zlib.z_stream.allocate(scope)
assert.equal(zlib.deflateInit(stream, zlib.Z_BEST_COMPRESSION), zlib.Z_OK)
const [input, output] = [scope.allocate(text.length), scope.allocate(Number(zlib.deflateBound(stream, text.length)))]
input.copyFrom(MemorySegment.ofBuffer(text))
Object.assign(stream, { next_in: input, avail_in: text.length, next_out: output, avail_out: output.byteSize })
assert.equal(zlib.deflate(stream, zlib.Z_FINISH), zlib.Z_STREAM_END)
const size = Number(stream.total_out)
assert.ok(size < text.length / 20)
assert.equal(zlib.deflateEnd(stream), zlib.Z_OK)
assert.deepEqual(new Uint8Array(inflateSync(output.asSlice(0, size).toArray(MemoryLayout.uint8))), text)

// Typed arrays, and a length that is read and written.
const restored = new Uint8Array(text.length)
const length = BigUint64Array.of(BigInt(text.length))
const compressed = new Uint8Array(deflateSync(text))
assert.equal(zlib.uncompress(restored, length, compressed, compressed.length), zlib.Z_OK)
assert.equal(length[0], BigInt(text.length))
assert.deepEqual(restored, text)
compressed[10] = compressed[10]! ^ 0xff
assert.equal(zlib.uncompress(restored, length, compressed, compressed.length), zlib.Z_DATA_ERROR)

assert.equal(zlib.crc32(0, new TextEncoder().encode('hello'), 5), 907_060_870n)
assert.equal(zlib.zError(zlib.Z_DATA_ERROR), 'data error')
scope.close()
