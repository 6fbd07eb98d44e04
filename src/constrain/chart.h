// Follows a network along a text: all its readings at once, as sets of places (Earley's sets), in which calls
// that began at the same place share what follows them (Tomita's graph-structured stack). Exact for every
// context-free grammar: left recursion, empty rules and ambiguity need no special case, and calls in tail
// position leave nothing on the stack. What can follow a call is interned, so that equal places are equal
// objects, and masks can be remembered by place.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "constrain/network.h"

namespace ingle::constrain {

// Thread-safe; one per grammar.
class Chart {
 public:
  struct Group;
  // What follows a rule: entry `index` of a group; of the own group where `group` is null.
  struct Stack {
    const Group* group = nullptr;
    int32_t index = kText;
    bool operator==(const Stack&) const = default;
  };
  static constexpr int32_t kText = -1;     // the rule is the root: the text's end follows
  static constexpr int32_t kUnknown = -2;  // not known: where masks are made of a state alone

  struct Item {
    int32_t state;
    Stack stack;
    bool operator==(const Item&) const = default;
  };
  // Calls that began together and follow each other in a circle (left recursion) are one group; else a group
  // has one entry. Immutable.
  struct Group : std::enable_shared_from_this<Group> {
    std::vector<std::vector<Item>> entries;
    std::vector<std::shared_ptr<const Group>> below;  // that the entries refer to
    size_t hash = 0;
    Group() = default;
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    ~Group();
  };
  using GroupPtr = std::shared_ptr<const Group>;

  struct Position {
    std::vector<Item> items;  // those that a byte can follow
    std::vector<GroupPtr> below;
    bool whole = false;  // a text of the grammar may end here
    bool left = false;   // the rule that was begun with kUnknown may have ended here
    size_t hash = 0;
    bool operator==(const Position& o) const {
      return whole == o.whole && left == o.left && items == o.items;
    }
  };
  using PositionPtr = std::shared_ptr<const Position>;

  Chart(Network network, std::string where);
  PositionPtr start();
  PositionPtr at_state(int32_t state);                      // with kUnknown as what follows
  PositionPtr after(const Stack& stack);                    // where a rule with this stack has just ended
  PositionPtr advance(const Position& from, uint8_t byte);  // null: no text goes on so
  const Network& network() const { return network_; }

 private:
  struct Local {  // a call that began at the place which is being made
    int32_t rule;
    std::vector<Item> follows;  // groups of null: an index here
    bool ended = false;
  };
  struct GroupHash {
    size_t operator()(const GroupPtr& g) const { return g->hash; }
  };
  struct GroupEqual {
    bool operator()(const GroupPtr& a, const GroupPtr& b) const {
      return a->hash == b->hash && a->entries == b->entries;
    }
  };

  void begin();
  void push(int32_t state, const Stack& stack);
  void process(const Item& item);
  void call(int32_t rule, int32_t to, const Stack& stack);
  void end(const Stack& stack);
  PositionPtr finish();
  std::vector<int32_t> live_locals(const std::vector<Item>& kept) const;
  void intern_locals(const std::vector<int32_t>& live);
  Stack resolved(const Stack& stack, const std::vector<int32_t>& own) const;
  GroupPtr intern(std::vector<std::vector<Item>> entries);
  void grow_table();

  const Network network_;
  const std::string where_;
  std::mutex mutex_;
  std::unordered_set<GroupPtr, GroupHash, GroupEqual> groups_;
  // Of the place that is being made.
  std::vector<Item> work_;
  std::vector<uint32_t> table_;  // of work_, by hash: index + 1
  std::vector<Local> locals_;
  std::vector<Stack> interned_;         // of locals_; index kPending: not yet
  std::vector<int32_t> local_of_rule_;  // -1: none
  bool whole_ = false, left_ = false;
};

}  // namespace ingle::constrain
