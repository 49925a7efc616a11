// A Node-API addon as a user would write it by hand with node-addon-api, for the functions of work.c.
#include <dlfcn.h>
#include <napi.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <string>

namespace {

struct Point {
  double x, y;
};

using Step = int32_t (*)(int32_t);

struct Work {
  void (*nothing)();
  int32_t (*add_one)(int32_t);
  int32_t (*sum)(const uint8_t *, int64_t);
  void (*fill)(uint8_t *, int64_t, int32_t);
  int32_t (*keep)(uint8_t *);
  int32_t (*kept)();
  int32_t (*length)(const char *);
  const char *(*text)();
  Point (*scale)(Point, double);
  int32_t (*repeat)(Step, int32_t);
  int32_t (*repeat_on_thread)(Step, int32_t);
  int32_t (*write_null)(int32_t);
  int32_t (*spin)(int32_t);
} work;

// The function that C calls, which has no argument for it.
Napi::FunctionReference *current = nullptr;
Napi::ThreadSafeFunction foreign;

int32_t Int32(const Napi::CallbackInfo &info, size_t index) {
  const double value = info[index].IsNumber() ? info[index].As<Napi::Number>().DoubleValue() : NAN;
  if (!(value >= INT32_MIN && value <= INT32_MAX && value == std::floor(value)))
    throw Napi::TypeError::New(info.Env(), "expected an integer of 32 bits");
  return static_cast<int32_t>(value);
}

Napi::Uint8Array Bytes(const Napi::CallbackInfo &info) {
  if (!info[0].IsTypedArray() || info[0].As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array)
    throw Napi::TypeError::New(info.Env(), "expected a Uint8Array");
  return info[0].As<Napi::Uint8Array>();
}

int64_t Size(const Napi::CallbackInfo &info, const Napi::Uint8Array &bytes) {
  const double size = info[1].IsNumber() ? info[1].As<Napi::Number>().DoubleValue() : NAN;
  if (!(size >= 0 && size <= static_cast<double>(bytes.ByteLength())))
    throw Napi::RangeError::New(info.Env(), "the size must be at most that of the bytes");
  return static_cast<int64_t>(size);
}

void Nothing(const Napi::CallbackInfo &) { work.nothing(); }

Napi::Value AddOne(const Napi::CallbackInfo &info) { return Napi::Number::New(info.Env(), work.add_one(Int32(info, 0))); }

Napi::Value Sum(const Napi::CallbackInfo &info) {
  const Napi::Uint8Array bytes = Bytes(info);
  return Napi::Number::New(info.Env(), work.sum(bytes.Data(), Size(info, bytes)));
}

class SumWorker final : public Napi::AsyncWorker {
 public:
  SumWorker(Napi::Env env, Napi::Uint8Array bytes, int64_t size)
      : AsyncWorker(env), deferred_(Napi::Promise::Deferred::New(env)), held_(Napi::Persistent(bytes.As<Napi::Object>())), data_(bytes.Data()), size_(size) {}
  Napi::Promise Promise() const { return deferred_.Promise(); }

 private:
  void Execute() override { sum_ = work.sum(data_, size_); }
  void OnOK() override { deferred_.Resolve(Napi::Number::New(Env(), sum_)); }

  Napi::Promise::Deferred deferred_;
  Napi::ObjectReference held_;
  const uint8_t *data_;
  int64_t size_;
  int32_t sum_ = 0;
};

Napi::Value SumLater(const Napi::CallbackInfo &info) {
  const Napi::Uint8Array bytes = Bytes(info);
  SumWorker *const worker = new SumWorker(info.Env(), bytes, Size(info, bytes));
  worker->Queue();
  return worker->Promise();
}

void Fill(const Napi::CallbackInfo &info) {
  Napi::Uint8Array bytes = Bytes(info);
  work.fill(bytes.Data(), Size(info, bytes), Int32(info, 2));
}

Napi::Value Keep(const Napi::CallbackInfo &info) { return Napi::Number::New(info.Env(), work.keep(Bytes(info).Data())); }

Napi::Value Kept(const Napi::CallbackInfo &info) { return Napi::Number::New(info.Env(), work.kept()); }

Napi::Value Length(const Napi::CallbackInfo &info) {
  if (!info[0].IsString()) throw Napi::TypeError::New(info.Env(), "expected a string");
  return Napi::Number::New(info.Env(), work.length(info[0].As<Napi::String>().Utf8Value().c_str()));
}

Napi::Value Text(const Napi::CallbackInfo &info) { return Napi::String::New(info.Env(), work.text()); }

Napi::Value Scale(const Napi::CallbackInfo &info) {
  if (!info[0].IsObject() || !info[1].IsNumber()) throw Napi::TypeError::New(info.Env(), "expected a point and a number");
  const Napi::Object at = info[0].As<Napi::Object>();
  const Point scaled = work.scale({at.Get("x").ToNumber().DoubleValue(), at.Get("y").ToNumber().DoubleValue()},
                                  info[1].As<Napi::Number>().DoubleValue());
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("x", scaled.x);
  result.Set("y", scaled.y);
  return result;
}

Napi::Function Function(const Napi::CallbackInfo &info) {
  if (!info[0].IsFunction()) throw Napi::TypeError::New(info.Env(), "expected a function");
  return info[0].As<Napi::Function>();
}

Napi::Value Repeat(const Napi::CallbackInfo &info) {
  Napi::FunctionReference function = Napi::Persistent(Function(info));
  current = &function;
  const int32_t result = work.repeat(
      [](int32_t value) {
        const Napi::Env env = current->Env();
        const Napi::HandleScope scope(env);
        return current->Call({Napi::Number::New(env, value)}).ToNumber().Int32Value();
      },
      Int32(info, 1));
  current = nullptr;
  return Napi::Number::New(info.Env(), result);
}

struct ForeignCall {
  int32_t value;
  std::promise<void> done;
};

Napi::Value RepeatOnThread(const Napi::CallbackInfo &info) {
  // The thread makes its last call before the function is replaced, because the lines wait for it.
  if (static_cast<napi_threadsafe_function>(foreign) != nullptr) foreign.Release();
  foreign = Napi::ThreadSafeFunction::New(info.Env(), Function(info), "prove", 0, 1);
  foreign.Unref(info.Env());
  return Napi::Number::New(info.Env(), work.repeat_on_thread(
      [](int32_t value) {
        ForeignCall call{value, {}};
        const auto run = [](Napi::Env env, Napi::Function function, ForeignCall *made) {
          made->value = function.Call({Napi::Number::New(env, made->value)}).ToNumber().Int32Value();
          made->done.set_value();
        };
        if (foreign.BlockingCall(&call, run) == napi_ok) call.done.get_future().wait();
        return call.value;
      },
      Int32(info, 1)));
}

Napi::Value Allocate(const Napi::CallbackInfo &info) {
  const double size = info[0].IsNumber() ? info[0].As<Napi::Number>().DoubleValue() : -1;
  if (!(size >= 0 && size < 9007199254740992.0)) throw Napi::RangeError::New(info.Env(), "expected a size");
  void *const memory = std::calloc(1, static_cast<size_t>(size));
  if (memory == nullptr) throw Napi::Error::New(info.Env(), "out of memory");
  return Napi::ArrayBuffer::New(info.Env(), memory, static_cast<size_t>(size));
}

// Detaches the buffer before its memory is freed, so that JavaScript cannot read it any more.
void Release(const Napi::CallbackInfo &info) {
  Napi::ArrayBuffer buffer = info[0].As<Napi::ArrayBuffer>();
  void *const memory = buffer.Data();
  buffer.Detach();
  std::free(memory);
}

Napi::Value WriteNull(const Napi::CallbackInfo &info) { return Napi::Number::New(info.Env(), work.write_null(Int32(info, 0))); }

Napi::Value Spin(const Napi::CallbackInfo &info) { return Napi::Number::New(info.Env(), work.spin(Int32(info, 0))); }

template <typename Type>
void Find(Napi::Env env, void *library, Type &function, const char *name) {
  function = reinterpret_cast<Type>(dlsym(library, name));
  if (function == nullptr) throw Napi::Error::New(env, std::string(name) + " is not in the library");
}

Napi::Value Open(const Napi::CallbackInfo &info) {
  const Napi::Env env = info.Env();
  void *const library = dlopen(info[0].As<Napi::String>().Utf8Value().c_str(), RTLD_NOW);
  if (library == nullptr) throw Napi::Error::New(env, dlerror());
  Find(env, library, work.nothing, "prove_nothing");
  Find(env, library, work.add_one, "prove_add_one");
  Find(env, library, work.sum, "prove_sum");
  Find(env, library, work.fill, "prove_fill");
  Find(env, library, work.keep, "prove_keep");
  Find(env, library, work.kept, "prove_kept");
  Find(env, library, work.length, "prove_length");
  Find(env, library, work.text, "prove_text");
  Find(env, library, work.scale, "prove_scale");
  Find(env, library, work.repeat, "prove_repeat");
  Find(env, library, work.repeat_on_thread, "prove_repeat_on_thread");
  Find(env, library, work.write_null, "prove_write_null");
  Find(env, library, work.spin, "prove_spin");
  Napi::Object functions = Napi::Object::New(env);
  functions.Set("nothing", Napi::Function::New<Nothing>(env));
  functions.Set("addOne", Napi::Function::New<AddOne>(env));
  functions.Set("sum", Napi::Function::New<Sum>(env));
  functions.Set("sumLater", Napi::Function::New<SumLater>(env));
  functions.Set("fill", Napi::Function::New<Fill>(env));
  functions.Set("keep", Napi::Function::New<Keep>(env));
  functions.Set("kept", Napi::Function::New<Kept>(env));
  functions.Set("length", Napi::Function::New<Length>(env));
  functions.Set("text", Napi::Function::New<Text>(env));
  functions.Set("scale", Napi::Function::New<Scale>(env));
  functions.Set("repeat", Napi::Function::New<Repeat>(env));
  functions.Set("repeatOnThread", Napi::Function::New<RepeatOnThread>(env));
  functions.Set("allocate", Napi::Function::New<Allocate>(env));
  functions.Set("release", Napi::Function::New<Release>(env));
  functions.Set("writeNull", Napi::Function::New<WriteNull>(env));
  functions.Set("spin", Napi::Function::New<Spin>(env));
  return functions;
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("open", Napi::Function::New<Open>(env));
  return exports;
}

NODE_API_MODULE(prove_addon, Init)

}  // namespace
