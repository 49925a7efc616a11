import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kernelLibrary } from '@tenon/kernels'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Library, tensor } from '../src/index.ts'
import { runTenon } from './run-tenon.ts'
import { writeSidecar } from './signature-library.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'tenon-sidecar-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** @param file a name of its own for each test, because a library that was loaded stays mapped. */
function withSidecar(name: string, kernels: unknown, file = name): string {
  const path = join(directory, `lib${file}.so`)
  copyFileSync(kernelLibrary(name), path)
  writeSidecar(path, { tenon: 1, kernels })
  return path
}

test('a kernel of a sidecar is called by its signature, under its name or that of the sidecar', () => {
  const signature = '(x: f32[..., n]) -> (y: f32[..., n]); eps: f32 = 1e-5'
  using library = Library.open(withSidecar('kernels', { rms_norm: signature, norm: { signature, symbol: 'rms_norm' } }))
  expect(library.kernels().find(({ name }) => name === 'norm')).toMatchObject({
    source: 'sidecar',
    convention: 'typed',
  })
  const x = tensor([[3, 4]])
  const expected = library.kernel('rms_norm')(x, { eps: 0 }).toArray()
  expect(expected[0]).toBeCloseTo(3 / Math.sqrt(12.5))
  expect(library.kernel('norm')(x, { eps: 0 }).toArray()).toEqual(expected)
})

test('a symbol of the sidecar that is not exported is refused, also if the name of the kernel is exported', () => {
  const signature = '(x: f32[..., n]) -> (y: f32[..., n]); eps: f32 = 1e-5'
  const path = withSidecar('kernels', { rms_norm: { signature, symbol: 'rms_norn' } }, 'misspelled')
  using library = Library.open(path)
  const open = (): unknown => library.kernel('rms_norm')
  expect(open).toThrow(/does not export a symbol named "rms_norn"/)
  expect(open).toThrow(/Did you mean rms_norm\?/)
  expect(runTenon(['inspect', path]).stdout).toMatch(/rms_norm .*rms_norn is not exported/)
})

test('a handler that the library registers itself is called by the signature of the sidecar', () => {
  const negate = { signature: '(x: f32[n]) -> (y: f32[n])', registered: true }
  using library = Library.open(withSidecar('kernels_runtime', { negate }))
  expect(
    library
      .kernel('negate')(tensor([1, -2]))
      .toArray(),
  ).toEqual([-1, 2])
})

test('a packed function is called by the signature of the sidecar, under its name or that of the sidecar', () => {
  const signature = '(x: f32[n]) -> (y: f32[n])'
  using library = Library.open(withSidecar('packed', { add_one: signature, plus: { signature, symbol: 'add_one' } }))
  expect(
    library
      .kernel('add_one')(tensor([1, 2]))
      .toArray(),
  ).toEqual([2, 3])
  expect(
    library
      .kernel('plus')(tensor([1, 2]))
      .toArray(),
  ).toEqual([2, 3])
})
