import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

import { ToolError } from '@tenon/build'

import { withoutNpm } from '../lib/run-tool.ts'

/** A package registry on this machine, without packages at first. Packages of others come from npm's registry. */
export interface Registry {
  readonly url: string
  /** The text of an `.npmrc` with which npm uses the registry. */
  readonly npmrc: string
  close(): Promise<void>
}

/** Ends the registry when its input is closed, which happens however this process ends. */
const endsWithParent = 'data:text/javascript,process.stdin.on("end", () => process.exit()).resume()'

/** The time until the registry must answer, in milliseconds. */
const START_TIMEOUT = 60_000

/**
 * Starts a registry on a free port of this machine.
 *
 * @param packages the directory in which verdaccio is installed @param own the names of packages that never come from npm's registry
 * @throws {ToolError} with the output of the registry if it does not start
 */
export async function startRegistry(packages: string, directory: string, own: readonly string[]): Promise<Registry> {
  const host = `localhost:${await freePort()}`
  const url = `http://${host}`
  mkdirSync(directory, { recursive: true })
  const access = { access: '$all', publish: '$all', unpublish: '$all' }
  const config = {
    storage: join(directory, 'storage'),
    auth: { htpasswd: { file: join(directory, 'htpasswd') } },
    uplinks: { npmjs: { url: 'https://registry.npmjs.org/', cache: true, timeout: '60s', maxage: '1h' } },
    packages: { ...Object.fromEntries(own.map((name) => [name, access])), '**': { ...access, proxy: 'npmjs' } },
    max_body_size: '100mb',
    log: { type: 'stdout', format: 'pretty', level: 'warn' },
  }
  // JSON is YAML.
  const configPath = join(directory, 'config.yaml')
  writeFileSync(configPath, JSON.stringify(config))
  const program = join(packages, 'verdaccio/bin/verdaccio')
  const args = ['--import', endsWithParent, program, '--config', configPath, '--listen', host]
  const child = spawn(process.execPath, args, { stdio: 'pipe', env: withoutNpm(process.env) })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null && child.kill()) await once(child, 'exit')
  }
  for (const end = Date.now() + START_TIMEOUT; !(await answers(url)); await wait(100)) {
    if (child.exitCode === null && Date.now() < end) continue
    await close()
    throw new ToolError(`the registry did not start:\n${output}`)
  }
  // Anyone may publish, but npm publishes only with a token.
  return { url, npmrc: `registry=${url}/\n//${host}/:_authToken=rehearsal\n`, close }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/-/ping`)).ok
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
