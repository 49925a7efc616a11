import type { Line } from '../line.ts'
import { copies } from './copies.ts'
import { crash } from './crash.ts'
import { hostile } from './hostile.ts'
import { leak } from './leak.ts'
import { lifetime } from './lifetime.ts'
import { values } from './values.ts'

/** The lines whose verdict is computed from checks. Lines of one area stand together on the page. */
export const lines: readonly Line[] = [...crash, ...lifetime, ...hostile, ...values, ...copies, ...leak]
