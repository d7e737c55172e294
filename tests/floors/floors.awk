# Reads the sources of lib/ and reports includes that point up or sideways, and uses of an outside
# thing, such as malloc, in another file than its adapter (here called its door).
BEGIN {
    split("base 0 config 1 tensor 1 kernels 2 io 2 gemm 3 context 4 data 5 losses 5 autograd 5 layers 6 models 7 optim 7 " \
          "session 8 export 8 benchmark 9 predictor 9 features 9 trainer 10", words, " ")
    for (i = 1; (i in words); i += 2)
        floor_of[words[i]] = words[i + 1]
    split("allocator base parallel base file base status base version base context context dataset data image data loader data " \
          "load models reducer session pipeline data model models optimizer optim checkpoint session loss losses metrics losses benchmark benchmark onnx export " \
          "session session predictor predictor features features trainer trainer", words, " ")
    for (i = 1; (i in words); i += 2)
        owner_of[words[i] ".h"] = words[i + 1]

    door("malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign valloc " \
         "strdup strndup asprintf vasprintf getline getdelim", "lib/base/heap.c")
    door("fopen fdopen freopen open openat creat mkstemp tmpfile", "lib/base/files/file.c")
    door("rename renameat fsync fdatasync ftruncate", "lib/base/files/replace.c")
    second_door["open", "lib/base/files/replace.c"] = 1
    second_door["open", "lib/base/files/lock_file.c"] = 1
    door("mmap mmap64 munmap mremap", "lib/base/files/mapping.c")
    door("dlopen dlmopen dlsym dlvsym", "lib/base/files/dynamic_library.c")
    # These tell of a number that does not fit by errno alone, which a signal handler of the program may change.
    door("strtol strtoll strtoul strtoull strtoimax strtoumax", "lib/base/numbers/digits.c")
    # Headers of POSIX and of Linux, and the files that may include them: the adapters, whose fellows of Windows are in
    # folders windows/, and what asks Linux for the tile registers.
    split("unistd.h fcntl.h dirent.h sched.h signal.h poll.h sys/file.h sys/ioctl.h sys/mman.h sys/resource.h sys/stat.h " \
          "sys/syscall.h sys/time.h sys/types.h sys/wait.h", words, " ")
    for (i = 1; i in words; i++)
        is_posix[words[i]] = 1
    posix_files = "^lib/base/((heap|reason)[.]c|files/descriptor[.]h|files/(dynamic_library|file|folder|lock_file|mapping|" \
                  "path|replace)[.]c|threads/(affinity|cgroup|cpu_x86|thread)[.]c)$"
    header_door["dlfcn.h"] = "lib/base/files/dynamic_library.c"
    header_door["pthread.h"] = "lib/base/threads/thread.c"
    header_door["threads.h"] = "lib/base/threads/thread.c"
    header_door["cblas.h"] = "lib/gemm/blas.c"
    door("cblas_sgemm cblas_dgemm", "lib/gemm/blas.c")
    header_door["jpeglib.h"] = "lib/data/decoding/jpeg.c"
    header_door["jerror.h"] = "lib/data/decoding/jpeg.c"
    header_door["png.h"] = "lib/data/decoding/png.c"
    header_door["webp/decode.h"] = "lib/data/decoding/webp.c"
    header_door["jansson.h"] = "examples/, not in the library"
}

function door(names, file, list, n, i)
{
    n = split(names, list, " ")
    for (i = 1; i <= n; i++)
        call_door[list[i]] = file
}

function complain(what)
{
    print FILENAME ":" FNR ": " what
    failed = 1
}

# The folder of a path below lib/.
function folder_of(path)
{
    sub(/^lib\//, "", path)
    sub(/\/.*/, "", path)
    return path
}

# A public header belongs to the folder that implements it.
function check_public(own, target, name)
{
    name = target
    sub(/^shiftvit\//, "", name)
    if (!(name in owner_of))
        complain("<" target "> belongs to no folder of lib/")
    else if (owner_of[name] != own && floor_of[owner_of[name]] >= floor_of[own])
        complain(own "/ may not look at <" target ">")
}

# The adapters of Windows, and what asks each system for the features of Arm's CPUs.
function is_of_systems()
{
    return FILENAME ~ /^lib\/base\/(.*windows\/|threads\/cpu_other[.]c)/
}

function check_include(own, line, target, folder)
{
    target = line
    sub(/^[ \t]*#[ \t]*include[ \t]*[<"]/, "", target)
    sub(/[>"].*/, "", target)
    if ((target in header_door) && header_door[target] != FILENAME)
        complain("<" target "> belongs in " header_door[target])
    if ((target in is_posix) && FILENAME !~ posix_files)
        complain("<" target "> belongs in the adapters of lib/base/")
    if ((target == "windows.h" || target ~ /\/windows\//) && !is_of_systems())
        complain("<" target "> belongs in the folders windows/ of lib/base/")
    if (target ~ /^shiftvit\//)
        check_public(own, target)
    if (line ~ /</)
        return
    if (target !~ /\//) {
        complain("\"" target "\" does not say its folder")
        return
    }
    folder = folder_of(target)
    if (!(folder in floor_of))
        complain("\"" target "\" is in no folder of lib/")
    else if (folder != own && floor_of[folder] >= floor_of[own])
        complain(own "/ may not look at \"" target "\"")
}

# A line without comments and texts.
function code_of(line, start)
{
    gsub(/\\./, "", line)
    gsub(/"[^"]*"/, "\"\"", line)
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", line)
    if (inside) {
        if (!match(line, /\*\//))
            return ""
        line = substr(line, RSTART + 2)
        inside = 0
    }
    start = match(line, /\/\*/)
    if (start) {
        inside = 1
        line = substr(line, 1, start - 1)
    }
    sub(/\/\/.*/, "", line)
    return line
}

function check_calls(code, name, before)
{
    if (code ~ /_WIN32|_WIN64|__MINGW32__/ && !is_of_systems())
        complain("code for one system belongs in the adapters of lib/base/")
    while (match(code, /[A-Za-z_][A-Za-z0-9_]*[ \t]*\(/)) {
        name = substr(code, RSTART, RLENGTH - 1)
        sub(/[ \t]+$/, "", name)
        before = RSTART > 1 ? substr(code, RSTART - 1, 1) : ""
        if ((name in call_door) && call_door[name] != FILENAME && !((name, FILENAME) in second_door) &&
            before != "." && before != ">")
            complain(name "() belongs in " call_door[name])
        code = substr(code, RSTART + RLENGTH)
    }
}

FNR == 1 {
    inside = 0
    own = folder_of(FILENAME)
    if (!(own in floor_of))
        complain("'" own "' is no floor")
}
/^[ \t]*#[ \t]*include/ {
    check_include(own, $0)
    next
}
{
    check_calls(code_of($0))
}
END { exit failed }
