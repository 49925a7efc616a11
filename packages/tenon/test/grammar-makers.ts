import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as core from '@tenon/core'
import * as calls from '@tenon/custom-call'
import * as packed from '@tenon/packed-func'
import * as pools from '../src/entries/pools.ts'
import * as scopes from '@tenon/scope'
import { kernelLibrary } from '@tenon/kernels'

const endings: (() => unknown)[] = []

/** Registers the end of something that a row opened. */
export function opened<T>(value: T, end: (value: T) => unknown): T {
  endings.push(() => end(value))
  return value
}

/** Ends what rows have opened, last opened first. */
export async function cleanUp(): Promise<void> {
  for (const end of endings.splice(0).toReversed()) await end()
}

export const closing = <T extends Disposable>(value: T): T => opened(value, (open) => open[Symbol.dispose]())

export const kernels = (): core.NativeLibrary => closing(core.NativeLibrary.open(kernelLibrary('kernels')))
export const module = (): packed.Module => packed.Module.open(kernelLibrary('packed'))
export const vector = (...values: number[]): core.Tensor => core.tensor('f32', [values.length], values)
export const segment = (): core.Segment => core.gcAllocator.allocate(64, 16)
export const scope = (): scopes.NativeScope => closing(scopes.NativeScope.ofConfined())
export const device = (): calls.CudaDevice =>
  closing(calls.Cuda.open({ library: kernelLibrary('simulated_cuda') }).openDevice())

export const ptx = readFileSync(
  join(dirname(createRequire(import.meta.url).resolve('@tenon/kernels')), 'cuda/saxpy.ptx'),
  'utf8',
)

export function file(content: string): string {
  const directory = opened(mkdtempSync(join(tmpdir(), 'tenon-grammar-')), (path) => rmSync(path, { recursive: true }))
  const path = join(directory, 'file.bin')
  writeFileSync(path, content)
  return path
}

export const clip = (): calls.TypedHandler => calls.typedHandler(kernels(), 'clip_v3')
const attrs = { low: calls.f32(0), high: calls.f32(1) }
export const clipCall = (): calls.PreparedCall => {
  const x = vector(-1, 0.5, 7)
  return closing(clip().prepare({ operands: [x], results: [x], attrs }))
}

export const model = (): pools.BuiltModel =>
  closing(
    pools.buildModel((g) => {
      const x = g.input('TENSOR_FLOAT32', [2])
      g.output(g.operation('RELU', [x], { type: 'TENSOR_FLOAT32', dimensions: [2] }))
    }),
  )
export const driver = (): pools.Driver => opened(pools.localDriver(), (open) => open.closeAsync())
export const prepared = async (): Promise<pools.PreparedModel> => driver().prepare(model())
export const pool = (): pools.Pool<'writable'> => closing(pools.createPool(4096))
export const fence = (): pools.FenceSource => {
  const source = closing(pools.createFence())
  closing(source.fence)
  return source
}
export const request = (): pools.ExecutionArguments => {
  const memory = pool()
  return { inputs: [memory.slice(0, 8)], outputs: [memory.slice(8, 8)] }
}
