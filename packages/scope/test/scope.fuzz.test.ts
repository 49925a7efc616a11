import { type Hold, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MemorySegment, NativeScope, ResourceScope } from '../src/index.ts'
import { fuzzBudget, fuzzSeconds } from './support/fuzz-budget.ts'

/** The expected state of a scope after the operations on it. */
interface Model {
  readonly scope: ReturnType<typeof NativeScope.ofConfined> | ReturnType<typeof NativeScope.ofShared>
  isOpen: boolean
  readonly holds: Hold[]
  readonly segments: { readonly segment: MemorySegment; readonly value: number }[]
  actions: number
}

const step = fc.record({
  target: fc.nat(3),
  operation: fc.constantFrom('allocate', 'own', 'hold', 'release', 'action', 'view', 'close', 'dispose', 'reopen'),
  size: fc.oneof(fc.nat(64), fc.nat(40_000), fc.constant(300_000)),
  power: fc.nat(8),
})

test(
  'any sequence of operations on scopes does what the rules say, and no memory is shared or lost',
  { timeout: 30_000 + fuzzSeconds * 1000 },
  () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const before = ResourceScope.stats()
        let ran = 0
        let expected = 0
        let serial = 0
        const open = (target: number): Model => ({
          scope: target === 3 ? NativeScope.ofShared() : NativeScope.ofConfined(),
          isOpen: true,
          holds: [],
          segments: [],
          actions: 0,
        })
        const models = [0, 1, 2, 3].map(open)

        const attempt = (model: Model, use: () => void): void => {
          if (model.isOpen) use()
          else expect(use).toThrow(ScopeClosedError)
        }
        const close = (model: Model, isDispose: boolean): void => {
          const run = (): void => (isDispose ? model.scope[Symbol.dispose]() : model.scope.close())
          if (!model.isOpen) {
            if (isDispose) run()
            else expect(run).toThrow(ScopeClosedError)
          } else if (model.holds.length > 0) {
            expect(run).toThrow(ScopeHeldError)
          } else {
            run()
            model.isOpen = false
            expected += model.actions
          }
        }

        for (const { target, operation, size, power } of steps) {
          const model = models[target]!
          const { scope, holds, segments } = model
          if (operation === 'allocate' || operation === 'own') {
            attempt(model, () => {
              const alignment = 2 ** power
              const segment =
                operation === 'allocate'
                  ? scope.allocate(size, alignment)
                  : MemorySegment.allocateNative(size, alignment, scope)
              const value = ++serial & 0xff
              if (segment.mismatch(MemorySegment.ofBuffer(new Uint8Array(size))) !== -1) throw new Error('not zeroed')
              if (segment.address % BigInt(alignment) !== 0n) throw new Error('misaligned')
              segments.push({ segment: segment.fill(value), value })
            })
          } else if (operation === 'hold') {
            attempt(model, () => holds.push(scope.acquire()))
          } else if (operation === 'release') {
            holds.pop()?.release()
          } else if (operation === 'action') {
            attempt(model, () => {
              scope.addCloseAction(() => ran++)
              model.actions++
            })
          } else if (operation === 'view') {
            const last = segments.at(-1)
            if (last !== undefined) attempt(model, () => last.segment.view())
          } else if (operation === 'reopen') {
            if (!model.isOpen) models[target] = open(target)
          } else {
            close(model, operation === 'dispose')
          }
          expect([scope.isAlive, ran]).toEqual([model.isOpen, expected])
        }

        for (const model of models) {
          for (const { segment, value } of model.segments) {
            if (!model.isOpen) expect(() => segment.fill(0)).toThrow(ScopeClosedError)
            else if (segment.byteSize > 0) {
              const whole = new Uint8Array(segment.byteSize).fill(value)
              if (segment.mismatch(MemorySegment.ofBuffer(whole)) !== -1)
                throw new Error('overwritten by another allocation')
            }
          }
          for (const hold of model.holds.splice(0)) hold.release()
          close(model, true)
        }
        expect(ran).toBe(expected)
        expect({ ...ResourceScope.stats(), pooledBytes: 0 }).toEqual({ ...before, pooledBytes: 0 })
      }),
      fuzzBudget,
    )
  },
)
