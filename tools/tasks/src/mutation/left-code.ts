/** The part of a path of Babel that the rules read. */
interface Path {
  readonly node?: Node
  readonly key?: string | number | null
  readonly listKey?: string | null
  readonly parent?: Node
}

interface Node {
  readonly type: string
  readonly callee?: { readonly type: string; readonly name?: string }
}

/** Functions that make errors from the name and the value of an argument. */
const makesError = /(?:Error|^wrong\w+|^refuse\w*)$/

/** Whether a node is an argument of a class or a function of errors: its text and its hint, which no check depends on. */
export function isErrorText(path: Path): boolean {
  const { parent, listKey } = path
  if (listKey !== 'arguments' || parent === undefined) return false
  if (parent.type !== 'NewExpression' && parent.type !== 'CallExpression') return false
  return parent.callee?.type === 'Identifier' && makesError.test(parent.callee.name ?? '')
}
