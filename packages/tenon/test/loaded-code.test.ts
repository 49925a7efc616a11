import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './reader.ts'

/** The test of each row of the table in SECURITY.md: its file, and a part of its title. */
const tests: Readonly<Record<string, readonly [file: string, title: string]>> = {
  'libraries that a program opens': ['packages/core/test/native-library.test.ts', 'needs a library that is not there'],
  'modules that a program names': [
    'packages/tenon/test/isolate-script.test.ts',
    'run with operands, attributes and options',
  ],
  '`libcuda.so.1`, `nvcuda.dll`': ['packages/tenon/test/cli-doctor.test.ts', '--cuda-driver names the driver'],
  '`@tenon/core-<platform>`': ['packages/core/test/packaged-core.test.ts', 'are compared before their code can run'],
  '`<package>-<platform>`': [
    'packages/core/test/platform-library.test.ts',
    'refuses a platform package of another version',
  ],
  '`build/` of a checkout of this repository': ['packages/core/test/packaged-core.test.ts', 'never looks in build/'],
  '`TENON_VARIANT`': ['packages/core/test/packaged-core.test.ts', 'TENON_VARIANT must be a variant of tenon-build'],
  '`TENON_BUILD_VARIANT`': ['packages/tenon/test/cli-project.test.ts', 'opens the variant of TENON_BUILD_VARIANT'],
  '`TENON_CORE_LIBRARY`': ['packages/core/test/packaged-core.test.ts', 'unless it was told to ignore the environment'],
  '`TENON_TVM_FFI_LIBRARY`': ['packages/packed-func/test/missing-runtime.test.ts', 'must have an absolute path'],
  '`TENON_DRIVER`': ['packages/scope/test/upcall-life.test.ts', `'TENON_DRIVER', 'x'`],
  '`koffi`': ['packages/core/test/check-koffi.test.ts', 'another version is refused before it loads the core'],
  '`TENON_CACHE_DIR`': [
    'packages/build/test/inline/cache.test.ts',
    'a directory that other users can write to is refused',
  ],
  'libraries inside of a bundle': ['packages/core/test/bundled-files.test.ts', 'a directory in the cache is made anew'],
  '`CC`, `CXX`, `NVCC`, `TENON_ZIG`, `PATH`': ['packages/build/test/inline/compile.test.ts', 'CC chooses the compiler'],
  '`@tenon/build`, `@tenon/serve`': [
    'packages/tenon/test/deployment.test.ts',
    'runs that of the project in the working directory',
  ],
  '`tenon.config.ts`, `native.targets.ts`': ['packages/tenon/test/deployment.test.ts', 'tenon build runs tenon.config'],
  'tests of a package of kernels': [
    'packages/tenon/test/cli-project.test.ts',
    'passes its test, and fails it after a change',
  ],
  '`@opentelemetry/api`': ['packages/serve/test/tracing.test.ts', 'the context of a request reaches the function'],
  '`model.ts` of a served folder': [
    'packages/serve/test/repository.test.ts',
    'has kernels of libraries in versions, and functions',
  ],
  '`libkernels.tenon.json`': ['packages/tenon/test/sidecar.test.ts', 'is found beside a link to the library'],
}

const security = readFileSync(join(root, 'SECURITY.md'), 'utf8')

/** The first cells of the rows of the table in a section. */
function firstCells(page: string, heading: string): string[] {
  const [section = ''] = page.slice(page.indexOf(`## ${heading}`) + 3).split('\n## ')
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(2).map((row) => row.split(' | ')[0]!.slice(2).trim())
}

test('SECURITY.md lists each way in which code is loaded, and each has a test', () => {
  expect(firstCells(security, 'What is loaded as code').toSorted()).toEqual(Object.keys(tests).toSorted())
  const missing = Object.values(tests).filter(
    ([file, title]) => !readFileSync(join(root, file), 'utf8').includes(title),
  )
  expect(missing).toEqual([])
})

test('the files that the page on deployment names exist', () => {
  const page = readFileSync(join(root, 'docs/deployment.md'), 'utf8')
  const files = [...page.matchAll(/`((?:packages|tools)\/[\w/.-]+\.test\.ts)`/g)].map(([, file]) => file!)
  expect(files.length).toBeGreaterThan(5)
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  const sections = [...page.matchAll(/^## (.*)$/gm)].map(([, title]) => title!).slice(0, -1)
  expect(
    firstCells(page, 'How this page is tested')
      .flatMap((cell) => cell.split(', '))
      .toSorted(),
  ).toEqual(sections.toSorted())
})
