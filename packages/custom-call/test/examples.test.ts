import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import * as customCall from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { cuda, cudaHandler, driverFunction, ptx } from './cuda-fixture.ts'
import { filled } from './kernels.ts'

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: {
    'node:fs': { readFileSync: () => ptx },
    '@tenon/core': { ...core, NativeLibrary: { open: openForExamples } },
    '@tenon/custom-call': { ...customCall, Cuda: { open: () => cuda } },
  },
  context() {
    const library = openForExamples('./libkernels.so')
    const handler = customCall.typedHandler(library, 'rms_norm')
    const [x, y] = [filled([2, 4], (i) => i + 1), core.tensor('f32', [2, 4])]
    return onDevice({
      library,
      handler,
      call: handler.prepare({ operands: [x], results: [y], attrs: { eps: customCall.f32(1e-5) } }),
      rmsNorm: customCall.customCall(library, 'rms_norm'),
      x,
      y,
      a: core.tensor('f32', [2048]),
      b: filled([128], (i) => i),
      c: filled([2048], (i) => i),
      console: { log() {}, error() {} },
      ptx,
    })
  },
})

/** Adds the names that examples of CUDA use, on a simulated device that is opened at first use. */
function onDevice(names: Record<string, unknown>): Record<string, unknown> {
  const { f32, s64 } = customCall
  const device = once(() => cuda.openDevice(0))
  const stream = once(() => device().openStream())
  const memory = once(() => device().allocate(8192))
  const makers = {
    device,
    stream,
    dx: once(() => memory().tensor('f32', [1024])),
    dy: once(() => memory().tensor('f32', [1024], 4096)),
    saxpy: once(() => {
      const kernel = device().loadModule(ptx).kernel('saxpy')
      return cudaHandler('cuda_saxpy_v3').prepare({
        operands: [f32([1024]), f32([1024])],
        results: [f32([1024])],
        attrs: { a: f32(2), kernel: s64(kernel.handle), launch: s64(driverFunction('cuLaunchKernel')) },
        aliases: [{ operand: 1, result: 0 }],
        stream: stream(),
      })
    }),
  }
  for (const [name, get] of Object.entries(makers)) Object.defineProperty(names, name, { get, enumerable: true })
  return names
}

function once<Made>(make: () => Made): () => Made {
  let made: { readonly value: Made } | undefined
  return () => (made ??= { value: make() }).value
}

/** Opens the library of the workspace that an example names, such as `./libkernels.so`. */
function openForExamples(path: string): core.NativeLibrary {
  return core.NativeLibrary.open(kernelLibrary(/^\.\/lib(\w+)\.so$/.exec(path)![1]!))
}
