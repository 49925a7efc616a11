import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { runTenonServe } from './tenon-serve.ts'

const root = join(import.meta.dirname, '../../../deploy')
const text = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The part of the manifests that these tests read. */
interface Container {
  readonly image: string
  readonly args: readonly string[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly securityContext: Readonly<Record<string, unknown>>
  readonly lifecycle?: unknown
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string | number }
  readonly periodSeconds: number
  readonly failureThreshold: number
}

interface Replica {
  readonly image: string
  readonly command: readonly string[]
  readonly stop_grace_period: string
}

/** All documents of a file. @throws for a mistake in YAML, also for a key twice. */
function documents(path: string): unknown[] {
  return parseAllDocuments(text(path), { strict: true, uniqueKeys: true, merge: true }).map((document) => {
    expect([path, document.errors, document.warnings]).toEqual([path, [], []])
    return document.toJS() as unknown
  })
}

const only = <T>(path: string): T => {
  const [first, ...others] = documents(path)
  expect(others).toEqual([])
  return first as T
}

const deployment = only<{
  spec: {
    template: {
      metadata: { annotations: Record<string, string> }
      spec: { terminationGracePeriodSeconds: number; containers: [Container]; securityContext: object }
    }
  }
}>('kubernetes/deployment.yaml').spec.template
/** The parts that are added to the deployment, or replaced in it. */
const secure = only<{
  spec: {
    template: {
      metadata: { annotations: Record<string, string> }
      spec: {
        containers: [Container & { volumeMounts: { name: string; mountPath: string }[] }]
        volumes: { name: string; secret: { secretName: string } }[]
      }
    }
  }
}>('kubernetes/secure/deployment.yaml').spec.template
const runtime = only<{ spec: { annotations: Record<string, string>; containers: [Container] } }>(
  'kserve/cluster-serving-runtime.yaml',
).spec
const services = documents('kserve/inference-service.yaml') as {
  spec: {
    predictor: {
      terminationGracePeriodSeconds: number
      model: { protocolVersion: string; runtime: string; ports?: Container['ports'] }
    }
  }
}[]
const compose = only<{ services: Record<string, Replica> }>('compose.yaml').services
const { haproxy: proxy, ...replicas } = compose

/** The arguments of the image, as its Dockerfile says. */
const dockerArguments = JSON.parse(/^CMD (\[.*\])$/m.exec(text('Dockerfile'))![1]!) as string[]

/** Each place that starts the server, with its arguments. */
const starts: readonly (readonly [place: string, args: readonly string[]])[] = [
  ['Dockerfile', dockerArguments],
  ['kubernetes', deployment.spec.containers[0].args],
  ['kubernetes/secure', secure.spec.containers[0].args],
  ['kserve', runtime.containers[0].args],
  ...Object.entries(replicas).map(([name, { command }]) => [`compose ${name}`, command] as const),
]

const valueOf = (args: readonly string[], flag: string): string =>
  args.find((one) => one.startsWith(`${flag}=`))!.slice(flag.length + 1)
const seconds = (duration: string): number => Number(/^(\d+)s$/.exec(duration)![1])

describe('the files of deploy', () => {
  test('all YAML can be read, and has no key twice', () => {
    const paths = globSync('**/*.yaml', { cwd: root }).toSorted()
    expect(paths.map((path) => [path, documents(path).length])).toEqual([
      ['compose.yaml', 1],
      ['kserve/cluster-serving-runtime.yaml', 1],
      ['kserve/inference-service.yaml', 2],
      ['kubernetes/deployment.yaml', 1],
      ['kubernetes/kustomization.yaml', 1],
      ['kubernetes/pod-disruption-budget.yaml', 1],
      ['kubernetes/secure/deployment.yaml', 1],
      ['kubernetes/secure/kustomization.yaml', 1],
      ['kubernetes/secure/service.yaml', 1],
      ['kubernetes/service.yaml', 1],
    ])
    const { resources } = only<{ resources: string[] }>('kubernetes/kustomization.yaml')
    expect(['kustomization.yaml', ...resources].map((name) => `kubernetes/${name}`).toSorted()).toEqual(
      paths.filter((path) => /^kubernetes\/[^/]+$/.test(path)),
    )
  })

  test.each(starts)('%s: tenon serve accepts the arguments, and its help lists the flags', async (_place, args) => {
    const [command, folder, ...flags] = args
    expect([command, folder]).toEqual(['serve', '/mnt/models'])
    const { code, stdout } = await runTenonServe('--help')
    expect(code).toBe(0)
    for (const flag of flags) expect(stdout).toContain(`  ${flag.split('=')[0]} `)
    // 1 for a folder without models, where a wrong command line is 2.
    const stderr = expect.stringContaining('kserve/none')
    expect(await runTenonServe(join(root, 'kserve/none'), ...flags)).toEqual({ code: 1, stdout: '', stderr })
  })

  test.each(starts)('%s: the ports are 8080 and 9000, on all addresses', (_place, args) => {
    const flags = ['--host', '--http-port', '--grpc-port'].map((flag) => valueOf(args, flag))
    expect(flags).toEqual(['0.0.0.0', '8080', '9000'])
  })

  test('the grace periods are longer than the delays of the end', () => {
    const longest = (args: readonly string[]): number =>
      seconds(valueOf(args, '--drain-delay')) + seconds(valueOf(args, '--drain-timeout'))
    const { containers, terminationGracePeriodSeconds } = deployment.spec
    expect(terminationGracePeriodSeconds).toBeGreaterThan(longest(containers[0].args))
    expect(containers[0].lifecycle).toBeUndefined()
    for (const { command, stop_grace_period: period } of Object.values(replicas)) {
      expect(seconds(period)).toBeGreaterThan(longest(command))
    }
    // Inference services of others have the default of Kubernetes.
    expect(longest(runtime.containers[0].args)).toBeLessThan(30)
    for (const { spec } of services) {
      expect(spec.predictor.terminationGracePeriodSeconds).toBeGreaterThan(longest(runtime.containers[0].args))
    }
  })

  test.each([
    ['kubernetes', deployment.spec.containers[0]],
    ['kserve', runtime.containers[0]],
  ] as const)('%s: probes go to the port of HTTP, and notice the end within the drain delay', (_place, container) => {
    const { startupProbe, livenessProbe, readinessProbe, args, ports = [] } = container
    const probes = [startupProbe, livenessProbe, readinessProbe]
    expect(probes.map(({ httpGet }) => httpGet.path)).toEqual([
      '/v2/health/live',
      '/v2/health/live',
      '/v2/health/ready',
    ])
    const portOf = (port: string | number): unknown =>
      typeof port === 'number' ? port : ports.find(({ name }) => name === port)?.containerPort
    expect(probes.map(({ httpGet }) => portOf(httpGet.port))).toEqual([8080, 8080, 8080])
    const { periodSeconds, failureThreshold } = readinessProbe
    expect(periodSeconds * failureThreshold).toBeLessThan(seconds(valueOf(args, '--drain-delay')))
  })

  test('the ports of services, annotations and inference services are those of the arguments', () => {
    const { ports } = only<{ spec: { ports: { name: string; targetPort: string }[] } }>('kubernetes/service.yaml').spec
    const named = deployment.spec.containers[0].ports!
    const found = ports.map(({ targetPort }) => named.find(({ name }) => name === targetPort)?.containerPort)
    expect(found).toEqual([8080, 9000])
    expect(deployment.metadata.annotations).toMatchObject({
      'prometheus.io/port': '8080',
      'prometheus.io/path': '/metrics',
    })
    expect(runtime.annotations).toEqual({
      'prometheus.kserve.io/port': '8080',
      'prometheus.kserve.io/path': '/metrics',
    })
    expect(services.map(({ spec: { predictor } }) => predictor.model)).toMatchObject([
      { protocolVersion: 'v2', runtime: 'tenon-serve' },
      { protocolVersion: 'grpc-v2', runtime: 'tenon-serve', ports: [{ name: 'h2c', containerPort: 9000 }] },
    ])
    expect(text('Dockerfile')).toContain('\nEXPOSE 8080 9000\n')
    expect(text('Dockerfile')).toMatch(/^HEALTHCHECK .*http:\/\/127\.0\.0\.1:8080\/v2\/health\/live/m)
  })

  test('the deployment with certificates has the arguments of the other one, and probes the port of the monitoring', () => {
    const { args, ports, startupProbe, livenessProbe, readinessProbe, volumeMounts } = secure.spec.containers[0]
    expect(args.slice(0, 7)).toEqual(deployment.spec.containers[0].args)
    expect(ports).toEqual([{ name: 'monitoring', containerPort: Number(valueOf(args, '--monitoring-port')) }])
    expect(secure.metadata.annotations).toEqual({ 'prometheus.io/port': valueOf(args, '--monitoring-port') })
    expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.port)).toEqual([
      ...Array.from({ length: 3 }, () => 'monitoring'),
    ])
    // Each file of a flag is in a folder that is a secret. The names of those in a secret for TLS are given by Kubernetes.
    const files = ['--tls-cert', '--tls-key', '--access'].map((flag) => valueOf(args, flag))
    expect(files.map((file) => file.split('/').at(-1))).toEqual(['tls.crt', 'tls.key', 'access.json'])
    const folders = volumeMounts.map(({ mountPath }) => mountPath)
    expect(new Set(files.map((file) => file.split('/').slice(0, -1).join('/')))).toEqual(new Set(folders))
    expect(secure.spec.volumes.map(({ name }) => name)).toEqual(volumeMounts.map(({ name }) => name))
    const comment = text('kubernetes/secure/kustomization.yaml')
    for (const { secret } of secure.spec.volumes) expect(comment).toContain(secret.secretName)
  })

  test('the server runs without root and without further rights', () => {
    expect(text('Dockerfile')).toContain('\nUSER 1000:1000\n')
    const rights = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
    const profile = { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } }
    expect(deployment.spec.containers[0].securityContext).toEqual(rights)
    expect(deployment.spec.securityContext).toMatchObject(profile)
    expect(runtime.containers[0].securityContext).toMatchObject({ ...rights, ...profile })
    for (const replica of Object.values(replicas)) {
      expect(replica).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
    }
  })

  test('the image has one name everywhere', () => {
    const { images } = only<{ images: { name: string; newTag: string }[] }>('kubernetes/kustomization.yaml')
    const [image] = images as [{ name: string; newTag: string }]
    expect(deployment.spec.containers[0].image).toBe(image.name)
    const all = [runtime.containers[0].image, ...Object.values(replicas).map((replica) => replica.image)]
    expect(new Set(all)).toEqual(new Set([`${image.name}:${image.newTag}`]))
    expect(text('README.md')).toContain(`docker build --tag ${image.name} `)
  })

  test('haproxy has the replicas of compose.yaml, with their ports, and repeats requests', () => {
    const config = text('haproxy.cfg').replaceAll(/\$\{\w+-([^}]*)\}/g, '$1')
    const names = Object.keys(replicas)
    expect(names).toHaveLength(2)
    for (const name of names) {
      expect(config).toContain(`server ${name} "${name}:8080"`)
      expect(config).toMatch(new RegExp(`server ${name} "${name}:9000" proto h2 .*port "8080"`))
    }
    expect(config.match(/^ {4}server /gm)).toHaveLength(4)
    for (const line of [
      'http-check send meth GET uri /v2/health/ready',
      'option redispatch 1',
      'option http-buffer-request',
      'retry-on conn-failure empty-response response-timeout 503',
      'tune.bufsize 65536',
    ]) {
      expect(config).toContain(`\n    ${line}\n`)
    }
    expect(proxy).toMatchObject({ ports: ['127.0.0.1:8000:8000', '127.0.0.1:8001:8001'] })
    expect(config.match(/bind ":(\d+)"/g)).toEqual(['bind ":8000"', 'bind ":8001"'])
    // The environment variables of the README are those of the file.
    const variables = (page: string): string[] => [...new Set(page.match(/TENON_(?:\d|PROXY)\w*/g))].toSorted()
    expect(variables(text('README.md'))).toEqual(variables(text('haproxy.cfg')))
  })
})
