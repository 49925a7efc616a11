import { gcAllocator } from '@tenon/core'
import { bufferOver } from '@tenon/core/internal'

/**
 * Whether processes can share memory by descriptor, as on Linux and macOS. Elsewhere pools are memory of this process, which its
 * worker threads share.
 */
export function sharesDescriptors(): boolean {
  return process.platform === 'linux' || process.platform === 'darwin'
}

/** Whether the kernel can seal memory, as on Linux. */
export function hasSeals(): boolean {
  return process.platform === 'linux'
}

let views: boolean | undefined

/**
 * Whether this runtime allows JavaScript views of native memory, which Electron does not. Without views, pools are read and
 * written by copies. The first call tries.
 */
export function hasViews(): boolean {
  if (views !== undefined) return views
  const block = gcAllocator.allocate(16)
  try {
    // The view is detached at once, and the memory outlives it.
    bufferOver(Number(block.address), block.byteSize).transfer(0)
    return (views = true)
  } catch {
    return (views = false)
  }
}
