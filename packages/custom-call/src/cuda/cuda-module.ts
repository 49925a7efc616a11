import { addressOf, checkName, inspectAsText, keepAlive, wrongType } from '@tenon/core/internal'
import type { CudaContext } from './cuda-context.ts'
import { DeviceResource } from './device-resource.ts'

/**
 * Compiled kernels on a device. Created by {@link CudaDevice.loadModule}.
 *
 * @example
 * using module = device.loadModule(ptx)
 * const saxpy = module.kernel('saxpy')
 * stream.launch(saxpy, { grid: [4], block: [256] }, [f32(2), dx, dy, u32(1024)])
 */
export class CudaModule extends DeviceResource {
  /** @internal */
  constructor(device: CudaContext, image: string | Uint8Array) {
    super(device, 'CudaModule', 'moduleUnload', () => {
      const bytes = imageOf(image)
      const handle = device.driver.read('moduleLoadData', 'loading a module', addressOf(bytes))
      keepAlive(bytes)
      return handle
    })
  }

  /** Looks up a kernel by its name, which C++ mangles unless the kernel is `extern "C"`. @throws {CudaError} if it is missing. */
  kernel(name: string): CudaKernel {
    this.enter()
    const text = Buffer.from(`${checkName(name, 'name')}\0`)
    const { driver } = this.device
    const handle = driver.read('moduleGetFunction', `finding the kernel ${name}`, this.address, addressOf(text))
    keepAlive(text)
    return new CudaKernel(name, this, BigInt(handle))
  }
}

/** A kernel in a module, for {@link CudaStream.launch}, or for a handler that launches the kernel. */
export class CudaKernel {
  readonly name: string
  readonly module: CudaModule
  /** The driver's CUfunction, which is valid while the module is open. */
  readonly handle: bigint

  /** @internal */
  constructor(name: string, module: CudaModule, handle: bigint) {
    this.name = name
    this.module = module
    this.handle = handle
  }

  toString(): string {
    return `CudaKernel ${this.name} of ${this.module}`
  }
}
inspectAsText(CudaKernel)

/** The driver reads text up to a NUL, and binaries as far as their headers say. */
function imageOf(image: unknown): Buffer {
  if (typeof image === 'string' && image !== '') return Buffer.from(`${image}\0`)
  if (image instanceof Uint8Array && image.length > 0) return Buffer.concat([image, Buffer.alloc(8)])
  throw wrongType('image', 'PTX as text, or a binary as bytes', image)
}
