// Which name in `tokenizer.ggml.pre` means which pattern. The patterns are those of the models' own
// tokenizer.json; llama.cpp's llama-vocab.cpp (2026) maps the names. Where llama.cpp's pattern is an
// approximation that its regular expression engine forces (case of non-ASCII letters in o200k and Tekken),
// the model's own pattern is used.
#include <array>

#include "text/pretokenize_stages.h"

namespace ingle::text {
namespace {

using R = WordRules;
constexpr uint16_t kSpaceLetterNumber = kSpace | kLetter | kNumber;

constexpr R kGpt2{.before = R::Contraction::lower};
constexpr R kLlama3{.before = R::Contraction::any_case,
                    .word = R::Word::lead,
                    .digits = 3,
                    .tail = R::Tail::newlines,
                    .newline = R::Newline::with_space};
constexpr R kJais2{.before = R::Contraction::any_case,
                   .word = R::Word::lead,
                   .digits = 3,
                   .tail = R::Tail::newlines,
                   .newline = R::Newline::with_space,
                   .binary_spaces = true};
constexpr R kQwen2{.before = R::Contraction::any_case,
                   .word = R::Word::lead,
                   .digits = 1,
                   .tail = R::Tail::newlines,
                   .newline = R::Newline::with_space};
constexpr R kQwen35{.before = R::Contraction::any_case,
                    .word = R::Word::lead,
                    .letters = kLetter | kMark,
                    .digits = 1,
                    .mark_excludes = kSpaceLetterNumber | kMark,
                    .tail = R::Tail::newlines,
                    .newline = R::Newline::with_space};
constexpr R kMiniCpm5{.before = R::Contraction::any_case,
                      .word = R::Word::lead,
                      .digits = -1,
                      .tail = R::Tail::newlines,
                      .newline = R::Newline::with_space};
constexpr R kUfakZeka{
    .word = R::Word::lead, .digits = 1, .tail = R::Tail::newlines, .newline = R::Newline::with_space};
constexpr R kSeedCoder{.before = R::Contraction::any_case,
                       .word = R::Word::lead,
                       .digits = 1,
                       .newline = R::Newline::with_space};
constexpr R kO200k{.after = R::Contraction::any_case,
                   .word = R::Word::cased,
                   .digits = 3,
                   .tail = R::Tail::newlines_and_slashes,
                   .newline = R::Newline::with_space};
constexpr R kTekken{.word = R::Word::cased,
                    .digits = 1,
                    .tail = R::Tail::newlines_and_slashes,
                    .newline = R::Newline::with_space};
constexpr R kTinyAya{.after = R::Contraction::any_case,
                     .word = R::Word::cased,
                     .digits = 1,
                     .tail = R::Tail::newlines_and_slashes,
                     .newline = R::Newline::with_space};
constexpr R kKimiK2{.after = R::Contraction::any_case,
                    .word = R::Word::cased,
                    .han_apart = true,
                    .digits = 3,
                    .tail = R::Tail::newlines,
                    .newline = R::Newline::with_space};
constexpr R kDeepSeek3{.word = R::Word::lead,
                       .letters = kLetter | kMark,
                       .lead_excludes = kNewline | kLetter | kPunct | kSymbol,
                       .punctuated_word = true,
                       .digits = -1,
                       .marks = kPunct | kSymbol,
                       .tail = R::Tail::newlines,
                       .newline = R::Newline::with_space};
constexpr R kSpark{.word = R::Word::lead,
                   .letters = kLetter | kMark,
                   .lead_excludes = kNewline | kLetter | kPunct | kSymbol,
                   .punctuated_word = true,
                   .digits = -1,
                   .marks = kPunct | kSymbol,
                   .newline = R::Newline::single};
constexpr R kExaoneMoe{.before = R::Contraction::any_case,
                       .word = R::Word::phrase,
                       .digits = 1,
                       .tail = R::Tail::one_newline_or_slash,
                       .newline = R::Newline::with_space};

// Letters with case as Unicode stood when DeepSeek wrote its list.
constexpr CodeRange kCasedLetters[] = {
    {0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},       {0xD8, 0xF6},
    {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},     {0x295, 0x2AF},     {0x370, 0x373},
    {0x376, 0x377},     {0x37B, 0x37D},     {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},
    {0x38C, 0x38C},     {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},     {0x48A, 0x52F},
    {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},   {0x13F8, 0x13FD},   {0x1C90, 0x1CBA},
    {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},   {0x1D6B, 0x1D77},   {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},
    {0x1F18, 0x1F1D},   {0x1F20, 0x1F45},   {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},
    {0x1F5B, 0x1F5B},   {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},   {0x1FB6, 0x1FBC},
    {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},   {0x1FD0, 0x1FD3},   {0x1FD6, 0x1FDB},
    {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},   {0x1FF6, 0x1FFC},   {0x2102, 0x2102},   {0x2107, 0x2107},
    {0x210A, 0x2113},   {0x2115, 0x2115},   {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},
    {0x2128, 0x2128},   {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},   {0x213C, 0x213F},
    {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2184},   {0x2C00, 0x2C7B},   {0x2C7E, 0x2CE4},
    {0x2CEB, 0x2CEE},   {0x2CF2, 0x2CF3},   {0xA640, 0xA66D},   {0xA680, 0xA69B},   {0xA722, 0xA76F},
    {0xA771, 0xA787},   {0xA78B, 0xA78E},   {0xAB70, 0xABBF},   {0xFB00, 0xFB06},   {0xFB13, 0xFB17},
    {0xFF21, 0xFF3A},   {0xFF41, 0xFF5A},   {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB},
    {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
};
constexpr CodeRange kWideMarks[] = {{0x21, 0x2F},     {0x3A, 0x7E},     {0x2018, 0x201F},
                                    {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E}};
constexpr CodeRange kEastAsia[] = {{0x800, 0x9FA5}, {0xAC00, 0xD7FF}};
constexpr CodeRange kHanKana[] = {{0x3040, 0x30FF}, {0x4E00, 0x9FA5}};
constexpr CodeRange kFalconMarks[] = {{'$', '$'}, {'+', '+'}, {'<', '>'}, {'^', '^'},
                                      {'`', '`'}, {'|', '|'}, {'~', '~'}};
constexpr CodeRange kDefaultMarks[] = {{'$', '$'}, {'+', '+'}, {'<', '>'},
                                       {'^', '^'}, {'|', '|'}, {'~', '~'}};
constexpr CodeRange kSentenceMarks[] = {{'!', '!'},     {'(', ')'},       {',', ','},       {'.', '.'},
                                        {'?', '?'},     {'|', '|'},       {0x60C, 0x60C},   {0x6D4, 0x6D4},
                                        {0x964, 0x964}, {0x2026, 0x2026}, {0x3001, 0x3002}, {0xFF0C, 0xFF0C}};
constexpr CodeRange kHangul[] = {{0x3131, 0x318E}, {0xAC00, 0xD7A3}};
constexpr CodeRange kChineseMarks[] = {{0x2014, 0x2014}, {0x2018, 0x2019}, {0x201C, 0x201D},
                                       {0x2026, 0x2026}, {0x3001, 0x303F}, {0xFE30, 0xFE4F},
                                       {0xFF01, 0xFF01}, {0xFF0C, 0xFF0C}, {0xFF1A, 0xFF1B}};
constexpr CodeRange kBopomofo[] = {{0x3105, 0x312F}};
constexpr CodeRange kUnspacedScripts[] = {
    {0xE40, 0xEFF},   {0x1000, 0x109F}, {0x1100, 0x11FF}, {0x1780, 0x17FF}, {0x2F00, 0x2FDF},
    {0x3040, 0x30FF}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xA9E0, 0xA9FF}, {0xAA60, 0xAA7F},
    {0xAC00, 0xD7AF}, {0xF900, 0xFAFF}, {0xFF65, 0xFF9F}};

constexpr CharSet kNumberSet[] = {{.flags = kNumber}};
constexpr CharSet kNewlineSet[] = {{.flags = kNewline}};
constexpr CharSet kLetterSet[] = {{.flags = kLetter}};
constexpr CharSet kPunctSet[] = {{.flags = kPunct}};
constexpr CharSet kCasedSet[] = {{.ranges = kCasedLetters}};
constexpr CharSet kWideMarkSet[] = {{.ranges = kWideMarks}};
constexpr CharSet kEastAsiaSet[] = {{.ranges = kEastAsia}};
constexpr CharSet kHanKanaSet[] = {{.ranges = kHanKana}};
constexpr CharSet kFalconSet[] = {{.flags = kPunct, .ranges = kFalconMarks}};
constexpr CharSet kDefaultSet[] = {{.flags = kPunct, .ranges = kDefaultMarks}};
constexpr CharSet kNoSentenceMarkSet[] = {{.flags = kSpace, .ranges = kSentenceMarks, .negated = true}};
constexpr CharSet kYoutuSets[] = {
    {.ranges = kHangul}, {.ranges = kChineseMarks}, {.ranges = kBopomofo}, {.ranges = kHanKana}};
constexpr CharSet kUnspacedSet[] = {{.ranges = kUnspacedScripts}};

constexpr Stage words(const WordRules& rules) { return {.find = find_words, .rules = &rules}; }
constexpr Stage run(std::span<const CharSet> sets, size_t limit = SIZE_MAX) {
  return {.find = find_run, .sets = sets, .limit = limit};
}
constexpr Stage after_space(std::span<const CharSet> sets) {
  return {.find = find_run, .sets = sets, .lead = kSpace};
}
constexpr Stage after_blank(std::span<const CharSet> sets) {
  return {.find = find_run, .sets = sets, .lead_is_space = true};
}

constexpr Stage kGpt2Stages[] = {words(kGpt2)};
constexpr Stage kDigitGpt2Stages[] = {run(kNumberSet, 1), words(kGpt2)};
constexpr Stage kDefaultStages[] = {
    run(kDefaultSet), words(kGpt2), run(kNumberSet), {.find = find_three_digits}};
constexpr Stage kFalconStages[] = {run(kFalconSet), words(kGpt2), {.find = find_three_digits}};
constexpr Stage kLlama3Stages[] = {words(kLlama3)};
constexpr Stage kJais2Stages[] = {words(kJais2)};
constexpr Stage kQwen2Stages[] = {words(kQwen2)};
constexpr Stage kQwen35Stages[] = {words(kQwen35)};
constexpr Stage kMiniCpm5Stages[] = {run(kNumberSet, 3), words(kMiniCpm5)};
constexpr Stage kUfakZekaStages[] = {words(kUfakZeka)};
constexpr Stage kSeedCoderStages[] = {words(kSeedCoder)};
constexpr Stage kO200kStages[] = {words(kO200k)};
constexpr Stage kTekkenStages[] = {words(kTekken)};
constexpr Stage kTinyAyaStages[] = {{.find = find_whole_thousands}, words(kTinyAya)};
constexpr Stage kKimiStages[] = {words(kKimiK2)};
constexpr Stage kExaoneMoeStages[] = {words(kExaoneMoe)};
constexpr Stage kDeepSeekLlmStages[] = {run(kNewlineSet, 1),       after_space(kCasedSet),
                                        after_space(kWideMarkSet), {.find = find_final_space},
                                        run(kEastAsiaSet),         run(kNumberSet, 1)};
constexpr Stage kDeepSeekCoderStages[] = {run(kNewlineSet, 1), after_space(kLetterSet),
                                          after_space(kPunctSet), run(kEastAsiaSet), run(kNumberSet, 1)};
constexpr Stage kDeepSeek3Stages[] = {run(kNumberSet, 3), run(kHanKanaSet), words(kDeepSeek3)};
constexpr Stage kSparkStages[] = {run(kNumberSet, 3), run(kHanKanaSet), words(kSpark), run(kNumberSet, 1)};
constexpr Stage kYoutuStages[] = {run(kYoutuSets), words(kTinyAya)};
constexpr Stage kBloomStages[] = {after_blank(kNoSentenceMarkSet)};
constexpr Stage kVikingStages[] = {after_blank(kNoSentenceMarkSet), run(kNumberSet, 1)};
constexpr Stage kSuperBpeStages[] = {run(kNumberSet), {.find = find_thousands_starts}};
constexpr Stage kAfmoeStages[] = {{.find = find_thousands}, run(kUnspacedSet), words(kDeepSeek3)};
constexpr Stage kLineStages[] = {{.find = find_lines}};
constexpr Stage kLagunaStages[] = {{.find = find_lines}, words(kQwen2)};

constexpr PreTokenizerSpec kSpecs[] = {
    {.name = "default", .stages = kDefaultStages},
    {.name = "gpt-2", .stages = kGpt2Stages},
    {.name = "phi-2", .stages = kGpt2Stages},
    {.name = "mpt", .stages = kGpt2Stages},
    {.name = "olmo", .stages = kGpt2Stages},
    {.name = "jais", .stages = kGpt2Stages},
    {.name = "trillion", .stages = kGpt2Stages},
    {.name = "granite-docling", .stages = kGpt2Stages},
    {.name = "jina-es", .stages = kGpt2Stages},
    {.name = "jina-de", .stages = kGpt2Stages},
    {.name = "jina-v2-es", .stages = kGpt2Stages},
    {.name = "jina-v2-de", .stages = kGpt2Stages},
    {.name = "jina-v1-en", .stages = kGpt2Stages},
    {.name = "jina-v2-code", .stages = kGpt2Stages},
    {.name = "roberta-bpe", .stages = kGpt2Stages},
    {.name = "gigachat", .stages = kGpt2Stages},
    {.name = "a.x-4.0", .stages = kGpt2Stages},
    {.name = "mellum", .stages = kGpt2Stages},
    {.name = "modern-bert", .stages = kGpt2Stages},
    {.name = "exaone4", .stages = kGpt2Stages},
    {.name = "starcoder", .stages = kDigitGpt2Stages},
    {.name = "refact", .stages = kDigitGpt2Stages},
    {.name = "command-r", .stages = kDigitGpt2Stages},
    {.name = "smollm", .stages = kDigitGpt2Stages},
    {.name = "codeshell", .stages = kDigitGpt2Stages},
    {.name = "exaone", .stages = kDigitGpt2Stages},
    {.name = "minerva-7b", .stages = kDigitGpt2Stages},
    {.name = "mellum2", .stages = kDigitGpt2Stages},
    {.name = "falcon", .stages = kFalconStages},
    {.name = "llama3", .stages = kLlama3Stages, .ignore_merges = true, .add_bos = true},
    {.name = "llama-v3", .stages = kLlama3Stages, .ignore_merges = true, .add_bos = true},
    {.name = "llama-bpe", .stages = kLlama3Stages, .ignore_merges = true, .add_bos = true},
    {.name = "falcon3", .stages = kLlama3Stages, .ignore_merges = true, .add_bos = true},
    {.name = "falcon-h1", .stages = kLlama3Stages, .ignore_merges = true, .add_bos = true},
    {.name = "pixtral", .stages = kLlama3Stages, .ignore_merges = true, .add_bos = true},
    {.name = "midm-2.0", .stages = kLlama3Stages, .ignore_merges = true, .add_bos = true},
    {.name = "lfm2", .stages = kLlama3Stages, .ignore_merges = true, .add_bos = true},
    {.name = "jina-v5-nano", .stages = kLlama3Stages, .ignore_merges = true, .add_bos = true},
    {.name = "dbrx", .stages = kLlama3Stages},
    {.name = "smaug-bpe", .stages = kLlama3Stages},
    {.name = "chatglm-bpe", .stages = kLlama3Stages},
    {.name = "glm4", .stages = kLlama3Stages, .ignore_merges = true},
    {.name = "glm5", .stages = kLlama3Stages, .ignore_merges = true},
    {.name = "jais-2", .stages = kJais2Stages},
    {.name = "minicpm5", .stages = kMiniCpm5Stages, .ignore_merges = true},
    {.name = "qwen2", .stages = kQwen2Stages},
    {.name = "deepseek-r1-qwen", .stages = kQwen2Stages},
    {.name = "kormo", .stages = kQwen2Stages},
    {.name = "f2llmv2", .stages = kQwen2Stages},
    {.name = "megrez", .stages = kQwen2Stages},
    {.name = "stablelm2", .stages = kQwen2Stages},
    {.name = "hunyuan", .stages = kQwen2Stages},
    {.name = "solar-open", .stages = kQwen2Stages},
    {.name = "grok-2", .stages = kQwen2Stages},
    {.name = "bailingmoe", .stages = kQwen2Stages},
    {.name = "bailingmoe2", .stages = kQwen2Stages},
    {.name = "llada-moe", .stages = kQwen2Stages},
    {.name = "qwen35", .stages = kQwen35Stages},
    {.name = "ufakzeka", .stages = kUfakZekaStages},
    {.name = "seed-coder", .stages = kSeedCoderStages},
    {.name = "laguna", .stages = kLagunaStages},
    {.name = "gpt-4o", .stages = kO200kStages},
    {.name = "llama4", .stages = kO200kStages},
    {.name = "kanana2", .stages = kO200kStages},
    {.name = "talkie", .stages = kO200kStages},
    {.name = "minimax-m2", .stages = kO200kStages},
    {.name = "granite-embed-multi-97m", .stages = kO200kStages, .ignore_merges = true},
    {.name = "tekken", .stages = kTekkenStages, .ignore_merges = true, .add_bos = true},
    {.name = "tiny_aya", .stages = kTinyAyaStages},
    {.name = "cohere2moe", .stages = kTinyAyaStages},
    {.name = "kimi-k2", .stages = kKimiStages},
    {.name = "exaone-moe", .stages = kExaoneMoeStages},
    {.name = "deepseek-llm", .stages = kDeepSeekLlmStages},
    {.name = "deepseek-coder", .stages = kDeepSeekCoderStages},
    {.name = "deepseek-v3", .stages = kDeepSeek3Stages},
    {.name = "hunyuan-dense", .stages = kDeepSeek3Stages},
    {.name = "hy_v4", .stages = kDeepSeek3Stages},
    {.name = "joyai-llm", .stages = kDeepSeek3Stages},
    {.name = "spark2_5", .stages = kSparkStages},
    {.name = "youtu", .stages = kYoutuStages, .ignore_merges = true},
    {.name = "poro-chat", .stages = kBloomStages},
    {.name = "bloom", .stages = kBloomStages},
    {.name = "gpt3-finnish", .stages = kBloomStages},
    {.name = "viking", .stages = kVikingStages},
    {.name = "superbpe", .stages = kSuperBpeStages},
    {.name = "afmoe", .stages = kAfmoeStages},
    {.name = "gemma4", .stages = kLineStages, .force_bos = true, .raw = true, .whole_newlines = true},
    {.name = "granite-embed-multi-311m",
     .stages = kLineStages,
     .force_bos = true,
     .raw = true,
     .whole_newlines = true},
    {.name = "sarvam-moe", .stages = kLineStages, .raw = true},
};

}  // namespace

std::span<const PreTokenizerSpec> pre_tokenizers() { return kSpecs; }

const PreTokenizerSpec* find_pre_tokenizer(std::string_view name) {
  for (const PreTokenizerSpec& spec : kSpecs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

}  // namespace ingle::text
