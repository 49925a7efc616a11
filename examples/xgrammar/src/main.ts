import { casesOf } from './cases.ts'
import { openLibrary } from './library.ts'

const [path] = process.argv.slice(2)
if (path === undefined) {
  console.error('usage: node src/main.ts libxgrammar_bindings.so')
  process.exitCode = 2
} else {
  const cases = Object.entries(casesOf(openLibrary(path)))
  let failed = 0
  for (const [name, run] of cases) {
    try {
      await run()
      console.log(`ok      ${name}`)
    } catch (error) {
      failed++
      console.log(`FAILED  ${name}\n${error instanceof Error ? error.message : String(error)}`)
    }
  }
  console.log(`${cases.length - failed} of ${cases.length} cases`)
  process.exitCode = failed === 0 ? 0 : 1
}
