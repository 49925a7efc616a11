import type { Node } from 'web-tree-sitter'

import { type Mutant, mutantKey, type Operator } from './mutant.ts'
import type { ParseC } from './syntax.ts'

/** Code that is a type, is evaluated by the compiler, or is no code. */
const skipped = new Set([
  'ERROR',
  'alignas_qualifier',
  'alignof_expression',
  'array_declarator',
  'attribute_declaration',
  'attribute_specifier',
  'enum_specifier',
  'generic_expression',
  'gnu_asm_expression',
  'offsetof_expression',
  'preproc_def',
  'preproc_function_def',
  'sizeof_expression',
  'string_literal',
  'struct_specifier',
  'type_descriptor',
  'union_specifier',
])

/** Macros and operators whose arguments are not evaluated at run time. */
const notCalls =
  /^(?:_Static_assert|static_assert|offsetof|va_arg|va_start|va_end|va_copy|pthread_cleanup_\w+|__builtin_\w+)$/

const boundaries: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' }
const opposites: Readonly<Record<string, string>> = {
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '==': '!=',
  '!=': '==',
}
const arithmetic: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '<<': '>>',
  '>>': '<<',
  '&': '|',
  '|': '&',
  '^': '&',
}
const assignments: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(arithmetic).map(([from, to]) => [`${from}=`, `${to}=`]),
)

type Found = Omit<Mutant, 'file' | 'function' | 'occurrence'>

/** Finds the mutants of the functions of a file, in the order of the code. */
export function findMutants(file: string, source: string, parse: ParseC): Mutant[] {
  const found: Mutant[] = []
  const counts = new Map<string, number>()
  for (const definition of parse(source).descendantsOfType('function_definition')) {
    const name = nameOf(definition.childForFieldName('declarator'))
    const body = definition.childForFieldName('body')
    if (name === undefined || body === null || body.type !== 'compound_statement') continue
    const inFunction: Found[] = []
    visit(body, inFunction, new Set())
    for (const place of inFunction.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
      const first = { ...place, file, function: name, occurrence: 1 }
      const occurrence = (counts.get(mutantKey(first)) ?? 0) + 1
      counts.set(mutantKey(first), occurrence)
      found.push({ ...first, occurrence })
    }
  }
  return found
}

function nameOf(declarator: Node | null): string | undefined {
  return declarator?.descendantsOfType('identifier')[0]?.text
}

function add(found: Found[], node: Node, operator: Operator, to: string): void {
  found.push({
    line: node.startPosition.row + 1,
    operator,
    from: oneLine(node.text),
    to,
    start: node.startIndex,
    end: node.endIndex,
  })
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ')
}

/** @param booleans the ids of the nodes of which only the truth matters. */
function visit(node: Node, found: Found[], booleans: Set<number>): void {
  if (skipped.has(node.type) || node.isMissing) return
  const condition = node.childForFieldName('condition')
  switch (node.type) {
    case 'declaration':
      // The compiler evaluates what static variables begin with.
      if (node.children.some(({ type, text }) => type === 'storage_class_specifier' && text !== 'register')) return
      break
    case 'if_statement':
    case 'conditional_expression':
      force(condition, ['1', '0'], found, booleans)
      break
    case 'while_statement':
    case 'do_statement':
    case 'for_statement':
      force(condition, ['0'], found, booleans)
      break
    case 'binary_expression':
      changeBinary(node, found, booleans)
      break
    case 'unary_expression':
      changeUnary(node, found, booleans)
      break
    case 'update_expression':
      changeUpdate(node, found)
      break
    case 'assignment_expression':
      changeAssignment(node, found)
      break
    case 'number_literal':
      changeNumber(node, found, booleans)
      break
    case 'expression_statement':
      removeStatement(node, found)
      break
    case 'return_statement':
    case 'break_statement':
    case 'continue_statement':
    case 'goto_statement':
      removeJump(node, found)
      break
    case 'call_expression':
      if (notCalls.test(node.childForFieldName('function')?.text ?? '')) return
      break
    default:
  }
  const value = node.type === 'case_statement' ? node.childForFieldName('value') : null
  for (const child of node.namedChildren) if (child.id !== value?.id) visit(child, found, booleans)
}

function withoutParentheses(node: Node): Node {
  let inner = node
  while (inner.type === 'parenthesized_expression' && inner.namedChild(0) !== null) inner = inner.namedChild(0)!
  return inner
}

/** Makes a condition, or an operand of one, true or false. */
function force(node: Node | null, values: readonly string[], found: Found[], booleans: Set<number>): void {
  if (node === null) return
  const inner = withoutParentheses(node)
  if (inner.type === 'number_literal' || inner.type === 'true' || inner.type === 'false') return
  const operator = operatorOf(inner)
  booleans.add(inner.id)
  // Whoever finds out that an operand is not checked finds out that the whole is not.
  const more = values.filter((value) => !(operator === '&&' && value === '1') && !(operator === '||' && value === '0'))
  for (const value of more) add(found, inner, 'condition forced', value)
  if (operator === '!') markAsBoolean(inner, booleans)
}

function markAsBoolean(negation: Node, booleans: Set<number>): void {
  const argument = negation.childForFieldName('argument')
  if (argument !== null) booleans.add(withoutParentheses(argument).id)
}

function operatorOf(node: Node): string | undefined {
  return node.childForFieldName('operator')?.type
}

function changeBinary(node: Node, found: Found[], booleans: Set<number>): void {
  const operator = operatorOf(node)
  const left = node.childForFieldName('left')
  const right = node.childForFieldName('right')
  if (operator === undefined || left === null || right === null) return
  const replace = (kind: Operator, other: string | undefined): void => {
    if (other !== undefined) add(found, node, kind, oneLine(`${left.text} ${other} ${right.text}`))
  }
  if (operator === '&&' || operator === '||') {
    for (const operand of [left, right]) force(operand, [operator === '&&' ? '1' : '0'], found, booleans)
    return
  }
  replace('relation changed', boundaries[operator])
  if (!booleans.has(node.id)) replace('relation changed', opposites[operator])
  replace('arithmetic changed', arithmetic[operator])
}

function changeUnary(node: Node, found: Found[], booleans: Set<number>): void {
  const argument = node.childForFieldName('argument')
  const operator = operatorOf(node)
  if (argument === null) return
  if (operator === '!') {
    markAsBoolean(node, booleans)
    if (!booleans.has(node.id)) add(found, node, 'negation removed', oneLine(`!!${argument.text}`))
  } else if (operator === '~' || (operator === '-' && argument.type !== 'number_literal')) {
    add(found, node, 'negation removed', oneLine(argument.text))
  }
}

/** Whether an expression is the last part of `for (;;)`, or a statement: other mutants are like those of its operator. */
function isStep({ id, parent }: Node): boolean {
  return parent?.type === 'expression_statement' || parent?.childForFieldName('update')?.id === id
}

function changeUpdate(node: Node, found: Found[]): void {
  if (isStep(node)) return
  const { text } = node
  add(
    found,
    node,
    'arithmetic changed',
    oneLine(text.includes('++') ? text.replace('++', '--') : text.replace('--', '++')),
  )
}

function changeAssignment(node: Node, found: Found[]): void {
  const to = assignments[operatorOf(node) ?? '']
  const left = node.childForFieldName('left')
  const right = node.childForFieldName('right')
  if (to === undefined || left === null || right === null || node.parent?.childForFieldName('update')?.id === node.id)
    return
  add(found, node, 'arithmetic changed', oneLine(`${left.text} ${to} ${right.text}`))
}

function changeNumber(node: Node, found: Found[], booleans: Set<number>): void {
  const { text, parent } = node
  if (!/^(?:0x[0-9a-f]+|\d+)[ul]*$/i.test(text) || parent === null) return
  // `{0}` is any memory of zeros. Comparisons with a constant have mutants already.
  if (parent.type === 'initializer_list' && parent.namedChildCount === 1) return
  const operator = parent.type === 'binary_expression' ? operatorOf(parent) : undefined
  if (operator !== undefined && operator in boundaries) return
  const isZero = Number.parseInt(text, text.startsWith('0x') ? 16 : 10) === 0
  if (isZero && (operator === '==' || operator === '!=') && booleans.has(parent.id)) return
  if (isZero) add(found, node, 'constant changed', '1')
  else if (/^1[ul]*$/i.test(text)) add(found, node, 'constant changed', text.replace('1', '0'))
  else for (const sign of ['+', '-']) add(found, node, 'constant changed', `(${text} ${sign} 1)`)
}

function removeStatement(node: Node, found: Found[]): void {
  const expression = node.namedChild(0)
  if (expression === null || expression.hasError) return
  // `(void)name;` does nothing.
  if (expression.type === 'cast_expression' && expression.childForFieldName('value')?.type === 'identifier') return
  if (expression.type === 'call_expression' && notCalls.test(expression.childForFieldName('function')?.text ?? ''))
    return
  add(found, node, 'statement removed', '')
}

function removeJump(node: Node, found: Found[]): void {
  const { parent } = node
  if (parent === null) return
  const isLast = parent.lastNamedChild?.id === node.id
  // Without the last return of a function, its result is undefined. Alone in a block, the condition before it has mutants.
  if (parent.type === 'compound_statement' && isLast && parent.parent?.type === 'function_definition') return
  const alone =
    parent.type === 'compound_statement' && parent.namedChildren.filter(({ isExtra }) => !isExtra).length === 1
  if (alone || !/^(?:compound|case)_statement$/.test(parent.type)) return
  add(found, node, 'jump removed', '')
}
