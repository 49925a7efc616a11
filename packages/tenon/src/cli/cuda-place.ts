import type { Tensor } from '@tenon/core'
import { Cuda, type CudaStream, type DeviceMemory } from '@tenon/custom-call'

/** The first device, with the tensors of a call on it. */
export interface CudaPlace {
  readonly stream: CudaStream
  /** Each host tensor has one device tensor. */
  place(host: Tensor): Tensor
  /** Copies placed tensors back to the host, and waits for all work. */
  fetch(hosts: readonly Tensor[]): void
  close(): void
}

/** @throws {CudaUnavailableError} with the reason, if there is no driver or no device */
export function openCuda(driver: string | undefined): CudaPlace {
  const device = Cuda.open(driver === undefined ? {} : { library: driver }).openDevice()
  const stream = device.openStream()
  const memories: DeviceMemory[] = []
  const placed = new Map<Tensor, Tensor>()
  return {
    stream,
    place(host) {
      const known = placed.get(host)
      if (known !== undefined) return known
      const memory = device.allocate(Math.max(host.segment.byteSize, 1))
      memories.push(memory)
      const made = memory.tensor(host.dtype, host.shape)
      placed.set(host, made)
      if (host.type.byteSize > 0) stream.copy(host, made)
      return made
    },
    fetch(hosts) {
      for (const host of hosts) if (host.type.byteSize > 0) stream.copy(placed.get(host)!, host)
      stream.synchronize()
    },
    close() {
      stream.synchronize()
      stream.close()
      for (const memory of memories) memory.close()
      device.close()
    },
  }
}
