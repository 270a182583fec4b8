// Reads handwritten digits with the network that `rushlight demo --safetensors` trained:
//
//   predict_digits model.safetensors t10k-images-idx3-ubyte
//
// Images are a file in MNIST's format, unpacked. One digit a line is printed, in the order of the images.
#include <rushlight.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "safetensors.h"

using namespace rushlight;

namespace {

constexpr int64_t kSide = 28, kBatch = 500;

// The layers that have weights are numbered as in the demo's Sequential.
struct Network {
  safetensors::File file;

  const Tensor& weight(const std::string& name, IntSpan shape) const {
    auto found = file.tensors.find(name);
    RL_CHECK(found != file.tensors.end(), "the weights have no '", name, "'",
             hint("write them with: rushlight demo --safetensors"));
    const Tensor& t = found->second;
    RL_CHECK(t.sizes() == Dims(shape.begin(), shape.end()) && t.dtype() == DType::Float32, "'", name, "' is ",
             t.dtype(), " of shape ", t.sizes(), ", and the network wants float32 of shape ", shape);
    return t;
  }
  double number(const std::string& name) const {
    auto found = file.metadata.find(name);
    RL_CHECK(found != file.metadata.end(), "the weights do not say the images' '", name, "'");
    char* end = nullptr;
    const double value = std::strtod(found->second.c_str(), &end);
    RL_CHECK(end != found->second.c_str() && !*end, "'", name, "' is no number: ", found->second);
    return value;
  }

  // images (N, 1, 28, 28) of pixels from 0 to 255; the result holds a score for each digit, (N, 10).
  Tensor operator()(const Tensor& images) const {
    const double mean = number("mean"), std = number("std");
    Tensor x = (images.to(DType::Float32) / 255. - mean) / std;
    x = conv2d(x, weight("0.weight", {32, 1, 3, 3}), weight("0.bias", {32}));
    x = max_pool2d(relu(x), {2, 2});
    x = conv2d(x, weight("3.weight", {64, 32, 3, 3}), weight("3.bias", {64}));
    x = max_pool2d(relu(x), {2, 2});
    return linear(flatten(x, 1), weight("8.weight", {10, 1600}), weight("8.bias", {10}));
  }
};

// (N, 1, 28, 28), uint8: four numbers of four bytes, the largest byte first, and then the pixels.
Tensor read_images(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  RL_CHECK(in.good(), path, ": cannot be opened");
  const int64_t total = in.tellg();
  in.seekg(0);
  uint8_t head[16];
  RL_CHECK(in.read(reinterpret_cast<char*>(head), sizeof head), path, ": too short for a file of images");
  int64_t numbers[4];
  for (int i = 0; i < 4; i++)
    numbers[i] = int64_t(head[4 * i]) << 24 | head[4 * i + 1] << 16 | head[4 * i + 2] << 8 | head[4 * i + 3];
  RL_CHECK(numbers[0] == 0x803 && numbers[2] == kSide && numbers[3] == kSide, path,
           ": not a file of 28x28 images in MNIST's format",
           head[0] == 0x1f ? hint("unpack it: gunzip " + path) : std::string());
  const int64_t count = numbers[1];
  RL_CHECK(total - int64_t(sizeof head) == count * kSide * kSide, path, ": ", count, " images have ",
           count * kSide * kSide, " pixels, and ", total - int64_t(sizeof head), " bytes are there");
  Tensor images = empty({count, 1, kSide, kSide}, DType::UInt8);
  RL_CHECK(count == 0 || in.read(images.bytes(), images.numel()), path, ": cannot be read");
  return images;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: predict_digits MODEL.safetensors IMAGES\n");
    return 2;
  }
  try {
    NoGradGuard no_grad;
    const Network network{safetensors::load(argv[1])};
    const Tensor images = read_images(argv[2]);
    for (int64_t start = 0; start < images.size(0); start += kBatch) {
      const Tensor batch = slice(images, 0, start, std::min(start + kBatch, images.size(0)));
      const Tensor digits = argmax(network(batch), 1);
      for (int64_t i = 0; i < digits.numel(); i++) std::printf("%d\n", int(digits.data<int64_t>()[i]));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "predict_digits: %s\n", error.what());
    return 1;
  }
}
