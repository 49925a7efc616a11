/**
 * The command `pnpm test:python`, which loads Python into the process of Node.js, and exchanges tensors with NumPy and PyTorch by DLPack, and
 * batches with pyarrow by Arrow's streams. `TENON_PYTHON` is the path of a Python that has them, `python3` by default. It needs a shared
 * library of Python and NumPy 2.1, the first version with DLPack 1. Modules that this Python does not have are listed. If
 * `TENON_XGRAMMAR_LIBRARY` is the path of a library of xgrammar (see examples/xgrammar), it fills a bitmask of NumPy.
 */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { delimiter } from 'node:path'
import { report, reportMissing } from '@tenon/config/conformance'
import { readerDirectory } from '../test/reader.ts'
import { checkPairs, type Libraries } from './pairs.ts'

const names: Libraries = { numpy: 'NumPy', torch: 'PyTorch', pyarrow: 'pyarrow' }

/** The version and the packages of a Python. */
interface Python {
  readonly prefix: string
  /** The path of its shared library. Null if it has none. */
  readonly library: string | null
  /** The folders in which it looks for modules. */
  readonly folders: readonly string[]
  /** The versions of the modules that it can import. */
  readonly versions: Readonly<Record<string, string>>
}

const python = process.env['TENON_PYTHON'] ?? 'python3'
const questions = `
import importlib, json, os, sys, sysconfig
versions = {}
for name in ${JSON.stringify(Object.keys(names))}:
    try: versions[name] = importlib.import_module(name).__version__
    except ImportError: pass
shared = sysconfig.get_config_var('Py_ENABLE_SHARED')
library = os.path.join(sysconfig.get_config_var('LIBDIR'), sysconfig.get_config_var('INSTSONAME')) if shared else None
print(json.dumps(dict(prefix=sys.base_prefix, library=library, folders=sys.path, versions=versions)))
`
const answer = execFileSync(python, ['-c', questions], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
const { prefix, library, folders, versions } = JSON.parse(answer) as Python

const isNew = (version: string): boolean => version.localeCompare('2.1', 'en', { numeric: true }) >= 0
const missing = [
  ...(library === null ? [`a shared library of Python: ${python} has none`] : []),
  ...(isNew(versions['numpy'] ?? '0') ? [] : [`NumPy 2.1 or later: ${python} has ${versions['numpy'] ?? 'none'}`]),
]
if (missing.length > 0) reportMissing('test:python', missing)
else {
  const found = Object.keys(names).filter((name) => versions[name] !== undefined)
  for (const [name, title] of Object.entries(names))
    process.stdout.write(`${title}: ${versions[name] ?? 'not checked, because this Python does not have it'}\n`)
  const directory = readerDirectory()
  try {
    // The modules of Python look for its symbols among those of the process.
    const own = { LD_PRELOAD: library!, PYTHONHOME: prefix, PYTHONPATH: folders.filter(Boolean).join(delimiter) }
    const libraries = Object.fromEntries(found.map((name) => [name, names[name]!]))
    report(await checkPairs(directory, libraries, { ...process.env, ...own }))
  } finally {
    rmSync(directory, { recursive: true })
  }
}
