import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse, stringify } from 'yaml'
import { freePort } from '../load.ts'
import { IMAGE } from './image.ts'
import { isReady } from './replica.ts'
import type { Podman } from './podman.ts'

const manifest = join(import.meta.dirname, '../../../../deploy/kubernetes/deployment.yaml')

/** A probe of a container in a manifest. */
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly periodSeconds: number
  readonly failureThreshold: number
}

interface Container {
  image: string
  args: string[]
  ports?: unknown
  startupProbe?: Probe
  livenessProbe?: Probe
  readinessProbe?: Probe
}

interface Deployment {
  spec: { replicas: number; template: { spec: { hostNetwork?: boolean; containers: [Container] } } }
}

/**
 * Plays the deployment of deploy/kubernetes, whose image, network and number of replicas are replaced, and asks its probes as the kubelet does:
 * the first one until it succeeds, and then the others.
 *
 * @param folder for files. @param models the folder of the models.
 * @throws {Error} if a probe fails, or the pod does not end by itself.
 */
export async function playDeployment(podman: Podman, folder: string, models: string): Promise<void> {
  const deployment = parse(readFileSync(manifest, 'utf8')) as Deployment
  const { spec } = deployment
  const [container] = spec.template.spec.containers
  const { startupProbe, livenessProbe, readinessProbe } = container
  const port = await freePort()
  spec.replicas = 1
  spec.template.spec.hostNetwork = true
  // Containers of the network of the host map no ports.
  delete container.ports
  container.image = IMAGE
  const own = { '--host': '127.0.0.1', '--http-port': port, '--grpc-port': await freePort() }
  for (const [flag, value] of Object.entries(own)) {
    const at = container.args.findIndex((arg) => arg.startsWith(`${flag}=`))
    if (at === -1) throw new Error(`${manifest} must have the argument ${flag}`)
    container.args[at] = `${flag}=${value}`
  }
  // Podman would run them inside of the container, by a curl that it does not have.
  delete container.startupProbe
  delete container.livenessProbe
  delete container.readinessProbe
  const file = join(folder, 'deployment.yaml')
  writeFileSync(file, stringify(deployment))
  await podman.run('volume', 'create', '--opt=type=none', '--opt=o=bind', `--opt=device=${models}`, 'tenon-models')
  await podman.run('kube', 'play', file)

  const url = `http://127.0.0.1:${port}`
  const ask = (probe: Probe | undefined): Promise<boolean> => {
    if (probe === undefined) throw new Error(`${manifest} must have three probes`)
    return fetch(`${url}${probe.httpGet.path}`).then(
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
  await infer(url)

  const containers = (await podman.run('ps', '--filter=name=tenon-serve', '--format={{.ID}} {{.Names}}')).split('\n')
  const id = containers.find((line) => !line.includes('infra'))?.split(' ')[0]
  if (id === undefined) throw new Error('podman kube play has started no container')
  await podman.run('kill', '--signal=TERM', id)
  // It is not ready within a period of the probe, and still answers.
  const noticed = Date.now() + 1000 * readinessProbe!.periodSeconds
  while (await isReady(url)) {
    if (Date.now() > noticed) throw new Error('the pod is still ready after a period of its readiness probe')
    await sleep(50)
  }
  await infer(url)
  const code = await podman.run('wait', id)
  if (code !== '0') throw new Error(`the pod ended with ${code} instead of 0`)
}

/** Sends a request for the model `double`. @throws {Error} if the answer is wrong. */
export async function infer(url: string): Promise<void> {
  const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [2], data: [1, 2] }] })
  const reply = await fetch(`${url}/v2/models/double/infer`, { method: 'POST', body })
  const text = await reply.text()
  if (!text.includes('"data":[2,4]'))
    throw new Error(`the answer of double must be [2, 4], got ${reply.status} ${text}`)
}
