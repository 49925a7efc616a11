import { parseSync, Visitor, type Expression } from 'oxc-parser'

/** The hint of an error in a source file. */
export interface Hint {
  /** The text. A blank stands for each inserted value. */
  readonly text: string
  readonly line: number
}

/** The places of hints among the arguments of functions that make errors. */
const positions: Readonly<Record<string, number>> = { wrongType: 3, wrongValue: 3, UsageError: 1, InputError: 1 }

/** Finds the hints of a source file: in properties and variables named `hint`, and in the arguments of errors. */
export function hintsOf(source: string): Hint[] {
  const hints: Hint[] = []
  const add = (value: Expression): void => {
    for (const [text, at] of textsOf(value)) hints.push({ text, line: source.slice(0, at).split('\n').length })
  }
  const ofArguments = (callee: Expression, values: readonly { readonly type: string }[]): void => {
    const position = callee.type === 'Identifier' ? positions[callee.name] : undefined
    const value = position === undefined ? undefined : values[position]
    if (value !== undefined && value.type !== 'SpreadElement') add(value as Expression)
  }
  new Visitor({
    Property({ key, value }) {
      if (key.type === 'Identifier' && key.name === 'hint') add(value as Expression)
    },
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier' && /hint$/i.test(id.name) && init) add(init)
    },
    ReturnStatement({ argument }) {
      if (argument) add(argument)
    },
    CallExpression: ({ callee, arguments: values }) => ofArguments(callee, values),
    NewExpression: ({ callee, arguments: values }) => ofArguments(callee, values),
  }).visit(parseSync('source.ts', source, { lang: 'ts', sourceType: 'module' }).program)
  return hints
}

/** The texts that an expression may have, with their positions. */
function textsOf(value: Expression): (readonly [text: string, at: number])[] {
  switch (value.type) {
    case 'Literal':
      return typeof value.value === 'string' ? [[value.value, value.start]] : []
    case 'TemplateLiteral':
      return [[value.quasis.map(({ value: { cooked } }) => cooked ?? '').join(' '), value.start]]
    case 'ConditionalExpression':
      return [...textsOf(value.consequent), ...textsOf(value.alternate)]
    case 'LogicalExpression':
      return [...textsOf(value.left as Expression), ...textsOf(value.right)]
    case 'ParenthesizedExpression':
      return textsOf(value.expression)
    default:
      return []
  }
}
