import { NativeLibrary, tensor, type Tensor } from '@tenon/core'
import { coreFunctions } from '@tenon/core/internal'
import { kernelLibrary } from '@tenon/kernels'
import { typedHandler, u8, type AttributeDictionary } from '@tenon/custom-call'

export const kernels: NativeLibrary = NativeLibrary.open(kernelLibrary('kernels'))
export const cppKernels: NativeLibrary = NativeLibrary.open(kernelLibrary('kernels_cpp'))

/** Makes a float32 tensor with values from a formula. */
export function filled(shape: readonly number[], value: (index: number) => number): Tensor {
  const count = shape.reduce((product, size) => product * size, 1)
  return tensor(
    'float32',
    shape,
    Float32Array.from({ length: count }, (_, i) => value(i)),
  )
}

/** Returns a kernel's description of attributes. */
export function seenAttributes(attrs: AttributeDictionary): string {
  const text = tensor('uint8', [4096])
  const call = typedHandler(kernels, 'describe_attrs').prepare({ results: [u8([4096])], attrs })
  call.run([], [text])
  call.close()
  return Buffer.from(text.view() as Uint8Array)
    .toString()
    .replace(/\0+$/, '')
}

/** Counts the errors and futures of handlers in this process. */
export function liveObjects(): { errors: number; futures: number } {
  return {
    errors: Number(coreFunctions().tn_xla_live_errors()),
    futures: Number(coreFunctions().tn_xla_live_futures()),
  }
}

/** Returns the error that a function throws. */
export function thrownBy(body: () => unknown): unknown {
  try {
    body()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
