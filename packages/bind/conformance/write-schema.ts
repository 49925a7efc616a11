import { writeFileSync } from 'node:fs'
import { annotationSchema } from '../src/annotations/schema.ts'

writeFileSync(new URL('../bind.schema.json', import.meta.url), `${JSON.stringify(annotationSchema, undefined, 2)}\n`)
