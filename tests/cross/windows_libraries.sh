# shellcheck shell=sh
# The compiler, Wine and the libraries of Windows, which are built from Debian's sources: for scripts that have sourced
# common.sh.
compiler=x86_64-w64-mingw32-gcc-win32
begin windows gcc-mingw-w64-x86-64-win32 libz-mingw-w64-dev wine wine64 cmake
WINEDEBUG=-all WINEPREFIX=$folder/wine
export WINEDEBUG WINEPREFIX

# from_source PACKAGE MODULE CMAKE_OPTION...: builds a static library, once.
from_source() {
    package=$1 module=$2
    shift 2
    [ -f "$sysroot/lib/pkgconfig/$module.pc" ] && return 0
    rm -rf "${folder:?}/$package"
    mkdir -p "$folder/$package"
    source=deb-src
    foreign amd64 update && (cd "$folder/$package" && foreign amd64 --download-only source "$package") &&
        tar -C "$folder/$package" --strip-components=1 -xf "$folder/$package/$package"_*.orig.tar.?z &&
        cmake -S "$folder/$package" -B "$folder/$package/build" -DCMAKE_SYSTEM_NAME=Windows \
            -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DCMAKE_C_COMPILER=$compiler -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_RC_COMPILER=x86_64-w64-mingw32-windres -DCMAKE_FIND_ROOT_PATH=/usr/x86_64-w64-mingw32 \
            -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
            -DCMAKE_INSTALL_PREFIX="$sysroot" -DCMAKE_INSTALL_LIBDIR="$sysroot/lib" -DBUILD_SHARED_LIBS=OFF "$@" &&
        cmake --build "$folder/$package/build" --parallel "$jobs" && cmake --install "$folder/$package/build"
}

{
    from_source check check -DBUILD_TESTING=OFF -DCHECK_ENABLE_TESTS=OFF &&
        from_source jansson jansson -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF -DJANSSON_BUILD_DOCS=OFF &&
        from_source libjpeg-turbo libjpeg -DENABLE_SHARED=OFF -DWITH_SIMD=OFF -DWITH_TURBOJPEG=OFF &&
        from_source libpng1.6 libpng16 -DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_EXECUTABLES=OFF
} >"$folder/packages.log" 2>&1 || give_up "cannot build a library, see $folder/packages.log"
# Check's library has another name than its file for pkg-config says, and the tests link the threads. zlib is static, too.
rm -f "$sysroot/lib/libcheck.dll.a"
sed -i 's/-lcheck_pic/-lcheck/; s/ -pthread//g' "$sysroot/lib/pkgconfig/check.pc"
sed -i '/^Requires/d; s/ -lpng16.*/ -lpng16 -l:libz.a/' "$sysroot"/lib/pkgconfig/libpng*.pc
