import { availableParallelism, arch, cpus, loadavg, platform, release, totalmem } from 'node:os'

/** The machine on which something was measured. */
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
