/**
 * The command `pnpm test:containers`, which runs the packed packages of this checkout in the image of deploy/Dockerfile, with podman: without
 * rights and with a limit of memory, from deploy/kubernetes/deployment.yaml and deploy/kubernetes/secure, and as two replicas behind haproxy that are replaced under load. `--install`
 * installs what is missing from Debian, as root. TENON_UPDATES is the number of replicas that are replaced, 4 by default.
 */
import { coreLibrary } from '@tenon/core/internal'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { check, report, reportMissing, type Outcome } from '@tenon/config/conformance'
import { Authority } from '../test/certificates.ts'
import { infer, plainDeployment, playDeployment, type Secured } from './containers/deployment.ts'
import { BASE, makeBase, makeImage } from './containers/image.ts'
import { installPackages, missingPackages, Podman } from './containers/podman.ts'
import { isReady, Replica } from './containers/replica.ts'
import { expectNothingLost } from './load.ts'
import { startProxy, type Proxy } from './proxy.ts'
import { secureDeployment } from './secure-deployment.ts'

const UPDATES = Number(process.env['TENON_UPDATES'] ?? 4)

/** The models, which are faults of csrc/fixture/faulty/faults.h: none, blocks of 64 MiB until there is no memory, and a sleep of 50 ms. */
const MODELS: Readonly<Record<string, object>> = {
  double: { attributes: { fault: 0 }, instances: 2, warmUp: [{ inputs: [{ name: 'x', shape: [4], zeroData: true }] }] },
  hoard: { attributes: { fault: 10 }, idempotent: false },
  slow: { attributes: { fault: 29 } },
}

function writeModels(folder: string): void {
  for (const [name, others] of Object.entries(MODELS)) {
    mkdirSync(join(folder, name, '1'), { recursive: true })
    const file = { library: 'libfaulty.so', kernel: 'faulty', ...others }
    writeFileSync(join(folder, name, 'model.json'), JSON.stringify(file))
    copyFileSync(join(dirname(coreLibrary().path), 'libfaulty.so'), join(folder, name, '1/libfaulty.so'))
  }
}

/** A field of the status of a process, as Linux has it. */
const statusOf = (process: number, field: string): string =>
  new RegExp(`^${field}:\\s*(.*)$`, 'm').exec(readFileSync(`/proc/${process}/status`, 'utf8'))?.[1] ?? ''

function expectEqual(what: string, value: unknown, expected: unknown): void {
  if (value !== expected) throw new Error(`${what} must be ${String(expected)}, got ${String(value)}`)
}

async function statusOfModel(url: string, model: string): Promise<{ readonly status: number; readonly text: string }> {
  const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [2], data: [1, 2] }] })
  const reply = await fetch(`${url}/v2/models/${model}/infer`, { method: 'POST', body })
  return { status: reply.status, text: await reply.text() }
}

async function checkRights(replica: Replica): Promise<void> {
  const { Pid: server } = await replica.state()
  expectEqual('the user', statusOf(server, 'Uid'), '1000\t1000\t1000\t1000')
  for (const rights of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
    expectEqual(rights, statusOf(server, rights), '0000000000000000')
  expectEqual('NoNewPrivs', statusOf(server, 'NoNewPrivs'), '1')
  const mount = readFileSync(`/proc/${server}/mountinfo`, 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[4] === '/')
  if (mount?.split(' ')[5]?.split(',')[0] !== 'ro') throw new Error(`the file system must be read-only, got ${mount}`)
  await infer(replica.url)
  process.stdout.write(
    `        the server has ${statusOf(server, 'RssAnon')} of its own, and ${statusOf(server, 'VmRSS')} in all\n`,
  )
}

async function checkMemory(replica: Replica): Promise<void> {
  const before = await replica.state()
  for (let i = 0; i < 3; i++) {
    const { status, text } = await statusOfModel(replica.url, 'hoard')
    if (status !== 500 || !text.includes('SIGKILL')) throw new Error(`hoard must be killed, got ${status} ${text}`)
    await infer(replica.url)
  }
  const after = await replica.state()
  expectEqual('the process of the server', after.Pid, before.Pid)
  expectEqual('the state', after.Status, 'running')
}

/** Ends a server that has twenty requests, which take a second together. */
async function checkDrain(replica: Replica): Promise<void> {
  const answers = Array.from({ length: 20 }, () => statusOfModel(replica.url, 'slow'))
  await sleep(100)
  const start = performance.now()
  await replica.terminate()
  while (await isReady(replica.url)) await sleep(10)
  const noticed = performance.now() - start
  await infer(replica.url)
  for (const { status, text } of await Promise.all(answers))
    if (status !== 200) throw new Error(`got ${status} ${text}`)
  expectEqual('the exit code', await replica.ended(), 0)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  process.stdout.write(`        not ready after ${noticed.toFixed(0)} ms, ended after ${seconds} s\n`)
}

/** Replaces two replicas in turns while a client that does not try again sends requests. */
async function checkUpdates(podman: Podman, models: string): Promise<void> {
  const replicas = [await Replica.start(podman, models), await Replica.start(podman, models)]
  let proxy: Proxy | undefined
  try {
    proxy = await startProxy('haproxy', replicas)
    const model = { name: 'double', factor: 2, byteSize: 4096 }
    await expectNothingLost(proxy, model, { seconds: 60 * UPDATES, retries: 0 }, async (end) => {
      let count = 0
      for (; count < UPDATES && !end.aborted; count++) {
        expectEqual('the exit code', await replicas[count % 2]!.replace(), 0)
        // Until haproxy has seen that it is ready.
        await sleep(2000)
      }
      return count
    })
  } finally {
    await proxy?.stop()
    await Promise.all(replicas.map((replica) => replica.stop()))
  }
}

/** The secrets of deploy/kubernetes/secure, with a certificate for this machine. */
function makeSecrets(folder: string): Secured {
  const authority = new Authority(folder)
  const { cert, key } = authority.certifyServer()
  const token = randomBytes(32).toString('hex')
  const tokens = [{ name: 'check', sha256: createHash('sha256').update(token).digest('hex') }]
  const permissions = [{ callers: ['token:check'], infer: ['double'] }]
  const read = (path: string): string => readFileSync(path, 'utf8')
  return {
    secrets: {
      'tenon-tls': { 'tls.crt': read(cert), 'tls.key': read(key) },
      'tenon-access': { 'access.json': JSON.stringify({ tokens, permissions }) },
    },
    options: { ca: read(authority.cert), token },
  }
}

async function run(podman: Podman, folder: string): Promise<Outcome[]> {
  const models = join(folder, 'models')
  writeModels(models)
  const outcomes = [
    await check('the image of deploy/Dockerfile with the packed packages', () => makeImage(podman, folder)),
  ]
  if (outcomes[0]?.problem !== undefined) return outcomes
  const replica = await Replica.start(podman, models)
  outcomes.push(
    await check('read-only, user 1000, no capabilities, 400 MiB: it is ready, and answers', () => checkRights(replica)),
    await check('a kernel that takes all memory is killed alone, and the next request is answered', () =>
      checkMemory(replica),
    ),
    await check('SIGTERM: not ready at once, all requests answered, exit code 0', () => checkDrain(replica)),
  )
  await replica.stop()
  await podman.run('volume', 'create', '--opt=type=none', '--opt=o=bind', `--opt=device=${models}`, 'tenon-models')
  outcomes.push(
    await check('deploy/kubernetes/deployment.yaml with its probes', () =>
      playDeployment(podman, folder, plainDeployment()),
    ),
    await check('deploy/kubernetes/secure with its probes, certificates and tokens from secrets', () =>
      playDeployment(podman, folder, secureDeployment(), makeSecrets(folder)),
    ),
    await check(`${UPDATES} replicas replaced behind haproxy, a client that does not try again`, () =>
      checkUpdates(podman, models),
    ),
  )
  return outcomes
}

const { values } = parseArgs({ options: { install: { type: 'boolean' } } })
if (values.install === true) installPackages(missingPackages())
const missing = missingPackages()
const folder = mkdtempSync(join(tmpdir(), 'tenon-containers-'))
const podman = new Podman(join(folder, 'podman'))
try {
  // The user of the containers reads the models.
  chmodSync(folder, 0o755)
  if (missing.length > 0) {
    const names = missing.join(' ')
    reportMissing('pnpm test:containers', [
      `${names}: run pnpm test:containers --install as root, or apt-get install ${names}`,
    ])
  } else {
    await makeBase(podman, join(import.meta.dirname, '../../../node_modules/.cache/tenon-containers'))
    const problem = await podman.problem(BASE)
    if (problem === undefined) report(await run(podman, folder))
    else reportMissing('pnpm test:containers', [`containers, which do not run on this machine: ${problem}`])
    await podman.clear()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
