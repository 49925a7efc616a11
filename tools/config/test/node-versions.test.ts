import { execFileSync } from 'node:child_process'

import { expect, test } from 'vitest'

import { chosenNode, findNode } from '../src/node-versions.ts'

const major = process.versions.node.split('.')[0]!

test('the tests run on the Node that TENON_NODE names, and so does what they start', () => {
  const wanted = process.env['TENON_NODE'] || major
  expect(major).toBe(wanted)
  expect(execFileSync('node', ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()).toBe(process.versions.node)
})

test('the Node that runs is taken where it will do', () => {
  expect(findNode(major)).toBe(process.execPath)
  expect(chosenNode({ TENON_NODE: '' })).toBe(process.execPath)
})

test('a Node that nothing is tested on is refused', () => {
  expect(() => findNode('20')).toThrow('Node 20 is not tested: it is one of 22, 24, 26')
})
