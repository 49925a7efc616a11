import { gcAllocator } from '@tenon/core'
import { bufferOver } from '@tenon/core/internal'

/** Whether processes can share memory by descriptor. Elsewhere pools are memory of this process and its workers. */
export function sharesDescriptors(): boolean {
  return process.platform === 'linux' || process.platform === 'darwin'
}

export function hasSeals(): boolean {
  return process.platform === 'linux'
}

let views: boolean | undefined

/** Whether views of native memory are allowed, which Electron refuses. Without views, pools are copied. */
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
