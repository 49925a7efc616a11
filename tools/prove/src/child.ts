/**
 * The process of one line with one contestant: `child.ts <line> <module> <contestant> <setup> <file>`, which writes its report to the file. The
 * standard output belongs to the contestants, some of which write to it.
 */
import { writeFileSync } from 'node:fs'
import type { Contestant, Operations, Setup } from './contestant.ts'
import { isOffered } from './line.ts'
import { lines } from './lines/index.ts'
import type { Report } from './verdict.ts'

const [lineName, modulePath, contestantName, setupText, file] = process.argv.slice(2) as string[] as [
  string,
  string,
  string,
  string,
  string,
]

writeFileSync(file, JSON.stringify(await reportOf()))
process.exit()

async function reportOf(): Promise<Report> {
  const line = lines.find(({ name }) => name === lineName)!
  const { contestants } = (await import(modulePath)) as { contestants: readonly Contestant[] }
  const contestant = contestants.find(({ name }) => name === contestantName)!
  let offered
  try {
    const opened = await contestant.open(JSON.parse(setupText) as Setup)
    offered = { ...(opened.allocate && { inPlace: opened.allocate }), ...opened }
  } catch (error) {
    return { kind: 'not loaded', message: messageOf(error) }
  }
  if (!isOffered(line, offered)) {
    return { kind: 'not offered', missing: line.needs.filter((name) => offered[name] === undefined) }
  }
  try {
    return { kind: 'returned', ...(await line.run(offered)) }
  } catch (error) {
    const message = messageOf(error)
    if (line.expected === 'result' || !line.needs.includes('addOne') || line.needs.includes('close'))
      return { kind: 'threw', message }
    // The process must be sound after the error.
    const next = await nextCall(offered)
    return next === 2 ? { kind: 'threw', message } : { kind: 'unsound', message, next: String(next) }
  }
}

async function nextCall({ addOne }: Operations): Promise<unknown> {
  try {
    return await addOne(1)
  } catch (error) {
    return messageOf(error)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `threw ${String(error)}`
}
