import assert from 'node:assert/strict'
import type { Tensor } from 'tenon'
import { checkDlpack } from './dlpack-pair.ts'
import { evaluate, offer, python, takeOver } from './python.ts'

const names = ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float16', 'bfloat16']
const types = [...names, 'float32', 'float64', 'complex64', 'bool', 'float8_e4m3fn', 'float8_e5m2'] as const

await checkDlpack({
  setup: 'import torch',
  whole: 'torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.float32)',
  scalar: 'torch.tensor(5, dtype=torch.float32)',
  reversed: 'x.flip(1)',
  reverses: true,
  addressOf: (name) => `${name}.data_ptr()`,
  fromDlpack: 'torch.from_dlpack',
  types: Object.fromEntries(types.map((name) => [name, name])) as never,
  zeros: (type) => `torch.zeros(2, dtype=torch.${type})`,
  others: {
    'a tensor of PyTorch goes through Tenon to NumPy in the same memory'() {
      python('import numpy as np\nx = torch.tensor([[1., 2.], [3., 4.]])')
      const x = takeOver('x') as Tensor
      python(`y = np.from_dlpack(${offer(x.transpose())})\ny[0, 1] = 30`)
      assert.deepEqual(evaluate('[x.tolist(), y.ctypes.data == x.data_ptr()]'), [[[1, 2], [30, 4]], true]) // prettier-ignore
    },
  },
})
