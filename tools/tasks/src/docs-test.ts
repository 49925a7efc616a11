/**
 * The command `pnpm docs:test`, which tests the site that `pnpm docs:build` built: its links, and its pages in Chromium at the widths of a
 * desktop and of a phone. `CHROMIUM` is the path of the browser, by default /usr/bin/chromium. Nothing is downloaded but packages.
 */
import { runMain } from '@tenon/build'

import { runInSite } from './lib/site.ts'

await runMain(() => runInSite(['--test', 'test/*.test.ts']))
