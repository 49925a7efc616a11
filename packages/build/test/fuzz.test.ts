import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { runCommand } from '../src/run-command.ts'
import type { NativePackage } from '../src/targets.ts'
import { type Fixture, makePackage, runBin } from './fixture.ts'

const table: NativePackage = {
  targets: [
    { name: 'parser', kind: 'shared', sources: ['parser.c'], imports: [] },
    { name: 'parser_fuzz', kind: 'fuzz', sources: ['parser_fuzz.c'], uses: ['parser'] },
  ],
}

/** A parser behind a magic number that no blind mutation finds, and what it does with a long enough input. */
function parserFiles(consequence: string): Record<string, string> {
  return {
    'parser.c': `#include <stdint.h>
#include <stddef.h>
#include <string.h>
int parse(const uint8_t *data, size_t size);
__attribute__((visibility("default"))) int parse(const uint8_t *data, size_t size) {
  uint32_t magic;
  if (size < 12) return 0;
  memcpy(&magic, data, sizeof magic);
  if (magic != 0x5eed1234u) return 1;
  if (data[4] != 0x7f) return 2;
  ${consequence}
  return 3;
}
`,
    'parser_fuzz.c': `#include <stdint.h>
#include <stddef.h>
int parse(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { parse(data, size); return 0; }
`,
  }
}

function buildFuzzer(consequence: string): { fixture: Fixture; program: string; corpus: string } {
  const fixture = makePackage(table, parserFiles(consequence))
  expect(runBin('build', fixture, ['--variant', 'fuzz'])).toMatchObject({ code: 0, stderr: '' })
  const corpus = join(fixture.directory, 'corpus')
  mkdirSync(corpus)
  return { fixture, program: join(fixture.directory, 'build/fuzz/parser_fuzz'), corpus }
}

// The driver watches a forked process.
if (process.platform !== 'win32') {
  test('the driver finds a crash behind a magic number, keeps the input, and can run it again', async () => {
    const { fixture, program, corpus } = buildFuzzer('if (data[5] == 1) return data[size];')
    const result = await runCommand(program, ['--seconds', '20', '--corpus', corpus, '--seed', '1'])
    expect(result.code, result.stdout).toBe(1)
    expect(result.stderr).toContain('heap-buffer-overflow')
    const crash = /the input is in (\S+)/.exec(result.stderr)![1]!
    expect(readFileSync(crash).readUInt32LE(0)).toBe(0x5eed1234)
    const again = await runCommand(program, [crash], { cwd: fixture.directory })
    expect(again.code).not.toBe(0)
    expect(again.stderr).toContain('heap-buffer-overflow')
  })

  test('the driver exits with 0 after its time, and keeps inputs that reached new code', async () => {
    const { program, corpus } = buildFuzzer('')
    const result = await runCommand(program, ['--seconds', '2', '--corpus', corpus, '--seed', '1'])
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(result.stdout).toMatch(/^seed 1\n\d+ runs, \d+ inputs, [1-9]\d* of them new\n$/)
    expect(readdirSync(corpus).length).toBeGreaterThan(0)
  })

  test('the driver refuses an unknown option and a missing directory', async () => {
    const { program } = buildFuzzer('')
    expect((await runCommand(program, ['--speed', '1'])).stderr).toBe('unknown option --speed\n')
    expect((await runCommand(program, ['--corpus', '/nowhere'])).code).toBe(2)
  })
}
