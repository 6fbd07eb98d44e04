set(TEMPLATE_SOURCES template/chat_template.cpp)
