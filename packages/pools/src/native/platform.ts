import { gcAllocator } from '@tenon/core'
import { bufferOver } from '@tenon/core/internal'

/**
 * Whether processes can hand each other memory by descriptor here: on Linux and macOS. Elsewhere pools are memory of this
 * process alone, which its worker threads share.
 */
export function sharesDescriptors(): boolean {
  return process.platform === 'linux' || process.platform === 'darwin'
}

/** Whether memory can be sealed, by the kernel's word: on Linux. */
export function hasSeals(): boolean {
  return process.platform === 'linux'
}

let views: boolean | undefined

/**
 * Whether this runtime lets JavaScript look at memory that isn't its own: Electron doesn't. Without it, pools are read and
 * written by copies. Found out once, by trying.
 */
export function hasViews(): boolean {
  views ??= canView()
  return views
}

function canView(): boolean {
  const block = gcAllocator.allocate(16)
  try {
    // Over memory that lives on, and gone before anybody sees it.
    bufferOver(Number(block.address), block.byteSize).transfer(0)
    return true
  } catch {
    return false
  }
}
