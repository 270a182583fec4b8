// Reads a file of the safetensors format (https://github.com/huggingface/safetensors): eight bytes, little-endian, say
// how long the header is; the header is JSON, and names each tensor's dtype, shape and place in the bytes that follow.
// Nothing in the file is believed: what does not fit raises an Error that says what and where.
#pragma once
#include <rushlight.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace safetensors {

using rushlight::DType;
using rushlight::ErrorKind;
using rushlight::Tensor;

struct File {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// As much of JSON as a header consists of: objects, strings, lists of whole numbers.
class Header {
 public:
  Header(const std::string& path, const std::string& text) : path_(path), text_(text) {}

  [[noreturn]] void fail(const std::string& what) const {
    rushlight::fail(ErrorKind::Runtime, path_, ": ", what, ", at byte ", at_, " of the header");
  }
  bool take(char c) {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) && text_[at_]) at_++;
    if (at_ == text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }
  void want(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "'");
  }
  bool done() {
    take('\0');  // passes over spaces
    return at_ == text_.size();
  }

  // Calls member(name) for each, which must read the value.
  template <class F>
  void object(F&& member) {
    want('{');
    if (take('}')) return;
    do {
      const std::string name = string();
      want(':');
      member(name);
    } while (take(','));
    want('}');
  }

  std::vector<int64_t> numbers() {
    std::vector<int64_t> list;
    want('[');
    if (take(']')) return list;
    do list.push_back(number());
    while (take(','));
    want(']');
    return list;
  }

  std::string string() {
    want('"');
    std::string s;
    while (true) {
      if (at_ == text_.size()) fail("a string without an end");
      const char c = text_[at_++];
      if (c == '"') return s;
      if (uint8_t(c) < 0x20) fail("a control character in a string");
      if (c == '\\') escape(s);
      else s += c;
    }
  }

 private:
  int64_t number() {
    take('\0');
    int64_t value = 0;
    const size_t start = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++)
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value))
        fail("a number too large");
    if (at_ == start) fail("expected a whole number");
    return value;
  }

  uint32_t hex4() {
    uint32_t code = 0;
    for (int i = 0; i < 4; i++, at_++) {
      const char c = at_ < text_.size() ? text_[at_] : 0;
      if (!std::isxdigit(uint8_t(c))) fail("expected four hexadecimal digits after \\u");
      code = code * 16 + uint32_t(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return code;
  }

  void escape(std::string& s) {
    static constexpr char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char c = at_ < text_.size() ? text_[at_++] : 0;
    if (const char* p = c ? std::strchr(from, c) : nullptr) {
      s += to[p - from];
      return;
    }
    if (c != 'u') fail("an unknown escape in a string");
    uint32_t code = hex4();
    if (code >= 0xd800 && code < 0xdc00) {  // the first half of a pair
      uint32_t low = 0;
      if (text_.compare(at_, 2, "\\u") == 0) at_ += 2, low = hex4();
      if (low < 0xdc00 || low > 0xdfff) fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      fail("half of a surrogate pair");
    }
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // UTF-8
    static constexpr uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    s += char(lead[more] | code >> (6 * more));
    for (int i = more - 1; i >= 0; i--) s += char(0x80 | ((code >> (6 * i)) & 0x3f));
  }

  const std::string &path_, &text_;
  size_t at_ = 0;
};

inline DType dtype_of(const Header& header, const std::string& name) {
  static const std::map<std::string, DType> dtypes = {
      {"BOOL", DType::Bool},  {"U8", DType::UInt8},    {"I8", DType::Int8},       {"I16", DType::Int16},
      {"I32", DType::Int32},  {"I64", DType::Int64},   {"U16", DType::UInt16},    {"U32", DType::UInt32},
      {"U64", DType::UInt64}, {"F16", DType::Float16}, {"BF16", DType::BFloat16}, {"F32", DType::Float32},
      {"F64", DType::Float64}};
  auto found = dtypes.find(name);
  if (found == dtypes.end()) header.fail("dtype " + name + " is not known here");
  return found->second;
}

inline File load(const std::string& path) {
  static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian");
  auto check = [&](bool good, auto&&... what) {
    if (!good) rushlight::fail(ErrorKind::Runtime, path, ": ", what...);
  };
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  check(in.good(), "cannot be opened");
  const uint64_t total = uint64_t(in.tellg());
  in.seekg(0);
  uint64_t length = 0;
  check(total >= sizeof length && in.read(reinterpret_cast<char*>(&length), sizeof length),
        "not a safetensors file: it has ", total, " bytes");
  const uint64_t rest = total - sizeof length;
  check(length <= rest && length <= 100'000'000, "not a whole safetensors file: its header is said to have ", length,
        " bytes, and ", rest, " follow");
  std::string text(length, '\0');
  check(bool(in.read(text.data(), std::streamsize(length))), "cannot be read");

  File file;
  Header header(path, text);
  const int64_t data = int64_t(rest - length);
  std::vector<std::pair<int64_t, int64_t>> taken;
  header.object([&](const std::string& name) {
    if (name == "__metadata__") {
      header.object([&](const std::string& key) { file.metadata[key] = header.string(); });
      return;
    }
    std::string dtype;
    std::vector<int64_t> shape, place;
    bool has_shape = false;
    header.object([&](const std::string& key) {
      if (key == "dtype") dtype = header.string();
      else if (key == "shape") shape = header.numbers(), has_shape = true;
      else if (key == "data_offsets") place = header.numbers();
      else header.fail("'" + key + "' of tensor '" + name + "' is not known here");
    });
    if (!has_shape || place.size() != 2) header.fail("tensor '" + name + "' lacks its shape or its two data_offsets");
    const DType type = dtype_of(header, dtype);
    int64_t bytes = rushlight::itemsize(type);
    for (int64_t size : shape)
      if (__builtin_mul_overflow(bytes, size, &bytes)) header.fail("tensor '" + name + "' is too large");
    if (place[0] > place[1] || place[1] > data || place[1] - place[0] != bytes)
      header.fail("tensor '" + name + "' of " + std::to_string(bytes) + " bytes does not fit its place, " +
                  std::to_string(place[0]) + " to " + std::to_string(place[1]) + " of " + std::to_string(data));
    Tensor tensor = rushlight::empty(std::span<const int64_t>(shape), type);
    in.seekg(std::streamoff(sizeof length + length + uint64_t(place[0])));
    if (bytes && !in.read(tensor.bytes(), bytes)) header.fail("tensor '" + name + "' cannot be read");
    if (!file.tensors.emplace(name, tensor).second) header.fail("tensor '" + name + "' is there twice");
    taken.emplace_back(place[0], place[1]);
  });
  if (!header.done()) header.fail("something follows the last brace");

  std::sort(taken.begin(), taken.end());
  int64_t end = 0;
  for (auto [from, to] : taken) {
    check(from == end, "the tensors' bytes overlap or have gaps, at byte ", end, " of the data");
    end = to;
  }
  check(end == data, data - end, " bytes belong to no tensor");
  return file;
}

}  // namespace safetensors
