import { kernelLibrary } from '@tenon/kernels'
import { expect, test, vi } from 'vitest'

/** Computes the sign of a number with another copy of the package, by a prepared and by a bound call. */
async function copy(): Promise<(value: number) => unknown[]> {
  vi.resetModules()
  const { NativeLibrary, tensor } = await import('@tenon/core')
  const { f32, typedHandler } = await import('@tenon/custom-call')
  const handler = typedHandler(NativeLibrary.open(kernelLibrary('kernels')), 'rms_norm')
  const [x, y] = [tensor('f32', [2]), tensor('f32', [2])]
  const call = handler.prepare({ operands: [x], results: [y], attrs: { eps: f32(0) } })
  const bound = call.bind([x], [y])
  return (value) => {
    x.segment.view().setFloat32(0, value, true)
    x.segment.view().setFloat32(4, value, true)
    call.run([x], [y])
    const ran = y.toArray()
    bound.run()
    return [...ran, ...y.toArray()]
  }
}

test('copies of the package in one thread take turns', async () => {
  const [first, second] = [await copy(), await copy()]
  for (let i = 1; i < 50; i++) {
    expect([first(i), second(-i), second(i), first(-i)]).toEqual([1, -1, 1, -1].map((sign) => Array(4).fill(sign)))
  }
})
