import { fileURLToPath } from 'node:url'
import { testExamples } from '@tenon/config/examples'
import * as core from '@tenon/core'
import * as customCall from '@tenon/custom-call'
import { kernelLibrary } from '@tenon/kernels'
import { filled } from './kernels.ts'

testExamples(fileURLToPath(new URL('..', import.meta.url)), {
  modules: {
    '@tenon/core': { ...core, NativeLibrary: { open: openForExamples } },
    '@tenon/custom-call': customCall,
  },
  context() {
    const library = openForExamples('./libkernels.so')
    const handler = customCall.typedHandler(library, 'rms_norm')
    const [x, y] = [filled([2, 4], (i) => i + 1), core.tensor('f32', [2, 4])]
    return {
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
    }
  },
})

/** Examples name libraries as users have them; here they are the workspace's. */
function openForExamples(path: string): core.NativeLibrary {
  const names: Readonly<Record<string, string>> = {
    './libkernels.so': 'kernels',
    './libregisters.so': 'kernels_runtime',
  }
  return core.NativeLibrary.open(kernelLibrary(names[path]!))
}
