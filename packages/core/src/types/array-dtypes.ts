/** The element types of the tensors over each kind of TypedArray. */
export interface ArrayDTypes {
  readonly Int8Array: 'int8'
  readonly Uint8Array: 'uint8'
  readonly Uint8ClampedArray: 'uint8'
  readonly Int16Array: 'int16'
  readonly Uint16Array: 'uint16'
  readonly Int32Array: 'int32'
  readonly Uint32Array: 'uint32'
  readonly BigInt64Array: 'int64'
  readonly BigUint64Array: 'uint64'
  readonly Float16Array: 'float16'
  readonly Float32Array: 'float32'
  readonly Float64Array: 'float64'
}

const dtypes: ArrayDTypes = {
  Int8Array: 'int8',
  Uint8Array: 'uint8',
  Uint8ClampedArray: 'uint8',
  Int16Array: 'int16',
  Uint16Array: 'uint16',
  Int32Array: 'int32',
  Uint32Array: 'uint32',
  BigInt64Array: 'int64',
  BigUint64Array: 'uint64',
  Float16Array: 'float16',
  Float32Array: 'float32',
  Float64Array: 'float64',
}

/** Returns the element type of an array, by the name of its class. Undefined for a DataView. */
export const dtypeOfArray = (name: string): ArrayDTypes[keyof ArrayDTypes] | undefined =>
  Object.hasOwn(dtypes, name) ? dtypes[name as keyof ArrayDTypes] : undefined
