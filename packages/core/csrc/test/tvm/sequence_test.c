/* The functions over ranges of lists, and the search for a device in containers. */
#include "support.h"

static TVMFFIAny list_of(int64_t count) {
  TVMFFIAny items[16], list;
  for (int64_t i = 0; i < count; i++) items[i] = int_value(i);
  REQUIRE(call_global("ffi.List", items, (int32_t)count, &list) == 0);
  return list;
}

/* Whether a list has these numbers, one digit for each. */
static int has_digits(TVMFFIAny list, const char *digits) {
  TVMFFIAny value;
  REQUIRE(call_global("ffi.ListSize", &list, 1, &value) == 0);
  if (value.v_int64 != (int64_t)strlen(digits)) return 0;
  for (int64_t i = 0; digits[i] != '\0'; i++) {
    TVMFFIAny args[] = {list, int_value(i)};
    REQUIRE(call_global("ffi.ListGetItem", args, 2, &value) == 0);
    if (value.v_int64 != digits[i] - '0') return 0;
  }
  return 1;
}

static int erase(TVMFFIAny list, int64_t start, int64_t stop) {
  TVMFFIAny args[] = {list, int_value(start), int_value(stop)}, result;
  return call_global("ffi.ListEraseRange", args, 3, &result);
}

static int replace(TVMFFIAny list, int64_t start, int64_t stop, TVMFFIAny by) {
  TVMFFIAny args[] = {list, int_value(start), int_value(stop), by}, result;
  return call_global("ffi.ListReplaceSlice", args, 4, &result);
}

TEST(tvm_ranges_of_lists_are_erased_replaced_and_reversed) {
  const int64_t before = tn_tvm_live_objects();
  TVMFFIAny list = list_of(6), other = list_of(3), result;
  CHECK(erase(list, 1, 3) == 0 && has_digits(list, "0345"));
  CHECK(erase(list, 4, 4) == 0 && has_digits(list, "0345"));
  CHECK(replace(list, 1, 2, other) == 0 && has_digits(list, "001245"));
  CHECK(replace(list, 6, 6, other) == 0 && has_digits(list, "001245012"));
  CHECK(replace(list, 0, 8, other) == 0 && has_digits(list, "0122"));
  CHECK(replace(list, 1, 3, list) == 0 && has_digits(list, "001222"));
  CHECK(call_global("ffi.ListReverse", &list, 1, &result) == 0 && has_digits(list, "222100"));
  CHECK(replace(list, 0, 6, list) == 0 && has_digits(list, "222100"));
  CHECK(erase(list, 0, 6) == 0 && has_digits(list, ""));
  CHECK(call_global("ffi.ListReverse", &list, 1, &result) == 0 && has_digits(list, ""));
  CHECK(replace(list, 0, 0, other) == 0 && has_digits(list, "012"));
  TVMFFIObjectDecRef(list.v_obj);
  TVMFFIObjectDecRef(other.v_obj);
  CHECK(tn_tvm_live_objects() == before);
}

TEST(tvm_ranges_outside_of_lists_are_refused) {
  TVMFFIAny list = list_of(3);
  const int64_t ranges[][2] = {{-1, 1}, {2, 1}, {0, 4}, {4, 4}, {INT64_MIN, INT64_MAX}, {3, INT64_MAX}};
  for (int i = 0; i < 6; i++) {
    CHECK(erase(list, ranges[i][0], ranges[i][1]) != 0);
    CHECK(raised_is("IndexError", "Erase range ["));
    CHECK(replace(list, ranges[i][0], ranges[i][1], list) != 0);
    CHECK(raised_is("IndexError", "Erase range ["));
  }
  CHECK(replace(list, 0, 1, int_value(1)) != 0);
  CHECK(raised_is("TypeError", "Mismatched type on argument #3"));
  CHECK(has_digits(list, "012"));
  TVMFFIObjectDecRef(list.v_obj);
}

static void delete_nothing(DLManagedTensor *self) { (void)self; }

static TVMFFIAny tensor_on(DLDevice device) {
  static int64_t shape[] = {1};
  static DLManagedTensor managed;
  TVMFFIObjectHandle tensor = NULL;
  managed = (DLManagedTensor){
      .dl_tensor = {.device = device, .ndim = 1, .dtype = {kDLInt, 8, 1}, .shape = shape}, .deleter = delete_nothing};
  REQUIRE(TVMFFITensorFromDLPack(&managed, 0, 0, &tensor) == 0);
  return (TVMFFIAny){.type_index = kTVMFFITensor, .v_obj = tensor};
}

static DLDevice device_in(TVMFFIAny value) {
  TVMFFIAny result;
  REQUIRE(call_global("ffi.ContainerFindFirstNonCPUDevice", &value, 1, &result) == 0);
  REQUIRE(result.type_index == kTVMFFIDevice);
  return result.v_device;
}

TEST(tvm_the_first_device_that_is_not_the_cpu_is_found_in_containers) {
  TVMFFIAny list = list_of(2), array, dict, tensor = tensor_on((DLDevice){kDLCUDA, 3});
  CHECK(device_in(list).device_type == kDLCPU);
  CHECK(device_in(int_value(1)).device_type == kDLCPU);
  CHECK(device_in(tensor).device_type == kDLCUDA);
  TVMFFIAny items[] = {list, tensor}, pair[] = {int_value(1), int_value(2)};
  CHECK(call_global("ffi.Array", items, 2, &array) == 0);
  pair[1] = array;
  CHECK(call_global("ffi.Dict", pair, 2, &dict) == 0);
  CHECK(device_in(dict).device_type == kDLCUDA && device_in(dict).device_id == 3);
  TVMFFIAny itself[] = {list, list}, result;
  CHECK(call_global("ffi.ListAppend", itself, 2, &result) == 0);
  CHECK(call_global("ffi.ContainerFindFirstNonCPUDevice", &list, 1, &result) != 0);
  CHECK(raised_is("RecursionError", "containers are nested more than 1000 deep"));
  CHECK(call_global("ffi.ListClear", &list, 1, &result) == 0);
  TVMFFIObjectDecRef(dict.v_obj);
  TVMFFIObjectDecRef(array.v_obj);
  TVMFFIObjectDecRef(list.v_obj);
  TVMFFIObjectDecRef(tensor.v_obj);
}
