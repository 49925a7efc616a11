/** The C library of this process, on Linux. */
type Libc = 'gnu' | 'musl'

/**
 * The platform of this process: its system and processor by the names of Node.js, and on Linux its C library., such as `linux-x64-gnu`,
 * `linux-arm64-musl`, `darwin-arm64` or `win32-x64`.
 *
 * @example
 * hostPlatformName().startsWith(`${process.platform}-${process.arch}`) // true
 */
export function hostPlatformName(): string {
  const { platform, arch } = process
  return platform === 'linux' ? `${platform}-${arch}-${hostLibc()}` : `${platform}-${arch}`
}

/** A part of a report of Node.js. */
interface Report {
  readonly header: { readonly glibcVersionRuntime?: string }
}

let libc: Libc | undefined

/** Asks the report of Node.js once, because making one takes milliseconds. Node.js names glibc in it, and no other C library. */
function hostLibc(): Libc {
  if (libc !== undefined) return libc
  // The types of Node.js lack this member.
  const report = process.report as typeof process.report & { excludeNetwork: boolean }
  const { excludeNetwork } = report
  // Otherwise the report looks up the names of the network interfaces and of connected hosts.
  report.excludeNetwork = true
  try {
    return (libc = (report.getReport() as Report).header.glibcVersionRuntime === undefined ? 'musl' : 'gnu')
  } finally {
    report.excludeNetwork = excludeNetwork
  }
}
