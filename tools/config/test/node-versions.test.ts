import { execFileSync } from 'node:child_process'

import { expect, test } from 'vitest'

import { chosenNode, findNode } from '../src/node-versions.ts'

const major = process.versions.node.split('.')[0]!

test('tests and their child processes run on the Node.js that TENON_NODE selects', () => {
  const wanted = process.env['TENON_NODE'] || major
  expect(major).toBe(wanted)
  expect(execFileSync('node', ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()).toBe(process.versions.node)
})

test('findNode() returns the running Node.js if its version matches', () => {
  expect(findNode(major)).toBe(process.execPath)
  expect(chosenNode({ TENON_NODE: '' })).toBe(process.execPath)
})

test('findNode() refuses an untested version', () => {
  expect(() => findNode('20')).toThrow('Node 20 is not tested. The tested versions are 22, 24, 26.')
})
