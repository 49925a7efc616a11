/**
 * The command `pnpm release:native PLATFORM...`, which fills the packages of platforms with the libraries that are published. They are
 * built with one version of zig, whose digest is checked, for the oldest supported system. A package with a library that must not be
 * published stays empty.
 */
import { join } from 'node:path'

import { findPlatform, runMain, ToolError } from '@tenon/build'

import { runNativeBuild } from './lib/native.ts'
import { root } from './lib/root.ts'
import { installReleaseZig } from './lib/zig.ts'

await runMain(async () => {
  const platforms = process.argv.slice(2).map(findPlatform)
  if (platforms.length === 0) throw new ToolError('pnpm release:native needs a platform, such as linux-x64-gnu')
  const env = { TENON_ZIG: await installReleaseZig() }
  for (const { name } of platforms) {
    const built = await runNativeBuild(join(root, 'packages/core'), ['--target', name, '--package'], env)
    if (built.code !== 0) throw new ToolError(built.stderr)
    process.stdout.write(built.stdout)
  }
})
