export interface Gpu {
  readonly version: string
  readonly devices: readonly { readonly name: string; readonly computeCapability: string; readonly bytes: number }[]
}

export interface TestedFile {
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
}

export interface GpuRun {
  readonly date: string
  readonly machine: string
  readonly gpu: Gpu
  readonly files: readonly TestedFile[]
}

const HEAD = `# CUDA on real hardware

Written by \`pnpm test:gpu\`, which runs the tests of CUDA against NVIDIA's driver. Everywhere else the same tests run against a
simulated driver, which checks that the driver is called as documented, but not the behaviour of a GPU.
`

const RUN = 'Last run: '

export function wasRun(report: string): boolean {
  return report.includes(RUN)
}

export function neverRun(date: string, reason: string): string {
  return `${HEAD}
**Not yet run on real hardware.** Last tried on ${date}, on a machine without a GPU:

    ${reason}
`
}

export function reportOf({ date, machine, gpu, files }: GpuRun): string {
  const tests = files.flatMap(({ assertionResults }) => assertionResults)
  const passed = tests.filter(({ status }) => status === 'passed').length
  const devices = gpu.devices.map(
    ({ name, computeCapability, bytes }) =>
      `- ${name}, compute capability ${computeCapability}, ${(bytes / 2 ** 30).toFixed(0)} GiB`,
  )
  return `${HEAD}
${RUN}${date}, ${passed} passed, ${tests.length - passed} failed. CUDA ${gpu.version}, ${machine}.

${devices.join('\n')}

| test | |
| --- | --- |
${tests.map(({ fullName, status }) => `| ${fullName.replaceAll('|', '\\|')} | ${status} |`).join('\n')}
`
}
