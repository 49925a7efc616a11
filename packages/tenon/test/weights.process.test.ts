import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IsolationError, type Tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { ResourceScope } from '@tenon/scope'
import { openSafetensors, type WeightsFile } from '@tenon/weights'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Library, tensor, type IsolatedLibrary } from '../src/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'tenon-weights-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Writes a file of float32 tensors. @param hole the bytes of a first tensor that is not written */
function weights(name: string, tensors: Record<string, readonly number[]>, hole: number = 0): string {
  let end = hole
  const header: Record<string, unknown> =
    hole === 0 ? {} : { hole: { dtype: 'U8', shape: [hole], data_offsets: [0, hole] } }
  for (const [key, values] of Object.entries(tensors)) {
    header[key] = { dtype: 'F32', shape: [values.length], data_offsets: [end, (end += 4 * values.length)] }
  }
  let text = JSON.stringify(header)
  text = text.padEnd(Math.ceil(text.length / 8) * 8)
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(BigInt(text.length))
  const path = join(directory, name)
  writeFileSync(path, Buffer.concat([prefix, Buffer.from(text)]))
  const descriptor = openSync(path, 'r+')
  ftruncateSync(descriptor, 8 + text.length + end)
  const data = Float32Array.from(Object.values(tensors).flat())
  writeSync(descriptor, new Uint8Array(data.buffer), 0, data.byteLength, 8 + text.length + hole)
  closeSync(descriptor)
  return path
}

const floats = (file: WeightsFile, name: string): Tensor<'float32'> => file.tensor(name).as('f32')

/** The mappings of a file in a process. */
const mapped = (path: string, pid: number | 'self'): number =>
  readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .filter((line) => line.includes(path)).length

/** The descriptors of a file in this process. */
const descriptors = (path: string): number =>
  readdirSync('/proc/self/fd').filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`) === path
    } catch {
      return false // that of the folder itself
    }
  }).length

let library: IsolatedLibrary
beforeAll(async () => {
  library = await Library.isolate(kernelLibrary('kernels'), { workers: 1 })
})
afterAll(async () => await library.closeAsync())

if (process.platform === 'linux')
  describe('tensors of a safetensors file', () => {
    const saxpy = (x: Tensor, y: Tensor, into?: Tensor): Tensor =>
      library.kernel('saxpy')(x, y, { a: 1 }, into === undefined ? {} : { into }) as Tensor
    const copied = (): number => library.metrics().copiedBytes
    const worker = (): number => library.health().workers[0]!.process

    test('are operands of kernels in this process, in place', () => {
      using scope = ResourceScope.ofConfined()
      const path = weights('here.safetensors', { x: [1, 2], y: [10, 20] })
      const x = floats(openSafetensors(path, scope), 'x')
      const lines = readFileSync('/proc/self/maps', 'utf8')
        .split('\n')
        .filter((line) => line.includes(path))
      const ranges = lines.map((line) =>
        line
          .split(' ')[0]!
          .split('-')
          .map((word) => Number.parseInt(word, 16)),
      )
      expect(ranges.some(([start, end]) => start! <= x.address && x.address + 8 <= end!)).toBe(true)
      const here = Library.open(kernelLibrary('kernels'))
      expect((here.kernel('saxpy')(x, tensor([1, 1]), { a: 2 }) as Tensor).toArray()).toEqual([3, 5])
    })

    test('are operands of isolated kernels without a copy, until the scope closes', () => {
      const path = weights('isolated.safetensors', { x: [1, 2], y: [10, 20] })
      const scope = ResourceScope.ofConfined()
      const file = openSafetensors(path, scope)
      const before = copied()
      const into = tensor('f32', [2], undefined, { allocator: library.memory })
      for (let i = 0; i < 3; i++) saxpy(floats(file, 'x'), floats(file, 'y'), into)
      expect(into.toArray()).toEqual([11, 22])
      expect(copied()).toBe(before)
      expect(mapped(path, worker())).toBe(1)
      expect(descriptors(path)).toBe(1)
      scope.close()
      expect(descriptors(path)).toBe(0)
      saxpy(into, into)
      expect(mapped(path, worker())).toBe(0)
    })

    test('of 4 GiB are in place in both processes', () => {
      using scope = ResourceScope.ofConfined()
      const path = weights('large.safetensors', { x: [3, 4] }, 2 ** 32)
      const file = openSafetensors(path, scope)
      const before = copied()
      expect(saxpy(floats(file, 'x'), floats(file, 'x')).toArray()).toEqual([6, 8])
      const rss = /VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${worker()}/status`, 'utf8'))!
      expect(Number(rss[1])).toBeLessThan(100_000)
      expect(copied()).toBe(before)
    })

    test.each(['removed', 'replaced'])('of a file that was %s are copied', (change) => {
      using scope = ResourceScope.ofConfined()
      const path = weights(`${change}.safetensors`, { x: [1, 2] })
      const x = floats(openSafetensors(path, scope), 'x')
      if (change === 'removed') rmSync(path)
      else renameSync(weights('other.safetensors', { x: [7, 7] }), path)
      const before = copied()
      expect(saxpy(x, x).toArray()).toEqual([2, 4])
      expect(copied()).toBe(before + 16)
    })

    test('of a file that became smaller end the worker, and not this process', () => {
      using scope = ResourceScope.ofConfined()
      const path = weights('smaller.safetensors', { x: new Array<number>(4096).fill(1) })
      const x = floats(openSafetensors(path, scope), 'x')
      saxpy(x, x)
      truncateSync(path, 4096)
      expect(() => saxpy(x, x)).toThrow(IsolationError)
      expect(saxpy(tensor([1]), tensor([2])).toArray()).toEqual([3])
      expect(x.at(-1)).toBe(0)
    })

    test('are never results of a kernel', () => {
      using scope = ResourceScope.ofConfined()
      const x = floats(openSafetensors(weights('result.safetensors', { x: [1, 2] }), scope), 'x')
      expect(() => saxpy(tensor([1, 2]), tensor([1, 2]), x)).toThrow('read-only')
    })
  })
