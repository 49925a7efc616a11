import { hasNativeBuffers } from '@tenon/core/internal'

/** The abilities of this system that memory depends on. Tests replace the functions. */
export const platform = {
  /** Whether processes can share memory by descriptor. Elsewhere pools are memory of this process and its workers. */
  sharesDescriptors: (): boolean => process.platform === 'linux' || process.platform === 'darwin',

  /** Whether the kernel refuses changes of sealed memory. */
  hasSeals: (): boolean => process.platform === 'linux',

  /** Whether views of native memory are allowed, which Electron refuses. Without views, pools are copied. */
  hasViews: (): boolean => hasNativeBuffers(),
}
