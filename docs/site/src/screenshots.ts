/**
 * Takes a screenshot of each kind of page of the built site, at both widths and in both colour schemes, and compares them with those
 * of another build: `node src/screenshots.ts [--output FOLDER] [--against FOLDER]`. Ends with 1 if a page has changed, or is new.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { launchBrowser, PAGES, SIZES } from './browser.ts'
import { compareImages } from './compare-images.ts'
import { serveFiles } from './serve-files.ts'

const { values } = parseArgs({ options: { output: { type: 'string' }, against: { type: 'string' } } })
const built = join(import.meta.dirname, '../dist')
const output = resolve(values.output ?? join(built, 'screenshots'))
const against = values.against === undefined ? undefined : resolve(values.against)
if (against === output) throw new Error('--against must be another folder than that of the new screenshots')
if (against !== undefined && !existsSync(against))
  throw new Error(`--against must be a folder of screenshots, got ${against}`)
const differences = join(output, 'differences')
mkdirSync(output, { recursive: true })
rmSync(differences, { recursive: true, force: true })

const site = await serveFiles(join(built, 'site'))
const browser = await launchBrowser()
let changed = 0
try {
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
      const page = await context.newPage()
      for (const path of PAGES) {
        await page.goto(site.url + path, { waitUntil: 'networkidle' })
        const name = `${size}-${colorScheme}${path.replaceAll(/[^\w]+/g, '-')}.png`
        const picture = await page.screenshot({ fullPage: true, animations: 'disabled' })
        writeFileSync(join(output, name), picture)
        if (against !== undefined) compare(name, picture, join(against, name))
      }
      await context.close()
    }
  }
} finally {
  await browser.close()
  site.server.close()
}
const count = PAGES.length * Object.keys(SIZES).length * 2
process.stdout.write(`${count} screenshots in ${output}${against === undefined ? '' : `, ${changed} changed`}\n`)
if (changed > 0) process.exitCode = 1

/** Prints what has changed since the other build, and writes the picture of the difference. */
function compare(name: string, picture: Uint8Array, before: string): void {
  if (!existsSync(before)) {
    changed++
    process.stdout.write(`new: ${name}\n`)
    return
  }
  const { share, isChanged, picture: difference } = compareImages(readFileSync(before), picture)
  if (!isChanged) return
  changed++
  process.stdout.write(
    `changed: ${name}, ${difference === undefined ? 'another size' : `${(100 * share).toFixed(2)} %`}\n`,
  )
  if (difference === undefined) return
  mkdirSync(differences, { recursive: true })
  writeFileSync(join(differences, name), difference)
}
