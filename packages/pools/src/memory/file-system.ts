import { readFileSync } from 'node:fs'
import { describeDescriptor } from './descriptor.ts'

/** Local file systems. A page of another one (FUSE, a network) may never arrive, so that its reader hangs. */
const LOCAL: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'tmpfs', 'f2fs', 'zfs', 'overlay'])

/** Whether a file is local. Linux's list of mounts has the answer, because the file system itself may never answer. */
export function isLocalFile(descriptor: number): boolean {
  if (process.platform !== 'linux') return describeDescriptor(descriptor).fileSystem === 1
  const type = mountedType(descriptor)
  return type !== undefined && LOCAL.has(type)
}

/** Whether a descriptor is memory of a device, as the kernel says. Files could have the same name. */
export function isDmaBuf(descriptor: number): boolean {
  return process.platform === 'linux' && /^exp_name:/m.test(kernelInfo(descriptor))
}

/** Returns the type of a descriptor's file system; undefined if this process does not see its mount. */
function mountedType(descriptor: number): string | undefined {
  const mount = /^mnt_id:\s*(\d+)$/m.exec(kernelInfo(descriptor))?.[1]
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  // "36 35 98:0 /root /point options - type source options": the id is first, the type behind the lone dash.
  const line = mounts.find((entry) => entry.startsWith(`${mount} `))
  return line === undefined ? undefined : / - (\S+)/.exec(line)?.[1]
}

function kernelInfo(descriptor: number): string {
  try {
    return readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')
  } catch {
    return ''
  }
}
