// Walks a compiled schema along a JSON text. Alternatives that have not yet parted are followed side by side.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "constrain/json_cursor.h"
#include "constrain/json_machine.h"
#include "constrain/matcher.h"

namespace ingle::constrain {

class JsonMatcher : public Matcher {
 public:
  JsonMatcher(std::shared_ptr<const JsonMachine> machine, Purpose purpose);
  using Matcher::advance;
  bool advance(uint8_t byte) override;
  bool accepting() const override;
  std::unique_ptr<Matcher> clone() const override { return std::make_unique<JsonMatcher>(*this); }
  void assign(const Matcher& other) override { *this = static_cast<const JsonMatcher&>(other); }
  bool same(const Matcher& other) const override;
  size_t hash() const override;
  bool remembers() const override;
  bool may_begin(uint8_t byte) const override;
  size_t n_parts() const override;
  PartKey part_key(size_t) const override;
  std::unique_ptr<Matcher> inside(size_t) const override;
  std::unique_ptr<Matcher> outside(size_t, int32_t) const override;
  std::vector<std::string> refused(size_t) const override;
  Text text(size_t) const override;
  bool in_number() const override;
  bool may_end(size_t) const override;
  int blanks() const override;
  bool in_json() const override;
  bool doubtful() const override { return doubtful_; }

 private:
  // An open object or array. Immutable once shared; what changes is a copy.
  struct Frame {
    std::shared_ptr<const Frame> parent;
    const ObjectShape* object = nullptr;
    const ArrayShape* array = nullptr;
    int64_t count = 0;  // members or items begun
    int32_t required = 0;
    uint32_t fulfilled = 0;
    std::vector<uint64_t> seen;       // classes of named keys
    std::vector<std::string> others;  // keys without a name in the schema, so that none comes twice
    std::vector<int64_t> contains;
    std::vector<std::string> items;  // canonical texts, where they must differ
    size_t item_begin = 0;
    bool finite_others = false;  // some of others could be the last of its kind
    bool in_unique = false;      // it is an array whose items must differ, or stands in one
    Frame() = default;
    Frame(const Frame&) = default;
    Frame& operator=(const Frame&) = delete;
    ~Frame();
    bool operator==(const Frame&) const;  // the parents too
    bool same_here(const Frame&) const;
  };
  using FramePtr = std::shared_ptr<const Frame>;
  enum class Mode : uint8_t {
    value,
    text,
    number,
    word,
    key_or_close,
    key_quote,
    key,
    colon,
    item_or_close,
    item,
    after
  };
  struct Thread {
    Mode mode = Mode::value;
    int32_t node = -1;
    FramePtr frame;
    const StringShape* shape = nullptr;
    const NumberRule* rule = nullptr;
    const char* word = nullptr;  // what is left of true, false or null
    StringCursor string;
    NumberCursor number;
    std::string key;
    std::vector<uint64_t> allowed;  // classes that the key may still turn out to be
    bool operator==(const Thread&) const;
  };

  static constexpr std::string_view kUntold = "\xFF";  // stands for a key or an item that was not told

  void step(Thread thread, uint8_t byte);
  void begin_value(Thread thread, uint8_t byte);
  void in_number(Thread thread, uint8_t byte);
  void begin_key(Thread thread);
  void in_key(Thread thread, uint8_t byte);
  void end_key(const Thread& thread, int32_t number);  // of a class
  void after(const Thread& thread, uint8_t byte);
  void begin_item(const FramePtr& frame, uint8_t byte);
  void end_value(Thread thread);
  void close(const Thread& thread);
  void add(Thread thread);
  bool new_key(const Thread& thread) const;
  bool may_be_unnamed(const Thread& thread) const;
  bool is_text(const Thread& thread) const;  // seen as a part
  bool is_key(const Thread& thread) const;
  bool is_number(const Thread& thread) const;
  bool new_item(const Thread& thread);
  bool another_item(const FramePtr& frame);
  static bool unique(const FramePtr& frame) { return frame && frame->array && frame->array->unique; }
  // Is an array open whose items must differ?
  bool compares() const;
  bool writing() const { return purpose_ == Purpose::write; }

  std::shared_ptr<const JsonMachine> machine_;
  Purpose purpose_;
  std::vector<Thread> threads_, next_;
  std::string text_;     // since the outermost array began whose items must be compared
  int spaces_ = 0;       // in a row
  bool untold_ = false;  // made by outside(): some of text_ is missing
  bool doubtful_ = false;
};

}  // namespace ingle::constrain
