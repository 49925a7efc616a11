/** Checks the built files without a browser. */
import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { test } from 'node:test'
import { isOlder } from '../.vitepress/theme/is-older.ts'
import { root } from '../src/link-target.ts'
import { sections } from '../src/pages.ts'

const site = join(import.meta.dirname, '../dist/site')
const pages = new Map<string, string>(
  globSync('**/*.html', { cwd: site }).map((path) => [`/${path}`, readFileSync(join(site, path), 'utf8')] as const),
)

/** The links of a page to other places of the site: the file, and the anchor without its mark. */
function* linksOf(path: string, html: string): Generator<{ readonly file: string; readonly anchor: string }> {
  for (const [, href = ''] of html.matchAll(/<a [^>]*?href="([^"]*)"/g)) {
    if (/^([a-z][a-z\d+.-]*:|\/\/)/i.test(href)) continue
    const [target = '', anchor = ''] = href.replaceAll('&amp;', '&').split('#', 2)
    const file = target === '' ? path : join(dirname(path), target.startsWith('/') ? join('/', target) : target)
    const absolute = target.startsWith('/') ? target : file
    yield { file: absolute.endsWith('/') ? `${absolute}index.html` : absolute, anchor: decodeURIComponent(anchor) }
  }
}

test('each link leads to a page of the site, and to a place that it has', () => {
  const broken = new Set<string>()
  for (const [path, html] of pages) {
    for (const { file, anchor } of linksOf(path, html)) {
      const target = pages.get(file)
      if (target === undefined) broken.add(`${path} -> ${file}`)
      else if (anchor !== '' && !target.includes(`id="${anchor}"`)) broken.add(`${path} -> ${file}#${anchor}`)
    }
  }
  assert.deepEqual([...broken], [])
})

test('each error code has a page', () => {
  const names = readdirSync(join(root, 'docs/errors')).map((file) => file.replace(/\.md$/, '.html'))
  const missing = names.filter((name) => name !== 'README.html' && !pages.has(`/errors/${name}`))
  assert.deepEqual(missing, [])
  assert.ok(names.length > 30)
})

test('the reference has a page for each public entry point', () => {
  for (const entry of ['tenon', '@tenon/core', '@tenon/scope', '@tenon/scope/linker', '@tenon/serve', '@tenon/build']) {
    assert.ok(pages.has(`/reference/${entry}/index.html`), entry)
  }
})

test('no page names a file of another host', () => {
  const outside = [...pages].flatMap(([path, html]) =>
    [...html.matchAll(/<(?:script|link|img|iframe)[^>]+?(?:src|href)="((?:https?:)?\/\/[^"]+)"/g)].map(
      ([, url]) => `${path}: ${url}`,
    ),
  )
  assert.deepEqual(outside, [])
})

test('a page of an error knows which versions are older', () => {
  const older = ['0.1.9', '0.1.10', '0.2.0', '0.2.0-beta.1', '1.0.0'].map((version) => isOlder(version, '0.2.0'))
  assert.deepEqual(older, [true, true, false, false, false])
})

test('each page names the next one, from the first guide to the last page of the navigation', () => {
  const order = [...sections.flatMap((section) => section.pages.map(({ address }) => address)), 'reference/', 'errors/']
  const fileOf = (address: string): string =>
    `/${address.replace(/(^|index|\/)$/, (end) => (end === '/' ? '/index' : end))}.html`
  const next = (address: string): string | undefined =>
    /<a class="[^"]*pager-link next" href="([^"]+)"/.exec(pages.get(fileOf(address))!)?.[1]
  for (const [i, address] of order.entries()) {
    // The reference has a navigation of its own.
    if (address === 'reference/') continue
    const following = order[i + 1]
    assert.equal(
      next(address),
      following === undefined ? undefined : fileOf(following).replace(/index\.html$/, ''),
      address,
    )
  }
})

test('the jobs on the first page lead to guides', () => {
  const jobs = new Set([...linksOf('/', pages.get('/index.html')!)].map(({ file }) => file))
  for (const name of [
    'first-kernel',
    'bind',
    'isolation',
    'debug-crash',
    'sharing-memory',
    'serving',
    'authoring',
    'one-file',
  ])
    assert.ok(jobs.has(`/guides/${name}.html`), name)
})
