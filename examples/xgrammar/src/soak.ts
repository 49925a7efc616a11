import { setImmediate as nextTurn } from 'node:timers/promises'
import { openLibrary } from './library.ts'
import { masks, tokenizer } from './vocabulary.ts'

const COUNT = 10_000
const MOST_GROWTH = 10 // MiB, in the second round

const [path] = process.argv.slice(2)
const { gc } = globalThis
if (path === undefined || gc === undefined) {
  console.error('usage: node --expose-gc src/soak.ts libxgrammar_bindings.so')
  process.exitCode = 2
} else {
  const library = openLibrary(path)
  const compiler = new library.GrammarCompiler(tokenizer(library), 1, true, -1)
  const compiled = compiler.compileBuiltinJsonGrammar()
  const mask = masks(1)

  /** Makes matchers that nothing closes, and returns the memory of the process in MiB when they are collected. */
  const round = async (): Promise<number> => {
    for (let i = 0; i < COUNT; i++) {
      const matcher = new library.GrammarMatcher(compiled, null, false, 100)
      matcher.acceptString('{"a": 1', false)
      matcher.fillNextTokenBitmask(mask, 0, false)
      if (i % 1000 === 999) await nextTurn()
    }
    for (let i = 0; i < 5; i++) {
      gc()
      await nextTurn()
    }
    return process.memoryUsage.rss() / 2 ** 20
  }

  const first = await round()
  const growth = (await round()) - first
  console.log(`${2 * COUNT} matchers: ${first.toFixed(1)} MiB, the second half added ${growth.toFixed(1)} MiB`)
  process.exitCode = growth < MOST_GROWTH ? 0 : 1
}
