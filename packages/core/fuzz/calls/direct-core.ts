import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Abi } from '../../src/native/call/call-plan.ts'
import { coreSourcesOf } from './core-sources.ts'
import { type CompilerName, type Toolchain, toolchainOf } from './toolchains.ts'

/** The core and `runner.c`, compiled for a calling convention. Several programs contain them. */
export class DirectCore {
  readonly abi: Abi
  readonly compiler: CompilerName
  readonly toolchain: Toolchain
  readonly directory: string
  readonly objects: string[] = []

  private constructor(abi: Abi, compiler: CompilerName, toolchain: Toolchain, directory: string) {
    this.abi = abi
    this.compiler = compiler
    this.toolchain = toolchain
    this.directory = directory
  }

  static async build(abi: Abi, compiler: CompilerName): Promise<DirectCore> {
    const directory = await mkdtemp(join(tmpdir(), 'tenon-calls-'))
    const core = new DirectCore(abi, compiler, toolchainOf(abi, compiler), directory)
    try {
      for (const source of coreSourcesOf(abi)) {
        const object = join(directory, `core-${core.objects.length}.o`)
        await core.toolchain.compileCore(source, object)
        core.objects.push(object)
      }
      return core
    } catch (error) {
      await core.close()
      throw error
    }
  }

  async close(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true })
  }
}
