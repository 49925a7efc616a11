import { gcAllocator, ScopeClosedError, ScopeHeldError, Segment } from '@tenon/core'
import { addressOf, Block, ManagedLifetime } from '@tenon/core/internal'
import { describe, expect, test } from 'vitest'

class Owner extends ManagedLifetime {
  readonly segment: Segment

  constructor() {
    super()
    const buffer = new ArrayBuffer(64)
    const block = new Block(this.gate, new DataView(buffer), Buffer.from(buffer), addressOf(buffer))
    this.segment = new Segment(block, 0, 64, 0)
  }

  protected override get label(): string {
    return 'the owner'
  }

  protected override release(): void {}
}

async function collect(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc!()
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

describe('pin()', () => {
  test('keeps the lifetime open until the pin is released', () => {
    const owner = new Owner()
    const [pin, other] = [owner.segment.pin(), owner.segment.asSlice(1).pin()]
    expect(() => owner.close()).toThrow(/used by 2 holds/)
    pin.release()
    pin.release()
    expect(() => owner.close()).toThrow(ScopeHeldError)
    other[Symbol.dispose]()
    owner.close()
    expect(() => owner.segment.pin()).toThrow(ScopeClosedError)
  })

  test('keeps memory that the garbage collector frees, and refuses transferred memory', async () => {
    let segment: Segment | undefined = gcAllocator.allocate(2 ** 20)
    const block = new WeakRef(segment.block)
    const pin = segment.pin()
    segment = undefined
    await collect()
    expect(block.deref()).toBeDefined()
    pin.release()
    await collect()
    expect(block.deref()).toBeUndefined()

    const sent = gcAllocator.allocate(2 ** 20)
    ;(sent.view().buffer as ArrayBuffer).transfer()
    expect(() => sent.pin()).toThrow(ScopeClosedError)
  })
})
