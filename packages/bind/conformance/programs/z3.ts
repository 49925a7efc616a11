/** Solves two equations with Z3, whose errors call a function of TypeScript. */
import assert from 'node:assert/strict'
import { MemorySegment } from 'tenon/scope'
import * as z3 from './z3/index.js'

const config = z3.Z3_mk_config()
z3.Z3_set_param_value(config, 'model', 'true')
const context = z3.Z3_mk_context(config)
z3.Z3_del_config(config)

const integers = z3.Z3_mk_int_sort(context)
const named = (name: string): ReturnType<typeof z3.Z3_mk_const> =>
  z3.Z3_mk_const(context, z3.Z3_mk_string_symbol(context, name), integers)
const number = (value: number): ReturnType<typeof z3.Z3_mk_int> => z3.Z3_mk_int(context, value, integers)
const [x, y] = [named('x'), named('y')]
const pair = MemorySegment.ofBuffer(BigUint64Array.of(x.address, y.address)) as Parameters<typeof z3.Z3_mk_add>[2]

const solver = z3.Z3_mk_solver(context)
z3.Z3_solver_inc_ref(context, solver)
z3.Z3_solver_assert(context, solver, z3.Z3_mk_eq(context, z3.Z3_mk_add(context, 2, pair), number(10)))
z3.Z3_solver_assert(context, solver, z3.Z3_mk_eq(context, z3.Z3_mk_sub(context, 2, pair), number(4)))
assert.equal(z3.Z3_solver_check(context, solver), z3.Z3_L_TRUE)

const model = z3.Z3_solver_get_model(context, solver)
const values = new Map<string | null, string | null>()
for (let i = 0; i < z3.Z3_model_get_num_consts(context, model); i++) {
  const declaration = z3.Z3_model_get_const_decl(context, model, i)
  const value = z3.Z3_model_get_const_interp(context, model, declaration)
  const name = z3.Z3_get_symbol_string(context, z3.Z3_get_decl_name(context, declaration))
  values.set(name, z3.Z3_get_numeral_string(context, value))
}
assert.deepEqual(Object.fromEntries(values), { x: '7', y: '3' })

const errors: number[] = []
z3.Z3_set_error_handler(context, (_, code) => void errors.push(code))
z3.Z3_get_numeral_string(context, x)
assert.deepEqual(errors, [z3.Z3_INVALID_ARG])
assert.equal(z3.Z3_get_error_msg(context, z3.Z3_INVALID_ARG), 'invalid argument')

z3.Z3_solver_assert(context, solver, z3.Z3_mk_eq(context, x, number(8)))
assert.equal(z3.Z3_solver_check(context, solver), z3.Z3_L_FALSE)
z3.Z3_solver_dec_ref(context, solver)
z3.Z3_del_context(context)
