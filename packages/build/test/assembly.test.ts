import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import type { NativePackage } from '../src/targets.ts'
import { makePackage, runBin } from './fixture.ts'

const assembly = (instructions: string): string => `#include "answer.h"
#ifdef __APPLE__
#define NAME(name) _##name
#else
#define NAME(name) name
#endif
.text
.globl NAME(answer)
NAME(answer):
  ${instructions}
  ret
`

const files = {
  'src/answer.h': '#define ANSWER 42\n',
  'src/sysv_x64.S': assembly('mov $ANSWER, %eax'),
  'src/win64.S': assembly('mov $ANSWER, %eax'),
  'src/aapcs64.S': assembly('mov w0, #ANSWER'),
  'src/main.c':
    '#include <stdio.h>\nint answer(void);\nint main(void) { printf("1..1\\n# answers\\nnot ok - answers: %d\\n", answer()); return 1; }\n',
}

const program: NativePackage = {
  targets: [{ name: 'ask', kind: 'test', sources: ['src/main.c', 'src/{sysv_x64|aapcs64|win64}.S'] }],
}

test('assembles the .S file for the processor with the C preprocessor, again if a header changes', () => {
  const fixture = makePackage(program, files)
  expect(runBin('test', fixture).stdout).toContain('answers: 42\n')
  fixture.write('src/answer.h', '#define ANSWER 43\n')
  expect(runBin('test', fixture).stdout).toContain('answers: 43\n')
})

test('prints the message of the assembler', () => {
  const { code, stderr } = runBin('test', makePackage(program, { ...files, 'src/main.c': files['src/sysv_x64.S'] }))
  expect(code).toBe(1)
  expect(stderr).toContain('fixture: src/main.c did not build')
  const broken = runBin(
    'test',
    makePackage({ targets: [{ ...program.targets[0]!, sources: ['src/a.S'] }] } as never, {
      'src/a.S': 'no_such_instruction\n',
    }),
  )
  expect(broken.stderr).toContain('fixture: src/a.S did not build')
})

test('refuses a source in another language', () => {
  const { stderr } = runBin(
    'build',
    makePackage({ targets: [{ name: 'a', kind: 'shared', sources: ['a.s'], imports: [] }] }, { 'a.s': '' }),
  )
  expect(stderr).toContain('a source must be a .c, .cc, .cpp, .cxx, .cu or .S file, got a.s')
})

/** Compilers that are installed with the libraries of their sanitizers, which Debian has in packages of their own. */
const compilers = ['gcc', 'clang'].filter((command) => {
  const sanitizes = ['address', 'thread'].map((name) =>
    spawnSync(command, [`-fsanitize=${name}`, '-shared', '-xc', '/dev/null', '-o', '/dev/null']),
  )
  return sanitizes.every(({ status }) => status === 0)
})

for (const compiler of compilers) {
  test(`assembles with ${compiler}, in every variant`, () => {
    const fixture = makePackage(program, files)
    for (const variant of ['release', 'debug', 'asan', 'tsan']) {
      const { stdout, stderr } = runBin('test', fixture, [], { CC: compiler, TENON_VARIANT: variant })
      expect(`${variant}\n${stdout}${stderr}`).toContain('answers: 42\n')
    }
  })
}

if (process.platform === 'linux')
  test('a library with assembly has a stack without execution, also if the source has no note', () => {
    const fixture = makePackage(
      { targets: [{ name: 'answer', kind: 'shared', sources: ['src/{sysv_x64|aapcs64}.S'], imports: [] }] },
      files,
    )
    expect(runBin('build', fixture)).toMatchObject({ code: 0, stderr: '' })
    expect(stackFlags(join(fixture.directory, 'build/release/libanswer.so'))).toBe(6)
  })

/** Returns p_flags of PT_GNU_STACK: 6 for reading and writing, 7 with execution. */
function stackFlags(path: string): number | undefined {
  const file = readFileSync(path)
  const [table, entrySize, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(54), file.readUInt16LE(56)]
  const entries = Array.from({ length: count }, (_, index) => table + index * entrySize)
  const stack = entries.find((entry) => file.readUInt32LE(entry) === 0x6474e551)
  return stack === undefined ? undefined : file.readUInt32LE(stack + 4)
}
