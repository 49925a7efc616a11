import { transform } from 'esbuild'
import { parseSync, Visitor, type Comment, type ImportDeclaration, type Program, type Span } from 'oxc-parser'

/**
 * Turns the comments of an example into checks. A statement or declaration that is followed by a comment with an expression
 * must have that value (`1 + 1 // 2`), and a statement with the comment `// throws RangeError` must throw that error. Other
 * comments are prose. The result calls `$equal(actual, expected)` and `await $throws(action, name)`.
 *
 * @throws {SyntaxError} if the code is not TypeScript, or if a statement that must throw is in a function that is not async
 */
export function withChecks(code: string): string {
  const { program, comments } = parse(code)
  const edits: Edit[] = []
  const functions: boolean[] = []
  const enter = (node: { readonly async: boolean }): void => void functions.push(node.async)
  const leave = (): void => void functions.pop()
  new Visitor({
    FunctionDeclaration: enter,
    'FunctionDeclaration:exit': leave,
    FunctionExpression: enter,
    'FunctionExpression:exit': leave,
    ArrowFunctionExpression: enter,
    'ArrowFunctionExpression:exit': leave,
    ExpressionStatement(statement) {
      const comment = commentBehind(statement, comments, code)
      if (comment === undefined) return
      const { start, end } = statement.expression
      const thrown = /^throws (\w+)/.exec(comment)?.[1]
      if (thrown !== undefined) {
        if (functions.at(-1) === false)
          throw new SyntaxError(`"throws ${thrown}" cannot be checked in a function that is not async`)
        edits.push({ at: start, text: ';await $throws(async () => (' }, { at: end, text: `), '${thrown}')` })
      } else if (isExpression(comment)) {
        edits.push({ at: start, text: ';$equal(' }, { at: end, text: `, ${comment})` })
      }
    },
    VariableDeclaration(declaration) {
      const comment = commentBehind(declaration, comments, code)
      const [declarator, ...others] = declaration.declarations
      if (comment === undefined || others.length > 0 || declarator?.id.type !== 'Identifier') return
      if (isExpression(comment)) edits.push({ at: declaration.end, text: `;$equal(${declarator.id.name}, ${comment})` })
    },
  }).visit(program)
  return edited(code, edits)
}

/** Replaces the imports of an example by look-ups: `const { a: b } = $module('name')`. */
export function withLookUps(code: string): string {
  const imports = parse(code).program.body.filter(
    (node): node is ImportDeclaration => node.type === 'ImportDeclaration',
  )
  return edited(
    code,
    imports.flatMap((node) => [{ at: node.start, until: node.end, text: lookUp(node) }]),
  )
}

function lookUp({ specifiers, source, importKind }: ImportDeclaration): string {
  if (importKind === 'type') return ''
  const module = `$module(${JSON.stringify(source.value)})`
  const names = specifiers.flatMap((specifier) => {
    if (specifier.type === 'ImportNamespaceSpecifier') return []
    if (specifier.type === 'ImportDefaultSpecifier') return [`default: ${specifier.local.name}`]
    if (specifier.importKind === 'type') return []
    const { imported, local } = specifier
    return [`${imported.type === 'Literal' ? imported.raw : imported.name}: ${local.name}`]
  })
  const namespace = specifiers.find(({ type }) => type === 'ImportNamespaceSpecifier')
  return `const ${namespace?.local.name ?? `{ ${names.join(', ')} }`} = ${module}`
}

/** Whether an example has imports. */
export function hasImports(code: string): boolean {
  return parse(code).program.body.some(({ type }) => type === 'ImportDeclaration')
}

/** Makes JavaScript for this version of Node.js: removes the types, and turns `using` into older syntax for Node.js 22. */
export async function toJavaScript(code: string): Promise<string> {
  const parsesUsing = Number(process.versions.node.split('.')[0]) >= 24
  const result = await transform(code, {
    loader: 'ts',
    target: parsesUsing ? 'esnext' : 'node22.12',
    // Keeps the imports that an example does not use, so that their names are checked as well.
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  })
  return result.code
}

function parse(code: string): { readonly program: Program; readonly comments: readonly Comment[] } {
  const { program, comments, errors } = parseSync('example.ts', code, { lang: 'ts', sourceType: 'module' })
  const [error] = errors
  if (error !== undefined) throw new SyntaxError(error.codeframe ?? error.message)
  return { program, comments }
}

/** The comment behind a statement on its last line. */
function commentBehind({ end }: Span, comments: readonly Comment[], code: string): string | undefined {
  const comment = comments.find(({ start }) => start >= end)
  if (comment?.type !== 'Line' || !/^;?[ \t]*$/.test(code.slice(end, comment.start))) return undefined
  return comment.value.trim()
}

/** Whether a comment is an expression. One word of prose parses as a name, so only names of values count. */
function isExpression(text: string): boolean {
  if (/^[A-Za-z_]\w*$/.test(text)) return ['true', 'false', 'null', 'undefined', 'NaN', 'Infinity'].includes(text)
  try {
    return typeof new Function(`return (${text})`) === 'function'
  } catch {
    return false
  }
}

interface Edit {
  readonly at: number
  /** The end of the replaced text. Without it, nothing is replaced. */
  readonly until?: number
  readonly text: string
}

function edited(code: string, edits: readonly Edit[]): string {
  return edits
    .toSorted((a, b) => b.at - a.at)
    .reduce((text, { at, until = at, text: inserted }) => text.slice(0, at) + inserted + text.slice(until), code)
}
