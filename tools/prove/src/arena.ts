import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { installRuntime } from '@tenon/config/runtimes'
import { findNode } from '@tenon/config/node-versions'
import type { Setup } from './contestant.ts'
import type { Arena } from './run-line.ts'

const tool = join(import.meta.dirname, '..')
const rivals = join(tool, 'rivals')

/** The paths of what `build:native` and {@link prepareArena} make. */
export const setup: Setup = {
  library: join(tool, `build/release/libprove_work.${process.platform === 'darwin' ? 'dylib' : 'so'}`),
  rivals: join(rivals, 'package.json'),
  addon: join(tool, 'build/addon/prove_addon.node'),
}

/** Something that cannot take part, with the error. */
export interface Absence {
  readonly name: string
  readonly reason: string
}

/**
 * Installs the rivals by their lockfile, in their own folder, and the runtimes, and compiles the addon. What fails is absent, and its lines say
 * so: nothing stands in for it.
 */
export function prepareArena(): Arena & { readonly absent: readonly Absence[] } {
  const absent: Absence[] = []
  const tryTo = <Result>(name: string, make: () => Result): Result | undefined => {
    try {
      return make()
    } catch (error) {
      absent.push({ name, reason: (error as Error).message.trim().split('\n')[0]! })
      return undefined
    }
  }
  const stdio = ['ignore', 'ignore', 'inherit'] as const
  tryTo('the rivals of npm', () =>
    execFileSync('pnpm', ['install', '--frozen-lockfile'], { cwd: rivals, stdio: [...stdio] }),
  )
  tryTo('addon', () => {
    rmSync(setup.addon, { force: true })
    mkdirSync(join(setup.addon, '..'), { recursive: true })
    const includes = [join(rivals, 'node_modules/node-addon-api'), join(tool, 'node_modules/node-api-headers/include')]
    const options = ['-std=c++17', '-O2', '-shared', '-fPIC', '-fvisibility=hidden', '-DNAPI_VERSION=8']
    const paths = includes.flatMap((include) => ['-I', include])
    const args = [...options, ...paths, join(tool, 'csrc/addon.cc'), '-o', setup.addon]
    execFileSync(process.env['CXX'] ?? 'c++', args, { stdio: [...stdio] })
  })
  const node = tryTo('Node.js 26', () => findNode('26'))
  const bun = tryTo('Bun', () => installRuntime('bun'))
  const deno = tryTo('Deno', () => installRuntime('deno'))
  return {
    runtimes: { ...(node && { node }), ...(bun && { bun }), ...(deno && { deno }) },
    setup,
    contestants: join(import.meta.dirname, 'contestants/index.ts'),
    absent,
  }
}
