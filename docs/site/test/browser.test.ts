/** The site in a real browser, at the width of a desktop and of a phone. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, PAGES, SIZES } from '../src/browser.ts'
import { serveFiles } from '../src/serve-files.ts'
import { lowContrast } from './low-contrast.ts'

const screenshots = join(import.meta.dirname, '../dist/screenshots')

let site: Awaited<ReturnType<typeof serveFiles>>
let browser: Browser

before(async () => {
  mkdirSync(screenshots, { recursive: true })
  site = await serveFiles(join(import.meta.dirname, '../dist/site'))
  browser = await launchBrowser()
})
after(async () => {
  await browser?.close()
  site?.server.close()
})

/** Opens a page, and collects what must not happen. */
async function open(path: string, options: object): Promise<{ page: Page; mishaps: string[] }> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const mishaps: string[] = []
  page.on('pageerror', (error) => mishaps.push(`error: ${error.message}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(site.url) && !request.url().startsWith('data:'))
      mishaps.push(`outside: ${request.url()}`)
  })
  page.on('response', (response) => {
    // A site that is not deployed has no list of versions.
    if (response.status() >= 400 && !response.url().endsWith('/versions.json'))
      mishaps.push(`${response.status()}: ${response.url()}`)
  })
  await page.goto(site.url + path, { waitUntil: 'networkidle' })
  return { page, mishaps }
}

for (const [name, viewport] of Object.entries(SIZES)) {
  describe(name, () => {
    for (const path of PAGES) {
      test(`${path} fits, has one heading, and loads nothing from elsewhere`, async () => {
        const { page, mishaps } = await open(path, { viewport, isMobile: name === 'phone', hasTouch: name === 'phone' })
        const { scrollWidth, headings } = await page.evaluate(() => ({
          scrollWidth: document.documentElement.scrollWidth,
          headings: document.querySelectorAll('h1').length,
        }))
        await page.screenshot({ path: join(screenshots, `${name}${path.replaceAll(/[^\w]+/g, '-')}.png`) })
        await page.context().close()
        assert.deepEqual(
          { mishaps, headings, isWide: scrollWidth > viewport.width },
          { mishaps: [], headings: 1, isWide: false },
        )
      })
    }
  })
}

for (const colorScheme of ['light', 'dark'] as const) {
  for (const path of ['/', '/guides/first-kernel.html', '/packages/tenon.html', '/errors/']) {
    test(`the text of ${path} has a contrast of 4.5 in the ${colorScheme} scheme`, async () => {
      const { page } = await open(path, { viewport: SIZES.desktop, colorScheme })
      const found = await page.evaluate(lowContrast, 4.5)
      await page.context().close()
      assert.deepEqual(found, [])
    })
  }
}

/** The pages that must be among the first three results of a word. Any of them will do. */
const SEARCHED: Readonly<Record<string, readonly string[]>> = {
  sqlite: ['guides/bind'],
  jpeg: ['guides/bind', 'guides/cookbook/images'],
  cmake: ['guides/native-builds'],
  callback: ['guides/c-functions'],
  onnx: ['guides/cookbook/onnxruntime'],
  struct: ['guides/c-functions', 'guides/bind'],
  pointer: ['guides/c-functions'],
  segfault: ['guides/debug-crash'],
  cuda: ['guides/cuda'],
  numpy: ['guides/cookbook/', 'packages/weights'],
  gguf: ['packages/weights'],
  worker: ['guides/isolation', 'guides/memory'],
  docker: ['guides/deployment', 'guides/serving-operation'],
  kubernetes: ['guides/serving-operation'],
  electron: ['guides/deployment'],
  bun: ['guides/runtimes'],
  deno: ['guides/runtimes'],
  ResourceScope: ['guides/memory', 'packages/scope'],
}

test('a desktop shows the example and the picture of the first page without scrolling', async () => {
  const { page } = await open('/', { viewport: SIZES.desktop })
  const ends = await page
    .locator('.first-c pre, .first-ts pre, .first-output pre, .first-picture img:visible')
    .evaluateAll((elements) => elements.map((element) => Math.ceil(element.getBoundingClientRect().bottom)))
  await page.context().close()
  assert.equal(ends.length, 5)
  assert.deepEqual(
    ends.filter((end) => end > SIZES.desktop.height),
    [],
  )
})

test('a picture with two files follows the theme that the reader chooses on the site', async () => {
  const { page } = await open('/guides/memory.html', { viewport: SIZES.desktop, colorScheme: 'light' })
  const shown = (): Promise<string | null> => page.locator('img[width="460"]:visible').getAttribute('src')
  assert.match((await shown())!, /memory-light/)
  await page.getByRole('switch').first().click()
  await page.locator('html.dark').waitFor()
  assert.match((await shown())!, /memory-dark/)
  await page.context().close()
})

test('the words that people type find the page that helps among the first three results', async (context) => {
  const { page, mishaps } = await open('/guides/memory.html', { viewport: SIZES.desktop })
  await page.keyboard.press('Control+k')
  for (const [word, wanted] of Object.entries(SEARCHED)) {
    await context.test(word, async () => {
      const found = await search(page, word)
      const isFound = found.slice(0, 3).some((address) => wanted.includes(address))
      assert.ok(isFound, `${word} must find ${wanted.join(' or ')}, got ${found.join(', ')}`)
    })
  }
  await context.test('an exported name leads to the reference as well', async () => {
    const found = await search(page, 'MemorySegment')
    assert.ok(
      found.some((address) => address.startsWith('reference/')),
      found.join(', '),
    )
  })
  await page.context().close()
  assert.deepEqual(mishaps, [])
})

/** Types a word into the search, and returns the pages that it finds, each once. */
async function search(page: Page, word: string): Promise<readonly string[]> {
  await page.locator('#localsearch-input').fill('')
  await page.locator('.result').first().waitFor({ state: 'detached' })
  await page.locator('#localsearch-input').fill(word)
  await page.locator('.result').first().waitFor()
  const links = await page
    .locator('a.result')
    .evaluateAll((results) => results.map((link) => link.getAttribute('href')!))
  return [...new Set(links.map((link) => link.replace(/^\//, '').replace(/(\.html)?(#.*)?$/, '')))]
}

test('the menu of versions lists those that the deployed site has, and leads to them', async () => {
  const { page, mishaps } = await open('/guides/memory.html', { viewport: SIZES.desktop })
  const versions = [
    { name: '0.2 (latest)', path: '/' },
    { name: '0.1', path: '/0.1/' },
  ]
  await page.route('**/versions.json', (route) => route.fulfill({ json: versions }))
  await page.route('**/0.1/', (route) => route.fulfill({ contentType: 'text/html', body: '<h1>Version 0.1</h1>' }))
  await page.reload({ waitUntil: 'networkidle' })
  const menu = page.getByLabel('Version')
  assert.deepEqual(await menu.locator('option').allTextContents(), ['0.2 (latest)', '0.1'])
  assert.equal(await menu.inputValue(), '/')
  await menu.selectOption('0.1')
  await page.locator('h1', { hasText: 'Version 0.1' }).waitFor()
  await page.context().close()
  assert.deepEqual(mishaps, [])
})

test('the menu opens on a phone', async () => {
  const { page } = await open('/guides/memory.html', { viewport: SIZES.phone, isMobile: true, hasTouch: true })
  await page.locator('.VPNavBarHamburger').click()
  await page.locator('.VPNavScreenMenu').waitFor()
  assert.ok(await page.locator('.VPNavScreenMenu >> text=Errors').isVisible())
  await page.context().close()
})
