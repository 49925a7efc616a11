import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, processClock } from '../measure.ts'
import { spreadOf } from '../statistics.ts'
import { residentBytes } from './resident-memory.ts'
import { MANY_ALIVE, type Objects } from './suite.ts'

/** The figures of one process: times in nanoseconds per object, memory in bytes of the whole process. */
export interface ObjectSample {
  readonly alive: number
  /** The time to make and end one object. */
  readonly life: number
  /** The time to make one object. It is `life` if one object is alive at a time. */
  readonly make: number
  /** The resident memory, from {@link MANY_ALIVE} objects on. */
  readonly memory?: MemorySample
}

export interface MemorySample {
  /** The resident bytes before the objects were made, while they were alive, and after they were ended and collected. */
  readonly start: number
  readonly filled: number
  readonly ended: number
  /** The resident bytes of an object that each further filling and ending left behind. */
  readonly leak: number
  /** The growth of the JavaScript heap and of what it refers to outside, while the objects were alive. */
  readonly heap: number
  readonly external: number
}

/** The durations of a measurement, in nanoseconds. */
export interface AlivePlan {
  readonly warmup: number
  /** The time of one batch. Batches are long enough to contain collections of garbage. */
  readonly batch: number
  readonly batches: number
  /** Fillings with many objects are repeated up to `batches` times, while they have taken less than this. */
  readonly budget: number
}

const ALIVE_PLAN: AlivePlan = { warmup: 120e6, batch: 10e6, batches: 9, budget: 1000e6 }

/** What a measurement needs of its process. */
export interface Process {
  readonly clock: Clock
  readonly residentBytes: () => number
  readonly memoryUsage: () => { readonly heapUsed: number; readonly external: number }
  /**
   * Collects garbage, runs finalizers, and makes the engine give back the pages that it keeps for new objects. Takes at least
   * `idle` milliseconds, in which the program does nothing else.
   */
  readonly squeeze: (idle?: number) => Promise<void>
}

const thisProcess: Process = {
  clock: processClock,
  residentBytes,
  memoryUsage: () => process.memoryUsage(),
  squeeze: async (idle = 20) => {
    const turns = 4
    for (let i = 0; i < turns; i++) {
      globalThis.gc!({ type: 'major', execution: 'sync', flavor: 'last-resort' })
      await sleep(idle / turns)
    }
  },
}

/** The time for which a process is idle before the memory that it gave back is measured, in milliseconds. */
const IDLE = 500

/** The number of objects that a loop makes during the warm-up. */
const WARM = 100

/** Makes and ends `alive` objects at a time, repeatedly, and returns the times and the memory of one object. */
export async function measureObjects(
  objects: Objects,
  alive: number,
  plan: AlivePlan = ALIVE_PLAN,
  tools: Process = thisProcess,
): Promise<ObjectSample> {
  const { clock } = tools
  warmUp(objects, alive, plan.warmup, clock)
  if (alive >= MANY_ALIVE) return measureMany(objects, alive, plan, tools)
  const kept = keeper(alive)
  const samples: Cycle[] = []
  for (let i = 0; i < plan.batches; i++) samples.push(batch(objects, kept, plan.batch, clock))
  return { alive, ...medianOf(samples) }
}

async function measureMany(objects: Objects, alive: number, plan: AlivePlan, tools: Process): Promise<ObjectSample> {
  const kept = keeper(alive)
  await tools.squeeze()
  const [start, before] = [tools.residentBytes(), tools.memoryUsage()]
  const first = { make: time(() => fill(objects.make, kept), tools.clock), life: 0 }
  await tools.squeeze()
  const [filled, after] = [tools.residentBytes(), tools.memoryUsage()]
  first.life = first.make + time(() => empty(objects.end, kept), tools.clock)
  await tools.squeeze(IDLE)
  const ended = tools.residentBytes()
  const samples = [perObject(first, alive)]
  samples.push(...cycles(objects, kept, plan, tools.clock))
  await tools.squeeze(IDLE)
  // The first cycles also grow the reserves of the engine and of the allocator. Only what grows again is a leak.
  const again = tools.residentBytes()
  const more = cycles(objects, kept, plan, tools.clock)
  await tools.squeeze(IDLE)
  const leak = (tools.residentBytes() - again) / (more.length * alive)
  return {
    alive,
    ...medianOf([...samples, ...more]),
    memory: {
      start,
      filled,
      ended,
      leak,
      heap: after.heapUsed - before.heapUsed,
      external: after.external - before.external,
    },
  }
}

/** Fills and empties repeatedly, at least once. */
function cycles(objects: Objects, kept: unknown[], plan: AlivePlan, clock: Clock): Cycle[] {
  const samples: Cycle[] = []
  const begin = clock()
  do samples.push(perObject(cycle(objects, kept, clock), kept.length))
  while (samples.length < plan.batches && clock() - begin < plan.budget)
  return samples
}

/** Calls the loops many times with few objects, so that the engine compiles them as whole functions. */
function warmUp(objects: Objects, alive: number, duration: number, clock: Clock): void {
  const kept = keeper(Math.min(alive, WARM))
  const start = clock()
  while (clock() - start < duration) {
    if (alive === 1) lives(objects, kept, WARM)
    else cycle(objects, kept, clock)
  }
}

interface Cycle {
  make: number
  life: number
}

/** Runs cycles until they have taken the time of a batch. */
function batch(objects: Objects, kept: unknown[], duration: number, clock: Clock): Cycle {
  if (kept.length === 1) return oneByOne(objects, kept, duration, clock)
  const total = { make: 0, life: 0 }
  let count = 0
  while (total.life < duration) {
    const { make, life } = cycle(objects, kept, clock)
    total.make += make
    total.life += life
    count++
  }
  return perObject(total, count * kept.length)
}

/** The clock costs as much as an object, so many objects are made one after the other between two readings of it. */
function oneByOne(objects: Objects, kept: unknown[], duration: number, clock: Clock): Cycle {
  let count = 1
  for (;;) {
    const elapsed = time(() => lives(objects, kept, count), clock)
    if (elapsed >= duration / 2) return { make: elapsed / count, life: elapsed / count }
    count = Math.ceil(count * Math.min(8, duration / Math.max(elapsed, 1)))
  }
}

function cycle(objects: Objects, kept: unknown[], clock: Clock): Cycle {
  const make = time(() => fill(objects.make, kept), clock)
  return { make, life: make + time(() => empty(objects.end, kept), clock) }
}

function lives({ make, end }: Objects, kept: unknown[], count: number): void {
  if (end === undefined) for (let i = 0; i < count; i++) kept[0] = make(i)
  else for (let i = 0; i < count; i++) end((kept[0] = make(i)))
}

function fill(make: Objects['make'], kept: unknown[]): void {
  for (let i = 0; i < kept.length; i++) kept[i] = make(i)
}

/** Ends the oldest object first, as a queue does. */
function empty(end: Objects['end'], kept: unknown[]): void {
  if (end !== undefined) for (const object of kept) end(object)
  kept.fill(undefined)
}

/** Returns an array of which all pages are resident, so that it does not count as memory of the objects. */
function keeper(alive: number): unknown[] {
  return new Array(alive).fill(undefined)
}

function time(run: () => void, clock: Clock): number {
  const start = clock()
  run()
  return clock() - start
}

function perObject({ make, life }: Cycle, count: number): Cycle {
  return { make: make / count, life: life / count }
}

function medianOf(samples: readonly Cycle[]): Cycle {
  return {
    make: spreadOf(samples.map(({ make }) => make)).median,
    life: spreadOf(samples.map(({ life }) => life)).median,
  }
}
