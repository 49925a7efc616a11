import { parseSync, Visitor } from 'oxc-parser'

/** The methods that a class declares, by whether users may call them. */
export interface Methods {
  readonly public: ReadonlySet<string>
  /** Those with `private`, `protected` or `@internal`. */
  readonly hidden: ReadonlySet<string>
}

/** Finds the methods of the classes in a source file, by the name of the class. */
export function methodsByClass(source: string): Map<string, Methods> {
  const { program, comments } = parseSync('source.ts', source, { lang: 'ts', sourceType: 'module' })
  const isInternal = (start: number): boolean => {
    const comment = comments.findLast(({ end }) => end <= start)
    return (
      comment !== undefined && comment.value.includes('@internal') && source.slice(comment.end, start).trim() === ''
    )
  }
  const classes = new Map<string, Methods>()
  new Visitor({
    ClassDeclaration({ id, body }) {
      if (id === null) return
      const methods = { public: new Set<string>(), hidden: new Set<string>() }
      for (const member of body.body) {
        if (member.type !== 'MethodDefinition' && member.type !== 'TSAbstractMethodDefinition') continue
        const { key, kind, accessibility, start } = member
        if (key.type !== 'Identifier' || kind !== 'method') continue
        methods[(accessibility ?? 'public') === 'public' && !isInternal(start) ? 'public' : 'hidden'].add(key.name)
      }
      classes.set(id.name, methods)
    },
  }).visit(program)
  return classes
}
