import { join } from 'node:path'

import { expect, test } from 'vitest'

import { root } from '../../src/lib/root.ts'
import { checkDigest } from '../../src/lib/zig.ts'

test('checkDigest() refuses a compiler that is not the one with which releases are built', async () => {
  const path = join(root, 'LICENSE')
  const digest = await checkDigest(path, 'none').catch((error: Error) => /got ([0-9a-f]{64})$/.exec(error.message)![1]!)
  await expect(checkDigest(path, String(digest))).resolves.toBeUndefined()
  await expect(checkDigest(path, 'none')).rejects.toThrow(`LICENSE must have the SHA-256 digest none, got ${digest}`)
})
