import { ArgumentError } from '@tenon/core'
import { addressOf, checkName, describe, keepAlive } from '@tenon/core/internal'
import type { CudaDevice } from './cuda-device.ts'
import { DeviceResource } from './device-resource.ts'

/**
 * Compiled kernels on a device. Made by {@link CudaDevice.loadModule}.
 *
 * @example
 * using module = device.loadModule(ptx)
 * const saxpy = module.kernel('saxpy')
 * stream.launch(saxpy, { grid: [4], block: [256] }, [f32(2), dx, dy, u32(1024)])
 */
export class CudaModule extends DeviceResource {
  readonly #handle: number

  /** @internal */
  constructor(device: CudaDevice, image: string | Uint8Array) {
    super(device)
    this.#handle = this.open(() => {
      const bytes = imageOf(image)
      const { moduleLoadData } = device.functions
      const handle = device.cuda.readHandle((out) => moduleLoadData(out, addressOf(bytes)), 'loading a module')
      keepAlive(bytes)
      return handle
    })
  }

  protected override get label(): string {
    return 'the CUDA module'
  }

  protected override destroy(): unknown {
    return this.device.functions.moduleUnload(this.#handle)
  }

  /** A kernel by its name, which in C++ is mangled unless it is `extern "C"`. @throws {CudaError} if there is none. */
  kernel(name: string): CudaKernel {
    this.checkAlive()
    this.device.enter()
    const text = Buffer.from(`${checkName(name, 'name')}\0`)
    const { moduleGetFunction } = this.device.functions
    const find = (out: number): unknown => moduleGetFunction(out, this.#handle, addressOf(text))
    const handle = BigInt(this.device.cuda.readHandle(find, `finding the kernel ${name}`))
    keepAlive(text)
    return Object.freeze({ module: this, name, handle })
  }
}

/** A kernel of a module, for {@link CudaStream.launch}, or for a handler that launches it. */
export interface CudaKernel {
  readonly module: CudaModule
  readonly name: string
  /** The CUfunction: an address of the driver's, valid as long as the module is open. */
  readonly handle: bigint
}

/** The driver reads text up to a NUL, and binaries as far as their headers say. */
function imageOf(image: unknown): Buffer {
  if (typeof image === 'string' && image !== '') return Buffer.from(`${image}\0`)
  if (image instanceof Uint8Array && image.length > 0) return Buffer.concat([image, Buffer.alloc(8)])
  throw new ArgumentError(`the image must be PTX as text, or a binary as bytes, got ${describe(image)}`)
}
