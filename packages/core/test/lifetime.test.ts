import { describe, expect, test } from 'vitest'
import { ScopeClosedError, ScopeHeldError } from '@tenon/core'
import { globalLifetime } from '../src/memory/global-lifetime.ts'
import {
  callsInProgress,
  enterAll,
  enterCall,
  exitAll,
  Gate,
  globalGate,
  holdAll,
  leaveCall,
  liveHolds,
  ManagedLifetime,
  releaseAll,
} from '@tenon/core/internal'

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

  test('a call in progress counts once by its list', () => {
    const probe = new Probe()
    const other = new Probe()
    const operands = Object.freeze([{ gate: other.gate }, { gate: probe.gate }, { gate: probe.gate }])
    enterCall(operands)
    try {
      expect(() => probe.close()).toThrow(/used by calls in progress/)
      new Probe().close()
    } finally {
      leaveCall()
    }
    probe.close()
    expect(callsInProgress.depth).toBe(0)
  })

  test('entering fails from the moment closing begins, by every way in', () => {
    const probe = new Probe()
    const refused = /the probe is being closed/
    probe.addCloseAction(() => {
      expect(probe.gate.alive).toBe(true)
      expect(() => probe.gate.enter()).toThrow(refused)
      expect(() => probe.gate.reenter()).toThrow(refused)
      expect(() => enterAll([probe])).toThrow(refused)
      expect(() => holdAll([probe])).toThrow(refused)
      expect(() => probe.acquire()).toThrow(refused)
      expect(() => probe.checkOpen()).toThrow(refused)
      expect(() => probe.checkAlive()).not.toThrow()
    })
    const before = liveHolds.count
    probe.close()
    expect([probe.isAlive, probe.gate.alive, probe.gate.holds]).toEqual([false, false, 0])
    expect(probe.log).toEqual(['released, alive: false'])
    expect(liveHolds.count).toBe(before)
  })

  test('all operands are entered and held, or none', () => {
    const [open, closed] = [new Probe(), new Probe()]
    closed.close()
    const before = liveHolds.count
    expect(() => enterAll([open, closed])).toThrow(ScopeClosedError)
    expect(() => holdAll([open, closed])).toThrow(ScopeClosedError)
    expect([open.gate.holds, closed.gate.holds, liveHolds.count]).toEqual([0, 0, before])
    enterAll([open, open])
    exitAll([open, open])
    releaseAll(holdAll([open, open]))
    expect([open.gate.holds, liveHolds.count]).toEqual([0, before])
    open.close()
  })

  test('the count of a gate can only be changed by entering and leaving', () => {
    const probe = new Probe()
    expect(() => {
      // @ts-expect-error the count is read-only
      probe.gate.holds++
    }).toThrow(TypeError)
    expect(probe.gate.holds).toBe(0)
    probe.close()
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
