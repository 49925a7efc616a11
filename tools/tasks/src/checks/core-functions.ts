import { parseSync } from 'oxc-parser'

import type { Check } from './check.ts'
import { listSourceFiles, type SourceFile } from './source-files.ts'

/** The sources of packages, without those that declare functions from the generated table. */
const checked = /^packages\/(?!core\/src\/(generated|native)\/)[^/]+\/src\/.*\.ts$/

const declaring = new Set(['bindCore', 'functionAt'])

/**
 * The files that may use them: for functions of a library that has no header in this repository, and for functions of the core
 * that run code of a library, which need the driver of the thread.
 */
const foreign = new Set([
  'packages/custom-call/src/cuda/driver-functions.ts',
  'packages/custom-call/src/native/enter-core.ts',
  'packages/packed-func/src/native/entered.ts',
  'packages/tensorflow/src/native/entered.ts',
])

/** The functions whose parameter is a name of the table. */
const typed = new Set(['coreFunctionAddress', 'enterCore', 'hostAddress', 'packedAddress'])

interface Node {
  readonly type: string
  readonly start: number
  readonly [property: string]: unknown
}

/** A sentence for each place that names or declares a function of the C core by hand. */
export function findHandDeclarations(files: readonly SourceFile[]): string[] {
  return files.filter(({ path }) => checked.test(path)).flatMap(findIn)
}

function findIn({ path, text }: SourceFile): string[] {
  const problems: string[] = []
  const report = (node: Node, problem: string): void => {
    problems.push(`${path}:${text.slice(0, node.start).split('\n').length} ${problem}`)
  }
  visit(parseSync(path, text).program as unknown as Node, (node, parent) => {
    const name = node.type === 'Literal' ? node['value'] : node.type === 'TemplateElement' ? textOf(node) : undefined
    if (typeof name === 'string' && /^tn_\w+$/.test(name) && !isChecked(parent))
      report(node, `names ${name}: use coreFunctions().${name} or libraryFunctions(), which know its signature`)
    if (node.type === 'CallExpression' && !foreign.has(path)) {
      const callee = calleeOf(node)
      if (callee !== undefined && declaring.has(callee))
        report(node, `calls ${callee}(): declare the function in a header, and tenon-build generates its signature`)
    }
  })
  return problems
}

/** Whether a string is a type, or an argument of which the compiler allows only names of the table. */
function isChecked(parent: Node | undefined): boolean {
  if (parent?.type === 'TSLiteralType') return true
  return parent?.type === 'CallExpression' && typed.has(calleeOf(parent) ?? '')
}

function calleeOf(call: Node): string | undefined {
  const callee = call['callee'] as Node
  if (callee.type === 'Identifier') return callee['name'] as string
  return callee.type === 'MemberExpression' ? ((callee['property'] as Node)['name'] as string | undefined) : undefined
}

function textOf(element: Node): string {
  return (element['value'] as { readonly cooked: string }).cooked
}

function visit(node: Node, see: (node: Node, parent: Node | undefined) => void, parent?: Node): void {
  see(node, parent)
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof child === 'object' && child !== null && 'type' in child) visit(child as Node, see, node)
    }
  }
}

/** Refuses functions of the C core that are declared or looked up by hand. */
export const coreFunctionsCheck: Check = {
  name: 'functions',
  async run() {
    return { problems: findHandDeclarations(await listSourceFiles(['.ts'])) }
  },
}
