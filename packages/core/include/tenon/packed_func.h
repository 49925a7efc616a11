/* Packed functions in C++17 without TVM: lambdas, function pointers and function objects become functions of tvm-ffi (tenon/tvm_ffi.h), which
 * `library.packed(name)` and every program that has tvm-ffi call.
 *
 *   #include <tenon/packed_func.h>
 *   // Types are checked and converted. A mismatch is the TypeError that tvm-ffi itself raises.
 *   TN_TYPED_PACKED_FUNC(repeat, [](std::string text, int count) {
 *     std::string all;
 *     while (count-- > 0) all += text;
 *     return all;
 *   });
 *   // All values, with their types.
 *   TN_PACKED_FUNC(count, [](tenon::TVMArgs args, tenon::TVMRetValue *rv) { *rv = args.size(); });
 *
 *   g++ -std=c++17 -O2 -shared -fPIC -I "$(npx tenon include)" -o librepeat.so repeat.cc
 *
 * Parameters and results have the types bool, integers, float and double, std::string, void *, DLTensor *, DLDevice, DLDataType, PackedFunc,
 * Value, and std::optional of them; results may be void. An argument is borrowed for the call, and a Value or PackedFunc keeps what it holds.
 * To fail, throw tenon::Error(kind, message); another std::exception is an InternalError. */
#ifndef TENON_PACKED_FUNC_H
#define TENON_PACKED_FUNC_H

#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tvm_ffi.h"

/* The members are hidden, so that libraries with other versions of this header do not share them. */
namespace tenon __attribute__((visibility("hidden"))) {

/* A value that owns what it holds. */
class Value {
 public:
  Value() = default;
  /* Takes over a value. */
  explicit Value(const TVMFFIAny &owned) : any_(owned) {}
  Value(const Value &other) : any_(other.any_) { retain(); }
  Value(Value &&other) noexcept : any_(std::exchange(other.any_, TVMFFIAny{})) {}
  Value &operator=(Value other) noexcept {
    std::swap(any_, other.any_);
    return *this;
  }
  ~Value() {
    if (any_.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(any_.v_obj);
  }
  const TVMFFIAny &any() const { return any_; }
  TVMFFIAny release() { return std::exchange(any_, TVMFFIAny{}); }
  template <typename T>
  T as() const;

 private:
  void retain() {
    if (any_.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectIncRef(any_.v_obj);
  }
  TVMFFIAny any_{};
};

/* An error of a kind, such as TypeError. One that a call has raised stays the same object when it is thrown on. */
class Error : public std::exception {
 public:
  Error(std::string kind, std::string message) : kind_(std::move(kind)), message_(std::move(message)) {}
  /* The error that a function of tvm-ffi has raised. */
  static Error raised() {
    TVMFFIAny any{};
    any.type_index = kTVMFFIError;
    TVMFFIObjectHandle handle = nullptr;
    TVMFFIErrorMoveFromRaised(&handle);
    if (handle == nullptr) return Error("InternalError", "a call failed without an error");
    any.v_obj = static_cast<TVMFFIObject *>(handle);
    const TVMFFIErrorCell &cell = *TVMFFIErrorGetCellPtr(handle);
    Error error({cell.kind.data, cell.kind.size}, {cell.message.data, cell.message.size});
    error.object_ = Value(any);
    return error;
  }
  const char *what() const noexcept override { return message_.c_str(); }
  const std::string &kind() const { return kind_; }
  void raise() const {
    if (object_.any().type_index == kTVMFFIError)
      TVMFFIErrorSetRaised(object_.any().v_obj);
    else
      TVMFFIErrorSetRaisedFromCStr(kind_.c_str(), message_.c_str());
  }

 private:
  std::string kind_, message_;
  Value object_;
};

inline void check(int status) {
  if (status != 0) throw Error::raised();
}

inline TVMFFIAny any_of(int32_t type_index) {
  TVMFFIAny any{};
  any.type_index = type_index;
  return any;
}

/* The name of a type in messages. */
inline std::string type_name(const TVMFFIAny &any) {
  static const char *const views[] = {"None",     "int",    "bool",      "float",       "void*",
                                      "DataType", "Device", "DLTensor*", "const char*", "TVMFFIByteArray*",
                                      "ObjectRValueRef"};
  if (any.type_index >= 0 && any.type_index <= kTVMFFIObjectRValueRef) return views[any.type_index];
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(any.type_index);
  return info == nullptr ? "an unknown type" : std::string(info->type_key.data, info->type_key.size);
}

/* How values of a type are read (nullopt for a value of another type) and made. */
template <typename T, typename = void>
struct Conversion;

/* The values that are a member of TVMFFIAny. */
template <typename T, int32_t INDEX, T TVMFFIAny::*MEMBER>
struct MemberConversion {
  static std::optional<T> read(const TVMFFIAny &any) {
    return any.type_index == INDEX ? std::optional<T>(any.*MEMBER) : std::nullopt;
  }
  static Value make(T value) {
    TVMFFIAny any = any_of(INDEX);
    any.*MEMBER = value;
    return Value(any);
  }
};

template <>
struct Conversion<DLDevice> : MemberConversion<DLDevice, kTVMFFIDevice, &TVMFFIAny::v_device> {
  static std::string name() { return "Device"; }
};

template <>
struct Conversion<DLDataType> : MemberConversion<DLDataType, kTVMFFIDataType, &TVMFFIAny::v_dtype> {
  static std::string name() { return "DataType"; }
};

template <>
struct Conversion<void *> : MemberConversion<void *, kTVMFFIOpaquePtr, &TVMFFIAny::v_ptr> {
  static std::string name() { return "void*"; }
  static std::optional<void *> read(const TVMFFIAny &any) {
    return any.type_index == kTVMFFINone ? std::optional<void *>(nullptr) : MemberConversion::read(any);
  }
};

template <>
struct Conversion<bool> {
  static std::string name() { return "bool"; }
  static std::optional<bool> read(const TVMFFIAny &any) {
    if (any.type_index != kTVMFFIBool && any.type_index != kTVMFFIInt) return std::nullopt;
    return any.v_int64 != 0;
  }
  static Value make(bool value) { return MemberConversion<int64_t, kTVMFFIBool, &TVMFFIAny::v_int64>::make(value); }
};

template <typename T>
struct Conversion<T, std::enable_if_t<std::is_integral_v<T>>> {
  static std::string name() { return "int"; }
  static std::optional<T> read(const TVMFFIAny &any) {
    if (any.type_index != kTVMFFIInt && any.type_index != kTVMFFIBool) return std::nullopt;
    const T value = static_cast<T>(any.v_int64);
    // 64 bits without a sign have all bit patterns.
    if (sizeof(T) < 8 && static_cast<int64_t>(value) != any.v_int64)
      throw Error("ValueError", std::to_string(any.v_int64) + " is not from " +
                                    std::to_string(std::numeric_limits<T>::min()) + " to " +
                                    std::to_string(std::numeric_limits<T>::max()));
    return value;
  }
  static Value make(T value) {
    return MemberConversion<int64_t, kTVMFFIInt, &TVMFFIAny::v_int64>::make(static_cast<int64_t>(value));
  }
};

template <typename T>
struct Conversion<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static std::string name() { return "float"; }
  static std::optional<T> read(const TVMFFIAny &any) {
    if (any.type_index == kTVMFFIFloat) return static_cast<T>(any.v_float64);
    if (any.type_index != kTVMFFIInt && any.type_index != kTVMFFIBool) return std::nullopt;
    return static_cast<T>(any.v_int64);
  }
  static Value make(T value) {
    return MemberConversion<double, kTVMFFIFloat, &TVMFFIAny::v_float64>::make(static_cast<double>(value));
  }
};

template <>
struct Conversion<std::string> {
  static std::string name() { return "str"; }
  static std::optional<std::string> read(const TVMFFIAny &any) {
    if (any.type_index == kTVMFFIRawStr) return std::string(any.v_c_str);
    if (any.type_index == kTVMFFISmallStr) return std::string(any.v_bytes, any.small_str_len);
    if (any.type_index != kTVMFFIStr) return std::nullopt;
    const TVMFFIByteArray &bytes = *TVMFFIBytesGetByteArrayPtr(any.v_obj);
    return std::string(bytes.data, bytes.size);
  }
  static Value make(const std::string &value) {
    const TVMFFIByteArray bytes = {value.data(), value.size()};
    TVMFFIAny any{};
    check(TVMFFIStringFromByteArray(&bytes, &any));
    return Value(any);
  }
};

/* A tensor as an argument, which is borrowed for the call. */
template <>
struct Conversion<DLTensor *> {
  static std::string name() { return "DLTensor*"; }
  static std::optional<DLTensor *> read(const TVMFFIAny &any) {
    if (any.type_index == kTVMFFITensor) return TVMFFITensorGetDLTensorPtr(any.v_obj);
    if (any.type_index != kTVMFFIDLTensorPtr) return std::nullopt;
    return static_cast<DLTensor *>(any.v_ptr);
  }
  static Value make(DLTensor *value) {
    return MemberConversion<void *, kTVMFFIDLTensorPtr, &TVMFFIAny::v_ptr>::make(value);
  }
};

template <>
struct Conversion<Value> {
  static std::string name() { return "Any"; }
  static std::optional<Value> read(const TVMFFIAny &any) {
    TVMFFIAny owned{};
    check(TVMFFIAnyViewToOwnedAny(&any, &owned));
    return Value(owned);
  }
  static Value make(Value value) { return value; }
};

template <typename T>
struct Conversion<std::optional<T>> {
  static std::string name() { return "Optional<" + Conversion<T>::name() + ">"; }
  static std::optional<std::optional<T>> read(const TVMFFIAny &any) {
    if (any.type_index == kTVMFFINone) return std::optional<std::optional<T>>(std::optional<T>());
    std::optional<T> value = Conversion<T>::read(any);
    if (!value) return std::nullopt;
    return std::optional<std::optional<T>>(std::move(value));
  }
  static Value make(const std::optional<T> &value) { return value ? Conversion<T>::make(*value) : Value(); }
};

template <typename T>
using Plain = std::remove_cv_t<std::remove_reference_t<T>>;

template <typename T>
Value make_value(T &&value) {
  if constexpr (std::is_convertible_v<T, std::string> && !std::is_same_v<Plain<T>, Value>)
    return Conversion<std::string>::make(std::forward<T>(value));
  else if constexpr (std::is_same_v<Plain<T>, std::nullptr_t>)
    return Value();
  else
    return Conversion<Plain<T>>::make(std::forward<T>(value));
}

template <typename T>
T read_value(const TVMFFIAny &any, const std::string &place = "") {
  std::optional<T> value = Conversion<T>::read(any);
  if (!value) throw Error("TypeError", place + "Expected `" + Conversion<T>::name() + "` but got `" + type_name(any) + "`");
  return *std::move(value);
}

template <typename T>
T Value::as() const {
  return read_value<T>(any_);
}

/* An argument, which is borrowed for the call. It converts to the type that it is assigned to. */
class TVMArgValue {
 public:
  explicit TVMArgValue(const TVMFFIAny &any) : any_(&any) {}
  const TVMFFIAny &any() const { return *any_; }
  template <typename T>
  T as() const {
    return read_value<T>(*any_);
  }
  template <typename T>
  operator T() const {
    return as<T>();
  }

 private:
  const TVMFFIAny *any_;
};

/* The arguments of a call. */
class TVMArgs {
 public:
  TVMArgs(const TVMFFIAny *values, int count) : values(values), num_args(count) {}
  int size() const { return num_args; }
  TVMArgValue operator[](int index) const {
    if (index < 0 || index >= num_args)
      throw Error("IndexError", "there is no argument " + std::to_string(index) + " of " + std::to_string(num_args));
    return TVMArgValue(values[index]);
  }
  const TVMFFIAny *values;
  int num_args;
};

/* The result of a function, which is None until it is assigned. */
class TVMRetValue {
 public:
  template <typename T>
  TVMRetValue &operator=(T &&value) {
    static_assert(!std::is_same_v<Plain<T>, DLTensor *>, "a function cannot return a borrowed tensor");
    value_ = make_value(std::forward<T>(value));
    return *this;
  }
  TVMRetValue &operator=(TVMArgValue value) {
    value_ = value.as<Value>();
    return *this;
  }
  Value value_;
};

/* A function, which is kept as long as this object. */
class PackedFunc {
 public:
  PackedFunc() = default;
  /* Makes a function of something that can be called with (TVMArgs, TVMRetValue *). */
  template <typename F, typename = std::enable_if_t<std::is_invocable_v<F &, TVMArgs, TVMRetValue *>>>
  PackedFunc(F function) {
    auto *self = new F(std::move(function));
    TVMFFIAny any = any_of(kTVMFFIFunction);
    TVMFFIObjectHandle handle = nullptr;
    if (TVMFFIFunctionCreate(self, call<F>, [](void *at) { delete static_cast<F *>(at); }, &handle) != 0) {
      delete self;
      throw Error::raised();
    }
    any.v_obj = static_cast<TVMFFIObject *>(handle);
    value_ = Value(any);
  }
  explicit PackedFunc(Value value) : value_(std::move(value)) {}

  /* The function that is registered under a name. @throws Error of kind ValueError if there is none */
  static PackedFunc global(const std::string &name) {
    const TVMFFIByteArray bytes = {name.data(), name.size()};
    TVMFFIAny any = any_of(kTVMFFIFunction);
    TVMFFIObjectHandle handle = nullptr;
    check(TVMFFIFunctionGetGlobal(&bytes, &handle));
    if (handle == nullptr) throw Error("ValueError", "Function " + name + " not found");
    any.v_obj = static_cast<TVMFFIObject *>(handle);
    return PackedFunc(Value(any));
  }
  void register_global(const std::string &name, bool override = false) const {
    const TVMFFIByteArray bytes = {name.data(), name.size()};
    check(TVMFFIFunctionSetGlobal(&bytes, value_.any().v_obj, override));
  }

  explicit operator bool() const { return value_.any().type_index == kTVMFFIFunction; }
  const Value &value() const { return value_; }

  template <typename... T>
  Value operator()(T &&...arguments) const {
    const Value owned[sizeof...(T) + 1] = {make_value(std::forward<T>(arguments))..., Value()};
    TVMFFIAny values[sizeof...(T) + 1];
    for (size_t i = 0; i < sizeof...(T); i++) values[i] = owned[i].any();
    return call_packed(TVMArgs(values, static_cast<int>(sizeof...(T))));
  }
  /* Passes arguments on as they are. */
  Value call_packed(TVMArgs args) const {
    if (!*this) throw Error("ValueError", "the function is null");
    TVMFFIAny result{};
    check(TVMFFIFunctionCall(value_.any().v_obj, const_cast<TVMFFIAny *>(args.values), args.num_args, &result));
    return Value(result);
  }

  /* Calls something for native code: exceptions become errors. */
  template <typename F>
  static int call(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) noexcept {
    try {
      TVMRetValue rv;
      (*static_cast<F *>(self))(TVMArgs(args, count), &rv);
      *result = rv.value_.release();
      return 0;
    } catch (const Error &error) {
      error.raise();
    } catch (const std::exception &error) {
      TVMFFIErrorSetRaisedFromCStr("InternalError", error.what());
    } catch (...) {
      TVMFFIErrorSetRaisedFromCStr("InternalError", "an exception that is not a std::exception");
    }
    return -1;
  }

 private:
  Value value_;
};

template <>
struct Conversion<PackedFunc> {
  static std::string name() { return "ffi.Function"; }
  static std::optional<PackedFunc> read(const TVMFFIAny &any) {
    if (any.type_index == kTVMFFINone) return PackedFunc();
    if (any.type_index != kTVMFFIFunction) return std::nullopt;
    return PackedFunc(*Conversion<Value>::read(any));
  }
  static Value make(const PackedFunc &function) { return function.value(); }
};

/* The type of a call of something, from its operator() or its pointer. */
template <typename F>
struct CallType : CallType<decltype(&F::operator())> {};
template <typename R, typename... P>
struct CallType<R (*)(P...)> {
  using Result = R;
  using Parameters = std::tuple<Plain<P>...>;
};
template <typename R, typename C, typename... P>
struct CallType<R (C::*)(P...) const> : CallType<R (*)(P...)> {};
template <typename R, typename C, typename... P>
struct CallType<R (C::*)(P...)> : CallType<R (*)(P...)> {};

/* A function of C++ with the check of its types. */
template <typename F>
class TypedCall {
 public:
  TypedCall(std::string name, F function) : name_(std::move(name)), function_(std::move(function)) {}
  void operator()(TVMArgs args, TVMRetValue *rv) {
    constexpr size_t count = std::tuple_size_v<Parameters>;
    if (args.size() != static_cast<int>(count))
      throw Error("TypeError", "Mismatched number of arguments when calling: `" + signature() + "`. Expected " +
                                   std::to_string(count) + " but got " + std::to_string(args.size()) + " arguments");
    apply(args, rv, std::make_index_sequence<count>());
  }

 private:
  using Parameters = typename CallType<F>::Parameters;
  using Result = typename CallType<F>::Result;

  template <size_t I>
  auto argument(TVMArgs args) const {
    using T = std::tuple_element_t<I, Parameters>;
    if (std::optional<T> value = Conversion<T>::read(args.values[I])) return *std::move(value);
    const std::string place = "Mismatched type on argument #" + std::to_string(I) + " when calling: `";
    return read_value<T>(args.values[I], place + signature() + "`. ");
  }
  template <size_t... I>
  void apply(TVMArgs args, TVMRetValue *rv, std::index_sequence<I...>) {
    (void)args;
    (void)rv;
    // The braces convert the arguments in order.
    Parameters values{argument<I>(args)...};
    if constexpr (std::is_void_v<Result>)
      std::apply(function_, std::move(values));
    else
      *rv = std::apply(function_, std::move(values));
  }
  template <size_t... I>
  static std::string names(std::index_sequence<I...>) {
    std::string text;
    ((text += (I == 0 ? "" : ", ") + std::to_string(I) + ": " + Conversion<std::tuple_element_t<I, Parameters>>::name()), ...);
    return text;
  }
  std::string signature() const {
    std::string result = "void";
    if constexpr (!std::is_void_v<Result>) result = Conversion<Plain<Result>>::name();
    return name_ + "(" + names(std::make_index_sequence<std::tuple_size_v<Parameters>>()) + ") -> " + result;
  }

  std::string name_;
  F function_;
};

/* Makes a packed function of a typed one, such as a lambda. Its types are checked in each call. */
template <typename F>
PackedFunc typed_packed_func(std::string name, F function) {
  return PackedFunc(TypedCall<F>(std::move(name), std::move(function)));
}

}  // namespace tenon

/* Exports a function that takes (tenon::TVMArgs, tenon::TVMRetValue *) under a name. */
#define TN_PACKED_FUNC(name, ...)                                                                                    \
  static auto tn_packed_func_##name = __VA_ARGS__;                                                                   \
  extern "C" TVM_FFI_EXPORT int __tvm_ffi_##name(void *, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {  \
    return ::tenon::PackedFunc::call<decltype(tn_packed_func_##name)>(&tn_packed_func_##name, args, count, result);  \
  }                                                                                                                  \
  static_assert(true, "")

/* Exports a function of C++ under a name, with the check of its types. */
#define TN_TYPED_PACKED_FUNC(name, ...) TN_PACKED_FUNC(name, ::tenon::TypedCall(#name, __VA_ARGS__))

#endif
