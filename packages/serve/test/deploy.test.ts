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

/** The folders of a container that are secrets. */
interface Mounts {
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}

type Secrets = readonly { readonly name: string; readonly secret: { readonly secretName: string } }[]

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
        containers: [Container & Mounts]
        volumes: Secrets
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
const secureRuntime = only<{
  spec: {
    annotations: Record<string, string>
    containers: [Container & Mounts]
    volumes: Secrets
    supportedModelFormats: { autoSelect: boolean }[]
  }
}>('kserve/secure/cluster-serving-runtime.yaml').spec
const secureService = only<(typeof services)[0] & { metadata: { annotations: Record<string, string> } }>(
  'kserve/secure/inference-service.yaml',
)
const compose = only<{ services: Record<string, Replica> }>('compose.yaml').services
const { haproxy: proxy, ...replicas } = compose
/** The parts that are added to compose.yaml, or replaced in it. */
const { haproxy: secureProxy, ...secureReplicas } = only<{
  services: Record<string, Pick<Replica, 'command'> & { volumes: string[]; healthcheck: { test: string[] } }>
}>('secure/compose.yaml').services

/** The arguments of the image, as its Dockerfile says. */
const dockerArguments = JSON.parse(/^CMD (\[.*\])$/m.exec(text('Dockerfile'))![1]!) as string[]

/** Each place that starts the server, with its arguments. */
const starts: readonly (readonly [place: string, args: readonly string[]])[] = [
  ['Dockerfile', dockerArguments],
  ['kubernetes', deployment.spec.containers[0].args],
  ['kubernetes/secure', secure.spec.containers[0].args],
  ['kserve', runtime.containers[0].args],
  ['kserve/secure', secureRuntime.containers[0].args],
  ...Object.entries(replicas).map(([name, { command }]) => [`compose ${name}`, command] as const),
  ...Object.entries(secureReplicas).map(([name, { command }]) => [`secure compose ${name}`, command] as const),
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
      ['kserve/secure/cluster-serving-runtime.yaml', 1],
      ['kserve/secure/inference-service.yaml', 1],
      ['kubernetes/deployment.yaml', 1],
      ['kubernetes/kustomization.yaml', 1],
      ['kubernetes/pod-disruption-budget.yaml', 1],
      ['kubernetes/secure/deployment.yaml', 1],
      ['kubernetes/secure/kustomization.yaml', 1],
      ['kubernetes/secure/service.yaml', 1],
      ['kubernetes/service.yaml', 1],
      ['secure/compose.yaml', 1],
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
    expect(longest(secureRuntime.containers[0].args)).toBe(longest(runtime.containers[0].args))
    for (const { spec } of [...services, secureService]) {
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

  test('the deployment with certificates names the port of the monitoring, and the comment its secrets', () => {
    const { args, ports } = secure.spec.containers[0]
    expect(ports).toEqual([{ name: 'monitoring', containerPort: Number(valueOf(args, '--monitoring-port')) }])
    expect(secure.metadata.annotations).toEqual({ 'prometheus.io/port': valueOf(args, '--monitoring-port') })
    const comment = text('kubernetes/secure/kustomization.yaml')
    for (const { secret } of secure.spec.volumes) expect(comment).toContain(secret.secretName)
  })

  test.each([
    ['kubernetes', deployment.spec.containers[0], secure.spec.containers[0], secure.spec.volumes, 'monitoring'],
    ['kserve', runtime.containers[0], secureRuntime.containers[0], secureRuntime.volumes, 8002],
  ] as const)(
    '%s: the files with certificates have the arguments of the others, probe the port of the monitoring, and mount secrets',
    (_place, plain, { args, startupProbe, livenessProbe, readinessProbe, volumeMounts }, volumes, port) => {
      expect(args.slice(0, 7)).toEqual(plain.args)
      expect(valueOf(args, '--monitoring-port')).toBe('8002')
      expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.port)).toEqual([
        ...Array.from({ length: 3 }, () => port),
      ])
      // Each file of a flag is in a folder that is a secret. The names of those in a secret for TLS are given by Kubernetes.
      const files = ['--tls-cert', '--tls-key', '--access'].map((flag) => valueOf(args, flag))
      expect(files.map((file) => file.split('/').at(-1))).toEqual(['tls.crt', 'tls.key', 'access.json'])
      const folders = volumeMounts.map(({ mountPath }) => mountPath)
      expect(new Set(files.map((file) => file.split('/').slice(0, -1).join('/')))).toEqual(new Set(folders))
      expect(volumes.map(({ name }) => name)).toEqual(volumeMounts.map(({ name }) => name))
      expect(volumes.map(({ secret }) => secret.secretName)).toEqual(['tenon-tls', 'tenon-access'])
    },
  )

  test('the runtime of KServe with certificates differs from the other one in nothing else', () => {
    const [plain, secured] = [runtime.containers[0], secureRuntime.containers[0]]
    const without = ({ args: _args, volumeMounts: _mounts, ...others }: Partial<Container & Mounts>): unknown =>
      JSON.parse(JSON.stringify(others).replaceAll('"port":8002', '"port":8080'))
    expect(without(secured)).toEqual(without(plain))
    expect(secureRuntime.annotations).toEqual({
      'prometheus.kserve.io/port': '8002',
      'prometheus.kserve.io/path': '/metrics',
    })
    // Inference services that do not name a runtime get the other one.
    expect(secureRuntime.supportedModelFormats.map(({ autoSelect }) => autoSelect)).toEqual([false])
    expect(secureService.spec.predictor.model.runtime).toBe('tenon-serve-secure')
    expect(secureService.metadata.annotations).toEqual({ 'serving.kserve.io/deploymentMode': 'RawDeployment' })
  })

  test('compose with certificates mounts the folders of the flags, and its health check asks the monitoring', () => {
    expect(Object.keys(secureReplicas)).toEqual(Object.keys(replicas))
    for (const [name, { command, volumes, healthcheck }] of Object.entries(secureReplicas)) {
      expect(command.slice(0, 7)).toEqual(replicas[name]!.command)
      const folders = volumes.map((volume) => volume.split(':').at(-2))
      expect(folders).toEqual(['/etc/tenon/tls', '/etc/tenon/access'])
      for (const flag of ['--tls-cert', '--tls-key', '--access'])
        expect(folders).toContain(valueOf(command, flag).split('/').slice(0, -1).join('/'))
      expect(healthcheck.test.at(-1)).toContain(
        `http://127.0.0.1:${valueOf(command, '--monitoring-port')}/v2/health/live`,
      )
    }
    expect(secureProxy!.volumes).toEqual([
      './secure/haproxy.cfg:/usr/local/etc/haproxy/haproxy.cfg:ro',
      '${TLS:-./tls}:/etc/haproxy/tls:ro',
    ])
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
    // The environment variables of the README are those of the files.
    const variables = (page: string): string[] => [...new Set(page.match(/TENON_(?:\d|PROXY)\w*/g))].toSorted()
    expect(variables(text('README.md'))).toEqual(variables(text('haproxy.cfg') + text('secure/haproxy.cfg')))
  })

  test('haproxy with certificates differs from the other one in encryption, and checks the port of the monitoring', () => {
    const config = text('secure/haproxy.cfg').replaceAll(/\$\{\w+-([^}]*)\}/g, '$1')
    for (const name of Object.keys(replicas)) {
      expect(config).toContain(`server ${name} "${name}:8080" verifyhost "${name}" port "8002"`)
      expect(config).toContain(`server ${name} "${name}:9000" check-proto h1 verifyhost "${name}" port "8002"`)
    }
    const verified = '    default-server ssl verify required ca-file "/etc/haproxy/tls/ca.pem" alpn '
    expect(config.match(/^ {4}default-server ssl .*$/gm)).toEqual([`${verified}http/1.1`, `${verified}h2`])
    expect(config.match(/bind ":\d+" ssl crt "\/etc\/haproxy\/tls\/proxy.pem" alpn .*$/gm)).toHaveLength(2)
    // All lines of the other one that are not about connections are there.
    const kept = text('haproxy.cfg')
      .split('\n')
      .filter((line) => line !== '' && !/^\s*(#|bind|server |frontend)/.test(line))
    for (const line of kept) expect(text('secure/haproxy.cfg').split('\n')).toContain(line)
  })
})
