// What masks ask of the automaton of a text, found out once.
#pragma once
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "constrain/dfa.h"

namespace ingle::constrain {

class TextStates {
 public:
  explicit TextStates(const Dfa& dfa);
  // Goes on as a state of any_text() does, all its texts with one label: this state; -1: does not. (Told of
  // those alone that a letter leaves where they are.)
  int32_t free_as(int32_t state) const { return as_[static_cast<size_t>(state)]; }
  int32_t label_of_free(int32_t state) const { return labels_[static_cast<size_t>(state)]; }
  // The first of these labels; -1: nothing is free.
  int32_t free_label() const { return free_label_; }

  using Bytes = std::vector<uint8_t>;
  // With which something can go on, quotes and backslashes too; null: they are many.
  const Bytes* live(int32_t state);
  // Those after which the text is not free with free_label(), though any text could go on; quotes and
  // backslashes too. Of a state where a character begins.
  const Bytes& special(int32_t state);

  // Characters that begin with a byte of `first` lead from `state` to `in`, those that begin with one of
  // `bytes` stay there.
  struct Loop {
    int32_t in = -1;
    std::bitset<256> first, bytes;
  };
  // Null: it does not come to one that many bytes stay in.
  const Loop* loop(int32_t state);
  // Can any text go on from here, whatever the labels of its states?
  bool total(int32_t state);

 private:
  void compare(int32_t state);
  Loop find_loop(int32_t state) const;
  void find_total();
  const Dfa* dfa_;
  std::vector<int8_t> as_;       // by state
  std::vector<int32_t> labels_;  // by state
  int32_t free_label_ = -1;
  std::vector<std::unique_ptr<const Bytes>> live_, special_;  // by state; null: not asked for
  std::vector<std::unique_ptr<const Loop>> loops_;
  std::vector<int8_t> total_;  // by state; none: not asked for
};

}  // namespace ingle::constrain
