import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readNpy, writeNpy } from '../src/index.ts'
import { expectRefusal } from './expect-refusal.ts'
import { runTenon, type Finished } from './run-tenon.ts'

const kernels = kernelLibrary('kernels')

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-layouts-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

const call = (...args: string[]): Finished => runTenon(['call', ...args], { cwd: directory })

describe('tenon call', () => {
  test('a layout of a file or a result is written behind it', () => {
    const [input, output] = [join(directory, 'a.npy'), join(directory, 'l.npy')]
    const a = tensor('f64', [
      [4, 12, -16],
      [12, 37, -43],
      [-16, -43, 98],
    ])
    const run = (...args: string[]): unknown => {
      expect(call(kernels, 'cholesky', ...args).code).toBe(0)
      const l = readNpy(output)
      return [l.strides, l.toNested()]
    }
    const factor = [
      [2, 0, 0],
      [6, 1, 0],
      [-8, 5, 3],
    ]
    // The signature has layouts.
    writeNpy(input, a)
    expect(run('--arg', input, '--out', output)).toEqual([[1, 3], factor])
    // The command line has others; the transpose of a symmetric matrix is the same, and that of the result is not.
    const transposed = [
      [2, 6, -8],
      [0, 1, 5],
      [0, 0, 3],
    ]
    expect(run('--arg', `${input}@0,1`, '--result', `f64[3,3]@0,1:${output}`)).toEqual([undefined, transposed])
    // A column-major file is passed as it is.
    writeNpy(input, a.toLayout('cm'))
    expect(run('--arg', input, '--out', output)).toEqual([[1, 3], factor])
    // A kernel without a signature sees the memory of the layout.
    for (const x of [
      tensor([
        [1, 2],
        [3, 4],
      ]),
      tensor([
        [1, 2],
        [3, 4],
      ]).toLayout('cm'),
    ]) {
      writeNpy(input, x)
      const results = ['--result', `f32[2,2]:${output}`, '--result', 's64[4]']
      expect(call(kernels, 'raw_memory', '--arg', input, ...results).code).toBe(0)
      expect(readNpy(output).toNested()).toEqual([
        [1, 2],
        [3, 4],
      ])
      expect(call(kernels, 'raw_memory', '--arg', `${input}@cm`, ...results).code).toBe(0)
      expect(readNpy(output).toNested()).toEqual([
        [1, 3],
        [2, 4],
      ])
      expect(
        call(kernels, 'raw_memory', '--arg', input, '--result', `f32[2,2]@1,0:${output}`, '--result', 's64[4]').code,
      ).toBe(0)
      expect([readNpy(output).strides, readNpy(output).toNested()]).toEqual([
        [1, 2],
        [
          [1, 3],
          [2, 4],
        ],
      ])
    }
    expectRefusal(call(kernels, 'cholesky', '--arg', input, '--result', 'f64[3,3]@rm'), 2, 'a layout must be @cm')
  })
})
