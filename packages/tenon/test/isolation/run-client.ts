import { packageFlags } from '@tenon/config/package-flags'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { coreLibrary } from '@tenon/core/internal'
import { runScript, type ScriptResult } from '@tenon/core/testing'

/** Returns the path of a fixture of the core. */
export const fixture = (name: string): string => join(dirname(coreLibrary().path), `lib${name}.so`)

/**
 * Runs a program of this folder in a process of its own, so that a test sees its crash.
 *
 * @param argument what the program gets as `argument`
 */
export function runClient(
  program: string,
  argument: unknown,
  { timeout, nodeOptions = [] }: { readonly timeout: number; readonly nodeOptions?: readonly string[] },
): Promise<ScriptResult> {
  const url = new URL(program, import.meta.url).href
  const script = `import { main } from ${JSON.stringify(url)}; console.log(JSON.stringify(await main(${JSON.stringify(argument)})))`
  return runScript(script, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    nodeOptions: [...packageFlags, '--expose-gc', '--no-warnings', ...nodeOptions],
    timeout,
  })
}
