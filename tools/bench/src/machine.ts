import { availableParallelism, arch, cpus, loadavg, platform, release, totalmem } from 'node:os'

/** What the figures were measured on. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  /** `linux-x64`. */
  readonly platform: string
  readonly kernel: string
  /** Processes that wanted to run in the last minute before: others than the benchmark, on a shared machine. */
  readonly load: number
}

/** Describes this machine as it is now. */
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
