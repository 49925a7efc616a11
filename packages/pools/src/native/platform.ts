import { gcAllocator } from '@tenon/core'
import { bufferOver } from '@tenon/core/internal'

let views: boolean | undefined

/** The abilities of this system that memory depends on. Tests replace the functions. */
export const platform = {
  /** Whether processes can share memory by descriptor. Elsewhere pools are memory of this process and its workers. */
  sharesDescriptors: (): boolean => process.platform === 'linux' || process.platform === 'darwin',

  /** Whether the kernel refuses changes of sealed memory. */
  hasSeals: (): boolean => process.platform === 'linux',

  /** Whether views of native memory are allowed, which Electron refuses. Without views, pools are copied. */
  hasViews: (): boolean => {
    if (views !== undefined) return views
    const block = gcAllocator.allocate(16)
    try {
      // The view is detached at once, and the memory outlives it.
      bufferOver(Number(block.address), block.byteSize).transfer(0)
      return (views = true)
    } catch {
      return (views = false)
    }
  },
}
