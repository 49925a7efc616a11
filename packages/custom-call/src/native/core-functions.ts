import { coreFunction, type CFunction } from '@tenon/core/internal'
import { currentFunctions, type CurrentFunctions } from './current-call.ts'

/** The functions of the C core for custom calls. Pointers are numbers. */
export interface CoreFunctions extends CurrentFunctions {
  readonly metadata: CFunction
  readonly askStage: CFunction
  readonly frameSize: CFunction
  readonly frameBuild: CFunction
  readonly share: CFunction
  readonly instantiate: CFunction
  readonly executeBatch: CFunction
  readonly lend: CFunction
  readonly giveMemory: CFunction
  readonly onDevice: CFunction
  readonly typeRegister: CFunction
  readonly provide: CFunction
  readonly offer: CFunction
  readonly failure: CFunction
  readonly close: CFunction
  readonly findHandler: CFunction
  readonly listHandlers: CFunction
  readonly untypedFailure: CFunction
  readonly asyncOpen: CFunction
  readonly asyncSubmit: CFunction
  readonly asyncCancel: CFunction
  readonly asyncTake: CFunction
  readonly asyncClose: CFunction
  readonly asyncExpect: CFunction
  readonly asyncForget: CFunction
  readonly functionOpen: CFunction
  readonly functionClose: CFunction
  readonly functionFail: CFunction
  readonly functionRead: CFunction
}

let declared: CoreFunctions | undefined

/** Declares them at first use. @throws {LoadError} if the core can't be loaded. */
export function coreFunctions(): CoreFunctions {
  declared ??= {
    ...currentFunctions(),
    metadata: coreFunction('tn_xla_metadata', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t']),
    askStage: coreFunction('tn_xla_ask_stage', 'int32_t', ['uintptr_t', 'int32_t', 'uintptr_t']),
    frameSize: coreFunction('tn_xla_frame_size', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t']),
    frameBuild: coreFunction('tn_xla_frame_build', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t']),
    share: coreFunction('tn_xla_share', 'int32_t', ['uintptr_t', 'uintptr_t']),
    executeBatch: coreFunction('tn_xla_execute_batch', 'int32_t', ['uintptr_t']),
    lend: coreFunction('tn_xla_lend', 'int32_t', ['uintptr_t', 'int64_t', 'uintptr_t']),
    giveMemory: coreFunction('tn_xla_give_memory', 'int32_t', ['uintptr_t', 'uintptr_t']),
    onDevice: coreFunction('tn_xla_on_device', 'int32_t', ['uintptr_t', 'uintptr_t']),
    typeRegister: coreFunction('tn_xla_type_register', 'int32_t', [
      'int32_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
    ]),
    provide: coreFunction('tn_xla_provide', 'int32_t', ['uintptr_t', 'int32_t', 'uintptr_t']),
    offer: coreFunction('tn_xla_offer', 'int32_t', ['int32_t']),
    instantiate: coreFunction('tn_xla_instantiate', 'int32_t', ['uintptr_t']),
    failure: coreFunction('tn_xla_failure', 'int32_t', [
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
    ]),
    close: coreFunction('tn_xla_close', 'int32_t', ['uintptr_t']),
    findHandler: coreFunction('tn_xla_find_handler', 'int32_t', [
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
    ]),
    listHandlers: coreFunction('tn_xla_list_handlers', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t']),
    asyncOpen: coreFunction('tn_xla_async_open', 'int32_t', ['uintptr_t', 'uintptr_t']),
    asyncSubmit: coreFunction('tn_xla_async_submit', 'int32_t', [
      'uintptr_t',
      'uintptr_t',
      'int32_t',
      'int64_t',
      'uintptr_t',
    ]),
    asyncCancel: coreFunction('tn_xla_async_cancel', 'int32_t', ['uintptr_t']),
    asyncTake: coreFunction('tn_xla_async_take', 'int32_t', [
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
    ]),
    asyncClose: coreFunction('tn_xla_async_close', 'void', ['uintptr_t']),
    asyncExpect: coreFunction('tn_xla_async_expect', 'int32_t', ['uintptr_t', 'int64_t', 'uintptr_t']),
    asyncForget: coreFunction('tn_xla_async_forget', 'void', ['uintptr_t']),
    functionOpen: coreFunction('tn_xla_function_open', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t']),
    functionClose: coreFunction('tn_xla_function_close', 'int32_t', ['uintptr_t']),
    functionFail: coreFunction('tn_xla_function_fail', 'int32_t', ['uintptr_t', 'int32_t', 'uintptr_t']),
    functionRead: coreFunction('tn_xla_function_read', 'int32_t', ['uintptr_t', 'uintptr_t', 'uintptr_t', 'uintptr_t']),
    untypedFailure: coreFunction('tn_xla_untyped_failure', 'int32_t', [
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
      'uintptr_t',
    ]),
  }
  return declared
}
