import { packageFlags } from '@tenon/config/package-flags'
import { runScript } from '@tenon/core/testing'
import { channel } from 'node:diagnostics_channel'
import { describe, expect, test } from 'vitest'
import { isInstrumented } from '../src/diagnostics/debug.ts'
import { NativeScope, ResourceScope, type ScopeEvent } from '../src/index.ts'
import { upcallStub } from '../src/linker.ts'
import { expectNoLeaks, trackLeaks } from '../src/testing.ts'
import { packageDirectory } from './support/worker.ts'

describe('stats()', () => {
  test('counts the open resources', () => {
    const before = ResourceScope.stats()
    const scope = NativeScope.ofConfined()
    scope.allocate(100)
    const hold = scope.acquire()
    upcallStub(() => {}, {}, scope)
    const during = ResourceScope.stats()
    expect(during.openScopes - before.openScopes).toBe(1)
    expect(during.liveBytes - before.liveBytes).toBe(isInstrumented ? 100 : 512)
    expect([during.liveStubs - before.liveStubs, during.holds - before.holds]).toEqual([1, 1])
    hold.release()
    hold.release()
    scope.close()
    const after = ResourceScope.stats()
    expect({ ...after, pooledBytes: 0 }).toEqual({ ...before, pooledBytes: 0 })
  })
})

test('the diagnostics channels publish opened and closed scopes', () => {
  const events: [string, ScopeEvent][] = []
  const names = ['tenon:scope:open', 'tenon:scope:close'] as const
  const listeners = names.map((name) => {
    const listener = (event: unknown): number => events.push([name, event as ScopeEvent])
    channel(name).subscribe(listener)
    return () => channel(name).unsubscribe(listener)
  })
  ResourceScope.ofConfined({ name: 'a' }).close()
  NativeScope.ofShared({ name: 'b' }).close()
  for (const stop of listeners) stop()
  ResourceScope.ofConfined({ name: 'c' }).close()
  expect(events.map(([name, { name: scope, kind }]) => [name, scope, kind])).toEqual([
    ['tenon:scope:open', 'a', 'confined'],
    ['tenon:scope:close', 'a', 'confined'],
    ['tenon:scope:open', 'b', 'shared'],
    ['tenon:scope:close', 'b', 'shared'],
  ])
})

describe('trackLeaks()', () => {
  test('returns the scopes opened since and still open, with their stacks', () => {
    const finish = trackLeaks()
    ResourceScope.ofConfined().close()
    const leaking = ResourceScope.ofConfined({ name: 'left' })
    const leaks = finish()
    expect(leaks.scopes.map(({ name, kind }) => [name, kind])).toEqual([['left', 'confined']])
    expect(leaks.scopes[0]!.stack).toContain('diagnostics.process.test.ts')
    leaking.close()
    expect(trackLeaks()().scopes).toEqual([])
  })

  test('expectNoLeaks() fails tests that leak, and no others', () => {
    let before = (): void => {}
    let after = (): void => {}
    expectNoLeaks({ beforeEach: (run) => (before = run), afterEach: (run) => (after = run) })
    before()
    ResourceScope.ofConfined().close()
    expect(after).not.toThrow()
    before()
    const leaking = ResourceScope.ofConfined({ name: 'left' })
    expect(after).toThrow(
      /1 scopes and 0 stubs open:\na confined scope left, opened\n.*diagnostics\.process\.test\.ts/s,
    )
    leaking.close()
    before()
    expect(after).not.toThrow()
    const older = ResourceScope.ofConfined()
    upcallStub(() => {}, {}, older)
    before()
    older.close()
    const hidden = ResourceScope.ofConfined()
    expect(after).toThrow(/1 scopes and 0 stubs open/)
    hidden.close()
  })
})

test('TENON_DEBUG=leaks reports scopes that were never closed at exit, with their stacks', async () => {
  const script = `
    import { channel } from 'node:diagnostics_channel'
    import { ResourceScope } from '@tenon/scope'
    channel('tenon:scope:leak').subscribe(({ name }) => console.log('leak', name))
    function handleRequest() { return ResourceScope.ofConfined({ name: 'request' }) }
    ResourceScope.ofConfined({ name: 'fine' }).close()
    globalThis.kept = handleRequest()
  `
  const options = {
    cwd: packageDirectory,
    nodeOptions: [...packageFlags, '--disable-warning=ExperimentalWarning'],
  }
  const loud = await runScript(script, { ...options, env: { TENON_DEBUG: 'leaks' } })
  expect([loud.code, loud.stdout], loud.stderr).toEqual([0, 'leak request\n'])
  expect(loud.stderr).toMatch(/confined scope request was never closed. It was opened\n\s+at handleRequest/)
  const quiet = await runScript(script, options)
  expect([quiet.code, quiet.stdout, quiet.stderr]).toEqual([0, '', ''])
})
