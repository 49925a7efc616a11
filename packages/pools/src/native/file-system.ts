import { readFileSync } from 'node:fs'
import { describeDescriptor } from './descriptor.ts'

/**
 * File systems whose pages come from this machine. A page of another one (FUSE, a network) may never come, and whoever waits
 * for it hangs.
 */
const LOCAL: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'tmpfs', 'f2fs', 'zfs', 'overlay'])

/**
 * Whether a file lies on a file system of this machine. On Linux the file system itself isn't asked, as it may never answer:
 * the kernel's list of mounts says what it is.
 */
export function isLocalFile(descriptor: number): boolean {
  if (process.platform !== 'linux') return describeDescriptor(descriptor).fileSystem === 1
  const type = mountedType(descriptor)
  return type !== undefined && LOCAL.has(type)
}

/** Whether a descriptor is memory of a device, which only the kernel can say: files could call themselves so. */
export function isDmaBuf(descriptor: number): boolean {
  return process.platform === 'linux' && /^exp_name:/m.test(kernelInfo(descriptor))
}

/** The type of file system behind a descriptor; undefined if it is mounted nowhere that this process sees. */
function mountedType(descriptor: number): string | undefined {
  const mount = /^mnt_id:\s*(\d+)$/m.exec(kernelInfo(descriptor))?.[1]
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  // "36 35 98:0 /root /point options - type source options": the id is first, the type behind the lone dash.
  const line = mounts.find((entry) => entry.startsWith(`${mount} `))
  return line === undefined ? undefined : / - (\S+)/.exec(line)?.[1]
}

/** What Linux itself knows of a descriptor; nothing if it isn't open. */
function kernelInfo(descriptor: number): string {
  try {
    return readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')
  } catch {
    return ''
  }
}
