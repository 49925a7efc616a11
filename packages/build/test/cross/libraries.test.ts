import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { readBinary } from '@tenon/binary'
import { describe, expect, test } from 'vitest'

import { buildPackage } from '../../src/build.ts'
import { findReleaseProblems } from '../../src/checks/release.ts'
import { loadPackage } from '../../src/load-package.ts'
import { artifactName, platforms, sharedLibraryName } from '../../src/platform.ts'
import type { NativePackage, SharedTarget } from '../../src/targets.ts'
import { type Fixture, makePackage, runBin } from '../fixture.ts'

const shared = { kind: 'shared', imports: ['*'] } as const
const table: NativePackage = {
  targets: [
    { ...shared, name: 'kernels', sources: ['src/*.c'], libraries: ['m'], exports: ['softmax', 'mean'] },
    { ...shared, name: 'more', sources: ['more/more.c'], uses: ['kernels'] },
    { ...shared, name: 'throws', sources: ['throws/*.cc'] },
    { ...shared, name: 'fixture', fixture: true, sources: ['more/more.c'], uses: ['kernels'] },
    { name: 'tests', kind: 'test', sources: ['more/more.c'] },
  ],
}

const PUBLIC =
  '#if defined(_WIN32)\n#define PUBLIC __declspec(dllexport)\n#else\n#define PUBLIC __attribute__((visibility("default")))\n#endif\n'
const files = {
  'src/softmax.c': `${PUBLIC}#include <math.h>
#include <string.h>
PUBLIC int softmax(const float *x, float *y, long n);
int softmax(const float *x, float *y, long n) {
  float sum = 0;
  memcpy(y, x, (unsigned long)n * sizeof *x);
  for (long i = 0; i < n; i++) sum += y[i] = expf(x[i]);
  for (long i = 0; i < n; i++) y[i] /= sum;
  return 0;
}
`,
  'src/mean.c': `${PUBLIC}PUBLIC double mean(const double *x, long n);
double mean(const double *x, long n) { double sum = 0; for (long i = 0; i < n; i++) sum += x[i]; return sum / (double)n; }
`,
  'more/more.c': `${PUBLIC}double mean(const double *x, long n);
PUBLIC double twice(const double *x, long n);
double twice(const double *x, long n) { return 2 * mean(x, n); }
`,
  'throws/throws.cc': `${PUBLIC}#include <exception>
struct Wrong : std::exception { const char *what() const noexcept override { return "wrong"; } };
extern "C" PUBLIC int throws(int n);
int throws(int n) { try { if (n > 1) throw Wrong(); } catch (const std::exception &) { return 1; } return 0; }
`,
}

/** Why zig's files cannot be published for Windows. */
const oldRuntime = "it must use ucrtbase.dll, the C library of today's Windows, got msvcrt.dll"

describe.each(platforms)('$name', (platform) => {
  const { os, libc } = platform
  let fixture: Fixture
  const at = (file: string): string => join(fixture.directory, 'build', platform.name, 'release', file)

  test('has the libraries of the table, which can be published, and no fixture or test', async () => {
    fixture = makePackage(table, files)
    const pkg = await loadPackage(fixture.directory)
    const options = { variant: 'release', platform, portable: true, kinds: ['shared', 'test'] } as const
    const artifacts = await buildPackage(pkg, options)
    expect(artifacts.map(({ target }) => target.name)).toEqual(['kernels', 'more', 'throws'])
    const names = artifacts.map(({ target }) => artifactName(target, platform))
    const problems = artifacts.map(({ path }) =>
      findReleaseProblems(path, { platform, files: names, builtIn: fixture.directory }),
    )
    expect(problems.flat()).toEqual(os === 'win32' ? [oldRuntime, oldRuntime, oldRuntime] : [])

    const info = readBinary(at(sharedLibraryName('more', platform)))
    expect(info.needed).toContain(os === 'darwin' ? '@rpath/libkernels.dylib' : sharedLibraryName('kernels', platform))
    expect(
      info.needed.filter((name) => /\.(dll|so|dylib)\.\d+$/.test(name) && !/^lib\w+\.so\.\d+$/.test(name)),
    ).toEqual([])

    // The C++ runtime is that of the process, and no file has its own.
    const cxx = readBinary(at(sharedLibraryName('throws', platform))).needed
    if (os === 'linux') expect(cxx).toContain('libstdc++.so.6')
    if (os === 'darwin') expect(cxx).toContain('/usr/lib/libc++.1.dylib')
    if (libc === 'musl') expect(readBinary(at('libkernels.so')).needed).toEqual(['libc.so'])

    expect((await buildPackage(pkg, options)).filter(({ rebuilt }) => rebuilt)).toEqual([])
    fixture.write('more/more.c', files['more/more.c'].replace('2 *', '3 *'))
    const again = (await buildPackage(pkg, options)).filter(({ rebuilt }) => rebuilt)
    expect(again.map(({ target }) => target.name)).toEqual(['more'])
    expect(existsSync(join(fixture.directory, 'build/release'))).toBe(false)
  })
})

test('a C++ library that uses std::string is refused, unless it contains its own runtime', () => {
  const source = `#include <string>
#include <vector>
extern "C" __attribute__((visibility("default"))) long length(const char *text);
long length(const char *text) {
  std::vector<std::string> all(3, std::string(text) + "!");
  std::string joined;
  for (const auto &one : all) joined += one;
  return (long)joined.size();
}
`
  const target: SharedTarget = { ...shared, name: 'length', sources: ['a.cc'] }
  const refused = runBin('build', makePackage({ targets: [target] }, { 'a.cc': source }), ['--target', 'linux-x64-gnu'])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(
    /^fixture: length uses parts of the C\+\+ library whose binary form depends on the compiler, such as _Z\w*St3__1\w+\.\nBuild it on linux-x64-gnu itself, or set "cxxRuntime: 'static'"/,
  )
  const own = makePackage({ targets: [{ ...target, cxxRuntime: 'static' }] }, { 'a.cc': source })
  expect(runBin('build', own, ['--target', 'linux-x64-gnu'])).toMatchObject({ code: 0, stderr: '' })
  const { needed } = readBinary(join(own.directory, 'build/linux-x64-gnu/release/liblength.so'))
  expect(needed).not.toContain('libstdc++.so.6')
})

test('a compile error of zig names the file and the line', () => {
  const broken = { ...files, 'src/mean.c': 'int mean(void) {\n  return nope;\n}\n' }
  const { code, stderr } = runBin('build', makePackage(table, broken), ['--target', 'darwin-arm64'])
  expect(code).toBe(1)
  expect(stderr).toContain("src/mean.c:2:10: error: use of undeclared identifier 'nope'")
})

test('the file does not contain the directory in which it was built', () => {
  const named = {
    ...files,
    'src/mean.c': `${files['src/mean.c']}PUBLIC const char *here(void);\nconst char *here(void) { return __FILE__; }\n`,
  }
  const fixture = makePackage({ targets: [{ ...shared, name: 'kernels', sources: ['src/*.c'] }] }, named)
  expect(runBin('build', fixture, ['--target', 'linux-arm64-musl'])).toMatchObject({ code: 0, stderr: '' })
  const bytes = readFileSync(join(fixture.directory, 'build/linux-arm64-musl/release/libkernels.so'))
  expect(bytes.includes(fixture.directory)).toBe(false)
  expect(bytes.includes('mean.c')).toBe(true)
})
