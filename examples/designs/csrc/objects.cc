/* The objects of the document of TVM's runtime. The type of an object is registered with its fields when the first one is made. */
#include <tenon/packed_func.h>

#include <cstring>

using namespace tenon;

namespace {

// example: attrVisitor
// Each member that is visited becomes a field of the type of the object.
class AttrVisitor {
 public:
  explicit AttrVisitor(TVMFFIObject *node) : node_(node) {}
  template <typename T>
  void Visit(const char *key, T *value) {
    TVMFFIFieldInfo field{};
    field.name = {key, strlen(key)};
    field.size = sizeof(T);
    field.alignment = alignof(T);
    field.offset = reinterpret_cast<char *>(value) - reinterpret_cast<char *>(node_);
    field.getter = [](void *at, TVMFFIAny *result) {
      *result = make_value(*static_cast<T *>(at)).release();
      return 0;
    };
    check(TVMFFITypeRegisterField(node_->type_index, &field));
  }

 private:
  TVMFFIObject *node_;
};

class Node : public TVMFFIObject {
 public:
  void VisitAttrs(AttrVisitor *) {}
};
// end

template <typename T>
int32_t register_type(T *node) {
  const TVMFFIByteArray key = {T::type_key, strlen(T::type_key)};
  node->type_index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 1, kTVMFFIObject);
  AttrVisitor visitor(node);
  node->VisitAttrs(&visitor);
  return node->type_index;
}

// Makes a value of a new object, which is deleted with its last reference.
template <typename T>
Value own(T *node) {
  static const int32_t index = register_type(node);
  node->combined_ref_count = 1 | uint64_t{1} << 32;
  node->type_index = index;
  node->deleter = [](void *self, int flags) {
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) static_cast<T *>(self)->~T();
    if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) operator delete(self);
  };
  TVMFFIAny any = any_of(index);
  any.v_obj = node;
  return Value(any);
}

class OperationNode : public Node {
 public:
  static constexpr const char *type_key = "design.Operation";
  std::string name;

  void VisitAttrs(AttrVisitor *v) { v->Visit("name", &name); }
};

// example: tensorNode
class TensorNode : public Node {
 public:
  static constexpr const char *type_key = "design.Tensor";
  Value shape;                         // an Array
  DLDataType dtype{kDLFloat, 32, 1};   // of the elements
  Value op;                            // the source operation, can be None
  int value_index{0};                  // of the outputs of the operation

  void VisitAttrs(AttrVisitor *v) {
    v->Visit("shape", &shape);
    v->Visit("dtype", &dtype);
    v->Visit("op", &op);
    v->Visit("value_index", &value_index);
  }
};
// end

}  // namespace

TN_TYPED_PACKED_FUNC(placeholder, [](Value shape, std::string name) {
  auto *op = new OperationNode();
  op->name = std::move(name);
  auto *x = new TensorNode();
  x->shape = std::move(shape);
  x->op = own(op);
  return own(x);
});
