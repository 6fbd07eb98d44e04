set(TOOLS_SOURCES
    tools/answer_reader.cpp tools/call_shape.cpp tools/detect.cpp tools/dialects.cpp tools/harmony.cpp tools/json_calls.cpp
    tools/json_scan.cpp tools/named_calls.cpp tools/nested_calls.cpp tools/python_calls.cpp tools/schema.cpp tools/tagged_calls.cpp)
