// GGUF files written here out of Hugging Face folders, by recipes (tests/data/golden/gguf, made by
// gguf_recipes.py, which says what they look like) of what llama.cpp's converter does.
#pragma once
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "formats/gguf.h"
#include "golden/support.h"
#include "support/temp.h"

namespace ingle::tests {

inline std::string recipe_of(const std::string& family) {
  return data_path("golden/gguf/" + family + ".txt");
}

class GgufRecipe {
 public:
  GgufRecipe(const std::string& path, formats::CheckpointPtr folder) : folder_(std::move(folder)) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) read(line);
  }

  void write(const std::string& path) const {
    formats::write_gguf(path, meta_, tensors_, quant::dtype_table(),
                        [&](size_t i, std::vector<std::byte>& out) {
                          const auto bytes = std::as_bytes(std::span(values_[i]));
                          out.insert(out.end(), bytes.begin(), bytes.end());
                        });
  }

 private:
  void read(const std::string& line) {
    std::istringstream in(line);
    std::string what, name, kind;
    in >> what >> name >> kind;
    if (what == "meta") return meta_.emplace_back(name, value(kind, in)), void();
    std::string word;
    const Shape shape = shape_of(kind);
    if (what == "values") {
      std::vector<float> all;
      while (in >> word) all.push_back(std::stof(word));
      return add(name, shape, std::move(all));
    }
    std::string map;
    in >> map;
    const bool turned = map == "turned";
    if (turned) in >> map;
    in >> word;  // "="
    std::string rest;
    std::getline(in, rest);
    std::vector<float> all = rows(rest);
    for (float& v : all) {
      if (map == "plus") v += 1;
      if (map == "rate") v = -std::exp(v);
    }
    add(name, shape, turned ? turn(all, shape[shape.rank() - 1], shape[shape.rank() - 2]) : std::move(all));
  }

  static formats::MetaValue value(const std::string& kind, std::istringstream& in) {
    std::vector<std::string> words;
    for (std::string w; in >> w;) words.push_back(w);
    const auto all = [&](auto sample, auto convert) {
      std::vector<decltype(sample)> out;
      for (const std::string& w : words) out.push_back(convert(w));
      return out;
    };
    const auto numbers = [](const std::string& w) { return std::stod(w); };
    const auto counts = [](const std::string& w) { return static_cast<uint64_t>(std::stoull(w)); };
    if (kind == "str") return words.empty() ? std::string() : words[0];
    if (kind == "u32") return counts(words.at(0));
    if (kind == "f32") return numbers(words.at(0));
    if (kind == "bool") return words.at(0) == "1";
    if (kind == "u32[]") return formats::MetaArray(all(uint64_t{}, counts));
    if (kind == "f32[]") return formats::MetaArray(all(double{}, numbers));
    if (kind == "bool[]") {
      std::vector<bool> out;
      for (const std::string& w : words) out.push_back(w == "1");
      return formats::MetaArray(std::move(out));
    }
    throw std::runtime_error("a value of kind " + kind);
  }

  static Shape shape_of(const std::string& text) {
    Shape out;
    std::istringstream in(text);
    for (std::string dim; std::getline(in, dim, 'x');) out.push_back(std::stoll(dim));
    return out;
  }

  // [.., rows, cols] to [.., cols, rows].
  static std::vector<float> turn(const std::vector<float>& in, int64_t rows, int64_t cols) {
    std::vector<float> out(in.size());
    for (size_t i = 0; i < in.size(); ++i) {
      const auto at = static_cast<int64_t>(i), slice = at / (rows * cols), r = at / cols % rows,
                 c = at % cols;
      out[static_cast<size_t>((slice * cols + c) * rows + r)] = in[i];
    }
    return out;
  }

  // A tensor of the folder: "NAME" by its rows, "NAME^" turned, "NAME|" value by value.
  struct Source {
    std::vector<float> values;
    int64_t width = 1;
  };
  const Source& source(const std::string& form) {
    if (const auto known = sources_.find(form); known != sources_.end()) return known->second;
    const char last = form.back();
    const std::string name = last == '^' || last == '|' ? form.substr(0, form.size() - 1) : form;
    Source s;
    if (name == "zeros") {
      s = {std::vector<float>(1 << 12), 0};
    } else {
      s.values = floats_in(*folder_, name);
      const Shape& shape = folder_->find(name)->shape;
      s.width = last == '|' ? 1 : shape.back();
      if (last == '^') {
        s.width = shape[shape.rank() - 2];
        s.values = turn(s.values, s.width, shape.back());
      }
    }
    return sources_.emplace(form, std::move(s)).first->second;
  }

  std::vector<float> rows(const std::string& text) {
    std::vector<float> out;
    std::istringstream runs(text);
    std::string form;
    for (std::string run; std::getline(runs, run, ';');) {
      std::istringstream in(run);
      std::vector<std::string> words;
      for (std::string w; in >> w;) words.push_back(w);
      if (words.size() == 4) form = words[0];  // else the one before
      const size_t at = words.size() - 3;
      const int64_t first = std::stoll(words[at]), step = std::stoll(words[at + 1]),
                    count = std::stoll(words[at + 2]);
      const Source& s = source(form);
      const int64_t width = s.width ? s.width : step;
      for (int64_t i = 0; i < count; ++i) {
        const auto from = s.values.begin() + (s.width ? (first + i * step) * width : 0);
        out.insert(out.end(), from, from + width);
      }
    }
    return out;
  }

  void add(const std::string& name, const Shape& shape, std::vector<float> values) {
    if (static_cast<int64_t>(values.size()) != shape.elements())
      throw std::runtime_error("the recipe of " + name + " gives " + std::to_string(values.size()) +
                               " values");
    tensors_.push_back({name, DType::f32, shape});
    values_.push_back(std::move(values));
  }

  formats::CheckpointPtr folder_;
  formats::GgufMeta meta_;
  std::vector<formats::GgufTensor> tensors_;
  std::vector<std::vector<float>> values_;
  std::map<std::string, Source> sources_;
};

}  // namespace ingle::tests
