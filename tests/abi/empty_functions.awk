# Makes a library without contents from the public headers: every function that they declare, with the types that they
# declare. A function of the library has the same ones: without its header it would not be exported, and with it the
# compiler compares the two.  awk -f empty_functions.awk HEADER... > library.c
BEGIN { print "#include <shiftvit/shiftvit.h>\n#if __has_include(<shiftvit/mpi.h>)\n#include <shiftvit/mpi.h>\n#endif" }
/^SVIT_API/ {
    open = 1
    line = ""
}
open { line = line " " $0 }
open && /;[ \t]*$/ {
    open = 0
    sub(/;[ \t]*$/, " { __builtin_trap(); }", line)
    print line
}
