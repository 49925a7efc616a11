import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { readBinary } from '@tenon/binary'
import { expect, test } from 'vitest'

import { buildPackage } from '../../src/build.ts'
import { hostPlatform } from '../../src/platform.ts'
import { loadProject } from '../../src/project/load-project.ts'
import { configText, makeProject, scaleKernel } from './make-project.ts'

const library = { name: 'my_kernels', sources: ['src/*.c'] }

test('a project is built as the table of a package, with the headers of Tenon', async () => {
  const { directory } = makeProject({
    'tenon.config.ts': configText({
      libraries: [library],
      tests: [{ name: 'check', sources: ['test/*.c'], uses: ['my_kernels'] }],
    }),
    'src/scale.c': scaleKernel(2),
    'test/check.c': 'int main(void) { return 0; }',
  })
  const project = await loadProject(directory)
  expect(project.name).toBe('my-kernels')
  expect(project.version).toBe('1.2.3')
  expect(project.config.platforms).toEqual([hostPlatform.name])
  expect(project.configPath).toBe(join(directory, 'tenon.config.ts'))
  const [built] = await buildPackage(project, { variant: 'release', kinds: ['shared', 'test'] })
  const { exports } = readBinary(built!.path)
  expect(exports.map(({ name }) => name)).toEqual(expect.arrayContaining(['scale', 'scale__tn_signature']))
})

test('a binding exports the functions that its sources do not mark, and can be without libraries', async () => {
  const files = { 'src/count.c': 'int count(void) { return 1; }\n' }
  const exportsOf = async (config: object): Promise<string[]> => {
    const { directory } = makeProject({ ...files, 'tenon.config.ts': configText(config) })
    const artifacts = await buildPackage(await loadProject(directory), { variant: 'release', kinds: ['shared'] })
    return artifacts.flatMap(({ path }) => readBinary(path).exports.map(({ name }) => name))
  }
  const binding = { headers: ['src/count.h'] }
  expect(await exportsOf({ libraries: [library], binding })).toEqual(['count'])
  expect(await exportsOf({ libraries: [library] })).toEqual([])
  expect(await exportsOf({ binding: { ...binding, systemLibraries: ['libz.so.1', 'win32=zlib1.dll'] } })).toEqual([])
})

test('warnings of the compiler do not end the build of a project', async () => {
  const { directory } = makeProject({
    'tenon.config.ts': configText({ libraries: [library] }),
    'src/unused.c': 'static int unused;\n',
  })
  const artifacts = await buildPackage(await loadProject(directory), { variant: 'release', kinds: ['shared'] })
  expect(artifacts).toHaveLength(1)
})

test('sources in C++ may end in .cpp and .cxx', async () => {
  const { directory } = makeProject({
    'tenon.config.ts': configText({ libraries: [{ name: 'my_kernels', sources: ['src/*.cpp', 'src/*.cxx'] }] }),
    'src/one.cpp': 'extern "C" __attribute__((visibility("default"))) int one() { return 1; }\n',
    'src/two.cxx': 'extern "C" __attribute__((visibility("default"))) int two() { return 2; }\n',
  })
  const [built] = await buildPackage(await loadProject(directory), { variant: 'release', kinds: ['shared'] })
  expect(
    readBinary(built!.path)
      .exports.map(({ name }) => name)
      .toSorted(),
  ).toEqual(['one', 'two'])
})

test('an edited configuration is loaded again in the same process', async () => {
  const { directory, write } = makeProject({
    'tenon.config.mjs': configText({ libraries: [library] }),
  })
  expect((await loadProject(directory)).name).toBe('my-kernels')
  await new Promise((resolve) => setTimeout(resolve, 20))
  write('tenon.config.mjs', configText({ name: '@me/others', libraries: [library] }))
  expect((await loadProject(directory)).name).toBe('@me/others')
})

test.for<[text: string, message: string]>([
  ['', 'tenon.config.ts: the default export must be the result of defineConfig(), got undefined'],
  ['export default []', 'must be the result of defineConfig(), got an empty array'],
  ['export default {}', 'libraries must be a non-empty array of libraries, got undefined'],
  ['export default { libraries: [] }', 'libraries must be a non-empty array of libraries, got an empty array'],
  ['export default { libraries: [3] }', 'libraries[0] must be a library: { name, sources }, got 3'],
  [
    'export default { libraries: [{ name: "a b", sources: ["a.c"] }] }',
    'libraries[0].name must be a letter, followed by letters, digits, _ and -, got "a b"',
  ],
  [
    'export default { libraries: [{ name: "a", sources: [] }] }',
    'libraries[0].sources must be a non-empty array of globs, got an empty array',
  ],
  [
    'export default { libraries: [{ name: "a", sources: [""] }] }',
    'libraries[0].sources[0] must be a non-empty string, got ""',
  ],
  [
    'export default { libraries: [{ name: "a", source: ["a.c"] }] }',
    'libraries[0] has no member source. Its members are name, sources, includes',
  ],
  [
    'export default { libraries: [{ name: "a", sources: ["a.c"], defines: { N: 3 } }] }',
    'libraries[0].defines.N must be a string, got 3',
  ],
  [
    'export default { libraries: [{ name: "a", sources: ["a.c"], cxxRuntime: "shared" }] }',
    'libraries[0].cxxRuntime must be "static", got "shared"',
  ],
  [
    'const l = { name: "a", sources: ["a.c"] }; export default { libraries: [l, l] }',
    'two libraries or tests have the name a',
  ],
  [
    'export default { libraries: [{ name: "a", sources: ["a.c"] }], platforms: ["linux"] }',
    'platforms[0] must be one of linux-x64-gnu, linux-arm64-gnu',
  ],
  [
    'export default { libraries: [{ name: "a", sources: ["a.c"] }], name: "Upper" }',
    'name must be that of an npm package in lower case',
  ],
  [
    'export default { libraries: [{ name: "a", sources: ["a.c"] }], tests: [{ name: "t", sources: ["t.c"], uses: ["b"] }] }',
    'the test t uses b, which must be one of a',
  ],
  [
    'export default { binding: { headers: ["x.h"] } }',
    'libraries must be a non-empty array of libraries, or binding must have systemLibraries, got undefined',
  ],
  [
    'export default { libraries: [{ name: "a", sources: ["a.c"] }], binding: { header: "x.h" } }',
    'binding has no member header. Its members are headers, annotations, systemLibraries, includes',
  ],
  [
    'export default { binding: { headers: [], systemLibraries: ["libz.so.1"] } }',
    'binding.headers must be a non-empty array of headers, got an empty array',
  ],
  [
    'export default { binding: { headers: ["x.h"], systemLibraries: ["linx=libz.so.1"] } }',
    'binding.systemLibraries[0] must be the name of a library, or PLATFORM=NAME with one of linux, linux-x64, linux-x64-gnu',
  ],
  ['throw new Error("no")', 'tenon.config.ts did not load: no'],
  ['import "./missing.ts"', 'tenon.config.ts did not load: Cannot find module'],
  ['export default {', 'tenon.config.ts did not load: '],
])('the configuration %j is refused', async ([text, message]) => {
  const { directory } = makeProject({ 'tenon.config.ts': text })
  await expect(loadProject(directory)).rejects.toMatchObject({
    name: 'ToolError',
    message: expect.stringContaining(message),
  })
})

test('a folder without a configuration, a manifest or a version is refused', async () => {
  const { directory, write } = makeProject({})
  const refusal = (): Promise<string> => loadProject(directory).then(String, (error: Error) => error.message)
  expect(await refusal()).toContain(`${directory} has no tenon.config.ts`)
  write('tenon.config.ts', configText({ libraries: [library] }))
  write('tenon.config.js', configText({ libraries: [library] }))
  expect(await refusal()).toContain('has tenon.config.ts and tenon.config.js. Keep one of them.')
  rmSync(join(directory, 'tenon.config.js'))
  write('package.json', '{ "name": "x" }')
  expect(await refusal()).toContain('package.json must have a "version", got none')
  write('package.json', '{')
  expect(await refusal()).toContain('package.json must be a JSON object: ')
  rmSync(join(directory, 'package.json'))
  expect(await refusal()).toContain('has no package.json. Run npm init there.')
})

test('a project in which Tenon is not installed is refused with the command that installs it', () => {
  const { directory } = makeProject({})
  rmSync(join(directory, 'node_modules'), { recursive: true })
  const headers = join(import.meta.dirname, '../../src/project/headers.ts')
  const code = `import { headersDirectory } from ${JSON.stringify(headers)}; headersDirectory(process.cwd())`
  // The programs that pnpm installs set NODE_PATH, with which every package of this repository is found.
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: directory,
    env: { ...process.env, NODE_PATH: '' },
    encoding: 'utf8',
  })
  expect(stderr).toContain(
    `the C headers of Tenon were not found from ${directory}.\nInstall tenon there: npm install tenon`,
  )
})
