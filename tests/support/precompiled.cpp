// Gives the precompiled header a source to belong to: main.cpp, the other one, cannot use it.
