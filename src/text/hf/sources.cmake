set(HF_SOURCES hf/folder.cpp)
