import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { folderOf } from '@tenon/config/conformance'

/** The Python that runs the examples: that of the system, which apt installs packages for. */
const PYTHON = process.env['TENON_PYTHON'] ?? '/usr/bin/python3'

/** The modules that the client imports, with the packages of Debian that have them. */
const MODULES: Readonly<Record<string, string>> = {
  aiohttp: 'python3-aiohttp',
  gevent: 'python3-gevent',
  geventhttpclient: 'python3-geventhttpclient',
  'google.protobuf': 'python3-protobuf',
  grpc: 'python3-grpcio',
  grpc_tools: 'python3-grpc-tools',
  numpy: 'python3-numpy',
  packaging: 'python3-packaging',
  rapidjson: 'python3-rapidjson',
}

/** The generated files, by the name of the proto file. The client expects its own names. */
const GENERATED: Readonly<Record<string, string>> = {
  grpc_service_pb2: 'service_pb2',
  grpc_service_pb2_grpc: 'service_pb2_grpc',
  model_config_pb2: 'model_config_pb2',
}

const run = promisify(execFile)

/** The checkouts with the client and with the protos. */
export interface Sources {
  readonly client: string
  readonly common: string
}

/** Finds the checkouts. @param missing gets a line for each thing that is not there, among them modules of Python. */
export async function findSources(missing: string[]): Promise<Sources> {
  const client = folderOf('TENON_TRITON_CLIENT', 'triton-inference-server/client', 'src/python/examples', missing)
  const beside = ['common', 'triton-common'].map((name) => join(client, '..', name))
  const found = beside.find((folder) => existsSync(join(folder, 'protobuf/grpc_service.proto')))
  if (found !== undefined && client !== '') process.env['TENON_TRITON_COMMON'] ??= found
  const common = folderOf(
    'TENON_TRITON_COMMON',
    'triton-inference-server/common',
    'protobuf/grpc_service.proto',
    missing,
  )
  missing.push(...(await missingModules()))
  return { client, common }
}

async function missingModules(): Promise<string[]> {
  const script = [
    'import importlib, sys',
    'for name in sys.argv[1:]:',
    '    try: importlib.import_module(name)',
    '    except ImportError: print(name)',
  ].join('\n')
  let absent: string[]
  try {
    const { stdout } = await run(PYTHON, ['-c', script, ...Object.keys(MODULES)])
    absent = stdout.split('\n').filter((name) => name !== '')
  } catch (error) {
    return [`${PYTHON}, or another Python that TENON_PYTHON names (${(error as Error).message.split('\n')[0]})`]
  }
  if (absent.length === 0) return []
  const packages = absent.map((name) => MODULES[name]).join(' ')
  return [`the Python modules ${absent.join(', ')}: apt-get install ${packages}`]
}

/** Upstream's Python package in a temporary folder, with the messages that are generated from the protos. */
export class PythonClient implements Disposable {
  readonly #directory: string
  readonly #examples: string

  private constructor(directory: string, examples: string) {
    this.#directory = directory
    this.#examples = examples
  }

  /** Copies the package and generates its messages. */
  static async prepare({ client, common }: Sources): Promise<PythonClient> {
    const directory = mkdtempSync(join(tmpdir(), 'tenon-triton-'))
    const prepared = new PythonClient(directory, join(client, 'src/python/examples'))
    try {
      const target = join(directory, 'tritonclient/grpc')
      cpSync(join(client, 'src/python/library/tritonclient'), join(directory, 'tritonclient'), { recursive: true })
      const protos = join(common, 'protobuf')
      const outputs = [`--python_out=${target}`, `--grpc_python_out=${target}`]
      const files = ['grpc_service.proto', 'model_config.proto']
      await run(PYTHON, ['-m', 'grpc_tools.protoc', `-I${protos}`, ...outputs, ...files])
      for (const [from, to] of Object.entries(GENERATED)) renameModule(target, from, to)
    } catch (error) {
      prepared[Symbol.dispose]()
      throw error
    }
    return prepared
  }

  /**
   * Runs an example against a server. An example that prints a word for its success must print it.
   *
   * @param file the name of the example, or the path of another script. @param wrapper a script that runs the example, with its own arguments. @throws (rejects with) the output of an example that fails.
   */
  async run(file: string, args: readonly string[], wrapper: readonly string[]): Promise<void> {
    const path = resolve(this.#examples, file)
    const env = { ...process.env, PYTHONPATH: this.#directory, PYTHONDONTWRITEBYTECODE: '1' }
    const { stdout, stderr } = await run(PYTHON, [...wrapper, path, ...args], {
      env,
      timeout: 60_000,
      killSignal: 'SIGKILL',
    })
    const saysSuccess = readFileSync(path, 'utf8').includes('"PASS')
    if (saysSuccess && !stdout.includes('PASS')) throw new Error(`it ended without PASS:\n${stdout}${stderr}`)
    // Several examples end with the code 0 if they cannot make a client.
    if (stdout.includes('creation failed')) throw new Error(stdout)
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

/** Renames a generated file, and makes its imports those of a package. */
function renameModule(directory: string, from: string, to: string): void {
  renameSync(join(directory, `${from}.py`), join(directory, `${to}.py.new`))
  let text = readFileSync(join(directory, `${to}.py.new`), 'utf8')
  for (const [name, renamed] of Object.entries(GENERATED)) {
    text = text.replaceAll(`import ${name} as`, `from tritonclient.grpc import ${renamed} as`)
  }
  rmSync(join(directory, `${to}.py.new`))
  writeFileSync(join(directory, `${to}.py`), text)
}
