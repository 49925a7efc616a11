import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { ToolError } from '@tenon/build'

import { capturePnpm } from './run-tool.ts'

export interface WorkspacePackage {
  readonly name: string
  readonly directory: string
  readonly private: boolean
  /** The only platform of the package, such as `linux-x64-gnu`; undefined for all platforms. */
  readonly platform?: string
}

export async function listPackages(): Promise<WorkspacePackage[]> {
  const result = await capturePnpm(['list', '--recursive', '--depth=-1', '--json'])
  if (result.code !== 0) throw new ToolError(`pnpm could not list the packages:\n${result.stderr}`)
  const packages = JSON.parse(result.stdout) as { name: string; path: string; private: boolean }[]
  return packages.slice(1).map(({ name, path, private: isPrivate }) => {
    // The platform is in publishConfig, because pnpm warns of workspace packages for other platforms.
    const { publishConfig } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as {
      publishConfig?: { os?: string[]; cpu?: string[]; libc?: string[] }
    }
    const { os, cpu, libc } = publishConfig ?? {}
    const platform = os && cpu && [os[0], cpu[0], ...(libc ? [libc[0] === 'glibc' ? 'gnu' : libc[0]] : [])].join('-')
    return { name, directory: path, private: isPrivate, ...(platform !== undefined && { platform }) }
  })
}

/** The packages that are published for some platforms. */
export async function publicPackages(platforms: readonly string[]): Promise<WorkspacePackage[]> {
  const all = await listPackages()
  return all.filter((pkg) => !pkg.private && (pkg.platform === undefined || platforms.includes(pkg.platform)))
}

export function withNativeTargets<T extends { readonly directory: string }>(packages: readonly T[]): T[] {
  return packages.filter(({ directory }) => existsSync(join(directory, 'native.targets.ts')))
}
