/** Python in this process. Its library is loaded before the program, so that the modules of Python find its symbols. */
import type { Tensor } from 'tenon'
import { fromDLPack, type NativeTensor, OpaquePointer, toDLPack, type ToDLPackOptions } from 'tenon/packed-func'
import { NativeScope } from 'tenon/scope'
import { Linker, SymbolLookup } from 'tenon/scope/linker'

const symbols = SymbolLookup.ofProcess()
const run = Linker.downcall(symbols.get('PyRun_SimpleString'), { result: 'int32', parameters: ['text'] })
Linker.downcall(symbols.get('Py_InitializeEx'), { parameters: ['int32'] })(0)

/** Memory into which Python writes texts. */
const SIZE = 65_536
const memory = NativeScope.ofConfined().allocate(SIZE)

/** Runs a program in the module `__main__`. @throws {Error} if it fails; Python prints why */
export function python(code: string): void {
  if (run(code) !== 0) throw new Error(`Python failed in ${code}`)
}

/** Returns the value of an expression, as JSON has it. @throws as {@link python} */
export function evaluate(expression: string): unknown {
  python(`text_ = json.dumps(${expression}).encode() + b'\\0'
assert len(text_) <= ${SIZE}
ctypes.memmove(${memory.address}, text_, len(text_))`)
  const bytes = new Uint8Array(memory.view().buffer, memory.view().byteOffset, SIZE)
  return JSON.parse(Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString())
}

/** Takes over the managed tensor that an object offers. @param versioned false for the older struct */
export function takeOver(expression: string, versioned = true): Tensor | NativeTensor {
  const options = versioned ? 'max_version=(1, 0)' : ''
  const address = evaluate(`address_of_capsule((${expression}).__dlpack__(${options}))`) as number
  return fromDLPack(new OpaquePointer(BigInt(address)), { versioned })
}

/** Text of an object of Python that offers a tensor of Tenon, once. */
export const offer = (x: Tensor, options?: ToDLPackOptions): string => `Offer(${toDLPack(x, options).address})`

python(`
import ctypes, gc, json
NAME, OLDER = b'dltensor_versioned', b'dltensor'
USED = { NAME: b'used_dltensor_versioned', OLDER: b'used_dltensor' }
def function(name, result, *parameters):
    found = getattr(ctypes.pythonapi, name)
    found.restype, found.argtypes = result, parameters
    return found
new_capsule = function('PyCapsule_New', ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
pointer_of = function('PyCapsule_GetPointer', ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
is_capsule = function('PyCapsule_IsValid', ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
set_name = function('PyCapsule_SetName', ctypes.c_int, ctypes.py_object, ctypes.c_char_p)

def address_of_capsule(capsule):
    name = NAME if is_capsule(capsule, NAME) else OLDER
    address = pointer_of(capsule, name)
    set_name(capsule, USED[name])
    return address

class Offer:
    def __init__(self, address):
        self.address = address
    def __dlpack__(self, **options):
        return new_capsule(self.address, NAME, None)
    def __dlpack_device__(self):
        return (1, 0)
`)
