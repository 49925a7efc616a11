import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const program = join(dirname(createRequire(import.meta.url).resolve('tenon/package.json')), 'dist/cli.cjs')

/** Starts `tenon serve` as users do. It finds `@tenon/serve` from its working directory. */
export function startTenonServe(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [program, 'serve', ...args], {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Runs `tenon serve` until it ends. The last argument can be variables of its environment. */
export async function runTenonServe(
  ...args: readonly (string | NodeJS.ProcessEnv)[]
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = startTenonServe(
    args.filter((arg) => typeof arg === 'string'),
    args.find((arg) => typeof arg === 'object'),
  )
  const [stdout, stderr] = [child.stdout!, child.stderr!].map(async (stream) => {
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString()
  }) as [Promise<string>, Promise<string>]
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout: await stdout, stderr: await stderr }
}
