import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse, stringify } from 'yaml'
import { createClient, ModelUnavailableError, UnauthenticatedError, type ClientOptions } from '../../src/client.ts'
import { freePort } from '../load.ts'
import { IMAGE } from './image.ts'
import type { Podman } from './podman.ts'

const manifest = join(import.meta.dirname, '../../../../deploy/kubernetes/deployment.yaml')

/** The deployment of deploy/kubernetes. */
export const plainDeployment = (): unknown => parse(readFileSync(manifest, 'utf8'))

/** A probe of a container in a manifest. */
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly periodSeconds: number
  readonly failureThreshold: number
}

interface Container {
  image: string
  args: string[]
  volumeMounts: { readonly name: string; readonly mountPath: string }[]
  ports?: unknown
  startupProbe?: Probe
  livenessProbe?: Probe
  readinessProbe?: Probe
}

interface Deployment {
  spec: {
    replicas: number
    template: { spec: { hostNetwork?: boolean; containers: [Container]; volumes: { name: string; secret?: object }[] } }
  }
}

/** How a deployment with encryption and tokens is asked. */
export interface Secured {
  /** The files of each secret: those of `tenon-tls` and `tenon-access`. */
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly options: ClientOptions
}

/**
 * Plays a deployment, whose image, network and number of replicas are replaced, and asks its probes as the kubelet does: the first one until it
 * succeeds, and then the others.
 *
 * @param folder for files. @param secured the secrets of a deployment that has some.
 * @throws {Error} if a probe fails, or the pod does not end by itself.
 */
export async function playDeployment(
  podman: Podman,
  folder: string,
  content: unknown,
  secured?: Secured,
): Promise<void> {
  const deployment = content as Deployment
  const { spec } = deployment
  const [container] = spec.template.spec.containers
  const { startupProbe, livenessProbe, readinessProbe } = container
  spec.replicas = 1
  spec.template.spec.hostNetwork = true
  // Containers of the network of the host map no ports.
  delete container.ports
  container.image = IMAGE
  const ports = { http: await freePort(), grpc: await freePort(), monitoring: await freePort() }
  const own = { '--host': '127.0.0.1', '--http-port': ports.http, '--grpc-port': ports.grpc }
  const all = secured === undefined ? own : { ...own, '--monitoring-port': ports.monitoring }
  for (const [flag, value] of Object.entries(all)) {
    const at = container.args.findIndex((arg) => arg.startsWith(`${flag}=`))
    if (at === -1) throw new Error(`the deployment must have the argument ${flag}`)
    container.args[at] = `${flag}=${value}`
  }
  // Podman would run them inside of the container, by a curl that it does not have.
  delete container.startupProbe
  delete container.livenessProbe
  delete container.readinessProbe
  const file = join(folder, 'deployment.yaml')
  const secrets = Object.entries(secured?.secrets ?? {}).map(([name, stringData]) =>
    stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData }),
  )
  writeFileSync(file, [...secrets, stringify(deployment)].join('---\n'))
  await podman.run('kube', 'play', file)

  const url = `${secured === undefined ? 'http' : 'https'}://127.0.0.1:${ports.http}`
  const ask = (probe: Probe | undefined): Promise<boolean> => {
    if (probe === undefined) throw new Error('the deployment must have three probes')
    const { path, port } = probe.httpGet
    if (port !== 'http' && port !== 'monitoring') throw new Error(`a probe must have a port of the pod, got ${port}`)
    return fetch(`http://127.0.0.1:${ports[port]}${path}`).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  let failures = 0
  while (!(await ask(startupProbe))) {
    if (++failures === startupProbe!.failureThreshold) throw new Error('the startup probe did not succeed in time')
    await sleep(1000 * startupProbe!.periodSeconds)
  }
  if (!(await ask(livenessProbe))) throw new Error('the liveness probe failed')
  if (!(await ask(readinessProbe))) throw new Error('the readiness probe failed')
  await infer(url, secured?.options)
  if (secured !== undefined) await expectRefused(url, secured.options)

  const containers = (await podman.run('ps', '--filter=name=tenon-serve', '--format={{.ID}} {{.Names}}')).split('\n')
  const id = containers.find((line) => !line.includes('infra'))?.split(' ')[0]
  if (id === undefined) throw new Error('podman kube play has started no container')
  await podman.run('kill', '--signal=TERM', id)
  // It is not ready within a period of the probe, and still answers.
  const noticed = Date.now() + 1000 * readinessProbe!.periodSeconds
  while (await ask(readinessProbe)) {
    if (Date.now() > noticed) throw new Error('the pod is still ready after a period of its readiness probe')
    await sleep(50)
  }
  await infer(url, secured?.options)
  const code = await podman.run('wait', id)
  if (code !== '0') throw new Error(`the pod ended with ${code} instead of 0`)
  await podman.run('kube', 'down', file)
}

/** Sends a request for the model `double`. @throws {Error} if the answer is wrong. */
export async function infer(url: string, options: ClientOptions = {}): Promise<void> {
  const client = createClient(url, options)
  const { y } = await client.infer('double', { x: [1, 2] })
  await client.closeAsync()
  const text = [...(y!.data as Float32Array)].join()
  if (text !== '2,4') throw new Error(`the answer of double must be 2,4, got ${text}`)
}

/** @throws {Error} if a request without a token is answered, or one without encryption. */
async function expectRefused(url: string, { ca = '' }: ClientOptions): Promise<void> {
  for (const [place, options, Expected] of [
    [url, { ca }, UnauthenticatedError],
    [url.replace('https', 'http'), {}, ModelUnavailableError],
  ] as const) {
    const client = createClient(place, { ...options, retries: 0 })
    const refused = await client.metadata().catch((error: unknown) => error)
    await client.closeAsync()
    if (!(refused instanceof Expected)) throw new Error(`${place} must not answer, got ${String(refused)}`)
  }
}
