/**
 * The command `pnpm docs:build`, which builds the documentation site to docs/site/dist/site. The site has an install of its own, because
 * its tools are large and need another TypeScript. `TENON_SITE_BASE` is the path under which it is served, for example `/0.2/`.
 */
import { runMain } from '@tenon/build'

import { runInSite } from './lib/site.ts'

await runMain(() => runInSite(['src/build.ts']))
