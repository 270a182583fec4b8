#include "kernels/openblas.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "base/error.h"

namespace rushlight::kernels {
namespace {

std::atomic<OpenblasLocator> locator{nullptr};

constexpr const char* kInstall = "install scipy-openblas32, or set RUSHLIGHT_OPENBLAS to the path of its library.";

std::string locate() {
  std::string path;
  if (OpenblasLocator ask = locator.load()) path = ask();
  const char* wish = std::getenv("RUSHLIGHT_OPENBLAS");
  return path.empty() && wish ? wish : path;
}

// OpenBLAS starts its threads while it is being loaded, and one that waits for work spins for a tenth of a second
// before it sleeps. Told beforehand to use one thread, it starts none, and so a fork has nothing to lose either.
void* open_single_threaded(const std::string& path) {
  constexpr const char* variable = "OPENBLAS_NUM_THREADS";
  const char* old = std::getenv(variable);
  const std::string saved = old ? old : "";
  setenv(variable, "1", 1);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* problem = library ? nullptr : dlerror();
  if (old) setenv(variable, saved.c_str(), 1);
  else unsetenv(variable);
  RL_CHECK(library, "cannot load OpenBLAS from '", path, "': ", problem, hint(kInstall));
  if (void* set_threads = dlsym(library, "scipy_openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(set_threads)(1);  // where another user of it came first
  return library;
}

void* load() {
  const std::string path = locate();
  RL_CHECK(!path.empty(), "this operation needs OpenBLAS, which was not found.", hint(kInstall));
  return open_single_threaded(path);
}

}  // namespace

void set_openblas_locator(OpenblasLocator ask) { locator = ask; }

void* openblas_symbol(const char* name) {
  static void* const library = load();  // when it throws, the next call tries again
  void* symbol = dlsym(library, (std::string("scipy_") + name).c_str());
  RL_CHECK(symbol, "the OpenBLAS that was loaded has no ", name, ".", hint(kInstall));
  return symbol;
}

}  // namespace rushlight::kernels
