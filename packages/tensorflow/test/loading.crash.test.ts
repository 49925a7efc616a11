import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageEntry, packageFlags } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import { afterAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = fileURLToPath(new URL('../../../fixtures/kernels/src/tensorflow/', import.meta.url))
const headers = fileURLToPath(new URL('../../core/include', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'tenon-tensorflow-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Compiles a library for this machine, as the author of kernels does. */
function compile(name: string, source: string, ...flags: readonly string[]): string {
  const output = join(directory, `${name}.so`)
  const compiler = source.endsWith('.cc') ? 'c++' : 'cc'
  const common = ['-shared', '-fPIC', '-Wl,--allow-shlib-undefined', `-I${headers}`, '-o', output]
  execFileSync(compiler, [...common, source.includes('/') ? source : join(sources, source), ...flags])
  return output
}

/** An empty library with the soname of TensorFlow's, against which kernels are linked. */
function stub(name: string, soname: string, ...flags: readonly string[]): string {
  const source = join(directory, `${name}.c`)
  // The linker needs the names, and the versions of the C distribution.
  const names = ['NewStatus', 'DeleteStatus', 'AllocateOutput', 'TensorData', 'DeleteTensor', 'NewKernelBuilder']
  const others = [
    'NewOpDefinitionBuilder',
    'OpDefinitionBuilderAddOutput',
    'RegisterOpDefinition',
    'RegisterKernelBuilder',
  ]
  writeFileSync(source, [...names, ...others].map((one) => `void TF_${one}(void) {}\n`).join(''))
  return compile(name, source, `-Wl,-soname,${soname}`, ...flags)
}

const entry = JSON.stringify(packageEntry(new URL('..', import.meta.url)))

/** Runs a program that has `open()` and prints. */
async function run(program: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const script = `
    const { TensorFlowLibrary } = await import(${entry})
    const open = (path) => TensorFlowLibrary.open(path)
    const show = (path) => console.log(open(path).kernel('Loaded')().item())
    try { ${program} } catch (error) { console.log(error.name, error.sentence ?? error.message, error.hint) }`
  const options = { cwd: root, env, nodeOptions: [...packageFlags, '--no-warnings'] }
  const { code, stdout, stderr } = await runScript(script, options)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.trim()
}

const none = compile('none', 'loading.c')
const framework = stub('framework', 'libtensorflow_framework.so.2')
const versions = join(directory, 'versions.map')
writeFileSync(versions, 'VERS_1.0 { global: *; };')
const distribution = stub('distribution', 'libtensorflow.so.2', `-Wl,--version-script=${versions}`)
const needsFramework = compile('needs_framework', 'loading.c', framework, '-DTEST_NUMBER=2')
const needsDistribution = compile('needs_distribution', 'loading.c', distribution, '-DTEST_NUMBER=3')

test.each([
  ['none', none, '1'],
  ['the framework', needsFramework, '2'],
  ['the C distribution, whose symbols have versions', needsDistribution, '3'],
])('a library that needs %s loads, and its kernels run', async (_, path, number) => {
  expect(await run(`show(${JSON.stringify(path)})`)).toBe(number)
})

test('libraries of all kinds load in one process, and each has its own kernel of one operation', async () => {
  const paths = [needsFramework, none, needsDistribution, none]
  expect(await run(`for (const path of ${JSON.stringify(paths)}) show(path)`)).toBe('2\n1\n3\n1')
})

test('the functions of the host are not visible to other libraries if a library names it', async () => {
  const probe = compile('probe', 'loading.c', '-DTEST_NUMBER=4')
  // The probe does not name the library, so only a global one satisfies it.
  const program = `
    show(${JSON.stringify(needsFramework)})
    const { NativeLibrary } = await import('@tenon/core')
    try { NativeLibrary.open(${JSON.stringify(probe)}) } catch (error) { console.log(error.name) }
    show(${JSON.stringify(probe)})`
  expect(await run(program)).toBe('2\nLoadError\n4')
})

test('a library is refused if the process has TensorFlow, to which its kernels would register', async () => {
  const program = `
    const { NativeLibrary } = await import('@tenon/core')
    NativeLibrary.open(${JSON.stringify(framework)})
    show(${JSON.stringify(needsFramework)})`
  expect(await run(program)).toMatch(/LoadError .*would register its kernels in TensorFlow.*Library\.isolate\(\)/)
})

test('the host is found before a file of TensorFlow on the path of the loader is kept', async () => {
  execFileSync('ln', ['-sf', framework, join(directory, 'libtensorflow_framework.so.2')])
  const text = await run(`show(${JSON.stringify(needsFramework)})`, { LD_LIBRARY_PATH: directory })
  expect(text).toMatch(/would register its kernels in TensorFlow/)
  rmSync(join(directory, 'libtensorflow_framework.so.2'))
})

test("a library that uses TensorFlow's C++ interface is refused with the reason", async () => {
  for (const path of [compile('cxx', 'cxx.cc'), compile('cxx_needs', 'cxx.cc', '-Wl,--no-as-needed', framework)]) {
    expect(await run(`open(${JSON.stringify(path)})`)).toMatch(
      /uses TensorFlow's C\+\+ interface, which exists only inside TensorFlow/,
    )
  }
})

test('a C++ exception of a kernel is an error, and later calls work', async () => {
  const throwing = compile('throwing', 'throwing.cc')
  const text = await run(`
    const { tensor } = await import('@tenon/core')
    const library = open(${JSON.stringify(throwing)})
    const messageOf = async (call) => { try { await call() } catch (error) { console.log(error.codeName, error.text) } }
    const kernel = library.kernel('ThrowInCompute')
    for (let i = 0; i < 2; i++) await messageOf(() => kernel(tensor([1])))
    await messageOf(() => kernel.async(tensor([1])))
    await messageOf(() => library.kernel('ThrowInCreate')(tensor([1])))`)
  const compute = 'INTERNAL thrown in compute (std::runtime_error)'
  expect(text.split('\n')).toEqual([compute, compute, compute, 'INTERNAL thrown in create (std::runtime_error)'])
})

test('a library runs TF_InitKernel() once in the process, and other threads see its kernels', async () => {
  const counting = join(directory, 'counting.c')
  writeFileSync(
    counting,
    `#include <tenon/tf_kernel.h>
     static int count;
     __attribute__((visibility("default"))) int count_of(void) { return count; }
     void TF_InitKernel(void) { count++, TF_DeleteStatus(TF_NewStatus()); }`,
  )
  const path = JSON.stringify(compile('counting', counting))
  const program = `
    const library = TensorFlowLibrary.open(${path})
    const again = TensorFlowLibrary.open(${path})
    const count = again.native.function('count_of', { result: 'int32', parameters: [] })()
    const number = TensorFlowLibrary.open(${JSON.stringify(none)}).kernel('Loaded')().item()
    console.log(count, number)`
  const worker = `const { TensorFlowLibrary } = await import(${entry});${program}`
  const text = await run(`
    const { Worker } = await import('node:worker_threads')
    ${program}
    const url = new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(worker)}))
    await new Promise((resolve) => new Worker(url).on('exit', resolve))`)
  expect(text).toBe('1 1\n1 1')
})
