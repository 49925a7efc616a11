import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'

import { ToolError } from '@tenon/build'
import { installZig } from '@tenon/config/zig'

/** The SHA-256 digests of the compiler on the machines that build releases. */
const digests: Readonly<Record<string, string>> = {
  'linux-x64': 'b3d5e9eec6159a1eac821c38cbadde5bae3b174d31c71232f134218dbd62170d',
  'linux-arm64': '9f5a5d9cf2dc80ef0d6f7bc0b7d209bd841b795b472703693017236e087fa612',
}

/**
 * Installs the only zig with which releases are built.
 *
 * @throws {ToolError} if no digest is known for this machine, or the file has another one
 */
export async function installReleaseZig(): Promise<string> {
  const machine = `${process.platform}-${process.arch}`
  const expected = digests[machine]
  if (expected === undefined)
    throw new ToolError(`releases are built on ${Object.keys(digests).join(' and ')}, this machine is ${machine}`)
  const path = installZig()
  await checkDigest(path, expected)
  return path
}

/** @throws {ToolError} with both digests if a file has another one */
export async function checkDigest(path: string, expected: string): Promise<void> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash)
  const digest = hash.digest('hex')
  if (digest !== expected) throw new ToolError(`${path} must have the SHA-256 digest ${expected}, got ${digest}`)
}
