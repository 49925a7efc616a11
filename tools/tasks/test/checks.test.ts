import { describe, expect, test } from 'vitest'

import { findLongFiles } from '../src/checks/file-length.ts'
import { toolCheck } from '../src/checks/tool-check.ts'
import { findUnpinnedActions, lintWorkflow } from '../src/checks/workflows.ts'

test('findLongFiles() refuses files of C with more than 500 lines', () => {
  const lines = (count: number): string => 'x\n'.repeat(count)
  const files = [
    { path: 'a.c', text: lines(500) },
    { path: 'b.h', text: lines(501) },
    { path: 'c.cc', text: `${lines(500)}x` },
  ]
  expect(findLongFiles(files)).toEqual([
    'b.h must have at most 500 lines, got 501. Split it by concept.',
    'c.cc must have at most 500 lines, got 501. Split it by concept.',
  ])
})

describe('workflows', () => {
  const workflow = (steps: string, runner = 'ubuntu-latest'): { path: string; text: string } => ({
    path: '.github/workflows/x.yml',
    text: `on: push\njobs:\n  a:\n    runs-on: ${runner}\n    steps:\n${steps}`,
  })

  test('findUnpinnedActions() requires the hash of a commit with its version', () => {
    const hash = '3d3c42e5aac5ba805825da76410c181273ba90b1'
    expect(findUnpinnedActions(workflow(`      - uses: actions/checkout@${hash} # v7.0.1\n`))).toEqual([])
    expect(findUnpinnedActions(workflow('      - uses: ./.github/workflows/ci.yml\n'))).toEqual([])
    for (const uses of ['actions/checkout@v7', `actions/checkout@${hash}`, 'actions/checkout@main # v7.0.1']) {
      expect(findUnpinnedActions(workflow(`      - uses: ${uses}\n`))).toHaveLength(1)
    }
  })

  test('lintWorkflow() reports errors that GitHub would refuse', async () => {
    expect(await lintWorkflow(workflow('      - run: echo ok\n'))).toEqual([])
    expect(await lintWorkflow(workflow('      - run: echo ${{ matrix.none }}\n'))).toEqual([
      '.github/workflows/x.yml:6:23: property "none" is not defined in object type {}',
    ])
    expect(await lintWorkflow(workflow('      - runs: echo\n'))).not.toEqual([])
  })

  test('lintWorkflow() accepts newer runners and refuses unknown ones', async () => {
    expect(await lintWorkflow(workflow('      - run: echo ok\n', 'ubuntu-24.04-arm'))).toEqual([])
    expect(await lintWorkflow(workflow('      - run: echo ok\n', 'ubuntu-99.04'))).toHaveLength(1)
  })
})

describe('toolCheck()', () => {
  test('reports the output of a tool that fails', async () => {
    expect(await toolCheck('x', 'tsc', ['--version']).run()).toEqual({ problems: [] })
    const { problems } = await toolCheck('x', 'tsc', ['--no-such-option']).run()
    expect(problems[0]).toContain('tsc ended by exit code 1')
    expect(problems[0]).toContain('--no-such-option')
  })
})
