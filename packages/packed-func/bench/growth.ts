import type { GrowthSuite } from '@tenon/bench'
import { kernelLibrary } from '@tenon/kernels'
import { Module } from '@tenon/packed-func'

const COUNTS = [1, 10, 100, 1000]

export const suite = {
  package: '@tenon/packed-func',
  rows: [
    {
      name: 'arguments of a packed function',
      counts: COUNTS,
      open: (count) => {
        const library = Module.open(kernelLibrary('packed'))
        const sum = library.get('sum')
        const values = Array.from({ length: count }, (_, i) => i)
        return { run: () => sum(...values), close: () => library.close() }
      },
    },
    {
      name: 'elements of an array that is an argument',
      counts: [10, 100, 1000, 10_000],
      open: (count) => {
        const library = Module.open(kernelLibrary('packed'))
        const nothing = library.get('nothing')
        const values = Array.from({ length: count }, (_, i) => i)
        return { run: () => nothing(values), close: () => library.close() }
      },
    },
  ],
} satisfies GrowthSuite
