// The typed look-ups, and views of tensors.
#include <limits>

#include "formats/basic_checkpoint.h"
#include "support.h"

using namespace ingle;
using namespace ingle::formats;
using namespace ingle::formats::test;

namespace {

const std::string kBytes(64, 'b');

std::shared_ptr<const BasicCheckpoint> make(MetaList meta, std::vector<TensorInfo> tensors = {}) {
  return std::make_shared<BasicCheckpoint>(Naming::gguf, std::vector{in_memory(kBytes)}, std::move(tensors),
                                           std::move(meta));
}

}  // namespace

TEST_CASE("typed look-ups convert what fits", "[checkpoint]") {
  const auto file = make({{"int", int64_t{-3}},
                          {"uint", uint64_t{7}},
                          {"float", 0.5},
                          {"bool", true},
                          {"text", std::string("x")},
                          {"ints", MetaArray(std::vector<int64_t>{-1, 2})},
                          {"uints", MetaArray(std::vector<uint64_t>{3, 4})},
                          {"floats", MetaArray(std::vector<double>{0.5})},
                          {"texts", MetaArray(std::vector<std::string>{"a"})}});
  CHECK(file->find_int("int") == -3);
  CHECK(file->find_int("uint") == 7);
  CHECK(file->find_float("float") == 0.5);
  CHECK(file->find_float("int") == -3.0);
  CHECK(file->find_float("uint") == 7.0);
  CHECK(file->find_bool("bool") == true);
  CHECK(*file->find_string("text") == "x");
  CHECK(file->find_ints("ints") == std::vector<int64_t>{-1, 2});
  CHECK(file->find_ints("uints") == std::vector<int64_t>{3, 4});
  CHECK(file->find_floats("floats") == std::vector<double>{0.5});
  CHECK(file->find_floats("ints") == std::vector<double>{-1, 2});
  CHECK(file->find_floats("uints") == std::vector<double>{3, 4});
  CHECK(*file->find_strings("texts") == std::vector<std::string>{"a"});
}

TEST_CASE("an absent key gives nothing, or an error where it is needed", "[checkpoint]") {
  const auto file = make({});
  CHECK_FALSE(file->find_int("k"));
  CHECK_FALSE(file->find_float("k"));
  CHECK_FALSE(file->find_bool("k"));
  CHECK(file->find_string("k") == nullptr);
  CHECK(file->find_strings("k") == nullptr);
  CHECK_FALSE(file->find_ints("k"));
  CHECK_FALSE(file->find_floats("k"));
  check_refused([&] { file->need_int("k"); }, Code::corrupt, {"test.bin", "'k'", "missing"});
  check_refused([&] { file->need_float("k"); }, Code::corrupt, {"'k'", "missing"});
  check_refused([&] { file->need_string("k"); }, Code::corrupt, {"'k'", "missing"});
}

TEST_CASE("a value of another kind is an error that names both kinds", "[checkpoint]") {
  const auto file = make({{"float", 0.5},
                          {"text", std::string("x")},
                          {"big", std::numeric_limits<uint64_t>::max()},
                          {"bigs", MetaArray(std::vector<uint64_t>{std::numeric_limits<uint64_t>::max()})},
                          {"bools", MetaArray(std::vector<bool>{true})},
                          {"ints", MetaArray(std::vector<int64_t>{1})}});
  check_refused([&] { file->find_int("float"); }, Code::corrupt, {"'float'", "a float", "an integer"});
  check_refused([&] { file->find_int("big"); }, Code::corrupt, {"'big'", "18446744073709551615"});
  check_refused([&] { file->find_ints("bigs"); }, Code::corrupt, {"'bigs'", "18446744073709551615"});
  check_refused([&] { file->find_float("text"); }, Code::corrupt, {"a string", "a number"});
  check_refused([&] { file->find_bool("big"); }, Code::corrupt, {"an unsigned integer", "a bool"});
  check_refused([&] { file->find_string("ints"); }, Code::corrupt, {"an array of integers", "a string"});
  check_refused([&] { file->find_strings("text"); }, Code::corrupt, {"a string", "an array of strings"});
  check_refused([&] { file->find_ints("bools"); }, Code::corrupt,
                {"an array of bools", "an array of integers"});
  check_refused([&] { file->find_floats("bools"); }, Code::corrupt,
                {"an array of bools", "an array of numbers"});
}

TEST_CASE("names in errors are cut and escaped", "[checkpoint]") {
  CHECK(quote("plain") == "'plain'");
  CHECK(quote(std::string("a\n\0\x7f\xff", 5)) == "'a\\x0a\\x00\\x7f\\xff'");
  CHECK(quote(std::string(1000, 'x')).size() < 100);
}

TEST_CASE("views point into a mapping and copy otherwise", "[checkpoint]") {
  const std::vector<TensorInfo> tensors = {{"t", DType::f32, {2, 3}, 24, 8, 0},
                                           {"empty", DType::f32, {0}, 0, 64, 0}};
  for (const ByteSourcePtr& source : {in_memory(kBytes), behind_reader(kBytes)}) {
    const BasicCheckpoint file(Naming::gguf, {source}, tensors, {});
    std::vector<std::byte> scratch;
    const TensorView view = file.view(*file.find("t"), scratch);
    CHECK(view.shape == Shape{2, 3});
    CHECK(view.bytes == 24);
    CHECK(view.data == (source->mapped() ? source->mapped() + 8 : scratch.data()));
    CHECK(view.data[23] == std::byte{'b'});
    CHECK(file.view(*file.find("empty"), scratch).bytes == 0);
    file.forget(*file.find("t"));
    check_refused(
        [&] {
          file.view({"x", DType::f32, {4}, 16, 56, 0}, scratch);
        },
        Code::invalid_argument, {"'x'"});
    check_refused(
        [&] {
          file.view({"x", DType::f32, {4}, 16, ~uint64_t{0}, 0}, scratch);
        },
        Code::invalid_argument, {"'x'"});
    check_refused(
        [&] {
          file.view({"x", DType::f32, {4}, 16, 0, 1}, scratch);
        },
        Code::invalid_argument, {"source 1"});
  }
}

TEST_CASE("a reader that fails gives its error at the tensor", "[checkpoint]") {
  const ByteSourcePtr source =
      from_reader("remote", 64, [](uint64_t, std::span<std::byte>) { return false; });
  const BasicCheckpoint file(Naming::gguf, {source}, {{"t", DType::f32, {4}, 16, 0, 0}}, {});
  std::vector<std::byte> scratch;
  check_refused([&] { file.view(file.tensors()[0], scratch); }, Code::io, {"remote"});
}
