import type { Suite } from '@tenon/bench'
import { tensor } from '@tenon/core'
import { kernelLibrary } from '@tenon/kernels'
import { float, getGlobal, Module, packedFunc, t } from '@tenon/packed-func'
import koffi from 'koffi'
import { addonCall, addonCallback, addonObject } from './addon.ts'
import { putAddress, putInt, rawStack, wordsOf } from './raw-stack.ts'

const lib = Module.open(kernelLibrary('packed'))

export const suite = {
  package: '@tenon/packed-func',
  rows: [
    {
      name: 'call with no arguments',
      unit: 'ns',
      target: { 'koffi by hand': 1.15 },
      setup: () => {
        const nothing = lib.get('nothing')
        const raw = rawStack('nothing')
        const addon = addonCall('nothing')
        return {
          ours: () => nothing(),
          peers: {
            'koffi by hand': () => {
              raw.i32[0] = 0
              raw.i32[1] = 0
              raw.f64[1] = 0
              return raw.call(0) === 0 ? raw.i32[0] : raw.i32[2]
            },
            'Node-API addon': () => addon(),
          },
        }
      },
    },
    {
      name: 'call with 1 int, returns an int',
      unit: 'ns',
      target: { 'koffi by hand': 1.15 },
      setup: () => {
        const sum = lib.get('sum')
        const raw = rawStack('sum')
        const addon = addonCall('sum')
        let i = 0
        let j = 0
        let k = 0
        return {
          ours: () => sum(i++ & 1023),
          peers: {
            'koffi by hand': () => {
              raw.i32[0] = 0
              raw.i32[1] = 0
              raw.f64[1] = 0
              putInt(raw, 1, j++ & 1023)
              if (raw.call(1) !== 0) throw new Error('failed')
              return raw.i32[2]
            },
            'Node-API addon': () => addon(k++ & 1023),
          },
        }
      },
    },
    {
      name: 'call with 3 ints, returns an int',
      unit: 'ns',
      target: { 'koffi by hand': 1.15 },
      setup: () => {
        const sum = lib.get('sum')
        const raw = rawStack('sum')
        const addon = addonCall('sum')
        let i = 0
        let j = 0
        let k = 0
        return {
          ours: () => sum(i++ & 1023, 2, 3),
          peers: {
            'koffi by hand': () => {
              raw.i32[0] = 0
              raw.i32[1] = 0
              raw.f64[1] = 0
              putInt(raw, 1, j++ & 1023)
              putInt(raw, 2, 2)
              putInt(raw, 3, 3)
              if (raw.call(3) !== 0) throw new Error('failed')
              return raw.i32[2]
            },
            'Node-API addon': () => addon(k++ & 1023, 2, 3),
          },
        }
      },
    },
    {
      name: 'call with a string of 5 bytes',
      unit: 'ns',
      target: { 'koffi by hand': 1.5 },
      setup: () => {
        const typeIndex = lib.get('type_index')
        const raw = rawStack('type_index')
        const words = ['hello', 'world', 'tenon', 'joint']
        const addon = addonCall('type_index')
        let i = 0
        let j = 0
        let k = 0
        return {
          ours: () => typeIndex(words[i++ & 3]),
          peers: {
            'koffi by hand': () => {
              raw.i32[0] = 0
              raw.i32[1] = 0
              raw.f64[1] = 0
              const size = raw.bytes.write(words[j++ & 3]!, raw.spareOffset)
              raw.bytes[raw.spareOffset + size] = 0
              putAddress(raw, 1, 8, raw.spare)
              if (raw.call(1) !== 0) throw new Error('failed')
              return raw.i32[2]
            },
            'Node-API addon': () => addon(words[k++ & 3]!),
          },
        }
      },
    },
    {
      name: 'call with a string of 40 bytes',
      unit: 'ns',
      setup: () => {
        const typeIndex = lib.get('type_index')
        const raw = rawStack('type_index')
        const words = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(40))
        const addon = addonCall('type_index')
        let i = 0
        let j = 0
        let k = 0
        return {
          ours: () => typeIndex(words[i++ & 3]),
          peers: {
            'koffi by hand': () => {
              raw.i32[0] = 0
              raw.i32[1] = 0
              raw.f64[1] = 0
              const size = raw.bytes.write(words[j++ & 3]!, raw.spareOffset)
              raw.bytes[raw.spareOffset + size] = 0
              putAddress(raw, 1, 8, raw.spare)
              if (raw.call(1) !== 0) throw new Error('failed')
              return raw.i32[2]
            },
            'Node-API addon': () => addon(words[k++ & 3]!),
          },
        }
      },
    },
    {
      name: 'call with a tensor used before',
      unit: 'ns',
      target: { 'koffi by hand': 1.2 },
      setup: () => {
        const typeIndex = lib.get('type_index')
        const raw = rawStack('type_index')
        const x = tensor('float32', [4], [1, 2, 3, 4])
        typeIndex(x)
        const { address } = x.descriptor as { address: number }
        const object = wordsOf(address)
        const addon = addonCall('type_index')
        const external = addonObject(address)
        return {
          ours: () => typeIndex(x),
          peers: {
            'koffi by hand': () => {
              raw.i32[0] = 0
              raw.i32[1] = 0
              raw.f64[1] = 0
              putAddress(raw, 1, 70, object)
              if (raw.call(1) !== 0) throw new Error('failed')
              return raw.i32[2]
            },
            'Node-API addon': () => addon(external),
          },
        }
      },
    },
    {
      name: 'call a TypeScript function from native code',
      unit: 'ns',
      target: { 'koffi.register': 1.5 },
      setup: () => {
        const calls = { ours: 0, raw: 0, addon: 0 }
        const call = lib.get('call')
        const run = packedFunc((x: number) => {
          calls.ours += x
          return x
        })
        const type = koffi.proto('int32_t', ['uintptr_t', 'uintptr_t', 'int32_t', 'uintptr_t'])
        const raw = rawStack('call')
        const registered = koffi.register((_self: number, _values: number, _count: number, _result: number) => {
          calls.raw += raw.i32[10]!
          raw.i32[0] = 1
          raw.i32[2] = raw.i32[10]!
          return 0
        }, koffi.pointer(type))
        const make = koffi
          .load(null)
          .func('TVMFFIFunctionCreate', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t'])
        const out = new BigUint64Array(1)
        if (make(0, Number(registered), 0, Number(koffi.address(out))) !== 0) throw new Error('failed')
        const handle = wordsOf(Number(out[0]))
        const addon = addonCall('call')
        const external = addonCallback((x) => {
          calls.addon += x
          return x
        })
        return {
          ours: () => call(run, 7),
          peers: {
            'koffi.register': () => {
              raw.i32[0] = 0
              raw.i32[1] = 0
              raw.f64[1] = 0
              putAddress(raw, 1, 68, handle)
              putInt(raw, 2, 7)
              if (raw.call(2) !== 0) throw new Error('failed')
              return raw.i32[2]
            },
            'Node-API addon': () => addon(external, 7),
          },
          teardown: () => koffi.unregister(registered),
        }
      },
    },
    {
      name: 'echo of a string of 40 bytes',
      unit: 'ns',
      target: { 'Buffer round trip': 1.6 },
      setup: () => {
        const echo = lib.get('echo')
        const text = 'x'.repeat(40)
        const bytes = Buffer.from(text)
        return { ours: () => echo(text), peers: { 'Buffer round trip': () => Buffer.from(bytes).toString() } }
      },
    },
    {
      name: 'typed call with 2 ints',
      unit: 'ns',
      // A bare koffi call takes two thirds of an untyped call, so 0.3 of it are 0.2 here.
      target: { untyped: 1.2 },
      setup: () => {
        const sum = lib.get('sum')
        const typed = sum.typed([t.int32, t.int32], t.int32)
        let i = 0
        let j = 0
        let k = 0
        return {
          ours: () => typed(i++ & 1023, 2),
          peers: { untyped: () => sum(j++ & 1023, 2), 'a bare koffi call': () => bareCall(k++ & 1023) },
        }
      },
    },
    {
      name: 'typed call with 2 floats',
      unit: 'ns',
      target: { untyped: 1.2 },
      setup: () => {
        const sum = lib.get('sum')
        const typed = sum.typed([t.float, t.float], t.float)
        return { ours: () => typed(1, 2.5), peers: { untyped: () => sum(float(1), 2.5) } }
      },
    },
    {
      name: 'a failing call',
      unit: 'ns',
      setup: () => {
        const fail = lib.get('fail_as')
        return {
          ours: () => fail.tryCall('KeyError'),
          peers: {
            'new Error': () => new Error('failed as asked'),
          },
        }
      },
    },
    {
      name: 'look up a global function',
      unit: 'ns',
      setup: () => ({
        ours: () => getGlobal('ffi.String').close(),
        peers: { 'Map of names': () => names.get('ffi.String') },
      }),
    },
  ],
} satisfies Suite

/** A C function that returns its integer, called with koffi alone. */
const bareCall = koffi.load(null).func('abs', 'int32_t', ['int32_t']) as (value: number) => number

const names = new Map([['ffi.String', 1]])
