/** Prints the available CUDA devices as JSON. `pnpm test:gpu` runs it in a process of its own. */
import { Cuda, CudaUnavailableError } from '@tenon/custom-call'

function probe(): object {
  try {
    const cuda = Cuda.open()
    const devices = Array.from({ length: cuda.deviceCount }, (_, ordinal) => {
      const device = cuda.openDevice(ordinal)
      const { name, computeCapability } = device
      const bytes = device.memoryInfo.total
      device.close()
      return { name, computeCapability, bytes }
    })
    return { version: cuda.version, devices }
  } catch (error) {
    if (error instanceof CudaUnavailableError) return { reason: error.sentence }
    throw error
  }
}

process.stdout.write(JSON.stringify(probe()))
