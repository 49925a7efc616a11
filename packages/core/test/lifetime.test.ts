import { describe, expect, test } from 'vitest'
import { globalLifetime, ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { callStack, Gate, globalGate, ManagedLifetime, NO_OPERANDS } from '@tenon/core/internal'

class Probe extends ManagedLifetime {
  readonly log: string[]

  constructor(log: string[] = []) {
    super()
    this.log = log
  }

  protected override get label(): string {
    return 'the probe'
  }

  protected override release(): void {
    this.log.push(`released, alive: ${this.gate.alive}`)
  }
}

describe('closing', () => {
  test('runs the actions last added first, then releases with the gate shut', () => {
    const probe = new Probe()
    for (const name of ['A', 'B', 'C']) probe.addCloseAction(() => probe.log.push(name))
    expect(probe.log).toEqual([])
    probe.close()
    expect(probe.log).toEqual(['C', 'B', 'A', 'released, alive: false'])
    expect(probe.isAlive).toBe(false)
  })

  test('while actions run nothing can be added, and what is owned can still be used', () => {
    const probe = new Probe()
    let seen: unknown[] = []
    probe.addCloseAction(() => {
      seen = [probe.isAlive, probe.gate.alive]
      expect(() => probe.checkAlive()).not.toThrow()
      expect(() => probe.addCloseAction(() => {})).toThrow(/is being closed/)
      expect(() => probe.acquire()).toThrow(ScopeClosedError)
      expect(() => probe.close()).toThrow(ScopeClosedError)
    })
    probe.close()
    expect(seen).toEqual([false, true])
  })

  test('a second close throws, a second disposal does nothing', () => {
    const probe = new Probe()
    probe.close()
    expect(() => probe.close()).toThrow(ScopeClosedError)
    expect(() => probe[Symbol.dispose]()).not.toThrow()
    expect(() => probe.checkAlive()).toThrow(/^the probe is closed already/)
    expect(() => probe.addCloseAction(() => {})).toThrow(ScopeClosedError)
    expect(() => probe.acquire()).toThrow(ScopeClosedError)
    expect(probe.log).toHaveLength(1)
  })

  test('one error of an action is thrown as it is, and the rest still runs', () => {
    const probe = new Probe()
    const error = new RangeError('mine')
    probe.addCloseAction(() => probe.log.push('first'))
    probe.addCloseAction(() => {
      throw error
    })
    expect(() => probe.close()).toThrow(error)
    expect(probe.log).toEqual(['first', 'released, alive: false'])
    expect(probe.isAlive).toBe(false)
  })

  test('several errors come together', () => {
    const probe = new Probe()
    for (const value of ['a', 'b']) {
      probe.addCloseAction(() => {
        throw value
      })
    }
    expect(() => probe.close()).toThrow(AggregateError)
    expect(probe.log).toHaveLength(1)
  })

  test.each([null, undefined, 1, 'f', {}])('%s is refused as an action', (action) => {
    expect(() => new Probe().addCloseAction(action as never)).toThrow(TypeError)
  })
})

describe('holds', () => {
  test('refuse the close, name their number, and leave everything open', () => {
    const probe = new Probe()
    probe.addCloseAction(() => probe.log.push('action'))
    const holds = [probe.acquire(), probe.acquire()]
    expect(() => probe.close()).toThrow(ScopeHeldError)
    expect(() => probe.close()).toThrow(/used by 2 holds/)
    holds[0]!.release()
    expect(() => probe[Symbol.dispose]()).toThrow(/used by 1 hold\n/)
    expect(probe.log).toEqual([])
    expect(probe.isAlive).toBe(true)
    holds[1]!.release()
    probe.close()
    expect(probe.log[0]).toBe('action')
  })

  test('a hold counts once, however often it is released', () => {
    const probe = new Probe()
    const [first, second] = [probe.acquire(), probe.acquire()]
    first.release()
    first.release()
    first[Symbol.dispose]()
    expect(probe.gate.holds).toBe(1)
    second[Symbol.dispose]()
    probe.close()
  })

  test('a call in progress is one, counted on the call stack', () => {
    const probe = new Probe()
    const other = new Probe()
    const operands = Object.freeze([{ gate: other.gate }, { gate: probe.gate }, { gate: probe.gate }])
    callStack.frames[callStack.depth++] = operands
    try {
      expect(() => probe.close()).toThrow(/used by 1 call in progress/)
      new Probe().close()
    } finally {
      callStack.frames[--callStack.depth] = NO_OPERANDS
    }
    probe.close()
    expect(callStack.depth).toBe(0)
  })

  test('one taken by an action past acquire() keeps the memory: a leak is better than a use after free', () => {
    const probe = new Probe()
    probe.addCloseAction(() => probe.gate.enter())
    expect(() => probe.close()).toThrow(ScopeHeldError)
    expect(probe.isAlive).toBe(false)
    expect(probe.gate.alive).toBe(false)
    expect(probe.log).toEqual([])
    probe.gate.exit()
  })

  test('enter and exit of a gate', () => {
    const probe = new Probe()
    probe.gate.enter()
    expect(() => probe.close()).toThrow(ScopeHeldError)
    probe.gate.exit()
    probe.close()
    expect(() => probe.gate.enter()).toThrow(ScopeClosedError)
    expect(probe.gate.holds).toBe(0)
  })
})

test('the global lifetime takes actions and holds and never ends', () => {
  expect(globalLifetime.isAlive).toBe(true)
  globalLifetime.addCloseAction(() => expect.unreachable())
  globalLifetime.checkAlive()
  const before = globalGate.holds
  const hold = globalLifetime.acquire()
  hold.release()
  expect(globalGate.holds).toBe(before)
  expect(new Gate(globalLifetime).owner).toBe(globalLifetime)
})
