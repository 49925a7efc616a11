import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { expect, test } from 'vitest'
import { packageManifest } from '../src/version.ts'
import { runTenon } from './run-tenon.ts'

const { version } = packageManifest()

test('tenon include prints the absolute path of the headers, from any directory', () => {
  const { code, stdout, stderr } = runTenon(['include'], { cwd: '/' })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const directory = stdout.trimEnd()
  expect(isAbsolute(directory)).toBe(true)
  for (const name of ['kernel.h', 'signature.h', 'xla_handler.h']) {
    expect(existsSync(join(directory, 'tenon', name)), name).toBe(true)
  }
})

const printed = (...flags: string[]): string => runTenon(['include', ...flags]).stdout.trimEnd()

test('tenon include --json prints the same directories', () => {
  expect(JSON.parse(printed('--json'))).toEqual({
    directory: printed(),
    cmake: printed('--cmake'),
    pkgConfig: printed('--pkg-config'),
  })
})

/** Configures a CMake project that finds a version of Tenon. */
function configure(wanted: string): { readonly status: number | null; readonly output: string } {
  const directory = mkdtempSync(join(tmpdir(), 'tenon-cmake-'))
  const project = `cmake_minimum_required(VERSION 3.16)
project(user NONE)
find_package(Tenon ${wanted} CONFIG REQUIRED)
find_package(Tenon CONFIG REQUIRED)
get_target_property(include Tenon::headers INTERFACE_INCLUDE_DIRECTORIES)
message(STATUS "found \${Tenon_VERSION} in \${include}")`
  writeFileSync(join(directory, 'CMakeLists.txt'), project)
  const { status, stdout, stderr } = spawnSync('cmake', [directory, '-D', `Tenon_DIR=${printed('--cmake')}`], {
    cwd: directory,
    encoding: 'utf8',
  })
  rmSync(directory, { recursive: true })
  return { status, output: `${stdout}${stderr}` }
}

test('CMake finds the headers, and the version of the package', () => {
  const { status, output } = configure('')
  expect({ status, output }).toEqual({
    status: 0,
    output: expect.stringContaining(`found ${version} in ${printed()}`) as string,
  })
  expect(configure(version).status).toBe(0)
  const { status: refused, output: reason } = configure('77.1')
  expect(refused).not.toBe(0)
  expect(reason.replaceAll(/\s+/g, ' ')).toContain('compatible with requested version "77.1"')
})

test('pkg-config finds the headers, and the version of the package', () => {
  const pkgConfig = (...args: string[]): string =>
    execFileSync('pkg-config', [...args, 'tenon'], {
      encoding: 'utf8',
      env: { ...process.env, PKG_CONFIG_PATH: printed('--pkg-config') },
    }).trim()
  expect(pkgConfig('--modversion')).toBe(version)
  expect(realpathSync(pkgConfig('--cflags').replace(/^-I/, ''))).toBe(realpathSync(printed()))
})

test('tenon include refuses arguments', () => {
  expect(runTenon(['include', 'x'])).toMatchObject({ code: 2, stdout: '' })
  expect(runTenon(['include', '--cmake', '--pkg-config'])).toMatchObject({ code: 2, stdout: '' })
})
