set(TEMPLATE_SOURCES
    template/chat_template.cpp template/eval.cpp template/exec.cpp template/filters_select.cpp
    template/filters_sequence.cpp template/filters_text.cpp template/format_text.cpp template/heap.cpp template/json.cpp
    template/lexer.cpp template/library.cpp template/methods.cpp template/methods_text.cpp template/ops.cpp
    template/parse_expr.cpp template/parser.cpp template/tests.cpp template/unicode_case.cpp template/utf8.cpp
    template/value.cpp)
