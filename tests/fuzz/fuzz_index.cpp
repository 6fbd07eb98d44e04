// Any bytes as model.safetensors.index.json of a folder without shards: an Error that is no crash, and never
// a file outside of the folder.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "core/error.h"
#include "formats/folder.h"
#include "quant/weight.h"

namespace {

// One folder for the whole run, taken away at its end.
struct Folder {
  std::string path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "ingle-fuzz-XXXXXX").string();
    if (const char* made = ::mkdtemp(name.data())) path = made;
    std::ofstream(path + "/config.json") << "{}";
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  if (folder.path.empty()) return 0;
  std::ofstream(folder.path + "/model.safetensors.index.json", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    ingle::formats::open_folder(folder.path, ingle::quant::dtype_table());
  } catch (const ingle::Error&) {
  }
  return 0;
}
