/** Chromium, and the pages and sizes with which the site is tested. */
import { chromium, type Browser } from 'playwright-core'

/** The widths of a desktop and of a phone. */
export const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const

/** Pages of each kind. */
export const PAGES: readonly string[] = [
  '/',
  '/guides/first-kernel.html',
  '/guides/memory.html',
  '/guides/isolation.html',
  '/guides/sharing-memory.html',
  '/guides/serving.html',
  '/guides/bind.html',
  '/guides/migration.html',
  '/guides/deployment.html',
  '/guides/benchmarks.html',
  '/guides/limits.html',
  '/guides/cookbook/',
  '/calls.html',
  '/packages/tenon.html',
  '/packages/pools.html',
  '/errors/',
  '/errors/kernel-crash.html',
  '/reference/',
  '/reference/@tenon/scope/',
  '/reference/@tenon/scope/variables/ResourceScope.html',
]

/** Starts the browser at `CHROMIUM`, by default /usr/bin/chromium. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  })
}
