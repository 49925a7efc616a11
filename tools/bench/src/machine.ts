import { readFileSync } from 'node:fs'
import { availableParallelism, arch, cpus, loadavg, platform, release, totalmem } from 'node:os'

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  readonly platform: string
  readonly kernel: string
  /** The average number of runnable processes in the minute before the benchmark. */
  readonly load: number
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    platform: `${platform()}-${arch()}`,
    kernel: release(),
    load: Number(loadavg()[0]!.toFixed(2)),
  }
}

/** Returns the versions of Tenon, of koffi, and of Node.js and its parts that run the harness. */
export function versions(): Record<string, string> {
  const { node, v8, uv } = process.versions
  return { tenon: versionIn('tenon'), koffi: versionIn('core/node_modules/koffi'), node, v8, uv }
}

function versionIn(directory: string): string {
  const file = new URL(`../../../packages/${directory}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
