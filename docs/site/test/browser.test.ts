/** The site in a real browser, at the width of a desktop and of a phone. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { chromium, type Browser, type Page } from 'playwright-core'
import { serveFiles } from '../src/serve-files.ts'
import { lowContrast } from './low-contrast.ts'

const PAGES = [
  '/',
  '/guides/first-kernel.html',
  '/guides/memory.html',
  '/guides/isolation.html',
  '/guides/migration.html',
  '/guides/deployment.html',
  '/packages/tenon.html',
  '/packages/pools.html',
  '/errors/',
  '/errors/kernel-crash.html',
  '/reference/',
  '/reference/@tenon/scope/variables/ResourceScope.html',
]
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } }
const screenshots = join(import.meta.dirname, '../dist/screenshots')

let site: Awaited<ReturnType<typeof serveFiles>>
let browser: Browser

before(async () => {
  mkdirSync(screenshots, { recursive: true })
  site = await serveFiles(join(import.meta.dirname, '../dist/site'))
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  })
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

test('the search finds ResourceScope', async () => {
  const { page, mishaps } = await open('/guides/memory.html', { viewport: SIZES.desktop })
  await page.keyboard.press('Control+k')
  await page.locator('#localsearch-input').fill('ResourceScope')
  const first = page.locator('.result').first()
  await first.waitFor()
  assert.match((await first.textContent())!, /ResourceScope/)
  await page.context().close()
  assert.deepEqual(mishaps, [])
})

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
