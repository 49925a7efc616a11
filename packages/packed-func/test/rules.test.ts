import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

/** The rules of conversion and errors of tvm-ffi, 1 to 53: those without a test named by them, and why. */
const withoutTest: Readonly<Record<number, string>> = {
  18: 'std::string is a type of C++: what accepts it is compiled into the kernel',
  20: 'text becomes a device in the C++ of the kernel; here a device is made by device()',
  23: 'elements of an array are converted by the C++ of the kernel',
  24: 'entries of a map are converted by the C++ of the kernel',
  27: 'cast<T> and as<T> are templates of C++',
  50: 'the compiler of TVM puts these texts into its kernels',
  51: 'size(d) and stride(d) are methods of C++',
}

const root = fileURLToPath(new URL('..', import.meta.url))
const files = [
  ...globSync('test/*.test.ts', { cwd: root }),
  ...globSync('../core/csrc/test/tvm_*_test.c', { cwd: root }),
]
const named = new Set(
  files.flatMap((file) =>
    [
      ...readFileSync(`${root}/${file}`, 'utf8').matchAll(/\brules? (\d+)(?: and (?:rule )?(\d+))?|_rule_(\d+)_/g),
    ].flatMap(([, first, second, inC]) => [first, second, inC].filter((text) => text !== undefined).map(Number)),
  ),
)

it.each(Array.from({ length: 53 }, (_, i) => [i + 1]))('rule number %i has a test or a reason to have none', (rule) => {
  expect([named.has(rule), rule in withoutTest]).toContain(true)
  expect([named.has(rule), rule in withoutTest]).toContain(false)
})
