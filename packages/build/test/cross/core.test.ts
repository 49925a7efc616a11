import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { readBinary } from '@tenon/binary'
import { describe, expect, test } from 'vitest'

import { type Artifact, buildPackage } from '../../src/build.ts'
import { findReleaseProblems } from '../../src/checks/release.ts'
import { loadPackage } from '../../src/load-package.ts'
import { artifactName, findPlatform, hostPlatform, type Platform, platforms } from '../../src/platform.ts'
import { makePackage } from '../fixture.ts'

const core = join(import.meta.dirname, '../../../core')

/** The unwinder of zig for Windows on arm64 lacks what the core needs. */
const built = platforms.filter(({ name }) => name !== 'win32-arm64')

async function buildCore(platform: Platform): Promise<Artifact[]> {
  const kinds = ['shared', 'addon', 'executable'] as const
  return buildPackage(await loadPackage(core), { variant: 'release', platform, portable: true, kinds })
}

describe.each(built)('the core for $name', (platform) => {
  test('is built, imports only what its table lists, and can be published', async () => {
    const artifacts = await buildCore(platform)
    const names = artifacts.map(({ target }) => artifactName(target, platform))
    expect(names.length).toBe(platform.libc === 'gnu' ? 8 : 7)
    const problems = artifacts.flatMap(({ path }) =>
      findReleaseProblems(path, { platform, files: names, builtIn: core }).map((problem) => ({ path, problem })),
    )
    const unexpected = problems.filter(({ problem }) => !(platform.os === 'win32' && problem.includes('msvcrt.dll')))
    expect(unexpected).toEqual([])
    const oldest = artifacts.map(({ path }) => readBinary(path)).map((info) => info.minimumGlibc ?? info.minimumMacos)
    process.stdout.write(
      `${platform.name}: ${names.length} files; needs ${[...new Set(oldest)].toSorted().join(', ')}\n`,
    )
  })
})

describe.each(built.filter(({ os }) => os === 'linux'))('the debug files for $name', (platform) => {
  test('have the build IDs of the stripped files, which are in no other file, and the names of the sources', async () => {
    const idOf = (path: string): string =>
      /Build ID: ([0-9a-f]{40})$/m.exec(execFileSync('readelf', ['-n', path], { encoding: 'utf8' }))![1]!
    const paths = (await buildCore(platform)).map(({ path }) => path)
    const ids = paths.map(idOf)
    expect(new Set(ids).size).toBe(paths.length)
    expect(paths.map((path) => idOf(`${path}.debug`))).toEqual(ids)
    expect(paths.map((path) => readBinary(path).stripped)).toEqual(paths.map(() => true))
    for (const debug of paths.map((path) => readFileSync(`${path}.debug`))) expect(debug.includes('csrc/')).toBe(true)
  })
})

const kernel = `#include <stdexcept>
extern "C" __attribute__((visibility("default"))) void kernel(void *);
void kernel(void *context) { throw std::runtime_error(context ? "count is 3" : "no count"); }
`

const main = `#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
int main(int count, char **paths) {
  void *guard_library = dlopen(paths[1], RTLD_NOW), *kernel_library = dlopen(paths[2], RTLD_NOW);
  if (count != 3 || guard_library == NULL || kernel_library == NULL) return puts(dlerror()), 2;
  typedef void body_t(void *);
  struct { int32_t (*run)(body_t *, void *, char *, size_t); } *guard = dlsym(guard_library, "tn_guard");
  char message[256] = "";
  int32_t status = guard->run((body_t *)dlsym(kernel_library, "kernel"), message, message, sizeof message);
  printf("%d %s\\n", status != 0, message);
  return 0;
}
`

/** The compilers for kernels of each Linux platform, and the command that runs programs of this platform. */
const toolchains = [
  { platform: findPlatform('linux-x64-gnu'), prefix: '', emulator: [] },
  {
    platform: findPlatform('linux-arm64-gnu'),
    prefix: 'aarch64-linux-gnu-',
    emulator: ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu'],
  },
].filter(
  ({ platform, prefix, emulator }) =>
    (platform === hostPlatform || spawnSync(emulator[0] ?? 'false', ['--version']).status === 0) &&
    spawnSync(`${prefix}g++`, ['--version']).status === 0,
)

describe.each(toolchains)('the exception guard for $platform.name', ({ platform, prefix, emulator }) => {
  test('gives the words of an exception that a kernel of g++ throws', async () => {
    const artifacts = await buildCore(platform)
    const guard = artifacts.find(({ target }) => target.name === 'tenon_guard')!.path
    const { directory } = makePackage({ targets: [] }, { 'kernel.cc': kernel, 'main.c': main })
    const run = (command: string, ...args: string[]): string =>
      execFileSync(command, args, { cwd: directory, encoding: 'utf8' })
    run(`${prefix}g++`, '-shared', '-fPIC', '-O2', '-o', 'libkernel.so', 'kernel.cc')
    run(`${prefix}gcc`, '-O2', '-rdynamic', '-o', 'main', 'main.c', '-ldl')
    const [command, ...args] = [...emulator, './main', guard, './libkernel.so']
    expect(run(command!, ...args)).toBe('1 count is 3 (std::runtime_error)\n')
  })
})

if (hostPlatform.name === 'linux-x64-gnu')
  test('the core for old systems runs on this one', async () => {
    const [library] = await buildCore(hostPlatform)
    const script = `
      const { tensor } = await import(${JSON.stringify(join(core, 'src/index.ts'))})
      console.log(tensor('float32', [2], [1, 2]).shape.join())`
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--conditions=@tenon/source', '--input-type=module', '-e', script],
      { encoding: 'utf8', env: { ...process.env, TENON_CORE_LIBRARY: library!.path } },
    )
    expect({ stdout, stderr }).toEqual({ stdout: '2\n', stderr: '' })
  })
