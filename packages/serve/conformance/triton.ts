/**
 * The command `pnpm test:triton`, which runs the Python examples of triton-inference-server/client against this server, and a script
 * that calls every method of the client. The examples are unchanged, but the keys of their shared memory get the prefix that the server
 * requires. TENON_TRITON_CLIENT names a checkout of that repository, and TENON_TRITON_COMMON one of triton-inference-server/common.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { check, report, reportMissing, type Outcome } from '@tenon/config/conformance'
import type { InferenceServer } from '../src/index.ts'
import { examples, leftOut, type Example } from './triton/examples.ts'
import { KEY_PREFIX, startAll, startExplicit } from './triton/fixture.ts'
import { findSources, PythonClient, type Sources } from './triton/python-client.ts'

const starts = {
  all: startAll,
  ownHttp: () => startExplicit(6),
  ownGrpc: () => startExplicit(6),
  // The examples of model control compare the number of models.
  seven: () => startExplicit(7),
  eight: () => startExplicit(8),
}

async function runExample(client: PythonClient, server: InferenceServer, example: Example): Promise<void> {
  const { file, isOwn = false, protocol, args = [], sharesMemory = false } = example
  const port = protocol === 'http' ? server.port : server.grpcPort
  const wrapper = sharesMemory ? [join(import.meta.dirname, 'triton/run_with_key_prefix.py'), KEY_PREFIX] : []
  await client.run(
    isOwn ? join(import.meta.dirname, 'triton', file) : file,
    ['-u', `localhost:${port}`, ...args],
    wrapper,
  )
}

async function runAll(sources: Sources): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const client = await PythonClient.prepare(sources)
  const servers = new Map<string, InferenceServer>()
  try {
    for (const example of examples) {
      const { fixture = 'all' } = example
      const server = servers.get(fixture) ?? (await starts[fixture]())
      servers.set(fixture, server)
      const name = [example.file, ...(example.args ?? [])].join(' ')
      outcomes.push(await check(name, () => runExample(client, server, example)))
    }
  } finally {
    client[Symbol.dispose]()
    await Promise.all([...servers.values()].map((server) => server.closeAsync()))
  }
  return outcomes
}

/** One check for each example of the checkout that this command does not know. */
async function findUnknown({ client }: Sources): Promise<Outcome[]> {
  const known = new Set([...leftOut.keys(), ...examples.map(({ file }) => file)])
  const files = readdirSync(join(client, 'src/python/examples')).filter((name) => name.endsWith('.py'))
  const unknown = files.filter((name) => !known.has(name))
  return Promise.all(
    unknown.map((name) =>
      check(name, () => {
        throw new Error(`add it to conformance/triton/examples.ts, as a run or with the reason why it does not run`)
      }),
    ),
  )
}

const missing: string[] = []
const sources = await findSources(missing)
if (missing.length > 0) reportMissing('pnpm test:triton', missing)
else {
  const outcomes = [...(await runAll(sources)), ...(await findUnknown(sources))]
  for (const [name, reason] of leftOut) process.stdout.write(`left out          ${name}: ${reason}\n`)
  report(outcomes)
}
