// Python arguments by schema.
#pragma once
#include <memory>

#include "python/common.h"

namespace rushlight::python {

enum class ArgType : uint8_t {
  Tensor,
  NumberOrTensor,
  TensorList,
  Int,
  Float,
  Bool,
  Number,
  IntList,
  DType,
  Device,
  Str,
  MemoryFormat,
  Generator
};

struct Param {
  ArgType type;
  bool optional = false;  // None is allowed
  bool varargs = false;   // int[]*: the integers may stand alone
  bool keyword_only = false;
  bool list_optional = false;    // Tensor?[]
  int size = 0;                  // int[N]: one integer means N equal ones
  PyObject* name = nullptr;      // interned
  PyObject* fallback = nullptr;  // the default; null where the argument is required
  std::string type_name;
};

struct Signature {
  explicit Signature(const OpInfo& op);
  const OpInfo& op;
  std::string name;
  std::vector<Param> params;
  int positional = 0;        // how many may be given by position
  std::string text() const;  // add(Tensor self, Number|Tensor other, *, Scalar alpha=1)
};

constexpr int kMaxParams = 16;

// Arguments of one call, converted; owns what the slots point to.
struct Arguments {
  Slot slots[kMaxParams];
  Tensor tensors[kMaxParams];
  std::vector<Tensor> lists[3];
  int n_lists = 0;
  int64_t ints[48];
  int n_ints = 0;
  std::vector<std::unique_ptr<int64_t[]>> long_ints;
  PyObject* out = nullptr;  // borrowed
  bool overridden = false;  // an argument wants __torch_function__

  // False: does not fit; `why` then says how, if given.
  bool parse(const Signature& s, PyObject* const* args, size_t n, PyObject* kwnames, bool takes_out, std::string* why);

 private:
  bool convert(const Signature& s, const Param& p, PyObject* value, Slot& slot, Tensor& holder, std::string* why);
  bool convert_ints(const Param& p, PyObject* const* items, size_t n, Slot& slot);
};

}  // namespace rushlight::python
